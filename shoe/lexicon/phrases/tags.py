"""What a word is that follows a noun, or stands between one and an -ing form."""

from __future__ import annotations

import re

from shoe.lexicon import text
from shoe.lexicon.phrases.noun_phrases import MATERIAL, Noun, is_of_body, senses_of
from shoe.lexicon.phrases.words import (
    BEFORE_NOUNS,
    CONTRAST,
    NOMINAL,
    VERB_FORMS,
    Place,
    base_of,
    closed_classes,
    coming,
    is_adverb,
    is_expression,
    is_incorporated,
    table,
    word_of,
)

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


# Whether a word is a noun, an adjective or a verb form where it stands: "walk the dog", "a walk", "dog walker".

# Another adjective may follow: "a dirty, cracked window".
_ADJECTIVES = re.compile(r"[DO][RJCK]*JKR*$")
# A verb may follow: "the girl, wearing a hat, waits", "a man, with a dog, waits", "the boy, his arms crossed, waits".
_PARENTHESIS = re.compile(r"[^VBGEK]*K(?:[RGEIW]|D[JN]+[GEI])[^K]*K")

# Prepositions that follow verbs rather than nouns.
_AIMS = frozenset(["at", "to", "into", "onto", "toward", "towards"])


def open_letter(words: list[str], i: int, tags: list[str]) -> str:
    """Return the letter of a word of an open class, given the letters before it."""
    word, known = words[i], word_of(words[i])
    before = next((tag for tag in reversed(tags) if tag != "R"), "")
    before = "J" if before == "K" and _ADJECTIVES.search("".join(tags)) else before
    place = Place(words, i, tags, known, before, coming(words, i + 1), "P" if known.person else "N")
    if belongs_to_gerund(place):
        return "R"
    if "s" in known.forms and before in ("", "K") and _is_held(place):
        return "N"
    if place.ends_pronoun and (known.adjective or not known.noun):
        return "J" if word in table("resultative") else "R"
    if word in table("resultative") and tags and tags[-1] in VERB_FORMS and place.after in ("D", "P"):
        return "I"
    if not known.forms and not known.noun and before in ("N", "P", "B") and words[i + 1 : i + 2] == ["by"]:
        return "E"
    if known.adjective and describes_before(place):
        return "R"
    if not known.forms:
        adjective = _describes(place) or (before == "N" and word in table("resultative"))
        return "J" if adjective else place.noun
    if known.adjective and before in BEFORE_NOUNS and place.after in ("N", "P", "J", "C") and not known.person:
        return "J"
    if "g" in known.forms:
        return _ing(place)
    return _participle(place) if "e" in known.forms and "b" not in known.forms else _base_or_s(place)


def _is_held(place: Place) -> bool:
    """Whether it is told how a person holds a part of the body: "arms crossed, he waits", "hands full of books"."""
    words, i, *_, after, _ = place
    described = after in ("J", "E") or "e" in word_of((words[i + 1 :] or [""])[0]).forms
    return described and is_of_body(Noun([words[i]])) and "," in words[i + 1 :]


def _describes(place: Place) -> bool:
    """Whether a word that is no verb form is an adjective here; a word that is unknown is one before a noun."""
    words, i, tags, known, before, after, _ = place
    verb_next = "s" in word_of((words[i + 1 :] or [""])[0]).forms
    verb_next = verb_next or words[i] in text.WORD_CLASSES["persons"]
    if known.person and known.noun and verb_next and coming(words, i + 2) in NOMINAL:
        return False
    seems = before == "V" and base_of(words[max(k for k in range(i) if tags[k] != "R")]) in table("copula")
    if seems and not known.noun:
        return True
    if before == "B" and not known.noun and not known.person:
        return True
    if not known.adjective:
        verb_next = verb_next and before not in BEFORE_NOUNS
        return not known.noun and not known.person and place.describes and not verb_next
    if seems:
        return True
    if after in ("G", "E"):
        return not known.person and (before != "I" or after == "E")
    listed = after == "K" and before in ("D", "J") and not (known.noun and words[i + 3 : i + 4] == ["it"])
    listed = listed and not (known.person and coming(words, i + 2) == "G")
    return after in ("N", "P", "J", "C") or listed


