"""What tells how similar two senses are before anybody rates them: WordNet's graph, names, glosses, ratings nearby.

No feature of a pair uses that pair's own rating, so that rated and unrated pairs have the same kind of features.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Ints
from shoe.lexicon.expressions import POS, Part
from shoe.lexicon.store import lexicon
from shoe.lexicon.wordnet import glosses
from shoe.similarity.wordnet import steps_up, wordnet_values

Grid = NDArray[np.float32]
"""(C, S) one number for each class sense and other sense."""

TOPICS = 128
"""Dimensions of the space in which glosses are compared."""
_SHARPNESS = 8
_AT_ONCE = 1024
_FAR = 99


@dataclass(frozen=True, slots=True, eq=False)
class PairFeatures:
    """Features of C class senses against S senses that need no rating, and what those of ratings are made with.

    Attributes:
        names: of all features, in the order of columns.
        fixed: those that need no rating, (C, S) each, by name.
        vectors: (S, D) unit vectors of the senses' glosses.
        relatives: (S, S) sparse rows: a sense's hypernyms, hyponyms and siblings, each weighing 1.
        rows: (C,) row of each class's sense among the senses.
    """

    fixed: Mapping[str, Grid]
    vectors: Grid
    relatives: Any
    rows: Ints

    @property
    def names(self) -> list[str]:
        """The features in the order of columns."""
        return [*self.fixed, *OF_SENSE, *OF_CLASS]

    def of_ratings(self, ratings: Grid) -> dict[str, Grid]:
        """Features from the ratings of other pairs.

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
        """(C, S) mean of a class's ratings of senses with similar glosses, and how much similarity that rests on."""
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
    """Compute what needs no rating.

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
    """(S,) how often WordNet's tagged texts use each sense, and its lowest number among the senses of its lemmas."""
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
    """Sparse tf-idf vectors of some texts, and their projections to the main topics, all of length 1."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = TfidfVectorizer(sublinear_tf=True, stop_words="english").fit_transform(texts)
    topics = TruncatedSVD(min(TOPICS, min(words.shape) - 1), random_state=0).fit_transform(words).astype(np.float32)
    return words, topics / np.maximum(np.linalg.norm(topics, axis=1, keepdims=True), 1e-9)


def _closeness(between: Grid) -> Grid:
    """(C, C) how much each class tells about another: the square of the rating of their senses, 0 for itself."""
    weights: Grid = np.maximum(between, between.T) ** 2
    np.fill_diagonal(weights, 0)
    return weights


def _there(support: Grid) -> Grid:
    """NaN where there is nothing to support a mean."""
    return np.where(support > 0, support, np.float32(np.nan))


def _others(total: Grid, number: Grid, known: Grid, there: Grid) -> Grid:
    """Means over all ratings but the pair's own."""
    return _mean(total - known, number - there)


def _mean(total: Grid, number: Grid) -> Grid:
    found: Grid = np.divide(
        total, number, out=np.full(np.broadcast(total, number).shape, np.nan, np.float32), where=number > 1e-6
    )
    return found
