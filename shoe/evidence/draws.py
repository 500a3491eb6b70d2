"""Between which values a score would lie were all pairs rated: drawn from what a map predicts for unrated ones.

A map's predictions give every unrated pair a distribution over the ratings (:mod:`shoe.similarity.learned`). Each draw
rates all of them and scores again; boxes are compared once. Errors of predictions are shared: what is wrong for a
sense with one class tends to be wrong with others, so that pairs of a sense, and of a class, are drawn together. What
is said where a class is to be seen is meant for it: distributions of pairs behind matches are tilted as far as the
rated ones among them show (:class:`InPlay`).

From the draws, a normal predictive interval follows: with n draws of mean m and standard deviation s, another draw lies
within m ± t s sqrt(1 + 1/n), t the quantile of Student's distribution with n - 1 degrees of freedom. What really is
varies more than draws do: with ratings withheld, intervals of 1.3 s held as many scores as they should.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices, Ints, Mask
from shoe.core.ragged import distinct, expand
from shoe.lexicon.expressions import Part
from shoe.lexicon.store import lexicon
from shoe.scoring.entries import mean_over
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.score import Report
from shoe.scoring.scorer import Scorer
from shoe.similarity import Similarity, SimilarityMap
from shoe.similarity.ensemble import HIGHEST
from shoe.similarity.learned import Learned, LearnedPart, drawn_ratings
from shoe.similarity.pairs import pair_keys
from shoe.similarity.unrated import Filled, Lookups

DRAWS = 8
_T = 1.8946
"""Student's 95 % quantile for DRAWS - 1 degrees of freedom: both ends together leave 10 % out."""
COVERAGE = 0.9
_WIDENED = 1.3
_TILT, _HALVINGS = 4.0, 30

Ends = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Interval:
    """Where SHOE-mAP and SHOE-mF1 would lie, with 90 % probability, were all pairs rated; fractions 0..1.

    Attributes:
        map, mf1: lower and upper end; None for a figure that cannot be measured.
        unrated_pairs: unrated pairs of a ground truth's class and a sense of its match.
    """

    map: Ends | None
    mf1: Ends | None
    unrated_pairs: int


@dataclass(frozen=True, slots=True, eq=False)
class Drawn(Filled):
    """A map whose unrated pairs have ratings that were drawn.

    Attributes:
        source: what was rated.
        learned: distributions of what was not.
        playing: what else is known of the pairs behind matches.
        seed: of the draw.
    """

    source: Similarity
    learned: Learned
    playing: Mapping[Part, InPlay]
    seed: int
    name: str = "drawn"

    def values(self, part: Part, class_senses: Ints, senses: Ints) -> Floats:
        """Look up C class senses against S senses; see :class:`~shoe.similarity.Similarity`."""
        found = self.source.values(part, class_senses, senses)
        of_part = self.learned[part]
        level = of_part.levels_of(class_senses, senses)
        row, column = np.nonzero(np.isnan(found) & (level >= 0))
        rng = np.random.default_rng([self.seed, part == "verb"])
        of_sense, of_class = rng.standard_normal((2, len(lexicon())))
        by_class, by_sense = of_part.shared.tolist()
        luck = sqrt(1 - by_class - by_sense) * rng.standard_normal(found.shape)[row, column]
        luck += sqrt(by_class) * of_class[class_senses[row]] + sqrt(by_sense) * of_sense[senses[column]]
        playing = self.playing[part].holds(pair_keys(class_senses[row], senses[column]))
        tilted = self.playing[part].tilted(of_part.ratings, rng)
        for ratings, of in ((of_part.ratings, ~playing), (tilted, playing)):
            found[row[of], column[of]] = drawn_ratings(ratings, level[row[of], column[of]], luck[of]) / HIGHEST
        return found


def interval(report: Report) -> Interval | None:
    """Estimate where the SHOE figures of a report would lie were all pairs rated.

    Takes about as many times as long as scoring as there are draws.

    Returns:
        None where the map predicts nothing, where no pair that is looked up is unrated, or under ``unrated=drop``,
        where what is rated decides who takes part.
    """
    similarities, result = report.similarities, report.semantic
    if similarities is None or result is None or result.options.unrated == "drop":
        return None
    source = similarities.source
    if not isinstance(source, SimilarityMap) or source.learned is None:
        return None
    scorer = Scorer(report.task, similarities, result.options)
    playing = in_play(scorer, source, source.learned)
    number = sum(of_part.unrated for of_part in playing.values())
    if not number:
        return None
    drawn = (Drawn(source, source.learned, playing, seed) for seed in range(DRAWS))
    maps, f1s = zip(*(rescored(scorer, one) for one in drawn), strict=True)
    return Interval(predictive(maps), predictive(f1s), number)


def rescored(scorer: Scorer, similarity: Similarity) -> tuple[float | None, float | None]:
    """SHOE-mAP and SHOE-mF1 by another similarity, with the boxes that a scorer has compared."""
    similarities = HoiSimilarity.of(scorer.task, similarity, scorer.options)
    return figures_of(Scorer(scorer.task, similarities, scorer.options, near=scorer.near))


