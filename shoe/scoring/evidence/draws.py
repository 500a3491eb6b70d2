"""Predictive intervals of SHOE scores: the range of a score if all pairs of the similarity map were rated.

docs/protocols.md 10.7 describes the method. Each draw rates all pairs that the map leaves unrated, and scores again;
boxes are compared once. The coverage of the intervals is not fitted; ``scripts/interval-coverage`` measures it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices, Ints, Mask, distinct, runs
from shoe.lexicon.senses import Part
from shoe.lexicon.store import lexicon
from shoe.scoring.entries import mean_over
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.score import Report
from shoe.scoring.scorer import Scorer
from shoe.similarity import Similarity, SimilarityMap
from shoe.similarity.ensemble import HIGHEST
from shoe.similarity.learned import Learned, LearnedPart, sample_ratings
from shoe.similarity.unrated import ImputedBase, SenseLookups

# Pairs of senses that a file looks up, and how their ratings differ from those of other pairs with the same prediction
# (docs/protocols.md 10.7, step 1). The estimate is the maximum a posteriori, with standard normal priors.

_PLACES = 4  # largest position of a sense: the fourth sense and all later senses share a position
_OF_PAIR = np.array([[1, closest, 1 / place] for closest in (0, 1) for place in range(_PLACES, 0, -1)])
_KINDS = np.kron(np.eye(2), _OF_PAIR)
"""(kinds, 6) factors of a, b, d: pairs behind no match, then pairs behind a match; the most likely sense comes last."""
_STEPS = 12  # number of iterations of Newton's method

Shares = NDArray[np.floating]


@dataclass(frozen=True, slots=True, eq=False)
class SensePairs:
    """Pairs of a class sense and a sense of a predicted word, both of one part of speech."""

    class_senses: Ints  # (C,) sense IDs of classes
    synsets: Ints  # (S,) sense IDs of predicted words, ascending
    # (C, S) index in ``_KINDS``: whether a match uses the pair, and how likely its word has this sense
    kind: NDArray[np.int8]
    unrated: Mask  # (C, S) whether each pair is unrated, and a rating could change the similarity of a match
    rated: Indices  # (n, 3) kind, level (index 0 to 15 of the predicted distribution) and word of each rated pair
    found: Floats  # (n,) rating of each rated pair, 0..4
    word: Indices  # (S,) index of the first predicted word that has each sense

    @classmethod
    def from_lookups(
        cls, source: Similarity, learned: LearnedPart, lookups: SenseLookups, row: Indices, word: Indices
    ) -> SensePairs:
        """Return the pairs of each class sense with each sense of a predicted word.

        A pair is listed as rated or unrated only if a word has its predicted sense, but not its class sense. ``source``
        has the ratings; ``learned`` gives each pair's level (index of a predicted distribution) without its own rating.
        ``row`` and ``word`` are (n,) indices, in ``lookups``, of the class senses and words that matches compare.
        """
        level = learned.levels_of(lookups.class_senses, lookups.synsets)
        same = lookups.class_senses[:, None] == lookups.synsets
        senses, known = lookups.senses, np.flatnonzero(lookups.count)
        size, first = lookups.count[known], lookups.first[known]
        owner = np.repeat(np.arange(len(known)), size)
        behind = np.zeros((len(level), len(lookups.count)), np.int8)
        behind[row, word] = 1
        closest = level[:, senses] == np.maximum.reduceat(level[:, senses], first, axis=1)[:, owner]
        tells = ~np.logical_or.reduceat(same[:, senses], first, axis=1)[:, owner]
        place = np.minimum(np.arange(len(senses)) - first[owner], _PLACES - 1).astype(np.int8)
        kind = (2 * behind[:, known[owner]] + closest) * np.int8(_PLACES) + np.int8(_PLACES - 1) - place
        # A sense of several words has the kind of the word most likely to mean it.
        order = np.argsort(senses, kind="stable")
        of_sense, _ = runs(senses[order])
        kind = np.maximum.reduceat(kind[:, order], of_sense, axis=1)
        tells = np.logical_or.reduceat(tells[:, order], of_sense, axis=1) & (level >= 0) & ~same
        values = source.values(lookups.part, lookups.class_senses, lookups.synsets)
        words = known[owner[order[of_sense]]]
        rated = np.nonzero(tells & ~np.isnan(values))
        return cls(
            class_senses=lookups.class_senses,
            synsets=lookups.synsets,
            kind=kind,
            unrated=tells & np.isnan(values) & (kind >= len(_OF_PAIR)),
            rated=np.stack([kind[rated], level[rated], words[rated[1]]], axis=1),
            found=HIGHEST * values[rated],
            word=words,
        )

    def kind_and_word(self, class_senses: Ints, senses: Ints) -> tuple[Indices, Indices]:
        """Return the (n,) kind (index in ``_KINDS``) and the (n,) word of n pairs of sense IDs.

        A pair that is not stored here has kind 0, and its word is an index above all words, equal for equal senses.
        """
        row, column = np.full((2, len(lexicon())), -1)
        row[self.class_senses], column[self.synsets] = np.arange(len(self.class_senses)), np.arange(len(self.synsets))
        at = row[class_senses], column[senses]
        here = (at[0] >= 0) & (at[1] >= 0)
        kind, word = np.zeros(len(senses), np.int64), len(lexicon()) + senses.astype(np.int64)
        kind[here], word[here] = self.kind[at[0][here], at[1][here]], self.word[at[1][here]]
        return kind, word

    def adapt(self, ratings: Shares, rng: np.random.Generator) -> Floats:
        """Return the (kinds, L, 5) probabilities of ratings 0 to 4, by kind of pair (``_KINDS``) and predicted level.

        ``ratings`` are the (L, 5) predicted probabilities at each level. How they change with the kind is fitted to the
        rated pairs, in which all pairs of a word have one random weight, drawn from ``rng`` (Bayesian bootstrap).
        """
        kind, level, word = self.rated.T
        weight = rng.standard_exponential(int(word.max(initial=0)) + 1)[word]
        number = np.zeros((len(_KINDS), len(ratings)))
        np.add.at(number, (kind, level), weight)
        total = np.bincount(kind, weight * self.found, minlength=len(_KINDS))
        most, tilt = np.arange(HIGHEST + 1.0), np.zeros(_KINDS.shape[1])
        for _ in range(_STEPS):  # the posterior is log-concave
            shares = _times(ratings, _KINDS @ tilt)
            mean = shares @ most
            variance = shares @ most**2 - mean**2
            slope = _KINDS.T @ (total - (number * mean).sum(axis=1)) - tilt
            bend = (_KINDS.T * (number * variance).sum(axis=1)) @ _KINDS + np.eye(len(tilt))
            tilt += np.clip(np.linalg.solve(bend, slope), -1, 1)
        return _times(ratings, _KINDS @ tilt)


def _times(ratings: Shares, tilt: Floats) -> Floats:
    # (k, L, 5) probabilities: those of (L, 5) times exp(tilt) per step of the rating, normalised.
    shares = ratings.astype(np.float64) * np.exp(np.arange(HIGHEST + 1) * tilt[:, None])[:, None]
    return np.asarray(shares / shares.sum(axis=2, keepdims=True))


def sense_pairs_in_use(scorer: Scorer, source: Similarity, learned: Learned) -> dict[Part, SensePairs]:
    """Return the pairs of senses that a scorer looks up, by part of speech."""
    similarities, words, labels = scorer.similarities, scorer.task.predictions, scorer.task.truth.classes
    matches = scorer.match(scorer.map_rows)
    matched = np.flatnonzero(matches.prediction >= 0)
    hoi, rows = scorer.hoi[matched], matches.prediction[matched]
    verb_row, object_row = similarities.verb_row[hoi], similarities.object_row[hoi]
    sides: list[tuple[Part, Ints, Sequence[str], Sequence[str], Indices, Ints]] = [
        ("verb", similarities.verb_senses, words.verbs, labels.verbs, verb_row, words.verb[rows]),
        ("object", similarities.object_senses, words.objects, labels.objects, object_row, words.object[rows]),
    ]
    found = {}
    for part, senses, vocabulary, known, row, word in sides:
        cells = np.divmod(distinct(row * np.int64(len(vocabulary)) + word), max(len(vocabulary), 1))
        lookups = SenseLookups.from_vocabulary(source, part, senses, vocabulary, scorer.options, known)
        found[part] = SensePairs.from_lookups(source, learned[part], lookups, *cells)
    return found


DRAWS = 8
_T = 1.8946  # Student's 95 % quantile for DRAWS - 1 degrees of freedom, for a two-sided 90 % interval
COVERAGE = 0.9
_OF_WORD = 0.25
"""Fraction of the remaining error variance shared by all senses of a word, and again by those senses with one class:
about the value for rated pairs (docs/protocols.md 10.7)."""

_FINE = 32
_QUANTILES = np.array([NormalDist().inv_cdf((n + 0.5) / (DRAWS * _FINE)) for n in range(DRAWS * _FINE)])

Ends = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Interval:
    """90 % predictive intervals of SHOE-mAP and SHOE-mF1 if all pairs of senses were rated; fractions 0..1."""

    # map, mf1: lower and upper end; None if the metric cannot be measured
    map: Ends | None
    mf1: Ends | None
    unrated_pairs: int  # number of unrated pairs of a class sense and a sense of a matched word


@dataclass(frozen=True, slots=True, eq=False)
class SampledMap(ImputedBase):
    """A similarity map in which unrated pairs have random ratings, drawn from predicted distributions."""

    # source, learned: similarity map with unrated pairs, and its predicted distributions of ratings
    source: Similarity
    learned: Learned
    pairs: Mapping[Part, SensePairs]  # pairs of senses that the predictions need, by part of speech
    seed: int  # index of the draw, which determines the random ratings
    name: str = "drawn"

    def values(self, part: Part, class_senses: Ints, senses: Ints) -> Floats:
        """Return (C, S) similarities 0..1: from ratings, or else drawn from predicted ratings; NaN without either."""
        classes, of_class = np.unique(class_senses, return_inverse=True)
        found = self.source.values(part, classes, senses)
        of_part, pairs = self.learned[part], self.pairs[part]
        level = of_part.levels_of(classes, senses)
        row, column = np.nonzero(np.isnan(found) & (level >= 0))
        kind, word = pairs.kind_and_word(classes[row], senses[column])
        _, word = np.unique(word, return_inverse=True)
        _, cell = np.unique(word * len(classes) + row, return_inverse=True)
        strata, rng = (np.random.default_rng([seed, part == "verb"]) for seed in (self.seed // DRAWS, self.seed))

        def deviates(number: int) -> Floats:
            # Normal; stratified, so that DRAWS draws of a pair come from as many equal parts of the distribution.
            order = strata.random((DRAWS, number), np.float32)
            stratum = np.add.reduce(order < order[self.seed % DRAWS], axis=0, dtype=np.int64)
            return np.asarray(_QUANTILES[stratum * _FINE + rng.integers(_FINE, size=number)])

        by_class, by_sense = of_part.shared.tolist()
        rest = 1 - by_class - by_sense
        noise = sqrt(rest * (1 - 2 * _OF_WORD)) * deviates(len(row))
        for share, group in ((by_class, row), (by_sense, column), (rest * _OF_WORD, word), (rest * _OF_WORD, cell)):
            noise += sqrt(share) * deviates(int(group.max(initial=0)) + 1)[group]
        ratings = pairs.adapt(of_part.ratings, rng).reshape(-1, HIGHEST + 1)
        level_of_kind = kind * len(of_part.ratings) + level[row, column]
        found[row, column] = sample_ratings(ratings, level_of_kind, noise) / HIGHEST
        return found[of_class]


def interval(report: Report) -> Interval | None:
    """Return 90 % intervals of the values that the SHOE metrics would have if all pairs were rated.

    Return None without SHOE, without predicted ratings in the similarity map, if no match uses an unrated pair, or
    under ``unrated=drop``, where ratings decide which predictions are evaluated. Takes 8 times as long as scoring.
    """
    similarities, result = report.similarities, report.semantic
    if similarities is None or result is None or result.options.unrated == "drop":
        return None
    source = similarities.source
    if not isinstance(source, SimilarityMap) or source.learned is None:
        return None
    scorer = Scorer(report.task, similarities, result.options)
    pairs = sense_pairs_in_use(scorer, source, source.learned)
    number = sum(int(of_part.unrated.sum()) for of_part in pairs.values())
    if not number:
        return None
    drawn = (SampledMap(source, source.learned, pairs, seed) for seed in range(DRAWS))
    maps, f1s = zip(*(rescored(scorer, each) for each in drawn), strict=True)
    return Interval(predictive_interval(maps), predictive_interval(f1s), number)


def rescored(scorer: Scorer, similarity: Similarity) -> tuple[float | None, float | None]:
    """Return SHOE-mAP and SHOE-mF1 (0..1; None if not measurable) of a scorer's task with another similarity."""
    return figures_of(scorer.under(HoiSimilarity.from_task(scorer.task, similarity, scorer.options)))


def figures_of(scorer: Scorer) -> tuple[float | None, float | None]:
    """Return SHOE-mAP and SHOE-mF1 (0..1; None if not measurable) computed by a scorer."""
    for_map, for_f1 = scorer.map_rows, scorer.f1_rows
    matches = scorer.match(for_map)
    f1_matches = matches if np.array_equal(for_map, for_f1) else scorer.match(for_f1)
    return scorer.entries(matches).means().map, mean_over(*scorer.f1_entries(f1_matches).f1())


def predictive_interval(figures: Sequence[float | None]) -> Ends | None:
    """Return the 90 % predictive interval (Student's t, cut to 0..1) of 8 values of a metric; None if one is None."""
    known = np.array([figure for figure in figures if figure is not None])
    if len(known) < len(figures):
        return None
    reach = _T * known.std(ddof=1) * sqrt(1 + 1 / len(known))
    return max(0.0, float(known.mean() - reach)), min(1.0, float(known.mean() + reach))
