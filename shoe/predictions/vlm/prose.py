"""Interactions in text that is no data: tables, "key: value" lines, tags, and sentences with boxes inside."""

from __future__ import annotations

import csv
import re
from typing import Any

from shoe.core.io.tolerant import values_in
from shoe.predictions.vlm.box_marks import marked
from shoe.predictions.vlm.boxed_things import Entity
from shoe.predictions.vlm.boxes import box_of, corners_in
from shoe.predictions.vlm.fields import Fields
from shoe.predictions.vlm.items import interactions_in
from shoe.predictions.vlm.keys import meaning
from shoe.predictions.vlm.parsed_reply import Pair, Reading
from shoe.predictions.vlm.sentences import LEAD, interactions_of_sentences

# Items in text that is laid out as data: tables of several kinds, tags, and assignments.

_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t:-]*)*")
_CELL = re.compile(r"<t[hd]\b[^<>]{0,200}>([^<>]{0,500})</t[hd]>")
_TAG = re.compile(
    r"<(/?)([A-Za-z][\w-]{0,40})((?:\s+[\w-]{1,40}\s*=\s*(?:\"[^\"<>]{0,300}\"|'[^'<>]{0,300}'))*)\s*(/?)>"
)
_INLINE = frozenset(("ref", "box", "quad"))  # what is done stands between these, and not in them
_OPENED = re.compile(r"</?(?!(?:ref|box|quad)\b[^-])[A-Za-z]")
_ATTRIBUTE = re.compile(r"([\w-]{1,40})\s*=\s*(\"[^\"<>]{0,300}\"|'[^'<>]{0,300}')")
_ASSIGNED = re.compile(r"^[\s>*-]*([A-Za-z]\w{0,40})\s*[=:]\s*(?=[\[({])", re.MULTILINE)
_NUMBER = re.compile(r"(?<!\w)\d")
_DEEPEST = 8


def tables(text: str) -> list[dict[str, Any]]:
    """The rows of tables: with a line of dashes under the header, of HTML, or of comma-separated values."""
    if "</t" in text:
        return _html(text)
    lines = text.split("\n")
    records: list[dict[str, Any]] = []
    header: list[str] = []
    for i, line in enumerate(lines):
        if "|" not in line:
            header = []
        elif i + 1 < len(lines) and "-" in lines[i + 1] and _RULE.fullmatch(lines[i + 1]):
            header = _cells(line)
        elif header and not _RULE.fullmatch(line):
            _add(records, header, _cells(line))
    return records or _separated(lines)


def _html(text: str) -> list[dict[str, Any]]:
    header, *rows = [_CELL.findall(row) for row in text.split("</tr>")]
    records: list[dict[str, Any]] = []
    for row in rows:
        _add(records, [name.strip() for name in header], row)
    return records


def _separated(lines: list[str]) -> list[dict[str, Any]]:
    """The lines below one that names boxes and words between commas."""
    for i, line in enumerate(lines):
        if line.count(",") < 2 or _NUMBER.search(line):
            continue
        header = [cell.strip() for cell in line.split(",")]
        if any(meaning(c).part == "box" for c in header) or corners_in(dict.fromkeys(header, 0)):
            records: list[dict[str, Any]] = []
            try:
                for row in csv.reader(lines[i + 1 :], skipinitialspace=True):
                    _add(records, header, row)
            except csv.Error:
                return []
            return records
    return []


def _add(records: list[dict[str, Any]], header: list[str], cells: list[str]) -> None:
    if cells and len(cells) == len(header):
        records.append(dict(zip(header, cells, strict=True)))


def _cells(line: str) -> list[str]:
    return [cell.strip(" *`\t") for cell in line.strip().strip("|").split("|")]


def tagged(text: str) -> list[dict[str, Any]]:
    """What tags hold, with their attributes, as objects in objects: <human_box>1, 2, 3, 4</human_box>."""
    if ("</" not in text and "/>" not in text) or not _OPENED.search(text):
        return []
    root: dict[str, Any] = {}
    stack: list[tuple[str, dict[str, Any], int]] = [("", root, 0)]
    for tag in _TAG.finditer(text):
        closes, name, attributes, is_empty = tag.groups()
        if closes:
            if len(stack) > 1 and stack[-1][0] == name:
                _, element, start = stack.pop()
                words = text[start : tag.start()].strip()
                if element and words and "<" not in words:
                    element = {"label": words} | element
                _put(stack[-1][1], name, element or words)
            continue
        element = {key: value[1:-1] for key, value in _ATTRIBUTE.findall(attributes)}
        if is_empty:
            _put(stack[-1][1], name, element)
        elif len(stack) < _DEEPEST:
            stack.append((name, element, tag.end()))
    return [root] if len(stack) == 1 and not root.keys() <= _INLINE else []


def _put(element: dict[str, Any], name: str, value: Any) -> None:
    """Add a child; children of one name are a list."""
    if name not in element:
        element[name] = value
    elif isinstance(element[name], list):
        element[name].append(value)
    else:
        element[name] = [element[name], value]


def assigned(text: str) -> list[dict[str, Any]]:
    """One record of lists that names are given to: human_boxes = [[1, 2, 3, 4]]."""
    record: dict[str, Any] = {}
    for match in _ASSIGNED.finditer(text):
        if match[1] in record:
            return []
        found = values_in(text[match.end() : text.find("\n", match.end()) % (len(text) + 1)])
        if found and isinstance(found[0].value, list) and any(isinstance(v, list | str) for v in found[0].value):
            record[match[1]] = found[0].value
    return [record] if len(record) > 1 else []


