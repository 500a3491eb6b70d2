"""Models on a command line: files of predictions, scored alike, and runs that were scored before."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from shoe.benchmarks.truth import GroundTruth
from shoe.comparison.run import NO_CONFIDENCE, Run
from shoe.comparison.run_file import is_run, read_run
from shoe.core.errors import InputError, OptionError
from shoe.report.text import model_names
from shoe.scoring.file_options import ScoringOptions
from shoe.scoring.score import Report

_OF_EACH = ("sweep", "no_confidence")
_OF_SCORING = ("protocol", "option", "similarity", "boxes", "scores", "format", "bounds", "images_in_predictions")
_OF_TRUTH = ("dataset", "classes", "subset", "split", "image_labels")
"""Options that change how each model, the predictions, or the ground truth is read and scored."""


def runs_of(
    paths: Sequence[Path],
    scoring: ScoringOptions,
    *,
    no_confidence: bool = False,
    bounds: bool = False,
    reports: dict[str, Report] | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> list[Run]:
    """Read runs, and score predictions, in the order of their files.

    With ``no_confidence`` each prediction file is scored with equal scores, too. ``reports`` gets the report behind
    each run that was scored here, by the model's name.
    """
    from shoe.scoring import evidence

    check_once(paths)
    names = dict(zip(paths, model_names(paths), strict=True))
    predicted = [path for path in paths if not is_run(path)]
    if scoring.ground_truth is not None or predicted:
        tell(f"reading {scoring.ground_truth}")
        truth = scoring.truth()
        tables = {}
        for path in predicted:
            tell(f"reading {path}")
            tables[path] = scoring.read(path, truth)
        truth = scoring.part(truth, [table for table, _ in tables.values()])
    runs = []
    for path in paths:
        if is_run(path):
            runs.append(replace(read_run(path), name=names[path]))
            if scoring.ground_truth is not None:
                _check_truth(path, runs[-1], truth)
            continue
        table, notes = tables.pop(path)
        kinds = [(names[path], table)]
        surer = len(np.unique(table.score)) > 1
        if no_confidence and surer:
            kinds.append((names[path] + NO_CONFIDENCE, replace(table, score=np.ones(len(table)))))
        for name, each in kinds:
            tell(f"scoring {name}")
            report = scoring.score(each, truth, notes)
            spread, interval = evidence.spread(report), evidence.interval(report) if bounds else None
            runs.append(Run.of(report, name, spread, interval))
            if no_confidence and not surer:
                why = "all its scores are equal as they are: it has no second row"
                runs[-1] = replace(runs[-1], notes=(*runs[-1].notes, why))
            if reports is not None:
                reports[name] = report
    return runs


def check_once(paths: Sequence[Path]) -> None:
    """Raise an InputError for a file that is given twice, by whatever name."""
    real = [os.path.realpath(path) for path in paths]
    twice = next((path for number, path in enumerate(paths) if real[number] in real[:number]), None)
    if twice is not None:
        raise InputError(twice, found="the same file twice", expected="one file for each model")


def _check_truth(path: Path, run: Run, truth: GroundTruth) -> None:
    for name, value in truth.facts().items():
        if run.facts.get(name) != value:
            expected = f"{value}, as --ground-truth has"
            raise InputError(path, field=f"ground truth: {name}", found=str(run.facts.get(name)), expected=expected)
    of = truth.interactions
    other = run.other_truth(of.images, truth.classes, (truth.hoi, of.image))
    if other is not None:
        hint = "the run was edited"
        raise InputError(path, field="ground truth", found=f"other {other}", expected="those of its hashes", hint=hint)


def refuse_for_runs(paths: Sequence[Path], given: Container[str], *, ground_truth: bool) -> None:
    """Raise an OptionError for an option, of those ``given``, that runs cannot follow: they were scored before."""
    kept = next((path for path in paths if is_run(path)), None)
    if kept is None:
        return
    refused = list(_OF_EACH)
    if all(map(is_run, paths)):
        refused += _OF_SCORING if ground_truth else (*_OF_SCORING, *_OF_TRUTH)
    name = next((name for name in refused if name in given), None)
    if name is not None:
        option = f"--{name.replace('_', '-')}"
        raise OptionError(f"{option}: found the run {kept}, expected predictions, which can be scored in other ways")
