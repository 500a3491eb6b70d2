"""Ratings predicted for pairs that nobody rated, learned from those of a map: trained, cross-validated, as levels.

Gradient-boosted trees predict the mean rating of a pair from :mod:`shoe.maps.pair_features`. What a prediction is worth
is measured on ratings that the trees have not seen: per part of speech, the map's senses are split into folds, and
each fold is predicted by what the others' ratings teach. The share of each rating among pairs of about the same
prediction is the distribution that the table gives to a level of predictions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import to_builtins
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices, Ints, Mask
from shoe.core.documents import Count, Document
from shoe.core.errors import MissingExtraError, OptionError
from shoe.core.io.files import shipped
from shoe.core.statistics import quadratic_weighted_kappa, spearman
from shoe.lexicon.expressions import POS, Part
from shoe.lexicon.store import lexicon
from shoe.maps.pair_features import OF_CLASS, OF_SENSE, PairFeatures, pair_features
from shoe.maps.planning import INVISIBLE, within
from shoe.similarity import RatedPairs, SimilarityMap, write_map
from shoe.similarity.ensemble import HIGHEST
from shoe.similarity.learned import LearnedPart, drawn_ratings, learned_bytes, packed
from shoe.similarity.maps import shipped_maps

FOLDS = 4
LEVELS = 16
SEED = 0
_STEPS = 5
_SLIGHT = 0.2
"""Mean rating, 0 to 4, that one class must reach for a sense to stand in the table."""
_TREES: dict[str, Any] = {
    "max_iter": 250,
    "learning_rate": 0.08,
    "max_leaf_nodes": 31,
    "min_samples_leaf": 30,
    "l2_regularization": 1.0,
    "early_stopping": False,
    "random_state": SEED,
}
_BINS = 10
_SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.45)
_FORGOTTEN = (0.4, 0.1)
"""Share of pairs whose features from other ratings of the sense, and of the class, are hidden from the trees: they have
to do without, too."""


class Validation(Document, frozen=True):
    """How well ratings were predicted that had been held out; a correlation that is undefined is null.

    Attributes:
        pairs: held out in turn, all of them.
        rho: Spearman's correlation of predicted mean and rating; ``kappa``: Cohen's with quadratic weights, rounded.
        off_by: mean absolute difference, in ratings; ``bias``: mean difference.
        calibration: tenths of the pairs by predicted mean: (predicted, found) means.
    """

    pairs: Count
    rho: float | None
    kappa: float | None
    off_by: float
    bias: float
    calibration: list[tuple[float, float]]


@dataclass(frozen=True, slots=True, eq=False)
class Taught:
    """What was learned of one part of speech, and how well: whole senses, and whole classes, held out."""

    table: LearnedPart
    by_sense: Validation
    by_class: Validation


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """The ratings of one part of speech as a grid, m pairs of C class senses and S senses.

    Attributes:
        pairs: of the map.
        values: (m,) ensemble's rating 0..4 of each.
        shares: (m, 5) share of each rating among those that count of a pair.
        classes, senses: (C,) and (S,) ids.
        row, column: (m,) of each pair.
        features: of the grid.
    """

    pairs: RatedPairs
    values: Floats
    shares: Floats
    classes: Ints
    senses: Ints
    row: Indices
    column: Indices
    features: PairFeatures

    @classmethod
    def of(cls, similarity: SimilarityMap, part: Part) -> Lesson:
        """Take the rated pairs of a map."""
        pairs = similarity.tables[part]
        pairs = pairs[pairs.rated]
        if not len(pairs):
            raise OptionError(f"map {similarity.name} has no rated {part} pair to learn from")
        classes = np.unique(pairs.class_sense)
        senses = np.union1d(_candidates(part, classes), np.union1d(pairs.sense, classes)).astype(np.int32)
        heard = similarity.voices.heard(pairs.ratings)
        shares = np.stack([(heard == r) @ np.array(similarity.voices.weights) for r in range(HIGHEST + 1)], axis=1)
        values = similarity.pair_values(part)[similarity.tables[part].rated] * HIGHEST
        return cls(
            pairs=pairs,
            values=values,
            shares=shares / shares.sum(axis=1, keepdims=True),
            classes=classes,
            senses=senses,
            row=np.searchsorted(classes, pairs.class_sense),
            column=np.searchsorted(senses, pairs.sense),
            features=pair_features(part, classes, senses),
        )

    def trained(self, rows: Indices) -> Callable[[Indices, Indices], Floats]:
        """Train on some pairs; returns what predicts the mean ratings 0..4 of (n,) rows and columns of the grid."""
        from sklearn.ensemble import HistGradientBoostingRegressor

        grid = np.full((len(self.classes), len(self.senses)), np.nan, np.float32)
        grid[self.row[rows], self.column[rows]] = self.values[rows]
        columns = [*self.features.fixed.values(), *self.features.of_ratings(grid).values()]
        categories = [place for place, name in enumerate(self.features.fixed) if name.startswith("file")]
        trees = HistGradientBoostingRegressor(categorical_features=categories, **_TREES)

        def features(row: Indices, column: Indices) -> NDArray[np.float32]:
            return np.stack([of[row, column] for of in columns], axis=1)

        known = features(self.row[rows], self.column[rows])
        names, chance = self.features.names, np.random.default_rng(SEED).random((2, len(rows)))
        for unknown, of, share in zip(chance, (OF_SENSE, OF_CLASS), _FORGOTTEN, strict=True):
            known[np.ix_(unknown < share, [names.index(name) for name in of])] = np.nan
        trees.fit(known, self.values[rows])
        return lambda row, column: np.clip(trees.predict(features(row, column)), 0, HIGHEST)

    def held_out(self, fold: Indices, also: Callable[[Mask], Mask] = lambda test: test) -> Floats:
        """(m,) prediction of each pair by those of other folds; ``also`` adds pairs that may not be learned from."""
        found = np.zeros(len(self.pairs))
        for number in range(FOLDS):
            test = fold == number
            predict = self.trained(np.flatnonzero(~also(test)))
            found[test] = predict(self.row[test], self.column[test])
        return found


def learn(similarity: SimilarityMap, progress: Callable[[str], None] = lambda _: None) -> dict[Part, Taught]:
    """Learn from a map's ratings, and measure how well.

    Args:
        similarity: the map.
        progress: is told what begins.

    Raises:
        OptionError: for a map without ratings of verbs, or of objects.
        MissingWordNetError: if WordNet's glosses are not there.
    """
    return {part: _taught(Lesson.of(similarity, part), part, progress) for part in POS}


def _taught(lesson: Lesson, part: Part, progress: Callable[[str], None]) -> Taught:
    progress(f"{part}s: predicting held-out senses")
    by_sense = lesson.held_out(sense_folds(lesson))
    progress(f"{part}s: predicting held-out classes")
    class_fold = np.random.default_rng(SEED).permutation(len(lesson.classes)) % FOLDS
    fold_of_sense = np.full(len(lexicon()), -1, np.int64)
    fold_of_sense[lesson.classes] = class_fold

    def both_ways(test: Mask) -> Mask:  # what other classes say of a held-out class's own sense is not known either
        held = class_fold[lesson.row[test][:1]]
        hidden: Mask = test | (fold_of_sense[lesson.pairs.sense] == held)
        return hidden

    by_class = lesson.held_out(class_fold[lesson.row], both_ways)
    progress(f"{part}s: training on all")
    predict = lesson.trained(np.arange(len(lesson.pairs)))
    row, column = np.indices((len(lesson.classes), len(lesson.senses))).reshape(2, -1)
    predicted = predict(row, column).reshape(len(lesson.classes), -1)
    predicted[lesson.row, lesson.column] = by_sense  # these say what predictions are worth: intervals ask them
    table = levels(predicted, lesson, by_sense)
    return Taught(table, _validated(by_sense, lesson.values), _validated(by_class, lesson.values))


def sense_folds(lesson: Lesson) -> Indices:
    """(m,) fold of each pair, the same for all pairs of a sense."""
    return np.random.default_rng(SEED).integers(0, FOLDS, len(lesson.senses))[lesson.column]


def levels(predicted: Floats, lesson: Lesson, held_out: Floats) -> LearnedPart:
    """Make levels of predictions, and of each what pairs of about that prediction were really rated."""
    from sklearn.isotonic import IsotonicRegression

    middles = HIGHEST * ((np.arange(LEVELS) + 0.5) / LEVELS) ** 2
    at_least = [np.ones(LEVELS)]
    for rating in range(1, HIGHEST + 1):
        reached = lesson.shares[:, rating:].sum(axis=1)
        rising = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(held_out, reached)
        at_least.append(rising.predict(middles))
    ratings = np.maximum(-np.diff(np.stack([*at_least, np.zeros(LEVELS)]), axis=0).T, 0)
    of_pair = level_of(predicted)
    means = ratings @ np.arange(HIGHEST + 1)
    kept = (means[of_pair] >= _SLIGHT).any(axis=0)
    table = LearnedPart(
        classes=lesson.classes,
        senses=lesson.senses[kept],
        levels=packed(of_pair[:, kept].T),
        ratings=ratings.astype(np.float32),
        shared=np.zeros(2, np.float32),
    )
    return replace(table, shared=_shared(table, lesson, held_out))


def level_of(predicted: Floats) -> Indices:
    """The level of each prediction 0..4; levels are even in the square root, as near 0 small differences count."""
    found: Indices = np.minimum(np.sqrt(predicted / HIGHEST) * LEVELS, LEVELS - 1).astype(np.int64)
    return found


def _shared(table: LearnedPart, lesson: Lesson, held_out: Floats) -> NDArray[np.float32]:
    """How far errors are shared by the pairs of a class, and of a sense: such that draws share theirs as much."""
    rng, level = np.random.default_rng(SEED), level_of(held_out)
    means = (table.ratings @ np.arange(HIGHEST + 1.0))[level]
    found = []
    for group in (lesson.row, lesson.column):
        drawn = []
        for share in _SHARES:
            luck = np.sqrt(share) * rng.standard_normal(group.max() + 1)[group]
            luck += np.sqrt(1 - share) * rng.standard_normal(len(group))
            drawn.append(_alike(np.asarray(drawn_ratings(table.ratings, level, luck) - means), group))
        found.append(np.interp(_alike(lesson.values - means, group), np.maximum.accumulate(drawn), _SHARES))
    return np.array(found, np.float32)


def _alike(errors: NDArray[np.floating], group: Indices) -> float:
    """Covariance of two errors of a group over their variance, each group counting once."""
    number, total, squares = (np.bincount(group, weights) for weights in (None, errors, errors**2))
    several = number > 1
    covariance = (total**2 - squares)[several] / (number * (number - 1))[several]
    return float(covariance.mean() / (squares[several] / number[several]).mean())


def _validated(predicted: Floats, values: Floats) -> Validation:
    tenths = np.array_split(np.argsort(predicted, kind="stable"), _BINS)
    return Validation(
        pairs=len(values),
        rho=spearman(predicted, values),
        kappa=quadratic_weighted_kappa(np.rint(predicted).astype(np.int64), np.rint(values).astype(np.int64)),
        off_by=float(np.abs(predicted - values).mean()),
        bias=float((predicted - values).mean()),
        calibration=[(float(predicted[of].mean()), float(values[of].mean())) for of in tenths],
    )


def _candidates(part: Part, classes: Ints) -> Ints:
    """Senses that are predicted for: all verbs; of nouns those near a class, and what texts use and pictures show."""
    store = lexicon()
    if part == "verb":
        return np.arange(store.nouns, len(store), dtype=np.int32)
    shown = (sense for sense in range(store.nouns) if store.lexname(sense) not in INVISIBLE)
    used = [
        sense
        for sense in shown
        if any(store.tag_count(lemma, "n")[store.senses(lemma, "n") == sense].any() for lemma in store.lemmas(sense))
    ]
    return np.union1d(within(classes, _STEPS)[1], used).astype(np.int32)


# Predictions for what a map does not rate, learned and written beside it.


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
