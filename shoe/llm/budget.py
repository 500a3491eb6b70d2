"""How much a run may ask and spend, over all its raters, and whether it is to end."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import Literal

Reason = Literal["requests", "cost", "interrupted", "failed"]


@dataclass
class Budget:
    """What a run may still do; shared by all threads, and by runs that are to share it.

    What is in flight is reserved at the most that it can cost, so that the budget holds whatever comes back.

    Attributes:
        max_cost: in the currency of raters.toml; None for no limit.
        max_requests: attempts at requests, retries included; None for no limit.
        requests: made so far.
        spent: so far, where no tokens were reported by estimate.
        reason: why the run is to end; None while it is not.
    """

    max_cost: float | None = None
    max_requests: int | None = None
    requests: int = 0
    spent: float = 0.0
    reason: Reason | None = None
    _reserved: float = 0.0
    _lock: Lock = field(default_factory=Lock, repr=False)

    def reserve(self, cost: float) -> bool:
        """Take one request that can cost so much; False, and the end of the run, if there is no room for it."""
        with self._lock:
            if self.reason is not None:
                return False
            if self.max_requests is not None and self.requests >= self.max_requests:
                self.reason = "requests"
            elif self.max_cost is not None and cost > 0 and self.spent + self._reserved + cost > self.max_cost:
                self.reason = "cost"
            else:
                self.requests += 1
                self._reserved += cost
            return self.reason is None

    def settle(self, reserved: float, cost: float) -> None:
        """Put what a request cost in the place of what was reserved for it."""
        with self._lock:
            self._reserved -= reserved
            self.spent += cost

    def stop(self, reason: Reason) -> None:
        """End the run: what is in flight is kept, nothing is started. The user's word counts most."""
        with self._lock:
            self.reason = reason if reason == "interrupted" else self.reason or reason

    @property
    def stopping(self) -> bool:
        """Whether the run is to end."""
        return self.reason is not None
