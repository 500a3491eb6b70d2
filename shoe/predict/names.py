"""What a detector's labels, and the numbers in its files, stand for: objects of a benchmark and pictures, by name.

A number is never guessed at. Without a file of names numbers are those that the benchmark's own files have (HICO-DET
and V-COCO: COCO's ids from 1 to 90 with gaps, and its indices from 0 to 79). A file of names says it for any other
detector:

- JSON in COCO's form: its ``categories`` (and ``images``, for files that give images numbers);
- ``data.yaml`` of a YOLO data set: its ``names``;
- text: the name of a class a line, from number 0 on;
- text of two columns with a tab between them: a label, and the object that it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from shoe.benchmarks.base import Benchmark
from shoe.core.errors import InputError, meant, quote
from shoe.io.files import read_bytes
from shoe.io.json import read_typed
from shoe.io.typed import Whole
from shoe.lexicon.labels import match_labels

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
    """Names that files give numbers instead of.

    Attributes:
        categories: name of each category id.
        indices: names in the order of indices from 0.
        images: file name of each image number.
        renamed: object that a label is, by the label.
        whose: whose numbers these are, for messages.
    """

    categories: Mapping[int, str]
    indices: Sequence[str]
    whose: str
    images: Mapping[int | str, str] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)


class Named(Struct):
    """A category or image of a file in COCO's form."""

    id: Whole
    name: _TEXT


class NamedFile(Struct):
    """An image of a file in COCO's form."""

    id: Whole | str
    file_name: _TEXT


class _Coco(Struct):
    categories: Annotated[list[Named], Meta(extra={"item": "category"})]
    images: Annotated[list[NamedFile], Meta(extra={"item": "image"})] = []


def usual_names(benchmark: Benchmark) -> Names:
    """The numbers that a benchmark's own files have."""
    return Names(benchmark.object_ids, tuple(benchmark.object_ids.values()), benchmark.object_numbers)


def read_names(path: str | Path, benchmark: Benchmark) -> Names:
    """Read a file of names; see the module."""
    path = Path(path)
    data = read_bytes(path)
    if data.lstrip()[:1] in (b"{", b"["):
        coco = read_typed(path, data, _Coco, lambda _document, number, _record: f"item {number}")
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
        if any(match[1] for match in matches):  # numbers with names, not a list
            matches.sort(key=lambda match: int(match[1] or 0))
        lines = [(match[2] or match[3] or match[4]).strip() for match in matches]
    elif any("\t" in line for line in lines):
        usual = usual_names(benchmark)
        return Names(usual.categories, usual.indices, usual.whose, renamed=_renamed(path, lines, benchmark))
    if not lines:
        raise InputError(path, found="no name", expected="names of classes")
    return Names(dict(enumerate(lines)), lines, path.name)


def images_of(images: Sequence[NamedFile]) -> dict[int | str, str]:
    """File names of a COCO file's images, by their ids."""
    return {image.id if isinstance(image.id, str) else int(image.id): image.file_name for image in images}


def objects_of(labels: Sequence[str], names: Names, benchmark: Benchmark) -> list[str | None]:
    """Find the object that each label of a detector is, in any case, spelling of blanks or number; None for no object.

    >>> from shoe.benchmarks import benchmark
    >>> hico = benchmark("hico-det")
    >>> objects_of(["Potted Plant", "TVs", "sofa"], usual_names(hico), hico)
    ['potted_plant', 'tv', None]
    """
    words = [names.renamed.get(label, label) for label in labels]
    found = match_labels(words, benchmark.objects, "object")
    return [benchmark.objects[i] if i >= 0 else None for i in found.tolist()]


def _renamed(path: Path, lines: Sequence[str], benchmark: Benchmark) -> dict[str, str]:
    renamed: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        label, _, name = (cell.strip() for cell in line.partition("\t"))
        found = match_labels([name], benchmark.objects, "object")[0]
        if found < 0:
            expected, hint = f"an object of {benchmark.name}", meant(name, benchmark.objects)
            raise InputError(path, record=f"line {number}", found=quote(name), expected=expected, hint=hint)
        renamed[label] = benchmark.objects[found]
    return renamed
