"""Damage of prediction files: to bytes anywhere, to the structure of documents, and within their containers."""

import pickle
import random
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from tests.damage import damaged_bytes, damaged_json
from tests.predictions import samples


def damaged(name: str, content: bytes, seed: int) -> bytes:
    """Damage the content of a sample; every second time its structure, where it has one that can be damaged."""
    structure = _STRUCTURES.get(Path(name).suffix)
    if structure is None or seed % 2:
        return damaged_bytes(content, seed)
    return structure(content, seed)


def _lines(content: bytes, seed: int) -> bytes:
    dice = random.Random(seed)
    lines = content.splitlines(keepends=True)
    place = dice.randrange(len(lines))
    lines[place] = damaged_json(lines[place], seed) + dice.choice([b"\n", b"", b"\r\n", b"\n\n"])
    return b"".join(lines)


def _json(content: bytes, seed: int) -> bytes:
    if content.startswith(b'"'):  # CDN's text in JSON
        return orjson.dumps(damaged_bytes(orjson.loads(content).encode(), seed).decode("utf-8", "replace"))
    return damaged_json(content, seed)


def _pickle(content: bytes, seed: int) -> bytes:
    plain = orjson.dumps(pickle.loads(content), option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)
    document = orjson.loads(damaged_json(plain, seed))
    return pickle.dumps(document, random.Random(seed).choice([2, 3, 4, 5]))


def _cells(content: bytes, seed: int) -> bytes:
    """Damage what is compressed in a Matlab file, so that it is not found out by its checksum."""
    inner = damaged_bytes(zlib.decompress(content[136:]), seed)
    packed = zlib.compress(inner)
    return content[:132] + len(packed).to_bytes(4, "little") + packed


_STRUCTURES: dict[str, Callable[[bytes, int], bytes]] = {
    ".json": _json,
    ".jsonl": _lines,
    ".pkl": _pickle,
    ".mat": _cells,
}


def predictions() -> dict[str, bytes]:
    return {name: (samples.FOLDER / name).read_bytes() for name in samples.SAMPLES}


def options(name: str, seed: int) -> dict[str, Any]:
    """What to read a damaged sample with: mostly nothing, at times its format, a convention or sizes."""
    dice = random.Random(seed)
    chosen: dict[str, Any] = {}
    if dice.random() < 0.5:
        chosen["sizes"] = samples.sizes(samples.base())
    if dice.random() < 0.3:
        chosen["format"] = samples.SAMPLES[name]
    if dice.random() < 0.3 and samples.SAMPLES[name] != "native":
        chosen["boxes"] = dice.choice(["xywh", "thousand", "pixels-1", "unit,cxcywh", "resized:max=448"])
    return chosen
