"""Requests of jobs: everything that their outcome depends on."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import msgspec

from shoe.service.truths import Reading


class Scoring(msgspec.Struct, kw_only=True):
    """How predictions are scored: hashes of files, and the options of ``shoe score``.

    Attributes:
        file: name of the client's file.
        shown: whether the ground truth may be shown.
    """

    predictions: str
    truth: Reading
    protocols: tuple[str, ...]
    similarity: dict[str, str]
    options: tuple[str, ...]
    boxes: str | None
    scores: str | None
    format: str | None
    subset: str | None
    images_in_predictions: bool
    bounds: bool
    name: str = "predictions"
    file: str | None = None
    shown: bool = False


class Compared(msgspec.Struct):
    """A run in a comparison: the hash of its file, and its name there."""

    sha256: str
    name: str


class Comparing(msgspec.Struct):
    """Runs to compare, and options of the comparison."""

    runs: list[Compared]
    resamples: int | None
    seed: int
    allow_different: bool
    shown: bool = False


class Ranking(msgspec.Struct):
    """Run to prepare for a leaderboard, and options of the draws of images."""

    run: str
    resamples: int
    seed: int


def command(kind: str, request: Mapping[str, Any], file: str | None = None) -> str:
    """Return the command that prints the JSON of a job of kind score, page or compare.

    Args:
        file: name of the prediction file; the one in the request unless given.
    """
    if kind == "compare":
        compared = msgspec.convert(request, Comparing)
        words = ["shoe", "compare", *(f"{run.name}.shoe" for run in compared.runs)]
        words += ["--resamples", str(compared.resamples)] if compared.resamples else []
        words += ["--seed", str(compared.seed), *(["--allow-different"] if compared.allow_different else [])]
        return shlex.join([*words, "--json", "-"])
    asked = msgspec.convert(request, Scoring)
    truth = asked.truth
    values = [("ground-truth", truth.truth.file), ("dataset", truth.dataset), ("split", truth.split)]
    files = {"classes": truth.classes, "image-labels": truth.image_labels}
    values += [(name, stored.file) for name, stored in files.items() if stored]
    values += [("protocol", name) for name in asked.protocols] + [("similarity", asked.similarity["name"])]
    values += [("option", option) for option in asked.options]
    values += [(name, getattr(asked, name)) for name in ("boxes", "scores", "format", "subset")]
    words = ["shoe", "score", file or asked.file or asked.name]
    words += [word for name, value in values if value is not None for word in (f"--{name}", value)]
    words += ["--images-in-predictions"] if asked.images_in_predictions else []
    words += ["--bounds"] if asked.bounds else []
    return shlex.join([*words, "--json", "-"])


def files_of(kind: str, request: Mapping[str, Any]) -> list[str]:
    """Return hashes of the stored files that a job reads."""
    if kind == "board":
        return [msgspec.convert(request, Ranking).run]
    if kind == "compare":
        return [of.sha256 for of in msgspec.convert(request, Comparing).runs]
    asked = msgspec.convert(request, Scoring)
    return [asked.predictions, *(of.sha256 for of in asked.truth.files)]


def map_of(request: Mapping[str, Any]) -> str | None:
    """Return the folder of the registered map that a job reads, if any."""
    folder: str | None = request.get("similarity", {}).get("folder")
    return folder
