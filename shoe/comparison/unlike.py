"""What sets runs apart beside what they measured: ground truth, options, and protocols that not all were scored by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shoe.core.errors import InputError
from shoe.protocols.options import STRICT_PREFIX
from shoe.protocols.roles import ROLE_PREFIX
from shoe.runs.run import Run

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
