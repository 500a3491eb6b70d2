"""Comparison of runs: ranks, intervals, tests, agreement of strict and semantic rankings, and differences by class."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.protocols import ROLE_PREFIX
from shoe.benchmarks.scoring_options import STRICT_PREFIX
from shoe.benchmarks.signature import OF_PREDICTIONS
from shoe.comparison.columns import Cell, Column, columns_of
from shoe.comparison.run import Run
from shoe.comparison.significance import Statistics, kendall, ranks, statistics, usual_resamples
from shoe.core.arrays import Floats, Indices
from shoe.core.documents import Count, Document, Fraction, Pair
from shoe.core.errors import InputError, OptionError, pluralize, quote
from shoe.engines.base import SERIAL, Engine

_OF_TRUTH = ("data", "split", "images", "truths", "truth-sha", "class-list-sha", "class-split-sha")


def signature_differences(a: Run, b: Run) -> list[str]:
    """Return one line per difference between two runs' signatures, except how predictions were read; [] if none."""
    of_a, of_b = _signature_items(a), _signature_items(b)
    names = [*dict.fromkeys([*of_a, *of_b])]
    if a.absent or b.absent:  # options of a part that could not be measured are not in the signature
        names = [name for name in of_a if name in of_b]
    lines, protocols = [], (_protocols(a), _protocols(b))
    if protocols[0] != protocols[1]:
        by_a, by_b = (", ".join(of_run) or "no strict protocol" for of_run in protocols)
        lines.append(f"{a.name} was scored by {by_a}, {b.name} by {by_b}")
    # Options of exact-label protocols are those of the first protocol.
    left_out = STRICT_PREFIX if protocols[0][:1] != protocols[1][:1] else ()
    return lines + [
        f"{name} is {of_a.get(name, 'missing')} for {a.name} and {of_b.get(name, 'missing')} for {b.name}"
        for name in names
        if name not in OF_PREDICTIONS and of_a.get(name) != of_b.get(name) and not name.startswith(left_out)
    ]


def _signature_items(run: Run) -> dict[str, str]:
    """Return the items of the signature of a run, and the options in the signature of each protocol by person."""
    by_person = ((each.options.protocol, each.signature.items) for each in run.by_person)
    return dict(run.signature.items) | {
        f"{protocol} {name}": value
        for protocol, items in by_person
        for name, value in items
        if name.startswith(ROLE_PREFIX)
    }


def _protocols(run: Run) -> list[str]:
    return [*(each.options.protocol for each in run.strict), *(each.options.protocol for each in run.by_person)]


