"""Limits on what a request sends: its size, counted as it comes, and how long it may take."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shoe.service.refusals import Refused
from shoe.service.settings import Settings

UPLOADS = ("/v1/predictions", "/v1/uploads/")
"""Paths that take whole prediction files."""
_GRACE = 5.0


class Bodies:
    """Refuses bodies that are too large, announced or not, and those that come too slowly."""

    def __init__(self, app: ASGIApp, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._app, self._settings, self._clock = app, settings, clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with a ``receive`` that counts."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = self._settings.largest_upload if scope["path"].startswith(UPLOADS) else self._settings.largest_json
        announced = Headers(scope=scope).get("content-length", "0")
        if not announced.isdigit() or len(announced) > 18 or int(announced) > most:
            await too_large(most).response()(scope, receive, send)
            return
        started, read, ended = self._clock(), 0, False

        async def counted() -> Message:
            nonlocal read, ended
            if ended:  # what follows is that the client goes away, whenever it does
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), self._settings.patience)
            except TimeoutError:
                raise _too_slow() from None
            ended = not message.get("more_body", False)
            if message["type"] == "http.request":
                read += len(message.get("body", b""))
                if read > most:
                    raise too_large(most)
                taken = self._clock() - started
                if not ended and taken > _GRACE and read < taken * self._settings.slowest:
                    raise _too_slow()
            return message

        await self._app(scope, counted, send)


async def read_body(request: Request) -> bytes:
    """The whole body of a request that is small."""
    return b"".join([piece async for piece in request.stream()])


def too_large(most: int) -> Refused:
    """Refuse a body of more bytes than are taken."""
    return Refused(
        413, f"body: found more than {most:,} bytes, expected at most those", headers={"Connection": "close"}
    )


def _too_slow() -> Refused:
    return Refused(408, "body: it comes too slowly", headers={"Connection": "close"})
