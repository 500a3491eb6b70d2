"""Interactions in text that is no data: tables, "key: value" lines, tags, and sentences with boxes inside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from shoe.core.errors import quote
from shoe.predictions.vlm.fields import Entity, Fields, Verb, numberless
from shoe.predictions.vlm.items import Pair, Problem, Reading, interactions_in
from shoe.predictions.vlm.keys import meaning
from shoe.predictions.vlm.marks import MARK, Marked, marked, with_mentions
from shoe.predictions.vlm.persons import is_person
from shoe.predictions.vlm.tables import assigned, tables, tagged

_LINE = re.compile(r"\n+|(?<=[.!?])\s+(?=[A-Z*\-\ue000])|(?<=[.!?;])\s*(?=\d+[.)]\s)|;\s*(?=\ue000)")
_LEAD = re.compile(r"^[\s>#]*(?:[-*•+]\s+|\(?\d{1,3}[.):]\s*|#\d+\s*)*\s*")
_PRED = re.compile(r"<(?:pred|rel)>(.{1,80}?)</(?:pred|rel)>\s*\ue000(\d+)\ue001[\s,]*\ue000(\d+)\ue001")
_REF = re.compile(r"<ref>(.{1,80}?)</ref>\s*\ue000(\d+)\ue001")
_SCORE = re.compile(
    r"[(\[,;|]?\s*(?:confidence|score|probability|conf|prob)(?:\s+score)?\s*(?:of|is|[:=])?\s*"
    r"(\d*\.?\d+\s*%?|very high|high|medium|moderate|low)\s*[)\]]?",
    re.I,
)
_FIELD_LABEL = re.compile(
    r"(?:\b(?:the\s+)?(?:human|person|people|subject|object|target|obj|sub|hum)?[\s_'s-]*(?:bounding\s*box|bbox|box|location|coordinates|"
    r"located|at|position)(?:es)?\b|\b(?:human|person|subject|object|target)\b(?=\s*[:=]))[\s_]*(?:is|are|at|in|of|:|=|\()*\s*(?=\ue000)",
    re.I,
)
_MAY_SCORE = re.compile(r"conf|scor|prob", re.I)
_MAY_LABEL = re.compile(r"[:=]|box|\bat\b|locat|coord|posit", re.I)
_PAIR = re.compile(
    r"""(?P<key>[^\W\d][\w \-/]{0,40}?)["'*`]{0,3}\s*[:=]\s*["'*`]{0,3}\s*"""
    r"(?P<value>(?:[^\n,;|\[\](){}<>:=]{1,40}\s)?[\[({<]+[^\n]{0,160}?[\])}>]+"
    r"(?=\s*(?:[,;|\n]|\Z|[^\W\d][\w ]{0,30}[:=]))|[^\n,;|\[\]]+)"
)
_TITLE = re.compile(r"(?:#+|\*\*|\d{1,3}[.)])\s*((?:[^\W\d][\w'-]*[ *]*){1,8}):?\**\s*")
_OPENS = re.compile(r"[\s-]*[\"'*]{0,3}([A-Za-z][\w ]{0,30})[\"'*]{0,3}\s*:\s*")
_PRONOUNS = frozenset(("he", "she", "they", "his", "her"))
_BRACKETS = re.compile(r"[\[\]{}]+")
_DATA = re.compile(r"[{}]|</|/>|\w[\"']\s*:")
_LONGEST = 300
_WIDEST = 20
_GAP = re.compile(rf"\s{{{_WIDEST},}}")  # wider ones say no more, and take long to try
_MOST = 20_000


@dataclass(slots=True)
class _Sentence:
    """A sentence with marks: the words between them and the numbers of the marks."""

    parts: list[str]
    marks: list[int]


