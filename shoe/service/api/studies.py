"""A study, for a rater who was invited: what is asked, and what was answered."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from starlette.responses import Response

from shoe.service import studies, types
from shoe.service.callers import App, Rater
from shoe.service.contract import contract
from shoe.service.refusals import body, json_response

router = APIRouter(tags=["studies"])


@router.get("/v1/study", **contract(types.Asked, open_to="token"))
def get_study(identity: Rater, app: App) -> Response:
    """What the rater of an invite link is asked, in the rater's order."""
    return json_response(studies.asked(app.folder, identity))


@router.get("/v1/study/answers", **contract(types.Answers, open_to="token"))
def list_answers(identity: Rater, app: App) -> Response:
    """All that the rater has answered, on whatever device, the earliest first."""
    return json_response(types.Answers(answers=studies.given(app.folder, identity)))


@router.post("/v1/study/answers", **contract(types.KeptAnswers, types.Answers, open_to="token"))
def add_answers(asked: Annotated[types.Answers, body(types.Answers)], identity: Rater, app: App) -> Response:
    """Add answers of the rater; one that was sent before is kept once, so whatever is in doubt is sent again."""
    return json_response(types.KeptAnswers(kept=studies.keep(app.folder, identity, asked.answers)))
