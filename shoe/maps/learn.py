"""Train a model that predicts ratings of unrated pairs, from the ratings of a map and features of each pair.

Gradient-boosted trees predict the mean rating of a pair, and are cross-validated on held-out senses and classes. The
predictions are quantised into levels. Each level has a distribution over the ratings 0 to 4, estimated from the real
ratings of pairs with about the same held-out prediction.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from msgspec import to_builtins
from numpy.typing import NDArray

from shoe.benchmarks import benchmark
from shoe.core.arrays import Floats, Indices, Ints, Mask
from shoe.core.documents import Count, Document
from shoe.core.errors import MissingExtraError, OptionError
from shoe.core.io.files import data_folder
from shoe.core.statistics import quadratic_weighted_kappa, spearman
from shoe.lexicon.senses import POS, Part
from shoe.lexicon.store import glosses, lexicon, names_of
from shoe.maps.planning import INVISIBLE, is_tagged, senses_near
from shoe.similarity import SimilarityMap, write_map
from shoe.similarity.ensemble import HIGHEST, MISSING
from shoe.similarity.learned import CREDIT_FROM, LearnedPart, learned_bytes, pack_levels, sample_ratings
from shoe.similarity.map_files import shipped_maps
from shoe.similarity.pairs import pair_keys
from shoe.similarity.wordnet import steps_up, wordnet_values

# Features of a pair: distances in WordNet's graph, names, glosses, and the ratings of other pairs. Except for the class
# mean, no feature uses the pair's own rating, so that rated and unrated pairs have the same kind of features.

Grid = NDArray[np.float32]
"""(C, S) matrix with one number per pair of a class sense and any sense."""

_TOPICS = 128
"""Dimensions of the space in which glosses are compared."""
_GLOSS_SQUARINGS = 3
"""Number of times that the cosine similarity of two glosses is squared before it weights a rating (3: power of 8)."""
_NO_PATH = 99
"""Number of steps between two senses if neither is a hypernym of the other, at any distance."""


class PairFeatures(NamedTuple):
    """Features of the pairs of C class senses and S senses, from which ratings are predicted.

    Attributes:
        fixed: (C, S) features that do not depend on ratings, by name.
        vectors: (S, D) unit vectors of the senses' glosses, in D dimensions.
        relatives: (S, S) sparse weights between senses: 2 for a direct hypernym or hyponym; the number of shared
            hypernyms for siblings.
        rows: (C,) index of each class sense among the S senses.
    """

    fixed: Mapping[str, Grid]
    vectors: Grid
    relatives: Any
    rows: Ints

    def from_ratings(self, ratings: Grid) -> dict[str, Grid]:
        """Return {name: (C, S) feature} from (C, S) ratings 0 to 4 of other pairs; NaN marks unrated and undefined."""
        is_rated = ~np.isnan(ratings)
        known, rated = np.where(is_rated, ratings, 0).astype(np.float32), is_rated.astype(np.float32)
        between = known[:, self.rows]
        weights: Grid = np.maximum(between, between.T) ** 2  # weight of a class for another: their squared rating
        np.fill_diagonal(weights, 0)
        relative_support = (self.relatives @ rated.T).T
        return {
            "sense mean": _ratio(known.sum(0)[None] - known, rated.sum(0)[None] - rated),
            "similar classes": _ratio(weights @ known, weights @ rated),
            "support of classes": _zero_as_nan(weights @ rated),
            # The mean includes the pair's own rating. Without the own rating, the mean would be lower for pairs with a
            # higher rating, and trees would mistake unrated pairs of a class for pairs with a rating above 0.
            "class mean": np.broadcast_to(_ratio(known.sum(1)[:, None], rated.sum(1)[:, None]), known.shape),
            "relatives": _ratio((self.relatives @ known.T).T, relative_support),
            "support of relatives": _zero_as_nan(relative_support),
        }

    def by_gloss(self, ratings: Grid, row: Indices, column: Indices) -> dict[str, Grid]:
        """Return {name: (n,) feature} of n pairs: weighted mean rating of similar pairs, and the sum of the weights.

        Similar pairs are other pairs of the class; the more similar the glosses of the senses, the higher the weight.
        """
        total, weight = np.zeros((2, len(row)), np.float32)
        for of in np.unique(row).tolist():
            pairs, rated = np.flatnonzero(row == of), np.flatnonzero(~np.isnan(ratings[of]))
            closeness = np.maximum(self.vectors[column[pairs]] @ self.vectors[rated].T, 0)
            for _ in range(_GLOSS_SQUARINGS):  # the power 8 of float32 is slow for values near 0
                np.square(closeness, out=closeness)
            closeness[column[pairs][:, None] == rated] = 0
            total[pairs], weight[pairs] = closeness @ ratings[of, rated], closeness.sum(axis=1)
        return {"similar glosses": _ratio(total, weight), "support of glosses": _zero_as_nan(weight)}


_FROM_SAME_SENSE = ("sense mean", "similar classes", "support of classes")
"""Features from ratings of the same sense with other classes."""
_FROM_SAME_CLASS = ("class mean", "relatives", "support of relatives", "similar glosses", "support of glosses")
"""Features from ratings of other senses with the same class."""


def pair_features(part: Part, classes: Ints, senses: Ints) -> PairFeatures:
    """Compute the features that do not depend on ratings, for C classes and S ascending senses (classes included)."""
    from scipy.sparse import csr_array

    store, ids = lexicon(), senses.tolist()
    position = {sense: row for row, sense in enumerate(ids)}
    rows = np.array([position[sense] for sense in classes.tolist()], np.int32)
    steps = [steps_up(sense) for sense in ids]
    path, wup = (wordnet_values(measure, part, classes, senses).astype(np.float32) for measure in ("path", "wup"))
    up = np.array([[above.get(c, _NO_PATH) for above in steps] for c in classes.tolist()], np.float32)
    down = np.array([[steps[row].get(sense, _NO_PATH) for sense in ids] for row in rows.tolist()], np.float32)
    lemmas = [set(store.lemmas(sense)) for sense in ids]
    tokens = [{token for lemma in names for token in lemma.split("_")} for names in lemmas]
    head = 0 if part == "verb" else -1
    heads = [{lemma.split("_")[head] for lemma in names} for names in lemmas]
    files = sorted({store.lexname(sense) for sense in ids})
    file = np.array([files.index(store.lexname(sense)) for sense in ids], np.float32)
    uses, rank = _uses(senses, part)
    definitions = glosses(names_of(senses))
    spelled = [" ".join(store.lemmas(sense)).replace("_", " ") for sense in ids]
    texts = [f"{name} {definitions[store.name(sense)]}".lower() for name, sense in zip(spelled, ids, strict=True)]
    words, vectors = _gloss_vectors(texts)
    parents = [[position[parent] for parent in store.hypernyms(s).tolist() if parent in position] for s in ids]
    with_parents = vectors + np.stack([vectors[above].sum(axis=0) for above in parents])
    with_parents /= np.maximum(np.linalg.norm(with_parents, axis=1, keepdims=True), 1e-9)
    gloss_words = [set(text.split()) for text in texts]

    def per_sense(values: NDArray[np.floating]) -> Grid:
        return np.broadcast_to(values.astype(np.float32), path.shape)

    def per_class(values: NDArray[np.floating]) -> Grid:
        return np.broadcast_to(values.astype(np.float32)[rows][:, None], path.shape)

    def overlap(of_classes: list[set[str]], of_senses: list[set[str]]) -> Grid:
        return np.array([[len(of_classes[row] & other) for other in of_senses] for row in rows.tolist()], np.float32)

    depth = np.array([max(above.values()) for above in steps], np.float64)
    fixed = {
        "path": path,
        "wup": wup,
        "steps up to the class": up,
        "steps down to the class": down,
        "depth": per_sense(depth),
        "depth of class": per_class(depth),
        "file": per_sense(file),
        "file of class": per_class(file),
        "same file": (file == file[rows][:, None]).astype(np.float32),
        "uses": per_sense(np.log1p(uses)),
        "uses of class": per_class(np.log1p(uses)),
        "sense number": per_sense(rank),
        "lemmas": per_sense(np.array([len(names) for names in lemmas], np.float64)),
        "shared lemmas": overlap(lemmas, lemmas),
        "shared words": overlap(tokens, tokens),
        "shared heads": overlap(heads, heads),
        "class in gloss": overlap(lemmas, gloss_words),
        "sense in class's gloss": overlap(gloss_words, lemmas),
        "gloss overlap": (words[rows] @ words.T).toarray().astype(np.float32),
        "gloss topics": vectors[rows] @ vectors.T,
        "gloss topics with hypernyms": with_parents[rows] @ with_parents.T,
    }
    links = [(row, parent) for row, above in enumerate(parents) for parent in above]
    lower, upper = np.array(links, np.int64).reshape(-1, 2).T
    direct = csr_array((np.ones(len(lower), np.float32), (lower, upper)), shape=(len(senses), len(senses)))
    siblings = direct @ direct.T
    siblings.setdiag(0)
    return PairFeatures(fixed, vectors, (2 * direct + 2 * direct.T + siblings).tocsr(), rows)


def _uses(senses: Ints, part: Part) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (S,) tag counts, summed over lemmas, and (S,) lowest ranks (0: most frequent) among a lemma's senses."""
    store, pos = lexicon(), POS[part]
    uses, lowest = np.zeros(len(senses)), np.zeros(len(senses))
    for row, sense in enumerate(senses.tolist()):
        ranks = []
        for lemma in store.lemmas(sense):
            (rank,) = np.flatnonzero(store.senses(lemma, pos) == sense).tolist()[:1] or [0]
            uses[row] += store.tag_count(lemma, pos)[rank]
            ranks.append(rank)
        lowest[row] = min(ranks)
    return uses, lowest