def interactions_of_text(text: str, around: Fields) -> Reading:
    """Find interactions in the text of a reply.

    Args:
        text: the answer.
        around: fields of the record that the reply is in.
    """
    text = _GAP.sub(lambda gap: "\n" if "\n" in gap[0] else " " * _WIDEST, text[:_MOST])
    for records in (assigned(text), tables(text), tagged(text), _keyed(text)):
        if records:
            reading = interactions_in(records, around)
            if reading.pairs and all(pair.has_words for pair in reading.pairs):
                return reading
    whole = marked(text)
    boxes = [box for mark in whole.boxes for box in mark]
    if len(boxes) == 2 and (around.has_words or around.label):
        return Reading([_bare_pair([Entity(box) for box in boxes], around)])
    if not boxes and len(around.entities) == 2:
        lines = [_LEAD.sub("", line) for line in text.split("\n")]
        return Reading([_bare_pair(around.entities, around, line) for line in lines if line.strip()])
    return _of_sentences(whole)


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
        body = _LEAD.sub("", line).replace("**", "").replace("`", "")
        first = len(pairs)
        if title := _TITLE.fullmatch(line):
            pairs.append(("title", title[1].strip(" *:")))
        for match in _PAIR.finditer(body[:1000]):
            said = meaning(match["key"])
            if said.part or said.side:
                lead = body[: match.start()].strip(" -–—:;,.(")
                if len(pairs) == first and len(lead.split()) > 1:
                    pairs.append(("phrase", lead))
                pairs.append((around + match["key"].strip(), match["value"].strip().strip("\"'*` .")))
    return _grouped(pairs)


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


def interactions_of_caption(whole: Marked) -> Reading:
    """Find interactions in a caption whose boxed words are marked."""
    return _of_sentences(whole)


def _of_sentences(whole: Marked) -> Reading:
    """Interactions of sentences: who and what is told by the noun before each box."""
    reading = Reading()
    raw = whole.text
    if "<pred>" in raw or "<rel>" in raw:
        return _of_predicates(whole)
    if not whole.boxes:
        return reading
    sentences = [_LEAD.sub("", line) for line in _LINE.split(raw)]
    names = _names(sentences)
    human: list[int] = []
    for sentence in (" ".join(line.split()) for line in sentences):
        marks = [int(mark[1]) for mark in MARK.finditer(sentence)]
        if not marks and len(names) > 1:
            sentence = with_mentions(sentence, names)
        human = _of_sentence(whole, sentence, human, reading)
    if not reading.found:
        reading.found.append(
            Problem("words", f"{len(whole.boxes)} boxes without words for what is done", "an interaction of two boxes")
        )
    return reading


def _names(sentences: list[str]) -> dict[str, int]:
    """Names of boxed things from lines that hold nothing but a name and its box."""
    names: dict[str, int] = {}
    for sentence in sentences:
        marks = MARK.findall(sentence)
        words = MARK.sub(" ", _FIELD_LABEL.sub(" ", sentence)).replace("*", " ").strip(" :-–—.,()\"'`=")
        if len(marks) == 1 and 0 < len(words.split()) <= 4:
            names.setdefault(words, int(marks[0]))
    return names


