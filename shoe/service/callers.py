"""Authentication, permissions, and rate limits of API callers, and state shared by requests."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from ipaddress import IPv6Address, ip_address
from threading import Lock
from typing import Annotated

from fastapi import Depends
from starlette.requests import Request

from shoe.service.contract import Refused, too_many
from shoe.service.folder import Folder, Uploads
from shoe.service.http_guard import COOKIE, READS
from shoe.service.process import Executor
from shoe.service.settings import Rate, Settings
from shoe.service.tokens import LOCAL, RATE, Identity, Scope, check, check_session

_MOST_KEYS = 10_000
_POLL = 0.2


class Buckets:
    """Token-bucket rate limiter: a caller may send `rate.at_once` requests at once, `rate.per_second` on average."""

    def __init__(self, rate: Rate, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock, self._lock = rate, clock, Lock()
        self._full: dict[str, float] = {}  # time at which each bucket is full again

    def take(self, key: str) -> float:
        """Count a request of the caller `key` and return 0; above the limit, only return the seconds to wait."""
        with self._lock:
            now, each = self._clock(), 1 / self._rate.per_second
            full = max(self._full.pop(key, now), now)
            wait = full - now - (self._rate.at_once - 1) * each
            self._full[key] = full if wait > 0 else full + each
            if len(self._full) > _MOST_KEYS:
                # The dict is ordered by the time of the last request: drop the older half, and all that are full.
                self._full = {k: at for k, at in list(self._full.items())[_MOST_KEYS // 2 :] if at > now}
            return max(wait, 0.0)


class Changes:
    """Notifier that wakes waiting coroutines when any process has written to the database."""

    def __init__(self, folder: Folder) -> None:
        self._folder, self._waiting = folder, 0
        self._version, self._next = -1, asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.stopping = False  # whether the server is about to stop; all waits then end

    async def wait(self, seconds: float) -> bool:
        """Return True as soon as the database changes or the server stops; return False after `seconds` seconds.

        A change between two calls counts, too. The very first call returns True after 0.2 s even without a change.
        """
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._poll())
        self._waiting += 1
        try:
            await asyncio.wait_for(self._next.wait(), seconds)
        except TimeoutError:
            return False
        finally:
            self._waiting -= 1
        return True

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(_POLL)
            version = self._folder.database.version()
            if version != self._version or self.stopping:
                self._version = version
                self._next.set()
                self._next = asyncio.Event()
            if not self._waiting:
                return


class AppState:
    """State shared by all requests: data folder, settings, unfinished uploads, rate limiters and counters."""

    def __init__(self, folder: Folder, settings: Settings, executor: Executor | None = None) -> None:
        self.folder, self.settings, self.executor = folder, settings, executor or Executor()
        self.uploads, self.changes = Uploads(folder, settings), Changes(folder)
        self.streams = Counter[str]()  # number of open event streams, by caller
        self.receiving = Counter[str]()  # bytes received so far by uploads of whole files in progress, by team
        self.used: dict[str, float] = {}  # time of the last use, by token hash, until it is written to the database
        self.reads, self.submissions = Buckets(settings.reads), Buckets(settings.submissions)
        self.guesses = Buckets(settings.guesses)


async def _state(request: Request) -> AppState:  # a coroutine, because FastAPI runs plain functions in a thread
    state: AppState = request.app.state.shared
    return state


def address_of(request: Request) -> str:
    """Return the IP address of a client, or "unknown"; for IPv6, its /64 network, since one machine may use it all."""
    host = request.client.host if request.client else "unknown"
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if isinstance(address, IPv6Address) and address.ipv4_mapped is None and not address.is_loopback:
        return f"{IPv6Address(int(address) >> 64 << 64)}/64"
    return str(address)


def identify(request: Request) -> Identity:
    """Return the caller of a request: the owner of its token or session cookie, a local caller, or an anonymous caller.

    Callers without a token are local callers if the server accepts only requests from this machine, otherwise
    anonymous. An invalid session cookie is ignored. Further calls with the same request return the same caller. Raise
    Refused: 401 for an Authorization header without a valid token, 429 after too many invalid tokens.
    """
    if not hasattr(request.state, "identity"):
        request.state.identity = _identify(request)
    found: Identity = request.state.identity
    return found


def _identify(request: Request) -> Identity:
    app: AppState = request.app.state.shared
    given = request.headers.get("authorization")
    if given is not None and given.strip().lower() != "bearer":  # without a token if a shell variable is not set
        scheme, _, token = given.partition(" ")
        if scheme.lower() != "bearer":
            raise _unauthorized("Authorization: expected `Bearer` followed by a token")
        return verify_token(request, token.strip())
    session = request.cookies.get(COOKIE)
    if session is not None and (found := check_session(app.folder, session)) is not None:
        app.used[str(found.key)] = time.time()
        return found
    if app.settings.open_to == "local":
        return Identity(LOCAL, frozenset({"read", "submit"}), LOCAL, None)
    return Identity(None, frozenset(), "", address_of(request))


def verify_token(request: Request, token: str) -> Identity:
    """Return the owner of a token, and record its use; raise Refused: 401 for an invalid token, 429 after too many."""
    app: AppState = request.app.state.shared
    found = check(app.folder, token)
    if found is None:
        if wait := app.guesses.take(address_of(request)):
            raise too_many("too many wrong tokens from this address", wait)
        raise _unauthorized("the token is not valid: it is unknown, expired or revoked")
    app.used[str(found.key)] = time.time()
    return found


def _unauthorized(message: str, hint: str | None = None) -> Refused:
    return Refused(401, message, hint=hint, headers={"WWW-Authenticate": "Bearer"})


def needs(scope: Scope | None, *, often: bool = False) -> Callable[[Request], Awaitable[Identity]]:
    """Return a FastAPI dependency that checks permission and rate limit of a request, and returns its caller.

    The dependency raises Refused: 401 or 403 without the permission `scope` (None if the route itself checks
    permissions), 429 after too many requests. With `often`, as for parts of uploads, the higher limit of reads holds.
    """

    async def allowed(request: Request) -> Identity:
        identity = identify(request)
        if identity.key is not None:
            app: AppState = request.app.state.shared
            limiter = app.reads if often or request.method in READS else app.submissions
            if wait := limiter.take(identity.key):
                raise too_many("too many requests", wait)
        if scope is not None:
            require_scope(identity, scope)
        return identity

    return allowed


def require_scope(identity: Identity, scope: Scope) -> None:
    """Raise Refused if a caller does not have a permission: 401 for a caller without a token, otherwise 403."""
    if identity.allows(scope):
        return
    if identity.team is None or identity.key is None:
        hint = "with `shoe submit`, use --token-file or the environment variable SHOE_TOKEN"
        raise _unauthorized(f"this request requires a token with the permission {scope}", hint=hint)
    raise Refused(403, f"the token does not have the permission {scope}")


Anybody = Annotated[Identity, Depends(needs(None))]
Reader = Annotated[Identity, Depends(needs("read"))]
Submitter = Annotated[Identity, Depends(needs("submit"))]
Uploader = Annotated[Identity, Depends(needs("submit", often=True))]
Admin = Annotated[Identity, Depends(needs("admin"))]
Rater = Annotated[Identity, Depends(needs(RATE, often=True))]
App = Annotated[AppState, Depends(_state)]
