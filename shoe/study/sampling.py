"""Sampling of interaction pairs for a study, and the expected precision of the study."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shoe.benchmarks.classes import HoiClasses
from shoe.benchmarks.scoring_options import SemanticOptions
from shoe.core.arrays import Floats, Indices, Ints, random_numbers
from shoe.core.errors import OptionError
from shoe.lexicon.senses import POS, Part
from shoe.lexicon.store import names_of
from shoe.maps.complete import bound_score
from shoe.maps.influence import width_per_match
from shoe.scoring.evidence.bounds import OPTIONS
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.matching.task import Task
from shoe.similarity import Similarity, combine
from shoe.similarity.ensemble import HIGHEST, MISSING, Ratings
from shoe.similarity.unrated import ImputedBase
from shoe.study.agreement import Figure
from shoe.study.analysis import agreement_of
from shoe.study.ratings import StudyRatings

Senses = tuple[str, str, str, str]
"""WordNet names of the verb and object of a class, then of the verb and object of a prediction."""


class Influential(NamedTuple):
    """N distinct pairs of a class and a predicted interaction, whose similarity may influence SHOE-mAP.

    Attributes:
        words: verb and object of the class, and verb and object as predicted.
        influence: (N,) fraction of the uncertainty of SHOE-mAP that is due to each pair if no pair is rated, averaged
            over prediction files.
        similarity: (N,) similarity by the map, 0..1.
    """

    senses: list[Senses]
    words: list[tuple[tuple[str, str], tuple[str, str]]]
    influence: Floats
    similarity: Floats


@dataclass(frozen=True, slots=True)
class EmptyMap(ImputedBase):
    """An empty map, which only knows the similarity of a sense to itself."""

    source: Similarity
    name: str = "nothing rated"

    def values(self, part: Part, class_senses: Ints, senses: Ints) -> Floats:
        """Return the (C, S) similarities: those of ``source`` for a sense with itself, NaN for other pairs."""
        return np.where(class_senses[:, None] == senses, self.source.values(part, class_senses, senses), np.nan)


def influential(tasks: Sequence[Task], similarity: Similarity) -> Influential:
    """Return the pairs whose matches affect SHOE-mAP, with the influence by which ``shoe map complete`` ranks pairs.

    Pairs of equal senses, or with a word without a sense, are left out. ``tasks`` have the same ground truth. Raise
    InputError if a score cannot be measured, and OptionError if no score depends on the similarity of any pair.
    """
    pairs: dict[Senses, list[float]] = {}
    words: dict[Senses, tuple[tuple[str, str], tuple[str, str]]] = {}
    for task in tasks:
        looked = bound_score(EmptyMap(similarity), task)
        if looked.open_score is None:
            continue
        truth, row, share = width_per_match(looked.open_score, looked.precisions)
        classes, table = task.truth.classes, task.predictions
        cells = np.stack([looked.open_score.scorer.hoi[truth], table.verb[row], table.object[row]])
        (hoi, verb, object_), at = np.unique(cells, axis=1, return_inverse=True)
        influence = np.bincount(at.ravel(), weights=share, minlength=len(hoi))
        known = HoiSimilarity.from_task(task, similarity, OPTIONS)
        verb_row, object_row, values = known.verb_row[hoi], known.object_row[hoi], known.sigma(hoi, verb, object_)
        predicted = known.verbs.sense[verb_row, verb], known.objects.sense[object_row, object_]
        senses = np.stack([known.verb_senses[verb_row], known.object_senses[object_row], *predicted])
        rows = np.flatnonzero((senses >= 0).all(axis=0) & (senses[:2] != senses[2:]).any(axis=0))
        rows = rows[np.argsort(-influence[rows], kind="stable")]
        for k, a, x, b, y in zip(rows.tolist(), *(names_of(column[rows]) for column in senses), strict=True):
            of = classes.verbs[classes.verb[hoi[k]]], classes.objects[classes.object[hoi[k]]]
            words.setdefault((a, x, b, y), (of, (table.verbs[verb[k]], table.objects[object_[k]])))
            pairs.setdefault((a, x, b, y), [0.0, float(values[k])])[0] += float(influence[k]) / len(tasks)
    if not pairs:
        raise OptionError("--for: no pair of different interactions affects SHOE-mAP of these files: give other files")
    return Influential(list(pairs), list(words.values()), *np.array(list(pairs.values())).T)


DIFFERS = ("verb", "object", "both")
Strata = dict[tuple[str, int], tuple[int, int]]
"""Number of pairs available and drawn, by differing part and similarity level."""
_STREAM, _INFLUENCE_STREAM = 7 << 28, (7 << 28) + (4 << 20)
_EVEN = 0.2  # fraction of draws that ignores influence; it bounds the weights of drawn pairs


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Sample of n pairs of classes.

    Attributes:
        a, b: (n,) class indices; ``a`` is compared as the ground truth, ``b`` as the prediction.
        differs: (n,) words in which the classes differ, as index into ``DIFFERS``.
        level: (n,) similarity by the map, rounded to a rating level 0..4.
    """

    a: Indices
    b: Indices
    differs: Indices
    level: Indices
    strata: Strata

    @property
    def weight(self) -> Floats:
        """(n,) number of class pairs in the population that each drawn pair represents."""
        cells = zip(self.differs.tolist(), self.level.tolist(), strict=True)
        return np.array([there / drawn for there, drawn in (self.strata[DIFFERS[d], level] for d, level in cells)])


