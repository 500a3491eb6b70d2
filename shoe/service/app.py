"""The application: routes behind guards, refusals as one line of JSON."""

from __future__ import annotations

import asyncio
import errno
import logging
import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Depends, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shoe.core.errors import ShoeError, printable, quote
from shoe.service import contract, tokens
from shoe.service.api import predictions, runs, service
from shoe.service.callers import AppState
from shoe.service.contract import Refused, describe, json_response, known_parameters, too_many
from shoe.service.folder import Folder
from shoe.service.pages import forms, routes
from shoe.service.pages.rendering import NO_PAGE, problem
from shoe.service.process import Executor
from shoe.service.security import READS, BodyLimit, Guard
from shoe.service.settings import Settings
from shoe.service.tokens import Identity, note_use
from shoe.version import __version__

_ROUTERS = (
    service.about_router,
    predictions.router,
    runs.router,
    runs.results_router,
    service.catalog_router,
    service.boards_router,
    service.words_router,
    service.studies_router,
    service.admin_router,
    routes.router,
    forms.router,
)
_STATUS: dict[type[ShoeError], int] = {
    contract.NotFoundError: 404,
    contract.ConflictError: 409,
    contract.TooLargeError: 413,
    contract.DamagedError: 422,
    contract.FullError: 507,
}
"""Of what cannot be granted; what is wrong in a request is 422."""
_WAIT: dict[type[ShoeError], float] = {contract.BusyError: 10, contract.QuotaError: 3600}
"""Seconds after which what is too much now may be asked for again."""
_TIDY_EVERY = 30.0
_PIECES = (("PATCH", "/v1/uploads/{id}"), ("POST", "/v1/study/answers"))
"""Requests that come again and again and are not logged: parts of an upload, and answers, which are dated."""
_SHOULD = re.compile("^(Input|String) should (be |match pattern )?")
"""How the library begins to say what it expects."""
_say = logging.getLogger(__name__)


def make_app(folder: Folder, settings: Settings | None = None, place: Executor | None = None) -> FastAPI:
    """Make the application of a service; the worker that runs the jobs is not part of it."""
    settings = settings or Settings()
    shared = AppState(folder, settings, place)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        tidying = asyncio.create_task(_tidy(shared))
        yield
        tidying.cancel()
        note_use(folder, shared.used)

    app = FastAPI(
        title="shoe serve",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    app.state.shared = shared
    for router in _ROUTERS:
        app.include_router(router, dependencies=[Depends(known_parameters)])
    app.add_api_route("/openapi.json", _schema, include_in_schema=False)
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(ShoeError, _wrong)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _unknown)
    app.add_exception_handler(ClientDisconnect, _gone)
    app.add_exception_handler(OSError, _full)
    app.add_exception_handler(sqlite3.OperationalError, _full)
    app.add_middleware(Auditing, folder=folder)
    app.add_middleware(BodyLimit, settings=settings)
    app.add_middleware(Guard, settings=settings)
    return app


class Auditing:
    """Middleware that adds every successful change to the audit log: caller, address, and object."""

    def __init__(self, app: ASGIApp, folder: Folder) -> None:
        self._app, self._folder = app, folder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and log it when its answer begins."""
        if scope["type"] != "http" or scope["method"] in READS:
            await self._app(scope, receive, send)
            return

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                await self._note(scope)
            await send(message)

        await self._app(scope, receive, noted)

    async def _note(self, scope: Scope) -> None:
        identity: Identity | None = scope.get("state", {}).get("identity")
        route = scope.get("route")
        path = getattr(route, "path", scope["path"])
        if identity is None or (scope["method"], path) in _PIECES:
            return
        actor = f"{identity.name} of {identity.team}" if identity.team is not None else "nobody"
        address = scope["client"][0] if scope.get("client") else None
        service = " ".join(str(value) for value in scope.get("path_params", {}).values()) or None
        action = f"{scope['method']} {path}"
        detail = scope.get("state", {}).get("detail")
        await run_in_threadpool(tokens.record, self._folder, actor, action, service, detail, address)


async def _tidy(shared: AppState) -> None:
    """Record the use of tokens, and remove abandoned uploads."""
    while True:
        await asyncio.sleep(_TIDY_EVERY)
        used, shared.used = shared.used, {}
        try:
            await run_in_threadpool(note_use, shared.folder, used)
            await run_in_threadpool(shared.uploads.end_old)
        except Exception:
            _say.exception("tidying")


async def _schema(request: Request) -> Response:
    return json_response(describe(request.app))


def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)  # noqa: S101 - registered for it
    return error.response()


def _wrong(_: Request, error: Exception) -> Response:
    for kind, seconds in _WAIT.items():
        if isinstance(error, kind):
            return too_many(str(error), seconds).response()
    status = next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 422)
    return Refused(status, str(error)).response()


def _invalid(_: Request, error: Exception) -> Response:
    """Answer a wrong parameter of the path, the query or the headers."""
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for it
    first = error.errors()[0]
    where, name = str(first["loc"][0]), str(first["loc"][-1])
    found = "none" if first["type"] == "missing" else quote(first.get("input"))
    expected = _SHOULD.sub("expected ", printable(first["msg"], 200))
    return Refused(422, f"{name}: found {found} ({where}); {expected}", field=name).response()


def _unknown(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for it
    if error.status_code == 404 and "text/html" in request.headers.get("accept", ""):
        return problem(request, 404, NO_PAGE)
    said = {
        404: f"nothing is at {printable(request.url.path, 200)}",
        405: f"{printable(request.method)} is not possible here",
    }
    return Refused(error.status_code, said.get(error.status_code, str(error.detail)), headers=error.headers).response()


def _full(request: Request, error: Exception) -> Response:
    """Answer a full disk; other errors of the system are raised again."""
    if getattr(error, "errno", None) == errno.ENOSPC or getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
        return _wrong(request, contract.FullError("the disk of the service is full"))
    raise error


def _gone(_: Request, error: Exception) -> Response:
    del error
    return Refused(400, "body: the connection ended before it did").response()
