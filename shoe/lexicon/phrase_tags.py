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
from functools import cache, lru_cache

from shoe.lexicon import text
from shoe.lexicon.phrase_nouns import senses_of
from shoe.lexicon.phrase_words import base_of, is_expression, table, word_of

NOMINAL = frozenset("DNPJ")
_WORD = re.compile(r"'(?:s|re|ve|m|ll|d)\b|[^\W_](?:[\w&.'-]*[^\W_])?|,")
_LABEL = re.compile(r"\w+(?:_\w+)+")
_CLITIC = re.compile(r"(?<=\w)'(?=(?:s|re|ve|m|ll|d)\b)")
_MAIN_VERBS = {"have": "V", "has": "V", "had": "V", "having": "G", "do": "V", "does": "V", "did": "V", "doing": "G"}


def words_of(sentence: str) -> list[str]:
    """Split a sentence in lower case at blanks and underscores; a lone word at its hyphens, too."""
    spaced = _LABEL.sub(_unjoined, sentence) if "_" in sentence else sentence
    spaced = _CLITIC.sub(" '", spaced) if "'" in spaced else spaced
    words = _WORD.findall(spaced.replace("/", " or ").replace(";", ",").replace("each other", "eachother"))
    return text.tokens(words[0].replace(".", " ")) if len(words) == 1 else words


def _unjoined(label: re.Match[str]) -> str:
    """Split a label at its underscores, but for a verb with a preposition at its end ("type_on")."""
    parts = label[0].split("_")
    verb = len(parts) > 1 and parts[-1] in text.PREPOSITIONS | text.PARTICLES and word_of(parts[0]).forms
    return label[0] if verb else " ".join(parts)


def tags_of(words: list[str]) -> str:
    """Return the letter of each word."""
    fixed = _fixed()
    tags: list[str] = []
    for i, word in enumerate(words):
        tag = fixed.get(word) or ("R" if _is_adverb(word) else "V" if "_" in word else "")
        tags.append(_closed(words, i, tag, tags) if tag else _open(words, i, tags))
    return "".join(tags)


@cache
def _fixed() -> dict[str, str]:
    classes = text.WORD_CLASSES
    tags: dict[str, str] = {}
    for letter, words in (
        ("R", table("adverb")),
        ("I", text.PREPOSITIONS | text.PARTICLES | table("preposition").keys()),
        ("D", text.DETERMINERS | {"another's"}),
        ("S", text.CONJUNCTIONS | table("subordinator").keys()),
        ("W", {"who", "which", "that", "whose"}),
        ("C", {"and", "or", "&"}),
        ("P", table("pronoun")),
        ("H", classes["auxiliaries"]),
        ("B", classes["be"] | {"'re", "'m", "'s"}),
        ("H", {"'ve", "'ll", "'d"}),
        ("X", text.NEGATIONS | table("negation").keys()),
        ("T", {"to"}),
        ("K", {","}),
    ):
        tags.update(dict.fromkeys(words, letter))
    for word in ("outside", "inside", "over"):
        tags[word] = "I"
    return tags


@lru_cache(maxsize=20_000)
def _is_adverb(word: str) -> bool:
    known = word_of(word)
    return len(word) > 3 and word.endswith("ly") and not known.forms and not known.noun


def _closed(words: list[str], i: int, tag: str, tags: list[str]) -> str:
    """Settle what a word of a closed class is where it has two uses."""
    word, before = words[i], tags[-1] if tags else ""
    if tag == "I" and before == "D" and word_of(word).noun:
        return "N"
    after = _coming(words, i + 1)
    if word == "'s":
        pronoun = i > 0 and (words[i - 1] in table("pronoun") or words[i - 1] in ("who", "there", "that"))
        return "B" if pronoun or _then_verb(words, i + 1) else "O"
    if word == "to":
        follower = word_of(words[i + 1]) if i + 1 < len(words) else None
        verb = follower is not None and "b" in follower.forms and _fixed().get(words[i + 1], "B") in "BH"
        return (
            "T" if after in ("B", "R") or (verb and not (follower and follower.person and i + 2 == len(words))) else "I"
        )
    if word in _MAIN_VERBS:
        participle = after in NOMINAL and i + 1 < len(words) and "e" in word_of(words[i + 1]).forms
        return _MAIN_VERBS[word] if after in NOMINAL and not participle else tag
    if word == "that" and before not in ("N", "P", "V", "G"):
        return "D"
    if word == "her":
        return "D" if after in NOMINAL or after in ("G", "E") else "P"
    if word == "one":
        return "D" if after in NOMINAL or words[i + 1 : i + 2] == ["of"] else "P"
    if word == "of" and before == "D":
        return "D"
    if word == "like" and (before in ("H", "T", "P") or not tags):
        return "V"
    if word == "both" and after in ("G", "V", "E"):
        return "R"
    return tag