def _ing(place: Place) -> str:
    words, i, _, known, before, after, _ = place
    if before in BEFORE_NOUNS:
        if place.describes or (after == "G" and not known.rather_noun and coming(words, i + 2) == "N"):
            return "J"
        return "G" if after == "I" and words[i + 1] == "of" else "N" if known.noun or not after else "G"
    leads_on = i > 0 and base_of(words[i - 1]) in table("filler")
    describes = before in ("V", "G", "E", "I", "C") and not leads_on and after in NOMINAL and place.is_compound(i)
    describes = describes or (before == "I" and after == "N" and words[i - 1] not in table("gerund_preposition"))
    subject = not before and place.is_compound(i) and coming(words, i + 2) in ("B", "H", "W")
    describes = describes or (before == "N" and after == "N" and place.is_compound(i))
    return "J" if describes or subject else "G"


def _participle(place: Place) -> str:
    words, i, tags, known, before, after, noun = place
    if before in BEFORE_NOUNS:
        if known.rather_noun and after in ("G", "K"):
            return noun
        return "J" if after == "G" or place.describes else noun if known.noun else "E"
    if after not in ("N", "P", "J"):
        return "E"
    first = not tags and ("-" in words[i] or known.adjective or place.is_compound(0))
    return "J" if first or before in ("V", "G", "I") or (before == "N" and "-" in words[i]) else "E"


def _base_or_s(place: Place) -> str:
    """Settle "rides", "ride", "cut": a verb, a noun, or an adjective before one ("open book")."""
    words, i, tags, known, before, after, noun = place
    if not known.noun and not known.adjective:
        if before == "D" and known.forms == "b" and after in ("J", "N", "P"):
            return "J"
        return "E" if before == "B" and "e" in known.forms else "V"
    if before == "W" and words[i - 1] == "whose" and known.noun:
        return noun
    if before in ("T", "H", "X", "W") or ("s" in known.forms and after == "D" and before not in ("", "D", "O")):
        return "V"
    if before == "B":
        if "e" in known.forms or words[i - 1] == "being":
            return "E"
        return "J" if known.adjective else noun if known.rather_noun or known.person else "E"
    if not tags:
        return _first(place)
    if "e" in known.forms and words[i + 1 : i + 2] == ["by"] and before in ("N", "P", "K"):
        return "E"
    if before == "S" and words[i - 1] in CONTRAST and "s" in known.forms and after in ("D", "P", "N"):
        return "V"
    if before in ("C", "K"):
        return _coordinate(place)
    if before in ("N", "P"):
        return after_noun(place)
    seems = "s" in known.forms and base_of(words[i]) in table("copula")
    if seems and before in ("G", "E", "I") and after in ("J", "E"):
        return "V"
    if before in ("D", "J", "O", "V", "G", "E", "I"):
        return "J" if known.adjective and (place.describes or after == "K") else noun
    return "V" if tags[-1] == "R" and not known.rather_noun else noun


