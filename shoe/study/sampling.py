"""Which pairs of interactions a study asks about, and how precise the study will be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shoe.benchmarks.classes import HoiClasses
from shoe.benchmarks.protocol_options import SemanticOptions
from shoe.core.arrays import Floats, Indices, Ints, random_numbers
from shoe.core.errors import OptionError
from shoe.lexicon.expressions import Part
from shoe.lexicon.store import names_of
from shoe.maps.complete import OPTIONS, look_at
from shoe.maps.influence import on_matches
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.matching.task import Task
from shoe.similarity import Similarity, combine
from shoe.similarity.ensemble import HIGHEST, MISSING, Ratings
from shoe.similarity.unrated import Filled
from shoe.study.agreement import Figure
from shoe.study.analysis import agreement_of
from shoe.study.ratings import StudyRatings

# Which pairs of interactions a score of given predictions depends on, and how much.

Senses = tuple[str, str, str, str]
"""WordNet names of verb and object of the class, and of the prediction."""


@dataclass(frozen=True, slots=True, eq=False)
class Influential:
    """N distinct pairs of a class and a predicted interaction whose similarity a score depends on.

    Attributes:
        words: verb and object of the class, and as they were predicted.
        influence: (N,) share of what SHOE-mAP would leave open were nothing rated; the mean over prediction files.
        similarity: (N,) under the map, 0..1.
    """

    senses: list[Senses]
    words: list[tuple[tuple[str, str], tuple[str, str]]]
    influence: Floats
    similarity: Floats


@dataclass(frozen=True, slots=True)
class Nothing(Filled):
    """A map as if nobody had rated anything: only a sense and itself are known to be the same."""

    source: Similarity
    name: str = "nothing rated"

    def values(self, part: Part, class_senses: Ints, senses: Ints) -> Floats:
        """Look up C class senses against S senses; see :class:`~shoe.similarity.Similarity`."""
        known = self.source.values(part, class_senses, senses)
        found: Floats = np.where(class_senses[:, None] == senses, known, np.nan)
        return found


def influential(tasks: Sequence[Task], similarity: Similarity) -> Influential:
    """Find the pairs that may be matched, and what of SHOE-mAP rests on each, were nothing rated.

    It is what ``shoe map complete`` would go by, were the map empty.

    Args:
        tasks: predictions of one or more models beside the same ground truth.
        similarity: says which sense of a predicted word is meant.

    Raises:
        InputError: if a score cannot be measured.
        OptionError: if no score depends on how similar anything is.
    """
    pairs: dict[Senses, list[float]] = {}
    words: dict[Senses, tuple[tuple[str, str], tuple[str, str]]] = {}
    for task in tasks:
        looked = look_at(Nothing(similarity), task)
        if looked.open_score is None:
            continue
        truth, row, share = on_matches(looked.open_score, looked.today)
        classes, table = task.truth.classes, task.predictions
        cells = np.stack([looked.open_score.scorer.hoi[truth], table.verb[row], table.object[row]])
        (hoi, verb, object_), at = np.unique(cells, axis=1, return_inverse=True)
        influence = np.bincount(at.ravel(), weights=share, minlength=len(hoi))
        known = HoiSimilarity.of(task, similarity, OPTIONS)
        verb_row, object_row = known.verb_row[hoi], known.object_row[hoi]
        of_class = known.verb_senses[verb_row], known.object_senses[object_row]
        predicted = known.verbs.sense[verb_row, verb], known.objects.sense[object_row, object_]
        senses, values = np.stack([*of_class, *predicted]), known.sigma(hoi, verb, object_)
        rows = np.flatnonzero((senses >= 0).all(axis=0) & (senses[:2] != senses[2:]).any(axis=0))
        rows = rows[np.argsort(-influence[rows], kind="stable")]
        names = [names_of(column[rows]) for column in senses]
        for k, a, x, b, y in zip(rows.tolist(), *names, strict=True):
            of = classes.verbs[classes.verb[hoi[k]]], classes.objects[classes.object[hoi[k]]]
            words.setdefault((a, x, b, y), (of, (table.verbs[verb[k]], table.objects[object_[k]])))
            pair = pairs.setdefault((a, x, b, y), [0.0, float(values[k])])
            pair[0] += float(influence[k]) / len(tasks)
    if not pairs:
        raise OptionError("for: found predictions whose SHOE-mAP depends on no pair of interactions, expected some")
    of_pairs, similarities = np.array(list(pairs.values())).T
    return Influential(list(pairs), list(words.values()), of_pairs, similarities)


DIFFERS = ("verb", "object", "both")
Strata = dict[tuple[str, int], tuple[int, int]]
"""By what differs and the level of similarity under the map: how many pairs there are, and were drawn."""
_STREAM, _INFLUENCE_STREAM = 7 << 28, (7 << 28) + (4 << 20)
_EVEN = 0.2
"""Share of the draws that goes by no influence, so that no pair stands for very many."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Pairs of classes.

    Attributes:
        a, b: (n,) classes, ``a`` the one that stands for the ground truth.
        differs: (n,) index into ``DIFFERS``.
        level: (n,) similarity under the map, 0..4, rounded.
        strata: where they were drawn from.
    """

    a: Indices
    b: Indices
    differs: Indices
    level: Indices
    strata: Strata

    @property
    def weight(self) -> Floats:
        """(n,) how many pairs of classes each stands for."""
        cells = zip(self.differs.tolist(), self.level.tolist(), strict=True)
        return np.array([there / drawn for there, drawn in (self.strata[DIFFERS[d], level] for d, level in cells)])


def similarities_of(classes: HoiClasses, similarity: Similarity) -> Floats:
    """(K, K) similarity of the senses of any two classes; NaN where nothing is known, or a class has no sense."""
    values = []
    senses_of: dict[Part, tuple[str, ...]] = {"verb": classes.verb_synsets, "object": classes.object_synsets}
    for part, senses in senses_of.items():
        names = sorted(set(senses) - {""})
        table = np.full((len(names) + 1, len(names) + 1), np.nan)
        table[:-1, :-1] = similarity.between(part, names, names)
        at = [names.index(name) if name else -1 for name in senses]
        values.append(table[np.ix_(at, at)])
    options = SemanticOptions()
    return combine(values[0], values[1], options.combine, options.weight)


def draw(classes: HoiClasses, similarity: Similarity, items: int, seed: int) -> Sample:
    """Draw pairs of different classes, as many of each stratum as of the others, as far as it has them.

    A stratum has pairs that differ in verb, object or both, and one level of similarity (SHOE supplement, sections 5
    and 6.1). The draw follows from the seed alone.

    Raises:
        OptionError: if there are fewer pairs than items.
    """
    values = similarities_of(classes, similarity)
    same_verb = classes.verb[:, None] == classes.verb
    same_object = classes.object[:, None] == classes.object
    a, b = np.nonzero(~np.isnan(values) & ~(same_verb & same_object) & ~np.eye(len(classes), dtype=bool))
    differs = np.where(same_object[a, b], 0, np.where(same_verb[a, b], 1, 2))
    level = np.rint(values[a, b] * HIGHEST).astype(np.int64)
    if len(a) < items:
        raise OptionError(f"items: found {items}, expected at most {len(a)}, the pairs of classes that there are")
    stratum = differs * (HIGHEST + 1) + level
    order = np.lexsort((random_numbers(_STREAM + seed, (len(a),)), stratum))
    sizes = np.bincount(stratum, minlength=len(DIFFERS) * (HIGHEST + 1))
    taken = _spread(sizes, items)
    starts = np.cumsum(sizes) - sizes
    rows = np.sort(np.concatenate([order[start : start + n] for start, n in zip(starts, taken, strict=True)]))
    strata = {
        (DIFFERS[s // (HIGHEST + 1)], s % (HIGHEST + 1)): (int(sizes[s]), int(taken[s]))
        for s in np.flatnonzero(sizes).tolist()
    }
    return Sample(a[rows], b[rows], differs[rows], level[rows], strata)


def probabilities(influence: Floats, items: int) -> Floats:
    """(N,) probability with which each pair is drawn: a fifth of the draws evenly, the rest in proportion to influence.

    A pair whose share would be above 1 is drawn for certain, and the others share what is left.

    Raises:
        OptionError: if there are fewer pairs than items.
    """
    number = len(influence)
    if number < items:
        raise OptionError(f"items: found {items}, expected at most {number}, the pairs that the score depends on")
    size = _EVEN / number + (1 - _EVEN) * influence / (influence.sum() or 1)
    found, certain = np.ones(number), np.zeros(number, bool)
    while not certain.all():
        found[~certain] = size[~certain] * ((items - certain.sum()) / size[~certain].sum())
        if not (above := ~certain & (found > 1 - 1e-12)).any():
            break
        certain |= above
        found[certain] = 1
    return found


def draw_by(probability: Floats, seed: int) -> Indices:
    """Draw so many pairs as probabilities add up to, each with its own: every so far on a line of pairs put at random.

    Systematic sampling (Madow 1949) of a shuffled population; rows ascend.
    """
    number = len(probability)
    *places, start = random_numbers(_INFLUENCE_STREAM + seed, (number + 1,))
    order = np.argsort(places, kind="stable")
    line = np.cumsum(probability[order])
    line *= round(line[-1]) / line[-1]  # what rounding left
    marks = np.floor(line - float(start) / 2**64)
    return np.sort(order[np.diff(marks, prepend=-1) > 0])


def _spread(sizes: Indices, items: int) -> Indices:
    """How many of each stratum: as even as their sizes allow, what is left over to the larger ones."""
    taken = np.zeros_like(sizes)
    while (left := items - int(taken.sum())) > 0:
        free = np.flatnonzero(sizes > taken)
        each = max(1, left // len(free))
        largest = free[np.argsort(-(sizes - taken)[free], kind="stable")][: max(1, left if each == 1 else len(free))]
        taken[largest] += np.minimum(sizes[largest] - taken[largest], each)
    return taken


# How precise a study will be, by simulated raters of different bias and noise.

BIAS, NOISE, NOISE_SPREAD, MEASURE_NOISE = 0.35, 0.9, 0.25, 1.0
"""Of raters, on the scale 0..4: as far apart as the supplement's, whose mean pairwise kappa is .59."""
ITEM_SPREAD, ITEM_MEAN = 1.5, 1.6


