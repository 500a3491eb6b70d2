"""Settings of a server: addresses, trusted proxies, and limits."""

from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Literal

_MIB, _GIB = 2**20, 2**30


@dataclass(frozen=True, slots=True)
class Rate:
    """Rate limit: average number of requests per second, and size of a burst."""

    per_second: float
    at_once: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Addresses and limits of a server; sizes in bytes, times in seconds, rates per token or else per address."""

    host: str = "127.0.0.1"
    port: int = 8000  # 0 for any free port
    # Host names of the server, for example behind a proxy. If names are given, all clients need tokens, because
    # everybody who can reach the proxy can reach the server.
    names: tuple[str, ...] = ()
    always_tokens: bool = False  # whether clients on the loopback address need tokens, too
    largest_upload: int = 2 * _GIB  # maximum size of a prediction file, compressed and decompressed
    largest_json: int = _MIB  # maximum size of the JSON body of a request
    free_below: int = _GIB  # disk space that must stay free
    disk_per_team: int = 20 * _GIB  # maximum total size of a team's prediction files
    uploads_per_team: int = 10  # maximum number of unfinished uploads of a team
    queue_per_team: int = 100  # maximum number of queued and running runs of a team
    reads: Rate = Rate(100, 1000)  # rate limit of read requests
    submissions: Rate = Rate(5, 200)  # rate limit of other requests
    guesses: Rate = Rate(0.2, 10)  # rate limit of invalid tokens per address
    events_per_caller: int = 50  # maximum number of open event streams per caller
    patience: float = 20  # time limit for the next data of a request, and for reading a part of the response
    slowest: float = 1024  # minimum speed of a long request or response, in bytes per second
    connections: int = 1000  # maximum number of open connections
    images: Path | None = None  # folder of the dataset's images, for the examples on the pages of runs
    session: int = 12 * 3600  # duration of a browser session after a login
    upload_kept: int = 24 * 3600  # time after which an unfinished upload without a new part is removed

    @property
    def open_to(self) -> Literal["local", "tokens"]:
        """Clients that may read and submit: "local" (all clients on this machine) or "tokens" (only with a token)."""
        return "local" if is_loopback(self.host) and not self.names and not self.always_tokens else "tokens"


def is_loopback(host: str) -> bool:
    """Return whether a host is "localhost" or a loopback address, which can only be reached from this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
