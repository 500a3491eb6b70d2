"""Parse boxes in all forms that models write: lists of numbers, text, and named corners."""

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from math import isfinite, nan
from typing import Any, NamedTuple

from shoe.lexicon.phrases.words import patterns
from shoe.lexicon.text import word_lists
from shoe.predictions.boxes.conventions import Convention
from shoe.predictions.field_names import LAYOUTS, meaning

_NUMBER, _NAMED_NUMBER, _WIDTHS, _OTHER, _TAGS, _PLAIN_TAGS, _DIGIT = (
    re.compile(patterns(kind, "reply_patterns.txt"))
    for kind in ["box_number", "named_number", "widths", "no_number", "box_tag", "plain_tag", "digit"]
)
_CORNER_NAME = re.compile(r"(?i)\b(?:[xy]_?[012]|[xy]_?m(?:in|ax)|left|top|right|bottom|x|y|w|h)\s*[:=]|(?<=\d)\s?px\b")
_UNIT = re.compile(r"\s*(px|pixels?|%)\s*$", re.I)
# Names of the four numbers, in lower case without separators, and the layout of the numbers in this order.
_LISTS = ((layout, word_lists("key_words.txt")[f"corners.{layout}"]) for layout in ("xyxy", "xywh", "cxcywh"))
_NAMES = [(names[i : i + 4], layout) for layout, names in _LISTS for i in range(0, len(names), 4)]
_CORNERS = [*zip((corners := word_lists("key_words.txt")["opposite"])[::2], corners[1::2], strict=True)]
_LAYOUT_KEYS = frozenset(("xyxy", "xyxyn", "vertices", "corners"))
_TAGGED = Convention(scale="thousand")
_PERCENT = Convention(scale="hundred")
_NUMBER_NAMES = frozenset(name for names, _ in _NAMES for name in names)
_CORNER_KEYS = frozenset([*(name for names, _ in _NAMES for name in names), *(x for pair in _CORNERS for x in pair)])
_GEMINI = Convention("yxyx", "thousand")
_BODY_PARTS = {"face", "head", "hair", "eyes", "hand", "hands", "arm", "arms", "leg", "legs", "feet", "torso", "part"}
YES_OR_NO = "a verdict: yes or no, true or false, 1 or 0"
_FOR, _AGAINST, _LIGHT, _NEVER = (patterns(kind, "reply_patterns.txt") for kind in ("for", "against", "light", "never"))
AGAINST = rf"{_AGAINST}|(?:un|in|im)(?:{_FOR})"
"""Pattern of words that deny an interaction, such as "dismissed", "ruled out" and "unsupported"."""
_STANCE = re.compile(
    rf"\W*{_LIGHT}(?:(not|never|cannot|\w+n['’]t)\W+{_LIGHT})?(?:(?:{_FOR})\W*\Z"
    rf"|({AGAINST})(?=\W*\Z|\s*[,;:.(–—-]|\s+(?:because|since|as|due)\b).*)|\W*{_LIGHT}({_NEVER})\W*\Z",
    re.I | re.S,
)
_VERDICT = re.compile(r"\W*(?:(yes|true)\b|(?:no|false)(?![\w-]|[ \t]\w)|([yt])\W*$|[nf]\W*$)[^\[{<]*$", re.I)


class Box(NamedTuple):
    """Four numbers as written; convention and score of the box, None if the notation does not state them."""

    numbers: tuple[float, float, float, float]
    convention: Convention | None = None
    score: float | None = None


def number_of(value: Any) -> float | None:
    """Return an int, float or numeric text as float; None for other values, bools, and text such as "nan"."""
    if type(value) is str:
        try:
            number = float(value)
        except ValueError:
            return None
        return number if isfinite(number) and "_" not in value else None
    try:
        return float(value) if type(value) in (int, float) else None
    except OverflowError:
        return None


WORDS = {
    "certain": 0.95, "very high": 0.95, "high": 0.9, "very likely": 0.9, "likely": 0.75, "medium": 0.6, "moderate": 0.6,
    "low": 0.3, "unlikely": 0.2, "very low": 0.1, "very unlikely": 0.1,
}  # fmt: skip
"""Scores for confidences in words; every report lists the words that a file contains."""
_FRACTION = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(%|/\s*100?)\s*")