class Precision(NamedTuple):
    """Means over simulated studies.

    Attributes:
        alpha, alpha_reach: Krippendorff's ordinal alpha, and half the width of its interval.
        rho, rho_reach: likewise the correlation of a measure with the mean ratings.
    """

    alpha: float
    alpha_reach: float
    rho: float
    rho_reach: float


def expected(items: int, raters: int, studies: int = 8) -> Precision | None:
    """Simulate some studies of a size; None for one that has no intervals, as with one rater."""
    found = [agreement_of(simulated(items, raters, seed), items_alone=False) for seed in range(studies)]
    alpha = _mean([each.alpha["ordinal"] for each in found])
    rho = _mean([each.reference.spearman for each in found if each.reference])
    return Precision(*alpha, *rho) if alpha and rho else None


def _mean(figures: list[Figure]) -> tuple[float, float] | None:
    """Mean value and half width of the figures that have both."""
    known = [
        (figure.value, (figure.interval[1] - figure.interval[0]) / 2)
        for figure in figures
        if figure.value is not None and figure.interval is not None
    ]
    if not known:
        return None
    value, reach = np.mean(known, axis=0).tolist()
    return value, reach


def simulated(items: int, raters: int, seed: int) -> StudyRatings:
    """Simulate a study: true similarities, raters that see them through bias and noise, and a measure of them."""
    rng = np.random.default_rng(seed)
    true = rng.normal(ITEM_MEAN, ITEM_SPREAD, items)
    return study_of(simulated_ratings(true, raters, rng), simulated_measure(true, rng))


