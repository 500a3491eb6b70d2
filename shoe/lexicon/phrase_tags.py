"""Which part each word of a phrase plays: one letter a word, from what the word can be and what stands around it.

=== ========================= === =============================== === ==========================
D   determiner, number        B   form of be                      C   "and", "or"
N   noun                      H   other auxiliary                 K   comma
P   person, pronoun           T   "to" before a verb              W   "who", "that", "which"
J   adjective                 V   verb, finite or base            S   "while", "because", "but"
O   possessive 's             G   -ing form                       X   "not", "never"
I   preposition, particle     E   past or participle              R   adverb
=== ========================= === =============================== === ==========================
"""

from __future__ import annotations

import re

from shoe.lexicon import text
from shoe.lexicon.phrase_classes import CONTRAST, NOMINAL, VERB_FORMS, closed_classes, coming, is_adverb
from shoe.lexicon.phrase_open_words import open_letter
from shoe.lexicon.phrase_words import is_expression, table, word_of

_WORD = re.compile(r"'(?:s|re|ve|m|ll|d)\b|[^\W_](?:[\w&.'-]*[^\W_])?|,")
_AND = re.compile(r"\s&\s|\s*\+\s*")
_LABEL = re.compile(r"\w+(?:_\w+)+")
_CLITIC = re.compile(r"(?<=\w)'(?=(?:s|re|ve|m|ll|d)\b)")
_MAIN_VERBS = {"have": "V", "has": "V", "had": "V", "having": "G", "do": "V", "does": "V", "did": "V", "doing": "G"}
_EMPHATIC = frozenset(["do", "does", "did"])


def words_of(sentence: str) -> list[str]:
    """Split a sentence in lower case at blanks and underscores; a lone word at its hyphens, too."""
    spaced = _LABEL.sub(_unjoined, sentence) if "_" in sentence else sentence
    spaced = _CLITIC.sub(" '", spaced) if "'" in spaced else spaced
    spaced = _AND.sub(" and ", spaced) if "&" in spaced or "+" in spaced else spaced
    words = _WORD.findall(
        spaced.replace("/", " or ").replace(";", ",").replace(":", ",").replace("each other", "eachother")
    )
    return text.tokens(words[0].replace(".", " ")) if len(words) == 1 else words


def _unjoined(label: re.Match[str]) -> str:
    """Split a label at its underscores, but for a verb with a preposition at its end ("type_on")."""
    parts = label[0].split("_")
    verb = len(parts) > 1 and parts[-1] in text.PREPOSITIONS | text.PARTICLES and word_of(parts[0]).forms
    return label[0] if verb else " ".join(parts)


def tags_of(words: list[str]) -> str:
    """Return the letter of each word."""
    fixed = closed_classes()
    tags: list[str] = []
    for i, word in enumerate(words):
        tag = fixed.get(word) or ("R" if is_adverb(word) else "V" if "_" in word else "")
        tags.append(_closed(words, i, tag, tags) if tag else open_letter(words, i, tags))
    return "".join(tags)


def _closed(words: list[str], i: int, tag: str, tags: list[str]) -> str:
    """Settle what a word of a closed class is where it has two uses."""
    word, before = words[i], tags[-1] if tags else ""
    if tag == "I" and before == "D" and word_of(word).noun:
        return "N"
    if word == "close" and words[i + 1 : i + 2] == ["to"] and before != "N":
        return "I"
    if tag == "R" and before in VERB_FORMS and is_expression((words[i - 1], word), "verb"):
        return "I"
    after = coming(words, i + 1)
    if tag == "R" and (before == "T" or (not tags and after == "D")) and "b" in word_of(word).forms:
        return "V"
    if word == "'s":
        pronoun = i > 0 and (words[i - 1] in table("pronoun") or words[i - 1] in ("who", "there", "that"))
        return "B" if pronoun or _then_verb(words, i + 1) else "O"
    if word == "to":
        follower = word_of(words[i + 1]) if i + 1 < len(words) else None
        verb = follower is not None and "b" in follower.forms and closed_classes().get(words[i + 1], "B") in "BH"
        named = follower is not None and (follower.person or (follower.rather_noun and before in ("N", "P")))
        last = named and 0 < i == len(words) - 2
        return "T" if after in ("B", "R") or (verb and not last) else "I"
    if word in _EMPHATIC and after in ("N", "J") and coming(words, i + 2) in ("D", "I"):
        return tag if "b" in word_of(words[i + 1]).forms else _MAIN_VERBS[word]
    if word in _MAIN_VERBS:
        participle = after in NOMINAL and i + 1 < len(words) and "e" in word_of(words[i + 1]).forms
        return _MAIN_VERBS[word] if after in ("I", *NOMINAL) and not participle else tag
    if word == "that" and before not in ("N", "P", "V", "G"):
        return "D"
    if word == "neither" and words[i + 1 : i + 2] == ["of"]:
        return "N"
    if word == "neither" and after in NOMINAL and after != "D":
        return "D"
    if word in CONTRAST and before == "J" and coming(words, i) == "C":
        return "C"
    if after == "T" and before in VERB_FORMS and word.endswith(("self", "selves")):
        return "R"
    if word == "her":
        seen = after == "G" and (i == 0 or coming(words, i + 2) in ("D", "I"))
        back = after == "I" and before == "I" and word_of(words[i + 1]).noun
        return "D" if back or ((after in NOMINAL or after in ("G", "E")) and not seen) else "P"
    if word == "one":
        return "D" if (after in NOMINAL and before != "J") or words[i + 1 : i + 2] == ["of"] else "P"
    if word in table("pronominal") and (
        after in ("B", "H", "W")
        or (before == "D" and after == "G" and coming(words, i + 2) == "D")
        or (words[i + 1 : i + 2] and "s" in word_of(words[i + 1]).forms and coming(words, i + 2) == "D")
    ):
        return "P"
    if word == "can" and before in ("D", "J", "N", "G") and after not in ("B", "H", "R", "X"):
        return tag if "b" in word_of((words[i + 1 :] or [","])[0]).forms else "N"
    if word == "of" and before == "D":
        return "D"
    if word == "like" and (before in ("H", "T", "P") or not tags):
        return "V"
    if word == "both":
        verb = after in VERB_FORMS or ("P" in tags and set("VGE").isdisjoint(tags) and after == "N")
        return "R" if verb and word_of(words[i + 1]).forms else tag
    return tag


def _then_verb(words: list[str], i: int) -> bool:
    """Whether an -ing form or a participle follows, adverbs aside, that does not describe a noun."""
    while i < len(words) and (is_adverb(words[i]) or closed_classes().get(words[i]) in ("R", "X")):
        i += 1
    verb = i + 1 < len(words) and "g" in word_of(words[i]).forms and coming(words, i + 1) in ("D", "P", "I", "N")
    return verb and not is_expression(tuple(words[i : i + 2]), "object")