def similarities_of(classes: HoiClasses, similarity: Similarity) -> Floats:
    """Return the (K, K) similarity of all pairs of interaction classes; NaN if unknown."""
    values = []
    for part, senses in zip(POS, (classes.verb_synsets, classes.object_synsets), strict=True):
        names = sorted(set(senses) - {""})
        table = np.full((len(names) + 1, len(names) + 1), np.nan)
        table[:-1, :-1] = similarity.between(part, names, names)
        at = [names.index(name) if name else -1 for name in senses]
        values.append(table[np.ix_(at, at)])
    return combine(values[0], values[1], SemanticOptions().combine, SemanticOptions().weight)


def draw(classes: HoiClasses, similarity: Similarity, items: int, seed: int) -> Sample:
    """Return a random sample of ``items`` pairs of different classes, as evenly over strata as their sizes allow.

    A stratum is defined by the differing part (verb, object or both) and one similarity level (SHOE supplement,
    sections 5 and 6.1). Pairs of unknown similarity are left out. Raise OptionError for fewer pairs than items.
    """
    values = similarities_of(classes, similarity)
    same_verb, same_object = classes.verb[:, None] == classes.verb, classes.object[:, None] == classes.object
    a, b = np.nonzero(~np.isnan(values) & ~(same_verb & same_object) & ~np.eye(len(classes), dtype=bool))
    differs = np.where(same_object[a, b], 0, np.where(same_verb[a, b], 1, 2))
    level = np.rint(values[a, b] * HIGHEST).astype(np.int64)
    if len(a) < items:
        raise OptionError(f"items: found {items}, expected at most {len(a)}, the number of pairs of classes")
    stratum = differs * (HIGHEST + 1) + level
    order = np.lexsort((random_numbers(_STREAM + seed, (len(a),)), stratum))
    sizes = np.bincount(stratum, minlength=len(DIFFERS) * (HIGHEST + 1))
    taken, starts = _spread(sizes, items), np.cumsum(sizes) - sizes
    rows = np.sort(np.concatenate([order[start : start + n] for start, n in zip(starts, taken, strict=True)]))
    cells = ((s, *divmod(s, HIGHEST + 1)) for s in np.flatnonzero(sizes).tolist())
    strata = {(DIFFERS[part], level_of): (int(sizes[s]), int(taken[s])) for s, part, level_of in cells}
    return Sample(a[rows], b[rows], differs[rows], level[rows], strata)


