"""What every format that points from triplets to boxes and classes has to keep: checked here, named by image and index.

Arguments that come up everywhere: ``path`` is the file and ``field`` the index's name in it; ``place_of`` is the names
of m images and the (n,) index of each triplet's image, ascending; ``index`` is what the file gives for each of these n
triplets; ``counts`` is the (m,) number of boxes of each image. All raise an ``InputError`` for the first that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks import benchmark, benchmark_names
from shoe.benchmarks.base import Benchmark, TruthFormat
from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.errors import InputError, flag, meant, quote
from shoe.core.io.json import Box, shown

PlaceOf = tuple[Sequence[str], Indices]


def triplet_name(place_of: PlaceOf, row: int) -> str:
    """Name a triplet in a message: its image, and its index there, counted from 0."""
    images, image = place_of
    return f"image {quote(images[image[row]])}: triplet {row - int(np.searchsorted(image, image[row]))}"


def named_images(path: str | Path, name: Callable[[object], str], values: Iterable[object]) -> list[str]:
    """Name images from what a file calls them, by :attr:`shoe.benchmarks.base.Benchmark.image_name`."""
    names = []
    for number, value in enumerate(values):
        try:
            names.append(name(value))
        except ValueError:
            found, expected = shown(value), "the name or number of an image"
            raise InputError(path, record=f"image {number}", found=found, expected=expected) from None
    return names


def named_record(kind: str = "image", key: str = "file_name") -> Callable[[object, int, Any], str]:
    """Return a function that names a JSON record in messages: by its text under ``key``, else by its number."""

    def name(_document: object, number: int, record: Any) -> str:
        found = record.get(key) if isinstance(record, dict) else None
        return f"{kind} {quote(found) if isinstance(found, str) else number}"

    return name


def list_lengths(path: str | Path, names: Sequence[str], records: Sequence[object], *fields: str) -> Indices:
    """Return the (m,) length of the first list of each image, which all its other ``fields`` have to have, too."""
    counts, *others = (np.array([len(getattr(record, field)) for record in records], np.int64) for field in fields)
    for field, lengths in zip(fields[1:], others, strict=True):
        if (lengths != counts).any():
            number = int(np.argmax(lengths != counts))
            record, found = f"image {quote(names[number])}", f"{lengths[number]} entries"
            expected = f"{counts[number]}, as in {fields[0]}"
            raise InputError(path, record=record, field=field, found=found, expected=expected)
    return counts


def joined_boxes(lists: Iterable[list[Box]], count: int) -> Floats:
    """Return the (count, 4) boxes of all images, one image after the other."""
    numbers = chain.from_iterable(chain.from_iterable(lists))
    return np.fromiter(numbers, np.float64, 4 * count).reshape(-1, 4)


def check_range(
    path: str | Path, place_of: PlaceOf, field: str, index: Indices, size: int, first: int = 0, meaning: str = ""
) -> None:
    """Refuse an index that is not ``first`` to ``first + size - 1``, of which ``meaning`` says more."""
    wrong = (index < first) | (index >= first + size)
    if wrong.any():
        row = int(np.argmax(wrong))
        expected = f"{first} to {first + size - 1}{meaning}"
        raise InputError(
            path, record=triplet_name(place_of, row), field=field, found=str(index[row]), expected=expected
        )


def check_boxes(
    path: str | Path, place_of: PlaceOf, field: str, index: Indices, counts: Indices, wrong: Mask | None = None
) -> None:
    """Refuse an index that is none of its image's boxes, from 0; or the ``wrong`` rows, where not all such are."""
    limit = counts[place_of[1]]
    wrong = (index < 0) | (index >= limit) if wrong is None else wrong
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            path,
            record=triplet_name(place_of, row),
            field=field,
            found=str(index[row]),
            expected=f"the index of one of the image's {limit[row]} boxes, from 0",
            hint="triplets without object are V-COCO's" if index[row] == -1 and field == "object_id" else None,
        )


def objects_of(
    path: str | Path, images: Sequence[str], counts: Indices, category: Indices, table: Indices, expected: str
) -> Indices:
    """Look up what the categories of boxes mean.

    ``category`` is (boxes,) as the file has it; ``table`` has the object of each category, -1 for numbers that are
    none; ``expected`` says in words which categories there are.

    Returns:
        (boxes,) object of each box.
    """
    inside = (category >= 0) & (category < len(table))
    found = np.where(inside, table[np.where(inside, category, 0)], -1)
    if (found < 0).any():
        box = int(np.argmax(found < 0))
        image = int(np.searchsorted(np.cumsum(counts), box, side="right"))
        record = f"image {quote(images[image])}: box {box - int(counts[:image].sum())}"
        raise InputError(path, record=record, field="category_id", found=str(category[box]), expected=expected)
    return found


def labels_of_words(
    path: str | Path,
    part: str,
    index: NDArray[np.integer],
    words: Sequence[str],
    labels: Sequence[str],
    place: Callable[[int], str],
    limit: str = "",
    match: Callable[[Sequence[str]], NDArray[np.integer]] | None = None,
) -> Indices:
    """Find the dataset's labels of words.

    Only words that occur in ``index``, (n,) each triplet's, have to be labels. ``place`` names a triplet, ``limit``
    says more of the labels, and ``match`` finds labels of words that do not equal one, -1 if there is none.

    Returns:
        (n,) indices into ``labels``.
    """
    position = {label: i for i, label in enumerate(labels)}
    label_of = np.array([position.get(word, -1) for word in words], np.int64)
    if match is not None:
        other = np.unique(index[label_of[index] < 0])
        label_of[other] = match([words[i] for i in other])
    found: Indices = label_of[index]
    if (found < 0).any():
        row = int(np.argmax(found < 0))
        word = words[index[row]]
        expected = f"one of the dataset's {len(labels)} {part}s{limit}"
        hint = meant(word, labels)
        raise InputError(path, record=place(row), field=part, found=quote(word), expected=expected, hint=hint)
    return found


# Files of one benchmark given as another's are told as what they are: by the formats that every benchmark has.


def refuse_other_benchmarks(path: str | Path, data: bytes, of: Benchmark) -> None:
    """Refuse ground truth of another benchmark than the one asked for.

    A file may fit formats of two benchmarks: it is the one's whose image names are in it.

    Raises:
        InputError: naming the file's format and benchmark, and how to read it.
    """
    is_own = any(known.fits(data) for known in of.formats)
    if is_own and (of.marks is None or of.marks.search(data)):
        return
    found = benchmark_of_truth(data, of, marked=is_own)
    if found is not None:
        other, known = found
        hint = f"give {flag('dataset', other.name)}"
        what = f"{known.name}, ground truth of {other.name}"
        raise InputError(path, found=what, expected=f"ground truth of {of.name}", hint=hint)


def benchmark_of_truth(
    data: bytes, besides: Benchmark | None = None, *, marked: bool
) -> tuple[Benchmark, TruthFormat] | None:
    """Tell whose ground truth a file is.

    ``besides`` is a benchmark whose it is not; if ``marked``, names of the benchmark's images have to be in the file.
    """
    for name in benchmark_names():
        other = benchmark(name)
        if besides is None or name != besides.name:
            fitting = next((known for known in other.formats if known.fits(data)), None)
            if fitting and (not marked or (other.marks is not None and other.marks.search(data))):
                return other, fitting
    return None
