"""Every change that somebody asked for and got goes into the audit log."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shoe.service import audit
from shoe.service.folder import Folder
from shoe.service.security import READS
from shoe.service.tokens import Identity

_PIECES = (("PATCH", "/v1/uploads/{id}"), ("POST", "/v1/study/answers"))
"""What comes again and again: pieces of an upload, whose begin and end are written, and answers, which are dated."""


class Auditing:
    """Writes who did what once it is answered for."""

    def __init__(self, app: ASGIApp, folder: Folder) -> None:
        self._app, self._folder = app, folder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and write it down where it changed something."""
        if scope["type"] != "http" or scope["method"] in READS:
            await self._app(scope, receive, send)
            return

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                await self._note(scope, message["status"])
            await send(message)

        await self._app(scope, receive, noted)

    async def _note(self, scope: Scope, status: int) -> None:
        identity: Identity | None = scope.get("state", {}).get("identity")
        route = scope.get("route")
        path = getattr(route, "path", scope["path"])
        if status >= 400 or identity is None or (scope["method"], path) in _PIECES:
            return
        actor = f"{identity.name} of {identity.team}" if identity.team is not None else "nobody"
        address = scope["client"][0] if scope.get("client") else None
        about = " ".join(str(value) for value in scope.get("path_params", {}).values()) or None
        action = f"{scope['method']} {path}"
        detail = scope.get("state", {}).get("detail")
        await run_in_threadpool(audit.record, self._folder, actor, action, about, detail, address)