def score_of(value: Any) -> tuple[float | None, str]:
    """Return a score (NaN if absent, None if unreadable) and its notation: "%", "/", a word ("high"), or else ""."""
    if value is None or value == "":
        return nan, ""
    if (number := number_of(value)) is not None:
        return (number if number == number and abs(number) < 1e300 else None), ""
    if isinstance(value, list) and len(value) == 1:
        return score_of(value[0])
    if not isinstance(value, str):
        return None, ""
    if fraction := _FRACTION.fullmatch(value):
        denominator = 10.0 if fraction[2].replace(" ", "") == "/10" else 100.0
        return float(fraction[1]) / denominator, "%" if fraction[2] == "%" else "/"
    word = " ".join(value.lower().replace("_", " ").replace("-", " ").split())
    return (WORDS[word], word) if word in WORDS else (None, "")


@lru_cache(1 << 14)
def stance(text: str) -> bool | None:
    """Return True if a text only confirms ("confirmed"), False if it only denies ("ruled out, no hug"); else None."""
    return (match := _STANCE.fullmatch(text)) and not match[3] and (match[1] is None) != bool(match[2])


def verdict_of(value: Any) -> bool | None:
    """Return True if a value means yes ("t", 1, True), False if it means no ("No, she is not.", 0); None for others."""
    if isinstance(value, str) and (match := _VERDICT.match(value)):
        return bool(match[1] or match[2])
    if isinstance(value, str) and (said := stance(value)) is not None:
        return said
    number = value if type(value) is bool else number_of(value)
    return bool(number) if number in (0, 1) else None


def box_of(value: Any, key: object = None) -> Box | None:
    """Return the box in a value, or None. ``key``, the key of the value, may state the convention ("bbox_xywh")."""
    if key is not None and meaning(key).part in ("score", "id", "verb"):
        return None
    box = _box(value, 0)
    if box is None or box.convention is not None or key is None:
        return box
    named = convention_of(key)
    return box if named is None else box._replace(convention=named)


@lru_cache(8192)
def convention_of(key: object) -> Convention | None:
    """Return the box convention that a key states: a layout such as xywh, or Gemini's box_2d; None for other keys."""
    words = meaning(key).words
    if "box" in words and words[-2:] == ("2", "d"):
        return _GEMINI
    return next((Convention(layout=word) for word in words if word in LAYOUTS), None)


@lru_cache(8192)
def _joined(key: object) -> str:
    return re.sub(r"[\W_]", "", str(key)).lower()


def _box(value: Any, depth: int) -> Box | None:
    if isinstance(value, list):
        return _from_list(value, depth)
    if isinstance(value, dict):
        return _from_names(value, depth)
    return _from_text(value) if isinstance(value, str) and 7 <= len(value) <= 200 else None


def _from_text(text: str) -> Box | None:
    if not _DIGIT.search(text):
        return None
    named = _NAMED_NUMBER.findall(text) if ":" in text or "=" in text else []
    if len(named) == 4 and (box := _from_names(dict(named), 0)):
        return box
    plain, tags = _TAGS.subn(" ", _CORNER_NAME.sub(" ", _PLAIN_TAGS.sub(" ", text)))
    if _OTHER.search(plain):
        return None
    box = _from_numbers(_NUMBER.findall(plain))
    if box and tags:
        return box._replace(convention=_TAGGED)
    return box._replace(convention=Convention("xywh")) if box and _WIDTHS.search(text) else box


def _from_list(value: list[Any], depth: int) -> Box | None:
    if depth < 3 and value and isinstance(value[0], list):
        if len(value) == 1:
            return _box(value[0], depth + 1)
        if len(value) == 5 and value[0] == value[-1]:  # a closed polygon
            value = value[:4]
        flat = [x for point in value if isinstance(point, list) and len(point) == 2 for x in point]
        return _from_numbers(flat) if len(flat) == 2 * len(value) and len(value) in (2, 4) else None
    if len(value) == 1 and depth < 3 and isinstance(value[0], str | dict):
        return _box(value[0], depth + 1)
    if len(value) in (2, 4) and depth < 3 and isinstance(value[0], dict):
        return _from_list(points, depth + 1) if dict not in map(type, points := [*map(_point, value)]) else None
    return _from_numbers(value)


def _from_numbers(value: Sequence[Any]) -> Box | None:
    if len(value) not in (4, 5, 8):
        return None
    numbers = [x if type(x) is float else number_of(x) for x in value]
    known = [x for x in numbers if x is not None]
    if len(known) < len(numbers):
        return _from_numbers_with_units(value)
    if len(known) == 8:
        known = [min(known[::2]), min(known[1::2]), max(known[::2]), max(known[1::2])]
    return Box((known[0], known[1], known[2], known[3]), None, known[4] if len(known) == 5 else None)


