"""Files of detections: COCO's results, YOLO's text, and our own lines; read by what they hold, not by their names."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct

from shoe.benchmarks.base import Benchmark
from shoe.core.errors import InputError, meant, quote
from shoe.core.interactions import image_index
from shoe.io.files import read_bytes
from shoe.io.json import read_typed
from shoe.io.typed import Box, Whole, shown
from shoe.predict.images import Picture
from shoe.predict.lines import read_lines
from shoe.predict.names import Named, NamedFile, Names, images_of, objects_of
from shoe.predict.records import Detected, Detection, Score

DETECTIONS = "shoe detections"
"""What the first line of our own file says that it is."""
_OUTSIDE = 2.0
"""Pixels by which rounded boxes may lie over a picture's edge."""
_NUMBER = re.compile(r"(\d+)\D*$")
_YOLO_FIELDS = (5, 6)
_FORMS = "COCO's results, a folder of YOLO's text files, or lines of shoe detections"


class Found(NamedTuple):
    """A box as a file has it: what the file calls the image, where in the file it stands, edges in pixels."""

    image: str
    place: str
    box: tuple[float, float, float, float]
    label: str
    score: float


@dataclass(slots=True)
class Detections:
    """What a file or a detector says of pictures.

    Attributes:
        pictures: the detections of each picture, by name; every picture that was looked at has an entry.
        unknown: labels that are no objects of the benchmark, and how many boxes have them; these are left out.
        other_images: boxes in pictures that were not asked about.
        by: how they came about, JSON for the provenance of what is made of them.
    """

    pictures: dict[str, Detected]
    unknown: Counter[str] = field(default_factory=Counter)
    other_images: int = 0
    by: Mapping[str, Any] = field(default_factory=dict)


class _Result(Struct):
    image_id: Whole | str
    category_id: Whole
    bbox: Annotated[Box, Meta(extra={"expected": "[x, y, width, height]"})]
    score: Score


class _Dataset(Struct):
    images: Annotated[list[NamedFile], Meta(extra={"item": "image"})]
    categories: Annotated[list[Named], Meta(extra={"item": "category"})]
    annotations: Annotated[list[_Result], Meta(extra={"item": "annotation"})]


def read_detections(path: str | Path, pictures: Sequence[Picture], names: Names, benchmark: Benchmark) -> Detections:
    """Read the detections of pictures.

    Args:
        path: of the file, or of the folder of YOLO's text files.
        pictures: those that were asked about.
        names: what numbers and labels stand for.
        benchmark: whose objects labels become.

    Raises:
        InputError: for a file of no such form; naming what in it is of no picture, has a number that is no class, or
            lies outside of its picture; and where no label is an object.
    """
    path = Path(path)
    if path.is_dir():
        by: Mapping[str, Any] = {"file": path.name, "format": "yolo"}
        return _gathered(path, _yolo(path, pictures, names), pictures, names, benchmark, by)
    data = read_bytes(path)
    start = data.lstrip()[:1]
    if start == b"[":
        results = read_typed(path, data, list[_Result], lambda _document, number, _record: f"result {number}")
        return _gathered(path, _coco(path, results, names, pictures), pictures, names, benchmark, _by(path, "coco"))
    if start == b"{" and (document := _one_object(data)) is not None and "annotations" in document:
        dataset = read_typed(path, data, _Dataset, lambda _document, number, _record: f"item {number}")
        ids = {int(category.id): category.name for category in dataset.categories}
        names = replace(names, categories=ids, images=images_of(dataset.images), whose=path.name)
        found = _coco(path, dataset.annotations, names, pictures)
        return _gathered(path, found, pictures, names, benchmark, _by(path, "coco"))
    if start != b"{":
        raise InputError(path, found=shown(data[:16].decode("utf-8", "replace")), expected=_FORMS)
    by, records = read_lines(path, Detected, DETECTIONS)
    return _own(path, records, by or _by(path, "jsonl"), pictures, names, benchmark)


def _by(path: Path, form: str) -> dict[str, str]:
    return {"file": path.name, "format": form}


