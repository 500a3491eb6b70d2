"""What the metric takes words to mean."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from shoe.core.errors import OptionError
from shoe.service.api import models
from shoe.service.callers import Reader, TheDesk
from shoe.service.contract import contract
from shoe.service.lookups import explained
from shoe.service.refusals import json_response

router = APIRouter(tags=["words"])
Part = Literal["verb", "object"]
Ensemble = Literal["mean", "median", "majority", "majority-mean"]
Combine = Literal["arithmetic", "geometric", "minimum"]


@router.get("/v1/resolve", **contract(models.Resolutions))
def resolve(
    word: Annotated[str, Query(min_length=1, max_length=200, description="A word or phrase, as predicted.")],
    identity: Reader,
    part: Annotated[Part | None, Query(description="As what; both unless given.")] = None,
) -> Response:
    """The senses that a word may have, those that count first."""
    from shoe.lexicon.resolve import resolve as candidates_of

    del identity
    if not word.strip():
        raise OptionError("word: found blanks, expected a word or phrase")
    parts: tuple[Part, ...] = (part,) if part else ("verb", "object")
    said = [
        models.Resolution(
            word=each.word,
            part=each.part,
            candidates=[
                models.Candidate(name=sense.name, lemma=sense.lemma, reason=sense.reason) for sense in each.candidates
            ],
        )
        for each in (candidates_of(word, part) for part in parts)
    ]
    return json_response(models.Resolutions(resolutions=said))


@router.get("/v1/similarity", **contract(dict[str, Any]))
def similarity(
    a: Annotated[str, Query(min_length=1, max_length=200, description="A class: a sense, a word or an interaction.")],
    b: Annotated[str, Query(min_length=1, max_length=200, description="What was predicted: a word or an interaction.")],
    identity: Reader,
    desk: TheDesk,
    part: Annotated[Part | None, Query(description="For a word that is both.")] = None,
    map: Annotated[str, Query(max_length=80, description="Name of a similarity.")] = "hico-det",  # noqa: A002
    ensemble: Annotated[Ensemble, Query(description="Raters into one.")] = "mean",
    combine: Annotated[Combine, Query(description="Verb and object into one.")] = "arithmetic",
    weight: Annotated[float, Query(ge=0, le=1, description="Of the verb.")] = 0.5,
) -> Response:
    """The JSON of ``shoe similarity``: senses, ratings of each rater, what was never rated."""
    del identity
    return json_response(explained(desk.folder, map, ensemble, a, b, part, combine, weight))
