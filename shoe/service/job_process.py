"""Child process that runs one job: score, diagnose, page, compare or board.

The folder of the job contains job.json. Output files are written to its subfolder out, and done.json last. Standard
output has lines ``stage NAME PROGRESS`` and ``log TEXT``; any other line is an error message.
"""

from __future__ import annotations

import csv
import errno
import os
import re
import resource
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from math import floor, log10
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from shoe.core.errors import ShoeError
from shoe.core.io.files import atomic_write
from shoe.core.io.json import encode
from shoe.core.io.spreadsheets import delimited_text
from shoe.diagnosis.error_types import ERRORS
from shoe.service.jobs import ComparisonRequest, RankingRequest, ScoringRequest, command
from shoe.service.process import DONE, Done, Failed, Task
from shoe.service.runs import THE_FILE
from shoe.service.truths import StoredFile

if TYPE_CHECKING:
    from shoe.comparison.run import Run
    from shoe.scoring.file_options import ScoringOptions

MEDIA = {
    ".csv": "text/csv",
    ".html": "text/html",
    ".json": "application/json",
    ".md": "text/markdown",
    ".npz": "application/octet-stream",
    ".shoe": "application/zip",
    ".tex": "application/x-tex",
    ".txt": "text/plain",
}
_PREDICTIONS = "predictions"
_ROUNDED = "Metrics are rounded, and details left out, because the ground truth is not shown."
_WORST = 3  # number of error types whose examples the page of a run shows: those that cost the most mAP
_WIDTH = 160  # width of a text report in characters


def do(task: Task, folder: Path) -> Done:
    """Run a job in a folder, and return its result; ShoeError if the input is wrong, so that a retry would fail."""
    (folder / "out").mkdir()
    done = _KINDS[task.kind](_JobFolder(task, folder))
    done.outputs = {path.name: MEDIA[path.suffix] for path in sorted((folder / "out").iterdir())}
    return done


def stage(name: str, progress: float) -> None:
    """Report the name of the current stage, and the progress of the job (0 to 1), to the parent process."""
    print("stage", name, progress, flush=True)  # noqa: T201  # the parent reads standard output


def log(line: str) -> None:
    """Send a line for the log of the run to the parent process."""
    print("log", " ".join(line.split()), flush=True)  # noqa: T201  # the parent reads standard output


class _JobFolder:
    """Folder of a job: links to its input files, under names that may appear in messages, and its output files."""

    def __init__(self, task: Task, folder: Path) -> None:
        self.task, self._folder = task, folder
        self.out = folder / "out"

    def file(self, sha256: str, name: str) -> Path:
        """Create a link with the path `name` in the folder to a stored file, and return the path of the link."""
        path = self._folder / name
        path.parent.mkdir(exist_ok=True)
        path.symlink_to(Path(self.task.files) / sha256[:2] / sha256[2:])
        return path

    def scoring(self) -> tuple[ScoringRequest, ScoringOptions, Path]:
        """Return the scoring request of the job, its options as on the command line, and its prediction file."""
        from shoe.scoring.file_options import ScoringOptions

        request = msgspec.convert(self.task.request, ScoringRequest)

        def linked(folder: str, file: StoredFile | None) -> Path | None:
            return None if file is None else self.file(file.sha256, f"{folder}/{file.file}")

        truth, map_folder = request.truth, request.similarity.get("folder")  # only registered maps have a folder
        names = ("protocols", "options", "boxes", "scores", "format", "bad_boxes", "subset", "images_in_predictions")
        scoring = ScoringOptions(
            ground_truth=linked("truth", truth.truth),
            dataset=truth.dataset,
            similarity=str(Path(self.task.maps) / map_folder) if map_folder else request.similarity["name"],
            classes=linked("classes", truth.classes),
            split=truth.split,
            image_labels=linked("labels", truth.image_labels),
            **{name: getattr(request, name) for name in names},
        )
        return request, scoring, self.file(request.predictions, _PREDICTIONS)


