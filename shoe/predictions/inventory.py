"""Inventory of a dataset folder: recognised files, whether they match the published files, and missing files.

Files are recognised by their content, never by their names.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoe.benchmarks import DEFAULT, benchmark, benchmark_names
from shoe.benchmarks.base import IMAGE_LABELS, Benchmark, CardFile
from shoe.benchmarks.checks import benchmark_of_truth
from shoe.benchmarks.summary import Published, compare_with_published, sizes
from shoe.benchmarks.truth import read_truth_file
from shoe.core.documents import Count, Document
from shoe.core.errors import InputError, ShoeError
from shoe.core.io.files import read_bytes
from shoe.predictions import read_predictions
from shoe.predictions.formats.registry import BONGARD, PROBLEMS

_PICTURES, _CLOSED = (".jpg", ".jpeg", ".png"), {b"[": b"]", b"{": b"}"}


class FoundFile(Document, frozen=True):
    """A file of the checked folder: its contents, or the problem why it cannot be read.

    Attributes:
        file: path relative to the folder.
        kind: "ground truth", "image labels", "predictions" or "Bongard problems"; None if the file is not recognised.
        dataset: name of the dataset; None if unknown.
        format: name of the file format.
        holds: part of the dataset that is in the file, such as "test2015"; None if unknown.
        images, triplets: number of images and of triplets, for ground truth and predictions.
        empty_images, classes: number of images without triplets, and of classes with triplets, for ground truth.
        published: comparison of the counts of ground truth with the published counts; None if no counts are published.
        problem: error message if the file is unreadable and seems to be truncated or a file of a dataset.
    """

    file: str
    kind: str | None = None
    dataset: str | None = None
    format: str | None = None
    holds: str | None = None
    images: Count | None = None
    empty_images: Count | None = None
    triplets: Count | None = None
    classes: Count | None = None
    published: Published | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Inventory:
    """All files of a folder except images, sorted by path, and the number of images."""

    files: tuple[FoundFile, ...]
    pictures: int

    @property
    def datasets(self) -> list[str]:
        """Names of the datasets that have at least one file, sorted."""
        return sorted({file.dataset for file in self.files if file.dataset})

    def missing(self, dataset: Benchmark) -> dict[str, list[CardFile]]:
        """Return {missing part of a dataset: published files that contain this part}."""
        present = {file.holds for file in self.files if file.dataset == dataset.name}
        return {part: files for part, files in dataset.card.holdings.items() if part not in present}


def inventory(folder: str | Path) -> Inventory:
    """Return the inventory of a folder and its subfolders, without hidden files; InputError if it is no folder."""
    root = Path(folder)
    if not root.is_dir():
        raise InputError(root, found="no folder", expected="the folder with the files of a dataset")
    paths = sorted(path for path in root.rglob("*") if path.is_file() and not path.name.startswith("."))
    others = [path for path in paths if path.suffix.lower() not in _PICTURES]
    files = tuple(_identify(path, str(path.relative_to(root))) for path in others)
    return Inventory(files, pictures=len(paths) - len(others))


def _identify(path: Path, name: str) -> FoundFile:
    try:
        data = read_bytes(path)
    except ShoeError as error:
        return FoundFile(name, problem=str(error).removeprefix(f"{path}: "))
    if PROBLEMS.match(data):
        return FoundFile(name, BONGARD)
    problem = ""
    for candidate in _candidates(data):
        try:
            return _read_truth(path, name, candidate)
        except ShoeError as error:
            problem = problem or str(error).removeprefix(f"{path}: ")
        if candidate.read_image_labels is not None and candidate.test_images is not None:
            with suppress(ShoeError):
                candidate.read_image_labels(path, candidate.test_images(), candidate.classes, candidate)
                return FoundFile(name, IMAGE_LABELS, candidate.name, path.name, IMAGE_LABELS)
    marked = next((each for each in map(benchmark, benchmark_names()) if each.marks and each.marks.search(data)), None)
    dataset = marked.name if marked else None
    try:
        table = read_predictions(path, dataset=marked or DEFAULT)
        known = "predictions", dataset, table.notes.format or None
        return FoundFile(name, *known, images=len(table.images), triplets=len(table))
    except ShoeError as error:
        text = data.strip()
        is_cut_off = text[-1:] != _CLOSED.get(text[:1], text[-1:])
        message = str(error).removeprefix(f"{path}: ") if marked or is_cut_off else ""
    return FoundFile(name, dataset=dataset, problem=problem or message or None)


def _candidates(data: bytes) -> Iterator[Benchmark]:
    if data.startswith(b"PK"):
        yield from map(benchmark, benchmark_names())
    elif recognised := benchmark_of_truth(data, marked=True) or benchmark_of_truth(data, marked=False):
        yield recognised[0]


def _read_truth(path: Path, name: str, dataset: Benchmark) -> FoundFile:
    truth = read_truth_file(path, dataset)
    counts = sizes(truth)
    published = compare_with_published(dataset, truth.split, counts)
    holds = published.split if published else truth.split.partition("/")[0]
    holds = holds if holds in dataset.card.holdings else holds.partition(",")[0]
    counted: dict[str, Any] = {**counts, "published": published}
    return FoundFile(name, "ground truth", dataset.name, truth.format, holds or None, **counted)
