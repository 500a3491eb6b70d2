"""From raw text to words: case, separators, quotes; and the words that say nothing about verb or object."""

import re
import unicodedata
from pathlib import Path

LONGEST_LABEL = 200
"""Characters of a label that are looked at; a longer one is no word."""
ALTERNATIVES = " / "
"""Stands between the readings of one verb or object, the best first: "sipping from / taking from"."""
_MOST_ALTERNATIVES = 3

_DATA = Path(__file__).parent / "data"


def table_rows(name: str) -> list[list[str]]:
    """Read the rows of a tab-separated table in ``data/``, without its header."""
    return [line.split("\t") for line in (_DATA / name).read_text("utf-8").splitlines()[1:]]


def _word_classes() -> dict[str, frozenset[str]]:
    classes: dict[str, set[str]] = {}
    for line in (_DATA / "word_classes.txt").read_text("utf-8").splitlines():
        name, words = line.split(": ")
        classes.setdefault(name, set()).update(words.split())
    return {name: frozenset(words) for name, words in classes.items()}


WORD_CLASSES = _word_classes()
ARTICLES = WORD_CLASSES["articles"]
DETERMINERS = ARTICLES | WORD_CLASSES["possessives"] | WORD_CLASSES["numbers"]
AUXILIARIES = WORD_CLASSES["be"] | WORD_CLASSES["auxiliaries"]
NEGATIONS = WORD_CLASSES["negations"]
# Adverbs and verbs of beginning between an auxiliary and the verb: "is about to throw", "is trying to ride".
FILLERS = WORD_CLASSES["fillers"]
PREPOSITIONS = WORD_CLASSES["prepositions"]
# Adverbs that make one verb of two words ("pick up"); some are prepositions too.
PARTICLES = WORD_CLASSES["particles"]
CONJUNCTIONS = WORD_CLASSES["conjunctions"]

_SEPARATORS = re.compile(r"[\s_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")
_TOKEN = re.compile(r"[^\W_]+(?:['./&][^\W_]+)*'?")
_QUOTES = str.maketrans("‘’ʼ`´", "'''''")


def alternatives(word: str) -> list[str]:
    """Return the readings of a verb or object, the best first, three at most; most words have one, themselves."""
    return word.split(ALTERNATIVES)[:_MOST_ALTERNATIVES]


def plain(text: str) -> str:
    """Return text in lower case without accents, with straight quotes."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.translate(_QUOTES))
    return "".join(c for c in decomposed if not unicodedata.combining(c)).lower()


def spelled(text: str) -> str:
    """Return plain text as WordNet spells a lemma: underscores for blanks, hyphens, dots and quotes kept."""
    return _SEPARATORS.sub("_", text.strip())


def at_capitals(text: str) -> str:
    """Return text with a blank before each capital that follows a small letter: "holdingOnto" is "holding Onto"."""
    return _CAMEL.sub(" ", text)


def tokens(text: str) -> list[str]:
    """Split plain text into words at blanks, underscores, hyphens and punctuation."""
    return _TOKEN.findall(text)


def says_no_interaction(words: list[str]) -> bool:
    """Whether words begin with the datasets' "no interaction", which is no verb."""
    denied = words[:1] in (["no"], ["non"], ["not"]) and words[1:2] in (["interaction"], ["interacting"])
    return denied or words[:1] == ["nointeraction"]
