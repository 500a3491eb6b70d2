"""Contents of a map: ratings per rater, agreement of its raters, coverage of its dataset's classes, plausibility check.

The plausibility check lists properties of a map's values that are not errors, but that a good map would not have.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import combinations
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from shoe.benchmarks import benchmark
from shoe.core.arrays import Floats, Ints, Mask
from shoe.core.documents import Correlation, Count, Document, Fraction
from shoe.core.errors import OptionError, printable, quote
from shoe.core.statistics import pearson, quadratic_weighted_kappa
from shoe.lexicon.senses import POS, Part
from shoe.lexicon.store import ids_of, names_of
from shoe.similarity import SimilarityMap
from shoe.similarity.ensemble import HIGHEST, MISSING, Ratings
from shoe.similarity.learned import CREDIT_FROM, LearnedPart
from shoe.similarity.neighbourhood import relations
from shoe.similarity.wordnet import steps_up

_NAMED, _FEWEST = 8, 10
_CHUNK, _SURPRISING = 256, 20
_HIGHEST_RATIO, _LEAST_SHARE, _ASYMMETRY = 8, 0.2, 0.5
"""Limits: share of a broad class, as a multiple of the median share and absolute; difference of both directions."""


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
        about = rater.name, rater.model, rater.note, dict(rater.details), rater.weight, rater.omits
        raters.append(RaterInfo(*about, *rated))
    named = similarity.name, similarity.dataset, similarity.digest, similarity.ensemble
    checked = {f"{part}s": _check_part(similarity, part) for part in POS} if check else None
    problems = [line for found in (checked or {}).values() for line in found.problems]
    warnings = [*_warnings(similarity, parts, raters), *problems]
    return MapInfo(*named, raters, parts["verb"], parts["object"], similarity.provenance, warnings, checked)


def _part(similarity: SimilarityMap, part: Part, synsets: Sequence[str] | None) -> PartInfo:
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
        lines += uniform_raters(part, {rater.name: rater.part(part).histogram for rater in raters})
    return lines


def uniform_raters(part: str, histograms: Mapping[str, Sequence[int]]) -> Iterator[str]:
    """Yield a warning per rater with one rating for all of 10 or more pairs, given the numbers of ratings 0 to 4."""
    for name, counts in histograms.items():
        if max(counts) == sum(counts) >= _FEWEST:
            same = f"gave all {sum(counts):,} pairs the rating {counts.index(max(counts))}"
            yield f"{part}s: rater {quote(name)} {same}: check its answers, or leave the rater out"


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
    median, widest = float(np.median(shares or 0)), np.argsort(-np.array(shares), kind="stable")[:3]
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
    return PartCheck(len(classes), median, broad, asymmetry, hypernyms, siblings, surprising[:_SURPRISING], problems)


def _values(similarity: SimilarityMap, part: Part, classes: Ints, senses: Ints) -> tuple[Floats, Mask]:
    """Return the (C, S) ratings, or else predicted ratings, 0 to 4 or NaN; and the mask of rated pairs."""
    rated, predicted = similarity.values(part, classes, senses), similarity.predicted(part, classes, senses)
    is_rated = ~np.isnan(rated)
    return HIGHEST * (rated if predicted is None else np.where(is_rated, rated, predicted)), is_rated


def _surprising(learned: LearnedPart, classes: Ints, senses: Ints, ratings: Floats) -> list[SurprisingPair]:
    """Return the pairs whose (C, S) ``ratings`` (NaN if unrated) differ most from their predicted ratings."""
    expected = (learned.ratings @ np.arange(HIGHEST + 1.0))[learned.levels_of(classes, senses)]
    distance = np.nan_to_num(np.abs(ratings - expected) * (classes[:, None] != senses))
    row, column = np.nonzero(distance)
    furthest = np.argsort(-distance[row, column], kind="stable")[:_SURPRISING]
    row, column = row[furthest], column[furthest]
    names, figures = (names_of(classes[row]), names_of(senses[column])), (ratings[row, column], expected[row, column])
    return [SurprisingPair(*pair) for pair in zip(*names, *(each.tolist() for each in figures), strict=True)]


def _mean(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None
