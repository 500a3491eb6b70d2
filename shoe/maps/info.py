"""What a map holds: ratings per rater, agreement of its raters, and how far it covers the classes of its dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoe.benchmarks import benchmark
from shoe.benchmarks.classes import HoiClasses
from shoe.core.arrays import Indices
from shoe.core.errors import OptionError, printable, quote
from shoe.lexicon.expressions import Part
from shoe.lexicon.names import ids_of
from shoe.maps.agreement import RaterAgreement, rater_agreements
from shoe.similarity import RatedPairs, SimilarityMap
from shoe.similarity.ensemble import HIGHEST, MISSING

_NAMED = 8


@dataclass(frozen=True, slots=True, eq=False)
class PartInfo:
    """One part of speech; R raters.

    Attributes:
        pairs: rows of the table.
        rated: rows that at least one rater rated.
        class_senses: class senses in the table.
        histograms: (R, 5) how often each rater gave each rating 0..4.
        agreements: of every two raters.
        coverage: per class sense of the dataset, in its order, the number of synsets rated with it; None where the
            dataset's classes are not known.
    """

    pairs: int
    rated: int
    class_senses: int
    histograms: Indices
    agreements: list[RaterAgreement]
    coverage: dict[str, int] | None

    @property
    def without_ratings(self) -> list[str]:
        """Class senses of the dataset that no synset was rated with."""
        return [name for name, rated in (self.coverage or {}).items() if rated == 0]


@dataclass(frozen=True, slots=True, eq=False)
class MapInfo:
    """A whole map.

    Attributes:
        similarity: the map.
        parts: its tables.
        details: per rater, what else map.json says of it (refused, unparsable, ...).
        provenance: what map.json says beside names.
        warnings: what a user of the map should know, one line each.
    """

    similarity: SimilarityMap
    parts: dict[Part, PartInfo]
    details: list[dict[str, Any]]
    provenance: dict[str, Any]
    warnings: list[str]


def describe(similarity: SimilarityMap) -> MapInfo:
    """Describe a map."""
    try:
        classes = benchmark(similarity.dataset).classes
    except OptionError:
        classes = None
    parts = {part: _part(table, senses_of(classes, part)) for part, table in similarity.tables.items()}
    return MapInfo(
        similarity=similarity,
        parts=parts,
        details=[dict(rater.details) for rater in similarity.raters],
        provenance=similarity.provenance,
        warnings=_warnings(similarity, parts),
    )


def senses_of(classes: HoiClasses | None, part: Part) -> list[str] | None:
    """Distinct senses of a dataset's classes, in its order; no_interaction has none."""
    if classes is None:
        return None
    synsets = classes.verb_synsets if part == "verb" else classes.object_synsets
    return [synset for synset in dict.fromkeys(synsets) if synset]


def _part(table: RatedPairs, senses: list[str] | None) -> PartInfo:
    rated = table.rated
    histograms = [np.bincount(column[column != MISSING], minlength=HIGHEST + 1) for column in table.ratings.T]
    nothing = slice(0, 0)
    return PartInfo(
        pairs=len(table),
        rated=int(rated.sum()),
        class_senses=len(table.classes),
        histograms=np.array(histograms, np.int64),
        agreements=rater_agreements(table.ratings),
        coverage=None
        if senses is None
        else {
            name: int(rated[table.classes.get(sense, nothing)].sum())
            for name, sense in zip(senses, ids_of(senses).tolist(), strict=True)
        },
    )


def _warnings(similarity: SimilarityMap, parts: dict[Part, PartInfo]) -> list[str]:
    lines = []
    dataset = printable(similarity.dataset)
    for part, info in parts.items():
        if info.coverage is None:
            lines.append(f"{part}s: coverage not measured: the classes of {quote(similarity.dataset)} are not known")
            continue
        known = similarity.tables[part].classes
        senses = zip(info.coverage, ids_of(info.coverage).tolist(), strict=True)
        absent = [name for name, sense in senses if sense not in known]
        if absent:
            lines.append(_class_line(absent, part, dataset, "are not in the map at all"))
        empty = [sense for sense in info.without_ratings if sense not in absent]
        if empty:
            lines.append(_class_line(empty, part, dataset, "have pairs and no rating"))
        for rater, histogram in zip(similarity.raters, info.histograms, strict=True):
            if info.pairs and not histogram.any():
                lines.append(f"{part}s: rater {quote(rater.name)} rated no pair")
    return lines


def _class_line(senses: Sequence[str], part: Part, dataset: str, what: str) -> str:
    shown = ", ".join(senses[:_NAMED]) + (f" and {len(senses) - _NAMED} more" if len(senses) > _NAMED else "")
    consequence = "so that only words for the same sense are similar to them"
    return f"{part}s: {len(senses)} class senses of {dataset} {what}, {consequence}: {shown}"
