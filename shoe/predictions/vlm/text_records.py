"""Records in text that is not JSON: rows of tables, XML-like tags, assigned lists and "key: value" lines."""

import csv
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from shoe.core.io.tolerant import values_in
from shoe.predictions.field_names import is_verdict, meaning
from shoe.predictions.vlm.box_marks import is_label
from shoe.predictions.vlm.boxes import box_of, corners_in
from shoe.predictions.vlm.denials import compiled
from shoe.predictions.vlm.pair_lines import LEAD
from shoe.predictions.vlm.words import split_verbs

_PAIR, _TITLE, _OPENS, _SIDE_BOX = compiled("key_value title opens_level side_box")
_BOX_NOUN, _SLASH = compiled("box_noun slash", re.I | re.M)
_ONE_VERB = r"[a-z]+(?:[ _-](?:on|at|with|under|up|in|to|off|from))?"
_VERBS = re.compile(rf"({_ONE_VERB}(?:\s*[,;]\s*(?:and\s+)?{_ONE_VERB})+)(?=\s*(?:[,;|]|\Z))", re.I)
_BREAK, _DEEPEST = re.compile(r"\s*<br\s*/?>\s*", re.I), 8
_RULE, _CELL, _TAG, _OPENED, _ATTRIBUTE, _NUMBER = compiled("table_rule cell tag opened attribute number")
_INLINE = frozenset(("ref", "box", "quad"))  # the words of an interaction are between these tags
_ASSIGNED = re.compile(r"^[\s>*-]*([A-Za-z]\w{0,40})\s*[=:]\s*(?=[\[({])", re.MULTILINE)


def table_records(text: str) -> list[dict[str, Any]]:
    """Return the rows (dicts) of an HTML table, or else Markdown tables, or else the first CSV table with boxes."""
    records: list[dict[str, Any]] = []
    if "</tr>" in text:
        names, *rows = [_CELL.findall(row) for row in text.split("</tr>")]
        return _records([name.strip() for name in names], rows)
    lines = text.split("\n")
    header: list[str] = []
    for i, line in enumerate(lines):
        if "|" not in line:
            header = []
            continue
        cells = [_BREAK.sub(", ", cell.strip(" *`\t")) for cell in line.strip().strip("|").split("|")]
        if i + 1 < len(lines) and "-" in lines[i + 1] and _RULE.fullmatch(lines[i + 1]):
            header = cells
        elif header and not _RULE.fullmatch(line):
            records += _records(header, [cells])
    return records or _separated(lines)


def _separated(lines: list[str]) -> list[dict[str, Any]]:
    """Return the rows below the first comma-separated header that has a box column, as dicts; [] if there is none."""
    for i, line in enumerate(lines):
        if line.count(",") < 2 or _NUMBER.search(line):
            continue
        header = [cell.strip() for cell in line.split(",")]
        if any(meaning(c).part == "box" for c in header) or corners_in(dict.fromkeys(header, 0)):
            with suppress(csv.Error):
                return _records(header, csv.reader(lines[i + 1 :], skipinitialspace=True))
            return []
    return []


def _records(header: list[str], rows: Iterable[list[str]]) -> list[dict[str, Any]]:
    return [dict(zip(header, cells, strict=True)) for cells in rows if cells and len(cells) == len(header)]


def tagged_records(text: str) -> list[dict[str, Any]]:
    """Return [content of the outermost tags by name] for a text with XML-like tags, else [].

    A tag with inner tags or attributes becomes a dict, tags of one name become a list. Returns [] if a tag is not
    closed, or all outermost tags are ref, box or quad.
    """
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
                _add_child(stack[-1][1], name, element or words)
            continue
        element = {key: value[1:-1] for key, value in _ATTRIBUTE.findall(attributes)}
        if is_empty:
            _add_child(stack[-1][1], name, element)
        elif len(stack) < _DEEPEST:
            stack.append((name, element, tag.end()))
    return [root] if len(stack) == 1 and not root.keys() <= _INLINE else []


