"""Requests of jobs, which contain everything that the outcome depends on, and equivalent command lines."""

import shlex
from collections.abc import Mapping
from typing import Any

import msgspec

from shoe.service.truths import TruthOptions


class ScoringRequest(msgspec.Struct, kw_only=True):
    """Request to score or diagnose predictions: hashes of files, and the options of ``shoe score``.

    Attributes:
        predictions: SHA-256 of the prediction file.
        similarity: "name" of the similarity, and for a registered map also "folder" and "digest".
        name: name of the predictions in reports.
        file: name of the prediction file as uploaded.
        shown: whether reports may contain boxes and labels of the ground truth.
    """

    predictions: str
    truth: TruthOptions
    protocols: tuple[str, ...]
    similarity: dict[str, str]
    options: tuple[str, ...]
    boxes: str | None
    scores: str | None
    format: str | None
    subset: str | None
    images_in_predictions: bool
    bounds: bool
    bad_boxes: str = "refuse"
    name: str = "predictions"
    file: str | None = None
    shown: bool = False


class ComparedRun(msgspec.Struct):
    """A run in a comparison: SHA-256 of its file ``run.shoe``, and its name in the comparison."""

    sha256: str
    name: str


class ComparisonRequest(msgspec.Struct):
    """Request to compare runs, with the options of ``shoe compare``."""

    runs: list[ComparedRun]
    resamples: int | None
    seed: int
    allow_different: bool
    shown: bool = False


class RankingRequest(msgspec.Struct):
    """Request to prepare a run for a leaderboard.

    Attributes:
        run: SHA-256 of the file ``run.shoe`` of the run.
        resamples, seed: number of bootstrap samples of images, and random seed.
        shown: whether metrics are in full precision, because the ground truth may leave the server.
    """

    run: str
    resamples: int
    seed: int
    shown: bool


def command(kind: str, request: Mapping[str, Any], file: str | None = None) -> str:
    """Return the command line that prints the JSON of a job of kind score, page or compare.

    Args:
        file: name of the prediction file (default: the name in the request); ignored for a comparison.
    """
    if kind == "compare":
        compared = msgspec.convert(request, ComparisonRequest)
        words = ["shoe", "compare", *(f"{run.name}.shoe" for run in compared.runs)]
        words += ["--resamples", str(compared.resamples)] if compared.resamples else []
        words += ["--seed", str(compared.seed), *(["--allow-different"] if compared.allow_different else [])]
        return shlex.join([*words, "--json", "-"])
    asked = msgspec.convert(request, ScoringRequest)
    truth = asked.truth
    values = [("ground-truth", truth.truth.file), ("dataset", truth.dataset), ("split", truth.split)]
    files = {"classes": truth.classes, "image-labels": truth.image_labels}
    values += [(name, stored.file) for name, stored in files.items() if stored]
    values += [("protocol", name) for name in asked.protocols] + [("similarity", asked.similarity["name"])]
    values += [("option", option) for option in asked.options]
    values += [(name, getattr(asked, name)) for name in ("boxes", "scores", "format", "subset")]
    values += [("bad-boxes", asked.bad_boxes)] if asked.bad_boxes != "refuse" else []
    words = ["shoe", "score", file or asked.file or asked.name]
    words += [word for name, value in values if value is not None for word in (f"--{name}", value)]
    words += ["--images-in-predictions"] if asked.images_in_predictions else []
    words += ["--bounds"] if asked.bounds else []
    return shlex.join([*words, "--json", "-"])


def files_of(kind: str, request: Mapping[str, Any]) -> list[str]:
    """Return the SHA-256 of all stored files that a job reads."""
    if kind == "board":
        return [msgspec.convert(request, RankingRequest).run]
    if kind == "compare":
        return [run.sha256 for run in msgspec.convert(request, ComparisonRequest).runs]
    asked = msgspec.convert(request, ScoringRequest)
    return [asked.predictions, *(file.sha256 for file in asked.truth.files)]


def map_of(request: Mapping[str, Any]) -> str | None:
    """Return the folder name of the registered similarity map that a job reads; None if it reads no such map."""
    folder: str | None = request.get("similarity", {}).get("folder")
    return folder
