"""Runs beside each other: which is best, how sure that is, and whether strict and semantic rankings agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

from shoe.benchmarks.protocol_options import STRICT_PREFIX
from shoe.benchmarks.protocols import ROLE_PREFIX
from shoe.comparison.run import Run
from shoe.comparison.significance import (
    LOWER_IS_BETTER,
    Statistics,
    better,
    kendall,
    ranks,
    statistics,
    usual_resamples,
)
from shoe.core.errors import InputError, OptionError, many, quote
from shoe.engines.base import SERIAL, Engine

# What figures are called in tables, by their keys.

FULL = "full"
"""Ends the key of a mean over all classes of a protocol by exact labels."""
_HEADINGS = {
    FULL: "mAP",
    "rare": "rare",
    "non_rare": "non-rare",
    "map": "SHOE-mAP",
    "mf1": "SHOE-mF1",
    "gt_miss_rate": "GT missed",
    "prediction_miss_rate": "unmatched",
}
_PART = "part-"


def heading(figure: str) -> str:
    """What a figure is called.

    >>> heading("strict:hico-det:full"), heading("semantic:part-unseen"), heading("semantic:gt_miss_rate")
    ('mAP', 'SHOE-mAP unseen', 'GT missed')
    """
    kind, *_, name = figure.split(":")
    if name not in _HEADINGS:
        part = name.removeprefix(_PART).replace("-", " ", 1)
        return f"SHOE-mAP {part}" if kind == "semantic" else part
    return _HEADINGS[name]


def marked(figure: str) -> str:
    """What it is called, with an arrow where the lowest figure is the best."""
    return f"{heading(figure)} ↓" if figure.endswith(LOWER_IS_BETTER) else heading(figure)


# What sets runs apart beside what they measured: ground truth, options, and protocols that not all were scored by.

OF_PREDICTIONS = ("boxes", "scores", "coordinates")
"""What a signature says of how predictions were read, which is each model's own."""
_OF_TRUTH = ("data", "split", "images", "truths", "truth-sha", "class-list-sha", "class-split-sha")


def signature_differences(a: Run, b: Run) -> list[str]:
    """What differs between the signatures of two runs, beside how predictions were read; one line each."""
    of_a, of_b = (  # what a run's signature says, and of each protocol by person its own
        dict(run.signature.items)
        | {
            f"{of.options.protocol} {name}": value
            for of in run.by_person
            for name, value in of.signature.items
            if name.startswith(ROLE_PREFIX)
        }
        for run in (a, b)
    )
    names = dict.fromkeys([*of_a, *of_b])
    if a.absent or b.absent:  # what a model's scores do not allow leaves no options in its signature
        names = dict.fromkeys(name for name in of_a if name in of_b)
    lines = []
    protocols = [_protocols(run) for run in (a, b)]
    if protocols[0] != protocols[1]:
        by = (", ".join(names) or "no strict protocol" for names in protocols)
        lines.append(f"{a.name} was scored by {next(by)}, {b.name} by {next(by)}")
    other = protocols[0][:1] != protocols[1][:1]
    return lines + [
        f"{name} {of_a.get(name, 'nothing')} of {a.name} and {of_b.get(name, 'nothing')} of {b.name}"
        for name in names
        if name not in OF_PREDICTIONS
        and of_a.get(name) != of_b.get(name)
        and not (other and name.startswith(STRICT_PREFIX))  # which are of the first protocol
    ]


def _protocols(run: Run) -> list[str]:
    return [of.options.protocol for of in run.strict] + [of.options.protocol for of in run.by_person]


def protocols_left_out(runs: Sequence[Run], kept: Sequence[Run]) -> list[str]:
    """Which strict protocols have no column, and whose they are."""
    lines = []
    for name in dict.fromkeys(name for run in runs for name in _protocols(run)):
        if name not in _protocols(kept[0]):
            without = ", ".join(run.name for run in runs if name not in _protocols(run))
            lines.append(f"{name} is left out of the table: {without} was not scored by it")
    return lines


