"""What the nouns of a phrase name: things, parts of a body, where something happens."""

from __future__ import annotations

from functools import lru_cache

from shoe.lexicon import text
from shoe.lexicon.expressions import bases
from shoe.lexicon.phrase_parts import Noun
from shoe.lexicon.phrase_words import base_of, gerund, is_known_verb, table, word_of
from shoe.lexicon.store import lexicon

# What means none of these belongs to the verb: "reading the time on a clock".
MATERIAL = frozenset(f"noun.{name}" for name in ("artifact", "food", "animal", "plant", "Tops"))


def names(noun: Noun) -> list[str]:
    """Ways to name a thing: "slice of pizza" or "pizza"; "bottle of wine", "bottle" or "wine"; "cow's ear"."""
    own = table("implied_by_noun").get(noun.head) or " ".join(noun.words)
    if noun.of is not None:
        inner = " ".join(noun.of.words)
        whole = f"{own} of {inner}"
        return [whole, inner] if noun.head in text.WORD_CLASSES["measures"] else [whole, own, inner]
    if noun.owner is not None:
        owner = " ".join(noun.owner.words)
        return [f"{owner}'s {own}", own, owner]
    return [own]


def all_of(*nouns: Noun) -> list[Noun]:
    """Nouns with those that "and" joins to each."""
    return [each for noun in nouns for each in (noun, *noun.also)]


def is_scenery(noun: Noun) -> bool:
    """Whether a noun only says where something happens ("street"), as far as the table lists it."""
    return _is_scenery(noun.head)


@lru_cache(maxsize=20_000)
def _is_scenery(word: str) -> bool:
    return not table("scenery").keys().isdisjoint((word, *bases(word, "object")))


def is_of_body(noun: Noun) -> bool:
    """Whether a noun is a part of the body in its first sense."""
    return _is_of_body(noun.head)


@lru_cache(maxsize=20_000)
def _is_of_body(word: str) -> bool:
    return any(senses_of(base)[:1] == ("noun.body",) for base in bases(word, "object"))


def is_inner(noun: Noun) -> bool:
    """Whether a direct object is part of what is done rather than a thing that it is done to."""
    measure = noun.head in text.WORD_CLASSES["measures"]
    senses = senses_of(noun.head)
    immaterial = bool(senses) and MATERIAL.isdisjoint(senses) and not is_scenery(noun)
    return noun.owner is None and not measure and (immaterial or is_of_body(noun))


@lru_cache(maxsize=20_000)
def senses_of(word: str) -> tuple[str, ...]:
    """Lexicographer files of a noun's senses."""
    base = next(iter(bases(word, "object")), "")
    return tuple(lexicon().lexname(sense) for sense in lexicon().senses(base, "n").tolist())


def light_verb(noun: Noun) -> str:
    """Return the verb that a noun stands for after "take", "have" or "give": sip for "a sip"; "" for others."""
    lights = table("light_noun")
    names_ = ("_".join(noun.words[-2:]), noun.head, *bases(noun.head, "object"))
    found = next((lights[name] or name for name in names_ if name in lights), "")
    doing = not found and noun.head.endswith("ing") and senses_of(noun.head)[:1] in ((), ("noun.act",))
    return base_of(noun.head) if doing and is_known_verb(noun.head) else found


def verb_of_noun(noun: Noun) -> str:
    """The verb in a noun for who does it ("rider") or for doing it ("use", "repair"); "" where there is none."""
    head = noun.head
    if head in table("nominal"):
        return gerund(table("nominal")[head])
    stems = [head.removesuffix("s").removesuffix("r"), head.removesuffix("s").removesuffix("er")]
    stems += [stems[1][:-1]] if stems[1][-2:-1] == stems[1][-1:] else []
    if head.removesuffix("s").endswith("er"):
        verb = next((stem for stem in stems if len(stem) > 2 and "b" in word_of(stem).forms), "")
        return gerund(verb) if verb else ""
    if senses_of(head)[:1] != ("noun.act",):
        return ""
    verb = head if "b" in word_of(head).forms else table("light_noun").get(head, "")
    return gerund(verb) if verb else ""
