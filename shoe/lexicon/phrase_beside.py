"""What prepositions bring in beside the object: "cutting a cake with a knife", "reading the time on a clock"."""

from __future__ import annotations

from shoe.lexicon.phrase_nouns import MATERIAL, is_inner, is_of_body, is_scenery, names, senses_of
from shoe.lexicon.phrase_parts import Attached, Candidate, Clause, Noun
from shoe.lexicon.phrase_words import base_of, is_expression, table


def with_inner(clause: Clause, inner: Noun) -> Candidate | None:
    """Read "brushing his teeth with a brush", "reading the time on a clock", "taking care of a dog"."""
    if not is_inner(inner):
        return None
    brought = [Attached("of", inner.of)] if inner.of is not None else clause.attached
    brought = [a for a in brought if "_".join(a.preposition.split()) not in table("nearby")]
    followed = [a for a in brought if not is_scenery(a.noun) and (a.noun.of or a.noun.owner or not is_of_body(a.noun))]
    if not followed:
        return None
    also = [] if is_of_body(inner) or inner.of is not None else names(inner)
    return Candidate(verbs_with(clause, followed[0]), [*names(followed[0].noun), *also])


def verbs_with(clause: Clause, attached: Attached) -> list[str]:
    """Verbs of a clause whose object a preposition brings in: "cutting with", "putting luggage on"."""
    if clause.object is None:
        return [f"{clause.verb[0]} {attached.preposition}"]
    whole = " ".join([*clause.verb, *clause.object.words, attached.preposition])
    if not clause.direct:  # "looking at the time on a clock", not "sitting at a table on a chair"
        inner = MATERIAL.isdisjoint(senses_of(clause.object.head)[:1]) and not is_scenery(clause.object)
        return [whole if inner else f"{clause.verb[0]} {attached.preposition}"]
    plain = " ".join([*clause.verb, attached.preposition])
    if is_inner(clause.object):
        own = [] if is_of_body(clause.object) else [" ".join(clause.verb)]
        if attached.preposition != "of":
            return [whole, plain, *own]
        verb = base_of(clause.verb[0])
        together = verb in table("light_verb") or is_expression((verb, clause.object.head), "verb")
        return [whole, *own] if together else [" ".join(clause.verb), whole]
    one = attached.preposition != "with" and is_expression((clause.verb[0], attached.preposition), "verb")
    return [whole] if one else [plain, whole]


def may_be_object(attached: Attached) -> bool:
    """Whether what a preposition brings in after the object may be what the pair is about: a bat, a glass."""
    preposition, noun = attached
    if noun.none or is_scenery(noun) or is_of_body(noun) or noun.person:
        return noun.person and preposition == "to" and not noun.none and noun.head not in table("pronoun")
    return preposition.removesuffix(" of") in table("beside") and not MATERIAL.isdisjoint(senses_of(noun.head))