def _score(job: _JobFolder) -> Done:
    from rich.console import Console

    from shoe.comparison.run import Run
    from shoe.comparison.run_file import write_run
    from shoe.report.score import as_json, print_report, write_classes, write_wordings
    from shoe.report.text import aligned
    from shoe.scoring.evidence.collect import Evidence
    from shoe.scoring.evidence.facts import wordings

    asked, scoring, path = job.scoring()
    report, notes = scoring.report(path, _stages(0.8))
    log(f"{len(report.predictions):,} predictions, read as {notes.format}, boxes as {notes.boxes}")
    evidence = Evidence.from_report(report, bounds=asked.bounds)
    stage("writing", 0.8)
    result, run = as_json(report, evidence), Run.from_report(report, asked.name, evidence.spread, evidence.interval)
    metrics = _known_metrics(run, shown=asked.shown)
    write_classes(report, job.out / "classes.csv")
    write_run(run, job.out / "run.shoe")
    with (job.out / "report.txt").open("w", encoding="utf-8") as stream:
        if asked.shown:
            write_wordings(wordings(report), notes.examples("unparsed"), job.out / "words.csv")
            print_report(report, Console(file=stream, width=_WIDTH), evidence)
        else:
            result = encode(reduced(msgspec.json.decode(result), _size(run)), readable=True)
            reduce_classes(job.out / "classes.csv")
            rows = [(key, f"{value:.{decimals(_size(run))}f}") for key, value in metrics.items()]
            stream.write("\n".join([_ROUNDED, *aligned(rows), f"signature  {report.signature.short()}", ""]))
    (job.out / "result.json").write_bytes(result)
    return Done({}, metrics, str(report.signature))


def _diagnose(job: _JobFolder) -> Done:
    from shoe.diagnosis.diagnose import diagnose
    from shoe.predictions.formats.qpic import read_action_scores
    from shoe.report.diagnosis import document

    wanted, asked, path = job.scoring()
    stage("reading", 0)
    truth = asked.truth()
    table, notes = asked.read(path, truth)
    truth = asked.part(truth, [table])
    stage("diagnosing", 0.3)
    actions = read_action_scores(path, dataset=asked.dataset, kept=notes.kept)
    found = diagnose(table, truth, similarity=asked.similarity, action_scores=actions, notes=notes)
    content = document({wanted.name: found}, truth).to_dict()
    stage("writing", 0.9)
    size = min(len(truth.interactions), len(table))
    content = content if wanted.shown else reduced(content, size)
    (job.out / "diagnosis.json").write_bytes(encode(content, readable=True))
    if wanted.shown:
        worst = sorted(ERRORS, key=lambda error: -(found.deltas[error.name].map or 0.0))[:_WORST]
        cases = [{"error": error.name, **asdict(case)} for error in worst for case in found.examples(error.name, 2)]
        (job.out / "examples.json").write_bytes(encode(cases))
    costs = {f"error:{name}": delta.map for name, delta in found.deltas.items() if delta.map is not None}
    return Done({}, costs if wanted.shown else rounded(costs, size), str(found.signature))


def _page(job: _JobFolder) -> Done:
    from shoe.comparison.compare import single_run
    from shoe.comparison.run import Run
    from shoe.report.comparison import as_latex, as_markdown
    from shoe.report.page.build import write_page
    from shoe.scoring import evidence

    wanted, scoring, path = job.scoring()
    report, _ = scoring.report(path, _stages(0.5))
    run = Run.from_report(
        report, wanted.name, evidence.spread(report), evidence.interval(report) if wanted.bounds else None
    )
    stage("resampling", 0.5)
    found = single_run(run)
    stage("writing", 0.7)
    (job.out / "table.tex").write_text(as_latex(found), "utf-8")
    (job.out / "table.md").write_text(as_markdown(found), "utf-8")
    write_page(job.out / "report.html", found, {run.name: report}, command("page", job.task.request))
    return Done({}, _known_metrics(run), str(report.signature))


