"""What runs can be asked for: ground truths and similarity maps."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from shoe.service import truths
from shoe.service.api import models
from shoe.service.callers import Reader, TheDesk
from shoe.service.contract import contract
from shoe.service.kept import unchanging
from shoe.service.refusals import json_response

router = APIRouter(tags=["catalog"])


@router.get("/v1/truths", **contract(models.Truths))
@unchanging
async def list_truths(identity: Reader, desk: TheDesk) -> Response:
    """Ground truths that runs can name: their facts, never their boxes and labels."""
    del identity
    found = [
        models.Truth(
            name=of.name,
            dataset=of.dataset,
            facts=dict(of.facts),
            shown=of.shown,
            created=of.created,
            split=of.reading.split,
        )
        for of in truths.truths(desk.folder)
    ]
    return json_response(models.Truths(truths=found))


@router.get("/v1/maps", **contract(models.Maps))
@unchanging
async def list_maps(identity: Reader, desk: TheDesk) -> Response:
    """Similarities that runs can name: shoe's own, and those that are registered."""
    del identity
    found = [models.Map(name=name) for name in truths.own_similarities()]
    found += [
        models.Map(name=of.name, digest=of.digest, facts=dict(of.facts), created=of.created)
        for of in truths.maps(desk.folder)
    ]
    return json_response(models.Maps(maps=found))