def _of_sentence(whole: Marked, sentence: str, human: list[int], reading: Reading) -> list[int]:
    """Add the interactions of a sentence; return the marks of the people that the next one may speak of."""
    score = _SCORE.search(sentence) if _MAY_SCORE.search(sentence) else None
    plain = _SCORE.sub(" ", sentence) if score else sentence
    plain = (_FIELD_LABEL.sub(" ", plain) if _MAY_LABEL.search(plain) else plain).replace("**", " ").replace("`", " ")
    marks = [int(mark[1]) for mark in MARK.finditer(plain)]
    if not marks:
        return human
    parts = [" ".join(part.split()).strip(" :") for part in re.split("\ue000\\d+\ue001", plain)]
    leads = not parts[0]  # the boxes stand before their nouns
    labels = parts[1:] if leads else parts[:-1]
    people = [i for i, label in enumerate(labels) if _names_person(label, leads=leads)]
    value = score[1] if score else None
    if len(marks) == 1:
        words = parts[0].lower().split()
        if human and words and _PRONOUNS.intersection(words[:2]):
            _add(whole, reading, human, marks, f"a person {' '.join(parts[0].split()[1:])}", value)
            return human
        return marks if people else human
    subjects = _leading(people, len(marks)) or [0]
    objects = [i for i in range(len(marks)) if i not in subjects] or [1]
    subjects = [i for i in subjects if i not in objects]
    chosen = [marks[i] for i in subjects]
    head = re.match(r"([^:\ue000]{3,}?\w)\s*(?::|\s[-–—])", plain)
    if head and len(head[1].split()) > 1 and len(marks) == 2 and not is_person(parts[1].split(" ")[0]):
        _add(whole, reading, chosen, [marks[objects[0]]], head[1], value)
    elif len(objects) == 1 or leads:
        text = " ".join(part for part in parts if part)
        for i in objects:
            _add(whole, reading, chosen, [marks[i]], text, value, _noun(labels[i]) if leads else "")
    else:
        for i in objects:
            _add(whole, reading, chosen, [marks[i]], f"a person {_clause(parts[i])}", value)
    return chosen


def _leading(people: list[int], count: int) -> list[int]:
    """The people that act: those before the first thing, and all but the last where there are people only."""
    if not people:
        return []
    run = [people[0]]
    for index in people[1:]:
        if index == run[-1] + 1:
            run.append(index)
    return run[:-1] or run if len(run) == count else run


def _names_person(label: str, *, leads: bool) -> bool:
    words = label.split()
    if leads:
        return any(is_person(word) for word in words[:3])
    words = [word for word in words if word.strip(",.()<>|")]
    return bool(words) and is_person(words[-1].strip(",.()<>|#\"'-_0123456789") or words[0])


def _noun(label: str) -> str:
    return label if len(label.split()) <= 3 else ""


def _clause(words: str) -> str:
    """What a clause says without the conjunction before it: "and holding a rope"."""
    return re.sub(r"^[\s,;]*(?:and|while|also|then|as well as)?\s*", "", words, flags=re.I)


def _add(
    whole: Marked, reading: Reading, humans: list[int], things: list[int], phrase: str, score: Any, target: str = ""
) -> None:
    """Pair the boxes of marks: each with each, or those of the same place where both have many."""
    first = [box for mark in humans for box in whole.boxes[mark]]
    second = [box for mark in things for box in whole.boxes[mark]]
    pairs = (
        list(zip(first, second, strict=True)) if len(first) == len(second) else [(h, o) for h in first for o in second]
    )
    if min(len(first), len(second)) > 1 and len(first) != len(second):
        reading.found.append(Problem("pairs", f"{len(first)} and {len(second)} boxes", "which belong together"))
        return
    words = _BRACKETS.sub(" ", phrase).strip(" .,:;-–—|")
    if _DATA.search(phrase) or len(words) > _LONGEST:
        reading.found.append(Problem("words", quote(words), "words for what is done"))
        return
    for human, thing in pairs:
        reading.found.append(Pair(Entity(human), Entity(thing), "", numberless(target), (), words, (), score))


def _of_predicates(whole: Marked) -> Reading:
    """All-Seeing's relations: a predicate with the boxes of its subject and object, which stand behind their nouns."""
    return Reading(list(_predicates(whole)))


def _predicates(whole: Marked) -> Iterator[Pair]:
    labels: dict[tuple[float, ...], str] = {}
    for match in _REF.finditer(whole.text):
        for box in whole.boxes[int(match[2])]:
            labels.setdefault(box.numbers, match[1])
    for match in _PRED.finditer(whole.text):
        for human in whole.boxes[int(match[2])]:
            for thing in whole.boxes[int(match[3])]:
                subject, target = (numberless(labels.get(box.numbers, "")) for box in (human, thing))
                yield Pair(Entity(human), Entity(thing), subject, target, (Verb(match[1]),), "", is_relation=True)