def simulated_ratings(true: Floats, raters: int, rng: np.random.Generator) -> Ratings:
    """Return (N, R) ratings of items by raters, each with a bias and a noise of its own."""
    bias, noise = rng.normal(0, BIAS, raters), NOISE * np.exp(rng.normal(0, NOISE_SPREAD, raters))
    seen = true[:, None] + bias + noise * rng.standard_normal((len(true), raters))
    return np.clip(np.rint(seen), 0, HIGHEST).astype(np.int8)


def simulated_measure(true: Floats, rng: np.random.Generator) -> Floats:
    """Return (N,) values 0..1 of a noisy measure of the items."""
    measured: Floats = 1 / (1 + np.exp(ITEM_MEAN - true + rng.normal(0, MEASURE_NOISE, len(true))))
    return measured


def study_of(first: Ratings, reference: Floats) -> StudyRatings:
    """Make a study of (N, R) first ratings and a reference, without names, repeats and gold items."""
    items, raters = first.shape
    none: Ratings = np.full((items, raters), MISSING, np.int8)
    return StudyRatings(
        items=tuple(map(str, range(items))),
        raters=tuple(map(str, range(raters))),
        first=first,
        again=none,
        picture=none,
        seconds=np.full(none.shape, np.nan),
        part=("",) * items,
        reference=reference,
        gold=np.full(items, MISSING, np.int8),
    )
