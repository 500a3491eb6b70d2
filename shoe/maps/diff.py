"""Two maps beside each other: which pairs they share, how far they agree on them, and where not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoe.lexicon.expressions import Part
from shoe.lexicon.store import lexicon
from shoe.lexicon.wordnet import glosses
from shoe.maps.agreement import pearson, spearman
from shoe.maps.rows import names_of, values_of
from shoe.similarity import SimilarityMap

_LARGEST = 10


@dataclass(frozen=True, slots=True)
class Disagreement:
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
    largest: list[Disagreement]


def compare(a: SimilarityMap, b: SimilarityMap) -> dict[Part, PartDiff]:
    """Compare two maps pair by pair."""
    return {part: _compare_part(a, b, part) for part in a.tables}


def _compare_part(a: SimilarityMap, b: SimilarityMap, part: Part) -> PartDiff:
    of_a, of_b = _rated(a, part), _rated(b, part)
    pairs = sorted(of_a.keys() & of_b.keys())
    value_a, value_b = (np.array([of[pair] for pair in pairs], np.float64) for of in (of_a, of_b))
    difference = np.abs(value_b - value_a)
    order = np.argsort(-difference, kind="stable")[: min(_LARGEST, np.count_nonzero(difference))]
    return PartDiff(
        shared=len(pairs),
        only_a=len(of_a) - len(pairs),
        only_b=len(of_b) - len(pairs),
        pearson=pearson(value_a, value_b),
        spearman=spearman(value_a, value_b),
        mean_difference=float(difference.mean()) if pairs else None,
        largest=[
            Disagreement(class_synset, synset, float(value_a[row]), float(value_b[row]))
            for row in order.tolist()
            for class_synset, synset in [pairs[row]]
        ],
    )


def _rated(similarity: SimilarityMap, part: Part) -> dict[tuple[str, str], float]:
    pairs = zip(names_of(similarity.tables[part]), values_of(similarity, part).tolist(), strict=True)
    return {names: value for names, value in pairs if not np.isnan(value)}


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