def _coming(words: list[str], i: int) -> str:
    """The letter that the next word has by itself; a letter of a noun for what may be one."""
    if i >= len(words):
        return ""
    word = words[i]
    tag = "D" if word == "her" else _fixed().get(word)
    if tag or _is_adverb(word):
        return tag or "R"
    known = word_of(word)
    if known.person:
        return "P"
    if "g" in known.forms:
        return "G"
    if known.adjective:
        return "J"
    return "N" if known.noun or not known.forms else "V" if known.forms in ("b", "s", "bs") else "E"


def _then_verb(words: list[str], i: int) -> bool:
    """Whether an -ing form or a participle follows, adverbs aside, that does not describe a noun."""
    while i < len(words) and (_is_adverb(words[i]) or _fixed().get(words[i]) in ("R", "X")):
        i += 1
    return i + 1 < len(words) and "g" in word_of(words[i]).forms and _coming(words, i + 1) in ("D", "P", "I", "N")


def _open(words: list[str], i: int, tags: list[str]) -> str:
    """Settle whether a word of an open class is a noun, an adjective or a verb form here."""
    word, known = words[i], word_of(words[i])
    before, after = _before(tags), _coming(words, i + 1)
    noun = "P" if known.person else "N"
    if word in table("resultative") and tags and tags[-1] in ("V", "G", "E") and after in ("D", "P"):
        return "I"
    if not known.forms:
        adjective = known.adjective and after in ("N", "P", "J", "G", "E", "C")
        adjective = adjective and not (before == "I" and after == "G")
        adjective = adjective and not (known.person and after in ("G", "E"))
        adjective = adjective or (not known.noun and not known.person and after in ("N", "P", "J"))
        adjective = adjective or (known.adjective and after == "K" and before in ("D", "J"))
        return "J" if adjective or (before == "N" and word in table("resultative")) else noun
    if known.adjective and before in ("D", "J", "O") and after in ("N", "P", "J", "C") and not known.person:
        return "J"
    if "g" in known.forms:
        return _ing(words, i, before, after, known.noun)
    if known.forms == "e" or ("e" in known.forms and "b" not in known.forms):
        if before in ("D", "J", "O") or (tags and tags[-1] == "R" and "B" not in tags[-2:] and before in ("D", "J")):
            return "J" if after in ("N", "P", "J", "G") else noun if known.noun else "E"
        if before in ("V", "G", "I") and tags[-1] == before and after in ("N", "P", "J"):
            return "J"
        if not tags and after in ("N", "P", "J") and "-" in word:
            return "J"
        if not tags and after in ("N", "J") and (known.adjective or is_expression(tuple(words[:2]), "object")):
            return "J"
        return "E"
    return _base_or_s(words, i, tags, before, after, noun)


def _before(tags: list[str]) -> str:
    """The letter before, adverbs aside where a verb group or a noun phrase stands before them."""
    for tag in reversed(tags):
        if tag != "R":
            return tag
    return ""


def _ing(words: list[str], i: int, before: str, after: str, noun: bool) -> str:
    compound = after in NOMINAL and (is_expression(tuple(words[i : i + 2]), "object"))
    if before in ("D", "J", "O"):
        if after in ("N", "P", "J"):
            return "J"
        return "G" if after == "I" and words[i + 1] == "of" else "N" if noun or not after else "G"
    if compound and not (i and base_of(words[i - 1]) in table("filler")) and before in ("V", "G", "E", "I", "C"):
        return "J"
    return "G"


def _base_or_s(words: list[str], i: int, tags: list[str], before: str, after: str, noun: str) -> str:
    """Settle "rides", "ride", "cut": a verb, a noun, or an adjective before one ("open book")."""
    known = word_of(words[i])
    if not known.noun and not known.adjective:
        return "E" if before == "B" and "e" in known.forms else "V"
    if before in ("T", "H", "X", "W") or ("s" in known.forms and after == "D" and before not in ("", "D", "O")):
        return "V"
    if before in ("D", "J", "O"):
        return "J" if known.adjective and after in ("N", "P", "J") else noun
    if before == "B":
        if "e" in known.forms or words[i - 1] == "being":
            return "E"
        return "J" if known.adjective else noun if known.rather_noun or known.person else "E"
    seen_verb = any(tag in "VGE" for tag in tags)
    if not tags:
        return _first(words, known.rather_noun, after, noun)
    if "e" in known.forms and words[i + 1 : i + 2] == ["by"] and before in ("N", "P", "K"):
        return "E"
    if before in ("C", "K"):
        return _coordinate(words, i, tags, after, noun)
    if before in ("V", "G", "E", "I"):
        return "J" if known.adjective and after in ("N", "P", "J") else noun
    if before in ("N", "P"):
        return _after_noun(words, i, tags, after, noun, seen_verb)
    return "V" if tags[-1] == "R" and not known.rather_noun else noun