def _first(place: Place) -> str:
    """Settle the first word of a phrase: "walk the dog", "cook flips pancake", "horse riding"."""
    words, _, _, known, _, after, noun = place
    if noun == "P" and after != "D" and not _is_command(words):
        return noun
    if not after and base_of(words[0]) in table("implied") and MATERIAL.isdisjoint(senses_of(words[0])):
        return "V"
    if not after:
        return noun if known.rather_noun else "V"
    base, third = base_of(words[0]), coming(words, 2)
    if after == "D" or (third in NOMINAL and third and place.is_compound(1)):
        return "V"
    if after == "I":
        aimed = "s" in known.forms and (words[1] == "for" or words[1] in _AIMS)
        verb = aimed or base in table("posture") or base in table("implied") or is_expression(tuple(words[:2]), "verb")
        return noun if known.rather_noun and not verb else "V"
    if after in ("G", "E", "B", "H", "W", "O"):
        return "V" if base in table("copula") and after == "E" else noun
    if after == "K" and known.rather_noun:
        return noun
    following = word_of(words[1])
    verb_later = third and (third not in NOMINAL or any("g" in word_of(word).forms for word in words[3:]))
    common = following.plural or words[1] in text.WORD_CLASSES["persons"] | table("pronoun").keys()
    doer = following.person and not common and third in ("B", "E", "G", "H", "W")
    if verb_later and known.noun and (doer or (known.rather_noun and place.is_compound(0))):
        return noun
    if "s" in following.forms and "s" not in known.forms and third in ("D", "N", "P", "J", "I"):
        return noun
    doing = len(words) == 2 and _names_doing(words[1]) and known.noun
    return noun if doing and (known.rather_noun or words[0] in table("implied")) else "V"


def _names_doing(word: str) -> bool:
    """Whether a noun says what is done or who does it: "repair", "usage", "rider"."""
    known = word_of(word)
    act = "b" in known.forms and senses_of(word)[:1] == ("noun.act",)
    return act or word in table("nominal") or (known.person and "er" in word[-3:])


def _is_command(words: list[str]) -> bool:
    """Whether a word for a person that is a verb too has an object right after it ("cook food", "guide the horse")."""
    forms = word_of(words[0]).forms
    if len(words) < 2 or not forms or words[0] in text.WORD_CLASSES["persons"]:
        return False
    following = word_of(words[1])
    if "b" not in forms:
        return "s" in forms and following.noun and (following.rather_noun or not following.forms)
    described = following.noun or following.adjective or not following.forms
    return described and not ("s" in following.forms and len(words) > 2) and "g" not in following.forms


def _coordinate(place: Place) -> str:
    """Settle a word after "and" or a comma: what stands before that tells, if the word can be it."""
    words, _, tags, known, _, after, noun = place
    other = next((tag for tag in reversed(tags) if tag not in "CKR"), "")
    if (other in "VGE" and other) or (other == "I" and after in ("D", "P")):
        return "V"
    if known.adjective and other == "J":
        return "J"
    aimed = "V" in tags and not _AIMS.isdisjoint(words[place.i + 1 : place.i + 2])
    if "s" in known.forms and (place.of_anaphor() or aimed):
        return "V"
    if "s" in known.forms and after:
        first = other in ("P", "N") and not set("VBGE").intersection(tags)
        if first or _PARENTHESIS.fullmatch("".join(tags)):
            return "V"
    verbs = [word for word, tag in zip(words, tags, strict=False) if tag == "V"]
    alike = any(set(word_of(word).forms) & set(known.forms) for word in verbs)
    leads = (after in NOMINAL or (after == "I" and known.forms == "s")) and not known.rather_noun
    if alike and ((other in ("P", "N") and (leads or place.of_anaphor())) or tags[-2] == "I"):
        return "V"
    if tags[0] == "V" and after == "I" and not known.rather_noun and "b" in known.forms:
        return "V"
    return "V" if after == "D" and not known.person else noun


# Which part each word of a phrase plays: one letter a word, from what the word can be and what stands around it.
#
# === ========================= === =============================== === ==========================
# D   determiner, number        B   form of be                      C   "and", "or"
# N   noun                      H   other auxiliary                 K   comma
# P   person, pronoun           T   "to" before a verb              W   "who", "that", "which"
# J   adjective                 V   verb, finite or base            S   "while", "because", "but"
# O   possessive 's             G   -ing form                       X   "not", "never"
# I   preposition, particle     E   past or participle              R   adverb
# === ========================= === =============================== === ==========================

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