def check_truth(a: Run, b: Run) -> None:
    """Refuse runs of different images, ground truths or classes.

    Raises:
        InputError: naming what differs.
    """
    for name in _OF_TRUTH:
        if a.facts.get(name) != b.facts.get(name):
            expected = f"{a.facts.get(name)}, as {a.name} has"
            raise InputError(b.name, field=f"ground truth: {name}", found=str(b.facts.get(name)), expected=expected)
    persons = [
        {
            of.options.protocol: (
                of.names,
                of.left_out,
                of.entries.truth_category.tolist(),
                of.entries.truth_image.tolist(),
            )
            for of in run.by_person
        }
        for run in (a, b)
    ]
    other = b.other_truth(a.images, a.classes, a.truth)
    if any(persons[0][name] != persons[1][name] for name in persons[0].keys() & persons[1].keys()):
        other = other or "persons"
    if other is not None:
        hint = "equal hashes: one of both was edited"
        raise InputError(b.name, field="ground truth", found=f"other {other}", expected=f"those of {a.name}", hint=hint)


def shared_protocols(runs: Sequence[Run]) -> list[Run]:
    """The runs with the protocols that all have, in one order."""
    protocols = [name for name in _protocols(runs[0]) if all(name in _protocols(run) for run in runs)]
    kept = []
    for run in runs:
        strict = {of.options.protocol: of for of in run.strict}
        by_person = {of.options.protocol: of for of in run.by_person}
        kept.append(
            replace(
                run,
                strict=tuple(strict[name] for name in protocols if name in strict),
                by_person=tuple(by_person[name] for name in protocols if name in by_person),
            )
        )
    return kept


@dataclass(frozen=True, slots=True)
class Column:
    """A figure of a table."""

    figure: str
    group: str
    heading: str

    @property
    def marked(self) -> str:
        """The heading, with an arrow where the lowest figure is the best."""
        return marked(self.figure)


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure of one model among those of others.

    Attributes:
        value: a fraction; None where there is nothing to measure.
        rank: 1 for the best; None without a value.
        best, second: whether it is the best, or the best of the others.
        above: numbers, from 1, of the models than which it is significantly better.
    """

    value: float | None
    rank: int | None
    best: bool
    second: bool
    above: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Runs beside each other.

    Attributes:
        runs: with the protocols that all have.
        statistics: intervals and tests over images; None where none were asked for.
        unlike: what differs between signatures, and which protocols are left out, one line each.
    """

    runs: tuple[Run, ...]
    statistics: Statistics | None
    unlike: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """The models."""
        return [run.name for run in self.runs]

    @cached_property
    def figures(self) -> list[dict[str, float | None]]:
        """Of each model."""
        return [run.figures() for run in self.runs]

    @property
    def columns(self) -> list[Column]:
        """The figures, strict ones first."""
        semantic = next((run.semantic for run in self.runs if run.semantic is not None), None)
        found = []
        for figure in dict.fromkeys(figure for of in self.figures for figure in of):
            kind, *protocol, _ = figure.split(":")
            group = semantic.options.protocol if kind == "semantic" and semantic else "".join(protocol)
            found.append(Column(figure, group, heading(figure)))
        return found

    def cells(self, figure: str) -> list[Cell]:
        """A figure of every model."""
        values = [of.get(figure) for of in self.figures]
        found = ranks(figure, values)
        places = sorted({rank for rank in found if rank is not None})
        second = places[1] if len(places) > 1 and found.count(1) == 1 else None
        return [
            Cell(
                value, rank, rank == 1 and len(places) > 1, rank is not None and rank == second, self._above(figure, i)
            )
            for i, (value, rank) in enumerate(zip(values, found, strict=True))
        ]

    def _above(self, figure: str, model: int) -> tuple[int, ...]:
        if self.statistics is None:
            return ()
        name, found = self.names[model], []
        for number, other in enumerate(self.names, 1):
            difference = self.statistics.between(name, other, figure) if other != name else None
            if difference is not None and difference.significant:
                sign = 1 if difference.models[0] == name else -1
                if better(figure, sign * difference.value, 0):
                    found.append(number)
        return tuple(found)

    @property
    def compared(self) -> tuple[str, str] | None:
        """Keys of the strict and the semantic figure that rankings are made of; None where one is absent."""
        strict = next((column.figure for column in self.columns if column.figure.startswith("strict:")), None)
        semantic = "semantic:map" if any(run.semantic for run in self.runs) else None
        return None if strict is None or semantic is None else (strict, semantic)

    @property
    def gains(self) -> list[float | None]:
        """What each model gains from strict to semantic mAP, as a fraction."""
        if self.compared is None:
            return [None] * len(self.runs)
        strict, semantic = self.compared
        pairs = [(of.get(strict), of.get(semantic)) for of in self.figures]
        return [None if a is None or b is None else b - a for a, b in pairs]

    @property
    def tau(self) -> float | None:
        """Kendall's tau-b between the rankings by strict and by semantic mAP."""
        if self.compared is None:
            return None
        columns = [[cell.value for cell in self.cells(figure)] for figure in self.compared]
        known = [(a, b) for a, b in zip(*columns, strict=True) if a is not None and b is not None]
        return kendall(*zip(*known, strict=True)) if len(known) > 1 else None

    @property
    def moved(self) -> list[tuple[str, str]]:
        """Pairs of models that strict and semantic mAP rank in opposite orders, the better one by strict mAP first."""
        if self.compared is None:
            return []
        strict, semantic = ([cell.rank or 0 for cell in self.cells(figure)] for figure in self.compared)
        found = []
        for i, j in combinations(range(len(self.runs)), 2):
            if (strict[i] - strict[j]) * (semantic[i] - semantic[j]) < 0:
                first, second = (i, j) if strict[i] < strict[j] else (j, i)
                found.append((self.names[first], self.names[second]))
        return found

    @property
    def raters(self) -> dict[str, list[float | None]]:
        """SHOE-mAP by single raters of the map that all models with such figures share; None for the others."""
        spreads = [run.spread.raters for run in self.runs if run.spread is not None]
        shared = [rater for rater in (spreads[0] if spreads else ()) if all(rater in of for of in spreads)]
        return {rater: [run.spread.raters[rater] if run.spread else None for run in self.runs] for rater in shared}

    @property
    def same(self) -> list[list[str]]:
        """Names of models that hold the same predictions."""
        by_digest: dict[str, list[str]] = {}
        for run in self.runs:
            by_digest.setdefault(run.facts.get("predictions-sha", run.name), []).append(run.name)
        return [names for names in by_digest.values() if len(names) > 1]