def _board(job: _JobFolder) -> Done:
    """Write draws.npz: the metrics of a run on bootstrap samples of images, which are the same for all runs."""
    import numpy as np

    from shoe.comparison.resampling import Resampler, drawn_images
    from shoe.comparison.run_file import read_run

    asked = msgspec.convert(job.task.request, RankingRequest)
    run = read_run(job.file(asked.run, "run.shoe"))
    stage("resampling", 0.1)
    weights = drawn_images(len(run.images), range(asked.resamples), asked.seed)
    drawn: dict[str, Any] = dict(Resampler(run).under(weights).resampled())
    if not asked.shown:
        drawn["decimals"] = np.array(decimals(_size(run)))
    np.savez_compressed(job.out / "draws.npz", **drawn)
    return Done({}, _known_metrics(run, shown=asked.shown))


def _compare(job: _JobFolder) -> Done:
    from shoe.comparison.compare import class_differences, compare
    from shoe.comparison.run_file import read_run
    from shoe.report.comparison import Compare, as_latex, as_markdown, comparison_csv
    from shoe.report.page.build import write_page

    asked = msgspec.convert(job.task.request, ComparisonRequest)
    stage("reading", 0)
    runs = [
        replace(read_run(job.file(of.sha256, f"runs/{number}.shoe")), name=of.name)
        for number, of in enumerate(asked.runs, 1)
    ]
    stage("resampling", 0.1)

    def progress(text: str) -> None:  # "resampling images: 3 of 40 pieces"
        done, every = (int(number.replace(",", "")) for number in re.findall(r"[\d,]*\d", text))
        stage("resampling", 0.1 + 0.7 * done / every)

    found = compare(
        runs, resamples=asked.resamples, seed=asked.seed, allow_different=asked.allow_different, progress=progress
    )
    stage("writing", 0.8)
    content = Compare.from_comparison(found, class_differences(found))
    (job.out / "comparison.json").write_bytes(encode(content, readable=True))
    (job.out / "comparison.csv").write_bytes(comparison_csv(found))
    (job.out / "comparison.tex").write_text(as_latex(found), "utf-8")
    (job.out / "comparison.md").write_text(as_markdown(found), "utf-8")
    write_page(job.out / "comparison.html", found, {}, command("compare", job.task.request), shown=asked.shown)
    return Done({})


def _stages(fraction: float) -> Callable[[str], None]:
    """Return a callback that reports the stages of reading and scoring, which together are `fraction` of the job."""
    progress: Iterator[float] = iter((0.0, 0.6 * fraction))
    return lambda name: stage(name, next(progress))


def _known_metrics(run: Run, *, shown: bool = True) -> dict[str, float]:
    found = {key: value for key, value in run.figures().items() if value is not None}
    return found if shown else rounded(found, _size(run))


def _size(run: Run) -> int:
    return min(int(run.facts["truths"]), int(run.facts["predictions"]))


_KINDS = {"board": _board, "compare": _compare, "diagnose": _diagnose, "page": _page, "score": _score}
# Results on a ground truth that is not shown: a few rounded metrics, from which single labels cannot be read.
#
# AP in full precision reveals which predictions of a class are right: two runs with 20 predictions in two orders are
# enough. Therefore metrics are rounded to a step of about their standard error, and details are left out.

LEAST_TRUTHS = 100
"""Minimum number of ground truths of a class with metrics, which are so rounded that one prediction changes little."""
_EXACT = ("classes", "entries", "images", "ground_truths", "predictions")
"""Numbers that are known, and therefore not rounded."""
_KEPT = frozenset(
    {"signature", "dataset", "split", "name", "strict", "protocols", "roles", "semantic", "protocol", "map", "mf1"}
    | {"map_rare", "map_non_rare", "map_without", "map_without_no_interaction", "max_recall", "mf1_best_tau"}
    | {"gt_miss_rate", "prediction_miss_rate", "no_overlap_rate", "parts", "seen", "unseen", "harmonic_mean"}
    | {"errors", "error", "count", "delta_map", "progression", *_EXACT, *(error.name for error in ERRORS)}
    | {"vocabulary_gap", "exact_map", "verb_credit", "object_credit"}
)
"""Keys of results and diagnoses that are kept."""


