"""Settings of a server: addresses, trusted proxies, and limits."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from typing import Literal

_MIB, _GIB = 2**20, 2**30


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate: average per second, and most at once."""

    per_second: float
    at_once: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where a server listens and what it takes; bytes, seconds and counts.

    Attributes:
        port: 0 takes a free one.
        names: host names under which browsers and programs reach the server, as behind a proxy. A server with a name
            demands tokens, as whoever reaches the proxy reaches it.
        always_tokens: whether to demand tokens on the loopback address, too.
        largest_upload: of one prediction file, as sent and as decoded.
        free_below: disk space that no upload may touch.
        disk_per_team: sum of a team's prediction files.
        queue_per_team: runs that wait or are running.
        reads: requests of one token; of one address where none is needed.
        submissions: requests that make or change something, likewise.
        guesses: wrong tokens from one address.
        events_per_caller: streams of events open at once.
        patience: seconds for the next piece of a request.
        slowest: bytes a second that a long request must keep up.
        session: seconds that a login lasts.
        upload_kept: seconds that an unfinished upload is kept without a new piece.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    names: tuple[str, ...] = ()
    always_tokens: bool = False
    largest_upload: int = 2 * _GIB
    largest_json: int = _MIB
    free_below: int = _GIB
    disk_per_team: int = 20 * _GIB
    uploads_per_team: int = 10
    queue_per_team: int = 100
    reads: Rate = Rate(100, 1000)
    submissions: Rate = Rate(5, 200)
    guesses: Rate = Rate(0.2, 10)
    events_per_caller: int = 50
    patience: float = 20
    slowest: float = 1024
    connections: int = 1000
    session: int = 12 * 3600
    upload_kept: int = 24 * 3600

    @property
    def open_to(self) -> Literal["local", "tokens"]:
        """Who may read and submit: everybody on this machine, or only callers with a token."""
        return "local" if is_loopback(self.host) and not self.names and not self.always_tokens else "tokens"


def is_loopback(host: str) -> bool:
    """Return whether an address can only be reached from this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
