"""Interactions in text that is no data: tables, "key: value" lines, tags, and sentences with boxes inside."""

from __future__ import annotations

import re
from typing import Any

from shoe.predictions.vlm.boxes import box_of
from shoe.predictions.vlm.fields import Fields
from shoe.predictions.vlm.found import Pair, Reading
from shoe.predictions.vlm.items import interactions_in
from shoe.predictions.vlm.keys import meaning
from shoe.predictions.vlm.marks import marked
from shoe.predictions.vlm.sentences import LEAD, interactions_of_sentences
from shoe.predictions.vlm.tables import assigned, tables, tagged
from shoe.predictions.vlm.things import Entity

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
