"""Who makes a request, what they may do, and how often."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address
from typing import Annotated

from fastapi import Depends
from starlette.requests import Request

from shoe.service.changes import Changes
from shoe.service.folder import Folder
from shoe.service.limits import Buckets
from shoe.service.process import Executor, LocalExecutor
from shoe.service.refusals import Refused, too_many
from shoe.service.security import COOKIE, READS
from shoe.service.settings import Settings
from shoe.service.tokens import LOCAL, RATE, Identity, Scope, check, check_session
from shoe.service.uploads import Uploads

_NOBODY: frozenset[str] = frozenset()


@dataclass
class Desk:
    """What requests share.

    Attributes:
        folder: of the service.
        settings: of the server.
        place: where jobs run.
        uploads: that are unfinished.
        changes: of the database, to be waited for.
        streams: of events that are open, by who has them.
        coming: bytes of files that are coming in whole, by team.
        used: when tokens were used that is not yet noted, by hash.
    """

    folder: Folder
    settings: Settings
    place: Executor = field(default_factory=LocalExecutor)
    used: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.uploads = Uploads(self.folder, self.settings)
        self.changes = Changes(self.folder)
        self.streams: Counter[str] = Counter()
        self.coming: Counter[str] = Counter()
        self.reads = Buckets(self.settings.reads)
        self.submissions = Buckets(self.settings.submissions)
        self.guesses = Buckets(self.settings.guesses)

    def note(self, who: Identity) -> None:
        """Note that somebody's token was used."""
        if who.key is not None and who.team is not None:
            self.used[who.key] = time.time()


def desk_of(request: Request) -> Desk:
    """What requests share."""
    desk: Desk = request.app.state.desk
    return desk


async def _the_desk(request: Request) -> Desk:
    return desk_of(request)  # in the loop: a function that is no coroutine would go to another thread and back


def address_of(request: Request) -> str:
    """Where a request comes from; of IPv6 the network, as a machine has many addresses in it."""
    host = request.client.host if request.client else "unknown"
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if isinstance(address, IPv6Address) and address.ipv4_mapped is None and not address.is_loopback:
        return f"{IPv6Address(int(address) >> 64 << 64)}/64"
    return str(address)


def identify(request: Request) -> Identity:
    """Find out who makes a request: by its token, its session, or as it comes from this machine.

    Raises:
        Refused: 401 for a token that is not valid, 429 after too many of those.
    """
    found: Identity | None = getattr(request.state, "identity", None)
    if found is None:
        found = request.state.identity = _identify(request)
    return found


def _identify(request: Request) -> Identity:
    desk, given = desk_of(request), request.headers.get("authorization")
    if given is not None and given.strip().lower() != "bearer":  # alone, as of a variable that is not set
        scheme, _, token = given.partition(" ")
        if scheme.lower() != "bearer":
            raise _unauthorized("Authorization: expected Bearer and a token")
        return verified(request, token.strip(), check)
    session = request.cookies.get(COOKIE)
    if session is not None:
        found = check_session(desk.folder, session)
        if found is not None:
            desk.note(found)
            return found
    if desk.settings.open_to == "local":
        return Identity(LOCAL, frozenset({"read", "submit"}), LOCAL, None)
    return Identity(None, _NOBODY, "", address_of(request))


def verified(request: Request, token: str, by: Callable[[Folder, str], Identity | None]) -> Identity:
    """Check a token; guesses are slowed down, and lock out nobody behind the same address who has a valid one.

    Raises:
        Refused: 401 where it is not valid, 429 after too many of those.
    """
    desk = desk_of(request)
    found = by(desk.folder, token)
    if found is None:
        if wait := desk.guesses.take(address_of(request)):
            raise too_many("too many wrong tokens from this address", wait)
        raise _unauthorized("the token is not valid: it is unknown, expired or revoked")
    desk.note(found)
    return found


def _unauthorized(message: str, hint: str | None = None) -> Refused:
    return Refused(401, message, hint=hint, headers={"WWW-Authenticate": "Bearer"})


def needs(scope: Scope | None, *, often: bool = False) -> Callable[[Request], Awaitable[Identity]]:
    """Make the dependency that lets through who may do something, as often as they may.

    Args:
        scope: what is needed; None where it depends on what is asked for.
        often: whether it comes in many pieces, and is counted as reading.
    """

    async def allowed(request: Request) -> Identity:
        identity = identify(request)
        if identity.key is not None:
            desk = desk_of(request)
            reads = often or request.method in READS
            wait = (desk.reads if reads else desk.submissions).take(identity.key)
            if wait:
                raise too_many("too many requests", wait)
        if scope is not None:
            demand(identity, scope)
        return identity

    return allowed


def demand(identity: Identity, scope: Scope) -> None:
    """See that somebody may do something.

    Raises:
        Refused: 401 for who has shown no token, else 403.
    """
    if identity.allows(scope):
        return
    if identity.team is None or identity.key is None:
        raise _unauthorized(f"this needs a token that allows {scope}", hint="shoe submit: --token-file, or SHOE_TOKEN")
    raise Refused(403, f"this needs a token that allows {scope}, and this one does not")


Anybody = Annotated[Identity, Depends(needs(None))]
Reader = Annotated[Identity, Depends(needs("read"))]
Submitter = Annotated[Identity, Depends(needs("submit"))]
Uploader = Annotated[Identity, Depends(needs("submit", often=True))]
Admin = Annotated[Identity, Depends(needs("admin"))]
Rater = Annotated[Identity, Depends(needs(RATE, often=True))]
TheDesk = Annotated[Desk, Depends(_the_desk)]
