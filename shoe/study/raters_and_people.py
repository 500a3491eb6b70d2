"""A map's raters compared with people: in one rater model, and by their ensembles."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta

from shoe.benchmarks.protocol_options import SemanticOptions
from shoe.core.arrays import Floats, Mask
from shoe.core.documents import Count, Document, Fraction
from shoe.core.errors import InputError, OptionError, quote
from shoe.core.io.delimited import delimited_rows
from shoe.core.io.files import read_bytes
from shoe.core.statistics import nearest_measures, spearman
from shoe.lexicon.expressions import POS, Part
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

# Each rater's bias and noise: people's among themselves, and that of a map's raters against people.

_STEPS, _STILL = 500, 1e-9
_LEAST_NOISE = 0.05
"""A rater that agreed with the estimate to the digit would otherwise become the estimate."""


@dataclass(frozen=True, slots=True, eq=False)
class RaterModel:
    """Rating of rater j on item i = item + bias of the rater + normal noise of the rater.

    Attributes:
        item: (N,) estimated true rating, 0..4; NaN for items that no person rated.
        bias: (R,) points above (below) people's ratings on average.
        noise: (R,) standard deviation of the residuals.
    """

    item: Floats
    bias: Floats
    noise: Floats


def rater_model(values: Floats, anchors: int, weight: Floats | None = None) -> RaterModel:
    """Estimate by maximum likelihood: items are normal, raters have a bias and a noise of their own (EM).

    Items are estimated from people alone: raters of one map share errors, and would outvote them.

    Args:
        values: (N, R) ratings 0..4, NaN where missing; every rater has some, of items that people rated.
        anchors: number of people, the first of the raters.
        weight: (N,) weights of items in the estimates of raters; None where each counts once.
    """
    given: Mask = ~np.isnan(values)
    known: Mask = np.logical_or.reduce(given[:, :anchors], axis=1)
    given &= known[:, None]
    counts = given if weight is None else given * weight[:, None]
    values, number = np.where(given, values, 0), counts.sum(axis=0)
    # What is uncertain of an item is hidden from who estimates it, and shows in the differences of who does not.
    sign = np.where(np.arange(values.shape[1]) < anchors, 1, -1)
    bias, variance = np.zeros(values.shape[1]), np.ones(values.shape[1])
    mean, spread = float(values[given].mean()), max(float(values[given].var()), _LEAST_NOISE**2)
    item, before = np.full(len(values), mean), -np.inf
    for _ in range(_STEPS):
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
        if abs(now - before) < _STILL:
            break
        before = now
    return RaterModel(np.where(known, item, np.nan), bias, np.sqrt(variance))


# What a similarity map says of the items of a study, and what people say of them to hold maps against.

_PARTS: tuple[Part, Part] = ("verb", "object")


def with_map(study: StudyRatings, name_or_folder: str, source: Path) -> StudyRatings:
    """Use a map's similarity of the two interactions of each item as the reference.

    Raises:
        InputError: for items that are not named by four senses of WordNet 3.0.
        OptionError: for a map that does not exist.
    """
    return replace(study, reference=similarity_of_items(study, load_similarity(name_or_folder), source))


def similarity_of_items(study: StudyRatings, similarity: Similarity, source: Path) -> Floats:
    """Return (N,) similarity 0..1 of the two interactions of each item; NaN where it is unknown.

    Raises:
        InputError: for items that are not named by four senses of WordNet 3.0.
    """
    senses = _senses(study, source)
    values = []
    for at, part in enumerate(_PARTS):
        ours, theirs = [sorted({named[column] for named in senses}) for column in (at, at + 2)]
        table = similarity.between(part, ours, theirs)
        values.append(table[[ours.index(of[at]) for of in senses], [theirs.index(of[at + 2]) for of in senses]])
    options = SemanticOptions()
    return combine(values[0], values[1], options.combine, options.weight)


def read_people(path: Path) -> list[HumanRatings]:
    """Read people's ratings to compare maps with: a study's table, or one of :func:`read_human_ratings`.

    Of a study, the mean of the first ratings of each item counts; gold items, repeats and pictures do not.

    Raises:
        InputError: for a table that is broken, or items of a study that are not named by four senses.
    """
    if "rater" not in delimited_rows(path)[0]:
        return read_human_ratings(path)
    study = read_study(path)
    study = study.of_items(study.measured & ~np.isnan(mean_ratings(study.first)))
    if not study.items:
        raise InputError(
            path, found="ratings of gold items alone", expected="ratings of others, which maps are held against"
        )
    senses = np.array([[lexicon().synset(name) for name in named] for named in _senses(study, path)], np.int32)
    values, lines = mean_ratings(study.first) / HIGHEST, int((study.first != MISSING).sum())
    return [HumanRatings("interactions", {"verb": senses[:, ::2], "object": senses[:, 1::2]}, values, lines)]


def _senses(study: StudyRatings, source: Path) -> list[list[str]]:
    """Return the senses of verb, object, verb and object of each item."""

    def is_sense(name: str, part: Part) -> bool:
        synset = lexicon().synset(name)
        return synset >= 0 and lexicon().pos(synset) == POS[part]

    senses = [item.split(" ") for item in study.items]
    for item, named in zip(study.items, senses, strict=True):
        if len(named) != len(SENSES) or not all(map(is_sense, named, (*_PARTS, *_PARTS))):
            expected = "two verbs and two nouns of WordNet 3.0, as ride.v.01 horse.n.01 sit.v.01 chair.n.01"
            raise InputError(source, record=f"item {quote(item)}", found="other names", expected=expected)
    return senses


class Placed(Document, frozen=True):
    """A rater in the table of all.

    Attributes:
        name: of a person, or of a map's rater.
        person: whether it is a person.
        bias, noise: of the rater model, in points of the scale.
        rho: Spearman's correlation with the mean of the (other) people.
    """

    name: str
    person: bool
    bias: float
    noise: float
    rho: Annotated[float, Meta(le=1)] | None = None


class Ensemble(Document, frozen=True):
    """An ensemble of some of a map's raters.

    Attributes:
        agreement: 1 - mean absolute difference from the people's means, as :class:`shoe.study.analysis.Reference`.
        among_best: whether it differs from the best of all ensembles by no more than chance, at 95 % for all of them.
    """

    raters: tuple[str, ...]
    agreement: Fraction
    among_best: bool


class Beside(Document, frozen=True):
    """People and a map's raters.

    Attributes:
        items: number of items that all are compared on.
        raters: people first.
        ensembles: every subset of the map's raters, the nearest to people first.
        left_out: raters of the map that rated fewer than half of the items.
    """

    items: Count
    raters: list[Placed]
    ensembles: list[Ensemble]
    left_out: list[str]


def beside_people(study: StudyRatings, name_or_folder: str, source: Path) -> Beside | None:
    """Hold every rater of a map, and every ensemble of them, against people.

    Args:
        study: people's ratings of items named by senses.
        name_or_folder: the map; a measure without raters gives None.
        source: the study's file, for messages.

    Raises:
        InputError: for items that are not named by four senses.
        OptionError: for a map of more than 10 raters of most items, whose ensembles are too many.
    """
    similarity = load_similarity(name_or_folder)
    if not isinstance(similarity, SimilarityMap):
        return None
    names = [rater.name for rater in similarity.raters]
    alone = [similarity_of_items(study, similarity.with_raters((j,)), source) for j in range(len(names))]
    people = mean_ratings(study.first)
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
    weight = None if compared.weights is None else compared.weights.of(np.arange(len(compared.items)))
    raters = _placed(compared, weight, [names[j] for j in part], np.stack(values[: len(part)], axis=1) * HIGHEST)
    ensembles = ensembles_of(names, subsets, np.stack(values, axis=1), people[keep] / HIGHEST, weight)
    left_out = [name for j, name in enumerate(names) if j not in part]
    return Beside(int(keep.sum()), raters, ensembles, left_out)


def _placed(study: StudyRatings, weight: Floats | None, names: list[str], of_map: Floats) -> list[Placed]:
    ratings = np.where(study.first == MISSING, np.nan, study.first)
    rated = np.flatnonzero(~np.isnan(ratings).all(axis=0))
    people = [study.raters[j] for j in rated]
    values = np.concatenate([ratings[:, rated], of_map], axis=1)
    model = rater_model(values, len(people), weight)
    placed = []
    for j, name in enumerate([*people, *names]):
        others = mean_ratings(np.delete(study.first[:, rated], j, axis=1) if j < len(people) else study.first)
        both = ~np.isnan(values[:, j]) & ~np.isnan(others)
        rho = spearman(values[both, j], others[both], None if weight is None else weight[both])
        placed.append(Placed(name, j < len(people), float(model.bias[j]), float(model.noise[j]), rho))
    return placed


def ensembles_of(
    names: list[str],
    subsets: list[tuple[int, ...]],
    values: Floats,
    people: Floats,
    weight: Floats | None = None,
) -> list[Ensemble]:
    """Find the agreement of every subset, and which could be the best; see :func:`nearest_measures`.

    Args:
        subsets: K subsets of their indices.
        values: (N, K) what each says of each item, 0..1.
        people: (N,) what people say.
        weight: (N,) of items.
    """
    agreement, among_best = nearest_measures(1 - np.abs(values - people[:, None]), weight)
    order = np.argsort(-agreement, kind="stable")
    return [Ensemble(tuple(names[j] for j in subsets[k]), float(agreement[k]), bool(among_best[k])) for k in order]


# Kind ``people``: what people rated in a study, as a rater of a map.
#
# Items that name two interactions answer questions about whole interactions (``--whole-interactions``); items that name
# two senses, as "ride.v.01 straddle.v.01", answer those about pairs of senses. What nobody rated stays unrated.


class People(RaterConfig, frozen=True, kw_only=True):
    """what people rated in a study: the mean of their first ratings, or those of one of them."""

    kind: ClassVar[str] = "people"
    prompted: ClassVar[bool] = False
    interactions: ClassVar[bool] = True

    model: str = "people"
    file: Annotated[Path, setting("the study's table of answers", key=False)]
    person: Annotated[str, setting("whose ratings; of all, rounded half up, if it is absent")] = ""

    def backend(self, prompts: Prompts) -> Backend:
        """Make the rater; it asks with no prompt.

        Raises:
            OptionError: for repeats of what is the same each time.
            InputError: for a table that is broken, or without the person, or whose items are no senses.
        """
        local.check(self)
        study = self._study()
        ratings = np.floor(mean_ratings(study.first) + 0.5)
        rated = np.flatnonzero(~np.isnan(ratings)).tolist()
        return Rows({self._pair(study.items[i]): int(ratings[i]) for i in rated})

    def identity(self) -> Mapping[str, Any]:
        """Say which content the table has, and how many people it is of."""
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
        """Names of the two senses, or of two senses each, as questions have them."""
        synsets = [lexicon().synset(name) for name in item.split(" ")]
        if len(synsets) not in (2, 4) or min(synsets) < 0:
            expected = "two senses of WordNet 3.0, or two interactions: ride.v.01 horse.n.01 sit.v.01 chair.n.01"
            raise InputError(self.file, record=f"item {quote(item)}", found="other names", expected=expected)
        names = [lexicon().name(synset) for synset in synsets]
        half = len(names) // 2
        return " ".join(names[:half]), " ".join(names[half:])
