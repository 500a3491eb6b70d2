"""Grouping of clauses: those that state interactions of the same human-object pair, and those that state the scene."""

from shoe.lexicon import text
from shoe.lexicon.phrases.noun_phrases import (
    MATERIAL,
    Clause,
    Noun,
    ReplyObjects,
    is_body_part,
    is_in_reply,
    is_inner,
    is_scenery,
    light_verb,
    senses_of,
)
from shoe.lexicon.phrases.words import base_of, table, word_of
from shoe.lexicon.senses import is_kind


def accompanies(main: Clause, other: Clause) -> bool:
    """Return whether ``other``, an -ing clause, states a second interaction of the person who acts in ``main``.

    True if ``other`` starts with "while", or if it directly follows ``main`` and no other noun of ``main`` can be its
    subject. False for passives, for clauses in different sentences, and if ``other`` has no object, or its object is
    scenery, clothing, a pronoun or a body part.
    """
    thing, doer = other.object, main.subject is None or main.subject.person
    if not doer or main.passive or main.verb[0] == "being" or main.sentence != other.sentence:
        return False
    if thing is None or other.passive or other.linked or not other.verb[0].endswith("ing") or not _is_own(other, thing):
        return False
    same = other.subject is main.subject
    if other.kind == "subordinate":
        return other.apart and main.kind in ("finite", "participle") and (same or is_fronted(other))
    beside = other.kind == "participle" and main.kind in ("finite", "participle", "relative") and not other.apart
    return beside and same and _is_of_person(main, base_of(other.verb[0]))


def is_fronted(clause: Clause) -> bool:
    """Return whether a clause begins with "while" or similar words, without a subject: "while eating"."""
    return clause.kind == "subordinate" and clause.apart and clause.subject is None


def in_scenery(clause: Clause) -> bool:
    """Return whether the prepositional object of a clause is scenery: "standing in a kitchen"."""
    return clause.object is not None and not clause.direct and is_scenery(clause.object)


def _is_own(clause: Clause, thing: Noun) -> bool:
    """Return whether ``thing``, the object of a clause, is a thing and not scenery, clothing or a body part."""
    if _wears(clause) or in_scenery(clause) or is_scenery(thing):
        return False
    looks = not clause.direct and thing.head in table("looker")
    pronoun = thing.head in table("pronoun") or thing.head in table("reciprocal")
    return not (pronoun or looks or is_body_part(thing) or (clause.direct and is_inner(thing)))


def _is_of_person(main: Clause, verb: str) -> bool:
    """Return whether the person of ``main`` is the subject of the next verb: no noun between can be its subject."""
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


_AWAY = text.PARTICLES - {"on"} | {"around"}


def group_of(clauses: list[Clause], best: int, reply: ReplyObjects) -> list[int]:
    """Return the indices of clause ``best`` and of the clauses that state further interactions, not alternatives to it.

    The indices ascend, except that a clause that precedes its subject ("while eating, she ...") comes last.
    """
    group = [best]
    told = [i for i, clause in enumerate(clauses) if i == best or not clause.borne]
    for step in (1, -1):
        at = told.index(best)
        while 0 <= at + step < len(told) and _are_joined([clauses[i] for i in told], at, at + step, reply):
            at += step
            group.append(told[at])
    others = [i for i in range(len(clauses)) if i not in group and not reply.heads]
    group += [i for i in others if _stands_beside(clauses[i], [clauses[k] for k in group])]
    return sorted(group, key=lambda i: (i < best and is_fronted(clauses[i]), i))


def are_rivals(first: Clause, second: Clause) -> bool:
    """Return whether either of two clauses may state the main interaction, so that the choice is doubtful."""
    aimed = second.kind == "infinitive" and first.direct and second.object is not None and first.use is None
    aimed = aimed and base_of(first.verb[0]) not in table("teaching")
    alike = first.kind == second.kind and not (second.linked or second.apart)
    alike = alike and first.object is not second.object is not None
    return aimed or (alike and not sets_scene(second, first) and not _is_set_in_scenery(second, first))


