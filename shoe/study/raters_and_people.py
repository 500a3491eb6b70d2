"""Comparison of a map's raters with people: in a common rater model, and by ensembles of raters."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from msgspec import Meta

from shoe.benchmarks.scoring_options import SemanticOptions
from shoe.core.arrays import Floats, Mask
from shoe.core.documents import Count, Document, Fraction
from shoe.core.errors import InputError, OptionError, quote
from shoe.core.io.files import read_bytes
from shoe.core.io.spreadsheets import delimited_rows
from shoe.core.statistics import nearest_measures, spearman
from shoe.lexicon.senses import POS, Part
from shoe.lexicon.store import lexicon
from shoe.maps.ablate import LEAST_SHARE, MOST_RATERS
from shoe.maps.config import Backend, RaterConfig, setting
from shoe.maps.human_ratings import HumanRatings, read_human_ratings
from shoe.maps.prompts import Prompts
from shoe.maps.raters import local
from shoe.maps.raters.table import Rows
from shoe.similarity import Similarity, SimilarityMap, combine, load_similarity
from shoe.similarity.ensemble import HIGHEST, MISSING
from shoe.study.agreement import mean_ratings
from shoe.study.ratings import SENSES, StudyRatings, read_study

_LEAST_NOISE = 0.05  # without a lower bound, the EM estimate could collapse onto a single rater


class RaterModel(NamedTuple):
    """Rater model: rating of item i by rater j = item[i] + bias[j] + normal noise with deviation noise[j].

    The true ratings ``item`` (N,) are 0..4, or NaN if no person rated the item; bias and noise are (R,).
    """

    item: Floats
    bias: Floats
    noise: Floats


def rater_model(values: Floats, anchors: int, weight: Floats | None = None) -> RaterModel:
    """Estimate true ratings of items, and bias and noise of each rater, by EM; true ratings are normally distributed.

    They are estimated from people only, because raters of a map make similar errors.

    Args:
        values: (N, R) ratings 0..4, NaN if missing. Every rater rated at least one item that people rated.
        anchors: number of people; their ratings are the first columns.
        weight: (N,) item weights for estimating bias and noise, or None for equal weights.
    """
    given: Mask = ~np.isnan(values)
    known: Mask = np.logical_or.reduce(given[:, :anchors], axis=1)
    given &= known[:, None]
    counts = given if weight is None else given * weight[:, None]
    values, number = np.where(given, values, 0), counts.sum(axis=0)
    # The uncertainty of an item lowers the residuals of people, whose ratings estimate it, and raises those of others.
    sign = np.where(np.arange(values.shape[1]) < anchors, 1, -1)
    bias, variance = np.zeros(values.shape[1]), np.ones(values.shape[1])
    mean, spread = float(values[given].mean()), max(float(values[given].var()), _LEAST_NOISE**2)
    item, before = np.full(len(values), mean), -np.inf
    for _ in range(500):
        each = (given / variance)[:, :anchors]
        precision = 1 / spread + each.sum(axis=1)
        item = (mean / spread + (each * (values - bias)[:, :anchors]).sum(axis=1)) / precision
        bias = (counts * (values - item[:, None])).sum(axis=0) / number
        bias = bias - bias[:anchors].mean()
        off = counts * ((values - bias - item[:, None]) ** 2 + sign / precision[:, None])
        variance = np.maximum(off.sum(axis=0) / number, _LEAST_NOISE**2)
        of_known = None if weight is None else weight[known]
        mean = float(np.average(item[known], weights=of_known))
        spread = float(np.average(((item - mean) ** 2 + 1 / precision)[known], weights=of_known))
        now = float(np.log(variance).sum() + np.log(spread) + bias @ bias)
        if abs(now - before) < 1e-9:
            break
        before = now
    return RaterModel(np.where(known, item, np.nan), bias, np.sqrt(variance))


def with_map(study: StudyRatings, name_or_folder: str, source: Path) -> StudyRatings:
    """Return a copy of the study in which ``reference`` is a map's similarity of the two interactions of each item.

    Raise InputError, with the file ``source``, for items that are not named by four senses of WordNet 3.0, and
    OptionError for a map that does not exist.
    """
    return replace(study, reference=similarity_of_items(study, load_similarity(name_or_folder), source))


def similarity_of_items(study: StudyRatings, similarity: Similarity, source: Path) -> Floats:
    """Return the (N,) similarity 0..1 of each item's two interactions, NaN if unknown."""
    senses, values = _senses(study, source), []
    for at, part in enumerate(POS):
        ours, theirs = [sorted({named[column] for named in senses}) for column in (at, at + 2)]
        table = similarity.between(part, ours, theirs)
        values.append(table[[ours.index(of[at]) for of in senses], [theirs.index(of[at + 2]) for of in senses]])
    return combine(values[0], values[1], SemanticOptions().combine, SemanticOptions().weight)


