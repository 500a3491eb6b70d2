"""Items in text that is laid out as data: tables of several kinds, tags, and assignments."""

from __future__ import annotations

import csv
import re
from typing import Any

from shoe.io.tolerant import values_in
from shoe.predictions.vlm.boxes import corners_in
from shoe.predictions.vlm.keys import meaning

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