def probabilities(influence: Floats, items: int) -> Floats:
    """Return (N,) inclusion probabilities of at most 1: one fifth uniform, four fifths proportional to influence.

    Raise OptionError if there are fewer pairs than items.
    """
    if (number := len(influence)) < items:
        raise OptionError(f"items: found {items}, expected at most {number}, the number of pairs that affect the score")
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
    """Return ascending indices of a systematic sample (Madow 1949) of a shuffled population.

    The sum of the (N,) inclusion probabilities is the sample size.
    """
    *places, start = random_numbers(_INFLUENCE_STREAM + seed, (len(probability) + 1,))
    order = np.argsort(places, kind="stable")
    line = np.cumsum(probability[order])
    line *= round(line[-1]) / line[-1]  # remove rounding errors
    return np.sort(order[np.diff(np.floor(line - float(start) / 2**64), prepend=-1) > 0])


def _spread(sizes: Indices, items: int) -> Indices:
    """Return the number of items per stratum, as even as sizes allow; larger strata get the remaining items."""
    taken = np.zeros_like(sizes)
    while (left := items - int(taken.sum())) > 0:
        free = np.flatnonzero(sizes > taken)
        each = max(1, left // len(free))
        largest = free[np.argsort(-(sizes - taken)[free], kind="stable")][: max(1, left if each == 1 else len(free))]
        taken[largest] += np.minimum(sizes[largest] - taken[largest], each)
    return taken


BIAS, NOISE, NOISE_SPREAD, MEASURE_NOISE = 0.35, 0.9, 0.25, 1.0
"""Bias and noise of simulated raters (scale 0..4), set to match the mean pairwise kappa of .59 in the supplement."""
ITEM_SPREAD, ITEM_MEAN = 1.5, 1.6


class Precision(NamedTuple):
    """Ordinal alpha of a study, Spearman correlation of a measure with mean ratings, and half widths of intervals."""

    alpha: float
    alpha_reach: float
    rho: float
    rho_reach: float


def expected(items: int, raters: int, studies: int = 8) -> Precision | None:
    """Return the mean precision of ``studies`` simulated studies; None if it is undefined (one rater)."""
    found = [agreement_of(simulated(items, raters, seed), items_alone=False) for seed in range(studies)]
    alpha = _mean([each.alpha["ordinal"] for each in found])
    rho = _mean([each.reference.spearman for each in found if each.reference])
    return Precision(*alpha, *rho) if alpha and rho else None


def _mean(figures: list[Figure]) -> tuple[float, ...] | None:
    """Return the mean value and the mean half width of intervals, or None if no interval is defined."""
    known = [(f.value, (f.interval[1] - f.interval[0]) / 2) for f in figures if f.value is not None and f.interval]
    return tuple(np.mean(known, axis=0).tolist()) if known else None


def simulated(items: int, raters: int, seed: int) -> StudyRatings:
    """Return a simulated study with random similarities, raters and reference measure."""
    rng = np.random.default_rng(seed)
    true = rng.normal(ITEM_MEAN, ITEM_SPREAD, items)
    return study_of(simulated_ratings(true, raters, rng), simulated_measure(true, rng))


def simulated_ratings(true: Floats, raters: int, rng: np.random.Generator) -> Ratings:
    """Return (N, R) ratings of items with the (N,) ``true`` values, by raters with random biases and noise levels."""
    bias, noise = rng.normal(0, BIAS, raters), NOISE * np.exp(rng.normal(0, NOISE_SPREAD, raters))
    seen = true[:, None] + bias + noise * rng.standard_normal((len(true), raters))
    return np.clip(np.rint(seen), 0, HIGHEST).astype(np.int8)


def simulated_measure(true: Floats, rng: np.random.Generator) -> Floats:
    """Return (N,) values 0..1 of a noisy measure of items with the (N,) true ratings ``true``."""
    return np.asarray(1 / (1 + np.exp(ITEM_MEAN - true + rng.normal(0, MEASURE_NOISE, len(true)))))


def study_of(first: Ratings, reference: Floats) -> StudyRatings:
    """Return a study of (N, R) ratings and an (N,) reference measure, without further data."""
    items, raters = (tuple(map(str, range(number))) for number in first.shape)
    none: Ratings = np.full(first.shape, MISSING, np.int8)
    seconds, gold = np.full(first.shape, np.nan), np.full(len(items), MISSING, np.int8)
    return StudyRatings(items, raters, first, none, none, seconds, ("",) * len(items), reference, gold)
