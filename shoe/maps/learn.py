"""Ratings predicted for pairs that nobody rated, learned from the ratings of a map and features of each pair.

Gradient-boosted trees predict the mean rating of a pair from the features below. What a prediction is worth
is measured on ratings that the trees have not seen: per part of speech, the map's senses are split into folds, and
each fold is predicted by what the others' ratings teach. The share of each rating among pairs of about the same
prediction is the distribution that the table gives to a level of predictions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
from shoe.lexicon.wordnet import glosses
from shoe.maps.planning import INVISIBLE, within
from shoe.similarity import RatedPairs, SimilarityMap, write_map
from shoe.similarity.ensemble import HIGHEST
from shoe.similarity.learned import LearnedPart, drawn_ratings, learned_bytes, packed
from shoe.similarity.maps import shipped_maps
from shoe.similarity.wordnet import steps_up, wordnet_values

# What tells how similar two senses are before anybody rates them: WordNet's graph, names, glosses, ratings nearby.
#
# No feature of a pair uses that pair's own rating, so that rated and unrated pairs have the same kind of features.

Grid = NDArray[np.float32]
"""(C, S) one number for each class sense and other sense."""

TOPICS = 128
"""Dimensions of the space in which glosses are compared."""
_SHARPNESS = 8
_AT_ONCE = 1024
_FAR = 99


@dataclass(frozen=True, slots=True, eq=False)
class PairFeatures:
    """Features of C class senses and S senses that need no rating, and the data for features of ratings.

    Attributes:
        names: names of all features, in the order of columns.
        fixed: features that need no rating, (C, S) each, by name.
        vectors: (S, D) unit vectors of the senses' glosses.
        relatives: (S, S) sparse rows: a sense's hypernyms, hyponyms and siblings, each of weight 1.
        rows: (C,) row of each class's sense among the senses.
    """

    fixed: Mapping[str, Grid]
    vectors: Grid
    relatives: Any
    rows: Ints

    @property
    def names(self) -> list[str]:
        """Names of the features, in the order of columns."""
        return [*self.fixed, *OF_SENSE, *OF_CLASS]

    def of_ratings(self, ratings: Grid) -> dict[str, Grid]:
        """Compute features from the ratings of other pairs.

        Args:
            ratings: (C, S) 0..4; NaN where there is none.
        """
        rated = ~np.isnan(ratings)
        known, there = np.where(rated, ratings, 0).astype(np.float32), rated.astype(np.float32)
        like = _closeness(known[:, self.rows])
        by_gloss, support = self._by_gloss(known, there)
        return {
            "sense mean": _others(known.sum(0)[None], there.sum(0)[None], known, there),
            "similar classes": _mean(like @ known, like @ there),
            "support of classes": _there(like @ there),
            "class mean": _others(known.sum(1)[:, None], there.sum(1)[:, None], known, there),
            "relatives": _mean((self.relatives @ known.T).T, (self.relatives @ there.T).T),
            "support of relatives": _there((self.relatives @ there.T).T),
            "similar glosses": by_gloss,
            "support of glosses": _there(support),
        }

    def _by_gloss(self, known: Grid, there: Grid) -> tuple[Grid, Grid]:
        """Return (C, S) mean of a class's ratings of senses with similar glosses, and its total weight."""
        columns = np.flatnonzero(there.any(axis=0))
        total, weight = np.zeros_like(known), np.zeros_like(known)
        for start in range(0, known.shape[1], _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            near = np.maximum(self.vectors[columns] @ self.vectors[part].T, 0) ** _SHARPNESS
            near[columns[:, None] == np.arange(known.shape[1])[part]] = 0
            total[:, part], weight[:, part] = known[:, columns] @ near, there[:, columns] @ near
        return _mean(total, weight), weight


OF_SENSE = ("sense mean", "similar classes", "support of classes")
"""Features from ratings of the same sense with other classes."""
OF_CLASS = (
    *("class mean", "relatives", "support of relatives"),
    *("similar glosses", "support of glosses"),
)
"""Features from ratings of other senses with the same class."""


def pair_features(part: Part, classes: Ints, senses: Ints) -> PairFeatures:
    """Compute the features that need no rating.

    Args:
        part: "verb" or "object".
        classes: (C,) ids of class senses.
        senses: (S,) ids of senses, the classes' among them, ascending.

    Raises:
        MissingWordNetError: if WordNet's glosses are not there.
    """
    from scipy.sparse import csr_array

    store = lexicon()
    position = {sense: row for row, sense in enumerate(senses.tolist())}
    rows = np.array([position[sense] for sense in classes.tolist()], np.int32)
    above = [steps_up(sense) for sense in senses.tolist()]
    of_class = [above[row] for row in rows.tolist()]
    path, wup = (wordnet_values(measure, part, classes, senses).astype(np.float32) for measure in ("path", "wup"))
    under = np.array([[up.get(c, _FAR) for up in above] for c in classes.tolist()], np.float32)
    over = np.array([[up.get(s, _FAR) for s in senses.tolist()] for up in of_class], np.float32)

    lemmas = [set(store.lemmas(sense)) for sense in senses.tolist()]
    tokens = [{token for lemma in of for token in lemma.split("_")} for of in lemmas]
    head = 0 if part == "verb" else -1
    heads = [{lemma.split("_")[head] for lemma in of} for of in lemmas]
    files = sorted({store.lexname(sense) for sense in senses.tolist()})
    file = np.array([files.index(store.lexname(sense)) for sense in senses.tolist()], np.float32)
    uses, order = _uses(senses, part)
    texts = _texts(senses)
    words, vectors = _gloss_vectors(texts)
    wide = vectors + np.stack(
        [
            vectors[[position[h] for h in store.hypernyms(s).tolist() if h in position]].sum(axis=0)
            for s in senses.tolist()
        ]
    )
    wide /= np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), 1e-9)
    said = [set(text.split()) for text in texts]

    def each_sense(values: NDArray[np.floating]) -> Grid:
        return np.broadcast_to(values.astype(np.float32), path.shape)

    def each_class(values: NDArray[np.floating]) -> Grid:
        return np.broadcast_to(values.astype(np.float32)[rows][:, None], path.shape)

    def overlap(one: list[set[str]], other: list[set[str]]) -> Grid:
        return np.array([[len(one[row] & of) for of in other] for row in rows.tolist()], np.float32)

    depth = np.array([max(up.values()) for up in above], np.float64)
    fixed = {
        "path": path,
        "wup": wup,
        "steps up to the class": under,
        "steps down to the class": over,
        "depth": each_sense(depth),
        "depth of class": each_class(depth),
        "file": each_sense(file),
        "file of class": each_class(file),
        "same file": (file == file[rows][:, None]).astype(np.float32),
        "uses": each_sense(np.log1p(uses)),
        "uses of class": each_class(np.log1p(uses)),
        "sense number": each_sense(order),
        "lemmas": each_sense(np.array([len(of) for of in lemmas], np.float64)),
        "shared lemmas": overlap(lemmas, lemmas),
        "shared words": overlap(tokens, tokens),
        "shared heads": overlap(heads, heads),
        "class in gloss": overlap(lemmas, said),
        "sense in class's gloss": overlap(said, lemmas),
        "gloss overlap": (words[rows] @ words.T).toarray().astype(np.float32),
        "gloss topics": vectors[rows] @ vectors.T,
        "gloss topics with hypernyms": wide[rows] @ wide.T,
    }
    links = [
        (row, position[up])
        for row, sense in enumerate(senses.tolist())
        for up in store.hypernyms(sense).tolist()
        if up in position
    ]
    lower, upper = np.array(links, np.int64).reshape(-1, 2).T
    direct = csr_array((np.ones(len(lower), np.float32), (lower, upper)), shape=(len(senses), len(senses)))
    siblings = direct @ direct.T
    siblings.setdiag(0)
    relatives = (2 * direct + 2 * direct.T + siblings).tocsr()
    return PairFeatures(fixed, vectors, relatives, rows)