def _gloss_vectors(texts: list[str]) -> tuple[Any, Grid]:
    """Return sparse tf-idf vectors of texts, and vectors of ``_TOPICS`` dimensions, all of length 1."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = TfidfVectorizer(sublinear_tf=True, stop_words="english").fit_transform(texts)
    topics = TruncatedSVD(min(_TOPICS, min(words.shape) - 1), random_state=0).fit_transform(words).astype(np.float32)
    return words, topics / np.maximum(np.linalg.norm(topics, axis=1, keepdims=True), 1e-9)


def _zero_as_nan(support: Grid) -> Grid:
    return np.where(support > 0, support, np.float32(np.nan))


def _ratio(total: Grid, weight: Grid) -> Grid:
    """Return total / weight; NaN where the weight is 0."""
    missing = np.full(np.broadcast(total, weight).shape, np.nan, np.float32)
    return np.divide(total, weight, out=missing, where=weight > 1e-6)


_FOLDS, _LEVELS, _SEED = 4, 16, 0
_STEPS, _FEWER_STEPS = 5, 3
_MANY = 500
"""Number of object classes from which ratings are predicted only within ``_FEWER_STEPS`` links of a class."""
_LARGEST = 4_000_000
"""Largest number of pairs in a table that distinguishes mean ratings below ``_MIN_MEAN``."""
_FEWEST = 100
"""Smallest number of training pairs of a class; see ``RatingGrid``."""
_MIN_MEAN = 0.2
"""Senses are written to the table if their predicted mean rating with at least one class reaches this, 0 to 4."""
_HIGHEST_RATIO = 2
"""Highest plausible ratio of a class's fractions of ratings from 0.5: unrated senses (predicted) to rated senses."""
_SIZE = {"max_iter": 250, "max_leaf_nodes": 31, "min_samples_leaf": 30}
_TREES: dict[str, Any] = {**_SIZE, "learning_rate": 0.08, "l2_regularization": 1.0, "random_state": _SEED}
_SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.45)
"""Fractions of the error variance, shared by the pairs of a sense or class, for which ratings are simulated."""
_DROPOUT = (0.4, 0.1)
"""Fractions of training pairs without ``_FROM_SAME_SENSE``, and without ``_FROM_SAME_CLASS`` features, because many
unrated pairs do not have these features."""


