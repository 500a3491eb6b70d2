"""Inventory of a dataset folder: recognised files, whether they match the published files, and missing files.

Files are recognised by their content, never by their names.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from shoe.benchmarks import DEFAULT, benchmark, benchmark_names
from shoe.benchmarks.base import IMAGE_LABELS, Benchmark, CardFile
from shoe.benchmarks.checks import benchmark_of_truth
from shoe.benchmarks.summary import Published, compare_with_published, sizes
from shoe.benchmarks.truth import read_truth_file
from shoe.core.errors import InputError, ShoeError
from shoe.core.io.files import read_bytes
from shoe.predictions import read_predictions_with_notes
from shoe.predictions.formats.registry import BONGARD, PROBLEMS

_PICTURES = (".jpg", ".jpeg", ".png")
_CLOSED = {b"[": b"]", b"{": b"}"}


@dataclass(frozen=True, slots=True)
class InventoryFile:
    """A file of the folder, recognised or not.

    Attributes:
        path: path relative to the folder.
        kind: "ground truth", "image labels", "predictions" or "Bongard problems"; "" for other files.
        dataset: name of the dataset; "" if unknown.
        holds: part of the dataset in the file, as named in the dataset card; "" if unknown.
        counts: number of images and triplets; for ground truth also empty_images and classes.
        published: comparison of the counts of ground truth with the published counts; None if no counts are published.
        problem: error message for a file of a dataset, or a truncated file, that cannot be read; "" if there is none.
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
    def is_complete(self) -> bool:
        """Whether the file is recognised and its counts match the published counts, if there are any."""
        return bool(self.kind) and (self.published is None or self.published.matches)


@dataclass(frozen=True, slots=True)
class Inventory:
    """All files of a folder except images, sorted by path, and the number of images."""

    files: tuple[InventoryFile, ...]
    pictures: int

    @property
    def datasets(self) -> list[str]:
        """Names of the datasets that have at least one file, sorted."""
        return sorted({file.dataset for file in self.files if file.dataset})

    def missing(self, dataset: Benchmark) -> dict[str, list[CardFile]]:
        """Return the missing parts of a dataset, each with the published files that contain it."""
        present = {file.holds for file in self.files if file.dataset == dataset.name}
        return {part: files for part, files in dataset.card.holdings.items() if part not in present}


def inventory(folder: str | Path) -> Inventory:
    """Return the inventory of a folder and its subfolders, without hidden files; InputError if it is no folder."""
    root = Path(folder)
    if not root.is_dir():
        raise InputError(root, found="no folder", expected="the folder with the files of a dataset")
    paths = sorted(path for path in root.rglob("*") if path.is_file() and not path.name.startswith("."))
    pictures = [path for path in paths if path.suffix.lower() in _PICTURES]
    others = (path for path in paths if path.suffix.lower() not in _PICTURES)
    return Inventory(tuple(_identify(path, str(path.relative_to(root))) for path in others), len(pictures))


def _identify(path: Path, name: str) -> InventoryFile:
    try:
        data = read_bytes(path)
    except ShoeError as error:
        return InventoryFile(name, "", problem=str(error).removeprefix(f"{path}: "))
    if PROBLEMS.match(data):
        return InventoryFile(name, BONGARD)
    problem = ""
    for candidate in _candidates(data):
        try:
            return _read_truth(path, name, candidate)
        except ShoeError as error:
            problem = problem or str(error).removeprefix(f"{path}: ")
        if candidate.read_image_labels is not None and candidate.test_images is not None:
            with suppress(ShoeError):
                candidate.read_image_labels(path, candidate.test_images(), candidate.classes, candidate)
                return InventoryFile(name, IMAGE_LABELS, candidate.name, path.name, IMAGE_LABELS)
    marked = next((each for each in map(benchmark, benchmark_names()) if each.marks and each.marks.search(data)), None)
    try:
        table, notes = read_predictions_with_notes(path, dataset=marked or DEFAULT)
        counts = {"images": len(table.images), "triplets": len(table)}
        return InventoryFile(name, "predictions", marked.name if marked else "", notes.format, counts=counts)
    except ShoeError as error:
        text = data.strip()
        is_cut_off = text[-1:] != _CLOSED.get(text[:1], text[-1:])
        message = str(error).removeprefix(f"{path}: ") if marked or is_cut_off else ""
    return InventoryFile(name, "", marked.name if marked else "", problem=problem or message)


def _candidates(data: bytes) -> Iterator[Benchmark]:
    if data.startswith(b"PK"):
        yield from map(benchmark, benchmark_names())
    elif recognised := benchmark_of_truth(data, marked=True) or benchmark_of_truth(data, marked=False):
        yield recognised[0]


def _read_truth(path: Path, name: str, dataset: Benchmark) -> InventoryFile:
    truth = read_truth_file(path, dataset)
    counts = sizes(truth)
    published = compare_with_published(dataset, truth.split, counts)
    holds = published.split if published else truth.split.partition("/")[0]
    holds = holds if holds in dataset.card.holdings else holds.partition(",")[0]
    return InventoryFile(name, "ground truth", dataset.name, truth.format, holds, counts, published)