_PAIR = re.compile(
    r"""(?P<key>[^\W\d][\w \-/]{0,40}?)["'*`]{0,3}\s*[:=]\s*["'*`]{0,3}\s*"""
    r"(?P<value>(?:[^\n,;|\[\](){}<>:=]{1,40})?[\[({<]+[^\n]{0,160}?[\])}>]+"
    r"(?=\s*(?:[,;|\n]|\Z|[^\W\d][\w ]{0,30}[:=]))|[^\n,;|\[\]=]+(?=\s\w{1,30}=)|[^\n,;|\[\]]+)"
)
_TITLE = re.compile(r"(?:#+|\*\*|\d{1,3}[.)])\s*(?:\*\*)?(?:\d{1,3}[.):]\s*)?((?:[^\W\d][\w'-]*[ *]*){1,8}):?\**\s*")
_OPENS = re.compile(r"[\s-]*[\"'*]{0,3}([A-Za-z][\w ]{0,30})[\"'*]{0,3}\s*:\s*")
_BLOCK = re.compile(r":[ \t]*\n" + r"[ \t]*-[ \t]+(\d{1,5}(?:\.\d{1,9})?)[ \t]*(?:\n|\Z)" * 4)  # YAML's list of lines
_WIDEST = 20
_GAP = re.compile(rf"\s{{{_WIDEST},}}")  # wider ones say no more, and take long to try
LONGEST = 20_000
"""What is behind so many letters of a text is not read."""


def interactions_of_text(text: str, around: Fields) -> Reading:
    """Find interactions in the text of a reply.

    Args:
        text: the answer.
        around: fields of the record that the reply is in.
    """
    text = text[:LONGEST]
    if "   " in text or "\n\n\n" in text or "\t" in text:
        text = _GAP.sub(lambda gap: "\n" if "\n" in gap[0] else " " * _WIDEST, text)
    if "\n" in text and "- " in text:
        text = _BLOCK.sub(r": [\1, \2, \3, \4]\n", text)
    for records in (assigned(text), tables(text), tagged(text), _keyed(text)):
        if records:
            reading = interactions_in(records, around, [records])
            if reading.pairs and all(pair.has_words for pair in reading.pairs):
                return reading
    whole = marked(text)
    boxes = [box for mark in whole.boxes for box in mark]
    if len(boxes) == 2 and (around.has_words or around.label):
        return Reading([_bare_pair([Entity(box) for box in boxes], around)])
    if not boxes and len(around.entities) == 2:
        lines = [LEAD.sub("", line) for line in text.split("\n")]
        return Reading([_bare_pair(around.entities, around, line) for line in lines if line.strip()])
    return interactions_of_sentences(whole)


def _bare_pair(entities: list[Entity], around: Fields, phrase: str = "") -> Pair:
    """Two boxes without words, which the record around them has, or the other way round."""
    return Pair(
        entities[0],
        entities[1],
        around.labels.get("human", "") or around.labels.get("subject", ""),
        around.labels.get("object", ""),
        () if phrase else tuple(around.verbs),
        phrase or around.phrase or (around.label if not around.verbs else ""),
        tuple(around.texts),
        around.score,
    )


def _keyed(text: str) -> list[dict[str, Any]]:
    """Items of "key: value" lines."""
    if ":" not in text and "=" not in text:
        return []
    pairs: list[tuple[str, Any]] = []
    outer: list[tuple[int, str]] = []  # indent and key of lines that only open a level
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip(" -"))
        while outer and outer[-1][0] >= indent:
            outer.pop()
        if (opens := _OPENS.fullmatch(line)) and meaning(opens[1]).side and not meaning(opens[1]).part:
            outer.append((indent, opens[1]))
        around = f"{outer[-1][1]} " if outer else ""
        body = LEAD.sub("", line).replace("**", "").replace("`", "")
        first = len(pairs)
        if (title := _TITLE.fullmatch(line)) and not meaning(title[1]).part:
            pairs.append(("title", title[1].strip(" *:")))
        for match in _PAIR.finditer(body[:1000]):
            said = meaning(match["key"])
            if said.part or said.side or box_of(match["value"]) is not None:
                lead = body[: match.start()].strip(" -–—:;,.(")
                if len(pairs) == first and len(lead.split()) > 1 and "{" not in lead:
                    pairs.append(("phrase", lead))
                pairs.append((around + match["key"].strip(), match["value"].strip().strip("\"'*` .")))
    return [_with_one_thing(item) for item in _grouped(pairs)]


def _with_one_thing(item: dict[str, Any]) -> dict[str, Any]:
    """An item whose object's box may stand under its name, as "Cup: [...]"; of several such names, none counts."""
    names = [key for key in item if not (meaning(key).part or meaning(key).side)]
    return item if len(names) < 2 else {key: value for key, value in item.items() if key not in names}


def _grouped(pairs: list[tuple[str, Any]]) -> list[dict[str, Any]]:
    """Items from keys and values in a row: a key that comes again opens the next item.

    What stood before that key belongs to an outer level, as a person's box above several objects, and holds on.
    """
    items: list[dict[str, Any]] = []
    current: dict[str, Any] = {}
    for key, value in pairs:
        plain = " ".join(word for word in meaning(key).words if not word.isdigit()) or key
        if plain in current:
            items.append(current)
            names = list(current)
            current = {name: current[name] for name in names[: names.index(plain)]}
        current[plain] = value
    return [*items, current] if current else items