class Validation(Document, frozen=True):
    """Accuracy of the ratings predicted in cross-validation; an undefined correlation is null.

    Attributes:
        pairs: number of pairs, each predicted once without its own rating.
        rho: Spearman's correlation of the predicted mean and the rating.
        kappa: Cohen's kappa with quadratic weights, of predictions and ratings rounded to whole numbers.
        off_by: mean absolute error on the rating scale 0 to 4.
        bias: mean error on this scale; positive if predictions are too high.
        calibration: (mean prediction, mean rating) of ten groups of pairs, ordered by prediction.
    """

    pairs: Count
    rho: float | None
    kappa: float | None
    off_by: float
    bias: float
    calibration: list[tuple[float, float]]


class SuspectClass(Document, frozen=True):
    """Class sense whose predicted ratings are implausibly high, compared with its real ratings.

    Attributes:
        synset: WordNet name of the class sense.
        unrated_share: of the unrated pairs of the class, fraction with a predicted mean rating of 0.5 (of 4) or more.
        rated_share: of the rated pairs of the class, fraction with a rating of 0.5 or more; smoothed by adding one
            pair above and one pair below 0.5.
    """

    synset: str
    unrated_share: float
    rated_share: float


class PartLearned(Document, frozen=True):
    """Size of the prediction table of one part of speech, and its validation.

    Attributes:
        classes, senses: number of class senses and of senses in the table.
        by_sense: accuracy for senses that do not occur in the training data.
        by_class: accuracy for classes that do not occur in the training data.
        suspect_classes: classes whose ``unrated_share`` is more than twice their ``rated_share``, highest ratio first.
    """

    classes: Count
    senses: Count
    by_sense: Validation
    by_class: Validation
    suspect_classes: list[SuspectClass]