def _add_child(element: dict[str, Any], name: str, value: Any) -> None:
    if name not in element:
        element[name] = value
    elif isinstance(element[name], list):
        element[name].append(value)
    else:
        element[name] = [element[name], value]


def assigned_records(text: str) -> list[dict[str, Any]]:
    """Return [{name: list}] if a text assigns lists to several names ("boxes = [[1, 2, 3, 4]]"), each once; else []."""
    record: dict[str, Any] = {}
    for match in _ASSIGNED.finditer(text):
        if match[1] in record:
            return []
        found = values_in(text[match.end() : text.find("\n", match.end()) % (len(text) + 1)])
        if found and isinstance(found[0].value, list) and any(isinstance(v, list | str) for v in found[0].value):
            record[match[1]] = found[0].value
    return [record] if len(record) > 1 else []


def key_value_items(text: str) -> list[dict[str, Any]]:
    """Return the items written as "key: value" or "key = value", as dicts."""
    if ":" not in text and "=" not in text:
        return []
    fields: list[tuple[str, Any]] = []
    outer: list[tuple[int, str]] = []  # indent and key of lines that only open a level
    lines = text.split("\n")
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        indent = len(line) - len(line.lstrip(" -"))
        while outer and outer[-1][0] >= indent:
            outer.pop()
        if (level := _OPENS.fullmatch(line)) and meaning(level[1]).side and not meaning(level[1]).part:
            outer.append((indent, level[1]))
        prefix = f"{outer[-1][1]} " if outer else ""
        body = _SIDE_BOX.sub(_side_and_box, _BOX_NOUN.sub(r"\1\3 \2", _SLASH.sub("; ", _plain_line(line)[:1000])))
        first = len(fields)
        is_title = line[:1].isalpha() and line.split()[0].endswith("ing") and _SIDE_BOX.match(_plain_line(following))
        if (title := _TITLE.fullmatch(f"# {line}" if is_title else line)) and not meaning(title[1]).part:
            fields.append(("title", title[1].strip(" *:")))
        for match in _PAIR.finditer(body):
            info = meaning(match["key"])
            if info.part or info.side or is_verdict(match["key"]) or box_of(match["value"]) is not None:
                lead = body[: match.start()].strip(" -–—:;,.(")
                if len(fields) == first and len(lead.split()) > 1 and "{" not in lead:
                    fields.append(("phrase", lead))
                value, listed = match["value"], _VERBS.match(body, match.start("value"))
                if listed and info.part in ("verb", "phrase") and split_verbs(listed[1], ""):
                    value = listed[1]
                own = "" if info.side or info.part == "verb" else prefix  # "Person 1:" above "object_box: [...]"
                fields.append((own + match["key"].strip(), value.strip().strip("\"'*` .")))
    items = _group_items(fields)
    for item in items:  # a single unknown key stays as the label of a box: "Cup: [...]"
        unknown = [key for key in item if not (meaning(key).part or meaning(key).side or is_verdict(key))]
        for key in unknown if len(unknown) > 1 else ():
            del item[key]
    return items


def _plain_line(line: str) -> str:
    return LEAD.sub("", line).replace("*", "").replace("`", "")


def _side_and_box(match: re.Match[str]) -> str:
    """Return "Object: horse [b]" for a word and box [b] of a side; the unchanged text if these are not certain."""
    words = match["words"] or match["noun"] or ""
    is_legend = match["noun"] and (match["words"] or match["key"][-1].isdigit())  # "Object 1 (horse): [b]"
    side, part, _ = meaning(match["key"])
    is_certain = not part and (not words or (bool(side) and not is_legend))
    end = ";" if match["end"] else ""
    return f"{match['key']}: {words} {match['box']}{end}" if is_certain and is_label(words) else match[0]


def _group_items(pairs: list[tuple[str, Any]]) -> list[dict[str, Any]]:
    """Group (key, value) pairs into items; a repeated key starts the next item, which keeps the keys before it."""
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
