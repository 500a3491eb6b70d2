"""Validation of box indices and class IDs in ground truth files of all formats.

``place_of`` is a pair (names of m images, ascending (n,) image index of each triplet), ``index`` the (n,) value of
``field`` of each triplet, ``counts`` the (m,) number of boxes. InputError is raised for the first invalid value.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks import benchmark, benchmark_names
from shoe.benchmarks.base import Benchmark, TruthFormat
from shoe.core.arrays import Floats, Indices, Mask, first_true, positions
from shoe.core.errors import InputError, did_you_mean, flag, quote
from shoe.core.io.json import Box, describe_value

PlaceOf = tuple[Sequence[str], Indices]


def triplet_name(place_of: PlaceOf, row: int) -> str:
    """Return the name of triplet ``row`` in messages: 'image "a.jpg": triplet 1' for the first triplet of the image."""
    images, image = place_of
    return f"image {quote(images[image[row]])}: triplet {row - int(np.searchsorted(image, image[row])) + 1}"


def named_images(path: str | Path, name: Callable[[object], str], values: Iterable[object]) -> list[str]:
    """Return the image name ``name(value)`` of each value in a file; raise InputError if ``name`` raises ValueError."""
    names = []
    for number, value in enumerate(values):
        try:
            names.append(name(value))
        except ValueError:
            found, expected = describe_value(value), "the name or number of an image"
            raise InputError(path, record=f"image {number + 1}", found=found, expected=expected) from None
    return names


def named_record(kind: str = "image", key: str = "file_name") -> Callable[[object, int, Any], str]:
    """Return a callback that names a JSON record in messages: ``kind``, and the text at ``key`` or a number."""

    def name(_document: object, number: int, record: Any) -> str:
        text = record.get(key) if isinstance(record, dict) else None
        return f"{kind} {quote(text) if isinstance(text, str) else number + 1}"

    return name


def list_lengths(path: str | Path, names: Sequence[str], records: Sequence[object], *fields: str) -> Indices:
    """Return the (m,) length of the lists ``fields`` of each record; InputError if it differs between the lists."""
    counts, *others = (np.array([len(getattr(record, field)) for record in records], np.int64) for field in fields)
    for field, lengths in zip(fields[1:], others, strict=True):
        if (number := first_true(lengths != counts)) is not None:
            record, found = f"image {quote(names[number])}", f"{lengths[number]} entries"
            expected = f"{counts[number]}, as in {fields[0]}"
            raise InputError(path, record=record, field=field, found=found, expected=expected)
    return counts


def joined_boxes(lists: Iterable[list[Box]], count: int) -> Floats:
    """Return the boxes of all images as a (count, 4) array, image by image; ``count`` is their total number."""
    return np.fromiter(chain.from_iterable(chain.from_iterable(lists)), np.float64, 4 * count).reshape(-1, 4)


def check_range(
    path: str | Path, place_of: PlaceOf, field: str, index: Indices, size: int, first: int = 0, meaning: str = ""
) -> None:
    """Raise InputError for the first index outside ``first`` to ``first + size - 1``; ``meaning`` ends the message."""
    if (row := first_true((index < first) | (index >= first + size))) is not None:
        record, expected = triplet_name(place_of, row), f"{first} to {first + size - 1}{meaning}"
        raise InputError(path, record=record, field=field, found=str(index[row]), expected=expected)


def check_boxes(
    path: str | Path, place_of: PlaceOf, field: str, index: Indices, counts: Indices, wrong: Mask | None = None
) -> None:
    """Raise InputError for the first of n triplets whose ``index`` refers to no box of its image; boxes count from 0.

    ``wrong``, an (n,) mask of invalid triplets, overrides the check of the index.
    """
    limit = counts[place_of[1]]
    if (row := first_true((index < 0) | (index >= limit) if wrong is None else wrong)) is not None:
        hint = "perhaps the file counts boxes from 1" if index[row] == limit[row] else None
        hint = "only V-COCO has triplets without object" if index[row] == -1 and field == "object_id" else hint
        record, expected = triplet_name(place_of, row), f"the index of one of the image's {limit[row]} boxes, from 0"
        raise InputError(path, record=record, field=field, found=str(index[row]), expected=expected, hint=hint)


def box_name(images: Sequence[str], counts: Indices, box: int) -> str:
    """Return a name such as 'image "a.jpg": box 1' for messages; ``box`` is an index into the boxes of all images."""
    image = int(np.searchsorted(np.cumsum(counts), box, side="right"))
    return f"image {quote(images[image])}: box {box - int(counts[:image].sum()) + 1}"


def objects_of(
    path: str | Path, images: Sequence[str], counts: Indices, category: Indices, benchmark: Benchmark
) -> Indices:
    """Return the (boxes,) object index of each box, given its (boxes,) category ID in the file."""
    table, ids, source = benchmark.object_of_id, benchmark.object_ids, benchmark.object_numbers
    inside = (category >= 0) & (category < len(table))
    objects = np.where(inside, table[np.where(inside, category, 0)], -1)
    if (box := first_true(objects < 0)) is not None:
        is_full = len(ids) == len(table)
        known = f"one of {source}'s {len(ids)} category ids, between {min(ids)} and {max(ids)}"
        expected = f"0 to {len(ids) - 1}, an object of {source}" if is_full else known
        record = box_name(images, counts, box)
        raise InputError(path, record=record, field="category_id", found=str(category[box]), expected=expected)
    return objects


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
    """Return the (n,) index into the dataset's ``labels`` of each triplet's word; InputError for an unknown word.

    Args:
        part: "verb" or "object".
        index: (n,) index into ``words`` of each triplet's word; words that no triplet uses are not checked.
        place: callback that returns the name of a triplet for messages, given its row.
        limit: text after "one of the dataset's K verbs" in the error message.
        match: callback for words that equal no label: returns their label indices; -1 if no label matches.
    """
    label_of = positions(words, labels)
    if match is not None:
        other = np.unique(index[label_of[index] < 0])
        label_of[other] = match([words[i] for i in other])
    result: Indices = label_of[index]
    if (row := first_true(result < 0)) is not None:
        word = words[index[row]]
        expected = f"one of the dataset's {len(labels)} {part}s{limit}"
        hint = did_you_mean(word, labels)
        raise InputError(path, record=place(row), field=part, found=quote(word), expected=expected, hint=hint)
    return result


def refuse_other_benchmarks(path: str | Path, data: bytes, requested: Benchmark) -> None:
    """Raise InputError for ground truth of another benchmark, by its format, or its marks if both have the format."""
    is_own = any(known.fits(data) for known in requested.formats)
    if is_own and (requested.marks is None or requested.marks.search(data)):
        return
    other = benchmark_of_truth(data, requested, marked=is_own)
    if other is not None:
        owner, known = other
        found, hint = f"{known.name}, ground truth of {owner.name}", f"give {flag('dataset', owner.name)}"
        raise InputError(path, found=found, expected=f"ground truth of {requested.name}", hint=hint)


def benchmark_of_truth(
    data: bytes, exclude: Benchmark | None = None, *, marked: bool
) -> tuple[Benchmark, TruthFormat] | None:
    """Return the benchmark, not ``exclude``, and the format of a file; if ``marked``, the file must have its marks."""
    for name in benchmark_names():
        other = benchmark(name)
        if exclude is None or name != exclude.name:
            fitting = next((known for known in other.formats if known.fits(data)), None)
            if fitting and (not marked or (other.marks is not None and other.marks.search(data))):
                return other, fitting
    return None
