"""The pages of a server that only show."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from shoe.core.errors import ShoeError
from shoe.service import boards
from shoe.service.api.runs import RunId
from shoe.service.callers import Anybody, Reader, TheDesk, demand
from shoe.service.contract import describe
from shoe.service.errors import NotFoundError
from shoe.service.kept import unchanging
from shoe.service.pages import playground, views
from shoe.service.pages.answers import Page, address_of, answer, viewer_of
from shoe.service.pages.files import STATIC
from shoe.service.pages.interface import CURL, interface_values
from shoe.service.truths import truths
from shoe.service.visible import visible_run

_MEDIA = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
Text = Annotated[str, Query(max_length=300)]

router = APIRouter(route_class=Page, include_in_schema=False)


@router.get("/static/{name}")
@unchanging
async def static(name: str, request: Request) -> Response:
    """A style, script or picture."""
    path = STATIC.get(name)
    if path is None:
        raise NotFoundError("no file of this name")
    content, tag = _content(path)
    headers = {"Cache-Control": "no-cache", "ETag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=_MEDIA[path.suffix])


@cache
def _content(path: Path) -> tuple[bytes, str]:
    content = path.read_bytes()
    return content, f'"{hashlib.sha256(content).hexdigest()[:32]}"'


@router.get("/")
@unchanging
async def front(request: Request, identity: Anybody, desk: TheDesk) -> Response:
    """The front page."""
    del identity
    return answer(request, views.front(desk.folder, viewer_of(request)))


@router.get("/runs")
@unchanging
async def run_list(
    request: Request,
    identity: Reader,
    desk: TheDesk,
    name: Text = "",
    state: Text = "",
    truth: Text = "",
    after: Text = "",
) -> Response:
    """Runs that a filter lets through."""
    number = visible_run(desk, identity, after).number if after else None
    asked = {"name": name, "state": state, "truth": truth}
    return answer(request, views.run_list(desk.folder, viewer_of(request), asked, number))


@router.get("/runs/{id}")
@unchanging
def run_page(request: Request, id: RunId, identity: Anybody, desk: TheDesk) -> Response:  # noqa: A002 - of the path
    """A run."""
    return answer(request, views.run_page(desk.folder, viewer_of(request), visible_run(desk, identity, id)))


@router.get("/runs/{id}/classes")
@unchanging
def classes_page(request: Request, id: RunId, identity: Anybody, desk: TheDesk) -> Response:  # noqa: A002
    """A run's figures of each class."""
    view = views.classes_page(desk.folder, visible_run(desk, identity, id))
    if view is None:
        raise NotFoundError(f"run {id} has no figures of classes")
    return answer(request, view)


@router.get("/submit")
@unchanging
def submit(request: Request, identity: Reader, desk: TheDesk, board: Text = "") -> Response:
    """The form that predictions are sent by."""
    from shoe.benchmarks import DEFAULT, benchmark
    from shoe.core.coordinates import CommonCoordinates
    from shoe.predictions.scores import SCORES
    from shoe.protocols.options import describe
    from shoe.service.truths import own_similarities

    of = benchmark(DEFAULT)
    values = {
        "truths": truths(desk.folder),
        "maps": list(dict.fromkeys([*playground.places(desk.folder), *own_similarities()])),
        "protocols": [(name, "") for name in (*of.protocols, "shoe")],
        "usual": of.default_protocols,
        "box_conventions": list(CommonCoordinates),
        "score_kinds": list(SCORES),
        "options": describe(),
        "boards": boards.boards(desk.folder),
        "wanted_board": board,
        "may_submit": identity.allows("submit"),
        "largest": desk.settings.largest_upload,
    }
    return answer(request, ("submit.html", values))


@router.get("/boards")
@unchanging
async def board_list(request: Request, identity: Anybody, desk: TheDesk) -> Response:
    """All leaderboards."""
    del identity
    return answer(request, views.board_list(desk.folder, viewer_of(request)))


@router.get("/boards/{name}")
@unchanging
def board_page(request: Request, name: str, identity: Anybody, desk: TheDesk) -> Response:
    """A leaderboard; one that is hidden is for who has a token."""
    if boards.board(desk.folder, name).hidden:
        demand(identity, "read")
    return answer(request, views.board_page(desk.folder, viewer_of(request), name))


@router.get("/playground")
def ask(
    request: Request, identity: Reader, desk: TheDesk, said: Text = "", truth: Text = "", similarity: Text = ""
) -> Response:
    """What the metric takes a phrase to mean."""
    del identity
    places = playground.places(desk.folder)
    name = similarity if similarity in places else next(iter(places))
    values: dict[str, Any] = {
        "asked": {"said": said, "truth": truth, "map": name},
        "maps": list(places),
        "problem": None,
    }
    values |= {"examples": playground.EXAMPLES, "labels": playground.labels_of(places[name])}
    nothing = {"compared": None, "whole": None, "reading": None, "senses": None, "counted": None}
    try:
        found = playground.answer(places[name], said, truth) if said.strip() else nothing
    except ShoeError as error:
        values["problem"] = str(error)
        found = playground.answer(places[name], said, "")
    return answer(request, ("playground.html", values | found))


@router.get("/maps")
@unchanging
def map_list(request: Request, identity: Reader, desk: TheDesk) -> Response:
    """All similarity maps."""
    del identity
    return answer(request, views.map_list(desk.folder))


@router.get("/maps/{name}")
@unchanging
def map_page(request: Request, name: str, identity: Reader, desk: TheDesk) -> Response:
    """A similarity map."""
    del identity
    view = views.map_page(desk.folder, name)
    if view is None:
        raise NotFoundError("no map of this name")
    return answer(request, view)


@router.get("/truths")
@unchanging
async def truth_list(request: Request, identity: Reader, desk: TheDesk) -> Response:
    """All ground truths."""
    del identity
    return answer(request, views.truth_list(desk.folder))


@router.get("/api")
@unchanging
def interface(request: Request, identity: Anybody, desk: TheDesk) -> Response:
    """The API, from its schema."""
    known = truths(desk.folder) if identity.allows("read") else []
    curl = CURL.format(address=address_of(request), truth=known[0].name if known else "TRUTH")
    return answer(request, ("api.html", {"groups": interface_values(describe(request.app)), "curl": curl}))


@router.get("/rate")
@unchanging
async def rate(identity: Anybody) -> Response:
    """A rater's page: the link's token stands behind #, so no server, log or other site is told it."""
    del identity
    page, allowed = _rater_page()
    return HTMLResponse(page, headers={"Content-Security-Policy": f"{allowed}; frame-ancestors 'none'"})


@cache
def _rater_page() -> tuple[str, str]:
    from shoe.page.study import served_page

    return served_page()