def read_people(path: Path) -> list[HumanRatings]:
    """Read human ratings from the table of a study, or from a table that :func:`read_human_ratings` reads.

    For a study, the mean of the first ratings of each item is used, without gold items and ratings with images. Raise
    InputError for an invalid table, or items of a study that are not named by four senses.
    """
    if "rater" not in delimited_rows(path)[0]:
        return read_human_ratings(path)
    study = read_study(path)
    study = study.of_items(study.measured & ~np.isnan(mean_ratings(study.first)))
    if not study.items:
        raise InputError(path, found="ratings of gold items only", expected="ratings of items other than gold items")
    senses = np.array([[lexicon().synset(name) for name in named] for named in _senses(study, path)], np.int32)
    values, lines = mean_ratings(study.first) / HIGHEST, int((study.first != MISSING).sum())
    return [HumanRatings("interactions", {"verb": senses[:, ::2], "object": senses[:, 1::2]}, values, lines)]


def _senses(study: StudyRatings, source: Path) -> list[list[str]]:
    def is_sense(name: str, part: Part) -> bool:
        synset = lexicon().synset(name)
        return synset >= 0 and lexicon().pos(synset) == POS[part]

    senses = [item.split(" ") for item in study.items]
    for item, named in zip(study.items, senses, strict=True):
        if len(named) != len(SENSES) or not all(map(is_sense, named, (*POS, *POS))):
            expected = "two verbs and two nouns of WordNet 3.0, such as ride.v.01 horse.n.01 sit.v.01 chair.n.01"
            raise InputError(source, record=f"item {quote(item)}", found="names that are not senses", expected=expected)
    return senses


class RatedRater(Document, frozen=True):
    """A person or a similarity map's rater, with parameters of a model of raters.

    Attributes:
        person: True for a person, False for a map's rater.
        bias, noise: mean and standard deviation of differences from true ratings, as estimated from people, in points.
        rho: Spearman's correlation with the mean of the people; a person is compared with the other people.
    """

    name: str
    person: bool
    bias: float
    noise: float
    rho: Annotated[float, Meta(le=1)] | None = None


class Ensemble(Document, frozen=True):
    """A subset of a similarity map's raters, whose combined ratings are compared with people's ratings.

    Attributes:
        raters: names of the raters.
        agreement: 1 - mean absolute difference from people's mean ratings, see :class:`shoe.study.analysis.Reference`.
        among_best: whether the ensemble is in the simultaneous 95 % confidence set of best ensembles.
    """

    raters: tuple[str, ...]
    agreement: Fraction
    among_best: bool


class PeopleAndRaters(Document, frozen=True):
    """Comparison of people with a similarity map's raters.

    Attributes:
        items: number of items used in the comparison.
        raters: all raters, people first.
        ensembles: all subsets of the map's raters, by descending agreement with people.
        left_out: map raters excluded because they rated fewer than half of the items.
    """

    items: Count
    raters: list[RatedRater]
    ensembles: list[Ensemble]
    left_out: list[str]


def beside_people(study: StudyRatings, name_or_folder: str, source: Path) -> PeopleAndRaters | None:
    """Return the comparison of each rater of a similarity map, and of each ensemble of these raters, with people.

    Raters that rated less than half of the items are left out. Return None if no rater remains (or the measure has no
    raters), or if fewer than two items are rated by people and by all remaining raters. Raise InputError for items that
    are not named by four senses, and OptionError if more than 10 raters remain, because there are too many ensembles.
    """
    similarity = load_similarity(name_or_folder)
    if not isinstance(similarity, SimilarityMap):
        return None
    names, people = [rater.name for rater in similarity.raters], mean_ratings(study.first)
    alone = [similarity_of_items(study, similarity.with_raters((j,)), source) for j in range(len(names))]
    part = [j for j, values in enumerate(alone) if (~np.isnan(values)).mean() >= LEAST_SHARE]
    if len(part) > MOST_RATERS:
        found, expected = f"{len(part)} raters", f"at most {MOST_RATERS} to try all ensembles"
        raise OptionError(f"{name_or_folder}: found {found}, expected {expected}")
    keep = ~np.isnan([alone[j] for j in part]).any(axis=0) & ~np.isnan(people)
    if not part or keep.sum() < 2:
        return None
    subsets = [chosen for size in range(1, len(part) + 1) for chosen in combinations(part, size)]
    values = [similarity_of_items(study, similarity.with_raters(chosen), source)[keep] for chosen in subsets]
    compared = study.of_items(keep)
    weight = None if compared.weights is None else compared.weights.select(np.arange(len(compared.items)))
    raters = _placed(compared, weight, [names[j] for j in part], np.stack(values[: len(part)], axis=1) * HIGHEST)
    ensembles = ensembles_of(names, subsets, np.stack(values, axis=1), people[keep] / HIGHEST, weight)
    return PeopleAndRaters(int(keep.sum()), raters, ensembles, [names[j] for j in range(len(names)) if j not in part])