def _from_numbers_with_units(value: Sequence[Any]) -> Box | None:
    """Parse a box from four texts with units: "144px", "12.5%"; return None for other values."""
    units = [_UNIT.search(x) if isinstance(x, str) else None for x in value]
    if None in units:
        return None
    box = _from_numbers([x[: unit.start()] for x, unit in zip(value, units, strict=True) if unit])
    return box._replace(convention=_PERCENT) if box and all(unit and unit[1] == "%" for unit in units) else box


def corners_in(record: dict[Any, Any]) -> list[tuple[str, Box, list[object]]]:
    """Return (side, box, its keys) for each box in a record whose numbers have separate keys, such as "human_x1"."""
    keys_of_side: dict[str, dict[str, object]] = {}
    for key in record:
        corner = corner_of(key)
        if corner is not None:
            keys_of_side.setdefault(corner[0], {})[corner[1]] = key
    return [
        (side, box, list(keys.values()))
        for side, keys in keys_of_side.items()
        if len(keys) > 3 and (box := _from_names({name: record[key] for name, key in keys.items()}, 0)) is not None
    ]


@lru_cache(8192)
def corner_of(key: object) -> tuple[str, str] | None:
    """Return side and corner name of a key: ("human", "x1") for "human_x1", ("", "xmin") for "xmin"; else None."""
    if not isinstance(key, str) or len(key) > 40:
        return None
    if (plain := _joined(key)) in _NUMBER_NAMES:
        return "", plain
    if plain[0:1] in ("h", "o", "s") and plain[1:] in _NUMBER_NAMES:
        return meaning(plain[0]).side, plain[1:]
    info = meaning(key)
    words = [word for word in info.words if meaning(word).part != "box"]
    side_word = next((i for i, word in enumerate(words) if meaning(word).side), None)
    name = "".join(word for i, word in enumerate(words) if i != side_word)
    return (info.side, name) if name in _NUMBER_NAMES else None


@lru_cache(1024)
def replaced_boxes(keys: tuple[object, ...]) -> frozenset[object]:
    """Return the keys of boxes that the box of another key replaces.

    These are boxes of a body part beside the box of the whole ("face_bbox" beside "bbox" or "human_box"), and boxes
    with a further word beside one without ("human_box_raw" beside "human_box").
    """
    boxes = {key: meaning(key) for key in keys if meaning(key).part == "box"}
    parts = [key for key, info in boxes.items() if not _BODY_PARTS.isdisjoint(info.words)]
    sides = {info.side == "object" for key, info in boxes.items() if key not in parts}  # a box without side: a person's
    replaced = {key for key in parts if (boxes[key].side == "object") in sides}
    plain = {info.side for key, info in boxes.items() if info.side and not _has_other_words(key)}
    return frozenset(replaced | {key for key, info in boxes.items() if info.side in plain and _has_other_words(key)})


def _has_other_words(key: object) -> bool:
    """Return whether a box key has words besides side, box, layout and numbers: "human_box_raw", not "box_2d"."""
    words = (word for word in meaning(key).words if word not in LAYOUTS and not word.isdigit() and word != "d")
    return any(not meaning(word).side and meaning(word).part != "box" for word in words)


def layout_of(names: Collection[str]) -> tuple[tuple[str, ...], str] | None:
    """Return the four names in ``names`` that make up a box, in box order, and their layout ("xywh"); else None."""
    return next(((four, layout) for four, layout in _NAMES if all(name in names for name in four)), None)


def _point(value: Any) -> Any:
    if not isinstance(value, dict) or len(value) != 2:
        return value
    plain = {_joined(key): inner for key, inner in value.items()}
    return [plain["x"], plain["y"]] if plain.keys() == {"x", "y"} else value


def _from_names(value: dict[Any, Any], depth: int) -> Box | None:
    if len(value) == 1:
        ((key, inner),) = value.items()
        words = meaning(key).words
        return _box(inner, depth + 1) if depth < 3 and len(words) == 1 and words[0] in _LAYOUT_KEYS else None
    if not 2 <= len(value) <= 8:
        return None
    plain = {_joined(key): inner for key, inner in value.items()}
    if _CORNER_KEYS.isdisjoint(plain):
        return None
    for names, layout in _NAMES:
        if all(name in plain for name in names):
            box = _from_numbers([plain[name] for name in names])
            return box if box is None or layout == "xyxy" else box._replace(convention=Convention(layout))
    for first, second in _CORNERS:
        if first in plain and second in plain and depth < 3:
            flat = [_point(p) for p in (plain[first], plain[second])]
            return _from_list(flat, depth + 1) if all(isinstance(p, list) and len(p) == 2 for p in flat) else None
    return None