def _one_object(data: bytes) -> dict[str, Any] | None:
    """The object that a document is; None for lines, of which the first says what they are."""
    try:
        return dict(msgspec.json.decode(data, type=dict[str, msgspec.Raw]))
    except msgspec.DecodeError:
        return None


def _own(
    path: Path,
    records: Sequence[Detected],
    by: Mapping[str, Any],
    pictures: Sequence[Picture],
    names: Names,
    benchmark: Benchmark,
) -> Detections:
    known = {picture.name: picture for picture in pictures}
    for record in records:
        check_same(path, record.image, record.digest, (record.width, record.height), known.get(record.image))
    found = (
        Found(record.image, f"image {quote(record.image)}: detection {number}", *one)
        for record in records
        for number, one in enumerate(map(msgspec.structs.astuple, record.detections))
    )
    return _gathered(path, found, pictures, names, benchmark, by, {record.image for record in records})


def check_same(path: Path, image: str, digest: str, size: tuple[int, int], picture: Picture | None) -> None:
    """See that what a file says of an image is of the picture that has its name now.

    Args:
        path: the file.
        image: its name.
        digest: of its content; "" where the file does not say.
        size: width and height; zeros where the file does not say.
        picture: the picture of this name, if it was looked at.

    Raises:
        InputError: naming the image, and what is different.
    """
    if picture is None:
        return
    now = (picture.width, picture.height)
    for field_, found, expected in (
        ("digest", digest or picture.digest, picture.digest),
        ("width, height", "{} x {}".format(*(size if any(size) else now)), "{} x {}".format(*now)),
    ):
        if found != expected:
            where, expected = f"image {quote(image)}", f"{expected}, as the picture has"
            raise InputError(path, record=where, field=field_, found=found, expected=expected)


def _coco(path: Path, results: Iterable[_Result], names: Names, pictures: Sequence[Picture]) -> Iterable[Found]:
    name_of = _image_namer(path, names, pictures)
    for number, result in enumerate(results):
        place, category = f"result {number}", int(result.category_id)
        if category not in names.categories:
            expected = f"a category id of {names.whose}"
            hint = "indices from 0 need a file of names" if category == 0 else None
            raise InputError(path, record=place, field="category_id", found=str(category), expected=expected, hint=hint)
        x, y, width, height = result.bbox
        box = (x, y, x + width, y + height)
        image = result.image_id if isinstance(result.image_id, str) else int(result.image_id)
        yield Found(name_of(image, place), place, box, names.categories[category], result.score)


def _image_namer(path: Path, names: Names, pictures: Sequence[Picture]) -> Callable[[int | str, str], str]:
    """Name images by a file's names of them, else by the number at the end of a picture's name, as COCO's have it."""
    of_number: dict[int, str | None] = {}
    for picture in pictures:
        if match := _NUMBER.search(picture.path.stem):
            number = int(match[1])
            of_number[number] = None if number in of_number else picture.name

    def name_of(image: int | str, place: str) -> str:
        if isinstance(image, str):
            return names.images.get(image, image)
        number = int(image)
        if names.images:
            return names.images.get(number, "")
        if (name := of_number.get(number, "")) is None:
            expected = "one picture whose name ends with it"
            hint = "a file of names with COCO's images tells them apart"
            raise InputError(
                path, record=place, field="image_id", found=f"{number}, of two", expected=expected, hint=hint
            )
        return name

    return name_of


def _yolo(folder: Path, pictures: Sequence[Picture], names: Names) -> Iterable[Found]:
    known = {picture.path.stem: picture for picture in pictures}
    files = sorted(folder.glob("*.txt"))
    if not files:
        raise InputError(folder, found="a folder without .txt files", expected="a file of YOLO's for each picture")
    for path in files:
        if (picture := known.get(path.stem)) is None:
            continue  # classes.txt, or a picture that was not asked about
        size = (picture.width, picture.height)
        for number, line in enumerate(read_bytes(path).decode("utf-8", "replace").splitlines(), 1):
            if line.strip():
                yield _yolo_line(path, f"line {number}", line.split(), picture.name, size, names)