def _first(words: list[str], rather_noun: bool, after: str, noun: str) -> str:
    """Settle the first word of a phrase: "walk the dog", "cook flips pancake", "horse riding"."""
    following = word_of(words[1]) if len(words) > 1 else None
    if noun == "P" and word_of(words[0]).forms and after not in ("D",) and not _is_command(words):
        return noun
    if after == "D":
        return "V"
    if len(words) > 2 and _coming(words, 2) in NOMINAL and is_expression(tuple(words[1:3]), "object"):
        return "V"
    stands = base_of(words[0]) in table("copula") and after == "E"
    if stands or (after == "I" and base_of(words[0]) in table("posture")):
        return "V"
    if following is None or after in ("G", "E", "B", "H", "W", "O"):
        return noun if following is not None or rather_noun else "V"
    if after == "I":
        return (
            "V" if is_expression(tuple(words[:2]), "verb") or not rather_noun or words[0] in table("implied") else noun
        )
    third = _coming(words, 2)
    verb_later = third and (third not in NOMINAL or any("g" in word_of(word).forms for word in words[3:]))
    if verb_later and rather_noun and is_expression(tuple(words[:2]), "object"):
        return noun
    if "s" in following.forms and third in ("D", "N", "P", "J", "I"):
        return noun
    act = "b" in following.forms and senses_of(words[1])[:1] == ("noun.act",) and word_of(words[0]).noun
    if act and len(words) == 2 and (rather_noun or words[0] in table("implied")):
        return noun
    agent = following.person and "er" in words[1][-3:]
    if rather_noun and len(words) == 2 and (agent or words[1] in table("nominal")):
        return noun
    return "V"


def _is_command(words: list[str]) -> bool:
    """Whether a word for a person that is a verb too has an object right after it ("cook food", "guide the horse")."""
    if len(words) < 2 or "b" not in word_of(words[0]).forms or words[0] in text.WORD_CLASSES["persons"]:
        return False
    following = word_of(words[1])
    described = following.noun or following.adjective or not following.forms
    return described and not ("s" in following.forms and len(words) > 2) and "g" not in following.forms


def _coordinate(words: list[str], i: int, tags: list[str], after: str, noun: str) -> str:
    """Settle a word after "and": what stands before "and" tells, if the word can be it."""
    start = len(tags) - 1
    while start > 0 and tags[start] in "CKR":
        start -= 1
    if tags[start] in "VGEI" and not (tags[start] == "I" and after not in ("D", "P")):
        return "V"
    known = word_of(words[i])
    if known.adjective and tags[start] == "J":
        return "J"
    if "s" in known.forms and tags[start] in ("P", "N") and not set("VBGE").intersection(tags) and after:
        return "V"
    if tags[0] == "V" and after == "I" and not known.rather_noun and "b" in known.forms:
        return "V"
    return "V" if after == "D" and not known.person else noun


def _after_noun(words: list[str], i: int, tags: list[str], after: str, noun: str, seen_verb: bool) -> str:
    """Settle a word after a noun: its verb ("man rides horse", "kids fly kites") or the head of a compound."""
    known, before = word_of(words[i]), word_of(words[i - 1])
    if is_expression(tuple(words[i - 1 : i + 1]), "object") and not before.person:
        return noun
    if after in ("", "I", "S", "K", "C") and words[i] in table("resultative"):
        return "J"
    pronoun = words[i - 1] in table("pronoun")
    inside = _clause_has_verb(tags)
    if pronoun:
        return "V"
    if inside:
        return "V" if after == "D" else noun
    if after == "D" and seen_verb:
        return "V"
    if "s" in known.forms:
        if "G" in tags and known.rather_noun and not before.person and after == "N":
            return noun
        return "V" if before.person or after in ("D", "P", "J", "I", "R", "N", "E", "G", "T") else noun
    if before.person or before.plural:
        return "V" if after or (before.person and not known.person) else noun
    return noun


def _clause_has_verb(tags: list[str]) -> bool:
    """Whether the main clause has its finite verb already."""
    return any(tag in "VB" or (tag == "E") for tag in tags)
