"""The process that runs one job, and what jobs do: score, diagnose, page, compare, rank.

``python -P -m shoe.service.job_process FOLDER PARENT``: FOLDER holds job.json; files go to FOLDER/out, and done.json is
written last. Lines on standard output: ``stage NAME PROGRESS``, ``log TEXT``; other lines are last words.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from shoe.core.errors import ShoeError
from shoe.core.io.files import replacing
from shoe.core.io.json import encode
from shoe.service.process import DONE, Done, Failed, Task
from shoe.service.requests import Comparing, Ranking, Scoring, command
from shoe.service.runs import THE_FILE
from shoe.service.truths import StoredFile

if TYPE_CHECKING:
    from shoe.comparison.run import Run
    from shoe.scoring.file_options import ScoringOptions

# What a child does, by the very functions of the command line: score, diagnose, page, compare, rank.

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
_WIDTH = 160
"""Columns of the text of a report."""


def do(task: Task, folder: Path) -> Done:
    """Do a job.

    Args:
        folder: folder to write in; output files go to ``out`` in it.

    Raises:
        ShoeError: where the client can fix the cause.
    """
    (folder / "out").mkdir()
    done = _KINDS[task.kind](_Place(task, folder))
    done.outputs = {path.name: MEDIA[path.suffix] for path in sorted((folder / "out").iterdir())}
    return done


def told(error: ShoeError, folder: Path) -> str:
    """Return the text of an error for a client, with the client's name of the file and without paths of the server."""
    return str(error).replace(str(folder / _PREDICTIONS), THE_FILE).replace(f"{folder}/", "")


def stage(name: str, progress: float) -> None:
    """Report the current stage, and the progress 0 to 1."""
    print("stage", name, progress, flush=True)  # noqa: T201  # the parent listens


def log(line: str) -> None:
    """Write a line to the log of the run."""
    print("log", " ".join(line.split()), flush=True)  # noqa: T201  # the parent listens


class _Place:
    """Input files of a task under names that readers may see, and the place of its outputs."""

    def __init__(self, task: Task, folder: Path) -> None:
        self.task, self._folder = task, folder
        self.out = folder / "out"

    def request(self, kind: type[Any]) -> Any:
        """Return the request, as a type."""
        return msgspec.convert(self.task.request, kind)

    def file(self, sha256: str, name: str) -> Path:
        """Return the path of a stored file, under a name."""
        path = self._folder / name
        path.parent.mkdir(exist_ok=True)
        path.symlink_to(Path(self.task.files) / sha256[:2] / sha256[2:])
        return path

    def predictions(self, asked: Scoring) -> Path:
        """Read the client's file."""
        return self.file(asked.predictions, _PREDICTIONS)

    def asked(self, of: Scoring) -> ScoringOptions:
        """Return the request's options, as on the command line."""
        from shoe.scoring.file_options import ScoringOptions

        def kept(folder: str, file: StoredFile | None) -> Path | None:
            return None if file is None else self.file(file.sha256, f"{folder}/{file.file}")

        return ScoringOptions(
            ground_truth=kept("truth", of.truth.truth),
            dataset=of.truth.dataset,
            protocols=of.protocols,
            similarity=self.similarity(of),
            options=of.options,
            boxes=of.boxes,
            scores=of.scores,
            format=of.format,
            classes=kept("classes", of.truth.classes),
            subset=of.subset,
            images_in_predictions=of.images_in_predictions,
            split=of.truth.split,
            image_labels=kept("labels", of.truth.image_labels),
        )

    def similarity(self, of: Scoring) -> str:
        """Return the name of a shipped map, or the folder of a registered one."""
        folder = of.similarity.get("folder")
        return of.similarity["name"] if folder is None else str(Path(self.task.maps) / folder)


def _score(place: _Place) -> Done:
    from rich.console import Console

    from shoe.comparison.run import Run
    from shoe.comparison.run_file import write_run
    from shoe.report.score_files import as_json, write_classes, write_wordings
    from shoe.report.terminal import print_report
    from shoe.scoring.evidence.collect import Evidence
    from shoe.scoring.evidence.facts import wordings

    asked = place.request(Scoring)
    report, notes = place.asked(asked).report(place.predictions(asked), _telling(0.8))
    log(f"{len(report.predictions):,} predictions, read as {notes.format}, boxes as {notes.boxes}")
    evidence = Evidence.of(report, bounds=asked.bounds)
    stage("writing", 0.8)
    if asked.shown:
        write_wordings(wordings(report), notes.examples("unparsed"), place.out / "words.csv")
    else:  # a wording that occurs once tells the label that it was matched with
        evidence = replace(evidence, wordings=())
    (place.out / "result.json").write_bytes(as_json(report, evidence))
    with (place.out / "report.txt").open("w", encoding="utf-8") as stream:
        print_report(report, Console(file=stream, width=_WIDTH), evidence)
    write_classes(report, place.out / "classes.csv")
    run = Run.of(report, asked.name, evidence.spread, evidence.interval)
    write_run(run, place.out / "run.shoe")
    return Done({}, _known(run), str(report.signature))


