"""A split of the classes of one's own: a file that names the unseen ones."""

from __future__ import annotations

from pathlib import Path

from shoe.benchmarks.class_splits import ClassSplit
from shoe.benchmarks.classes import HoiClasses
from shoe.core.errors import InputError, meant, quote
from shoe.io.files import read_bytes
from shoe.io.json import parse_json

_HELD_OUT = "held_out"


def read_class_split(path: str | Path, classes: HoiClasses) -> ClassSplit:
    """Read a split, whose name is that of its file without the ending.

    Args:
        path: a class on each line, as "ride horse"; or JSON with a list ``held_out`` of such, as ``shoe dataset split``
            writes it.
        classes: of the dataset.

    Raises:
        InputError: naming the entry that is no class.
    """
    data = read_bytes(path)
    named = _listed(path, data) if data.lstrip()[:1] in (b"{", b"[") else data.decode("utf-8", "replace").splitlines()
    row = {label: number for number, label in enumerate(classes.labels)}
    unseen = []
    for number, label in enumerate(named, start=1):
        label = " ".join(label.split())
        if label and label not in row:
            expected = f"a class of {classes.name}, as {quote(classes.labels[0])}"
            hint = meant(label, classes.labels)
            raise InputError(path, record=f"class {number}", found=quote(label), expected=expected, hint=hint)
        unseen += [row[label]] if label else []
    if not 0 < len(set(unseen)) < len(classes):
        found = f"{len(set(unseen))} of {len(classes)} classes"
        raise InputError(path, found=found, expected="some unseen classes, and some that are left")
    return ClassSplit.of_unseen(Path(path).stem, unseen, len(classes), str(Path(path).name))


def _listed(path: str | Path, data: bytes) -> list[str]:
    document = parse_json(path, data)
    if not isinstance(document, dict):
        expected = "a class on each line, or split.json as shoe dataset split writes it"
        raise InputError(path, found="a JSON list", expected=expected)
    listed = document.get(_HELD_OUT)
    if not isinstance(listed, list) or not all(isinstance(label, str) for label in listed):
        found = "none" if listed is None else quote(listed)
        raise InputError(path, field=_HELD_OUT, found=found, expected="a list of classes, as shoe dataset split has it")
    return listed
