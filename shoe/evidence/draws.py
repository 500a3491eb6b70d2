"""Between which values a score would lie were all pairs rated: drawn from what a map predicts for unrated ones.

A map's predictions give every unrated pair a distribution over the ratings (:mod:`shoe.similarity.learned`). Each draw
rates all of them and scores again; boxes are compared once. Errors of predictions are shared: what is wrong for a
sense with one class tends to be wrong with others, and what is wrong for a sense of a word is for its other senses; so
pairs of a class, of a sense, of a word, and of a word with a class are drawn together. What a file says of a class is
not what it might say of it: the distributions are those of the pairs that it looks up (:mod:`shoe.evidence.in_play`).

From the draws, a normal predictive interval follows: with n draws of mean m and standard deviation s, another draw lies
within m ± t s sqrt(1 + 1/n), t the quantile of Student's distribution with n - 1 degrees of freedom. Nothing is fitted
to how often intervals hold a figure; ``scripts/interval-coverage`` looks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

import numpy as np

from shoe.core.arrays import Floats, Ints
from shoe.evidence.in_play import InPlay, in_play
from shoe.lexicon.expressions import Part
from shoe.scoring.entries import mean_over
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.score import Report
from shoe.scoring.scorer import Scorer
from shoe.similarity import Similarity, SimilarityMap
from shoe.similarity.ensemble import HIGHEST
from shoe.similarity.learned import Learned, drawn_ratings
from shoe.similarity.unrated import Filled

DRAWS = 8
_T = 1.8946
"""Student's 95 % quantile for DRAWS - 1 degrees of freedom: both ends together leave 10 % out."""
COVERAGE = 0.9
_OF_WORD = 0.25
"""Share of what is left of the variance of errors that all senses of a word have in common, and again those senses with
one class: about what rated pairs show (docs/protocols.md 10.7)."""

_FINE = 32
_QUANTILES = np.array([NormalDist().inv_cdf((n + 0.5) / (DRAWS * _FINE)) for n in range(DRAWS * _FINE)])

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
        learned: distributions of what was not.
        playing: what else is known of the pairs behind matches.
    """

    source: Similarity
    learned: Learned
    playing: Mapping[Part, InPlay]
    seed: int
    name: str = "drawn"

    def values(self, part: Part, class_senses: Ints, senses: Ints) -> Floats:
        """Look up C class senses against S senses; see :class:`~shoe.similarity.Similarity`."""
        classes, of_class = np.unique(class_senses, return_inverse=True)
        found = self.source.values(part, classes, senses)
        of_part, playing = self.learned[part], self.playing[part]
        level = of_part.levels_of(classes, senses)
        row, column = np.nonzero(np.isnan(found) & (level >= 0))
        kind, word = playing.looked_up(classes[row], senses[column])
        _, word = np.unique(word, return_inverse=True)
        _, cell = np.unique(word * len(classes) + row, return_inverse=True)
        strata, rng = (np.random.default_rng([seed, part == "verb"]) for seed in (self.seed // DRAWS, self.seed))

        def deviates(number: int) -> Floats:
            """Normal ones; what DRAWS draws have for a pair are from as many equal parts of the distribution."""
            order = strata.random((DRAWS, number), np.float32)
            stratum = np.add.reduce(order < order[self.seed % DRAWS], axis=0, dtype=np.int64)
            chosen: Floats = _QUANTILES[stratum * _FINE + rng.integers(_FINE, size=number)]
            return chosen

        by_class, by_sense = of_part.shared.tolist()
        rest = 1 - by_class - by_sense
        luck = sqrt(rest * (1 - 2 * _OF_WORD)) * deviates(len(row))
        for share, of in ((by_class, row), (by_sense, column), (rest * _OF_WORD, word), (rest * _OF_WORD, cell)):
            luck += sqrt(share) * deviates(int(of.max(initial=0)) + 1)[of]
        ratings = playing.tilted(of_part.ratings, rng).reshape(-1, HIGHEST + 1)
        level_of_kind = kind * len(of_part.ratings) + level[row, column]
        found[row, column] = drawn_ratings(ratings, level_of_kind, luck) / HIGHEST
        return found[of_class]


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
    number = sum(int(of_part.unrated.sum()) for of_part in playing.values())
    if not number:
        return None
    drawn = (Drawn(source, source.learned, playing, seed) for seed in range(DRAWS))
    maps, f1s = zip(*(rescored(scorer, one) for one in drawn), strict=True)
    return Interval(predictive(maps), predictive(f1s), number)


def rescored(scorer: Scorer, similarity: Similarity) -> tuple[float | None, float | None]:
    """SHOE-mAP and SHOE-mF1 by another similarity, with the boxes that a scorer has compared."""
    return figures_of(scorer.under(HoiSimilarity.of(scorer.task, similarity, scorer.options)))


def figures_of(scorer: Scorer) -> tuple[float | None, float | None]:
    """SHOE-mAP and SHOE-mF1 of a scorer."""
    for_map, for_f1 = scorer.map_rows, scorer.f1_rows
    matches = scorer.match(for_map)
    f1_matches = matches if np.array_equal(for_map, for_f1) else scorer.match(for_f1)
    return scorer.entries(matches).means().map, mean_over(*scorer.f1(f1_matches))


def predictive(figures: Sequence[float | None]) -> Ends | None:
    """The ends within which a figure lies with 90 % probability (``COVERAGE``), given DRAWS draws of it."""
    known = np.array([figure for figure in figures if figure is not None])
    if len(known) < len(figures):
        return None
    reach = _T * known.std(ddof=1) * sqrt(1 + 1 / len(known))
    return max(0.0, float(known.mean() - reach)), min(1.0, float(known.mean() + reach))