def check_truth(a: Run, b: Run) -> None:
    """Raise InputError if two runs have different images, ground truths or classes."""
    for name in _OF_TRUTH:
        if a.facts.get(name) != b.facts.get(name):
            expected = f"{a.facts.get(name)}, as in {a.name}"
            raise InputError(b.name, field=f"ground truth: {name}", found=str(b.facts.get(name)), expected=expected)
    persons = [
        {
            r.options.protocol: [r.names, r.left_out, r.entries.truth_category.tolist(), r.entries.truth_image.tolist()]
            for r in run.by_person
        }
        for run in (a, b)
    ]
    other = b.other_truth(a.images, a.classes, a.truth)
    if any(persons[0][name] != persons[1][name] for name in persons[0].keys() & persons[1].keys()):
        other = other or "persons"
    if other is not None:
        hint, expected = "the hashes in both runs are equal: one of the runs was edited", f"the {other} of {a.name}"
        raise InputError(b.name, field="ground truth", found=f"different {other}", expected=expected, hint=hint)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Result of comparing several runs.

    Attributes:
        runs: compared runs, with only the protocols that all runs share.
        statistics: intervals and tests over images; None if not requested.
        unlike: differences between signatures, and protocols that were left out, one line each.
    """

    runs: tuple[Run, ...]
    statistics: Statistics | None
    unlike: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """Names of the models."""
        return [run.name for run in self.runs]

    @cached_property
    def figures(self) -> list[dict[str, float | None]]:
        """Values of the metrics by key, one dict per model."""
        return [run.figures() for run in self.runs]

    @property
    def columns(self) -> list[Column]:
        """Columns of the comparison table: exact-label (strict) metrics, metrics by person, then SHOE metrics."""
        semantic = next((run.semantic.options.protocol for run in self.runs if run.semantic is not None), "")
        return columns_of(dict.fromkeys(figure for values in self.figures for figure in values), semantic)

    def cells(self, figure: str) -> list[Cell]:
        """Return one cell per model, in the order of ``names``, for the metric with key ``figure``."""
        values = [figures.get(figure) for figures in self.figures]
        all_ranks = ranks(figure, values)
        places = sorted({rank for rank in all_ranks if rank is not None})
        second = places[1] if len(places) > 1 and all_ranks.count(1) == 1 else None
        above: dict[str, list[int]] = {name: [] for name in self.names}
        for each in self.statistics.differences if self.statistics else ():
            if each.figure == figure and each.significant:
                worse = next(name for name in each.models if name != each.winner)
                above[each.winner].append(self.names.index(worse) + 1)
        return [
            Cell(value, rank, rank == 1 < len(places), rank is not None and rank == second, (*sorted(above[name]),))
            for name, value, rank in zip(self.names, values, all_ranks, strict=True)
        ]

    @property
    def compared(self) -> tuple[str, str] | None:
        """Keys of the strict metric and of the semantic metric that rank the models; None if one of them is absent."""
        strict = next((column.figure for column in self.columns if column.figure.startswith("strict:")), None)
        return (strict, "semantic:map") if strict and any(run.semantic for run in self.runs) else None

    @property
    def _compared_values(self) -> list[tuple[float | None, float | None]]:
        strict, semantic = self.compared or ("", "")
        return [(figures.get(strict), figures.get(semantic)) for figures in self.figures]

    @property
    def gains(self) -> list[float | None]:
        """Semantic mAP minus strict mAP of each model, as a fraction; None if either is missing."""
        return [None if a is None or b is None else b - a for a, b in self._compared_values]

    @property
    def tau(self) -> float | None:
        """Kendall's tau-b of the rankings by strict and semantic mAP; None for one model, no ranking or only ties."""
        known = [(a, b) for a, b in self._compared_values if a is not None and b is not None]
        return kendall(*zip(*known, strict=True)) if len(known) > 1 else None

    @property
    def discordant_pairs(self) -> list[tuple[str, str]]:
        """Pairs of models in opposite orders by strict and by semantic mAP; the better model by strict mAP is first."""
        if self.compared is None:
            return []
        strict, semantic = (ranks(figure, [values.get(figure) for values in self.figures]) for figure in self.compared)
        models = [(a, b, name) for a, b, name in zip(strict, semantic, self.names, strict=True) if a and b]
        pairs = (sorted(pair) for pair in combinations(models, 2))
        return [(first[2], second[2]) for first, second in pairs if first[1] > second[1]]

    @property
    def raters(self) -> dict[str, list[float | None]]:
        """SHOE-mAP under the ratings of each single rater, by rater, with one value per model (None if not measured).

        A rater is left out if any run lacks it; runs without values of single raters do not count.
        """
        spreads = [run.spread.raters for run in self.runs if run.spread is not None]
        shared = [rater for rater in (spreads[0] if spreads else ()) if all(rater in spread for spread in spreads)]
        return {rater: [run.spread.raters[rater] if run.spread else None for run in self.runs] for rater in shared}

    @property
    def same(self) -> list[list[str]]:
        """Names of the models that have the same predictions, in groups of two or more; [] if all differ."""
        by_digest: dict[str, list[str]] = {}
        for run in self.runs:
            by_digest.setdefault(run.facts.get("predictions-sha", run.name), []).append(run.name)
        return [names for names in by_digest.values() if len(names) > 1]


def check_number_of_models(models: int) -> None:
    """Raise OptionError for fewer than two models."""
    if models < 2:
        raise OptionError(f"compare: found {pluralize(models, 'model')}, expected two or more")