def decimals(size: int) -> int:
    """Return the number of decimals of a rounded metric (0 to 1) over `size` items: a step is about a standard error.

    >>> [decimals(size) for size in (20, 100, 9_999, 33_405)]
    [1, 2, 2, 3]
    """
    return 1 + floor(log10(max(size, 1)) / 2)


def rounded(metrics: Mapping[str, float], size: int) -> dict[str, float]:
    """Return {key: metric} with all metrics rounded to about the standard error of a metric over `size` items."""
    return {key: round(value, decimals(size)) for key, value in metrics.items()}


def reduced(content: Any, size: int, key: str = "") -> Any:
    """Return a JSON value of a result or diagnosis, rounded and without parts that reveal labels of images.

    Only dict keys in `_KEPT`, such as metrics and their protocols, are returned. Floats have :func:`decimals` decimals.
    Counts are rounded to multiples of ``max(round(size / 10 ** decimals(size)), 1)``, except under keys in `_EXACT`,
    such as "images". `size` is the number of ground truths or of predictions, whichever is lower. `key` is the key
    of `content` in its dict.
    """
    if isinstance(content, Mapping):
        return {name: reduced(value, size, name) for name, value in content.items() if name in _KEPT}
    if isinstance(content, list | tuple):
        return [reduced(each, size, key) for each in content]
    if isinstance(content, float):
        return round(content, decimals(size))
    if isinstance(content, int) and key not in _EXACT:
        step = max(round(size / 10 ** decimals(size)), 1)
        return round(content / step) * step
    return content


def reduce_classes(path: Path) -> None:
    """Remove classes with fewer than 100 ground truths from classes.csv, and round the metrics of other classes."""
    header, *rows = csv.reader(path.read_text("utf-8").splitlines())
    measured = [k for k, name in enumerate(header) if name.endswith(("_ap", "_recall", "_f1"))]
    kept = [row for row in rows if int(row[header.index("ground_truths")]) >= LEAST_TRUTHS]
    for row in kept:
        digits = decimals(int(row[header.index("ground_truths")])) - 1
        for k in measured:
            row[k] = row[k] and f"{float(row[k]):.{digits}f}"
    path.write_text(delimited_text([header, *kept]), "utf-8")


_GRACE = 5  # seconds of CPU time between the signal at the CPU limit (SIGXCPU) and the kill


def main() -> None:
    """Run the job in the folder of the first command-line argument, and write the result to done.json in it."""
    folder = Path(sys.argv[1])
    task = msgspec.json.decode((folder / "job.json").read_bytes(), type=Task)
    limits = task.limits
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu, limits.cpu + _GRACE))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file_size, limits.file_size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    found: Done | Failed
    try:
        found = do(task, folder)
    except MemoryError:
        found = Failed(f"memory limit of {limits.memory / 1e9:g} GB per job exceeded")
    except (ShoeError, OSError) as error:
        cause = getattr(error, "errno", None) or getattr(error.__context__, "errno", None)
        if cause == errno.EFBIG:
            found = Failed(f"limit of {limits.file_size / 1e9:g} GB per output file exceeded")
        elif isinstance(error, ShoeError) and cause != errno.ENOSPC:  # the input is not the cause of a full disk
            message = str(error).replace(str(folder / _PREDICTIONS), THE_FILE)
            found = Failed(message.replace(f"{folder}/", ""))  # clients must not see paths on the server
        else:
            raise
    for path in (folder / "out").iterdir():
        with path.open("rb") as stream:
            os.fsync(stream.fileno())
    with atomic_write(folder / DONE) as stream:
        stream.write(msgspec.json.encode(found))