class MapLearned(Document, frozen=True):
    """Result of training on a similarity map's ratings, per part of speech."""

    verbs: PartLearned
    objects: PartLearned


class RatingGrid(NamedTuple):
    """Training data of one part of speech: m pairs in a grid of C class senses and S senses.

    A class with 1 to 99 rated pairs gets random unrated pairs with senses of other lexicographer files, which are
    assumed to be rated 0, because raters saw only the most similar senses of the class.

    Attributes:
        values: (m,) combined rating of each pair, 0 to 4; the n rated pairs come first.
        shares: (n, 5) weighted fraction of the raters that gave a pair each rating 0 to 4.
        own: (m,) mask of the rated pairs in the map's own files, not in the map that it extends.
        classes, senses: (C,) IDs of the class senses, and (S,) IDs of the senses.
        row, column: (m,) row and column of each pair in the grid.
        predicted_classes: (P,) IDs of the class senses to predict ratings for, in the dataset or in ``own`` pairs.
    """

    values: Floats
    shares: Floats
    own: Mask
    classes: Ints
    senses: Ints
    row: Indices
    column: Indices
    predicted_classes: Ints
    features: PairFeatures

    @classmethod
    def from_map(cls, similarity: SimilarityMap, part: Part) -> Self:
        """Return a map's training data; OptionError without a rated pair of this part of speech."""
        pairs = similarity.tables[part]
        pairs = pairs[pairs.rated]
        if not len(pairs):
            raise OptionError(f"map {similarity.name} has no rated {part} pair to learn from")
        own = (pairs.ratings[:, similarity.inherited :] != MISSING).any(axis=1)
        predicted_classes = np.union1d(pairs.class_sense[own], _dataset_senses(similarity, part)).astype(np.int32)
        classes = np.union1d(pairs.class_sense, predicted_classes).astype(np.int32)
        senses = np.union1d(_candidates(part, classes), np.union1d(pairs.sense, classes)).astype(np.int32)
        counted = similarity.rater_weights.mask_omissions(pairs.ratings)
        weights = np.array(similarity.rater_weights.weights)
        shares = np.stack([(counted == rating) @ weights for rating in range(HIGHEST + 1)], axis=1)
        shares = shares / shares.sum(axis=1, keepdims=True)
        values = similarity.pair_values(part)[similarity.tables[part].rated] * HIGHEST
        row, column = np.searchsorted(classes, pairs.class_sense), np.searchsorted(senses, pairs.sense)
        features = pair_features(part, classes, senses)
        zeros = _assumed_zeros(row, column, features.fixed["same file"])
        row, column = np.concatenate([np.stack([row, column]), zeros], axis=1)
        values, own = (np.pad(each, (0, len(row) - len(pairs))) for each in (values, own))
        return cls(values, shares, own, classes, senses, row, column, predicted_classes, features)

    def ratings(self, rows: Indices) -> Grid:
        """Return the (C, S) ratings 0 to 4 of the pairs with indices ``rows``; NaN for all other pairs."""
        grid = np.full((len(self.classes), len(self.senses)), np.nan, np.float32)
        grid[self.row[rows], self.column[rows]] = self.values[rows]
        return grid

    def train(self, rows: Indices) -> Callable[[Indices, Indices], Floats]:
        """Train trees on the pairs with indices ``rows``; return their function of (n,) rows and columns of the grid.

        The function returns the (n,) predicted mean ratings, 0 to 4.
        """
        from sklearn.ensemble import HistGradientBoostingRegressor

        ratings = self.ratings(rows)
        by_name = {**self.features.fixed, **self.features.from_ratings(ratings)}
        names = [*by_name, "similar glosses", "support of glosses"]
        categories = [index for index, name in enumerate(names) if name.startswith("file")]
        trees = HistGradientBoostingRegressor(categorical_features=categories, early_stopping=False, **_TREES)

        def features(row: Indices, column: Indices) -> NDArray[np.float32]:
            by_gloss = self.features.by_gloss(ratings, row, column)
            return np.stack([*(by_name[name][row, column] for name in by_name), *by_gloss.values()], axis=1)

        known = features(self.row[rows], self.column[rows])
        chance = np.random.default_rng(_SEED).random((2, len(rows)))
        for deviates, group, share in zip(chance, (_FROM_SAME_SENSE, _FROM_SAME_CLASS), _DROPOUT, strict=True):
            known[np.ix_(deviates < share, [names.index(name) for name in group])] = np.nan
        trees.fit(known, self.values[rows])
        return lambda row, column: np.clip(trees.predict(features(row, column)), 0, HIGHEST)

    def with_reversed(self, test: Mask) -> Mask:
        """Return the (m,) mask of the pairs in ``test`` (m,) and their reversed pairs (class and sense exchanged)."""
        classes, senses = self.classes[self.row], self.senses[self.column]
        return np.asarray(test | np.isin(pair_keys(senses, classes), pair_keys(classes[test], senses[test])))

    def cross_validate(self, fold: Indices, exclude: Callable[[Mask], Mask]) -> Floats:
        """Return the (m,) predicted mean ratings of all pairs, each by trees trained on the other (m,) ``fold``.

        ``exclude`` extends the (m,) mask of the test pairs to all pairs that must not be used for training.
        """
        predictions = np.zeros(len(self.row))
        for number in range(_FOLDS):
            test = fold == number
            predict = self.train(np.flatnonzero(~exclude(test)))
            predictions[test] = predict(self.row[test], self.column[test])
        return predictions


