"""Inventory of a dataset folder: recognised files, whether they match the published files, and missing files.

Files are recognised by their content, never by their names.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from shoe.benchmarks import DEFAULT, benchmark, benchmark_names
from shoe.benchmarks.base import IMAGE_LABELS, Benchmark, CardFile
from shoe.benchmarks.checks import benchmark_of_truth
from shoe.benchmarks.summary import Published, compare_with_published, sizes
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
    """A file of the folder, recognised or not.

    Attributes:
        path: path relative to the folder.
        kind: "ground truth", "image labels", "predictions" or "Bongard problems"; "" for other files.
        dataset: name of the dataset; "" if unknown.
        format: name of the file format.
        holds: part of the dataset, as named in its dataset card; "" for none.
        counts: number of images and triplets; for ground truth also empty_images and classes.
        published: comparison of the counts of ground truth with the published ones; None if none were published.
        problem: why a file that belongs to a dataset, or is truncated, cannot be read.
    """

    path: str
    kind: str
    dataset: str = ""
    format: str = ""
    holds: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    published: Published | None = None
    problem: str = ""

    @property
    def whole(self) -> bool:
        """Whether the file is recognised and its counts match the published counts, if there are any."""
        return bool(self.kind) and (self.published is None or self.published.matches)


@dataclass(frozen=True, slots=True)
class Inventory:
    """All files of a folder except images, sorted by path, and the number of images."""

    files: tuple[Found, ...]
    pictures: int

    @property
    def datasets(self) -> list[str]:
        """Names of the datasets that have at least one file, sorted."""
        return sorted({file.dataset for file in self.files if file.dataset})

    def missing(self, of: Benchmark) -> dict[str, list[CardFile]]:
        """Return the parts of a dataset's card that no file holds, with the files that would provide each part."""
        present = {file.holds for file in self.files if file.dataset == of.name}
        return {holds: files for holds, files in of.card.holdings.items() if holds not in present}


def inventory(folder: str | Path) -> Inventory:
    """Identify all files of a folder and its subfolders. Raises InputError if it is not a folder."""
    root = Path(folder)
    if not root.is_dir():
        raise InputError(root, found="no folder", expected="the folder that holds a dataset's files")
    paths = sorted(path for path in root.rglob("*") if path.is_file() and not path.name.startswith("."))
    pictures = [path for path in paths if path.suffix.lower() in _PICTURES]
    others = (path for path in paths if path.suffix.lower() not in _PICTURES)
    return Inventory(tuple(_identify(path, str(path.relative_to(root))) for path in others), len(pictures))


def _identify(path: Path, name: str) -> Found:
    try:
        data = read_bytes(path)
    except ShoeError as error:
        return Found(name, "", problem=str(error).removeprefix(f"{path}: "))
    if PROBLEMS.match(data):
        return Found(name, BONGARD)
    problem = ""
    for candidate in _candidates(data):
        try:
            return _read_truth(path, name, candidate)
        except ShoeError as error:
            problem = problem or str(error).removeprefix(f"{path}: ")
        with suppress(ShoeError):
            return _read_labels(path, name, candidate)
    marked = next((each for each in map(benchmark, benchmark_names()) if each.marks and each.marks.search(data)), None)
    try:
        return _read_predictions(path, name, marked)
    except ShoeError as error:
        message = str(error).removeprefix(f"{path}: ") if marked or _is_truncated(data) else ""
    return Found(name, "", marked.name if marked else "", problem=problem or message)


def _is_truncated(data: bytes) -> bool:
    """Return whether the data starts with a JSON bracket and does not end with the matching one."""
    text = data.strip()
    return text[-1:] != _CLOSED.get(text[:1], text[-1:])


def _candidates(data: bytes) -> Iterator[Benchmark]:
    if data.startswith(_ZIP):
        yield from map(benchmark, benchmark_names())
    elif recognised := benchmark_of_truth(data, marked=True) or benchmark_of_truth(data, marked=False):
        yield recognised[0]


def _read_truth(path: Path, name: str, dataset: Benchmark) -> Found:
    truth = read_ground_truth(path, dataset)
    counts = sizes(truth)
    published = compare_with_published(dataset, truth.split, counts)
    holds = published.split if published else truth.split
    holds = holds if holds in dataset.card.holdings else holds.partition(",")[0]
    return Found(name, "ground truth", dataset.name, truth.format, holds, counts, published)


def _read_predictions(path: Path, name: str, dataset: Benchmark | None) -> Found:
    table, notes = read_predictions_with_notes(path, dataset=dataset or DEFAULT)
    counts = {"images": len(table.images), "triplets": len(table)}
    return Found(name, "predictions", dataset.name if dataset else "", notes.format, counts=counts)


def _read_labels(path: Path, name: str, dataset: Benchmark) -> Found:
    if dataset.read_image_labels is None or dataset.test_images is None:
        raise InputError(path, found="no image labels", expected=IMAGE_LABELS)
    dataset.read_image_labels(path, dataset.test_images(), dataset.classes, dataset)
    return Found(name, IMAGE_LABELS, dataset.name, path.name, IMAGE_LABELS)
