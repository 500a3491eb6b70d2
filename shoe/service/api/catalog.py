"""What runs can be asked for: ground truths and similarity maps."""

from __future__ import annotations

import msgspec
from fastapi import APIRouter
from starlette.responses import Response

from shoe.service import truths, types
from shoe.service.callers import App, Reader
from shoe.service.contract import contract
from shoe.service.refusals import json_response

router = APIRouter(tags=["catalog"])


@router.get("/v1/truths", **contract(types.Truths))
async def list_truths(_: Reader, app: App) -> Response:
    """Ground truths that runs can name: their facts, never their boxes and labels."""
    found = [msgspec.convert(truth, types.Truth, from_attributes=True) for truth in truths.truths(app.folder)]
    return json_response(types.Truths(truths=found))


@router.get("/v1/maps", **contract(types.Maps))
async def list_maps(_: Reader, app: App) -> Response:
    """Similarities that runs can name: shoe's own, and those that are registered."""
    own = [types.Map(name=name) for name in truths.own_similarities()]
    return json_response(types.Maps(maps=own + truths.maps(app.folder)))
