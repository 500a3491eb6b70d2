"""Boxes inside text, replaced by marks; and boxed things: a box with its word.

A token form tells its convention: ``<box>`` and ``<|box_start|>`` hold thousandths, ``<loc_n>`` bins. Numbers in plain
brackets are read under the convention of the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from shoe.lexicon import text
from shoe.lexicon.expressions import bases
from shoe.lexicon.store import by_wordnet, lexicon
from shoe.predictions.boxes.conventions import Convention
from shoe.predictions.vlm.boxes import Box, box_of, number_of
from shoe.predictions.vlm.keys import meaning

# Nothing in a number is tried twice: what several numbers could be divided into grows with a power of their count.
_NUMBER = re.compile(r"[-+]?(?:\d++(?:\.\d*+)?|\.\d++)")
_N = rf"\s*+{_NUMBER.pattern}(?:\s*px)?\s*+"
_FOUR = rf"{_N},{_N},{_N},{_N}"
_UNIT, _THOUSAND, _HUNDRED = Convention(scale="unit"), Convention(scale="thousand"), Convention(scale="hundred")
_GRID = 32
MARK = re.compile("\ue000(\\d+)\ue001")
"""What stands for the boxes of that number."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A text whose boxes are marks.

    Attributes:
        text: the text.
        boxes: by number of the mark, its boxes: most often one.
    """

    text: str
    boxes: list[list[Box]]


def _fours(numbers: list[float], convention: Convention | None) -> list[Box]:
    rows = [numbers[i : i + 4] for i in range(0, len(numbers) - len(numbers) % 4, 4)]
    return [Box((row[0], row[1], row[2], row[3]), convention) for row in rows]


def _numbers(text: str) -> list[float]:
    return [float(number) for number in _NUMBER.findall(text)]


def _plain(convention: Convention | None) -> Callable[[re.Match[str]], list[Box]]:
    return lambda match: _fours(_numbers(match[1]), convention)


def _florence(match: re.Match[str]) -> list[Box]:
    return _fours([(bin_ + 0.5) / 1000 for bin_ in _numbers(re.sub(r"<loc_", " ", match[0]))], BINS)


def _paligemma(match: re.Match[str]) -> list[Box]:
    bins = [bin_ / 1024 for bin_ in _numbers(match[0])]
    boxes = _fours(bins, BINS)
    return [box._replace(numbers=(box.numbers[1], box.numbers[0], box.numbers[3], box.numbers[2])) for box in boxes]


def _kosmos(match: re.Match[str]) -> list[Box]:
    """Two cells of a 32 x 32 grid: corners in their centres, or their edges where both are in one row or column."""
    cells = [int(number) for number in re.findall(r"\d+", match[0])]
    boxes = []
    for first, last in zip(cells[::2], cells[1::2], strict=False):
        (y1, x1), (y2, x2) = divmod(first, _GRID), divmod(last, _GRID)
        low, high = (0.0, 1.0) if x1 == x2 or y1 == y2 else (0.5, 0.5)
        corners = ((x1 + low) / _GRID, (y1 + low) / _GRID, (x2 + high) / _GRID, (y2 + high) / _GRID)
        boxes.append(Box(corners, BINS))
    return boxes


def _named_corners(match: re.Match[str]) -> list[Box]:
    return _fours([float(number) for number in match.groups()], None)


_FIRST = r"(?:top|upper)[- ]?left(?: corner)?\s*(?:at|:|=)?\s*"
_TO = r"(?:,|;|to|-|→|and)?\s*(?:(?:bottom|lower)[- ]?right(?: corner)?\s*(?:at|:|=)?)?"
_CORNERS = r"[,;]?\s*".join(
    rf"{axis}_?{end}\s*[:=]\s*({_NUMBER.pattern})" for end in ("(?:1|min)", "(?:2|max)") for axis in "xy"
)
BINS = Convention(scale="unit")
"""The convention of location tokens; a mark of their own, as no user can mean another by them."""

# In this order: the form, and what it holds.
_FORMS: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], list[Box]]], ...] = (
    ("<box>", re.compile(r"<(?:box|quad)>(.{0,2000}?)</(?:box|quad)>", re.DOTALL), _plain(_THOUSAND)),
    (
        "box_start|>",
        re.compile(r"<\|(?:box|quad)_start\|>(.{0,2000}?)<\|(?:box|quad)_end\|>", re.DOTALL),
        _plain(_THOUSAND),
    ),
    ("<|det|>", re.compile(r"<\|det\|>(.{0,2000}?)<\|/det\|>", re.DOTALL), _plain(_THOUSAND)),
    ("<loc_", re.compile(r"(?:(?:<loc_\d{1,4}>){4})+"), _florence),
    ("<loc", re.compile(r"(?:<loc\d{4}>){4}"), _paligemma),
    (
        "<patch_index_",
        re.compile(r"(?:<patch_index_\d{4}>\s*<patch_index_\d{4}>(?:</delimiter_of_multi_objects/>)?)+"),
        _kosmos,
    ),
    ("{<", re.compile(r"\{((?:<\s*\d{1,4}\s*>){4}(?:<delim>(?:<\s*\d{1,4}\s*>){4})*)\}"), _plain(_HUNDRED)),
    ("x", re.compile(rf"[\[({{]?\s?{_CORNERS}\s?[\])}}]?"), _named_corners),
    ("<bbox>", re.compile(r"<bbox>(.{0,200}?)</bbox>", re.DOTALL), _plain(None)),
    ("[", re.compile(rf"\[\s*((?:\[{_FOUR}\](?:\s*[,;])?\s*)+)\]"), _plain(None)),
    ("[", re.compile(rf"[\[(<]((?:{_FOUR};?)+)[\])>]"), _plain(None)),
    ("[", re.compile(rf"\[\s*([\[(]{_N},{_N}[\])]\s*,\s*[\[(]{_N},{_N}[\])])\s*\]"), _plain(None)),
    ("(", re.compile(rf"[\[(<]((?:{_FOUR};?)+)[\])>]"), _plain(None)),
    (
        "(",
        re.compile(
            rf"(?:{_FIRST})?([\[(]{_N},{_N}[\])]\s*{_TO}\s*[\[(]{_N},{_N}[\])])",
            re.I,
        ),
        _plain(None),
    ),
)
_TAGS = re.compile(
    r"</?(?:ref|phrase|object|p|grounding|pred|rel|s|od|delim|g_[se])>|<\|/?(?:object_)?(?:ref|grounding)(?:_start|_end)?\|>",
    re.I,
)
_CLOSED = re.compile(r"</([A-Za-z]\w{0,15})>")
_OPENED = re.compile(r"<[A-Za-z]\w{0,40}>")  # tokens of which nobody knows whether they are words
_BARE = re.compile(
    rf"(?<![\w.,])((?:{_NUMBER.pattern}(?:\s*px)?(?:\s*+,\s*+|\s++)){{3}}{_NUMBER.pattern}(?:\s*px)?)(?![\w.])"
)
_HAS_PREDICATES = re.compile(r"<(?:pred|rel)>")
_POINTS = re.compile(r"<points?\s|<point>|\"?point_2d|<\|point_start")


def has_points(text: str) -> bool:
    """Whether a text has points in place of boxes."""
    return _POINTS.search(text) is not None


def marked(text: str) -> Marked:
    """Replace every box of a text by a mark, and take the tags around words away."""
    boxes: list[list[Box]] = []

    def mark(read: Callable[[re.Match[str]], list[Box]]) -> Callable[[re.Match[str]], str]:
        def replace(match: re.Match[str]) -> str:
            found = read(match)
            if not found:
                return match[0]
            boxes.append(found)
            return f" \ue000{len(boxes) - 1}\ue001 "

        return replace

    for sign, form, read in _FORMS:
        if sign in text:
            text = form.sub(mark(read), text)
    if not boxes and not has_points(text):
        text = _BARE.sub(mark(_plain(None)), text)
    if _HAS_PREDICATES.search(text):
        return Marked(text, boxes)
    if closed := {match[1] for match in _CLOSED.finditer(text)}:
        plain = re.sub(rf"</?(?:{'|'.join(closed)})>", " ", text)
        text = text if _OPENED.search(_TAGS.sub(" ", plain)) else plain
    return Marked(_TAGS.sub(" ", text), boxes)


def grounded(value: Any) -> Marked | None:
    """A caption with its list of entities, as Kosmos-2's processor gives them; None for anything else.

    An entity is its words, where they stand in the caption, and its boxes: ["a man", [0, 5], [[0.1, 0.2, 0.5, 0.9]]].
    """
    if not (isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], list)):
        return None
    caption, entities = value
    spans: list[tuple[int, list[Box]]] = []
    for entity in entities:
        if not (isinstance(entity, list) and len(entity) == 3 and isinstance(entity[2], list)):
            return None
        span = entity[1]
        if not (isinstance(span, list) and len(span) == 2 and all(type(x) is int for x in span)):
            return None
        boxes = [box for inner in entity[2] if (box := box_of(inner))]
        if boxes:
            spans.append((min(max(span[1], 0), len(caption)), boxes))
    parts, start = [], 0
    spans.sort(key=lambda span: span[0])
    for number, (end, _) in enumerate(spans):
        parts.append(f"{caption[start:end]} \ue000{number}\ue001 ")
        start = end
    return Marked("".join([*parts, caption[start:]]), [boxes for _, boxes in spans]) if spans else None


def with_mentions(text: str, marks: dict[str, int], words: dict[int, str] | None = None) -> str:
    """Put marks behind the names of boxed things in a text.

    Args:
        text: words without marks.
        marks: the number of the mark of each name.
        words: what things are called whose names are no words, by the number of the mark.
    """
    names = sorted((name for name in marks if name), key=len, reverse=True)
    if not names:
        return text
    pattern = re.compile(rf"(?<![\w])(?:{'|'.join(map(re.escape, names))})(?![\w])", re.I)
    lower: dict[str, Any] = {name.lower(): number for name, number in marks.items()}

    def mention(match: re.Match[str]) -> str:
        number = lower[match[0].lower()]
        return f"{(words or {}).get(number) or numberless(match[0])} \ue000{number}\ue001 "

    return pattern.sub(mention, text)


# Boxed things: a box with its word, as a reply writes the two together.

# Which words are words for a person, and which for a verb.

_PERSONS = text.WORD_CLASSES["persons"] - {"it", "one", "they", "group", "couple", "crowd"}
_THINGS = frozenset(f"noun.{kind}" for kind in ("animal", "artifact", "food", "object", "plant"))
_ENDS = text.PREPOSITIONS | {"wearing", "who", "that", "holding", "sitting", "standing", ","}


@lru_cache(8192)
def is_person(label: str) -> bool:
    """Tell whether a label is a word for a person, by its head noun.

    >>> is_person("man in a red shirt"), is_person("Surfer"), is_person("bench")
    (True, True, False)
    """
    words = [word for word in text.tokens(text.plain(label[:200])) if not word.isdigit()]
    if len(words) > 1 and len(words[-1]) == 1:  # "person A", "player #7"
        words = words[:-1]
    head = next((i for i, word in enumerate(words) if i and word in _ENDS), len(words))
    return bool(words) and _names_person(words[head - 1])


@lru_cache(8192)
@by_wordnet
def _names_person(word: str) -> bool:
    if word in _PERSONS:
        return True
    store = lexicon()
    for base in store.base_forms(word, "n"):
        senses = store.senses(base, "n")
        if len(senses):
            return store.lexname(int(senses[0])) == "noun.person"
    return False


@lru_cache(8192)
@by_wordnet
def is_thing(label: str) -> bool:
    """Tell whether a label is first of all a word for something that can be held or seen: "wine glass"; not "data"."""
    words = text.tokens(text.plain(label[:200]))
    store = lexicon()
    names = ["_".join(words), words[-1]] if words else []
    for base in (base for name in names for base in store.base_forms(name, "n")):
        senses = store.senses(base, "n")
        if len(senses):
            return store.lexname(int(senses[0])) in _THINGS
    return False


@lru_cache(8192)
@by_wordnet
def can_be_verb(phrase: str) -> bool:
    """Tell whether a phrase begins like a verb: "riding", "sit on"; not "bench"."""
    words = text.tokens(text.plain(phrase[:200]))
    return bool(words) and (words[0].endswith("ing") or bool(bases(words[0], "verb")))


@lru_cache(8192)
def verb_likeness(phrase: str) -> float:
    """How much words look like a verb, and not like a noun: from -1 to 1."""
    words = text.tokens(text.plain(phrase[:200]))
    if text.says_no_interaction(words):
        return 1.0
    if not words or not can_be_verb(phrase):
        return -1.0
    if words[0].endswith("ing") or (len(words) > 1 and words[-1] in text.PREPOSITIONS):
        return 1.0
    return -0.5 if len(words) > 1 else 0.0 if _is_noun(words[0]) else 1.0


@by_wordnet
def _is_noun(word: str) -> bool:
    store = lexicon()
    return any(len(store.senses(base, "n")) for base in store.base_forms(word, "n"))


_NUMBERING = re.compile(r"[\s_.#-]*\(?\d+\)?$")
_ARTICLE = re.compile(r"^(?:an?|the)\s+(?=\w)", re.I)
_REF = re.compile(r"</?ref>|<\|/?(?:object_)?ref(?:_start|_end)?\|>")
_LABELLED_BOX = re.compile(r"\s*([^\W\d][^\[\](){}<>:=]{0,80}?)\s*[:=]?\s*([\[(<{].*)", re.DOTALL)
_RELATIVE = frozenset(("norm", "normalized", "normalised", "rel", "relative", "n", "ratio", "percent", "1000"))
_UNITS = _RELATIVE | {"abs", "absolute", "px", "pixel", "pixels", "raw", "orig", "original"}
_SAYS_WHAT = {"interaction", "interactions", "hoi", "hois", "triplet", "triplets"}


class Entity(NamedTuple):
    """A box with what a reply calls it.

    Attributes:
        box: its numbers.
        side: "human", "subject", "object", or "" where nothing says whose it is.
        label: its word, "" if it has none.
        key: the key that it stands under, as its word where there is no other.
    """

    box: Box
    side: str = ""
    label: str = ""
    key: str = ""


@lru_cache(8192)
def numberless(label: str) -> str:
    """A label without its article and the number that tells it from others: "the horse_1" is horse.

    >>> numberless("person.2"), numberless("a wine glass"), numberless("man #1")
    ('person', 'wine glass', 'man')
    """
    plain = _ARTICLE.sub("", label.strip())
    return _NUMBERING.sub("", plain) or plain


def entity_of(value: Any, key: object, side: str, *, holds_more: bool = False) -> Entity | None:
    """A box, or an object that holds one box and its label; None for anything else.

    Args:
        value: as a model wrote it.
        key: under which it stands.
        side: whose box it is, "" where nothing says so.
        holds_more: whether the object may hold a list of what is done, beside its box.
    """
    if type(value) not in (str, list, dict):
        return None
    if isinstance(value, dict):
        for name, inner in value.items():
            if not (holds_more and isinstance(inner, list)) and _says_what(name, inner):
                return None
    box = box_of(value, key)
    if box is not None:
        said = value.items() if isinstance(value, dict) else ()
        names = [text for name, inner in said if _is_name(name, text := inner[0] if _is_one(inner) else inner)]
        return Entity(box, side, names[0] if names else "", _as_label(key))
    if isinstance(value, str):
        return _labelled(value, key, side)
    if not isinstance(value, dict):
        if isinstance(value, list) and len(value) in (2, 5) and isinstance(value[0], str):
            inner = box_of(value[1] if len(value) == 2 else value[1:])
            return Entity(inner, side, value[0], _as_label(key)) if inner else None
        return None
    boxes = [(name, found) for name, inner in value.items() if (found := box_of(inner, name)) is not None]
    if len(boxes) > 1:
        boxes = _in_pixels(boxes)
    if len(boxes) != 1:
        return None
    name, box = boxes[0]
    texts = {key: inner[0] if _is_one(inner) else inner for key, inner in value.items() if key != name}
    labels = {name: inner for name, inner in texts.items() if isinstance(inner, str)}
    ranked = sorted(labels, key=lambda name: (meaning(name).part != "label", meaning(name).part != "phrase"))
    label = next((labels[name] for name in ranked if meaning(name).part != "id"), "")
    if not label and meaning(name).part == "":
        label = numberless(str(name))
    if box.convention is None and (outer := box_of(list(box.numbers), key)) is not None:
        box = box._replace(convention=outer.convention)
    return Entity(box, side, label, _as_label(key))


def _in_pixels(boxes: list[tuple[object, Box]]) -> list[tuple[object, Box]]:
    """Of boxes that are one in several units, "bbox" beside "bbox_norm", that in pixels; else all of them."""
    plain = {tuple(word for word in meaning(name).words if word not in _UNITS) for name, _ in boxes}
    relative = [not _RELATIVE.isdisjoint(meaning(name).words) for name, _ in boxes]
    return [boxes[relative.index(False)]] if len(plain) == 1 and any(relative) and not all(relative) else boxes


def _is_one(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 1


def _is_name(key: object, value: Any) -> bool:
    """Whether a value beside the four numbers of a box is its word."""
    return isinstance(value, str) and meaning(key).part in ("label", "phrase") and number_of(value) is None


def _says_what(key: object, value: Any) -> bool:
    """Whether a value beside a box says what is done, or holds items that may."""
    if not isinstance(value, str | list | dict) or not value:
        return False
    said = meaning(key)
    if said.part == "verb" or (not isinstance(value, dict) and _SAYS_WHAT.intersection(said.words)):
        return not isinstance(value, list) or box_of(value) is None
    if isinstance(value, dict):
        return said.part == "phrase"
    return isinstance(value, list) and any(isinstance(inner, dict) for inner in value) and box_of(value) is None


@lru_cache(8192)
def _as_label(key: object) -> str:
    """The key as a word, if it is nothing else: {"horse": [1, 2, 3, 4]}."""
    said = meaning(key)
    is_word = isinstance(key, str) and not said.part and not said.side and any(word.isalpha() for word in said.words)
    return numberless(str(key).replace("_", " ")) if is_word else ""


def _labelled(text: str, key: object, side: str) -> Entity | None:
    """A word and its box in one text, as in "horse [1, 2, 3, 4]"."""
    match = _LABELLED_BOX.fullmatch(_REF.sub(" ", text)) if len(text) <= 200 else None
    box = box_of(match[2], key) if match else None
    return Entity(box, side, match[1], _as_label(key)) if match and box else None


def words_of_boxes(record: dict[Any, Any]) -> dict[Any, Any]:
    """The key of the word of each box that has one of the same name: "doer" for "doer_box"."""
    named: dict[Any, Any] = {}
    for key, value in record.items():
        if (own := _box_of_whom(key)) and box_of(value, key) is not None:
            words = (k for k, text in record.items() if isinstance(text, str) and _plain_words(k) == own)
            named |= {key: next(words, None)}
    return {key: name for key, name in named.items() if name is not None}


@lru_cache(8192)
def _box_of_whom(key: object) -> tuple[str, ...]:
    """The words of a key of a box beside those for a box, where it says of no side: "what" of "what_bbox"."""
    said = meaning(key)
    if said.part != "box" or said.side:
        return ()
    return tuple(word for word in said.words if meaning(word).part != "box")


@lru_cache(8192)
def _plain_words(key: object) -> tuple[str, ...]:
    """The words of a key that means nothing by itself."""
    said = meaning(key)
    return () if said.part or said.side else said.words
