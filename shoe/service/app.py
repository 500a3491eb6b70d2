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

from shoe.core.errors import ShoeError, printable, quote
from shoe.service import errors
from shoe.service.api import about, admin, boards, catalog, events, lookups, predictions, results, runs, studies
from shoe.service.auditing import Auditing
from shoe.service.bodies import Bodies
from shoe.service.callers import Desk
from shoe.service.contract import describe
from shoe.service.folder import Folder
from shoe.service.kept import Kept
from shoe.service.pages import forms, routes
from shoe.service.pages.answers import NO_PAGE, problem
from shoe.service.process import Executor, LocalExecutor
from shoe.service.reading import known_parameters
from shoe.service.refusals import Refused, json_response, too_many
from shoe.service.security import Guard
from shoe.service.settings import Settings
from shoe.service.tokens import note_use
from shoe.version import __version__

_ROUTES = (about, predictions, runs, results, events, catalog, boards, lookups, studies, admin, routes, forms)
_STATUS: dict[type[ShoeError], int] = {
    errors.NotFoundError: 404,
    errors.ConflictError: 409,
    errors.TooLargeError: 413,
    errors.DamagedError: 422,
    errors.FullError: 507,
}
"""Of what cannot be granted; what is wrong in a request is 422."""
_WAIT: dict[type[ShoeError], float] = {errors.BusyError: 10, errors.QuotaError: 3600}
"""Seconds after which what is too much now may be asked for again."""
_TIDY_EVERY = 30.0
_SHOULD = re.compile("^(Input|String) should (be |match pattern )?")
"""How the library begins to say what it expects."""
_say = logging.getLogger(__name__)


def make_app(folder: Folder, settings: Settings | None = None, place: Executor | None = None) -> FastAPI:
    """Make the application of a service.

    Args:
        folder: of the service; a worker that runs the jobs is not part of it.
        settings: where it listens and what it takes.
        place: where jobs run.
    """
    settings = settings or Settings()
    desk = Desk(folder, settings, place or LocalExecutor())

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        tidying = asyncio.create_task(_tidy(desk))
        yield
        tidying.cancel()
        note_use(folder, desk.used)

    app = FastAPI(
        title="shoe serve",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    app.state.desk = desk
    for module in _ROUTES:
        app.include_router(module.router, dependencies=[Depends(known_parameters)])
    app.add_api_route("/openapi.json", _schema, include_in_schema=False)
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(ShoeError, _wrong)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _unknown)
    app.add_exception_handler(ClientDisconnect, _gone)
    app.add_exception_handler(OSError, _full)
    app.add_exception_handler(sqlite3.OperationalError, _full)
    app.add_middleware(Auditing, folder=folder)
    app.add_middleware(Bodies, settings=settings)
    app.add_middleware(Kept, desk=desk)
    app.add_middleware(Guard, settings=settings)
    return app


async def _tidy(desk: Desk) -> None:
    """Note which tokens were used, and forget uploads that nobody goes on with."""
    while True:
        await asyncio.sleep(_TIDY_EVERY)
        used, desk.used = desk.used, {}
        try:
            await run_in_threadpool(note_use, desk.folder, used)
            await run_in_threadpool(desk.uploads.end_old)
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
    """A parameter of the path, the query or the headers is wrong."""
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
    """The disk is full; any other fault of the system stays one."""
    if getattr(error, "errno", None) == errno.ENOSPC or getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
        return _wrong(request, errors.FullError("the disk of the service is full"))
    raise error


def _gone(_: Request, error: Exception) -> Response:
    del error
    return Refused(400, "body: the connection ended before it did").response()
