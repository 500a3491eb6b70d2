"""Reader of files of detections: COCO results, YOLO label files and shoe's JSON Lines, recognised by their content."""

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
from shoe.core.errors import InputError, did_you_mean, pluralize, quote
from shoe.core.interactions import image_index
from shoe.core.io.files import read_bytes
from shoe.core.io.json import Box, Whole, describe_value, read_typed
from shoe.lexicon.resolve import match_labels
from shoe.predict.images import Picture
from shoe.predict.records import Detected, Detection, Score, read_lines

PERSON = "person"
_TEXT = Annotated[str, Meta(extra={"expected": "text"})]
_YAML = (".yaml", ".yml")
_NAMES = re.compile(r"^names\s*:(.*(?:\n(?:[ \t]+\S.*|-.*|[\]}].*|\s*))*)", re.MULTILINE)
_ITEM = re.compile(
    r"""(?:^\s*(?:-\s*)?|(?<=[\[,{])\s*)(?:(\d+)\s*:\s*)?(?:"([^"]*)"|'([^']*)'|([^\s,\[\]{}#'"-][^,\[\]{}#\n]*))""",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Names:
    """Names that belong to the category IDs and image IDs in files of detections."""

    categories: Mapping[int, str]  # class name by category ID
    indices: Sequence[str]  # class names by index from 0
    whose: str  # source of the category IDs for messages, such as "COCO" or a file name
    images: Mapping[int | str, str] = field(default_factory=dict)  # file name by image ID
    # Benchmark object by detector label, for labels with other names than the benchmark's.
    renamed: Mapping[str, str] = field(default_factory=dict)


class Named(Struct):
    """Category in a COCO file."""

    id: Whole
    name: _TEXT


class NamedFile(Struct):
    """Image in a COCO file."""

    id: Whole | str
    file_name: _TEXT


class _Coco(Struct):
    categories: Annotated[list[Named], Meta(extra={"item": "category"})]
    images: Annotated[list[NamedFile], Meta(extra={"item": "image"})] = []


def usual_names(benchmark: Benchmark) -> Names:
    """Return the default names: the benchmark's objects by ID (HICO-DET, V-COCO: COCO's IDs, 1 to 90 with gaps)."""
    return Names(benchmark.object_ids, tuple(benchmark.object_ids.values()), benchmark.object_numbers)


def read_names(path: str | Path, benchmark: Benchmark) -> Names:
    """Read the names for a detector's labels and IDs from a file; raise InputError for formats not listed here.

    - JSON in the format of COCO: ``categories`` and ``images`` are read.
    - ``data.yaml`` of a YOLO dataset: ``names`` is read.
    - Text with one class name per line, in the order of the indices from 0.
    - Text with a label, a tab and the name of a benchmark object per line.
    """
    path = Path(path)
    data = read_bytes(path)
    if data.lstrip()[:1] in (b"{", b"["):
        coco = read_typed(path, data, _Coco, lambda _document, number, _record: f"item {number + 1}")
        ids = {int(category.id): category.name for category in coco.categories}
        return Names(ids, tuple(ids.values()), path.name, images_of(coco.images))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(path, found="bytes that are not UTF-8", expected="names of classes") from None
    lines = [line.strip("\r ") for line in text.split("\n") if line.strip()]
    if path.suffix.lower() in _YAML:
        block = _NAMES.search(text)
        matches = list(_ITEM.finditer(block[1])) if block else []
        if any(match[1] for match in matches):  # a mapping of indices to names, not a list
            matches.sort(key=lambda match: int(match[1] or 0))
        lines = [(match[2] or match[3] or match[4]).strip() for match in matches]
    elif any("\t" in line for line in lines):
        return replace(usual_names(benchmark), renamed=_renamed(path, lines, benchmark))
    if not lines:
        raise InputError(path, found="no class name", expected="names of classes")
    return Names(dict(enumerate(lines)), lines, path.name)


def images_of(images: Sequence[NamedFile]) -> dict[int | str, str]:
    """Return the file name of each image in a COCO file, by image ID."""
    return {image.id if isinstance(image.id, str) else int(image.id): image.file_name for image in images}


def objects_of(labels: Sequence[str], names: Names, benchmark: Benchmark) -> list[str | None]:
    """Return the benchmark object for each label of a detector, or None for a label that is no benchmark object.

    Upper and lower case, separators and plurals are ignored. Labels in ``names.renamed`` are replaced first.

    >>> from shoe.benchmarks import benchmark
    >>> hico = benchmark("hico-det")
    >>> objects_of(["Potted Plant", "TVs", "sofa"], usual_names(hico), hico)
    ['potted_plant', 'tv', None]
    """
    indices = match_labels([names.renamed.get(label, label) for label in labels], benchmark.objects, "object")
    return [benchmark.objects[i] if i >= 0 else None for i in indices.tolist()]


def _renamed(path: Path, lines: Sequence[str], benchmark: Benchmark) -> dict[str, str]:
    renamed: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        label, _, name = (cell.strip() for cell in line.partition("\t"))
        index = match_labels([name], benchmark.objects, "object")[0]
        if index < 0:
            expected, hint = f"an object of {benchmark.name}", did_you_mean(name, benchmark.objects)
            raise InputError(path, record=f"line {number}", found=quote(name), expected=expected, hint=hint)
        renamed[label] = benchmark.objects[index]
    return renamed


DETECTIONS = "shoe detections"  # format name in the first line of shoe's files of detections
_OUTSIDE = 2.0  # number of pixels by which boxes may extend beyond the image, because of rounding
_NUMBER = re.compile(r"(\d+)\D*$")
_MOST_NAMED = 5
_FORMS = "COCO results, a folder of YOLO label files, or JSON Lines of shoe detections"


class FileBox(NamedTuple):
    """Detection in a file: image name, position in the file (for messages), box edges in pixels, label and score."""

    image: str
    place: str
    box: tuple[float, float, float, float]
    label: str
    score: float


@dataclass(slots=True)
class Detections:
    """Detections in the images of a run.

    ``pictures`` are the detections by file name of the image, also of images without detections. ``unknown`` is the
    number of excluded boxes by label, for labels that are no object of the benchmark, and ``other_images`` that of
    boxes in images that are not part of the run. ``by`` are the settings of the detector, as JSON.
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
    """Read the detections in images from a file, or from a folder of YOLO label files.

    Boxes in images that are not in ``pictures``, and boxes whose label is no object of the benchmark, are counted and
    left out. Raise InputError if the format, a class or an image ID is unknown, a box is outside its image, no image is
    one of ``pictures``, or no label is an object of the benchmark.
    """
    path = Path(path)
    boxes_in_file, by, seen_images = _boxes(path, pictures, names)
    boxes = list(boxes_in_file)
    images = list(dict.fromkeys([*(box.image for box in boxes), *seen_images]))
    index = dict(zip(images, image_index(images, [picture.name for picture in pictures]).tolist(), strict=True))
    if images and max(index.values()) < 0:
        expected = f"detections in the given images, such as {quote(pictures[0].name)}"
        raise InputError(path, found=f"only other images, such as {quote(images[0])}", expected=expected)
    labels = list(dict.fromkeys(box.label for box in boxes))
    object_of = dict(zip(labels, objects_of(labels, names, benchmark), strict=True))
    if labels and not any(object_of.values()) and "detector" not in by:  # shoe's own detectors were checked already
        wrong, hint = f"only {', '.join(map(quote, labels[:5]))}", did_you_mean(labels[0], benchmark.objects)
        raise InputError(path, field="labels", found=wrong, expected=f"objects of {benchmark.name}", hint=hint)
    result = Detections({}, by=by)
    of_image: list[list[Detection]] = [[] for _ in pictures]
    for box in boxes:
        number, object_ = index[box.image], object_of[box.label]
        if number < 0:
            result.other_images += 1
        elif object_ is None:
            result.unknown[box.label] += 1
        else:
            of_image[number].append(Detection(inside(path, box.place, box.box, pictures[number]), object_, box.score))
    result.pictures = {p.name: detected(p, boxes_) for p, boxes_ in zip(pictures, of_image, strict=True)}
    return result


def _boxes(
    path: Path, pictures: Sequence[Picture], names: Names
) -> tuple[Iterable[FileBox], Mapping[str, Any], Iterable[str]]:
    """Return the boxes in a file, the settings of the detector, and the names of the images that the file lists."""
    if path.is_dir():
        return _yolo(path, pictures, names), {"file": path.name, "format": "yolo"}, ()
    data = read_bytes(path)
    start, coco = data.lstrip()[:1], {"file": path.name, "format": "coco"}
    if start == b"[":
        results = read_typed(path, data, list[_Result], lambda _document, number, _record: f"result {number + 1}")
        return _coco(path, results, names, pictures), coco, ()
    if start == b"{" and _is_dataset(data):
        dataset = read_typed(path, data, _Dataset, lambda _document, number, _record: f"item {number + 1}")
        ids = {int(category.id): category.name for category in dataset.categories}
        names = replace(names, categories=ids, images=images_of(dataset.images), whose=path.name)
        return _coco(path, dataset.annotations, names, pictures), coco, ()
    if start != b"{":
        raise InputError(path, found=describe_value(data[:16].decode("utf-8", "replace")), expected=_FORMS)
    by, records = read_lines(path, Detected, DETECTIONS)
    known = {picture.name: picture for picture in pictures}
    for record in records:
        check_same(path, record, known.get(record.image))
    boxes = (
        FileBox(
            record.image, f"image {quote(record.image)}: detection {number + 1}", *msgspec.structs.astuple(detection)
        )
        for record in records
        for number, detection in enumerate(record.detections)
    )
    return boxes, by or {"file": path.name, "format": "jsonl"}, {record.image for record in records}


def read_detections_with_notes(
    pictures: Sequence[Picture], path: Path, names: Names, benchmark: Benchmark, say: Callable[[str], object]
) -> Detections:
    """Read detections as :func:`read_detections`; pass remarks on excluded boxes and empty images to ``say``."""
    boxes = read_detections(path, pictures, names, benchmark)
    if boxes.unknown:
        named = ", ".join(f"{label} ({count:,})" for label, count in boxes.unknown.most_common(_MOST_NAMED))
        more = ", ..." if len(boxes.unknown) > _MOST_NAMED else ""
        left_out = f"{boxes.unknown.total():,} boxes left out"
        say(f"{path}: {left_out} because their labels are not objects of {benchmark.name}: {named}{more}")
    if without := sum(not record.detections for record in boxes.pictures.values()):
        say(f"{path}: no box in {without:,} of {pluralize(len(pictures), 'image')}")
    if boxes.other_images:
        say(f"{path}: {boxes.other_images:,} boxes left out because they are in other images")
    if not any(box.label == PERSON for record in boxes.pictures.values() for box in record.detections):
        say(f"{path}: no box has the label {PERSON}, so there are no pairs")
    return boxes


def _is_dataset(data: bytes) -> bool:
    """Return whether the content of a file is one JSON object with the key "annotations" (not JSON Lines)."""
    try:
        return "annotations" in msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    except msgspec.DecodeError:
        return False


def check_same(path: Path, record: Detected, picture: Picture | None) -> None:
    """Raise InputError if digest or size in ``record``, from the file ``path``, differ from those of the image file.

    An unknown digest ("") or size (0) is not compared. If ``picture`` is None (no file with this name), do nothing.
    """
    if picture is not None:
        size = f"{record.width} x {record.height}" if record.width or record.height else ""
        now = f"{picture.width} x {picture.height}"
        for field_, found, expected in (("digest", record.digest, picture.digest), ("width, height", size, now)):
            if found not in ("", expected):
                image, expected = f"image {quote(record.image)}", f"{expected}, as in the image file"
                raise InputError(path, record=image, field=field_, found=found, expected=expected)


def _coco(path: Path, results: Iterable[_Result], names: Names, pictures: Sequence[Picture]) -> Iterable[FileBox]:
    """Yield the boxes of COCO results, with image IDs replaced by ``names.images``, or if empty, by file name."""
    of_number: dict[int, str | None] = {}
    for picture in pictures:
        if match := _NUMBER.search(picture.path.stem):
            number = int(match[1])
            of_number[number] = None if number in of_number else picture.name
    for index, result in enumerate(results):
        place, category, image = f"result {index + 1}", int(result.category_id), result.image_id
        if category not in names.categories:
            expected = f"a category ID of {names.whose}"
            hint = "if IDs are indices from 0, add --labels FILE with the class names" if category == 0 else None
            raise InputError(path, record=place, field="category_id", found=str(category), expected=expected, hint=hint)
        if isinstance(image, str):
            name: str | None = names.images.get(image, image)
        else:
            name = names.images.get(int(image), "") if names.images else of_number.get(int(image), "")
        if name is None:
            found = f"{int(image)}, the number at the end of several image names"
            expected, hint = "the number of one image", "add --labels FILE with the `images` of a COCO file"
            raise InputError(path, record=place, field="image_id", found=found, expected=expected, hint=hint)
        x, y, width, height = result.bbox
        yield FileBox(name, place, (x, y, x + width, y + height), names.categories[category], result.score)


def _yolo(folder: Path, pictures: Sequence[Picture], names: Names) -> Iterable[FileBox]:
    by_stem = {picture.path.stem: picture for picture in pictures}
    files = sorted(folder.glob("*.txt"))
    if not files:
        raise InputError(folder, found="a folder without .txt files", expected="one YOLO label file per image")
    for path in files:
        if picture := by_stem.get(path.stem):  # other files are classes.txt, or label files of other images
            for number, line in enumerate(read_bytes(path).decode("utf-8", "replace").splitlines(), 1):
                if line.strip():
                    yield _yolo_line(path, f"line {number}", line.split(), picture, names)


def _yolo_line(path: Path, place: str, fields: Sequence[str], picture: Picture, names: Names) -> FileBox:
    try:
        label, (x, y, w, h, *rest) = int(fields[0]), map(float, fields[1:])
        is_box = len(rest) <= 1 and all(math.isfinite(n) and -0.01 <= n <= 1.01 for n in (x, y, w, h, *rest))
    except ValueError:
        is_box = False
    if not is_box:
        expected = "a class index, four numbers from 0 to 1, and an optional score"
        raise InputError(path, record=place, found=quote(" ".join(fields)), expected=expected)
    if not 0 <= label < len(names.indices):
        expected = f"0 to {len(names.indices) - 1}, classes of {names.whose}"
        raise InputError(path, record=place, found=f"class {label}", expected=expected)
    width, height = picture.width, picture.height
    box = ((x - w / 2) * width, (y - h / 2) * height, (x + w / 2) * width, (y + h / 2) * height)
    score = min(rest[0], 1.0) if rest else 1.0
    return FileBox(picture.name, f"{path.name}: {place}", box, names.indices[label], score)


def detected(picture: Picture, detections: Iterable[Detection]) -> Detected:
    """Return the detections of an image together with the image's name, digest and size."""
    return Detected(**picture.about, detections=tuple(detections))


def inside(
    path: Path, place: str, box: tuple[float, float, float, float], picture: Picture
) -> tuple[float, float, float, float]:
    """Return a box clipped to its image; raise InputError if the box is empty, or more than 2 pixels outside."""
    x1, y1, x2, y2 = box
    width, height = picture.width, picture.height
    if not (-_OUTSIDE <= x1 < x2 <= width + _OUTSIDE and -_OUTSIDE <= y1 < y2 <= height + _OUTSIDE):
        found = ", ".join(f"{value:g}" for value in box)
        expected = f"x1 < x2 and y1 < y2 inside {picture.name}, which has {width} x {height} pixels"
        hint = "boxes refer to the image after the rotation in its EXIF data"
        raise InputError(path, record=place, field="box", found=found, expected=expected, hint=hint)
    return max(x1, 0.0), max(y1, 0.0), min(x2, float(width)), min(y2, float(height))
