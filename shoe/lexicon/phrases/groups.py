"""What a person does beside something else: "rides a bicycle while talking on a phone", "sits on a couch reading"."""

from __future__ import annotations

from shoe.lexicon import text
from shoe.lexicon.constructions import is_kind
from shoe.lexicon.phrases.noun_phrases import (
    MATERIAL,
    Clause,
    Given,
    Noun,
    is_given,
    is_inner,
    is_of_body,
    is_scenery,
    light_verb,
    senses_of,
)
from shoe.lexicon.phrases.words import base_of, table, word_of


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


# How the clauses of a phrase belong together: which are one interaction, which are two, which only set the scene.

_AWAY = text.PARTICLES - {"on"} | {"around"}


def group_of(clauses: list[Clause], best: int, given: Given) -> list[int]:
    """Return the places of the clauses that are interactions beside the best one, with its own, in order.

    What is said before the person ("while holding a rope, she") comes last.
    """
    group = [best]
    told = [i for i, clause in enumerate(clauses) if i == best or not clause.borne]
    for step in (1, -1):
        at = told.index(best)
        while 0 <= at + step < len(told) and _are_joined([clauses[i] for i in told], at, at + step, given):
            at += step
            group.append(told[at])
    others = [i for i in range(len(clauses)) if i not in group and not given.heads]
    group += [i for i in others if _stands_beside(clauses[i], [clauses[k] for k in group])]
    return sorted(group, key=lambda i: (i < best and is_fronted(clauses[i]), i))


def are_rivals(first: Clause, second: Clause) -> bool:
    """Whether two clauses with other objects could each be the one that is meant."""
    aimed = second.kind == "infinitive" and first.direct and second.object is not None and first.use is None
    aimed = aimed and base_of(first.verb[0]) not in table("teaching")
    return aimed or (
        not sets_scene(second, first)
        and not _is_set_in_scenery(second, first)
        and first.kind == second.kind
        and not (second.linked or second.apart)
        and first.object is not second.object is not None
    )


def _are_joined(clauses: list[Clause], a: int, b: int, given: Given) -> bool:
    """Whether two neighbouring clauses are two interactions of the pair."""
    first, second = clauses[min(a, b)], clauses[max(a, b)]
    being = "being" in (first.verb[0], second.verb[0])
    main, other = (second, first) if is_fronted(first) else (first, second)
    if accompanies(main, other) and (clauses[a] is main or not (in_scenery(main) or is_nearby(main))):
        return not given.heads or (is_of_given(first, given) and is_of_given(second, given))
    bare = not second.linked and second.verb[0] == base_of(second.verb[0]) and second.kind == first.kind
    if (second.kind == "infinitive" or bare) and first.object is not None and first.object.person and first.direct:
        causes = table("teaching").keys() | (table("causative").keys() if bare else set())
        return base_of(first.verb[0]) in causes and second.object is not None
    last = clauses[max(a, b) + 1] if max(a, b) + 1 < len(clauses) else None
    listed = last is not None and last.linked in ("and", "or") and first.kind == second.kind == last.kind
    beside = first.kind == second.kind and second.verb[0].endswith("ing") and first.subject is second.subject
    beside = beside and base_of(second.verb[0]) not in table("attributive")
    same_object = _heads(first) == _heads(second)
    if (
        # "he holds a bat, but smiles at her", "he rides. He waves."
        second.linked in ("", "but")
        or first.sentence != second.sentence
        # "stands and holds a cup", "is in a field and holds a cup"
        or is_bare(first)
        or is_bare(second)
        or being
        # "he holds a bat, she wears a hat": a comma joins only lists and -ing forms
        or (second.linked == "," and not (same_object or listed or beside))
        # "found a cat and is hugging it", "a dog is in a boat and a man rows it"
        or is_before(first, second)
        or sets_scene(first, second)
        # "has a kite and flies it"
        or (first.object is second.object and base_of(first.verb[0]) == "have")
        # "hugs a dog, suggesting affection", "enjoys a day and rides a horse"
        or any(_comments(each) or is_immaterial(each) for each in (first, second))
        # "stands behind a counter and cuts a cake"
        or (not same_object and (is_nearby(first) or is_nearby(second)))
        # "stands in a field and flies a kite"
        or _is_set_in_scenery(first, second)
        # "interacting with a dog and petting it"
        or (same_object and any(base_of(c.verb[0]) in table("interacting") and not c.passive for c in (first, second)))
    ):
        return False
    of_given = is_of_given(first, given) if given.heads else True
    moved = any(each.direct and each.object and is_of_body(each.object) for each in (first, second))
    if given.heads and moved and not of_given:
        return False
    same = of_given or same_object or not (first.direct and second.direct)
    return not given.heads or (same and of_given == is_of_given(second, given))


def _comments(clause: Clause) -> bool:
    """Whether a clause says what a scene tells rather than what a person does: "suggesting affection"."""
    if {clause.verb[0], base := base_of(clause.verb[0])}.isdisjoint(table("commentary")) or clause.object is None:
        return False
    done = base in ("make", "give") and (light_verb(clause.object) or clause.second is not None)
    immaterial = MATERIAL.isdisjoint(senses_of(clause.object.head)[:1])
    return clause.verb[0].endswith("ing") and immaterial and not done


def _is_set_in_scenery(first: Clause, second: Clause) -> bool:
    """Whether a clause says only in what surroundings a person is who does something: "stands in a field, flying"."""
    posed = in_scenery(first) and base_of(first.verb[0]) in table("posture")
    return posed and first.subject is second.subject and second.object is not None and not in_scenery(second)


