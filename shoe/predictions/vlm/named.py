"""The names that a text gives to boxes: in lines, labels and lists with marks in place of the boxes."""

from __future__ import annotations

import re
from itertools import takewhile

from shoe.predictions.vlm.marks import MARK
from shoe.predictions.vlm.persons import is_person
from shoe.predictions.vlm.things import numberless

_LABELS = (
    r"(?:\b(?:,?\s*whose\s+)?(?:the\s+)?(?:human|person|people|subject|object|target|obj|sub|hum)?[\s_'s-]*"
    r"(?:bounding\s*box|bbox|box|location|coordinates|position)(?:es)?\b"
    r"|\b(?:human|person|subject|object|target)\b(?=\s*[:=])|\b(?:%s)\b)"
    r"[\s_]*(?:(?:is|are|at|in|of|from|goes|spans|extends|ranges|given by|defined by|:|=|\()\s*)*(?=\ue000)"
)
FIELD_LABEL = re.compile(_LABELS % "located|at", re.I)
"""Words before a box that say only that it is one, or whose."""
LEADING_LABEL = re.compile(_LABELS % "located", re.I)  # "at" is the verb's where nouns follow their boxes
NUMBERED = re.compile(r"[\[(<#]\w{1,6}[\])>]?[:.]?\s+\w")
LONG_NOUN = 4
_COPULA = re.compile(r"\s+(?:is|are|was)\Z")
_LISTED = re.compile(r"(?<=\ue001)\s*(?:[,;]|\band\b)[\s,]*(?:and\b\s*)?")


def names_in(sentences: list[str]) -> dict[str, int]:
    """Names of boxed things from lines that hold nothing but a name and its box."""
    names: dict[str, int] = {}
    for sentence in sentences:
        marks = MARK.findall(sentence)
        if len(marks) > 1 and (several := listed(sentence, len(marks))):
            names |= {name: mark for name, mark in several.items() if name not in names}
        if len(marks) != 1:
            continue
        labelled = sentence if NUMBERED.match(sentence) else FIELD_LABEL.sub(" ", sentence)
        words = _bare(labelled) or _bare(sentence)  # "Person: [m]" is a label and a name
        words = _COPULA.sub("", words)
        if 0 < len(words.split()) <= LONG_NOUN:
            names.setdefault(words, int(marks[0]))
    return names


def own_names(sentences: list[str]) -> dict[int, dict[str, int]]:
    """The names in the lines right behind each sentence without boxes, or right before: where more are mentioned."""
    told = [i for i, sentence in enumerate(sentences) if not MARK.search(sentence)]
    behind = {i: names_in([*takewhile(MARK.search, sentences[i + 1 :])]) for i in told}
    before = {i: names_in([*takewhile(MARK.search, reversed(sentences[:i]))]) for i in told}

    def mentioned(names: dict[int, dict[str, int]]) -> int:
        return sum(name.lower() in sentences[i].lower() for i in told for name in names[i])

    return behind if mentioned(behind) >= mentioned(before) else before


def with_person(sentence: str, names: dict[str, int]) -> str:
    """A sentence that leaves out the person whose box stands beside that of the thing it names: "flying a kite"."""
    unsaid = [name for name in names if name.lower() not in sentence.lower()]
    is_left_out = len(names) == 2 and len(unsaid) == 1 and is_person(unsaid[0])
    return f"{unsaid[0]} {sentence}" if is_left_out and sentence.split()[0].lower().endswith("ing") else sentence


def _bare(sentence: str) -> str:
    return MARK.sub(" ", sentence).replace("*", " ").strip(" :-–—.,()\"'`=")


def listed(sentence: str, count: int) -> dict[str, int]:
    """Numbered names of a sentence that only lists them with their boxes: "person 1 [m], horse 2 [m]"; else none."""
    parts = _LISTED.split(sentence.strip(" ."))
    if len(parts) != count:
        return {}
    names = {MARK.sub("", part).strip(): int(mark[1]) for part in parts if (mark := MARK.search(part))}
    are_names = all(numberless(name) != name and len(name.split()) <= LONG_NOUN for name in names)
    return names if len(names) == count and are_names else {}