def _uses(senses: Ints, part: Part) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (S,) uses of each sense in WordNet's tagged texts, and its lowest rank among the senses of its lemmas."""
    store, pos = lexicon(), POS[part]
    uses, order = np.zeros(len(senses)), np.zeros(len(senses))
    for row, sense in enumerate(senses.tolist()):
        numbers = []
        for lemma in store.lemmas(sense):
            (place,) = np.flatnonzero(store.senses(lemma, pos) == sense).tolist()[:1] or [0]
            uses[row] += store.tag_count(lemma, pos)[place]
            numbers.append(place)
        order[row] = min(numbers)
    return uses, order


def _texts(senses: Ints) -> list[str]:
    names = [lexicon().name(sense) for sense in senses.tolist()]
    defined = glosses(names, "learning from ratings")
    lemmas = (" ".join(lexicon().lemmas(sense)).replace("_", " ") for sense in senses.tolist())
    return [f"{of} {defined[name]}".lower() for of, name in zip(lemmas, names, strict=True)]


def _gloss_vectors(texts: list[str]) -> tuple[Any, Grid]:
    """Return sparse tf-idf vectors of texts, and their projections to the main topics, all of length 1."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = TfidfVectorizer(sublinear_tf=True, stop_words="english").fit_transform(texts)
    topics = TruncatedSVD(min(TOPICS, min(words.shape) - 1), random_state=0).fit_transform(words).astype(np.float32)
    return words, topics / np.maximum(np.linalg.norm(topics, axis=1, keepdims=True), 1e-9)


def _closeness(between: Grid) -> Grid:
    """Return (C, C) weight of each class for another: the square of the rating of their senses, 0 for itself."""
    weights: Grid = np.maximum(between, between.T) ** 2
    np.fill_diagonal(weights, 0)
    return weights


def _there(support: Grid) -> Grid:
    """Return 1 where a mean has support, else NaN."""
    return np.where(support > 0, support, np.float32(np.nan))


def _others(total: Grid, number: Grid, known: Grid, there: Grid) -> Grid:
    """Return means over all ratings but the pair's own."""
    return _mean(total - known, number - there)


