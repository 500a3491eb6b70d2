"""What a child does, by the very functions of the command line: score, page, diagnose, compare, board."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from shoe.core.errors import ShoeError
from shoe.service.attempt import Done, Task

_JSON, _TEXT, _CSV, _HTML = "application/json", "text/plain", "text/csv", "text/html"
_PREDICTIONS = "predictions"
THE_FILE = "{file}"


class _Kept(msgspec.Struct):
    sha256: str
    file: str


class _Reading(msgspec.Struct):
    dataset: str
    truth: _Kept
    classes: _Kept | None = None
    image_labels: _Kept | None = None
    split: str | None = None


class _Scoring(msgspec.Struct, kw_only=True):
    predictions: str
    truth: _Reading
    protocols: list[str]
    similarity: dict[str, str]
    options: list[str] = []
    boxes: str | None = None
    scores: str | None = None
    format: str | None = None
    subset: str | None = None
    images_in_predictions: bool = False
    bounds: bool = False
    shown: bool = False
    name: str = ""


def do(task: Task, folder: Path) -> Done:
    """Do a job.

    Args:
        task: what it is.
        folder: to write in; files go to ``out`` in it.

    Raises:
        ShoeError: where the client can fix what is wrong.
    """
    (folder / "out").mkdir()
    return _KINDS[task.kind](_Place(task, folder))


def told(error: ShoeError, folder: Path) -> str:
    """What a client hears of an error: no path of the server."""
    return str(error).replace(str(folder / _PREDICTIONS), THE_FILE).replace(f"{folder}/", "")


class _Place:
    """Files of a task, under names that readers may see, and where its outputs go."""

    def __init__(self, task: Task, folder: Path) -> None:
        self.task, self._folder = task, folder
        self.out = folder / "out"

    def file(self, sha256: str, name: str) -> Path:
        """A stored file under a name of its own."""
        path = self._folder / name
        path.parent.mkdir(exist_ok=True)
        path.symlink_to(Path(self.task.files) / sha256[:2] / sha256[2:])
        return path

    def similarity(self, of: Mapping[str, str]) -> str:
        """A map's name, or the folder of a registered one."""
        return str(Path(self.task.maps) / of["folder"]) if "folder" in of else of["name"]

    def request(self, kind: type[Any]) -> Any:
        """What is wanted."""
        return msgspec.convert(self.task.request, kind)


def stage(name: str, progress: float) -> None:
    """Say what is being done, and how much is behind."""
    print("stage", name, progress, flush=True)  # noqa: T201  # the parent listens


def log(line: str) -> None:
    """Write to the log of the run."""
    print("log", line.replace("\n", " "), flush=True)  # noqa: T201  # the parent listens


def _scored(place: _Place) -> tuple[_Scoring, Any, Any]:
    """Read and score as ``shoe score`` does."""
    from shoe.benchmarks import benchmark
    from shoe.benchmarks.classes import read_classes
    from shoe.predictions import read_predictions_with_notes
    from shoe.predictions.truth import read_ground_truth
    from shoe.scoring.score import score

    asked = place.request(_Scoring)
    of = asked.truth

    def kept(file: _Kept, kind: str) -> Path:
        return place.file(file.sha256, f"{kind}/{file.file}")

    stage("reading", 0)
    classes = kept(of.classes, "classes") if of.classes else None
    table = read_classes(classes, benchmark(of.dataset).classes) if classes else None
    labels = kept(of.image_labels, "labels") if of.image_labels else None
    truth = read_ground_truth(kept(of.truth, "truth"), of.dataset, classes=table, image_labels=labels, split=of.split)
    read, notes = read_predictions_with_notes(
        place.file(asked.predictions, _PREDICTIONS),
        format=asked.format,
        boxes=asked.boxes,
        scores=asked.scores,
        dataset=of.dataset,
        truth=truth.interactions,
    )
    if asked.subset is not None:
        truth = truth.subset(asked.subset)
    if asked.images_in_predictions:
        truth = truth.within(read.images)
    log(f"read {len(read):,} predictions on {len(read.images):,} images as {notes.format}")
    stage("scoring", 0.5)
    report = score(
        read,
        truth,
        similarity=place.similarity(asked.similarity),
        protocols=asked.protocols,
        options=asked.options,
        notes=notes,
    )
    return asked, report, notes


def _score(place: _Place) -> Done:
    from shoe.evidence.wordings import wordings
    from shoe.report.classes import write_classes
    from shoe.report.json import as_json
    from shoe.report.notes import Evidence
    from shoe.report.wordings import write_wordings
    from shoe.runs.file import write_run
    from shoe.runs.run import Run

    asked, report, notes = _scored(place)
    evidence = Evidence.of(report, bounds=asked.bounds)
    stage("writing", 0.8)
    (place.out / "result.json").write_bytes(as_json(report, evidence))
    write_classes(report, place.out / "classes.csv")
    write_wordings(wordings(report), notes.unparsed, place.out / "words.csv")
    run = Run.of(report, _PREDICTIONS, evidence.spread, evidence.interval)
    write_run(run, place.out / "run.shoe")
    outputs = {"result.json": _JSON, "classes.csv": _CSV, "words.csv": _CSV, "run.shoe": "application/octet-stream"}
    return Done(outputs, run.figures(), str(report.signature))


def _page(place: _Place) -> Done:
    raise NotImplementedError


class _Ranking(msgspec.Struct):
    run: str
    resamples: int
    seed: int


def _board(place: _Place) -> Done:
    """What a run needs to stand in a leaderboard: its figures, and each under the draws of images that all share."""
    import numpy as np

    from shoe.comparison.resampling import Resampler, drawn_images
    from shoe.runs.file import read_run

    asked = place.request(_Ranking)
    run = read_run(place.file(asked.run, "run.shoe"))
    stage("resampling", 0.1)
    weights = drawn_images(len(run.images), asked.resamples, asked.seed)
    drawn: dict[str, Any] = dict(Resampler(run).resampled(weights))
    np.savez_compressed(place.out / "draws.npz", **drawn)
    known = {key: value for key, value in run.figures().items() if value is not None}
    return Done({"draws.npz": "application/octet-stream"}, known)


_KINDS: dict[str, Callable[[_Place], Done]] = {"board": _board, "score": _score}
