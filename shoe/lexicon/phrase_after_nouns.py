"""What a word is that follows a noun, or stands between one and an -ing form."""

from __future__ import annotations

import re

from shoe.lexicon import text
from shoe.lexicon.phrase_classes import NOMINAL, coming, is_incorporated
from shoe.lexicon.phrase_nouns import senses_of
from shoe.lexicon.phrase_place import Place
from shoe.lexicon.phrase_words import base_of, table, word_of

# The verb must follow: "the woman whom the dog licks".
_WHOM = re.compile(r"W[DJRNP]+$")
# Another person, of whom something is told: "he reads a book and the boy plays".
_SECOND = re.compile(r"[VE].*C[DJ]*P$")
# Another thing, of which something is told: "he throws it, and the dog jumps to catch it".
_ANOTHER = re.compile(r"KC[DJ]*N$")
# Who a relative clause tells of, which has its verb: "the men that ride the bus".
_TOLD = re.compile(r"([DJN]*P)W[BHRX]*[VGE]R*I*[DJ]*N+$")
# Of whom something is told with a place between: "two friends on a terrace share a pizza".
_TOLD_OF_SEVERAL = re.compile(r"([DJN]*[PN])I[DJNI]*$")
# The object of a verb as far as a maker's name.
_NAMED = re.compile(r"[VGEI]DJ*P$")
# What follows an adjective that has no noun.
_AFTER_ADJECTIVE = ("", "I", "S", "C", "K", "T")
# What stands before the clause of a word: "surrounded by friends, a girl", "it is a ball that the girl".
_BEFORE = re.compile(r"E[^K]*K|.*[WS]")


def belongs_to_gerund(place: Place) -> bool:
    """Whether a noun belongs to the -ing form after it: "is horse riding", "a woman dog walking in the park"."""
    words, i, tags, *_ = place
    if not tags or place.after != "G" or not is_incorporated(words, i):
        return False
    if tags[-1] == "P":
        person = words[i - 1] in text.WORD_CLASSES["persons"] - {"baby"} and not place.is_compound(i - 1)
        led = base_of(words[i + 1]) not in table("posture").keys() - table("led").keys()
        return person and led and coming(words, i + 2) in ("I", "")
    return tags[-1] == "B" or (tags[-1] == "V" and base_of(words[i - 1]) == "go")


def describes_before(place: Place) -> bool:
    """Whether an adjective is of what stands before it: "a bag big enough", "a kite high above us", "they lie open"."""
    words, i, _, known, before, after, _ = place
    following = (words[i + 1 :] or [""])[0]
    if before == "N":
        high = after == "I" and (not known.noun or following in ("above", "over", "in", "into", "up"))
        return (high or following == "enough") and not place.is_compound(i - 1)
    posed = before in ("V", "G") and base_of(words[i - 1]) in table("posture") and after in _AFTER_ADJECTIVE
    return posed and (not known.noun or words[i] in table("resultative"))


def after_noun(place: Place) -> str:
    """Settle a word after a noun: its verb ("man rides horse", "kids fly kites") or the head of a compound."""
    words, i, tags, known, _, after, noun = place
    last = max(j for j in range(i) if tags[j] != "R")
    before = word_of(words[last])
    if place.is_compound(i - 1):
        led = "b" in known.forms and senses_of(words[i - 1])[:1] == ("noun.animal",) and _is_caused(words, tags)
        return "V" if led or _agrees(place) else noun
    if after in ("", "I", "S", "K", "C") and words[i] in table("resultative"):
        return "J"
    if "b" in known.forms and _is_caused(words, tags):
        return "V"
    if not after and known.noun and _is_named_thing(place):
        return noun
    if words[last] in table("pronoun") or ("s" in known.forms and place.of_anaphor()):
        return "V"
    if "s" in known.forms and after in ("K", "C") and "it" in words[i:] and not set("VBGE").intersection(tags):
        return "V"
    if "s" in known.forms and tags[-1] == "P" and _SECOND.search("".join(tags)) and after in ("I", "D", "R", ""):
        return "V"
    other = word_of((words[i + 2 :] or [""])[0]).forms if after == "C" else ""
    if "s" in known.forms and "s" in other and coming(words, i + 3) and set("VBGE").isdisjoint(tags):
        return "V"
    if _is_main(place) or ("s" in known.forms and after == "T" and _ANOTHER.search("".join(tags))):
        return "V"
    verbs = set("VBE").intersection(tags) and set("VBE").intersection(_BEFORE.sub("", "".join(tags)))
    if verbs or (after == "D" and "G" in tags):
        return "V" if after == "D" else noun
    if "s" in known.forms:
        if after == "N" and "G" in tags and known.rather_noun and not before.person:
            return noun
        verb = before.person or after in ("D", "P", "J", "I", "R", "N", "E", "G", "T")
        return "V" if verb or _WHOM.search("".join(tags)) else noun
    may_be = after == "D" and tags[-1] == "N" and "b" in known.forms
    told = _TOLD_OF_SEVERAL.match("".join(tags)) if may_be else None
    if told and word_of(words[told.end(1) - 1]).plural:
        return "V"
    if before.person or before.plural:
        return "V" if after or (before.person and not known.person) else noun
    return noun


def _is_named_thing(place: Place) -> bool:
    """Whether a word ends a verb's object, after a maker's name that is one of people too: "a new Wilson racket"."""
    words, i, tags, *_ = place
    return words[i - 1] not in text.WORD_CLASSES["persons"] and bool(_NAMED.search("".join(tags)))


def _is_main(place: Place) -> bool:
    """Whether a word is the verb of those of whom a relative clause tells: "the boys that hold a bat wear caps"."""
    words, _, tags, known, _, after, _ = place
    told = _TOLD.match("".join(tags))
    if told is None or after not in ("D", "J", "N", "P", "I"):
        return False
    several = word_of(words[told.end(1) - 1]).plural
    return ("b" if several else "s") in known.forms and (after != "I" or not known.rather_noun)


def _agrees(place: Place) -> bool:
    """Whether a word is a verb, though with the one before it a plural noun: "the cat sleeps on", "a lady peels it"."""
    words, i, tags, known, _, after, _ = place
    if "s" in known.forms and tags[-1] == "P" and after in ("D", "N", "P") and set("VGBE").isdisjoint(tags):
        return True
    verb = "s" in known.forms and base_of(words[i]) in table("posture") and after in ("I", "S")
    return verb and i == 2 and words[0] in text.ARTICLES and tags == ["D", "N"]


def _is_caused(words: list[str], tags: list[str]) -> bool:
    """Whether the noun before is let do something: "lets the dog go"."""
    verb = max((k for k, tag in enumerate(tags) if tag in "VGE"), default=-1)
    caused = verb >= 0 and base_of(words[verb]) in table("causative")
    return caused and tags[verb + 1] == "D" and NOMINAL.issuperset(tags[verb + 1 :])
