"""What a person does beside something else: "rides a bicycle while talking on a phone", "sits on a couch reading"."""

from __future__ import annotations

from shoe.lexicon.constructions import is_kind
from shoe.lexicon.phrase_nouns import is_inner, is_of_body, is_scenery, senses_of
from shoe.lexicon.phrase_parts import Clause, Noun
from shoe.lexicon.phrase_words import base_of, table


def accompanies(main: Clause, other: Clause) -> bool:
    """Whether another clause says with an -ing form what else the person of a clause does to a thing of its own.

    Such a clause begins with "while", or follows where the person is, who alone can do it, without a word between.
    """
    doer = main.subject is None or main.subject.person
    if not doer or main.passive or main.verb[0] == "being" or main.sentence != other.sentence:
        return False
    thing = other.object
    if thing is None or other.passive or other.linked or not other.verb[0].endswith("ing") or not _is_own(other, thing):
        return False
    if other.kind == "subordinate":
        same = other.subject is main.subject or is_fronted(other)
        return other.apart and main.kind in ("finite", "participle") and same
    beside = other.kind == "participle" and main.kind in ("finite", "participle", "relative") and not other.apart
    return beside and other.subject is main.subject and _is_of_person(main, base_of(other.verb[0]))


def is_fronted(clause: Clause) -> bool:
    """Whether a clause stands before the person whom it tells of: "while holding a rope, she"."""
    return clause.kind == "subordinate" and clause.apart and clause.subject is None


def in_scenery(clause: Clause) -> bool:
    """Whether a clause says only in what surroundings a person is: "standing in a kitchen"."""
    return clause.object is not None and not clause.direct and is_scenery(clause.object)


def _is_own(clause: Clause, thing: Noun) -> bool:
    """Whether the object of a clause is a thing apart from the person, and no surroundings."""
    if base_of(clause.verb[0]) in table("attributive") or in_scenery(clause) or is_scenery(thing):
        return False
    if thing.head in table("pronoun") or thing.head in table("reciprocal"):
        return False
    looks = not clause.direct and thing.head in table("looker")
    return not (looks or is_of_body(thing) or (clause.direct and is_inner(thing)))


def _is_of_person(main: Clause, verb: str) -> bool:
    """Whether a verb right after the object of a clause is of its person: nothing named between could do it."""
    if main.object is None or main.second is not None or verb in table("of_thing"):
        return False
    between = [main.object, *(attached.noun for attached in main.attached)]
    if any(noun.person or senses_of(noun.head)[:1] == ("noun.animal",) for noun in between):
        return False
    rides = main.direct and base_of(main.verb[0]) in table("conveyance")
    posed = not main.direct and base_of(main.verb[0]) in table("posture").keys() - table("directed").keys()
    held = posed and not main.attached and main.verb[1:] in (["on"], ["in"], ["at"])
    holds = verb == "hold" and not any(is_kind(noun.head, kind) for noun in between for kind in table("bearer"))
    return (rides or posed) and (held or holds or verb not in table("of_bearer"))