def _mean(total: Grid, number: Grid) -> Grid:
    found: Grid = np.divide(
        total, number, out=np.full(np.broadcast(total, number).shape, np.nan, np.float32), where=number > 1e-6
    )
    return found


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
    """Accuracy of predictions of held-out ratings; a correlation that is undefined is null.

    Attributes:
        pairs: number of pairs, each held out once.
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
    """Model of one part of speech, and its validation with whole senses, and whole classes, held out."""

    table: LearnedPart
    by_sense: Validation
    by_class: Validation


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """Ratings of one part of speech as a grid, m pairs of C class senses and S senses.

    Attributes:
        values: (m,) ensemble's rating 0..4 of each.
        shares: (m, 5) share of each rating among the counted ratings of a pair.
        classes, senses: (C,) and (S,) ids.
        row, column: (m,) of each pair.
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
        """Train on some pairs; return a function that predicts mean ratings 0..4 of (n,) cells of the grid."""
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
        """Return (m,) predictions of pairs from other folds; ``also`` marks further pairs to leave out of training."""
        found = np.zeros(len(self.pairs))
        for number in range(FOLDS):
            test = fold == number
            predict = self.trained(np.flatnonzero(~also(test)))
            found[test] = predict(self.row[test], self.column[test])
        return found


def learn(similarity: SimilarityMap, progress: Callable[[str], None] = lambda _: None) -> dict[Part, Taught]:
    """Train on a map's ratings, and validate.

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
    """Return (m,) fold of each pair, the same for all pairs of a sense."""
    return np.random.default_rng(SEED).integers(0, FOLDS, len(lesson.senses))[lesson.column]


def levels(predicted: Floats, lesson: Lesson, held_out: Floats) -> LearnedPart:
    """Quantise predictions into levels, with the distribution of real ratings of each level."""
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
    """Return the level of each prediction 0..4; levels are even in the square root: near 0 small differences count."""
    found: Indices = np.minimum(np.sqrt(predicted / HIGHEST) * LEVELS, LEVELS - 1).astype(np.int64)
    return found


def _shared(table: LearnedPart, lesson: Lesson, held_out: Floats) -> NDArray[np.float32]:
    """Estimate how far pairs of a class, and of a sense, share their errors, so that draws share theirs alike."""
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
    """Return the covariance of two errors of a group over their variance, each group counting once."""
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
    """Return the senses that are predicted: all verbs; nouns near a class that texts use and pictures show."""
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
    """Result of training for one part of speech."""

    classes: Count
    senses: Count
    by_sense: Validation
    by_class: Validation


class MapLearned(Document, frozen=True):
    """Result of training on a map's ratings."""

    verbs: PartLearned
    objects: PartLearned


def teach(map: str, progress: Callable[[str], None] = lambda _: None) -> MapLearned:  # noqa: A002 - as elsewhere
    """Train on a map's ratings and write the predictions beside it.

    Args:
        map: a shipped map's name, or a map's folder.

    Returns:
        For verbs and objects the size of the table and the validation, as in map.json.

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