def figures_of(scorer: Scorer) -> tuple[float | None, float | None]:
    """SHOE-mAP and SHOE-mF1 of a scorer."""
    for_map, for_f1 = scorer.map_rows, scorer.f1_rows
    matches = scorer.match(for_map)
    f1_matches = matches if np.array_equal(for_map, for_f1) else scorer.match(for_f1)
    return scorer.entries(matches).means().map, mean_over(*scorer.f1(f1_matches))


def predictive(figures: Sequence[float | None]) -> Ends | None:
    """The ends within which another draw lies with 90 % probability (``COVERAGE``), given DRAWS of them."""
    known = np.array([figure for figure in figures if figure is not None])
    if len(known) < len(figures):
        return None
    reach = _WIDENED * _T * known.std(ddof=1) * sqrt(1 + 1 / len(known))
    return max(0.0, float(known.mean() - reach)), min(1.0, float(known.mean() + reach))


@dataclass(frozen=True, slots=True, eq=False)
class InPlay:
    """Pairs of senses behind matches: of a ground truth's class, and the sense of its match that is predicted closest.

    What is said where a class is to be seen is more similar to it than other senses with the same prediction: the rated
    ones of these pairs say by how much.

    Attributes:
        keys: ascending, of those that nobody rated; see :func:`shoe.similarity.pairs.pair_keys`.
        level, found: (n,) level and rating of those that were rated.
        unrated: unrated pairs of a class and any sense of its match.
    """

    keys: Indices
    level: Indices
    found: Floats
    unrated: int

    @classmethod
    def of(cls, source: Similarity, learned: LearnedPart, lookups: Lookups, row: Indices, word: Indices) -> InPlay:
        """Look at the senses of some cells.

        Args:
            source: the map.
            learned: its predictions; those of rated pairs by what had not seen them.
            lookups: class senses and words.
            row: (n,) class sense of each cell.
            word: (n,) its word.
        """
        cell, index = expand(lookups.first[word], lookups.count[word])
        classes, others = row[cell], lookups.senses[index]
        values = source.values(lookups.part, lookups.class_senses, lookups.synsets)[classes, others]
        level = learned.levels_of(lookups.class_senses, lookups.synsets)[classes, others].astype(np.int64)
        class_sense, sense = lookups.class_senses[classes], lookups.synsets[others]
        keys = pair_keys(class_sense, sense)
        closest = np.full(len(row), -1)
        np.maximum.at(closest, cell, level)
        unrated = np.isnan(values) & (level >= 0)
        rated = ~np.isnan(values) & (level >= 0) & (class_sense != sense)
        _, known = np.unique(keys[rated & (level == closest[cell])], return_index=True)
        known = np.flatnonzero(rated & (level == closest[cell]))[known]
        return cls(
            keys=distinct(keys[unrated & (level == closest[cell])]),
            level=level[known],
            found=HIGHEST * values[known],
            unrated=len(distinct(keys[unrated])),
        )

    def tilted(self, ratings: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
        """(16, 5) distributions of levels as they are for these pairs, by a resample of those that were rated.

        The likeliest of those that differ by one factor for each rating more: their mean is the mean found.
        """
        if not len(self.level):
            return ratings
        drawn, most = rng.integers(0, len(self.level), len(self.level)), np.arange(HIGHEST + 1)
        number, total = np.bincount(self.level[drawn], minlength=len(ratings)), self.found[drawn].sum()
        low, high = -_TILT, _TILT
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            tilted = ratings * np.exp(middle * most)
            tilted /= tilted.sum(axis=1, keepdims=True)
            low, high = (middle, high) if number @ (tilted @ most) < total else (low, middle)
        found: NDArray[np.float32] = tilted
        return found

    def holds(self, keys: Indices) -> Mask:
        """(n,) whether each pair is one of the unrated ones."""
        there: Mask = np.append(self.keys, -1)[np.searchsorted(self.keys, keys)] == keys
        return there


def in_play(scorer: Scorer, source: Similarity, learned: Learned) -> dict[Part, InPlay]:
    """The pairs of senses behind a scorer's matches."""
    similarities, words = scorer.similarities, scorer.task.predictions
    matches = scorer.match(scorer.map_rows)
    matched = np.flatnonzero(matches.prediction >= 0)
    hoi, rows = scorer.hoi[matched], matches.prediction[matched]
    verb_row, object_row = similarities.verb_row[hoi], similarities.object_row[hoi]
    sides: list[tuple[Part, Ints, Sequence[str], Indices, Ints]] = [
        ("verb", similarities.verb_senses, words.verbs, verb_row, words.verb[rows]),
        ("object", similarities.object_senses, words.objects, object_row, words.object[rows]),
    ]
    found = {}
    for part, senses, vocabulary, row, word in sides:
        cells = np.divmod(distinct(row * np.int64(len(vocabulary)) + word), max(len(vocabulary), 1))
        lookups = Lookups.of(source, part, senses, vocabulary, scorer.options)
        found[part] = InPlay.of(source, learned[part], lookups, *cells)
    return found
