"""Pairs that a shipped map rates, drawn evenly, and how far other raters agree with it: for ``scripts/real-llm``."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats
from shoe.core.statistics import pearson, quadratic_weighted_kappa, spearman
from shoe.lexicon.senses import Part
from shoe.llm.ledger import State, States, answers
from shoe.similarity import SimilarityMap
from shoe.similarity.ensemble import HIGHEST

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Agreement:
    """One rater beside the shipped ratings.

    Attributes:
        asked: pairs.
        rated: of those, with a rating; the figures below are over these.
        exact: share of ratings equal to the shipped mean rounded half up.
        kappa: quadratic weighted kappa with it.
        pearson, spearman: correlations with the shipped mean itself.
    """

    asked: int
    rated: int
    exact: float | None
    kappa: float | None
    pearson: float | None
    spearman: float | None


def sample(similarity: SimilarityMap, part: Part, per_rating: int, rng: np.random.Generator) -> dict[Pair, float]:
    """Draw as many pairs of each rating, from as many classes as there are.

    Args:
        similarity: a map.
        part: of the pairs.
        per_rating: pairs of each rating 0 to 4, fewer where the map has fewer.
        rng: draws.

    Returns:
        Per (class synset, synset) the mean of the map's ratings, 0 to 4. No pair is drawn in both directions.
    """
    names = similarity.tables[part].names()
    means = similarity.pair_values(part) * HIGHEST
    drawn: dict[Pair, float] = {}
    for rating in range(HIGHEST + 1):
        rows = np.flatnonzero(rounded(means) == rating)
        taken = 0
        for row in _class_by_class([names[row][0] for row in rows.tolist()], rows, rng):
            class_synset, synset = names[row]
            if (synset, class_synset) not in drawn and taken < per_rating:
                drawn[class_synset, synset] = float(means[row])
                taken += 1
    return drawn


def rounded(means: Floats) -> NDArray[np.int8]:
    """(n,) means as ratings, halves up; -1 where there is none."""
    ratings: NDArray[np.int8] = np.floor(np.nan_to_num(means, nan=-1) + 0.5).astype(np.int8)
    return ratings


def agreement(states: States, means: Floats) -> Agreement:
    """Compare (n,) states of one rater with (n,) means of the shipped ratings, 0 to 4."""
    rated = states >= 0
    given, mean = states[rated], means[rated]
    return Agreement(
        asked=len(states),
        rated=len(given),
        exact=float((given == rounded(mean)).mean()) if len(given) else None,
        kappa=quadratic_weighted_kappa(given, rounded(mean)),
        pearson=pearson(given, mean),
        spearman=spearman(given, mean) if len(given) else None,
    )


def expected(ledger: Path) -> dict[Pair, float]:
    """Read a ledger of kind transformers: per pair of a question, the mean of its probabilities before rounding."""
    shares = {pair: np.array(raw["probabilities"]) for pair, raw in first_answers(ledger).items()}
    return {pair: float(of @ np.arange(HIGHEST + 1) / of.sum()) for pair, of in shares.items()}


def written(ledger: Path, start: str) -> dict[Pair, int]:
    """Read a ledger of kind openai: per pair the digit behind ``start``, where its first answer begins so."""
    texts = {pair: raw["choices"][0]["message"]["content"] for pair, raw in first_answers(ledger).items()}
    return {
        pair: int(text[len(start)])
        for pair, text in texts.items()
        if text.startswith(start) and text[len(start) : len(start) + 1].isdigit()
    }


def first_answers(ledger: Path) -> dict[Pair, dict[str, Any]]:
    """Read a ledger of single pairs: per pair, what was answered when it was asked for the first time."""
    found: dict[Pair, dict[str, Any]] = {}
    for entry in answers(ledger):
        ((first, second),) = entry["pairs"]
        found.setdefault((first, second), entry["answer"])
    return found


def most_frequent(means: Floats) -> States:
    """(n,) what a rater would say that knows nothing but the commonest rating, the lowest of equally common ones."""
    return np.full(len(means), np.bincount(rounded(means)).argmax(), np.int8)


def confusion(states: States, means: Floats) -> list[list[int]]:
    """Count pairs by the shipped rating (5 rows) and what a rater gave: 0 to 4, refused, no rating, no answer."""
    given = [*range(HIGHEST + 1), State.REFUSED, State.UNPARSABLE, State.UNRATED]
    found = Counter(zip(rounded(means).tolist(), states.tolist(), strict=True))
    return [[found[rating, state] for state in given] for rating in range(HIGHEST + 1)]


def _class_by_class(classes: list[str], rows: NDArray[np.int64], rng: np.random.Generator) -> list[int]:
    """Rows in a random order in which each class has its first before any has its second."""
    seen: Counter[str] = Counter()
    order: list[tuple[int, int, int]] = []
    for index in rng.permutation(len(rows)).tolist():
        order.append((seen[classes[index]], len(order), int(rows[index])))
        seen[classes[index]] += 1
    return [row for _, _, row in sorted(order)]
