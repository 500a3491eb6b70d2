"""Plausibility check of a map: properties of its values that are not errors, but that a good map would not have."""

import numpy as np

from shoe.core.arrays import Floats, Ints, Mask
from shoe.core.documents import Count, Document, Fraction
from shoe.lexicon.senses import POS, Part
from shoe.lexicon.store import names_of
from shoe.similarity import SimilarityMap
from shoe.similarity.ensemble import HIGHEST
from shoe.similarity.learned import CREDIT_FROM, LearnedPart
from shoe.similarity.neighbourhood import relations
from shoe.similarity.wordnet import steps_up

_CHUNK = 256
_SHOWN = 20
_HIGHEST_RATIO, _LEAST_SHARE, _ASYMMETRY = 8, 0.2, 0.5
"""Limits: share of a broad class, as a multiple of the median share and absolute; difference of both directions."""


class SurprisingPair(Document, frozen=True):
    """Pair of senses whose combined rating differs from the ``expected`` rating predicted from other pairs; 0 to 4."""

    class_synset: str
    synset: str
    rating: float
    expected: float


class PartCheck(Document, frozen=True):
    """Check of the values of one part of speech; a value is the rating of a pair, or else its predicted rating, 0 to 4.

    Attributes:
        classes: number of class senses.
        median_share: fraction of the senses that a class is similar to (value of 0.5 or more), as the median over the
            classes. Hyponyms of a class are not counted, because they are similar by definition.
        broad_classes: this fraction for the three classes that are similar to the most senses, highest first.
        asymmetry: mean absolute difference between the value of class sense a with b, and the value of b with a.
        hypernyms, siblings: mean value of class senses with their direct hypernyms, and with their siblings.
        surprising: at most 20 pairs whose ratings differ most from the prediction; empty if the map has no predictions.
        problems: one line for each result that a good map would not have.
    """

    classes: Count
    median_share: Fraction
    broad_classes: dict[str, Fraction]
    asymmetry: float | None
    hypernyms: float | None
    siblings: float | None
    surprising: list[SurprisingPair]
    problems: list[str]


def check_map(similarity: SimilarityMap) -> dict[str, PartCheck]:
    """Return the plausibility check of a map's ratings and predicted ratings, by part: "verbs" and "objects"."""
    return {f"{part}s": _check_part(similarity, part) for part in POS}


def _check_part(similarity: SimilarityMap, part: Part) -> PartCheck:
    learned, pairs = similarity.learned, similarity.tables[part]
    classes = learned[part].classes if learned else np.unique(pairs.class_sense)
    senses = np.unique(np.concatenate([learned[part].senses if learned else pairs.sense, pairs.sense, classes]))
    links = [(column, above) for column, sense in enumerate(senses.tolist()) for above in steps_up(sense)]
    kind, kind_of = np.array(links, np.int64).reshape(-1, 2).T
    shares: list[float] = []
    surprising: list[SurprisingPair] = []
    above, beside = [np.zeros(0)], [np.zeros(0)]
    for start in range(0, len(classes), _CHUNK):
        chunk = classes[start : start + _CHUNK]
        values, is_rated = _values(similarity, part, chunk, senses)
        up, down = relations(chunk, senses)
        is_other, hyponyms = np.ones(values.shape, bool), np.isin(kind_of, chunk)
        is_other[np.searchsorted(chunk, kind_of[hyponyms]), kind[hyponyms]] = False
        shares += (((values >= CREDIT_FROM) & is_other).sum(axis=1) / np.maximum(is_other.sum(axis=1), 1)).tolist()
        above.append(values[(up == 1) & (down == 0)])
        beside.append(values[(up == 1) & (down == 1)])
        if learned:
            surprising += _surprising(learned[part], chunk, senses, np.where(is_rated, values, np.nan))
    surprising.sort(key=lambda pair: -abs(pair.rating - pair.expected))
    both, _ = _values(similarity, part, classes, classes)
    median, widest = float(np.median(shares or 0)), np.argsort(shares)[::-1][:3]
    broad = dict(zip(names_of(classes[widest]), np.array(shares)[widest].tolist(), strict=True))
    asymmetry = _mean(np.abs(both - both.T)[~np.eye(len(both), dtype=bool)])
    hypernyms, siblings = _mean(np.concatenate(above)), _mean(np.concatenate(beside))
    problems = [
        f"{part}s: {name} is similar to {share:.0%} of the senses; the median class: {median:.1%}"
        for name, share in broad.items()
        if share > max(_HIGHEST_RATIO * median, _LEAST_SHARE)
    ]
    if (asymmetry or 0) > _ASYMMETRY:
        problems.append(f"{part}s: values of two class senses differ by {asymmetry:.2f} of 4 between both directions")
    if hypernyms is not None and siblings is not None and hypernyms < siblings:
        problems.append(f"{part}s: hypernyms are less similar ({hypernyms:.2f} of 4) than siblings ({siblings:.2f})")
    return PartCheck(len(classes), median, broad, asymmetry, hypernyms, siblings, surprising[:_SHOWN], problems)


def _values(similarity: SimilarityMap, part: Part, classes: Ints, senses: Ints) -> tuple[Floats, Mask]:
    """Return the (C, S) ratings, or else predicted ratings, 0 to 4, NaN for neither; and the mask of rated pairs."""
    rated, predicted = similarity.values(part, classes, senses), similarity.predicted(part, classes, senses)
    is_rated = ~np.isnan(rated)
    return HIGHEST * (rated if predicted is None else np.where(is_rated, rated, predicted)), is_rated


def _surprising(learned: LearnedPart, classes: Ints, senses: Ints, ratings: Floats) -> list[SurprisingPair]:
    """Return the pairs whose (C, S) ``ratings`` (NaN if unrated) differ most from their predicted ratings."""
    expected = (learned.ratings @ np.arange(HIGHEST + 1.0))[learned.levels_of(classes, senses)]
    distance = np.nan_to_num(np.abs(ratings - expected) * (classes[:, None] != senses))
    row, column = np.nonzero(distance)
    furthest = np.argsort(-distance[row, column], kind="stable")[:_SHOWN]
    row, column = row[furthest], column[furthest]
    names, figures = (names_of(classes[row]), names_of(senses[column])), (ratings[row, column], expected[row, column])
    return [SurprisingPair(*pair) for pair in zip(*names, *(each.tolist() for each in figures), strict=True)]


def _mean(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None
