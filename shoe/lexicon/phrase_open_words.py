"""Whether a word is a noun, an adjective or a verb form where it stands: "walk the dog", "a walk", "dog walker"."""

from __future__ import annotations

import re

from shoe.lexicon import text
from shoe.lexicon.phrase_after_nouns import after_noun, belongs_to_gerund, describes_before
from shoe.lexicon.phrase_classes import BEFORE_NOUNS, CONTRAST, NOMINAL, VERB_FORMS, coming
from shoe.lexicon.phrase_nouns import MATERIAL, is_of_body, senses_of
from shoe.lexicon.phrase_parts import Noun
from shoe.lexicon.phrase_place import Place
from shoe.lexicon.phrase_words import base_of, is_expression, table, word_of

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
