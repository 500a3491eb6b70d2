"""V-COCO's official detections: a pickle with one record per predicted person.

A record has ``image_id`` (COCO's), ``person_box``, an ``<action>_agent`` score for each action, and ``<action>_<role>``
with box and score for each role. A NaN score means that there is no prediction; a box of zeros or NaN means that the
role has no box. The keys of all 26 actions and 25 roles are required, except in UPT's files (:class:`CacheRecord`). The
format has no object labels, so it yields no triplets, and V-COCO's protocols score it by person.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from shoe.core.arrays import Floats, first_true
from shoe.core.errors import InputError, quote
from shoe.core.interactions import Rows
from shoe.core.io.json import describe_value
from shoe.core.io.pickles import CacheRecord
from shoe.core.roles import ABSENT, RolePredictions, Single
from shoe.predictions.source import Source

_BOX, _ROLE = "[x1, y1, x2, y2]", "[x1, y1, x2, y2, score]"
# Values of absent keys by width, as UPT's ``CacheTemplate.__missing__`` returns them. The tiny box is not "no box".
_ABSENT = {1: 0.0, 5: (*ABSENT, 0.0)}


def is_v_coco(source: Source) -> bool:
    """Return whether a file has the keys of V-COCO's official detections."""
    return "person_box" in source.first and any(str(key).endswith("_agent") for key in source.first)


def read_v_coco(source: Source) -> Rows:
    """Read V-COCO's official detections. InputError for an invalid record, or a benchmark without roles."""
    actions, records = source.benchmark.actions, source.records_within(None)
    if not len(actions):
        hint = "give --dataset v-coco"
        raise InputError(source.path, found="V-COCO's official detections", expected="triplets", hint=hint)
    agents = [f"{name}_agent" for name in actions.names]
    pairs = [f"{actions.names[action]}_{role}" for action, role in actions.entries]
    known = {"image_id", "person_box", *agents, *pairs}
    images: dict[str, int] = {}
    ids: dict[Any, int] = {}
    extra: dict[Any, list[Any]] = {}
    for number, record in enumerate(records):
        place = f"record {number + 1}"
        if not isinstance(record, dict) or "image_id" not in record:
            expected = "an object with image_id, person_box and all actions"
            raise InputError(source.path, record=place, found=describe_value(record), expected=expected)
        image_id, is_cache = record["image_id"], isinstance(record, CacheRecord)
        if type(image_id) not in (int, str):
            found, expected = describe_value(image_id), "a COCO image id"
            raise InputError(source.path, record=place, field="image_id", found=found, expected=expected)
        if image_id not in ids:
            (name,) = source.image_names([image_id], "image_id", lambda _, place=place: place)  # type: ignore[misc]
            ids[image_id] = images.setdefault(name, len(images))
        for key in (key for key in record if key not in known) if is_cache or len(record) > len(known) else ():
            if is_cache:
                found, expected = f"the key {quote(key)}", f"image_id, person_box, {agents[0]}, {pairs[0]} and others"
                raise InputError(source.path, record=place, found=found, expected=expected)
            extra.setdefault(key, []).append(record[key])
    for key, values in extra.items():
        source.notes.add_unread(str(key), values)
    agent = [_column(source, records, key, 1, "a number") for key in agents]
    roles = [_column(source, records, key, 5, _ROLE) for key in pairs]
    person = _column(source, records, "person_box", 4, _BOX)
    if source.bad_boxes == "refuse" and (row := first_true(np.asarray(~np.isfinite(person).all(axis=1)))) is not None:
        place, found = source.record_name(row, records[row]), describe_value(person[row].tolist())
        raise InputError(source.path, record=place, field="person_box", found=found, expected=_BOX)
    of_roles, agents_ = np.stack(roles, axis=1), np.concatenate(agent, axis=1)
    boxes, role = _run_lengths(of_roles[..., :4])
    image = np.array([ids[record["image_id"]] for record in records], np.int32)
    detected = RolePredictions(tuple(images), image, person, agents_, of_roles[..., 4].copy(), role, boxes)
    none, no_boxes = np.zeros(0, np.int64), np.zeros((0, 4))
    return Rows(list(images), none, no_boxes, no_boxes, (), (), none, none, detected=detected)


def _column(source: Source, records: Sequence[Any], key: str, width: int, expected: str) -> Single:
    """Return the (n, width) numbers under a key of n records, in single precision like the official script."""
    default = _ABSENT.get(width)
    rows = [i for i, each in enumerate(records) if key in each or default is None or not isinstance(each, CacheRecord)]
    values = [records[row].get(key, ()) for row in rows]  # () is refused below; None would be converted to NaN
    try:
        flat: Any = values if width == 1 else chain.from_iterable(values)
        numbers: Floats = np.fromiter(flat, np.float64, width * len(values))
        if width > 1 and set(map(len, values)) - {width}:
            raise ValueError
    except (TypeError, ValueError):
        row = next(row for row, value in zip(rows, values, strict=True) if not _is_row(value, width))
        found = "no such key" if key not in records[row] else describe_value(records[row][key])
        place = f"record {row + 1} ({source.record_name(row, records[row])})"
        raise InputError(source.path, record=place, field=key, found=found, expected=expected) from None
    column = np.empty((len(records), width), np.float32)
    column[:] = np.array(0.0 if default is None else default, np.float32)
    with np.errstate(over="ignore"):
        column[rows] = numbers.astype(np.float32).reshape(-1, width)
    return column


def _is_row(value: Any, width: int) -> bool:
    numbers = [value] if width == 1 else value
    is_list = isinstance(numbers, list | tuple) and len(numbers) == width
    return is_list and all(isinstance(number, int | float | None) for number in numbers)


def _run_lengths(boxes: Single) -> tuple[Single, Any]:
    """Return the boxes (n, R, 4) without consecutive repetitions, (runs, 4), and the (n, R) index of each box's run."""
    flat = boxes.reshape(-1, 4)
    bits = np.ascontiguousarray(flat).view(np.uint32)
    new = np.ones(len(flat), bool)
    new[1:] = (bits[1:] != bits[:-1]).any(axis=1)
    return flat[new], (np.cumsum(new, dtype=np.int32) - 1).reshape(boxes.shape[:2])
