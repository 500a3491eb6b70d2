"""What the pages of similarity maps say: coverage, raters, and how far they agree."""

from __future__ import annotations

from functools import lru_cache
from statistics import median
from typing import Any

from shoe.page import svg
from shoe.service.pages.playground import loaded


@lru_cache(maxsize=8)
def map_values(name: str, place: str) -> dict[str, Any]:
    """Collect the values of ``map.html``; `place` is a shipped name or a folder."""
    from shoe.maps.info import describe
    from shoe.similarity import SimilarityMap

    similarity = loaded(place)
    assert isinstance(similarity, SimilarityMap)  # noqa: S101 - of the names of maps
    info = describe(similarity)
    names = [rater.name for rater in similarity.raters]
    return {
        "map": {
            "name": name,
            "digest": similarity.digest,
            "dataset": similarity.dataset,
            "ensemble": similarity.ensemble,
            "raters": names,
            "warnings": info.warnings,
        },
        "coverage": [_coverage(part, of) for part, of in info.parts.items()],
        "raters": [
            {
                "name": rater.name,
                "model": rater.model,
                "parts": [
                    {
                        "rated": rater.part(part).rated,
                        "drawn": svg.histogram(
                            rater.part(part).histogram, f"how often {rater.name} gave each rating to {part}s"
                        ),
                    }
                    for part in info.parts
                ],
            }
            for rater in info.raters
        ],
        "agreement": [
            {
                "name": f"{part}s",
                "drawn": svg.matrix(
                    names,
                    [
                        (names.index(first), names.index(second), two.quadratic_weighted_kappa)
                        for two in of.agreement
                        for first, second in [two.raters]
                    ],
                    f"agreement of raters on {part}s, as quadratic weighted kappa",
                ),
            }
            for part, of in info.parts.items()
            if of.agreement
        ],
    }


@lru_cache(maxsize=32)
def map_row(name: str, place: str) -> dict[str, Any]:
    """What the list of maps says of one."""
    from shoe.similarity import SimilarityMap

    similarity = loaded(place)
    assert isinstance(similarity, SimilarityMap)  # noqa: S101 - of the names of maps
    pairs = {part: len(table) for part, table in similarity.tables.items()}
    return {
        "name": name,
        "digest": similarity.digest,
        "dataset": similarity.dataset,
        "raters": len(similarity.raters),
        "verbs": pairs.get("verb", 0),
        "objects": pairs.get("object", 0),
    }


def _coverage(part: str, of: Any) -> dict[str, Any]:
    spread = ["–"] * 4
    if of.coverage:
        rated = list(of.coverage.values())
        with_any = f"{sum(number > 0 for number in rated)} of {len(rated)}"
        spread = [with_any, *(f"{int(figure(rated)):,}" for figure in (min, median, max))]
    return {"name": f"{part}s", "pairs": of.pairs, "rated": of.rated_pairs, "senses": of.class_senses, "spread": spread}
