"""Token buckets: how often somebody may do something."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock

from shoe.service.settings import Rate

_MOST_KEYS = 10_000


class Buckets:
    """One bucket of tokens for each key; it fills with time, and each request takes one out.

    Args:
        rate: of filling, and how many a bucket holds.
        clock: seconds that only grow.
    """

    def __init__(self, rate: Rate, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock, self._lock = rate, clock, Lock()
        self._full: dict[str, float] = {}  # when each bucket is full again: those in the past say nothing

    def take(self, key: str) -> float:
        """Take one token: 0 where there is one, else the seconds until there will be."""
        with self._lock:
            now, each = self._clock(), 1 / self._rate.per_second
            full = max(self._full.pop(key, now), now)
            wait = full - now - (self._rate.at_once - 1) * each
            self._full[key] = full if wait > 0 else full + each
            if len(self._full) > _MOST_KEYS:
                # Those asked for longest ago come first.
                self._full = {k: at for k, at in list(self._full.items())[_MOST_KEYS // 2 :] if at > now}
            return max(wait, 0.0)

    def __len__(self) -> int:
        return len(self._full)