def check_number(models: int) -> None:
    """Refuse to compare one model.

    Raises:
        OptionError: for fewer than two.
    """
    if models < 2:
        raise OptionError(f"compare: found {many(models, 'model')}, expected two or more")


def compare(
    runs: Sequence[Run],
    *,
    resamples: int | None = None,
    seed: int = 0,
    allow_different: bool = False,
    engine: Engine = SERIAL,
    tell: Callable[[str], None] = lambda _: None,
) -> Comparison:
    """Put runs beside each other.

    Args:
        runs: at least two, of the same images and ground truth.
        resamples: how many times images are drawn; 0 for no intervals and tests, None for 1,000 or, with
            many models, as many as their tests need.
        allow_different: whether signatures may differ; protocols that not all have are left out then, and lists that
            hold entries of two models are ranked by the rules of the first.
        engine: who draws, which changes nothing.
        tell: hears how far it is.

    Raises:
        InputError: for runs of different images, ground truths or classes, or under unlike signatures.
        OptionError: for fewer than two runs, or two of one name.
    """
    check_number(len(runs))
    names = [run.name for run in runs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise OptionError(f"compare: found {quote(twice)} twice, expected a name of its own for each model")
    for run in runs[1:]:
        check_truth(runs[0], run)
    unlike = [line for run in runs[1:] for line in signature_differences(runs[0], run)]
    if unlike and not allow_different:
        source, found = names[-1] if len(runs) == 2 else "runs", f"unlike signatures ({unlike[0]})"
        hint = "--allow-different compares them all the same"
        raise InputError(source, found=found, expected="equal ones", hint=hint)
    kept = shared_protocols(runs)
    resamples = usual_resamples(len(runs)) if resamples is None else resamples
    tested = statistics(kept, resamples, seed, engine, tell) if resamples else None
    return Comparison(tuple(kept), tested, (*unlike, *protocols_left_out(runs, kept)))


def alone(run: Run, *, resamples: int | None = None, seed: int = 0) -> Comparison:
    """One run as tables and pages show several: with its intervals, and nothing to test it against.

    ``resamples`` is how many times images are drawn: 0 for no intervals, None for 1,000.
    """
    resamples = usual_resamples(1) if resamples is None else resamples
    return Comparison((run,), statistics([run], resamples, seed) if resamples else None, ())
