"""V-COCO in the text format of ``vcoco_everything``: ``test.txt``, ``val.txt``, ``train.txt``.

Each image has a block of lines from "# number" to an empty line: file name; width and height; number of COCO boxes and
one box per line (category 1 to 80, x1, y1, x1 + width, y1 + height); number of annotations and one annotation per line.
An annotation is an action (1 to 26, or 27 to 29 for the second role of hit, eat and cut), category and box of the
person, and category and box of the object, or zeros. Persons without action look like persons that were not annotated.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from shoe.benchmarks.base import Benchmark, TruthFormat
from shoe.benchmarks.checks import named_images
from shoe.benchmarks.v_coco.json_files import AnnotatedPersons
from shoe.core.errors import InputError, quote
from shoe.core.interactions import Rows

_START = re.compile(rb"\s*#\s*\d+\s*\n\s*\S+\.(?:jpg|png)\s*\n\s*\d+\s+\d+\s*\n", re.IGNORECASE)


def read_everything(path: str | Path, data: bytes, benchmark: Benchmark, _split: str | None) -> Rows:
    """Return triplets, annotations of each person, and image sizes in a file of ``vcoco_everything``."""
    lines = _Lines(path, data)
    objects = benchmark.object_order
    # IDs from 1: all actions with their first role, then those with a second role.
    numbered = benchmark.actions.by_verb_id
    first = {action: (action, entry) for action, entry in reversed(numbered)}
    roles = [*(first[action] for action in sorted(first)), *(pair for pair in numbered if pair not in first.values())]
    images: list[str] = []
    counts: list[int] = []
    boxes: list[list[float]] = []
    sizes, category, rows = [], [], []
    as_listed = "with the numbers as listed for this image"
    while lines.left:
        begin = lines.take("'# number', which begins an image", 2)
        if begin[0] != "#":
            raise lines.error(" ".join(begin), "'# number', which begins an image")
        images.append(lines.take("a file name", 1)[0])
        sizes.append(lines.floats(lines.take("width and height", 2)))
        index: dict[tuple[str, ...], int] = {}
        for _ in range(lines.count("the number of boxes")):
            words = lines.take("category x1 y1 x2 y2", 5)
            kind, *box = lines.floats(words)
            lines.check(words[0], kind, len(objects), "category")
            index.setdefault(tuple(words), len(boxes))
            category.append(int(kind) - 1)
            boxes.append(box)
        counts.append(len(boxes) - sum(counts))
        for _ in range(lines.count("the number of actions")):
            words = lines.take("action, person and object, each category x1 y1 x2 y2", 11)
            lines.check(words[0], lines.floats(words)[0], len(roles), "action")
            person, target = index.get(tuple(words[1:6])), index.get(tuple(words[6:]))
            if person is None or objects[category[person]] != benchmark.objects.index("person"):
                raise lines.error(" ".join(words[1:6]), f"the box of a person, {as_listed}")
            if target is None and words[6] != "0":
                raise lines.error(" ".join(words[6:]), f"a box, {as_listed}, or zeros")
            rows.append((person, *roles[int(words[0]) - 1], -1 if target is None else target))
    if len(set(images)) != len(images):
        twice = next(name for name in images if images.count(name) > 1)
        raise InputError(path, found=f"the image {quote(twice)} twice", expected="each image once")
    person_, action, entry, target_ = np.array(rows, np.int64).reshape(-1, 4).T
    return AnnotatedPersons(
        images=named_images(path, benchmark.image_name, images),
        sizes=np.array(sizes, np.float64).reshape(-1, 2),
        counts=np.array(counts, np.int64),
        boxes=np.array(boxes, np.float64).reshape(-1, 4),
        object=objects[np.array(category, np.int64)],
        left_out=np.zeros(len(boxes), bool),
        listed=np.unique(person_),
        person=person_,
        action=action,
        entry=entry,
        target=target_,
    ).rows(benchmark)


class _Lines:
    def __init__(self, path: str | Path, data: bytes) -> None:
        text = data.decode("utf-8", "replace").splitlines()
        self._path, self._number = path, 0
        self.left = [(number, line) for number, line in enumerate(text, 1) if line.strip()][::-1]

    def take(self, expected: str, words: int) -> Sequence[str]:
        """Return the words of the next line; raise InputError unless the line has ``words`` words."""
        if not self.left:
            raise InputError(self._path, found="the end of the file", expected=expected)
        self._number, line = self.left.pop()
        found = line.split()
        if len(found) != words:
            raise self.error(line.strip(), expected)
        return found

    def floats(self, words: Sequence[str]) -> list[float]:
        try:
            numbers = [float(word) for word in words]
        except ValueError:
            raise self.error(" ".join(words), "numbers") from None
        if not np.isfinite(numbers).all():
            raise self.error(" ".join(words), "finite numbers")
        return numbers

    def count(self, expected: str) -> int:
        (word,) = self.take(expected, 1)
        if not word.isdecimal():
            raise self.error(word, expected)
        return int(word)

    def check(self, word: str, number: float, largest: int, field: str) -> None:
        """Raise InputError unless ``number`` is an integer from 1 to ``largest``."""
        if number not in range(1, largest + 1):
            raise self.error(word, f"1 to {largest}", field)

    def error(self, found: str, expected: str, field: str | None = None) -> InputError:
        return InputError(self._path, record=f"line {self._number}", field=field, found=quote(found), expected=expected)


FORMAT = TruthFormat(
    name="vcoco_everything text",
    example="test.txt (vcoco_everything)",
    fits=lambda data: _START.match(data) is not None,
    read=read_everything,
)
