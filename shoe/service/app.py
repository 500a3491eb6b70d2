"""FastAPI application: routes, middleware, and error responses with a message of one line."""

import asyncio
import errno
import logging
import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import msgspec
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shoe.core.errors import ShoeError, printable, quote
from shoe.service import errors, tokens
from shoe.service.api import predictions, runs, service
from shoe.service.callers import AppState
from shoe.service.contract import Refused, describe, json_response, too_many
from shoe.service.folder import Folder
from shoe.service.http_guard import READS, BodyLimit, Guard
from shoe.service.pages import routes
from shoe.service.pages.rendering import NO_PAGE, compile_templates, problem
from shoe.service.process import Executor
from shoe.service.settings import Settings
from shoe.version import __version__

_ROUTES = [*runs.router.routes, *service.router.routes, *predictions.router.routes, *routes.router.routes]
_BUSY = 10.0  # seconds to wait after a BusyError
_TIDY_EVERY = 30.0
_PIECES = (("PATCH", "/v1/uploads/{id}"), ("POST", "/v1/study/answers"))
"""Frequent requests that are not in the audit log: parts of uploads, and raters' answers, which contain times."""
_SHOULD = re.compile("^(Input|String) should (be |match pattern )?")
"""Beginning of an error message of pydantic, which is replaced by "expected "."""
_say = logging.getLogger(__name__)


def make_app(folder: Folder, settings: Settings | None = None, executor: Executor | None = None) -> FastAPI:
    """Return the web application of a data folder. It does not run jobs, but shows the state of `executor`."""
    settings = settings or Settings()
    shared = AppState(folder, settings, executor)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        tidying = asyncio.create_task(_tidy(shared))
        yield
        tidying.cancel()
        tokens.note_use(folder, shared.used)

    app = FastAPI(title="shoe serve", version=__version__, openapi_url=None, lifespan=lifespan, redirect_slashes=False)
    app.state.shared = shared
    app.router.routes.extend(_ROUTES)  # of include_router, FastAPI would search the routes twice per request
    app.add_api_route("/openapi.json", _schema, include_in_schema=False)
    app.add_exception_handler(Refused, _wrong)
    app.add_exception_handler(ShoeError, _wrong)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _unknown)
    closed = Refused(400, "body: the connection closed before the end of the body")
    app.add_exception_handler(ClientDisconnect, lambda *_: closed.response())
    app.add_exception_handler(OSError, _full)
    app.add_exception_handler(sqlite3.OperationalError, _full)
    app.add_middleware(Auditing, folder=folder)
    app.add_middleware(BodyLimit, settings=settings)
    app.add_middleware(Guard, settings=settings)
    return app


class Auditing:
    """Middleware that records successful requests that change something in the audit log, with caller and address."""

    def __init__(self, app: ASGIApp, folder: Folder) -> None:
        self._app, self._folder = app, folder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, and add an entry to the audit log when the response starts with a status below 400."""
        if scope["type"] != "http" or scope["method"] in READS:
            await self._app(scope, receive, send)
            return

        start: Message | None = None

        async def noted(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and message["status"] < 400:
                start = message
                return
            if start is not None:
                try:
                    await self._note(scope, _changed(start, message.get("body", b"")))
                except (OSError, sqlite3.Error):  # the change is stored: a full disk must not make it look refused
                    _say.exception("audit log")
                await send(start)
                start = None
            await send(message)

        await self._app(scope, receive, noted)

    async def _note(self, scope: Scope, names: list[str]) -> None:
        identity: tokens.Identity | None = scope.get("state", {}).get("identity")
        route = scope.get("route")
        path = getattr(route, "path", scope["path"])
        if identity is None or (scope["method"], path) in _PIECES:
            return
        actor = f"{identity.name} of {identity.team}" if identity.team is not None else "nobody"
        address = scope["client"][0] if scope.get("client") else None
        changed = " ".join(dict.fromkeys([*map(str, scope.get("path_params", {}).values()), *names])) or None
        action = f"{scope['method']} {path}"
        await run_in_threadpool(tokens.record, self._folder, actor, action, changed, address)


class _Named(msgspec.Struct):
    """Names in the response to a change, for the audit log: run, leaderboard, SHA-256 of a file, name."""

    id: str | None = None
    board: str | None = None
    prediction: str | None = None
    sha256: str | None = None
    name: str | None = None


def _changed(start: Message, body: bytes) -> list[str]:
    """Return the names of the objects that a request has changed, from the body or the redirect of its response."""
    with suppress(msgspec.MsgspecError, UnicodeDecodeError):
        return [name for name in msgspec.structs.astuple(msgspec.json.decode(body, type=_Named)) if name]
    leads = dict(start["headers"]).get(b"location", b"").decode("latin-1")
    return [leads.rpartition("/")[2]] if leads.startswith("/runs/") else []


async def _tidy(shared: AppState) -> None:
    """Compile the templates of pages; then record the last use of tokens and remove abandoned uploads, forever."""
    await run_in_threadpool(compile_templates)
    while True:
        await asyncio.sleep(_TIDY_EVERY)
        used, shared.used = shared.used, {}
        try:
            await run_in_threadpool(tokens.note_use, shared.folder, used)
            await run_in_threadpool(shared.uploads.end_old)
        except Exception:
            _say.exception("tidying")


async def _schema(request: Request) -> Response:
    return json_response(describe(request.app))


def _wrong(_: Request, error: Exception) -> Response:
    if isinstance(error, Refused):
        return error.response()
    if isinstance(error, errors.BusyError | errors.QuotaError):
        return too_many(str(error), getattr(error, "wait", _BUSY)).response()
    return Refused(getattr(error, "status", 422), str(error)).response()


def _invalid(_: Request, error: Exception) -> Response:
    """Return the response for a wrong parameter of the path, the query or the headers."""
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
    path = printable(request.url.path, 200)
    messages = {404: f"no resource at {path}", 405: f"method {printable(request.method)} is not allowed for {path}"}
    message, headers = messages.get(error.status_code, str(error.detail)), dict(error.headers or {})
    if error.status_code == 405:  # Starlette lists only the methods of the first route of the path
        routes = [each for each in _ROUTES if isinstance(each, APIRoute)]
        matching = (route for route in routes if route.path_regex.match(request.url.path))
        headers["Allow"] = ", ".join(sorted({method for route in matching for method in route.methods or ()}))
    return Refused(error.status_code, message, headers=headers).response()


def _full(request: Request, error: Exception) -> Response:
    """Return the response for a full disk; raise the error again if it has another cause."""
    if getattr(error, "errno", None) == errno.ENOSPC or getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
        return _wrong(request, errors.FullError("the disk of the server is full"))
    raise error