def compare(
    runs: Sequence[Run],
    *,
    resamples: int | None = None,
    seed: int = 0,
    allow_different: bool = False,
    engine: Engine = SERIAL,
    progress: Callable[[str], None] = lambda _: None,
) -> Comparison:
    """Return the comparison of several runs, with confidence intervals and tests.

    Args:
        runs: at least two runs on the same images and ground truth, with different names; else an error is raised.
        resamples: number of bootstrap resamples of the images; 0 for no intervals and tests. By default 1,000, or more
            if needed for significant differences between many models.
        allow_different: whether signatures may differ (by default an InputError). If so, only protocols that all runs
            share are compared, and tests of two models use the averaging rules of the one listed first.
    """
    check_number_of_models(len(runs))
    names = [run.name for run in runs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise OptionError(f"compare: found {quote(twice)} twice, expected distinct model names")
    for run in runs[1:]:
        check_truth(runs[0], run)
    unlike = [line for run in runs[1:] for line in signature_differences(runs[0], run)]
    if unlike and not allow_different:
        source, found = names[-1] if len(runs) == 2 else "runs", f"different signatures ({unlike[0]})"
        hint = "use --allow-different to compare anyway"
        raise InputError(source, found=found, expected="equal signatures", hint=hint)
    protocols = [name for name in _protocols(runs[0]) if all(name in _protocols(run) for run in runs)]
    shared = []
    for run in runs:
        strict = (each for name in protocols for each in run.strict if each.options.protocol == name)
        by_person = (each for name in protocols for each in run.by_person if each.options.protocol == name)
        shared.append(replace(run, strict=tuple(strict), by_person=tuple(by_person)))
    resamples = usual_resamples(len(runs)) if resamples is None else resamples
    tested = statistics(shared, resamples, seed, engine, progress) if resamples else None
    without = {name: [r.name for r in runs if name not in _protocols(r)] for run in runs for name in _protocols(run)}
    unlike += [
        f"{name} is not in the table, because it was not scored for {', '.join(models)}"
        for name, models in without.items()
        if models
    ]
    return Comparison(tuple(shared), tested, tuple(unlike))


def single_run(run: Run, *, resamples: int | None = None, seed: int = 0) -> Comparison:
    """Return a comparison of only one run, for its intervals; ``resamples`` and ``seed`` as in :func:`compare`."""
    resamples = usual_resamples(1) if resamples is None else resamples
    return Comparison((run,), statistics([run], resamples, seed) if resamples else None, ())


class GroupDifference(Document, frozen=True):
    """Average precision (AP) of two models for a class, or mean AP for all classes of one verb or object.

    Attributes:
        name: label of the class, verb or object, such as "ride horse", "ride" or "horse".
        classes: number of classes with AP for both models; 1 for a class.
        truths: number of ground truths of these classes.
        before, after: mean AP of these classes for the first and the second model, 0..1.
    """

    name: str
    classes: Count
    truths: Count
    before: Fraction
    after: Fraction

    @property
    def by(self) -> float:
        """Gain in mean AP from the first to the second model."""
        return self.after - self.before


def mean_differences(
    names: Sequence[str], group: NDArray[np.integer], truths: Indices, before: Floats, after: Floats
) -> list[GroupDifference]:
    """Return the mean AP of two models over the classes of each group, by descending gain of the second model.

    (K,) ``group`` is the index into ``names`` of each class, ``truths`` its number of ground truths; ``before`` and
    ``after`` are its AP. Classes without an AP (NaN) of both models, and groups without any other class, do not count.
    """
    both = ~np.isnan(before) & ~np.isnan(after)
    number = np.bincount(group[both], minlength=len(names))
    means = [np.bincount(group[both], figures[both], len(names)) / np.maximum(number, 1) for figures in (before, after)]
    of_group = np.bincount(group[both], truths[both], len(names))
    groups = [
        GroupDifference(names[g], int(number[g]), int(of_group[g]), float(means[0][g]), float(means[1][g]))
        for g in np.flatnonzero(number).tolist()
    ]
    return sorted(groups, key=lambda moved: -moved.by)


class ClassDifference(Document, frozen=True):
    """Differences in average precision between two models, by class, by verb and by object.

    Attributes:
        models: names of the two models.
        figure: key of the metric that is the mean over classes: "strict:PROTOCOL:full" or "semantic:map".
        classes, verbs, objects: values of both models, sorted by descending gain of the second model.
    """

    models: Pair
    figure: str
    classes: list[GroupDifference]
    verbs: list[GroupDifference]
    objects: list[GroupDifference]


def class_differences(found: Comparison) -> list[ClassDifference]:
    """Return the differences by class, verb and object, for each of the compared metrics and each pair of models."""
    classes, truths, differences = found.runs[0].classes, truths_of(found.runs[0]), []
    labels = (classes.labels, np.arange(len(classes)))
    groups = labels, (classes.verbs, classes.verb), (classes.objects, classes.object)
    for figure in found.compared or [column.figure for column in found.columns[:1]]:
        ap = {run.name: class_ap(run, figure) for run in found.runs}
        for a, b in combinations(found.names, 2):
            lists = (mean_differences(names, group, truths, ap[a], ap[b]) for names, group in groups)
            differences.append(ClassDifference((a, b), figure, *lists))
    return differences


def class_ap(run: Run, figure: str) -> Floats:
    """Return (K,) AP by class for "strict:PROTOCOL:full" or "semantic:map", NaN outside the mean; else all NaN."""
    key, _, mean = figure.rpartition(":")
    names, entries = run.ranked.get(key, (("",), None))
    if entries is None or mean != names[0] or key.startswith("roles:"):
        return np.full(len(run.classes), np.nan)
    scores = entries.scores()
    return np.where(scores.in_mean, scores.ap, np.nan)


def truths_of(run: Run) -> Indices:
    """Return the (K,) number of ground truths of each class in a run; all 0 if it has only protocols by person."""
    entries = run.strict[0].entries if run.strict else run.semantic.entries if run.semantic else None
    return np.zeros(len(run.classes), np.int64) if entries is None else entries.truths
