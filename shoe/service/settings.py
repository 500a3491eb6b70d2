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
    """Addresses and limits of a server; sizes in bytes, times in seconds.

    Attributes:
        port: port number; 0 for any free port.
        names: host names of the server, for example behind a proxy. If names are given, all clients need tokens,
            because everybody who can reach the proxy can reach the server.
        always_tokens: whether clients on the loopback address need tokens, too.
        largest_upload: maximum size of a prediction file, compressed and decompressed.
        largest_json: maximum size of the JSON body of a request.
        free_below: disk space that must stay free.
        disk_per_team: maximum total size of a team's prediction files.
        uploads_per_team: maximum number of unfinished uploads of a team.
        queue_per_team: maximum number of queued and running runs of a team.
        reads: rate limit of read requests per token, or per address without a token.
        submissions: rate limit of other requests per token, or per address without a token.
        guesses: rate limit of invalid tokens per address.
        events_per_caller: maximum number of open event streams per caller.
        patience: time limit for the next data of a request, and for reading a part of the response.
        slowest: minimum speed of a long request or response, in bytes per second.
        images: folder of the dataset's images, for the examples on the pages of runs; None without images.
        session: duration of a browser session after a login.
        upload_kept: time after which an unfinished upload without a new part is removed.
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
    images: Path | None = None
    session: int = 12 * 3600
    upload_kept: int = 24 * 3600

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
