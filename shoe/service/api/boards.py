"""Leaderboards: what there is, and how each stands."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from msgspec.structs import replace
from starlette.responses import Response

from shoe.service import boards, types
from shoe.service.callers import Anybody, App, demand
from shoe.service.contract import contract
from shoe.service.refusals import json_response

router = APIRouter(tags=["boards"])
Name = Annotated[str, Path(max_length=80, description="Of a leaderboard.")]


@router.get("/v1/boards", **contract(types.Boards, open_to="all"))
async def list_boards(identity: Anybody, app: App) -> Response:
    """Leaderboards that runs can be submitted to; without a token, those whose results all may see."""
    known = boards.boards(app.folder)
    return json_response(types.Boards(boards=[of for of in known if identity.allows("read") or not of.hidden]))


@router.get("/v1/boards/{name}", **contract(types.Standing, open_to="all"))
def get_board(name: Name, identity: Anybody, app: App) -> Response:
    """How a leaderboard stands; of one that is hidden, who runs the server sees the rows."""
    found = boards.standing(app.folder, name)
    if found.board.hidden and not identity.allows("admin"):
        demand(identity, "read")
        found = replace(found, rows=[], left_out=[])
    return json_response(found)
