"""A study, for a rater who was invited: what is asked, and what was answered."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from starlette.responses import Response

from shoe.service import studies
from shoe.service.api import models
from shoe.service.callers import Rater, TheDesk
from shoe.service.contract import contract
from shoe.service.reading import body
from shoe.service.refusals import json_response

router = APIRouter(tags=["studies"])


@router.get("/v1/study", **contract(models.Asked, open_to="token"))
def get_study(identity: Rater, desk: TheDesk) -> Response:
    """What the rater of an invite link is asked, in the rater's order."""
    return json_response(studies.asked(desk.folder, identity))


@router.get("/v1/study/answers", **contract(models.Answers, open_to="token"))
def list_answers(identity: Rater, desk: TheDesk) -> Response:
    """All that the rater has answered, on whatever device, the earliest first."""
    return json_response(models.Answers(answers=studies.given(desk.folder, identity)))


@router.post("/v1/study/answers", **contract(models.KeptAnswers, models.Answers, open_to="token"))
def add_answers(asked: Annotated[models.Answers, body(models.Answers)], identity: Rater, desk: TheDesk) -> Response:
    """Add answers of the rater; one that was sent before is kept once, so whatever is in doubt is sent again."""
    return json_response(models.KeptAnswers(kept=studies.keep(desk.folder, identity, asked.answers)))
