"""Replace boxes in text by marks (numbered placeholders), and find the label of each box.

Special tokens imply a convention: ``<box>`` and ``<|box_start|>`` contain thousandths of the image size, ``<loc_n>``
the index of a bin. Numbers in plain brackets have the convention of the file.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec

from shoe.lexicon import text
from shoe.lexicon.senses import find
from shoe.lexicon.store import by_wordnet, lexicon
from shoe.predictions.boxes.conventions import Convention
from shoe.predictions.field_names import meaning, rank
from shoe.predictions.vlm.boxes import Box, box_of, number_of, replaced_boxes
from shoe.predictions.vlm.denials import compiled

# Possessive quantifiers prevent backtracking, whose cost would grow with a power of the count of numbers.
_NUMBER = re.compile(r"[-+]?(?:\d++(?:\.\d*+)?|\.\d++)")
_N = rf"\s*+{_NUMBER.pattern}(?:\s*px)?\s*+"
_FOUR = rf"{_N},{_N},{_N},{_N}"
_HUNDRED = Convention(scale="hundred")
_GRID = 32
MARK = re.compile("\ue000(\\d+)\ue001")  # placeholder for the boxes with this index


class MarkedText(NamedTuple):
    """A text with a numbered mark in place of each group of boxes; ``boxes[i]`` are the boxes of mark i."""

    text: str
    boxes: list[list[Box]]


def _reader(
    convention: Convention | None = None, shift: float = 0, bins: int = 1, order: tuple[int, ...] = (0, 1, 2, 3)
) -> Callable[[re.Match[str]], list[Box]]:
    """Return a parser of the boxes in the groups of a match; a location token n stands for (n + shift) / bins."""

    def read(match: re.Match[str]) -> list[Box]:
        words = _NUMBER.findall(" ".join(match.groups()))
        numbers = [(float(word) + shift) / bins for word in words] if bins > 1 else [*map(float, words)]
        rows = (numbers[i : i + 4] for i in range(0, len(numbers) - len(numbers) % 4, 4))
        x1, y1, x2, y2 = order
        return [Box((row[x1], row[y1], row[x2], row[y2]), convention) for row in rows]

    return read


def _read_kosmos(match: re.Match[str]) -> list[Box]:
    """Parse boxes of two cells of a 32 x 32 grid: between centres, or outer edges if in one row or column."""
    cells = [int(number) for number in re.findall(r"\d+", match[0])]
    boxes = []
    for first, last in zip(cells[::2], cells[1::2], strict=False):
        (y1, x1), (y2, x2) = divmod(first, _GRID), divmod(last, _GRID)
        low, high = (0.0, 1.0) if x1 == x2 or y1 == y2 else (0.5, 0.5)
        corners = ((x1 + low) / _GRID, (y1 + low) / _GRID, (x2 + high) / _GRID, (y2 + high) / _GRID)
        boxes.append(Box(corners, BINS))
    return boxes


_FIRST = r"(?:top|upper)[- ]?left(?: corner)?\s*(?:at|:|=)?\s*"
_TO = r"(?:,|;|to|-|→|and)?\s*(?:(?:bottom|lower)[- ]?right(?: corner)?\s*(?:at|:|=)?)?"
_CORNERS = r"[,;]?\s*".join(
    rf"{axis}_?{end}\s*[:=]\s*({_NUMBER.pattern})" for end in ("(?:1|min)", "(?:2|max)") for axis in "xy"
)
BINS = Convention(scale="unit")  # location tokens
_read_plain, _read_thousandths = _reader(), _reader(Convention(scale="thousand"))

# A string that the text must contain, the form of boxes, and its parser, in the order in which they are applied.
_FORMS: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], list[Box]]], ...] = (
    ("<box>", re.compile(r"<(?:box|quad)>(.{0,2000}?)</(?:box|quad)>", re.DOTALL), _read_thousandths),
    ("box_start|>", re.compile(r"<\|(?:box|quad)_start\|>(.{0,2000}?)<\|(?:box|quad)_end\|>", re.S), _read_thousandths),
    ("<|det|>", re.compile(r"<\|det\|>(.{0,2000}?)<\|/det\|>", re.DOTALL), _read_thousandths),
    ("<loc_", re.compile(r"((?:(?:<loc_\d{1,4}>){4})+)"), _reader(BINS, 0.5, 1000)),
    ("<loc", re.compile(r"((?:<loc\d{4}>){4})"), _reader(BINS, 0, 1024, order=(1, 0, 3, 2))),
    (
        "<patch_index_",
        re.compile(r"(?:<patch_index_\d{4}>\s*<patch_index_\d{4}>(?:</delimiter_of_multi_objects/>)?)+"),
        _read_kosmos,
    ),
    ("{<", re.compile(r"\{((?:<\s*\d{1,4}\s*>){4}(?:<delim>(?:<\s*\d{1,4}\s*>){4})*)\}"), _reader(_HUNDRED)),
    ("x", re.compile(rf"[\[({{]?\s?{_CORNERS}\s?[\])}}]?"), _read_plain),
    ("<bbox>", re.compile(r"<bbox>(.{0,200}?)</bbox>", re.DOTALL), _read_plain),
    ("[", re.compile(rf"\[\s*((?:\[{_FOUR}\](?:\s*[,;])?\s*)+)\]"), _read_plain),
    ("[", re.compile(rf"[\[(<]((?:{_FOUR};?)+)[\])>]"), _read_plain),
    ("[", re.compile(rf"\[\s*([\[(]{_N},{_N}[\])]\s*,\s*[\[(]{_N},{_N}[\])])\s*\]"), _read_plain),
    ("(", re.compile(rf"[\[(<]((?:{_FOUR};?)+)[\])>]"), _read_plain),
    ("(", re.compile(rf"(?:{_FIRST})?([\[(]{_N},{_N}[\])]\s*{_TO}\s*[\[(]{_N},{_N}[\])])", re.I), _read_plain),
)
(_TAGS,) = compiled("inline_tag", re.I)
_CLOSED, _OPENED, _HAS_PREDICATES, _POINTS = compiled("closed_tag opened_tag has_predicates points")
_BARE = re.compile(
    rf"(?<![\w.,])((?:{_NUMBER.pattern}(?:\s*px)?(?:\s*+,\s*+|\s++)){{3}}{_NUMBER.pattern}(?:\s*px)?)(?![\w.])"
)


def has_points(text: str) -> bool:
    """Return whether a text contains points (x, y), which some models write in place of boxes."""
    return _POINTS.search(text) is not None


def mark_boxes(text: str) -> MarkedText:
    """Return a text with a numbered placeholder for every group of boxes; tags such as ``<ref>`` are removed."""
    boxes: list[list[Box]] = []

    def mark(read: Callable[[re.Match[str]], list[Box]]) -> Callable[[re.Match[str]], str]:
        def replace(match: re.Match[str]) -> str:
            boxes_of_mark = read(match)
            if not boxes_of_mark:
                return match[0]
            boxes.append(boxes_of_mark)
            return f" \ue000{len(boxes) - 1}\ue001 "

        return replace

    for substring, form, read in _FORMS:
        if substring in text:
            text = form.sub(mark(read), text)
    if not boxes and not has_points(text):
        text = _BARE.sub(mark(_read_plain), text)
    if _HAS_PREDICATES.search(text):
        return MarkedText(text, boxes)
    if closed_tags := {match[1] for match in _CLOSED.finditer(text)}:
        untagged = re.sub(rf"</?(?:{'|'.join(closed_tags)})>", " ", text)
        text = text if _OPENED.search(_TAGS.sub(" ", untagged)) else untagged
    return MarkedText(_TAGS.sub(" ", text), boxes)


def grounded_caption(value: Any) -> MarkedText | None:
    """Return the caption in the output of Kosmos-2's processor, with a box mark after each entity; None for others.

    This output is a caption and a list of entities. An entity is a list of its words, their span in the caption, and
    its boxes: ["a man", [0, 5], [[0.1, 0.2, 0.5, 0.9]]].
    """
    if not isinstance(value, list) or len(value) != 2:
        return None  # most values, without the time of an exception
    try:
        caption, entities = msgspec.convert(value, tuple[str, list[tuple[Any, tuple[int, int], list[Any]]]])
    except msgspec.ValidationError:
        return None
    ends = [(min(max(end, 0), len(caption)), [*filter(None, map(box_of, boxes))]) for _, (_, end), boxes in entities]
    spans = sorted((span for span in ends if span[1]), key=itemgetter(0))
    parts, start = [], 0
    for number, (end, _) in enumerate(spans):
        parts.append(f"{caption[start:end]} \ue000{number}\ue001 ")
        start = end
    return MarkedText("".join([*parts, caption[start:]]), [boxes for _, boxes in spans]) if spans else None


def insert_marks(text: str, marks: dict[str, int], words: dict[int, str] | None = None) -> str:
    """Return a text with a box mark (numbered placeholder of boxes) after each name of an entity.

    ``marks`` are mark numbers by name. ``words`` are labels by mark number, which replace names: "man" for "P1".
    """
    names = sorted((name for name in marks if name), key=len, reverse=True)
    if not names:
        return text
    ordered = (f"(?-i:{name})" if name.isalpha() and len(name) == 1 else re.escape(name) for name in names)  # "A"
    pattern = re.compile(rf"(?<![\w])(?:{'|'.join(ordered)})(?![\w])", re.I)
    lower: dict[str, Any] = {name.lower(): number for name, number in marks.items()}

    def mention(match: re.Match[str]) -> str:
        number = lower[match[0].lower()]
        return f"{(words or {}).get(number) or numberless(match[0])} \ue000{number}\ue001 "

    return pattern.sub(mention, text)


_PERSONS = text.WORD_CLASSES["persons"] - {"it", "one", "they", "group", "couple", "crowd"}
_THINGS = frozenset(f"noun.{kind}" for kind in ("animal", "artifact", "food", "object", "plant"))
_AFTER_HEAD_NOUN = text.PREPOSITIONS | text.WORD_CLASSES["after_persons"]


@lru_cache(8192)
def is_person(label: str) -> bool:
    """Return whether the head noun of a label is a word for a person: "Surfer", "man in a red shirt"; not "bench"."""
    words = [word for word in text.tokens(text.plain(label[:200])) if not word.isdigit()]
    if len(words) > 1 and len(words[-1]) == 1:  # "person A", "player #7"
        words = words[:-1]
    head = next((i for i, word in enumerate(words) if i and word in _AFTER_HEAD_NOUN), len(words))
    return bool(words) and (words[head - 1] in _PERSONS or _lexname(words[head - 1]) == "noun.person")


@lru_cache(8192)
@by_wordnet
def _lexname(*nouns: str) -> str:
    """Return the lexicographer file ("noun.person") of the first sense of the first known noun; "" if none is known."""
    store = lexicon()
    senses = (store.senses(base, "n") for noun in nouns for base in store.base_forms(noun, "n"))
    return next((store.lexname(int(each[0])) for each in senses if len(each)), "")


@lru_cache(8192)
def is_thing(label: str) -> bool:
    """Return whether the first noun sense of a label (or its last word) is an animal, artifact, plant or the like."""
    words = text.tokens(text.plain(label[:200]))
    return bool(words) and _lexname("_".join(words), words[-1]) in _THINGS


@lru_cache(8192)
@by_wordnet
def can_be_verb(phrase: str) -> bool:
    """Return whether the first word of a phrase can be a verb: True for "sit on" and "bench", False for "zebra"."""
    words = text.tokens(text.plain(phrase[:200]))
    return bool(words) and (words[0].endswith("ing") or bool(find(words[:1], "verb")))


@lru_cache(8192)
def verb_likeness(phrase: str) -> float:
    """Return how likely words are a verb: 1 (surely), 0 (verb or noun), -0.5 (verb and other words), -1 (no verb)."""
    words = text.tokens(text.plain(phrase[:200]))
    if text.says_no_interaction(words):
        return 1.0
    if not words or not can_be_verb(phrase):
        return -1.0
    if words[0].endswith("ing") or (len(words) > 1 and words[-1] in text.PREPOSITIONS):
        return 1.0
    return -0.5 if len(words) > 1 else 0.0 if _lexname(words[0]) else 1.0


_NUMBERING, _REF = compiled("label_number ref_tag")
_KINDS = {"label": 0, "phrase": 1}  # the best label of a box first
_ARTICLE = re.compile(r"^(?:an?|the)\s+(?=\w)", re.I)
_LABELLED_BOX = re.compile(r"\s*([^\W\d][^\[\](){}<>:=]{0,80}?)\s*[:=]?\s*([\[(<{].*)", re.DOTALL)
_RELATIVE = frozenset(("norm", "normalized", "normalised", "rel", "relative", "n", "ratio", "percent", "1000"))
_UNITS = _RELATIVE | {"abs", "absolute", "px", "pixel", "pixels", "raw", "orig", "original"}
_INTERACTION_WORDS = {"interaction", "interactions", "hoi", "hois", "triplet", "triplets"}


def is_label(words: str) -> bool:
    """Return whether words may name a thing: True for "dog", False for a value or unit ("normalized coordinates")."""
    return not meaning(words).part and _UNITS.isdisjoint(meaning(words).words)


class Entity(NamedTuple):
    """A box with its label."""

    box: Box
    side: str = ""  # "human", "subject", "object", or "" if unknown
    label: str = ""  # word for the box
    key: str = ""  # key of the box if it may be a label, such as "horse" in {"horse": [1, 2, 3, 4]}


@lru_cache(8192)
def numberless(label: str) -> str:
    """Return a label without article and number: "wine glass" for "a wine glass", "person" for "person.2"."""
    plain = _ARTICLE.sub("", label.strip())
    return _NUMBERING.sub("", plain) or plain


def entity_of(value: Any, key: object, side: str, *, holds_more: bool = False) -> Entity | None:
    """Parse a box, or a JSON object with one box and its label, under a key; return None for other values.

    With ``holds_more``, a JSON object that also contains a list, such as the interactions of a person, is accepted.
    """
    if type(value) not in (str, list, dict):
        return None
    if isinstance(value, dict):
        for name, inner in value.items():
            if not (holds_more and isinstance(inner, list)) and _describes_interaction(name, inner):
                return None
    fields = value.items() if isinstance(value, dict) else ()
    texts = {name: inner[0] if isinstance(inner, list) and len(inner) == 1 else inner for name, inner in fields}
    labels = {name: inner for name, inner in texts.items() if isinstance(inner, str)}
    box = box_of(value, key)
    if box is not None:
        names = [name for name in labels if meaning(name).part in ("label", "phrase")]
        label = next((labels[name] for name in names if number_of(labels[name]) is None), "")
        return Entity(box, side, label, _as_label(key))
    if isinstance(value, str):  # "horse [1, 2, 3, 4]"
        match = _LABELLED_BOX.fullmatch(_REF.sub(" ", value)) if len(value) <= 200 else None
        box = box_of(match[2], key) if match else None
        return Entity(box, side, match[1], _as_label(key)) if match and box else None
    if not isinstance(value, dict):
        if isinstance(value, list) and len(value) in (2, 5) and isinstance(value[0], str):
            inner = box_of(value[1] if len(value) == 2 else value[1:])
            return Entity(inner, side, value[0], _as_label(key)) if inner else None
        return None
    parts = replaced_boxes(tuple(value))
    boxes = [(k, box) for k, v in value.items() if k not in parts and (box := box_of(v, k)) is not None]
    if len({tuple(word for word in meaning(name).words if word not in _UNITS) for name, _ in boxes}) == 1 < len(boxes):
        # One box in several units, "bbox" and "bbox_norm": the box in pixels.
        boxes = [each for each in boxes if _RELATIVE.isdisjoint(meaning(each[0]).words)][:1]
    if len(boxes) != 1:
        return None
    name, box = boxes[0]
    labels.pop(name, None)
    order = {k: (_KINDS.get(meaning(k).part, 2), _NUMBERING.search(v) is not None, rank(k)) for k, v in labels.items()}
    ranked = sorted(labels, key=order.__getitem__)
    label = next((labels[name] for name in ranked if meaning(name).part != "id"), "")
    if not label and meaning(name).part == "":
        label = numberless(str(name))
    if box.convention is None and (outer := box_of(list(box.numbers), key)) is not None:
        box = box._replace(convention=outer.convention)
    return Entity(box, side, label, _as_label(key))


def _describes_interaction(key: object, value: Any) -> bool:
    """Return whether a value next to a box describes an interaction, or contains items that may be interactions."""
    if not isinstance(value, str | list | dict) or not value:
        return False
    info = meaning(key)
    if info.part == "verb" or (not isinstance(value, dict) and _INTERACTION_WORDS.intersection(info.words)):
        return not isinstance(value, list) or box_of(value) is None
    if isinstance(value, dict):
        return info.part == "phrase"
    return isinstance(value, list) and any(isinstance(inner, dict) for inner in value) and box_of(value) is None


@lru_cache(8192)
def _as_label(key: object) -> str:
    """Return the key as a label if it has no other meaning, as in {"horse": [1, 2, 3, 4]}; else ""."""
    info = meaning(key)
    is_word = isinstance(key, str) and not info.part and not info.side and any(word.isalpha() for word in info.words)
    return numberless(str(key).replace("_", " ")) if is_word else ""


def words_of_boxes(record: dict[Any, Any]) -> dict[Any, Any]:
    """Return {key of a box: key of its label} if these differ only by the word "box": {"doer_box": "doer"}."""
    texts = ((key, meaning(key)) for key, value in record.items() if isinstance(value, str))
    key_of = {info.words: key for key, info in texts if info.words and not (info.part or info.side)}
    named: dict[Any, Any] = {}
    for key in record if key_of else ():
        info = meaning(key)
        owner = tuple(word for word in info.words if meaning(word).part != "box")
        if info.part == "box" and not info.side and owner in key_of and box_of(record[key], key) is not None:
            named[key] = key_of[owner]
    return named
