"""Predictions for what a map does not rate, learned and written beside it."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from msgspec import to_builtins

from shoe.core.documents import Count, Document
from shoe.core.errors import MissingExtraError
from shoe.core.shipped import shipped
from shoe.maps.learn import Validation, learn
from shoe.similarity import SimilarityMap, write_map
from shoe.similarity.learned import learned_bytes
from shoe.similarity.maps import shipped_maps


class PartLearned(Document, frozen=True):
    """What was learned of one part of speech."""

    classes: Count
    senses: Count
    by_sense: Validation
    by_class: Validation


class MapLearned(Document, frozen=True):
    """What a map's ratings taught."""

    verbs: PartLearned
    objects: PartLearned


def teach(map: str, progress: Callable[[str], None] = lambda _: None) -> MapLearned:  # noqa: A002 - as elsewhere
    """Learn from a map's ratings and write the predictions beside it.

    Args:
        map: a shipped map's name, or a map's folder.
        progress: is told what begins.

    Returns:
        For verbs and objects the size of the table and how well ratings were predicted, as map.json says it.

    Raises:
        MissingExtraError: without scikit-learn; or WordNet's definitions.
        OptionError: for a map without ratings of verbs, or of objects.
    """
    if not find_spec("sklearn"):
        raise MissingExtraError("learning from ratings", "llm")
    similarity = SimilarityMap.load(map)
    taught = learn(similarity, progress)
    parts = {
        f"{part}s": PartLearned(
            len(of_part.table.classes), len(of_part.table.senses), of_part.by_sense, of_part.by_class
        )
        for part, of_part in taught.items()
    }
    figures = MapLearned(**parts)
    write_map(
        shipped("similarity_maps") / map if map in shipped_maps() else Path(map),
        name=similarity.name,
        dataset=similarity.dataset,
        raters=similarity.raters,
        pairs=similarity.tables,
        ensemble=similarity.about["ensemble"],
        prose=similarity.provenance,
        learned=(learned_bytes({part: of_part.table for part, of_part in taught.items()}), to_builtins(figures)),
        whole=similarity.wholes,
    )
    return figures
