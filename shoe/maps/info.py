"""Contents of a map: ratings per rater, agreement of its raters, and coverage of the classes of its dataset."""

from collections.abc import Sequence
from contextlib import suppress
from itertools import combinations
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from shoe.benchmarks import benchmark
from shoe.core.documents import Correlation, Count, Document, Fraction
from shoe.core.errors import OptionError, printable, quote
from shoe.core.statistics import pearson, quadratic_weighted_kappa
from shoe.lexicon.senses import POS, Part
from shoe.lexicon.store import ids_of
from shoe.maps.check import PartCheck, check_map
from shoe.similarity import SimilarityMap
from shoe.similarity.ensemble import HIGHEST, MISSING, Ratings


class RaterAgreement(Document, frozen=True):
    """Agreement of two raters on the pairs that both rated; undefined values are absent.

    Attributes:
        pairs: number of pairs that both rated.
        exact: fraction of these pairs with equal ratings.
        quadratic_weighted_kappa: Cohen's kappa with quadratic weights.
    """

    raters: list[str]
    pairs: Count
    exact: Fraction | None = None
    pearson: Correlation | None = None
    quadratic_weighted_kappa: Correlation | None = None


def rater_agreements(ratings: Ratings, names: Sequence[str]) -> list[RaterAgreement]:
    """Return the agreement of every two columns of (n, R) ratings; ``names`` are the names of the R raters."""
    found = []
    for columns in combinations(range(len(names)), 2):
        a, b = ratings[(ratings[:, columns] != MISSING).all(axis=1)][:, columns].T
        exact = float((a == b).mean()) if len(a) else None
        figures = exact, pearson(a, b), quadratic_weighted_kappa(a, b)
        found.append(RaterAgreement([names[column] for column in columns], len(a), *figures))
    return found


_NAMED = 8


class RatedPart(Document, frozen=True):
    """Number of pairs that a rater rated, number of pairs without its rating, and number of each rating 0 to 4."""

    rated: Count
    missing: Count
    histogram: Annotated[list[Count], Meta(min_length=5, max_length=5)]


class RaterInfo(Document, frozen=True):
    """One rater of a similarity map.

    Attributes:
        details: further fields of the rater in map.json.
        weight: weight of the rater's ratings in the ensemble.
        omits: whether a 0 may mean "not rated". Such a 0 is ignored if a rater without ``omits`` rated the pair, or any
            rater rated it above 0.
    """

    name: str
    model: str
    note: str
    details: dict[str, Any]
    weight: float
    omits: bool
    verbs: RatedPart
    objects: RatedPart

    def part(self, part: Part) -> RatedPart:
        """Return the counts of the rater's ratings for one part of speech."""
        return self.verbs if part == "verb" else self.objects


class PartInfo(Document, frozen=True):
    """Pairs of one part of speech in a similarity map.

    Attributes:
        rated_pairs: number of pairs that at least one rater rated.
        class_senses: number of different class senses in all pairs, rated or not.
        coverage: number of rated pairs of each class sense, in the order of the dataset; absent if shoe does not know
            the dataset's classes.
        classes_without_ratings: class senses of the dataset without a rated pair; absent if the classes are unknown.
    """

    pairs: Count
    rated_pairs: Count
    class_senses: Count
    agreement: list[RaterAgreement]
    coverage: dict[str, Count] | None = None
    classes_without_ratings: list[str] | None = None


class MapInfo(Document, frozen=True):
    """Contents of a similarity map.

    Attributes:
        provenance: further fields of map.json.
        warnings: problems of the map, such as classes without ratings; one line per problem.
        check: plausibility check of the map's values, of "verbs" and of "objects"; absent unless requested.
    """

    name: str
    dataset: str
    digest: str
    ensemble: str
    raters: list[RaterInfo]
    verbs: PartInfo
    objects: PartInfo
    provenance: dict[str, Any]
    warnings: list[str]
    check: dict[str, PartCheck] | None = None

    @property
    def parts(self) -> dict[Part, PartInfo]:
        """Pairs per part of speech: {"verb": ``verbs``, "object": ``objects``}."""
        return {"verb": self.verbs, "object": self.objects}


def describe(similarity: SimilarityMap, check: bool = False) -> MapInfo:
    """Return the contents of a similarity map; if ``check`` is True, with the plausibility check and its warnings."""
    synsets: dict[Part, Sequence[str]] = {}
    with suppress(OptionError):
        classes = benchmark(similarity.dataset).classes
        synsets = {"verb": classes.verb_synsets, "object": classes.object_synsets}
    parts = {part: _part(similarity, part, synsets.get(part)) for part in similarity.tables}
    raters = []
    for column, rater in enumerate(similarity.raters):
        rated = []
        for part in POS:
            given = similarity.tables[part].ratings[:, column]
            histogram = np.bincount(given[given != MISSING], minlength=HIGHEST + 1).tolist()
            rated.append(RatedPart(sum(histogram), len(given) - sum(histogram), histogram))
        said = rater.name, rater.model, rater.note, dict(rater.details), rater.weight, rater.omits
        raters.append(RaterInfo(*said, *rated))
    named = similarity.name, similarity.dataset, similarity.digest, similarity.ensemble
    warnings, checked = _warnings(similarity, parts, raters), check_map(similarity) if check else None
    warnings += [line for found in (checked or {}).values() for line in found.problems]
    return MapInfo(*named, raters, parts["verb"], parts["object"], similarity.provenance, warnings, checked)


def _part(similarity: SimilarityMap, part: Part, synsets: Sequence[str] | None) -> PartInfo:
    """Describe one part of speech; ``synsets`` are the dataset's class senses in order, None if they are unknown."""
    table = similarity.tables[part]
    rated, coverage = table.rated, None
    if synsets is not None:
        senses = [name for name in dict.fromkeys(synsets) if name]
        rows = (table.classes.get(sense, slice(0, 0)) for sense in ids_of(senses).tolist())
        coverage = {name: int(rated[of].sum()) for name, of in zip(senses, rows, strict=True)}
    agreement = rater_agreements(table.ratings, [rater.name for rater in similarity.raters])
    empty = None if coverage is None else [name for name, number in coverage.items() if number == 0]
    return PartInfo(len(table), int(rated.sum()), len(table.classes), agreement, coverage, empty)


def _warnings(similarity: SimilarityMap, parts: dict[Part, PartInfo], raters: list[RaterInfo]) -> list[str]:
    lines = []
    for part, info in parts.items():
        if info.coverage is None:
            lines.append(f"{part}s: coverage not measured: shoe does not know the dataset {quote(similarity.dataset)}")
            continue
        known = similarity.tables[part].classes
        absent = [n for n, s in zip(info.coverage, ids_of(info.coverage).tolist(), strict=True) if s not in known]
        empty = [name for name in info.classes_without_ratings or () if name not in absent]
        for names, problem in ((absent, "are not in the map at all"), (empty, "have pairs and no rating")):
            if names:
                shown = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
                found = f"{part}s: {len(names)} class senses of {printable(similarity.dataset)} {problem}"
                lines.append(f"{found}; only words with the same sense match these classes: {shown}")
        idle = (rater.name for rater in raters if info.pairs and not rater.part(part).rated)
        lines += [f"{part}s: rater {quote(name)} rated no pair" for name in idle]
    return lines
