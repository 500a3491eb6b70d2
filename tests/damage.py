"""Damage for files that readers have to refuse cleanly: to bytes anywhere, and to the structure of JSON."""

import random
from copy import deepcopy
from typing import Any

import orjson

_ODD: list[Any] = [
    *(None, True, False, -1, 0, 1, 0.5, 1e9, -1e300, 2**31, 2**63, 2**64 - 1),
    *("", "1", "1\n", "nan", "x" * 1000, "\x1b[2J\u202e", "é"),
    *([], {}, [[]], [1, 2], [1, 2, 3, 4], [4, 3, 2, 1], [None] * 4, {"bbox": [0, 0, 0, 0]}),
]


def damaged_bytes(data: bytes, seed: int) -> bytes:
    """Change, cut, repeat or drop a few bytes."""
    dice = random.Random(seed)
    damaged = bytearray(data)
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(damaged) + 1)
        stop = min(len(damaged), at + dice.choice([1, 1, 1, 8, 100]))
        match dice.randrange(5):
            case 0:
                damaged[at:stop] = bytes(dice.randrange(256) for _ in range(stop - at))
            case 1:
                del damaged[at:stop]
            case 2:
                damaged[at:at] = damaged[at:stop]
            case 3:
                damaged[at:at] = dice.choice([b"NaN", b"[", b"]", b"}", b",", b'"', b"\x00", b"\xff", b"-", b"1e999"])
            case _:
                del damaged[at:]
    return bytes(damaged)


def damaged_json(data: bytes, seed: int) -> bytes:
    """Replace, drop, repeat or swap a few values anywhere in a JSON document."""
    dice = random.Random(seed)
    document = orjson.loads(data)
    for _ in range(dice.randint(1, 3)):
        document = _damaged(document, dice)
    return orjson.dumps(document)


def _damaged(document: Any, dice: random.Random) -> Any:
    holder, node = None, document
    key: Any = None
    while isinstance(node, list | dict) and node and (holder is None or dice.random() < 0.8):
        holder, key = node, dice.choice(list(node) if isinstance(node, dict) else range(len(node)))
        node = holder[key]
    if holder is None:
        return deepcopy(dice.choice(_ODD))
    match dice.randrange(4):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, list):
            holder.insert(key, deepcopy(node))
        case 2 if isinstance(node, int | float):
            holder[key] = float(node) + dice.choice([-1, 1, 1000, -1e6])
        case _:
            holder[key] = deepcopy(dice.choice(_ODD))
    return document


DROP = object()


def changed(document: Any, *path: Any) -> Any:
    """A copy of a document with the value at a path replaced by the last argument, or dropped."""
    copy = orjson.loads(orjson.dumps(document))
    *keys, last, value = path
    holder = copy
    for key in keys:
        holder = holder[key]
    if value is DROP:
        del holder[last]
    else:
        holder[last] = value
    return copy
