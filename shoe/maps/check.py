"""Plausibility check of a map: values that no rating can prove wrong, but that a good map would not have."""

from collections.abc import Iterator

import numpy as np

from shoe.core.arrays import Floats, Ints, Mask
from shoe.core.documents import Count, Document, Fraction
from shoe.lexicon.expressions import Part
from shoe.lexicon.store import lexicon, names_of
from shoe.similarity import SimilarityMap
from shoe.similarity.ensemble import HIGHEST
from shoe.similarity.learned import CREDIT_FROM
from shoe.similarity.wordnet import wordnet_values

_CHUNK = 64
_SHOWN = 20
_HIGHEST_RATIO, _LEAST_SHARE = 8, 0.2
"""A class is similar to too many senses if its share is above both this multiple of the median class's, and this."""
_ASYMMETRY = 0.5


class ClassShare(Document, frozen=True):
    """Fraction of senses that a class is similar to: with a rating or predicted rating of at least 0.5, 0 to 4.

    The senses are those in the map's tables, except for hyponyms of the class, which are similar to it by definition.
    """

    synset: str
    share: Fraction


class SurprisingPair(Document, frozen=True):
    """Rated pair whose rating, 0 to 4, is far from the rating expected without it.

    Attributes:
        rating: combined rating.
        expected: prediction for the held-out pair; Wu-Palmer similarity times 4 if the map has no predictions.
    """

    class_synset: str
    synset: str
    rating: float
    expected: float


class PartCheck(Document, frozen=True):
    """Check of the values of one part of speech; a value is the rating of a pair, or else its predicted rating.

    Attributes:
        classes: number of class senses.
        median_share: median over the classes of the fraction of senses that a class is similar to.
        broad_classes: the classes that are similar to the most senses, at most three, highest share first.
        asymmetry: mean absolute difference of the values of two class senses in both directions, 0 to 4.
        hypernyms, siblings: mean value of class senses with their hypernyms and with hyponyms of these, 0 to 4.
        surprising: the rated pairs furthest from expectation.
    """

    classes: Count
    median_share: Fraction
    broad_classes: list[ClassShare]
    asymmetry: float | None
    hypernyms: float | None
    siblings: float | None
    surprising: list[SurprisingPair]

    def problems(self, part: Part) -> Iterator[str]:
        """Yield a line for each value that a good map would not have."""
        for broad in self.broad_classes:
            if broad.share > max(_HIGHEST_RATIO * self.median_share, _LEAST_SHARE):
                found = f"similar to {broad.share:.0%} of the senses; the median class: {self.median_share:.1%}"
                yield f"{part}s: {broad.synset} is {found}"
        if self.asymmetry is not None and self.asymmetry > _ASYMMETRY:
            yield f"{part}s: values of two class senses differ by {self.asymmetry:.2f} of 4 between both directions"
        if self.hypernyms is not None and self.siblings is not None and self.hypernyms < self.siblings:
            yield f"{part}s: hypernyms are less similar ({self.hypernyms:.2f} of 4) than siblings ({self.siblings:.2f})"


class MapCheck(Document, frozen=True):
    """Plausibility check of a map, per part of speech."""

    verbs: PartCheck
    objects: PartCheck

    @property
    def parts(self) -> dict[Part, PartCheck]:
        """Check of the verb pairs and of the object pairs."""
        return {"verb": self.verbs, "object": self.objects}


def check_map(similarity: SimilarityMap) -> MapCheck:
    """Return the plausibility check of a map's ratings and predicted ratings."""
    return MapCheck(_check_part(similarity, "verb"), _check_part(similarity, "object"))


def _check_part(similarity: SimilarityMap, part: Part) -> PartCheck:
    learned, pairs, store = similarity.learned, similarity.tables[part], lexicon()
    classes = learned[part].classes if learned else np.unique(pairs.class_sense)
    senses = np.unique(np.concatenate([learned[part].senses if learned else pairs.sense, pairs.sense, classes]))
    position = {sense: column for column, sense in enumerate(senses.tolist())}
    children: dict[int, list[int]] = {}
    for sense, column in position.items():
        for parent in store.hypernyms(sense).tolist():
            children.setdefault(parent, []).append(column)
    shares: list[float] = []
    above: list[float] = []
    beside: list[float] = []
    surprising: list[SurprisingPair] = []
    for start in range(0, len(classes), _CHUNK):
        chunk = classes[start : start + _CHUNK]
        values, is_rated = _values(similarity, part, chunk, senses)
        for sense, row in zip(chunk.tolist(), values, strict=True):
            kinds = {position[sense]}
            frontier = [sense]
            while frontier:
                columns = [column for of in frontier for column in children.get(of, ()) if column not in kinds]
                kinds.update(columns)
                frontier = senses[columns].tolist()
            shares.append(float((np.delete(row, list(kinds)) >= CREDIT_FROM).mean()))
            parents = store.hypernyms(sense).tolist()
            above += [row[position[parent]] for parent in parents if parent in position]
            beside += row[sorted({column for of in parents for column in children[of]} - {position[sense]})].tolist()
        surprising += _surprising(similarity, part, chunk, senses, np.where(is_rated, values, np.nan))
    surprising.sort(key=lambda pair: -abs(pair.rating - pair.expected))
    both, _ = _values(similarity, part, classes, classes)
    widest = np.argsort(shares)[::-1][:3].tolist()
    return PartCheck(
        len(classes),
        float(np.median(shares)) if shares else 0,
        [ClassShare(store.name(int(classes[row])), shares[row]) for row in widest],
        _mean(np.abs(both - both.T)[~np.eye(len(both), dtype=bool)]),
        _mean(np.array(above)),
        _mean(np.array(beside)),
        surprising[:_SHOWN],
    )


def _values(similarity: SimilarityMap, part: Part, classes: Ints, senses: Ints) -> tuple[Floats, Mask]:
    """Return the (C, S) ratings, or else predicted ratings, 0 to 4, NaN for neither; and the mask of rated pairs."""
    rated, predicted = similarity.values(part, classes, senses), similarity.predicted(part, classes, senses)
    is_rated = ~np.isnan(rated)
    return HIGHEST * (rated if predicted is None else np.where(is_rated, rated, predicted)), is_rated


def _surprising(
    similarity: SimilarityMap, part: Part, classes: Ints, senses: Ints, ratings: Floats
) -> list[SurprisingPair]:
    """Return the pairs of a chunk of classes that are furthest from expectation, from (C, S) ratings or NaN."""
    learned = similarity.learned[part] if similarity.learned else None
    if learned is None:
        expected = HIGHEST * wordnet_values("wup", part, classes, senses)
    else:
        expected = (learned.ratings @ np.arange(HIGHEST + 1.0))[learned.levels_of(classes, senses)]
    row, column = np.nonzero(~np.isnan(ratings) & (classes[:, None] != senses))
    furthest = np.argsort(-np.abs(ratings - expected)[row, column], kind="stable")[:_SHOWN]
    row, column = row[furthest], column[furthest]
    names = zip(names_of(classes[row]), names_of(senses[column]), strict=True)
    figures = zip(ratings[row, column].tolist(), expected[row, column].tolist(), strict=True)
    return [SurprisingPair(*name, *figure) for name, figure in zip(names, figures, strict=True)]


def _mean(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None
