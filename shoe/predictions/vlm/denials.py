"""Replies that deny all interactions, such as "Nobody is here", and replies in which a model refuses to answer."""

import re
from collections.abc import Iterator
from functools import lru_cache

from shoe.lexicon.phrases.parse import parse_phrase
from shoe.lexicon.phrases.words import patterns
from shoe.lexicon.senses import bases
from shoe.predictions.vlm.boxes import AGAINST

REPLY = "reply_patterns.txt"
"""File of the lexicon with the patterns of replies."""


def compiled(kinds: str, flags: re.RegexFlag = re.NOFLAG) -> Iterator[re.Pattern[str]]:
    """Yield the compiled pattern of each kind of reply patterns; ``kinds`` are separated by blanks."""
    return (re.compile(patterns(kind, REPLY), flags) for kind in kinds.split())


_DENIES = re.compile(rf"\b(?:{patterns('denies', REPLY)})\b|n['’]t\b|\[\s*\]", re.I)
_NONE, _CLAUSE, _OTHER, _REFUSES = compiled("none clause_end other refuses", re.I)
_PLACED = re.compile(r"\d[\s.,]+\d|[\[{]\s*[^\]\s]")
BOX_LIKE = re.compile(r"(?:\d[\s,.]+){3}\d|[{\[]")
_LONGEST_REFUSAL = 1000
_NEGATED, _DENIED_FIRST = (patterns(kind, REPLY) for kind in ("negated", "denied_first"))
_DENIAL = re.compile(rf"\b(?:({AGAINST})|{_NEGATED})\b|{_DENIED_FIRST}", re.I)


@lru_cache(4096)
def says_none(text: str) -> bool:
    """Return whether a text below 150 characters without boxes denies all interactions: "none", "Nobody is here"."""
    short = text.replace("_", " ") if len(text) < 150 and not _PLACED.search(text) else ""
    clauses = [each for clause in _CLAUSE.split(short) if (each := clause.strip(".!*\"'` \n"))]
    others = [each for each in clauses if not (_NONE.fullmatch(each) and _DENIES.search(each))]
    is_open = len(clauses) > 1 and (
        _OTHER.search(text) or _REFUSES.search(text) or any(_names_action(clause) for clause in others)
    )
    return len(others) < len(clauses) and not is_open


def _names_action(clause: str) -> bool:
    return any(bases(verb.split()[0], "verb") for verb in parse_phrase(clause).verbs)  # not "only" of "only animals"


def refuses(text: str) -> bool:
    """Return whether a text (at most 1,000 characters, no boxes) states that the model will not or cannot answer."""
    return len(text) <= _LONGEST_REFUSAL and not BOX_LIKE.search(text) and _REFUSES.search(text) is not None


def denies(heading: str) -> bool:
    """Return whether a heading introduces things that are absent: "What I do not see", "Candidates I dismissed"."""
    # "What I do not reject" holds a word that denies and a negation, and denies nothing.
    return len({each[1] is None for each in _DENIAL.finditer(heading)}) == 1
