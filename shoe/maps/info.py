"""What a map holds: ratings per rater, agreement of its raters, and how far it covers the classes of its dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoe.benchmarks import benchmark
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
        warnings: what a user of the map should know, one line each.
    """

    similarity: SimilarityMap
    parts: dict[Part, PartInfo]
    warnings: list[str]


def describe(similarity: SimilarityMap) -> MapInfo:
    """Describe a map."""
    try:
        classes = benchmark(similarity.dataset).classes
    except OptionError:
        parts = {part: _part(table, None) for part, table in similarity.tables.items()}
    else:
        synsets: dict[Part, Sequence[str]] = {"verb": classes.verb_synsets, "object": classes.object_synsets}
        senses = {part: [name for name in dict.fromkeys(names) if name] for part, names in synsets.items()}
        parts = {part: _part(table, senses[part]) for part, table in similarity.tables.items()}
    return MapInfo(similarity, parts, _warnings(similarity, parts))


def _part(table: RatedPairs, senses: list[str] | None) -> PartInfo:
    """Describe a table; ``senses`` are those of the dataset's classes, in its order, None if they are not known."""
    rated, coverage = table.rated, None
    histograms = [np.bincount(column[column != MISSING], minlength=HIGHEST + 1) for column in table.ratings.T]
    if senses is not None:
        rows = (table.classes.get(sense, slice(0, 0)) for sense in ids_of(senses).tolist())
        coverage = {name: int(rated[of].sum()) for name, of in zip(senses, rows, strict=True)}
    return PartInfo(
        pairs=len(table),
        rated=int(rated.sum()),
        class_senses=len(table.classes),
        histograms=np.array(histograms, np.int64),
        agreements=rater_agreements(table.ratings),
        coverage=coverage,
    )


def _warnings(similarity: SimilarityMap, parts: dict[Part, PartInfo]) -> list[str]:
    lines = []
    for part, info in parts.items():
        if info.coverage is None:
            lines.append(f"{part}s: coverage not measured: the classes of {quote(similarity.dataset)} are not known")
            continue
        known = similarity.tables[part].classes
        absent = [n for n, s in zip(info.coverage, ids_of(info.coverage).tolist(), strict=True) if s not in known]
        empty = [name for name in info.without_ratings if name not in absent]
        for names, what in ((absent, "are not in the map at all"), (empty, "have pairs and no rating")):
            if names:
                shown = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
                found = f"{part}s: {len(names)} class senses of {printable(similarity.dataset)} {what}"
                lines.append(f"{found}, so that only words for the same sense are similar to them: {shown}")
        for rater, histogram in zip(similarity.raters, info.histograms, strict=True):
            if info.pairs and not histogram.any():
                lines.append(f"{part}s: rater {quote(rater.name)} rated no pair")
    return lines
