"""What lies in a folder: which files of which dataset, whether they are whole, and what is missing for what.

Every file is opened and read: names decide nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoe.benchmarks import DEFAULT, benchmark, benchmark_names
from shoe.benchmarks.base import IMAGE_LABELS, Benchmark, CardFile
from shoe.benchmarks.checks import benchmark_of_truth
from shoe.benchmarks.summary import compare, sizes
from shoe.benchmarks.truth import read_ground_truth
from shoe.core.errors import InputError, ShoeError
from shoe.core.io.files import read_bytes
from shoe.predictions import read_predictions_with_notes
from shoe.predictions.formats.registry import BONGARD, PROBLEMS

_PICTURES = (".jpg", ".jpeg", ".png")
_ZIP = b"PK"
_CLOSED = {b"[": b"]", b"{": b"}"}


@dataclass(frozen=True, slots=True)
class Found:
    """A file that shoe knows, or what is wrong with one that it nearly knows.

    Attributes:
        path: the file, from the folder on.
        kind: "ground truth", "image labels", "predictions" or "Bongard problems"; "" for what shoe does not read.
        dataset: whose it is; "" where that cannot be told.
        format: how it is written.
        holds: which part of the dataset, as its card calls it; "" where none.
        counts: images and triplets; of ground truth also empty_images and classes.
        published: of ground truth, how these differ from what was published; None where nothing was.
        problem: why a file that is a dataset's, or cut off, cannot be read.
    """

    path: str
    kind: str
    dataset: str = ""
    format: str = ""
    holds: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    published: dict[str, Any] | None = None
    problem: str = ""

    @property
    def whole(self) -> bool:
        """Whether it is what was published under its name, as far as is known."""
        return bool(self.kind) and (self.published is None or bool(self.published["matches"]))


@dataclass(frozen=True, slots=True)
class Inventory:
    """A folder's files.

    Attributes:
        files: those that are no pictures, by path.
        pictures: how many pictures there are.
    """

    files: tuple[Found, ...]
    pictures: int

    @property
    def datasets(self) -> list[str]:
        """Datasets of which there is something."""
        return sorted({file.dataset for file in self.files if file.dataset})

    def missing(self, of: Benchmark) -> dict[str, list[CardFile]]:
        """What a dataset's card names and no file holds, each with the files that do."""
        there = {file.holds for file in self.files if file.dataset == of.name}
        return {holds: files for holds, files in of.card.holdings.items() if holds not in there}


def inventory(folder: str | Path) -> Inventory:
    """Look at all files of a folder and of those below it.

    Raises:
        InputError: for what is no folder.
    """
    root = Path(folder)
    if not root.is_dir():
        raise InputError(root, found="no folder", expected="the folder that holds a dataset's files")
    paths = sorted(path for path in root.rglob("*") if path.is_file() and not path.name.startswith("."))
    pictures = [path for path in paths if path.suffix.lower() in _PICTURES]
    others = (path for path in paths if path.suffix.lower() not in _PICTURES)
    return Inventory(tuple(_look(path, str(path.relative_to(root))) for path in others), len(pictures))


def _look(path: Path, name: str) -> Found:
    try:
        data = read_bytes(path)
    except ShoeError as error:
        return Found(name, "", problem=str(error).removeprefix(f"{path}: "))
    if PROBLEMS.match(data):
        return Found(name, BONGARD)
    problem = ""
    for of in _candidates(data):
        try:
            return _truth(path, name, of)
        except ShoeError as error:
            problem = problem or str(error).removeprefix(f"{path}: ")
        with suppress(ShoeError):
            return _labels(path, name, of)
    whose = next((of for of in map(benchmark, benchmark_names()) if of.marks and of.marks.search(data)), None)
    try:
        return _predictions(path, name, whose)
    except ShoeError as error:
        said = str(error).removeprefix(f"{path}: ") if whose or _cut_off(data) else ""
    return Found(name, "", whose.name if whose else "", problem=problem or said)


def _cut_off(data: bytes) -> bool:
    """Whether a file begins as JSON does and ends otherwise."""
    text = data.strip()
    return text[-1:] != _CLOSED.get(text[:1], text[-1:])


def _candidates(data: bytes) -> Iterator[Benchmark]:
    """The benchmarks whose ground truth a file may be."""
    if data.startswith(_ZIP):
        yield from map(benchmark, benchmark_names())
    elif found := benchmark_of_truth(data, marked=True) or benchmark_of_truth(data, marked=False):
        yield found[0]


def _truth(path: Path, name: str, of: Benchmark) -> Found:
    truth = read_ground_truth(path, of)
    counts = sizes(truth)
    published = compare(of, truth.split, counts)
    holds = published["split"] if published else truth.split
    holds = holds if holds in of.card.holdings else holds.partition(",")[0]
    return Found(name, "ground truth", of.name, truth.format, holds, counts, published)


def _predictions(path: Path, name: str, whose: Benchmark | None) -> Found:
    table, notes = read_predictions_with_notes(path, dataset=whose or DEFAULT)
    counts = {"images": len(table.images), "triplets": len(table)}
    return Found(name, "predictions", whose.name if whose else "", notes.format, counts=counts)


def _labels(path: Path, name: str, of: Benchmark) -> Found:
    if of.read_image_labels is None or of.test_images is None:
        raise InputError(path, found="no image labels", expected=IMAGE_LABELS)
    of.read_image_labels(path, of.test_images(), of.classes, of)
    return Found(name, IMAGE_LABELS, of.name, path.name, IMAGE_LABELS)
