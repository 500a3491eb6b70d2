"""What the service is, whether it works, and who is logged in."""

from __future__ import annotations

import shutil
from typing import Annotated

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from shoe.service import tokens
from shoe.service.api import models
from shoe.service.callers import Anybody, Desk, TheDesk, verified
from shoe.service.contract import contract
from shoe.service.kept import unchanging
from shoe.service.reading import body
from shoe.service.refusals import json_response
from shoe.service.security import COOKIE
from shoe.version import __version__

router = APIRouter(tags=["about"])
API = 1


@router.get("/v1/version", **contract(models.Version, open_to="all"))
@unchanging
async def version() -> Response:
    """What runs here."""
    return json_response(models.Version(shoe=__version__, api=[API]))


@router.get("/v1/health", **contract(models.Health, open_to="all"))
def health(desk: TheDesk) -> Response:
    """Whether the service takes work, and how much is before it."""
    with desk.folder.database.read() as db:
        rows = db.execute("SELECT state, count(*) AS n FROM jobs WHERE state IN ('queued', 'running') GROUP BY state")
        counts = {row["state"]: row["n"] for row in rows}
    full = shutil.disk_usage(desk.folder.path).free < desk.settings.free_below
    said = models.Health(
        state="full" if full else "working",
        queued=counts.get("queued", 0),
        running=counts.get("running", 0),
        engine=desk.place.name,
        engine_state="working" if desk.place.is_ready else "lost",
    )
    return json_response(said)


@router.post("/v1/session", **contract(models.Session, models.Login, open_to="all"))
async def log_in(
    asked: Annotated[models.Login, body(models.Login)], request: Request, asking: Anybody, desk: TheDesk
) -> Response:
    """Log a browser in: its cookie stands for the token, for half a day."""
    del asking
    identity = await run_in_threadpool(verified, request, asked.token, tokens.check)
    response = json_response(session_of(identity))
    await run_in_threadpool(set_session, desk, request, response, asked.token)
    return response


@router.get("/v1/session", **contract(models.Session, open_to="all"))
async def get_session(identity: Anybody) -> Response:
    """Who you are here."""
    return json_response(session_of(identity))


@router.delete("/v1/session", **contract(status=204, open_to="all"))
def log_out(request: Request, identity: Anybody, desk: TheDesk) -> Response:
    """Log a browser out."""
    del identity
    tokens.log_out(desk.folder, request.cookies.get(COOKIE, ""))
    response = Response(status_code=204)
    response.delete_cookie(COOKIE)
    return response


def session_of(identity: tokens.Identity) -> models.Session:
    """Who somebody is, as they are told."""
    scopes: list[str] = [scope for scope in tokens.SCOPES if identity.allows(scope)]
    return models.Session(team=identity.team or "", name=identity.name, scopes=scopes)


def set_session(desk: Desk, request: Request, response: Response, token: str) -> None:
    """Begin a session and give its cookie, which no script can read and no other site can send."""
    secret = tokens.log_in(desk.folder, token, desk.settings.session)
    if secret is not None:
        response.set_cookie(
            COOKIE,
            secret,
            max_age=desk.settings.session,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