def _stands_beside(clause: Clause, group: list[Clause]) -> bool:
    """Whether a clause states another interaction: "one washes a car while another holds a hose"."""
    if any(_heads(clause) == _heads(other) and _of_same(clause, other) for other in group):
        return False
    if any(clause.subject is other.subject for other in group):
        return len(group) == 1 and _wears(group[0]) and _does(clause) and not _wears(clause)
    apart = clause.apart or any(other.apart for other in group)
    return apart and all(each.kind in ("finite", "subordinate") and _does(each) for each in (clause, *group))


def _wears(clause: Clause) -> bool:
    return base_of(clause.verb[0]) in table("attributive")


def is_before(first: Clause, second: Clause) -> bool:
    """Whether a clause tells what was done before that which is done now: "found a cat and is hugging it"."""
    past = "e" in word_of(first.verb[0]).forms and not first.passive and (first.direct or first.kind == "participle")
    return past and second.linked == "and" and second.kind == "finite" and second.verb[0].endswith(("ing", "s"))


def poses(first: Clause, second: Clause) -> bool:
    """Whether a sentence says where a person is, and the next one what that person does."""
    posed = base_of(first.verb[0]) in table("posture") and first.object is not None and not first.direct
    return posed and second.apart and second.direct


def _does(clause: Clause) -> bool:
    """Whether a clause has a person who does something to a thing, or in a clause of its own to another person."""
    subject, thing = clause.subject, clause.object
    if clause.passive and clause.verb[-1] == "by":
        subject, thing = thing, subject
    elif clause.passive:
        return False
    if subject is None or not subject.person or thing is None or clause.verb[0] in {"being", *table("seen")}:
        return False
    nothing = thing.person or is_scenery(thing) or MATERIAL.isdisjoint(senses_of(thing.head))
    if is_nearby(clause) or is_immaterial(clause) or (clause.kind == "subordinate" and nothing):
        return False
    return thing.head not in table("pronoun") and (clause.direct or not is_scenery(thing))


def is_nearby(clause: Clause) -> bool:
    """Whether a clause says only what a person is next to: "stands behind a counter"."""
    posed = not clause.direct and base_of(clause.verb[0]) in table("posture")
    comes = clause.direct and clause.object is not None and base_of(clause.verb[0]) in table("approach")
    return clause.borne or comes or (posed and "_".join(clause.verb[1:]) in table("nearby"))


def is_immaterial(clause: Clause) -> bool:
    """Whether what a preposition brings in is no thing: "listens to music"."""
    thing = clause.object
    if thing is not None and not clause.direct and thing.head in table("looker"):
        return True
    return (
        thing is not None
        and not clause.direct
        and not (clause.attached or thing.person or thing.of or is_scenery(thing))
        and MATERIAL.isdisjoint(senses_of(thing.head) or MATERIAL)
    )


def sets_scene(first: Clause, second: Clause) -> bool:
    """Whether a clause says how or where a thing is, and another what a person does: "the dog is wet, she dries it"."""
    thing, person = first.subject, second.subject
    if thing is None or thing.person or is_of_body(thing) or person is None or not person.person or second.passive:
        return False
    by = first.verb[-1] == "by" or any(attached.preposition == "by" for attached in first.attached)
    return not by and (
        second.kind == "finite"
        or second.object is thing
        or second.sentence > first.sentence
        or (second.kind == "subordinate" and first.passive and second.direct and in_scenery(first))
    )


def _heads(clause: Clause) -> str:
    return clause.object.head if clause.object is not None else ""


def is_bare(clause: Clause) -> bool:
    """Whether a clause only says how the person stands, looks or moves."""
    if clause.passive and clause.subject is not None:
        return is_of_body(clause.subject)
    alone = clause.object is None and _AWAY.issuperset(clause.verb[1:])
    return alone and base_of(clause.verb[0]) in table("posture")


def is_of_given(clause: Clause, given: Given) -> bool:
    """Whether a noun of a clause is one that the reply gives."""
    nouns = [clause.object, clause.second, *(each.noun for each in clause.attached if not each.noun.none)]
    nouns += [clause.subject] if clause.passive else []
    return any(is_given(noun, given) for noun in nouns if noun is not None) or bool(
        given.heads.intersection(implied_object(clause).split()[-1:])
    )


def implied_object(clause: Clause) -> str:
    """The object that a verb holds in itself: the skis of skiing."""
    base, implied, first = base_of(clause.verb[0]), table("implied"), clause.inner or clause.verb[0].rpartition("-")[0]
    if not clause.inner and first and not MATERIAL.isdisjoint(senses_of(first)[:1]):
        return implied.get(f"{first}-{base}") or implied.get(first + base) or ("" if clause.direct else first)
    noun = clause.inner or (clause.subject.head if clause.subject is not None else "")
    by_noun = table("implied_by_noun").get(noun) or implied.get(f"{first}-{base}") or implied.get(first + base)
    return by_noun or implied.get(base) or clause.inner


def _of_same(clause: Clause, other: Clause) -> bool:
    """Whether two clauses have one subject, or one of them says only where the person is."""
    posed = any(not each.direct and base_of(each.verb[0]) in table("posture") for each in (clause, other))
    return posed or clause.subject is other.subject or "have" in (base_of(clause.verb[0]), base_of(other.verb[0]))
