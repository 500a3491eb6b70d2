"""What jobs ask for: everything that their outcome depends on."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import msgspec

from shoe.service.truths import Reading


class Scoring(msgspec.Struct, kw_only=True):
    """How predictions are scored: hashes of files, and the options of ``shoe score``.

    Attributes:
        name: what the model is called, where that is said.
        shown: whether the ground truth may be.
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
    shown: bool = False

    @property
    def command(self) -> str:
        """What one would type to get the same."""
        words = ["shoe", "score", self.name, "--ground-truth", self.truth.truth.file, "--dataset", self.truth.dataset]
        words += [word for name in self.protocols for word in ("--protocol", name)]
        words += ["--similarity", self.similarity["name"]]
        words += [word for name in self.options for word in ("--option", name)]
        for name in ("boxes", "scores", "format", "subset"):
            value = getattr(self, name)
            words += [f"--{name}", value] if value is not None else []
        files = {"classes": self.truth.classes, "image-labels": self.truth.image_labels}
        words += [word for name, of in files.items() if of is not None for word in (f"--{name}", of.file)]
        words += ["--split", self.truth.split] if self.truth.split else []
        words += ["--images-in-predictions"] if self.images_in_predictions else []
        return shlex.join(words + (["--bounds"] if self.bounds else []))


class Compared(msgspec.Struct):
    """A run among others: the hash of its file, and its name there."""

    sha256: str
    name: str


class Comparing(msgspec.Struct):
    """Which runs are compared, and how."""

    runs: list[Compared]
    resamples: int | None
    seed: int
    allow_different: bool
    shown: bool = False


class Ranking(msgspec.Struct):
    """Which run is made ready for a leaderboard, and how images are drawn."""

    run: str
    resamples: int
    seed: int


def files_of(kind: str, request: Mapping[str, Any]) -> list[str]:
    """Hashes of the stored files that a job reads."""
    if kind == "board":
        return [msgspec.convert(request, Ranking).run]
    if kind == "compare":
        return [of.sha256 for of in msgspec.convert(request, Comparing).runs]
    asked = msgspec.convert(request, Scoring)
    return [asked.predictions, *(of.sha256 for of in asked.truth.files)]


def map_of(request: Mapping[str, Any]) -> str | None:
    """The folder of the registered map that a job reads, if any."""
    folder: str | None = request.get("similarity", {}).get("folder")
    return folder
