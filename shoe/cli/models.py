"""Models given on a command line: prediction files, which are scored, and saved runs, which are read."""

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

_OF_SCORING = (
    *("protocol", "option", "similarity", "boxes", "scores", "format", "bounds", "images_in_predictions", "bad_boxes"),
)
_OF_TRUTH = ("dataset", "classes", "subset", "split", "image_labels")
"""Options refused for saved runs: applied to scoring, and to reading the ground truth."""


def load_runs(
    paths: Sequence[Path],
    scoring: ScoringOptions,
    *,
    no_confidence: bool = False,
    bounds: bool = False,
    reports: dict[str, Report] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Run]:
    """Return the runs of the files, in the order of the files: saved runs are read, prediction files are scored.

    If ``scoring`` has a ground truth, saved runs must have the same. With ``no_confidence``, a prediction file with
    different scores also yields a second run, with all scores 1. ``bounds`` adds intervals over the unrated pairs of
    word senses. The report of each scored run is added to ``reports``, by name of the run.
    """
    from shoe.scoring import evidence

    check_distinct_files(paths)
    names = dict(zip(paths, model_names(paths), strict=True))
    predicted = [path for path in paths if not is_run(path)]
    if scoring.ground_truth is not None or predicted:
        progress(f"reading {scoring.ground_truth}")
        truth = scoring.truth()
        tables = {}
        for path in predicted:
            progress(f"reading {path}")
            tables[path] = scoring.read(path, truth)
        images = [set(truth.names_of(table.images)) for table, _ in tables.values()]
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
            progress(f"scoring {name}")
            report = scoring.score(each, truth, notes)
            spread, interval = evidence.spread(report), evidence.interval(report) if bounds else None
            runs.append(Run.from_report(report, name, spread, interval))
            if no_confidence and not surer:
                why = "no second row without confidence, because all scores are already equal"
                runs[-1] = replace(runs[-1], notes=(*runs[-1].notes, why))
            if reports is not None:
                reports[name] = report
    if len(predicted) > 1 and not set.intersection(*images):
        others = ([note for note in run.notes if "--images-in-predictions" not in note] for run in runs)
        why = "the files have no image in common: their scores cannot be compared"
        return [replace(run, notes=(why, *notes)) for run, notes in zip(runs, others, strict=True)]
    return runs


def check_distinct_files(paths: Sequence[Path]) -> None:
    """Raise an InputError if a file occurs twice; symbolic links are resolved."""
    real = [os.path.realpath(path) for path in paths]
    twice = next((path for number, path in enumerate(paths) if real[number] in real[:number]), None)
    if twice is not None:
        raise InputError(twice, found="the same file twice", expected="one file for each model")


def _check_truth(path: Path, run: Run, truth: GroundTruth) -> None:
    for name, value in truth.signature_fields().items():
        if run.facts.get(name) != value:
            expected = f"{value}, as in --ground-truth"
            raise InputError(path, field=f"ground truth: {name}", found=str(run.facts.get(name)), expected=expected)
    table = truth.interactions
    other = run.other_truth(table.images, truth.classes, (truth.hoi, table.image))
    if other is not None:
        expected = f"the {other} with which the run was scored"
        raise InputError(path, field="ground truth", found=f"different {other}", expected=expected)


def refuse_for_runs(paths: Sequence[Path], given: Container[str], *, ground_truth: bool) -> None:
    """Raise an OptionError if an option in ``given`` (parameter names) cannot be used with saved runs in ``paths``.

    If any path is a saved run, --sweep and --no-confidence are refused. If all paths are saved runs, options for
    scoring are refused, too, and options for reading a ground truth unless one is given (``ground_truth``).
    """
    kept = next((path for path in paths if is_run(path)), None)
    if kept is None:
        return
    refused = ["sweep", "no_confidence"]  # applied to each model
    if all(map(is_run, paths)):
        refused += _OF_SCORING if ground_truth else (*_OF_SCORING, *_OF_TRUTH)
    name = next((name for name in refused if name in given), None)
    if name is not None:
        option = f"--{name.replace('_', '-')}"
        raise OptionError(f"{option} cannot be applied to the saved run {kept}: give its prediction file instead")