def _placed(study: StudyRatings, weight: Floats | None, names: list[str], of_map: Floats) -> list[RatedRater]:
    ratings = np.where(study.first == MISSING, np.nan, study.first)
    rated = np.flatnonzero(~np.isnan(ratings).all(axis=0))
    values = np.concatenate([ratings[:, rated], of_map], axis=1)
    model, placed = rater_model(values, len(rated), weight), []
    for j, name in enumerate([*(study.raters[j] for j in rated), *names]):
        others = mean_ratings(np.delete(study.first[:, rated], j, axis=1) if j < len(rated) else study.first)
        both = ~np.isnan(values[:, j]) & ~np.isnan(others)
        rho = spearman(values[both, j], others[both], None if weight is None else weight[both])
        placed.append(RatedRater(name, j < len(rated), float(model.bias[j]), float(model.noise[j]), rho))
    return placed


def ensembles_of(
    names: list[str], subsets: list[tuple[int, ...]], values: Floats, people: Floats, weight: Floats | None = None
) -> list[Ensemble]:
    """Return all ensembles, with agreement and whether each may be the best (95 % confidence set), best first.

    ``subsets`` are K subsets of indices into ``names``. ``values`` (N, K) and ``people`` (N,) are similarities 0..1 of
    the items by each ensemble and by people; ``weight`` (N,) are item weights, or None for equal weights.
    """
    agreement, among_best = nearest_measures(1 - np.abs(values - people[:, None]), weight)
    order = np.argsort(-agreement, kind="stable")
    return [Ensemble(tuple(names[j] for j in subsets[k]), float(agreement[k]), bool(among_best[k])) for k in order]


class People(RaterConfig, frozen=True, kw_only=True):
    """ratings by people in a study: the mean of all first ratings, or the first ratings of one person.

    Items that name two interactions answer questions about whole interactions; items that name two senses
    ("ride.v.01 straddle.v.01"), about pairs of senses.
    """

    kind: ClassVar[str] = "people"
    prompted: ClassVar[bool] = False
    interactions: ClassVar[bool] = True

    model: str = "people"
    file: Annotated[Path, setting("table of answers of the study", key=False)]
    person: Annotated[str, setting("person whose ratings are used; if absent, the mean of all, rounded half up")] = ""

    def backend(self, prompts: Prompts) -> Backend:
        """Return the rater, which does not use ``prompts``; OptionError or InputError for invalid settings or table."""
        local.check(self)
        study = self._study()
        means = zip(study.items, mean_ratings(study.first).tolist(), strict=True)
        return Rows({self._pair(item): int(mean + 0.5) for item, mean in means if not np.isnan(mean)})

    def identity(self) -> Mapping[str, Any]:
        """Return {"content": SHA-256 of the table, "people": number of people whose ratings are used}."""
        people = int((self._study().first >= 0).any(axis=0).sum())
        return {"content": hashlib.sha256(read_bytes(self.file)).hexdigest(), "people": people}

    def _study(self) -> StudyRatings:
        study = read_study(self.file)
        if self.person and self.person not in study.raters:
            expected = "one of " + ", ".join(study.raters[:5]) + (", ..." if len(study.raters) > 5 else "")
            raise InputError(self.file, field="person", found=quote(self.person), expected=expected)
        chosen = np.array([self.person in ("", rater) for rater in study.raters])
        return study.of_items(study.measured).of_raters(chosen)

    def _pair(self, item: str) -> tuple[str, str]:
        synsets = [lexicon().synset(name) for name in item.split(" ")]
        if len(synsets) not in (2, 4) or min(synsets) < 0:
            expected = "two WordNet 3.0 senses, or two interactions, such as ride.v.01 horse.n.01 sit.v.01 chair.n.01"
            record, found = f"item {quote(item)}", "names that are not senses"
            raise InputError(self.file, record=record, found=found, expected=expected)
        names = [lexicon().name(synset) for synset in synsets]
        half = len(names) // 2
        return " ".join(names[:half]), " ".join(names[half:])