def _are_joined(clauses: list[Clause], a: int, b: int, reply: ReplyObjects) -> bool:
    """Return whether the neighbouring clauses ``a`` and ``b`` (indices) state two interactions of the same pair."""
    first, second = clauses[min(a, b)], clauses[max(a, b)]
    main, other = (second, first) if is_fronted(first) else (first, second)
    if accompanies(main, other) and (clauses[a] is main or not (in_scenery(main) or is_nearby(main))):
        return not reply.heads or (fits_reply(first, reply) and fits_reply(second, reply))
    if second.kind == "infinitive" and first.direct and first.object and second.object and not reply.heads:
        timed = senses_of(second.object.head)[:1] == ("noun.time",)  # "rides to work this morning"
        return not (timed or is_body_part(first.object) or is_immaterial(first))
    bare = not second.linked and second.verb[0] == base_of(second.verb[0]) and second.kind == first.kind
    helped = second.kind == "participle" and second.direct and second.verb[0].endswith("ing") and not second.linked
    if (helped or bare) and first.object is not None and first.object.person and first.direct and not reply.heads:
        caused = helped or base_of(first.verb[0]) in table("teaching").keys() | table("causative").keys()
        return caused and second.object is not None and first.sentence == second.sentence
    last = next(iter(clauses[max(a, b) + 1 :]), None)
    listed = last is not None and last.linked in ("and", "or") and first.kind == second.kind == last.kind
    inflected = second.verb[0].endswith("ing") or second.passive or (first.verb[0][-1] == second.verb[0][-1] == "s")
    beside = inflected and first.kind == second.kind and first.subject is second.subject
    same_object = _heads(first) == _heads(second)
    if (
        # "he holds a bat, but smiles at her", "he rides. He waves."
        second.linked in ("", "but")
        or first.sentence != second.sentence
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
    if not reply.heads:
        return True
    of_given = fits_reply(first, reply)
    moved = any(each.direct and each.object and is_body_part(each.object) for each in (first, second))
    same = of_given or (not moved and (same_object or not (first.direct and second.direct)))
    return same and of_given == fits_reply(second, reply)


def _comments(clause: Clause) -> bool:
    """Return whether a clause is a comment and not an action: "suggesting affection"."""
    if {clause.verb[0], base := base_of(clause.verb[0])}.isdisjoint(table("commentary")) or clause.object is None:
        return False
    done = base in ("make", "give") and (light_verb(clause.object) or clause.second is not None)
    return clause.verb[0].endswith("ing") and MATERIAL.isdisjoint(senses_of(clause.object.head)[:1]) and not done


def _is_set_in_scenery(first: Clause, second: Clause) -> bool:
    """Return whether ``first`` only states the place of the action in ``second``: "stands in a field, flying"."""
    posed = in_scenery(first) and base_of(first.verb[0]) in table("posture")
    return posed and first.subject is second.subject and second.object is not None and not in_scenery(second)


def _stands_beside(clause: Clause, group: list[Clause]) -> bool:
    """Return whether a clause adds an interaction to ``group``: "one washes a car while another holds a hose"."""
    if any(_heads(clause) == _heads(other) and _of_same(clause, other) for other in group):
        return False
    if any(clause.subject is other.subject for other in group):
        return len(group) == 1 and _wears(group[0]) and _does(clause) and not _wears(clause)
    apart = clause.apart or any(other.apart for other in group)
    listed = clause.kind == "participle" and clause.sentence == group[0].sentence
    kinds = ["participle"] if listed else ["finite", "subordinate"]
    return apart and all(each.kind in kinds and _does(each) for each in (clause, *group))


def _wears(clause: Clause) -> bool:
    return base_of(clause.verb[0]) in table("attributive")


def is_before(first: Clause, second: Clause) -> bool:
    """Return whether the action of ``first`` was completed before ``second``: "found a cat and is hugging it"."""
    past = "e" in word_of(first.verb[0]).forms and not first.passive and (first.direct or first.kind == "participle")
    return past and second.linked == "and" and second.kind == "finite" and second.verb[0].endswith(("ing", "s"))


def poses(first: Clause, second: Clause) -> bool:
    """Return whether ``first`` states a posture, and ``second`` an action in a later sentence or after "while"."""
    posed = base_of(first.verb[0]) in table("posture") and first.object is not None and not first.direct
    return posed and second.apart and second.direct


def _does(clause: Clause) -> bool:
    """Return whether a clause states an action of a person on a thing or, in a main clause, on another person."""
    subject, thing = clause.subject, clause.object
    if clause.passive:
        return False
    if subject is None or not subject.person or thing is None or clause.verb[0] in {"being", *table("seen")}:
        return False
    nothing = thing.person or is_scenery(thing) or MATERIAL.isdisjoint(senses_of(thing.head))
    if is_nearby(clause) or is_immaterial(clause) or (clause.kind == "subordinate" and nothing):
        return False
    return thing.head not in table("pronoun") and (clause.direct or not is_scenery(thing))


def is_nearby(clause: Clause) -> bool:
    """Return whether a clause states a position ("stands behind a counter", "covered by a blanket") or an approach."""
    posed = not clause.direct and base_of(clause.verb[0]) in table("posture")
    comes = clause.direct and clause.object is not None and base_of(clause.verb[0]) in table("approach")
    return clause.borne or comes or (posed and "_".join(clause.verb[1:]) in table("nearby"))


def is_immaterial(clause: Clause) -> bool:
    """Return whether the noun after a preposition is immaterial ("listens to music"), or a camera or viewer."""
    thing = clause.object
    if thing is None or clause.direct or thing.head in table("looker"):
        return thing is not None and not clause.direct
    alone = not (clause.attached or thing.person or thing.of or is_scenery(thing))
    return alone and MATERIAL.isdisjoint(senses_of(thing.head) or MATERIAL)


def sets_scene(first: Clause, second: Clause) -> bool:
    """Return whether ``first`` describes a thing, and ``second`` is a person's action: "it is wet, she dries it"."""
    thing, person = first.subject, second.subject
    if thing is None or thing.person or is_body_part(thing) or person is None or not person.person or second.passive:
        return False
    by = first.verb[-1] == "by" or any(attached.preposition == "by" for attached in first.attached)
    during = second.kind == "subordinate" and first.passive and second.direct and in_scenery(first)
    after = second.kind == "finite" or second.sentence > first.sentence
    return not by and (after or during or second.object is thing)


def _heads(clause: Clause) -> str:
    return clause.object.head if clause.object is not None else ""


def is_bare(clause: Clause) -> bool:
    """Return whether a clause without object has only a verb like "sit", "look", "talk" or "play" (or "sit down")."""
    alone = clause.object is None and not clause.passive and _AWAY.issuperset(clause.verb[1:])
    return alone and base_of(clause.verb[0]) in table("posture")


def fits_reply(clause: Clause, reply: ReplyObjects) -> bool:
    """Return whether the model's reply names an object of the clause, a passive subject, or an implied object."""
    nouns = [clause.object, clause.second, *(each.noun for each in clause.attached if not each.noun.none)]
    nouns += [clause.subject] if clause.passive else []
    named = any(is_in_reply(noun, reply) for noun in nouns if noun is not None)
    return named or not reply.heads.isdisjoint(implied_object(clause).split()[-1:])


def implied_object(clause: Clause) -> str:
    """Return the object that the verb or the subject implies: "skis" for skiing, "horse" for horse-riding; else ""."""
    base, implied, first = base_of(clause.verb[0]), table("implied"), clause.inner or clause.verb[0].rpartition("-")[0]
    if not clause.inner and first and not MATERIAL.isdisjoint(senses_of(first)[:1]):
        return implied.get(f"{first}-{base}") or implied.get(first + base) or ("" if clause.direct else first)
    noun = clause.inner or (clause.subject.head if clause.subject is not None else "")
    by_noun = table("implied_by_noun").get(noun) or implied.get(f"{first}-{base}") or implied.get(first + base)
    return by_noun or implied.get(base) or clause.inner


def _of_same(clause: Clause, other: Clause) -> bool:
    """Return whether two clauses have the same subject, or either clause only states a posture or possession."""
    posed = any(not each.direct and base_of(each.verb[0]) in table("posture") for each in (clause, other))
    return posed or clause.subject is other.subject or "have" in (base_of(clause.verb[0]), base_of(other.verb[0]))
