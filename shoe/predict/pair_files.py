"""Files of pairs: written as ``shoe diagnose`` reads them, and read from wherever they come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from shoe.benchmarks.base import Benchmark
from shoe.core.errors import InputError, meant, quote
from shoe.core.interactions import image_index
from shoe.io.files import replacing, unreadable
from shoe.io.typed import Box, ImageName, Whole
from shoe.predict.detection_files import check_same, inside
from shoe.predict.images import Picture
from shoe.predict.names import Names, objects_of
from shoe.predict.records import Pair, Paired, Score
from shoe.predictions.record_fields import image_names
from shoe.predictions.source import open_source


class _Pair(Struct, gc=False):
    h_box: Box
    o_box: Box
    o_label: Annotated[Whole | str, Meta(extra={"expected": "a whole number, or a word"})]
    h_score: Score = 1.0
    o_score: Score = 1.0


class _Image(Struct, gc=False):
    filename: ImageName
    box_pairs: Annotated[list[_Pair], Meta(extra={"item": "pair"})]
    digest: str = ""
    width: int = 0
    height: int = 0


def write_pairs(path: str | Path, records: Iterable[Paired]) -> None:
    """Write a line for each picture, the file appearing whole."""
    with replacing(path) as stream:
        for record in records:
            stream.write(msgspec.json.encode(record) + b"\n")


def read_paired(path: str | Path, pictures: Sequence[Picture], names: Names, benchmark: Benchmark) -> list[Paired]:
    """Read the pairs of pictures from a file in the form of :mod:`shoe.predictions.pair_predictions`.

    Args:
        path: the file.
        pictures: those that are asked about; pairs of others are left out.
        names: what numbers and labels stand for.
        benchmark: whose objects labels become.

    Returns:
        A record for each picture, in their order; one without pairs where the file has none of it.

    Raises:
        InputError: naming the image, pair and field that break the form, lie outside of the picture, or are no object.
    """
    path = Path(path)
    if path.is_dir():
        raise unreadable(path, IsADirectoryError())
    source = open_source(path, benchmark)
    records = source.typed(_Image)
    found = image_names(source, (record.filename for record in records), "filename")
    at = image_index(found, [picture.name for picture in pictures]).tolist()
    if found and max(at) < 0:
        expected = f"some of the pictures, as {quote(pictures[0].name)}"
        raise InputError(path, field="filename", found=f"images as {quote(found[0])}", expected=expected)
    pairs: list[list[Pair]] = [[] for _ in pictures]
    object_of: dict[float | str, str] = {}
    for record, name, number in zip(records, found, at, strict=True):
        if number < 0:
            continue
        picture = pictures[number]
        check_same(path, name, record.digest, (record.width, record.height), picture)
        for index, pair in enumerate(record.box_pairs):
            place = f"image {quote(name)}: pair {index}"
            human, thing = (inside(path, place, box, picture) for box in (pair.h_box, pair.o_box))
            if pair.o_label not in object_of:
                object_of[pair.o_label] = _object(path, place, pair.o_label, names, benchmark)
            pairs[number].append(Pair(human, thing, object_of[pair.o_label], pair.h_score, pair.o_score))
    return [
        Paired(image=one.name, digest=one.digest, width=one.width, height=one.height, pairs=tuple(of))
        for one, of in zip(pictures, pairs, strict=True)
    ]


def _object(path: Path, place: str, label: float | str, names: Names, benchmark: Benchmark) -> str:
    """The object that a pair's label is: a word, or an index from 0.

    Raises:
        InputError: for what is none: unlike a detector, who makes pairs has chosen their objects.
    """
    if not isinstance(label, str):
        if not 0 <= label < len(names.indices):
            expected = f"0 to {len(names.indices) - 1}, objects of {names.whose}"
            raise InputError(path, record=place, field="o_label", found=f"{label:g}", expected=expected)
        label = names.indices[int(label)]
    [found] = objects_of([label], names, benchmark)
    if found is None:
        expected, hint = f"an object of {benchmark.name}", meant(label, benchmark.objects)
        raise InputError(path, record=place, field="o_label", found=quote(label), expected=expected, hint=hint)
    return found
