"""Wordings of interactions with what they say, and whether the parser reads them so.

``tests/data/phrases/*.tsv``: kind of wording, phrase, what is given beside it, verbs, objects. Accepted words stand
between bars, distinct interactions between "&". Words are compared as base forms, without articles; an object may keep
words that only describe it.
"""

import csv
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from shoe.lexicon import text
from shoe.lexicon.phrases.parse import PhraseInteractions, interactions
from shoe.lexicon.resolve import describes
from shoe.lexicon.senses import Part, bases

FOLDER = Path(__file__).parents[1] / "data" / "phrases"


def pairs(table: str) -> list[list[str]]:
    """Word and what it is, of a table in the form "rode: ride; mice: mouse"."""
    return [pair.split(": ") for line in table.strip().splitlines() for pair in line.split("; ")]


def by_hand(*kinds: str) -> list[tuple[str, str]]:
    """Phrases of some kinds and what they say, worked by hand: "verb + object & verb + object", or "-" for nothing."""
    return [(row["phrase"], row["said"]) for row in rows("../phrases_by_hand") if row["kind"] in kinds]


class Wording(NamedTuple):
    """A phrase, what a reply gives beside it, and the accepted verbs and objects of each interaction."""

    kind: str
    phrase: str
    given: dict[str, str]
    said: list[tuple[list[str], list[str]]]


def rows(name: str) -> list[dict[str, str]]:
    with open(FOLDER / f"{name}.tsv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def wordings(name: str) -> Iterator[Wording]:
    for row in rows(name):
        key, _, value = row["given"].partition(": ")
        verbs, objects = ([word.split("|") for word in row[part].split(" & ")] for part in ("verbs", "objects"))
        objects = objects * len(verbs) if len(objects) == 1 else objects
        said = list(zip(verbs, objects, strict=True)) if row["verbs"] else []
        yield Wording(row["kind"], row["phrase"], {key: value} if key else {}, said)


def parsed(wording: Wording) -> PhraseInteractions:
    given = wording.given
    known = given["known"].split(", ") if "known" in given else ()
    return interactions(wording.phrase, verb=given.get("verb"), object=given.get("object"), known=known)


def understood(wording: Wording, said: PhraseInteractions) -> bool:
    """Whether the best reading of each interaction, and of no other one, is accepted."""
    found = list(said.interactions)
    if len(found) != len(wording.said):
        return False
    for verbs, objects in wording.said:
        if not any(_accepts(verbs, r.verb, same_verb) and _accepts(objects, r.object, same_object) for r in found):
            return False
    return True


def misread(of: Iterable[Wording]) -> tuple[int, int, int]:
    """Number of wordings, of those that are not understood, and of these that are also not doubtful."""
    found = [(wording, parsed(wording)) for wording in of]
    wrong = [said for wording, said in found if not understood(wording, said)]
    return len(found), len(wrong), sum(bool(said.interactions) and not said.doubtful for said in wrong)


def _accepts(accepted: list[str], word: str, same: Callable[[str, str], bool]) -> bool:
    return any(same(word.split(" / ")[0], other) for other in accepted)


def same_verb(a: str, b: str) -> bool:
    """Whether two verbs differ in inflection only."""
    (head, *rest), (other, *others) = _words(a), _words(b)
    return rest == others and _related(head, other, "verb")


def same_object(a: str, b: str) -> bool:
    """Whether two objects differ in number, and in words before the first that only describe it."""
    (*before, head), (*others, other) = _words(a), _words(b)
    extra = len(before) - len(others)
    same = _related(head, other, "object") and extra >= 0 and before[extra:] == others
    return same and all(describes([word]) or not bases(word, "object") for word in before[:extra])


def _words(word: str) -> list[str]:
    return [w for w in text.tokens(text.plain(word)) if w not in text.ARTICLES] or [""]


def _related(a: str, b: str, part: Part) -> bool:
    return a == b or not {a, *bases(a, part)}.isdisjoint((b, *bases(b, part)))