def _dataset_senses(similarity: SimilarityMap, part: Part) -> list[int]:
    """Return the IDs of the class senses of a map's dataset, with second senses; none if the dataset is unknown."""
    senses = [sense for pair in similarity.second_senses.get(part, {}).items() for sense in pair]
    with suppress(OptionError):
        classes = benchmark(similarity.dataset).classes
        senses += (classes.verb_sense if part == "verb" else classes.object_sense).tolist()
    return [sense for sense in senses if sense >= 0]


def _assumed_zeros(row: Indices, column: Indices, same_file: Grid) -> Indices:
    """Return the (2, k) rows and columns of the pairs that are assumed to be rated 0; see :class:`RatingGrid`."""
    rng, free = np.random.default_rng(_SEED), same_file == 0
    free[row, column] = False
    counts = np.bincount(row, minlength=len(free))
    few = np.flatnonzero((counts > 0) & (counts < _FEWEST))
    drawn = [(of, rng.permutation(np.flatnonzero(free[of]))[: _FEWEST - counts[of]]) for of in few.tolist()]
    return np.array([(of, each) for of, columns in drawn for each in columns], np.int64).reshape(-1, 2).T


def _learn_part(
    similarity: SimilarityMap, part: Part, progress: Callable[[str], None]
) -> tuple[LearnedPart, PartLearned]:
    grid = RatingGrid.from_map(similarity, part)
    progress(f"{part}s: predicting held-out senses")
    sense_fold = np.random.default_rng(_SEED).integers(0, _FOLDS, len(grid.senses))
    by_sense = grid.cross_validate(sense_fold[grid.column], grid.with_reversed)
    progress(f"{part}s: predicting held-out classes")
    class_fold = np.random.default_rng(_SEED).permutation(len(grid.classes)) % _FOLDS
    fold_of_sense = np.full(len(lexicon()), -1, np.int64)
    fold_of_sense[grid.classes] = class_fold

    def in_either_role(test: Mask) -> Mask:
        # Ratings of a held-out class's own sense with other classes would reveal it, so these are excluded as well.
        return np.asarray(test | (fold_of_sense[grid.senses[grid.column]] == class_fold[grid.row[test][:1]]))

    by_class = grid.cross_validate(class_fold[grid.row], in_either_role)
    progress(f"{part}s: training on all pairs")
    predict = grid.train(np.arange(len(grid.row)))
    column = np.arange(len(grid.senses))
    predicted = np.stack([predict(np.full(len(column), row), column) for row in range(len(grid.classes))])
    # The table has the held-out predictions of rated pairs, from which score intervals estimate the accuracy.
    rated = len(grid.shares)
    predicted[grid.row[:rated], grid.column[:rated]] = by_sense[:rated]
    for first, second in similarity.second_senses.get(part, {}).items():
        of_class, visible = np.searchsorted(grid.classes, [first, second])
        predicted[of_class] = np.maximum(predicted[of_class], predicted[visible])
    table = _quantise(predicted, grid, by_sense)
    own, classes = grid.own, grid.predicted_classes
    validations = _validate(by_sense[own], grid.values[own]), _validate(by_class[own], grid.values[own])
    ratings = grid.ratings(np.arange(rated))[np.searchsorted(grid.classes, classes)]
    suspects = suspect_classes(classes, table.expected(classes, grid.senses) * HIGHEST, ratings)
    return table, PartLearned(len(table.classes), len(table.senses), *validations, suspects)


