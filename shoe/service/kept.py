"""Answers that are given again, byte for byte, as long as nothing in the database has changed since they were made."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shoe.service.callers import Desk
from shoe.service.tokens import Identity

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])
_TOLD_BY = frozenset({b"authorization", b"cookie", b"host", b"if-none-match"})
"""Headers that answers depend on."""
_OWN_WAY = frozenset({b"content-length", b"range", b"transfer-encoding"})
"""Headers of requests that are not for such answers."""
_LONGEST, _MOST, _BESIDE = 2**18, 2**23, 2**12
"""Bytes of one answer's body, of all that is kept, and of what is kept beside a body and what the client told."""


def unchanging(endpoint: Endpoint) -> Endpoint:
    """Say of an endpoint: what it answers well is told by the database, the caller and the request alone.

    Those that are coroutines look at a few rows, in the loop: a thread would take longer to be woken.
    """
    endpoint.unchanging = True  # type: ignore[attr-defined]
    return endpoint


@dataclass(slots=True)
class _Answer:
    """An answer: how the database stood and which answer was begun before anything was read for it, and for whom."""

    version: int
    turn: int
    begun: Message = field(default_factory=dict)
    body: bytes = b""
    identity: Identity | None = None
    size: int = 0


class Kept:
    """Answers what was asked before; who asks while an answer is being made waits for it, and none is made twice.

    Nothing is kept for a time: a token that is revoked, a run that moves on, a leaderboard that is hidden are changes
    of the database like any other, whichever process makes them. Requests are counted as if each were answered anew.
    """

    def __init__(self, app: ASGIApp, desk: Desk) -> None:
        self._app, self._desk = app, desk
        self._answers: dict[Any, _Answer] = {}
        self._making: dict[Any, asyncio.Event] = {}
        self._size, self._turn = 0, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer by what is kept, or pass a request on."""
        key = _key(scope) if scope["type"] == "http" and scope["method"] == "GET" else None
        if key is None:
            await self._app(scope, receive, send)
            return
        turn, version = self._turn, self._version()
        while (found := self._answers.get(key)) is not None:
            if (found.turn > turn or found.version == version) and self._may_have(found, key):
                await send(dict(found.begun))
                await send({"type": "http.response.body", "body": found.body})
                return
            making = self._making.get(key)
            if making is None:
                break
            await making.wait()
            version = self._version()
        await self._make(key, version, scope, receive, send)

    def _version(self) -> int:
        return self._desk.folder.database.version()

    def _may_have(self, found: _Answer, key: Any) -> bool:
        """Count a request of who an answer is for; False where they ask too often, or are not known any more."""
        who = found.identity
        if who is None or who.key is None:
            return True
        if (who.until is not None and who.until <= time.time()) or self._desk.reads.take(who.key):
            return False
        self._desk.note(who)
        return True

    async def _make(self, key: Any, version: int, scope: Scope, receive: Receive, send: Send) -> None:
        self._turn += 1
        made = _Answer(version, self._turn)
        keep = False
        pieces: list[bytes] = []
        ready = self._making[key] = asyncio.Event()

        def end(*, whole: bool) -> None:
            if ready.is_set():
                return
            ready.set()
            self._drop(key)
            if self._making.get(key) is ready:
                del self._making[key]
            if whole:
                made.body, made.identity = b"".join(pieces), scope["state"].get("identity")
                self._keep(key, made)

        async def noted(message: Message) -> None:
            nonlocal keep
            begins = message["type"] == "http.response.start"
            if begins:
                keep = message["status"] == 200 and hasattr(getattr(scope.get("route"), "endpoint", None), "unchanging")
                made.begun = message
            elif keep:
                pieces.append(message.get("body", b""))
                keep = sum(map(len, pieces)) <= _LONGEST
            if not keep or not message.get("more_body", begins):
                end(whole=keep)  # before it is sent: nobody else waits for a client that reads slowly
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            end(whole=False)

    def _keep(self, key: Any, made: _Answer) -> None:
        path, query, _, told = key
        made.size = len(made.body) + len(path) + len(query) + sum(len(value) for _, value in told) + _BESIDE
        self._answers[key] = made
        self._size += made.size
        while self._size > _MOST:
            self._drop(next(iter(self._answers)))

    def _drop(self, key: Any) -> None:
        if (gone := self._answers.pop(key, None)) is not None:
            self._size -= gone.size


def _key(scope: Scope) -> Any:
    """All of a request that its answer depends on; None where it may depend on more."""
    told = []
    for name, value in scope["headers"]:
        if name in _OWN_WAY:
            return None
        if name in _TOLD_BY:
            told.append((name, value))
    client = scope.get("client") or ("",)
    base = scope.get("scheme"), scope.get("root_path"), client[0]
    return scope["path"], scope["query_string"], base, tuple(told)
