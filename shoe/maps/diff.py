"""Two maps beside each other: which pairs they share, how far they agree on them, and where not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoe.lexicon.expressions import Part
from shoe.lexicon.store import lexicon
from shoe.lexicon.wordnet import glosses
from shoe.maps.agreement import pearson, spearman
from shoe.similarity import SimilarityMap

_LARGEST = 10


@dataclass(frozen=True, slots=True)
class ValueDifference:
    """One pair, and its value 0..1 in each of two maps."""

    class_synset: str
    synset: str
    a: float
    b: float


@dataclass(frozen=True, slots=True)
class PartDiff:
    """One part of speech in two maps; a pair counts as a map's where one of its raters rated it.

    Attributes:
        shared, only_a, only_b: pairs of both maps, and of one of them.
        pearson, spearman: of the values of the shared pairs.
        mean_difference: of the values of the shared pairs, without sign; None without any.
        largest: the shared pairs whose values differ most, the largest difference first.
    """

    shared: int
    only_a: int
    only_b: int
    pearson: float | None
    spearman: float | None
    mean_difference: float | None
    largest: list[ValueDifference]


def compare(a: SimilarityMap, b: SimilarityMap) -> dict[Part, PartDiff]:
    """Compare two maps pair by pair."""
    return {part: _compare_part(a, b, part) for part in a.tables}


def _compare_part(a: SimilarityMap, b: SimilarityMap, part: Part) -> PartDiff:
    rated_a, rated_b = a.tables[part].rated, b.tables[part].rated
    rows_a = np.flatnonzero(rated_a)
    table = a.tables[part][rows_a]
    rows_b = b.tables[part].rows_of(table.class_sense, table.sense)
    shared = rows_b >= 0
    shared[shared] = rated_b[rows_b[shared]]
    pairs = table[shared]
    value_a, value_b = a.pair_values(part)[rows_a[shared]], b.pair_values(part)[rows_b[shared]]
    difference = np.abs(value_b - value_a)
    order = np.argsort(-difference, kind="stable")[: min(_LARGEST, np.count_nonzero(difference))]
    largest = zip(pairs[order].names(), value_a[order].tolist(), value_b[order].tolist(), strict=True)
    return PartDiff(
        shared=len(pairs),
        only_a=int(rated_a.sum()) - len(pairs),
        only_b=int(rated_b.sum()) - len(pairs),
        pearson=pearson(value_a, value_b),
        spearman=spearman(value_a, value_b),
        mean_difference=float(difference.mean()) if len(pairs) else None,
        largest=[ValueDifference(*names, of_a, of_b) for names, of_a, of_b in largest],
    )


def lemmas_of(synset: str) -> str:
    """The words of a synset, "mount, hop on, ..."."""
    words = lexicon()
    return ", ".join(lemma.replace("_", " ") for lemma in words.lemmas(words.synset(synset)))


def glosses_of(parts: dict[Part, PartDiff]) -> dict[str, str]:
    """WordNet's definition of every synset among the largest disagreements.

    Raises:
        MissingExtraError: if WordNet's files are not there; the message says how to get them.
    """
    names = {name for part in parts.values() for pair in part.largest for name in (pair.class_synset, pair.synset)}
    return glosses(sorted(names), "showing WordNet's definitions") if names else {}
