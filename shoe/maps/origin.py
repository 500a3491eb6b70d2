"""What map.json says in prose: where ratings come from, how they were made, what may be done with them."""

from __future__ import annotations

from typing import Any

import orjson

from shoe.core.errors import InputError
from shoe.similarity import SimilarityMap
from shoe.similarity.maps import ABOUT

_OF_THE_TABLES = ("format", "version", "scale", "verbs", "objects")
_OF_THE_MAP = ("name", "dataset", "ensemble", "raters")


def origin_of(similarity: SimilarityMap) -> dict[str, Any]:
    """All that a map says about itself but for the form of its tables, and its digest.

    Raises:
        InputError: if map.json is nested deeper than JSON can be written.
    """
    about = {name: value for name, value in similarity.about.items() if name not in _OF_THE_TABLES}
    try:
        orjson.dumps([[[[about]]]])  # as deep as it stands in anything that is made of it
    except orjson.JSONEncodeError:
        where = f"{ABOUT} of {similarity.name}"
        raise InputError(where, found="values nested hundreds deep", expected="prose, numbers and lists") from None
    return about | {"digest": similarity.digest}


def provenance_of(similarity: SimilarityMap) -> dict[str, Any]:
    """What a map says beyond name, dataset, ensemble and raters.

    Raises:
        InputError: as :func:`origin_of`.
    """
    return {name: value for name, value in origin_of(similarity).items() if name not in (*_OF_THE_MAP, "digest")}


def remarks_on_raters(similarity: SimilarityMap) -> list[dict[str, Any]]:
    """What map.json says of each rater beyond name, model and note: how often it refused, and the like."""
    known = ("name", "model", "note")
    return [{key: value for key, value in rater.items() if key not in known} for rater in similarity.about["raters"]]
