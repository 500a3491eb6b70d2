"""What the service is, whether it works, and who is logged in."""

from __future__ import annotations

import shutil
from typing import Annotated

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from shoe.service import tokens, types
from shoe.service.callers import Anybody, App, AppState, verified
from shoe.service.contract import contract
from shoe.service.refusals import body, json_response
from shoe.service.security import COOKIE
from shoe.version import __version__

router = APIRouter(tags=["about"])
API = 1


@router.get("/v1/version", **contract(types.Version, open_to="all"))
async def version() -> Response:
    """What runs here."""
    return json_response(types.Version(shoe=__version__, api=[API]))


@router.get("/v1/health", **contract(types.Health, open_to="all"))
def health(app: App) -> Response:
    """Whether the service takes work, and how much is before it."""
    with app.folder.database.read() as db:
        rows = db.execute("SELECT state, count(*) AS n FROM jobs WHERE state IN ('queued', 'running') GROUP BY state")
        counts = {row["state"]: row["n"] for row in rows}
    full = shutil.disk_usage(app.folder.path).free < app.settings.free_below
    health = types.Health(
        state="full" if full else "working",
        queued=counts.get("queued", 0),
        running=counts.get("running", 0),
        engine=app.place.name,
        engine_state="working" if app.place.is_ready else "lost",
    )
    return json_response(health)


@router.post("/v1/session", **contract(types.Session, types.Login, open_to="all"))
async def log_in(asked: Annotated[types.Login, body(types.Login)], request: Request, _: Anybody, app: App) -> Response:
    """Log a browser in: its cookie stands for the token, for half a day."""
    identity = await run_in_threadpool(verified, request, asked.token)
    response = json_response(_session(identity))
    await run_in_threadpool(set_session, app, request, response, asked.token)
    return response


@router.get("/v1/session", **contract(types.Session, open_to="all"))
async def get_session(identity: Anybody) -> Response:
    """Who you are here."""
    return json_response(_session(identity))


@router.delete("/v1/session", **contract(status=204, open_to="all"))
def log_out(request: Request, _: Anybody, app: App) -> Response:
    """Log a browser out."""
    tokens.log_out(app.folder, request.cookies.get(COOKIE, ""))
    response = Response(status_code=204)
    response.delete_cookie(COOKIE)
    return response


def _session(identity: tokens.Identity) -> types.Session:
    scopes: list[str] = [scope for scope in tokens.SCOPES if identity.allows(scope)]
    return types.Session(team=identity.team or "", name=identity.name, scopes=scopes)


def set_session(app: AppState, request: Request, response: Response, token: str) -> None:
    """Start a session and set its cookie, which no script can read and no other site can send."""
    secret = tokens.log_in(app.folder, token, app.settings.session)
    if secret is not None:
        response.set_cookie(
            COOKIE,
            secret,
            max_age=app.settings.session,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