def _yolo_line(path: Path, place: str, fields: Sequence[str], image: str, size: tuple[int, int], names: Names) -> Found:
    expected = "a class, four numbers from 0 to 1, and a score"
    try:
        label, (x, y, w, h, *rest) = int(fields[0]), map(float, fields[1:])
    except ValueError:
        raise InputError(path, record=place, found=quote(" ".join(fields)), expected=expected) from None
    numbers = (x, y, w, h, *rest)
    if len(fields) not in _YOLO_FIELDS or not all(math.isfinite(n) and -0.01 <= n <= 1.01 for n in numbers):
        raise InputError(path, record=place, found=quote(" ".join(fields)), expected=expected)
    if not 0 <= label < len(names.indices):
        expected = f"0 to {len(names.indices) - 1}, classes of {names.whose}"
        raise InputError(path, record=place, found=f"class {label}", expected=expected)
    width, height = size
    box = ((x - w / 2) * width, (y - h / 2) * height, (x + w / 2) * width, (y + h / 2) * height)
    return Found(image, f"{path.name}: {place}", box, names.indices[label], min(rest[0], 1.0) if rest else 1.0)


def _gathered(
    path: Path,
    found: Iterable[Found],
    pictures: Sequence[Picture],
    names: Names,
    benchmark: Benchmark,
    by: Mapping[str, Any],
    said: Iterable[str] = (),
) -> Detections:
    """Boxes by picture, labels as objects; see :func:`read_detections` for what is refused."""
    boxes = list(found)
    called = list(dict.fromkeys([*(box.image for box in boxes), *said]))
    index = dict(zip(called, image_index(called, [picture.name for picture in pictures]).tolist(), strict=True))
    if called and max(index.values()) < 0:
        found_, expected = f"images as {quote(called[0])}", f"some of the pictures, as {quote(pictures[0].name)}"
        raise InputError(path, found=found_, expected=expected)
    labels = list(dict.fromkeys(box.label for box in boxes))
    object_of = dict(zip(labels, objects_of(labels, names, benchmark), strict=True))
    if labels and not any(object_of.values()) and "detector" not in by:  # one that was seen to know some object
        found_, hint = f"no object, but {', '.join(map(quote, labels[:5]))}", meant(labels[0], benchmark.objects)
        raise InputError(path, field="labels", found=found_, expected=f"objects of {benchmark.name}", hint=hint)
    gathered = Detections({}, by=by)
    of_picture: list[list[Detection]] = [[] for _ in pictures]
    for box in boxes:
        number, object_ = index[box.image], object_of[box.label]
        if number < 0:
            gathered.other_images += 1
        elif object_ is None:
            gathered.unknown[box.label] += 1
        else:
            of_picture[number].append(Detection(inside(path, box.place, box.box, pictures[number]), object_, box.score))
    for picture, mine in zip(pictures, of_picture, strict=True):
        gathered.pictures[picture.name] = detected(picture, mine)
    return gathered


def detected(picture: Picture, detections: Iterable[Detection]) -> Detected:
    """The record of a picture's detections."""
    return Detected(
        image=picture.name,
        digest=picture.digest,
        width=picture.width,
        height=picture.height,
        detections=tuple(detections),
    )


def inside(
    path: Path, place: str, box: tuple[float, float, float, float], picture: Picture
) -> tuple[float, float, float, float]:
    """Cut a box off at the picture's edges.

    Raises:
        InputError: for one that lies outside, or has no area.
    """
    x1, y1, x2, y2 = box
    width, height = picture.width, picture.height
    low, high = -_OUTSIDE, (width + _OUTSIDE, height + _OUTSIDE)
    if not (low <= x1 < x2 <= high[0] and low <= y1 < y2 <= high[1]):
        found = ", ".join(f"{value:g}" for value in box)
        expected = f"x1 < x2, y1 < y2 inside of {picture.name}, {width} x {height} pixels as it is looked at"
        hint = "boxes are those of the picture turned as its EXIF data say"
        raise InputError(path, record=place, field="box", found=found, expected=expected, hint=hint)
    return max(x1, 0.0), max(y1, 0.0), min(x2, float(width)), min(y2, float(height))
