"""How far each clause of a phrase is from being the one that is meant."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from shoe.lexicon.phrase_given import Given
from shoe.lexicon.phrase_groups import (
    implied_object,
    is_before,
    is_immaterial,
    is_nearby,
    is_of_given,
    poses,
    sets_scene,
)
from shoe.lexicon.phrase_nouns import is_inner, is_of_body, is_scenery, light_verb, senses_of
from shoe.lexicon.phrase_parts import Clause
from shoe.lexicon.phrase_words import base_of, table


def ranks_of(clauses: Sequence[Clause], given: Given) -> list[float]:
    """Rank clauses, each by itself and beside the others; the lowest rank is what is meant."""
    ranks = [_rank(clause, given) for clause in clauses]
    for k, (first, second) in enumerate(pairwise(clauses)):
        ranks[k] += 5 * (second.kind == "infinitive" and _leads_to(first, second))
        ranks[k] += 2 * (base_of(first.verb[0]) == "have" and first.object is second.object)
        ranks[k] += 2 * is_before(first, second) + 4 * sets_scene(first, second) + 1.5 * poses(first, second)
    topics = [clause.topic for clause in clauses if clause.topic is not None and not clause.topic.person]
    for k, clause in enumerate(clauses):
        told = any(clause.subject is each for each in topics) and not (clause.passive and clause.verb[-1] == "by")
        told |= clause.kind == "relative" and clause.passive and any(clause.subject is c.object for c in clauses[:k])
        ranks[k] += 2 * (told or (clause.topic is not None and base_of(clause.verb[0]) == "have"))
        ranks[k] += 3.5 * (is_nearby(clause) and not any(_may_bear(clause, other) for other in clauses[k + 1 : k + 2]))
    return ranks


def moves_body(clause: Clause) -> bool:
    """Whether a clause says only what a person does with a part of the body: "extends her hand", to pet a horse."""
    return clause.direct and clause.object is not None and is_of_body(clause.object)


def _leads_to(first: Clause, second: Clause) -> bool:
    """Whether a clause says only how a person comes to do what the next one says: "leans over to smell a flower"."""
    base, thing = base_of(first.verb[0]), second.object
    alone = first.object is None and not first.passive and not implied_object(first)
    if thing is None or (second.direct and is_inner(thing)):
        return alone
    posed = not first.direct and base in table("posture") and first.verb[-1] not in ("on", "in")
    aimed = not first.direct and first.verb[-1] in table("aim")
    moves = (len(first.verb) > 1 and base in table("motion")) or (moves_body(first) and not is_of_body(thing))
    return alone or posed or aimed or moves


def _may_bear(first: Clause, second: Clause) -> bool:
    """Whether what a person is next to may do what comes next: "next to a truck carrying logs"."""
    after = second.kind == "participle" and not second.linked and first.sentence == second.sentence
    return after and base_of(second.verb[0]) in table("of_bearer").keys() | table("of_thing").keys()


def _rank(clause: Clause, given: Given) -> float:
    """How far a clause is from being the one that is meant: what is said of the pair outright comes first.

    The steps only order what occurs together: what the reply knows, then an object, then real verbs, then the kinds.
    """
    rank = {"finite": 0.0, "participle": 1.0, "relative": 1.5, "infinitive": 2.0, "subordinate": 3.0}[clause.kind]
    if given.heads and not is_of_given(clause, given):
        rank += 20
    implied = implied_object(clause)
    if clause.object is None and not implied and not (clause.passive and clause.subject):
        rank += 5 if given.object and base_of(clause.verb[0]) not in table("posture") else 10
    elif clause.object is not None and not clause.direct and not implied and is_scenery(clause.object):
        rank += 1.7 if base_of(clause.verb[0]) in table("posture") else 0
    rank += 3.5 * is_immaterial(clause) + 6 * (bool(given.object) and moves_body(clause))
    if clause.verb[0] == "being" or (clause.verb[0] in table("seen") and clause.verb[-1] != "by"):
        rank += 4
    if clause.direct and clause.object is not None and base_of(clause.verb[0]) in table("light_verb"):
        alone = not (clause.attached or clause.second) and (light_verb(clause.object) or is_of_body(clause.object))
        had = base_of(clause.verb[0]) == "have"
        rank += 4 * (is_inner(clause.object) if had else bool(alone) and not clause.object.of)
    rank += 1.2 * (clause.sentence > 0)
    doer, thing = clause.subject, clause.object
    if clause.kind == "finite" and not clause.passive and doer is not None and thing is not None:
        rank += 2.5 * (not doer.person and not thing.person and senses_of(doer.head)[:1] == ("noun.animal",))
    return rank + 0.4 * (base_of(clause.verb[0]) in table("attributive"))
