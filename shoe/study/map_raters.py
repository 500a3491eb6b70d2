"""A map's raters beside people: in one rater model, and which of their ensembles is nearest to people."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Annotated

import numpy as np
from msgspec import Meta

from shoe.core.arrays import Floats
from shoe.core.documents import Count, Document, Fraction
from shoe.core.errors import OptionError
from shoe.core.statistics import nearest_measures, spearman
from shoe.maps.ablate import LEAST_SHARE, MOST_RATERS
from shoe.similarity import SimilarityMap, load_similarity
from shoe.similarity.ensemble import HIGHEST, MISSING
from shoe.study.agreement import mean_ratings
from shoe.study.rater_model import rater_model
from shoe.study.ratings import StudyRatings
from shoe.study.reference import similarity_of_items


class Placed(Document, frozen=True):
    """A rater in the table of all.

    Attributes:
        name: of a person, or of a map's rater.
        person: which of the two.
        bias, noise: of the rater model, in points of the scale.
        rho: Spearman's correlation with the mean of the (other) people.
    """

    name: str
    person: bool
    bias: float
    noise: float
    rho: Annotated[float, Meta(le=1)] | None = None


class Ensemble(Document, frozen=True):
    """Some of a map's raters together.

    Attributes:
        raters: their names.
        agreement: 1 - mean absolute difference from the people's means, as :class:`shoe.study.analysis.Reference`.
        among_best: whether the study cannot tell it from the best of all ensembles, at 95 % for all of them together.
    """

    raters: tuple[str, ...]
    agreement: Fraction
    among_best: bool


class Beside(Document, frozen=True):
    """People and a map's raters.

    Attributes:
        items: that all are compared on.
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
        names: of all raters.
        subsets: K subsets of their indices.
        values: (N, K) what each says of each item, 0..1.
        people: (N,) what people say.
        weight: (N,) of items.
    """
    agreement, among_best = nearest_measures(1 - np.abs(values - people[:, None]), weight)
    order = np.argsort(-agreement, kind="stable")
    return [Ensemble(tuple(names[j] for j in subsets[k]), float(agreement[k]), bool(among_best[k])) for k in order]