def suspect_classes(classes: Ints, predicted: Floats, ratings: NDArray[np.floating]) -> list[SuspectClass]:
    """Return the classes with ``unrated_share`` / ``rated_share`` above 2, the highest ratio first.

    ``predicted`` are the (C, S) predicted mean ratings, and ``ratings`` the (C, S) ratings, 0 to 4 or NaN.
    """
    is_rated, name = ~np.isnan(ratings), lexicon().name
    unrated_share = (~is_rated & (predicted >= CREDIT_FROM)).sum(axis=1) / np.maximum((~is_rated).sum(axis=1), 1)
    # One sense is added on either side, so that a class with few ratings is not suspect by chance.
    rated_share = ((ratings >= CREDIT_FROM).sum(axis=1) + 1) / (is_rated.sum(axis=1) + 2)
    ratio = unrated_share / rated_share
    return [
        SuspectClass(name(int(classes[row])), float(unrated_share[row]), float(rated_share[row]))
        for row in np.argsort(-ratio, kind="stable").tolist()
        if ratio[row] > _HIGHEST_RATIO
    ]


def _quantise(predicted: Floats, grid: RatingGrid, held_out: Floats) -> LearnedPart:
    """Return the prediction table: the level of each pair, and the distribution of real ratings of each level.

    ``predicted`` are the (C, S) predicted mean ratings, ``held_out`` the (m,) held-out predictions.
    """
    from sklearn.isotonic import IsotonicRegression

    predicted = predicted[np.searchsorted(grid.classes, grid.predicted_classes)]
    middles = HIGHEST * ((np.arange(_LEVELS) + 0.5) / _LEVELS) ** 2
    at_least, rated = [np.ones(_LEVELS)], len(grid.shares)
    for rating in range(1, HIGHEST + 1):
        regression = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
        at_least.append(regression.fit(held_out[:rated], grid.shares[:, rating:].sum(axis=1)).predict(middles))
    ratings = np.maximum(-np.diff(np.stack([*at_least, np.zeros(_LEVELS)]), axis=0).T, 0)
    level = _levels(predicted)
    is_low = (ratings @ np.arange(HIGHEST + 1))[level] < _MIN_MEAN
    kept = ~is_low.all(axis=0)
    if level.size > _LARGEST:
        level[is_low] = 0
    levels, unknown = pack_levels(level[:, kept].T), np.zeros(2, np.float32)
    table = LearnedPart(grid.predicted_classes, grid.senses[kept], levels, ratings.astype(np.float32), shared=unknown)
    return replace(table, shared=_shared_error(table, grid, held_out))


