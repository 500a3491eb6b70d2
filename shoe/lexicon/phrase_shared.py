"""What clauses share: the object of verbs that "and" joins, and that which a relative clause tells of."""

from __future__ import annotations

from itertools import pairwise

from shoe.lexicon.phrase_given import Given
from shoe.lexicon.phrase_groups import implied_object, is_bare
from shoe.lexicon.phrase_nouns import is_of_body, is_scenery, light_verb
from shoe.lexicon.phrase_parts import Attached, Clause, Noun
from shoe.lexicon.phrase_pronouns import name_pronouns
from shoe.lexicon.phrase_words import base_of, table


def share_objects(clauses: list[Clause], nouns: list[Noun], given: Given) -> None:
    """Give a verb without object the object of the verb that "and" joins to it; "it" the thing before it."""
    for clause in clauses:
        _tell_of(clause)
    name_pronouns(clauses, nouns, given)
    for before, clause in pairwise(clauses):
        _pass_on(before, clause)
    for before, clause in reversed(list(pairwise(clauses))):
        if before.object is not None or clause.object is None or not clause.linked:
            continue
        alike = clause.linked == "or" and not clause.direct and len(before.verb) == 1
        joined = clause.linked != "," or clause.kind == before.kind
        joined = joined and (clause.subject is before.subject or (len(before.verb) == 1 and clause.kind != "finite"))
        holds = len(before.verb) == 1 and implied_object(before)
        if joined and not holds and (alike or not is_bare(before)):
            before.object, before.direct = clause.object, clause.direct and len(before.verb) == 1
            before.verb += clause.verb[1:] if alike else []


def _tell_of(clause: Clause) -> None:
    """Give a relative clause what it tells of: as its object, though "behind him" follows, or by its preposition."""
    topic, thing = clause.topic, clause.object
    if topic is None:
        return
    place = thing is not None and not clause.direct and not topic.person and thing.head != "it"
    place = place and thing is not None and (thing.head in table("pronoun") or is_of_body(thing) or is_scenery(thing))
    if (thing is None or place) and (clause.verb[1:] or not implied_object(clause)):
        clause.verb = [*clause.verb[: 1 if place else None], *clause.dangling.split()]
        clause.object, clause.direct, clause.dangling = topic, len(clause.verb) == 1, ""
    elif clause.dangling:
        clause.attached.append(Attached(clause.dangling, topic))
        clause.dangling = ""


def _pass_on(before: Clause, clause: Clause) -> None:
    """Give a clause the object of the one before: "lifts a cup and takes a sip", "sitting on a horse, he jumps"."""
    noun = clause.object
    taken = clause.direct and clause.linked and base_of(clause.verb[0]) == "take" and before.subject is clause.subject
    if taken and noun is not None and light_verb(noun) and not (clause.attached or clause.second):
        noun.of = noun.of or before.object
    fronted = before.subject is None and before.kind == "participle" and clause.kind == "finite"
    if fronted and not before.direct and before.verb[-1] in table("upon"):
        clause.aboard = clause.aboard or before.object