def _diagnose(place: _Place) -> Done:
    from shoe.diagnosis.diagnose import diagnose
    from shoe.predictions.formats.qpic import read_action_scores
    from shoe.report.diagnosis import document

    wanted = place.request(Scoring)
    asked, path = place.asked(wanted), place.predictions(wanted)
    stage("reading", 0)
    truth = asked.truth()
    table, notes = asked.read(path, truth)
    truth = asked.part(truth, [table])
    stage("diagnosing", 0.3)
    found = diagnose(
        table,
        truth,
        similarity=asked.similarity,
        action_scores=read_action_scores(path, dataset=asked.dataset),
        notes=notes,
    )
    content = document({wanted.name: found}, truth).to_dict()
    stage("writing", 0.9)
    content = content if wanted.shown else _without_single(content)
    (place.out / "diagnosis.json").write_bytes(encode(content, readable=True))
    costs = {f"error:{name}": delta.map for name, delta in found.deltas.items()}
    return Done({}, {name: value for name, value in costs.items() if value is not None}, str(found.signature))


def _page(place: _Place) -> Done:
    from shoe.comparison.compare import alone
    from shoe.comparison.run import Run
    from shoe.report.comparison import as_latex, as_markdown
    from shoe.report.page.build import write_page
    from shoe.scoring import evidence

    wanted = place.request(Scoring)
    report, _ = place.asked(wanted).report(place.predictions(wanted), _telling(0.5))
    run = Run.of(report, wanted.name, evidence.spread(report), evidence.interval(report) if wanted.bounds else None)
    stage("resampling", 0.5)
    found = alone(run)
    stage("writing", 0.7)
    (place.out / "table.tex").write_text(as_latex(found), "utf-8")
    (place.out / "table.md").write_text(as_markdown(found), "utf-8")
    write_page(
        place.out / "report.html", found, {run.name: report}, command("page", place.task.request), shown=wanted.shown
    )
    return Done({}, _known(run), str(report.signature))


def _board(place: _Place) -> Done:
    """Compute what a run needs for a leaderboard: its figures, also under the draws of images that all runs share."""
    import numpy as np

    from shoe.comparison.resampling import Resampler, drawn_images
    from shoe.comparison.run_file import read_run

    asked = place.request(Ranking)
    run = read_run(place.file(asked.run, "run.shoe"))
    stage("resampling", 0.1)
    weights = drawn_images(len(run.images), range(asked.resamples), asked.seed)
    drawn: dict[str, Any] = dict(Resampler(run).resampled(weights))
    np.savez_compressed(place.out / "draws.npz", **drawn)
    return Done({}, _known(run))


def _compare(place: _Place) -> Done:
    from shoe.comparison.classes import apart
    from shoe.comparison.compare import compare
    from shoe.comparison.run_file import read_run
    from shoe.report.comparison import Compare, as_latex, as_markdown, comparison_csv
    from shoe.report.page.build import write_page

    asked = place.request(Comparing)
    stage("reading", 0)
    runs = [
        replace(read_run(place.file(of.sha256, f"runs/{number}.shoe")), name=of.name)
        for number, of in enumerate(asked.runs, 1)
    ]
    stage("resampling", 0.1)
    found = compare(runs, resamples=asked.resamples, seed=asked.seed, allow_different=asked.allow_different)
    stage("writing", 0.8)
    content = Compare.from_comparison(found, apart(found))
    (place.out / "comparison.json").write_bytes(encode(content, readable=True))
    (place.out / "comparison.csv").write_bytes(comparison_csv(found))
    (place.out / "comparison.tex").write_text(as_latex(found), "utf-8")
    (place.out / "comparison.md").write_text(as_markdown(found), "utf-8")
    write_page(place.out / "comparison.html", found, {}, command("compare", place.task.request), shown=asked.shown)
    return Done({})


def _telling(share: float) -> Callable[[str], None]:
    """Return a function that reports the stages of reading and scoring as a share of the whole."""
    progress: Iterator[float] = iter((0.0, 0.6 * share))
    return lambda name: stage(name, next(progress))


def _known(run: Run) -> dict[str, float]:
    return {key: value for key, value in run.figures().items() if value is not None}


_OF_SINGLE = frozenset({"examples", "confusions", "commonest"})
"""Keys of a diagnosis that tell boxes of single images, or which label each predicted word was matched with."""


def _without_single(content: Any) -> Any:
    """Return the diagnosis without boxes and labels of single images."""
    if isinstance(content, Mapping):
        return {key: _without_single(value) for key, value in content.items() if key not in _OF_SINGLE}
    return [_without_single(value) for value in content] if isinstance(content, list | tuple) else content


_KINDS: dict[str, Callable[[_Place], Done]] = {
    "board": _board,
    "compare": _compare,
    "diagnose": _diagnose,
    "page": _page,
    "score": _score,
}


_PR_SET_PDEATHSIG = 1
_NICE = 5
"""Niceness of jobs, so that the server's pages come at once while all cores score."""
_GRACE = 5
"""Seconds of processor time between the signal at the limit and the kill."""


def main() -> None:
    """Run the job."""
    folder, parent = Path(sys.argv[1]), int(sys.argv[2])
    _die_with(parent)
    os.nice(_NICE)
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
        found = Failed(f"it needs more memory than the {limits.memory / 1e9:g} GB that a job may have")
    except (ShoeError, OSError) as error:
        cause = error.__context__ if isinstance(error, ShoeError) else error
        if isinstance(cause, OSError) and cause.errno == errno.EFBIG:
            found = Failed(f"it writes a file of more than the {limits.file_size / 1e9:g} GB that a job may write")
        elif isinstance(error, ShoeError):
            found = Failed(told(error, folder))
        else:
            raise
    for path in (folder / "out").iterdir():
        with path.open("rb") as stream:
            os.fsync(stream.fileno())
    with replacing(folder / DONE) as stream:
        stream.write(msgspec.json.encode(found))


def _die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent dies; exit if the parent is dead already."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


if __name__ == "__main__":
    main()