def _levels(predicted: Floats) -> Indices:
    """Return the level, 0 to 15, of each prediction 0 to 4; levels are equal steps of the prediction's square root."""
    return np.asarray(np.minimum(np.sqrt(predicted / HIGHEST) * _LEVELS, _LEVELS - 1), np.int64)


def _shared_error(table: LearnedPart, grid: RatingGrid, held_out: Floats) -> NDArray[np.float32]:
    """Return the (2,) fractions of the error variance that are common to all pairs of a class, and of a sense.

    With these fractions, the errors of simulated ratings are correlated as the real errors.
    """
    rng, rated = np.random.default_rng(_SEED), len(grid.shares)
    level = _levels(held_out[:rated])
    means = (table.ratings @ np.arange(HIGHEST + 1.0))[level]
    fractions = []
    for group in (grid.row[:rated], grid.column[:rated]):
        simulated = []
        for share in _SHARES:
            deviates = np.sqrt(share) * rng.standard_normal(group.max() + 1)[group]
            deviates += np.sqrt(1 - share) * rng.standard_normal(len(group))
            errors = np.asarray(sample_ratings(table.ratings, level, deviates) - means)
            simulated.append(_error_correlation(errors, group))
        observed = _error_correlation(grid.values[:rated] - means, group)
        fractions.append(np.interp(observed, np.maximum.accumulate(simulated), _SHARES))
    return np.array(fractions, np.float32)


def _error_correlation(errors: NDArray[Any], group: Indices) -> float:
    """Return mean covariance over mean variance of the errors in each group that has several errors."""
    number, total, squares = (np.bincount(group, weights) for weights in (None, errors, errors**2))
    several = number > 1
    covariance = (total**2 - squares)[several] / (number * (number - 1))[several]
    return float(covariance.mean() / (squares[several] / number[several]).mean())


def _validate(predicted: Floats, values: Floats) -> Validation:
    tenths = np.array_split(np.argsort(predicted, kind="stable"), 10)
    return Validation(
        pairs=len(values),
        rho=spearman(predicted, values),
        kappa=quadratic_weighted_kappa(np.rint(predicted).astype(np.int64), np.rint(values).astype(np.int64)),
        off_by=float(np.abs(predicted - values).mean()),
        bias=float((predicted - values).mean()),
        calibration=[(float(predicted[tenth].mean()), float(values[tenth].mean())) for tenth in tenths],
    )


def _candidates(part: Part, classes: Ints) -> Ints:
    """Return the ascending senses to predict: all verbs; or nouns near a class, and visible nouns that texts use."""
    store = lexicon()
    if part == "verb":
        return np.arange(store.nouns, len(store), dtype=np.int32)
    used = [s for s in range(store.nouns) if store.lexname(s) not in INVISIBLE and is_tagged(s, "object")]
    steps = _STEPS if len(classes) < _MANY else _FEWER_STEPS
    return np.union1d(senses_near(classes, steps)[1], used).astype(np.int32)


def train_on_map(map: str, progress: Callable[[str], None] = lambda _: None) -> MapLearned:  # noqa: A002 - as elsewhere
    """Train a model on a similarity map's ratings, and write predicted ratings into the map's folder.

    ``map`` is the name of a shipped map, or a map's folder; ``progress`` takes one line per step. Return the size and
    the validation of the prediction table, per part of speech, as written to map.json. Raise MissingExtraError if
    scikit-learn or WordNet's definitions are not installed, and OptionError without a rated pair of a part of speech.
    """
    if not find_spec("sklearn"):
        raise MissingExtraError("learning from ratings", "llm")
    similarity = SimilarityMap.load(map)
    parts = {part: _learn_part(similarity, part, progress) for part in POS}
    result = MapLearned(**{f"{part}s": size for part, (_, size) in parts.items()})
    write_map(
        data_folder("similarity_maps") / map if map in shipped_maps() else Path(map),
        name=similarity.name,
        dataset=similarity.dataset,
        raters=similarity.raters[similarity.inherited :],
        pairs=similarity.own_tables,
        ensemble=similarity.about["ensemble"],
        prose=similarity.provenance,
        learned=(learned_bytes({part: table for part, (table, _) in parts.items()}), to_builtins(result)),
        whole=similarity.whole_ratings,
        extends=SimilarityMap.load(similarity.about["extends"]["name"]) if similarity.inherited else None,
    )
    return result
