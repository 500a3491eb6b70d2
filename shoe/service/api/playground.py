"""What the metric takes words to mean."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Query
from starlette.responses import Response

from shoe.core.errors import OptionError, quote
from shoe.service import truths, types
from shoe.service.callers import App, Reader
from shoe.service.contract import contract
from shoe.service.refusals import json_response

if TYPE_CHECKING:
    from shoe.similarity import Similarity

router = APIRouter(tags=["words"])
Part = Literal["verb", "object"]
Ensemble = Literal["mean", "median", "majority", "majority-mean"]
Combine = Literal["arithmetic", "geometric", "minimum"]


@router.get("/v1/resolve", **contract(types.Resolutions))
def resolve(
    word: Annotated[str, Query(min_length=1, max_length=200, description="A word or phrase, as predicted.")],
    _: Reader,
    part: Annotated[Part | None, Query(description="As what; both unless given.")] = None,
) -> Response:
    """The senses that a word may have, those that count first."""
    from shoe.lexicon.resolve import resolve as candidates_of

    if not word.strip():
        raise OptionError("word: found blanks, expected a word or phrase")
    parts: tuple[Part, ...] = (part,) if part else ("verb", "object")
    found = [msgspec.convert(candidates_of(word, each), types.Resolution, from_attributes=True) for each in parts]
    return json_response(types.Resolutions(resolutions=found))


@router.get("/v1/similarity", **contract(dict[str, Any]))
def similarity(
    a: Annotated[str, Query(min_length=1, max_length=200, description="A class: a sense, a word or an interaction.")],
    b: Annotated[str, Query(min_length=1, max_length=200, description="What was predicted: a word or an interaction.")],
    _: Reader,
    app: App,
    part: Annotated[Part | None, Query(description="For a word that is both.")] = None,
    map: Annotated[str, Query(max_length=80, description="Name of a similarity.")] = "hico-det",  # noqa: A002
    ensemble: Annotated[Ensemble, Query(description="Raters into one.")] = "mean",
    combine: Annotated[Combine, Query(description="Verb and object into one.")] = "arithmetic",
    weight: Annotated[float, Query(ge=0, le=1, description="Of the verb.")] = 0.5,
) -> Response:
    """The JSON of ``shoe similarity``: senses, ratings of each rater, what was never rated."""
    from shoe.report.similarity import similarity_of

    for name, text in (("a", a), ("b", b)):
        if not text.strip():
            raise OptionError(f"{name}: found {quote(text)}, expected a word or phrase")
    source = truths.similarity(app.folder, map)
    place = str(app.folder.maps / source["folder"]) if "folder" in source else map
    return json_response(similarity_of(_loaded(place, ensemble), a, b, part, combine, weight).to_dict())


@lru_cache(maxsize=8)
def _loaded(place: str, ensemble: str) -> Similarity:
    from shoe.similarity import load_similarity

    return load_similarity(place, ensemble)
