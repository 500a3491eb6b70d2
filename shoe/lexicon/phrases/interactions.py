"""Selection of the clause that states the interaction in a phrase, and of the verb and object in this clause."""

from collections.abc import Sequence
from itertools import pairwise

from shoe.lexicon.phrases.groups import (
    are_rivals,
    fits_reply,
    group_of,
    implied_object,
    is_bare,
    is_before,
    is_immaterial,
    is_nearby,
    poses,
    sets_scene,
)
from shoe.lexicon.phrases.noun_phrases import (
    MATERIAL,
    Attached,
    Candidate,
    Clause,
    Noun,
    ReplyObjects,
    Sentence,
    has_head_in_reply,
    is_body_part,
    is_in_reply,
    is_inner,
    is_scenery,
    light_verb,
    names,
    names_known,
    senses_of,
    verb_of_noun,
    with_conjuncts,
)
from shoe.lexicon.phrases.words import base_of, gerund, is_expression, table, verb_bases, word_of
from shoe.lexicon.senses import are_alike, bases, is_kind


def ranks_of(clauses: Sequence[Clause], reply: ReplyObjects) -> list[float]:
    """Return the rank of each clause; the clause with the lowest rank most likely states the interaction."""
    ranks = [_rank(clause, reply) for clause in clauses]
    for k, (first, second) in enumerate(pairwise(clauses)):
        ranks[k] += 5 * (second.kind == "infinitive" and _leads_to(first, second))
        ranks[k] += 2 * (base_of(first.verb[0]) == "have" and first.object is second.object)
        ranks[k] += 2 * is_before(first, second) + 4 * sets_scene(first, second) + 1.5 * poses(first, second)
    topics = [clause.topic for clause in clauses if clause.topic is not None and not clause.topic.person]
    for k, clause in enumerate(clauses):
        earlier = any(clause.subject is each for each in topics) and not (clause.passive and clause.verb[-1] == "by")
        earlier |= clause.kind == "relative" and clause.passive and any(clause.subject is c.object for c in clauses[:k])
        ranks[k] += 2 * (earlier or (clause.topic is not None and base_of(clause.verb[0]) == "have"))
        ranks[k] += 3.5 * (is_nearby(clause) and not any(_may_bear(clause, other) for other in clauses[k + 1 : k + 2]))
    return ranks


def moves_body(clause: Clause) -> bool:
    """Return whether the direct object of a clause is a body part: "extends her hand"."""
    return clause.direct and clause.object is not None and is_body_part(clause.object)


def _leads_to(first: Clause, second: Clause) -> bool:
    """Return whether ``first`` only prepares the action of ``second``: "leans over to smell a flower"."""
    base, thing = base_of(first.verb[0]), second.object
    alone = first.object is None and not first.passive and not implied_object(first)
    if alone or thing is None or (second.direct and is_inner(thing)):
        return alone
    aimed = first.verb[-1] in table("aim") or (base in table("posture") and first.verb[-1] not in ("on", "in"))
    moves = (len(first.verb) > 1 and base in table("motion")) or (moves_body(first) and not is_body_part(thing))
    return moves or (aimed and not first.direct)


def _may_bear(first: Clause, second: Clause) -> bool:
    """Return whether the object of ``first`` can be the subject of ``second``: "drives a truck carrying logs"."""
    after = second.kind == "participle" and not second.linked and first.sentence == second.sentence
    return after and base_of(second.verb[0]) in table("of_bearer").keys() | table("of_thing").keys()


def _rank(clause: Clause, reply: ReplyObjects) -> float:
    """Return the rank of a clause, without regard to the other clauses; lower is better.

    The weights implement this priority: whether the object is in the reply, whether the clause has an object, whether
    the verb is an action, the kind of clause (finite, participle, ...).
    """
    rank = {"finite": 0.0, "participle": 1.0, "relative": 1.5, "infinitive": 2.0, "subordinate": 3.0}[clause.kind]
    rank += 20 * (bool(reply.heads) and not fits_reply(clause, reply))
    implied = implied_object(clause)
    if clause.object is None and not implied and not (clause.passive and clause.subject):
        rank += 5 if reply.object and base_of(clause.verb[0]) not in table("posture") else 10
    elif clause.object is not None and not clause.direct and not implied and is_scenery(clause.object):
        rank += 1.7 if base_of(clause.verb[0]) in table("posture") else 0
    rank += 3.5 * is_immaterial(clause) + 6 * (bool(reply.object) and moves_body(clause))
    rank += 4 * (clause.verb[0] == "being" or (clause.verb[0] in table("seen") and clause.verb[-1] != "by"))
    if clause.direct and clause.object is not None and base_of(clause.verb[0]) in table("light_verb"):
        alone = not (clause.attached or clause.second) and (light_verb(clause.object) or is_body_part(clause.object))
        had = base_of(clause.verb[0]) == "have"
        rank += 4 * (is_inner(clause.object) if had else bool(alone) and not clause.object.of)
    return rank + 1.2 * (clause.sentence > 0) + 0.4 * (base_of(clause.verb[0]) in table("attributive"))


# Resolution of the pronouns "it", "them", "its", and of "him" and "her" for animals.


def resolve_pronouns(clauses: list[Clause], nouns: list[Noun], reply: ReplyObjects) -> None:
    """Replace pronouns (it, them, its; him and her for animals) in ``clauses`` by their antecedents, in place.

    Antecedents are nouns of the clauses or in ``nouns``, the nouns outside clauses. But if the objects in ``reply``
    include none of these nouns, and its object field names a thing (not a person), pronouns refer to this thing. An
    object "it" or "them" without an antecedent is removed.
    """
    for number, clause in enumerate(clauses):
        before, thing = clauses[:number], clause.object
        if clause.subject is not None and clause.subject.words == ["it"]:
            clause.subject = _antecedent_of_it(clause.subject, before, nouns)
        for at, (preposition, noun) in enumerate(clause.attached):
            if noun.head == "it" and (things := _antecedents(clause, [*before, clause], nouns, reply)):
                clause.attached[at] = Attached(preposition, things[-1])
        if thing is None:
            continue
        if thing.words[0] in table("anaphor"):
            _resolve_pronoun(clause, before, _antecedents(clause, before, nouns, reply))
        elif thing.its or (thing.of is not None and thing.of.words[0] in table("anaphor")):
            things = _antecedents(clause, before, nouns, reply)
            thing.owner = next(reversed(things), None) if thing.its else None
            thing.of = thing.of if thing.its or not things else things[-1]


def _antecedents(clause: Clause, before: list[Clause], nouns: list[Noun], reply: ReplyObjects) -> list[Noun]:
    """Return the nouns to which a pronoun in a clause can refer, the most likely last; scenery nouns come first.

    ``before`` are the earlier clauses, ``nouns`` the nouns outside clauses.
    """
    its = clause.object is not None and clause.object.its
    own = clause.subject if clause.kind == "finite" and not its else None
    attached = [attached.noun for other in before for attached in other.attached]
    found = with_conjuncts(*nouns, *attached, *_earlier_nouns(before))
    found = [n for n in found if n is not own and not n.person and not is_inner(n)]
    done = [o.object for o in before if o.direct and base_of(o.verb[0]) in table("light_verb")]
    found = [n for n in found if not (light_verb(n) and any(n is each for each in done))]
    found = [n.owner if n.its and n.owner is not None else n for n in found]
    found = [n for n in found if n is not clause.object and not is_body_part(n) and n.head not in table("anaphor")]
    named = reply.object.split()
    if named and not word_of(named[-1]).person and not any(is_in_reply(noun, reply) for noun in found):
        return [Noun(named)]
    return sorted(found, key=lambda noun: not is_scenery(noun))


def _earlier_nouns(before: list[Clause]) -> list[Noun]:
    """Return the inanimate subject and the object of each clause; the object first after "have" or a preposition."""
    found: list[Noun | None] = []
    for other in before:
        done = other.direct and base_of(other.verb[0]) != "have"
        found += [_inanimate_subject(other), other.object] if done else [other.object, _inanimate_subject(other)]
    return [noun for noun in found if noun is not None]


def _resolve_pronoun(clause: Clause, before: list[Clause], things: list[Noun]) -> None:
    """Replace the pronoun that is the object of a clause by a noun: a plural for "them", an animal for "him" and "her".

    ``things`` are the nouns to which the pronoun can refer, the most likely last; ``before`` are the earlier clauses.
    """
    earlier, pronoun = _earlier_nouns(before), clause.object.words[0] if clause.object is not None else ""
    if pronoun in ("him", "her"):
        things = [noun for noun in things if senses_of(noun.head)[:1] == ("noun.animal",)]
        earlier = [] if any(other.subject is not None and other.subject.person for other in before) else earlier
        if not things and not earlier and clause.second is None:
            return
    several = [noun for noun in things if word_of(noun.head).plural or noun.also] if pronoun == "them" else []
    earlier = [noun for noun in earlier if not noun.person or pronoun != "it"]
    meant = next(reversed(several or things or earlier), None)
    clause.object, clause.second = meant or clause.second, clause.second if meant else None


def _antecedent_of_it(subject: Noun, before: list[Clause], nouns: list[Noun]) -> Noun:
    """Return the noun to which the subject "it" refers, as in "it is being washed"; the subject itself if unknown."""
    earlier = [noun for clause in before if clause.passive and (noun := _inanimate_subject(clause)) is not None]
    objects = [clause.object for clause in before if clause.object is not None and clause.direct]
    things = [noun for noun in with_conjuncts(*nouns, *objects) if noun is not subject and not noun.person]
    return next(reversed(earlier or things), subject)


def _inanimate_subject(clause: Clause) -> Noun | None:
    return None if clause.subject is None or clause.subject.person else clause.subject


def share_objects(clauses: list[Clause], nouns: list[Noun], reply: ReplyObjects) -> None:
    """Resolve pronouns, then copy each verb's object to a verb without an object that is joined to it, in place.

    In "is riding and holding a horse", riding gets the object horse. ``nouns`` are the nouns outside clauses.
    """
    for clause in clauses:
        _attach_antecedent(clause)
    resolve_pronouns(clauses, nouns, reply)
    for before, clause in pairwise(clauses):
        _inherit_object(before, clause)
    for before, clause in reversed(list(pairwise(clauses))):
        if before.object is not None or clause.object is None or not clause.linked:
            continue
        short = len(before.verb) == 1
        alike = clause.linked == "or" and not clause.direct and short
        joined = clause.linked != "," or clause.kind == before.kind
        joined = joined and (clause.subject is before.subject or (short and clause.kind != "finite"))
        if joined and not (short and implied_object(before)) and (alike or not is_bare(before)):
            before.object, before.direct = clause.object, clause.direct and short
            before.verb += clause.verb[1:] if alike else []


def _attach_antecedent(clause: Clause) -> None:
    """Add the antecedent of a relative clause to the clause, as object or as the noun of a stranded preposition."""
    topic, thing = clause.topic, clause.object
    if topic is None:
        return
    place = thing is not None and not clause.direct and not topic.person and thing.head != "it"
    place = place and thing is not None and (thing.head in table("pronoun") or is_body_part(thing) or is_scenery(thing))
    if (thing is None or place) and (clause.verb[1:] or not implied_object(clause)):
        clause.verb = [*clause.verb[: 1 if place else None], *clause.dangling.split()]
        clause.object, clause.direct, clause.dangling = topic, len(clause.verb) == 1, ""
    elif clause.dangling:
        clause.attached.append(Attached(clause.dangling, topic))
        clause.dangling = ""


def _inherit_object(before: Clause, clause: Clause) -> None:
    """Copy the object of the clause ``before``: "lifts a cup and takes a sip", "sitting on a horse, he jumps"."""
    noun = clause.object
    taken = clause.direct and clause.linked and base_of(clause.verb[0]) == "take" and before.subject is clause.subject
    if taken and noun is not None and light_verb(noun) and not (clause.attached or clause.second):
        noun.of = noun.of or before.object
    fronted = before.subject is None and before.kind == "participle" and clause.kind == "finite"
    if fronted and not before.direct and before.verb[-1] in table("upon"):
        clause.aboard = clause.aboard or before.object


# Prepositional objects: "cutting a cake with a knife", "reading the time on a clock".


def candidate_without_inner(clause: Clause, inner: Noun) -> Candidate | None:
    """Return the interaction (doing tricks on, skateboard) in "doing tricks on a skateboard"; None for other clauses.

    ``inner`` is the direct object ("tricks"), a part of the action (:func:`is_inner`). The candidate's objects are the
    noun after the preposition, then ``inner`` unless a body part; in reverse order if the verb is not light ("do").
    """
    brought = [Attached("of", inner.of)] if inner.of is not None else clause.attached
    brought = [a for a in brought if "_".join(a.preposition.split()) not in table("nearby").keys() | table("at_time")]
    things = [a for a in brought if not is_scenery(a.noun) and (a.noun.of or a.noun.owner or not is_body_part(a.noun))]
    if not things or not (is_inner(inner) or is_expression((base_of(clause.verb[0]), inner.head), "verb")):
        return None
    also = [] if is_body_part(inner) or inner.of is not None else names(inner)
    verbs, objects = verbs_with(clause, things[0]), [*names(things[0].noun), *also]
    done = base_of(clause.verb[0]) in table("light_verb") and things[0].preposition not in table("apart")
    return Candidate(*((verbs, objects) if done or not also else (verbs[::-1], objects[::-1])))


def verbs_with(clause: Clause, attached: Attached) -> list[str]:
    """Return verb phrases for the object in ``attached``, best first: "cutting with", "cutting cake with" (a knife)."""
    if clause.object is None:
        return [f"{clause.verb[0]} {attached.preposition}"]
    whole = " ".join([*clause.verb, *clause.object.words, attached.preposition])
    if not clause.direct:  # "looking at the time on a clock", not "sitting at a table on a chair"
        inner = MATERIAL.isdisjoint(senses_of(clause.object.head)[:1]) and not is_scenery(clause.object)
        return [whole if inner else f"{clause.verb[0]} {attached.preposition}"]
    plain = " ".join([*clause.verb, attached.preposition])
    if is_inner(clause.object):
        own = [] if is_body_part(clause.object) else [" ".join(clause.verb)]
        if attached.preposition != "of":
            return [whole, plain, *own]
        verb = base_of(clause.verb[0])
        together = verb in table("light_verb") or is_expression((verb, clause.object.head), "verb")
        return [whole, *own] if together else [" ".join(clause.verb), whole]
    one = attached.preposition != "with" and is_expression((clause.verb[0], attached.preposition), "verb")
    return [whole] if one else [plain, whole]


def may_be_object(attached: Attached) -> bool:
    """Return whether the noun after a preposition can be an object: a thing ("with a bat"), or a person after "to"."""
    preposition, noun = attached
    if noun.none or is_scenery(noun) or is_body_part(noun) or noun.person:
        return noun.person and preposition == "to" and not noun.none and noun.head not in table("pronoun")
    return preposition.removesuffix(" of") in table("beside") and not MATERIAL.isdisjoint(senses_of(noun.head))


# Phrases without a verb ("bicycle rider"), and clauses whose subject is not the person ("a dog licks a man").


def person_as_object(clause: Clause, reply: ReplyObjects) -> Candidate | None:
    """Return (licks, dog) for "a dog licks a man" (or his hand); None otherwise, or if the reply names the man."""
    thing, person = clause.subject, clause.object
    if thing is None or person is None or thing.person or is_body_part(thing) or is_in_reply(person, reply):
        return None
    part = is_body_part(person) and (person.owner is None or person.owner.person)
    if MATERIAL.isdisjoint(senses_of(thing.head)) or not (part or person.person):
        return None
    return Candidate([" ".join([*clause.verb, *(person.words if part else [])])], names(thing), doubtful=True)


def is_act(noun: Noun) -> bool:
    """Return whether a noun names an action with a corresponding verb: "repair"."""
    return senses_of(noun.head)[:1] == ("noun.act",) and bool(verb_of_noun(noun))


def nominal_candidate(clause: Clause) -> Candidate | None:
    """Return the interaction of an -ing form that follows its object: (riding, horse) in "horse riding"; else None."""
    subject, base = clause.subject, base_of(clause.verb[0])
    if subject is None or subject.person or (clause.object is None and len(clause.verb) > 1) or clause.attached:
        return None
    led = clause.verb[0].endswith("ing") and (base in table("led") or base not in table("posture"))
    return Candidate(clause.verb[:1], names(subject), doubtful=True) if led else None


def verbless_candidates(sentence: Sentence, reply: ReplyObjects) -> list[Candidate]:
    """Return interactions in words outside clauses: (being on, horse) in "man on a horse"; [] for "nobody on ..."."""
    found = []
    for noun in sentence.nouns[:1]:
        verb = verb_of_noun(noun) if not sentence.clauses else ""
        if verb and noun.of is not None:
            found.append(Candidate([verb], names(noun.of), doubtful=True))
        elif verb and sentence.loose and is_act(noun):
            preposition, thing = sentence.loose[0]
            found.append(Candidate([f"{verb} {preposition}"], names(thing), doubtful=True))
        elif verb and len(noun.words) > 1:
            found.append(Candidate([verb], [" ".join(noun.words[:-1])], doubtful=True))
    subject = next(iter(sentence.nouns), None)
    if subject is not None and subject.none:
        return []
    for preposition, attached in sentence.loose:
        noun = next((each for each in with_conjuncts(attached) if not each.person), attached)
        verb = "having" if preposition == "with" else f"being {preposition}"
        being = Clause(verb.split(), "finite", subject, noun)
        far = is_scenery(noun) and not verb.endswith("to")  # "in a park", but "close to a pool"
        if not (noun.none or far or (subject is None and (noun.person or is_body_part(noun)))):
            found.append(person_as_object(being, reply) or Candidate([verb], names(noun), doubtful=True))
    return found


MOST_ALTERNATIVES = 3


def candidates(sentence: Sentence, reply: ReplyObjects) -> list[list[Candidate]]:
    """Return groups of possible interactions, best group first; [] if no interaction is found, or all are negated.

    All interactions of a group are stated together; groups are alternatives to each other. Clauses of ``sentence`` are
    changed in place: pronouns are resolved, and objects and negations are copied to joined clauses.
    """
    for clause in sentence.clauses:
        clause.negated |= any(reply.object and a.noun.none and is_in_reply(a.noun, reply) for a in clause.attached)
    for first, second in pairwise(sentence.clauses):
        like = base_of(first.verb[0]) in table("copula") and first.verb[1:] == ["like"]
        second.negated = second.negated or (first.negated and (second.linked == "or" or like))
    clauses = [clause for clause in sentence.clauses if not clause.negated]
    for clause, purpose in pairwise(clauses):
        used = purpose.kind == "infinitive" and base_of(clause.verb[0]) == "use" and not moves_body(clause)
        clause.use = purpose if used else None
    share_objects(sentence.clauses, [*(attached.noun for attached in sentence.loose), *sentence.nouns], reply)
    if reply.object and not any(fits_reply(clause, reply) for clause in clauses):
        clauses = [] if any(clause.negated and fits_reply(clause, reply) for clause in sentence.clauses) else clauses
    if len(clauses) < len(sentence.clauses) and all(map(_is_state, clauses)):
        clauses = []
    clauses += _carried_things(sentence) if clauses and not reply.object else []
    read = [(clause, candidate) for clause in clauses if (candidate := _candidate(clause, reply))]
    if not read:
        return [] if sentence.clauses and not clauses else [[c] for c in verbless_candidates(sentence, reply)]
    ranks = ranks_of([clause for clause, _ in read], reply)
    best, *_ = order = sorted(range(len(read)), key=lambda i: (ranks[i], i))
    group = group_of([clause for clause, _ in read], best, reply)
    rivals = [i for i in order[1:2] if not (reply.heads and fits_reply(read[best][0], reply))]
    unnamed = {c.object.head for c, _ in read if c.direct and c.object} if reply.object else set()
    unsure = _is_unsure(read[best][0]) or (len(unnamed) > 1 and not any(fits_reply(c, reply) for c, _ in read))
    if unsure or any(are_rivals(read[best][0], read[i][0]) for i in rivals):
        read[best] = (read[best][0], read[best][1]._replace(doubtful=True))
    return [[read[i][1] for i in group], *([read[i][1]] for i in order if i not in group)]


def _is_state(clause: Clause) -> bool:
    """Return whether a clause only states where a thing is or what the thing has: "a dog is on a bench"."""
    thing = _inanimate_subject(clause) is not None and not (clause.object and clause.object.person)
    return thing and base_of(clause.verb[0]) in {"being", "be", "have", *table("posture")}


def _is_hand(noun: Noun) -> bool:
    return not table("hand").keys().isdisjoint((noun.head.removesuffix("s"), *bases(noun.head, "object")))


def _carried_things(sentence: Sentence) -> list[Clause]:
    """Return a clause of holding or having for each thing in "a man with a surfboard under his arm"."""
    person = next(iter(sentence.nouns), None)
    if person is None or not person.person:
        return []
    found = []
    for at, (preposition, noun) in enumerate(sentence.loose):
        held = any(_is_hand(attached.noun) for attached in sentence.loose[at + 1 : at + 2])
        thing = not (noun.person or noun.none or is_body_part(noun) or is_scenery(noun) or _is_hand(noun))
        if preposition == "with" and thing and not MATERIAL.isdisjoint(senses_of(noun.head)):
            verb = "holding" if held else "having"
            found.append(Clause([verb], "relative" if held else "subordinate", person, noun, direct=True))
    return found


def _is_unsure(clause: Clause) -> bool:
    """Return whether the parse of a clause is uncertain: unknown verb, or unclear object ("helping a child swing")."""
    if not verb_bases(clause.verb[0]) or clause.verb[0] == "being":
        return True
    doer = clause.subject
    animal = doer is not None and not doer.person and senses_of(doer.head)[:1] == ("noun.animal",)
    has = clause.verb == ["having"] and clause.kind == "subordinate" and not clause.apart
    if has or (animal and clause.kind == "finite" and not clause.passive):
        return True
    if clause.object is None:
        return False
    by = clause.object.head if clause.verb[-1] == "by" and doer and doer.person > clause.object.person else ""
    if by and (not senses_of(by) or is_kind(by, "vehicle.n.01")):
        return True  # it may act: "served by a barista", "followed by a car"
    *before, head = [word_of(word) for word in clause.object.words]
    other = bool(head.forms) or head.adjective
    return other and (not head.noun or any(word.person and not word.adjective for word in before))


def _candidate(clause: Clause, reply: ReplyObjects) -> Candidate | None:
    agent = clause.object if clause.verb[1:] == ["by"] and clause.object and not clause.object.person else None
    if clause.passive and not (agent is not None and reply.heads and is_in_reply(agent, reply)):
        verbs = [f"{clause.verb[0]} {clause.dangling}".strip()]
        verbs += [f"{clause.use.verb[0]} with"] if clause.use is not None else []
        objects = names(clause.subject) if clause.subject is not None else [reply.object] if reply.object else []
        by = any(attached.preposition == "by" for attached in clause.attached)
        aimed = clause.verb[-1] == "to" and clause.object is not None and not is_body_part(clause.object)
        if aimed and clause.object and not (by or clause.dangling or reply.heads):
            return Candidate([" ".join(clause.verb), *verbs], [*names(clause.object), *objects], doubtful=True)
        return Candidate(verbs, objects) if objects else None
    if aboard := _motion_candidate(clause, reply):
        return aboard
    verb = " ".join(clause.verb)
    if clause.subject and clause.object and clause.object.words[0] in table("reciprocal"):
        return Candidate([verb], names(clause.subject))
    if clause.object is None:
        implied = implied_object(clause)
        objects = [word for word in (reply.object, implied, reply.only) if word][:1]
        return Candidate([verb], objects, not reply.object and not implied) if objects else nominal_candidate(clause)
    light = _light_verb_candidate(clause, reply)
    if light or (clause.verb[1:] == ["for"] and light_verb(clause.object)):
        return light
    if by_thing := person_as_object(clause, reply):
        return by_thing
    if clause.verb[-1] in ("in", "with") and clause.object.of is not None and is_act(clause.object):
        return Candidate([verb_of_noun(clause.object)], names(clause.object.of))
    implied = implied_object(clause)
    if reply.object or (reply.heads and fits_reply(clause, reply)):
        return _reply_candidate(clause, clause.object, reply)
    if implied and not clause.direct:
        senses = senses_of(clause.object.head)
        thing = not (clause.object.person or (senses and MATERIAL.isdisjoint(senses)))
        named = names(clause.object) if thing or is_scenery(clause.object) else []
        if clause.object.person and clause.verb[-1] not in ("with", "for"):  # "dribbles past a goalkeeper"
            return Candidate([verb], [*names(clause.object), implied], doubtful=True)
        on_it = clause.verb[-1] in ("on", "with", "at", "in") and thing and not is_scenery(clause.object)
        also = [implied] if are_alike(clause.object.head, implied) else []  # "device / keyboard", but only "laptop"
        if clause.verb[-1] == "to":
            return Candidate([verb, clause.verb[0]], [*names(clause.object), implied])
        return Candidate([verb], [*named, *also]) if on_it else Candidate([clause.verb[0]], [implied, *named])
    if clause.direct and (inner := candidate_without_inner(clause, clause.object)):
        return inner
    beside = [attached for attached in clause.attached if may_be_object(attached)]
    place = not clause.direct and is_scenery(clause.object) and clause.verb[-1] != "to"
    if place and clause.kind == "participle" and (nominal := nominal_candidate(clause)):
        return nominal
    if beside and (place or clause.object.head in table("pronoun")):
        also = names(clause.object) if place else []
        return Candidate(verbs_with(clause, beside[0]), [*names(beside[0].noun), *also])
    if clause.second is not None and not clause.second.person and base_of(clause.verb[0]) != "feed":
        return Candidate([verb], [*names(clause.second), *names(clause.object)])
    if clause.use is not None:
        return Candidate([verb, f"{clause.use.verb[0]} with"], names(clause.object))
    played = table("game").get(clause.object.head) if base_of(clause.verb[0]) == "play" else None
    if base_of(clause.verb[0]) not in table("placing"):  # "pets a cat on the couch"
        kinds = {"in": table("where"), "on": table("where")}
        beside = [a for a in beside if not any(is_kind(a.noun.head, kind) for kind in kinds.get(a.preposition, ()))]
    nouns = with_conjuncts(clause.object, *(attached.noun for attached in beside))
    found = [name for noun in nouns for name in names(noun)]
    return Candidate([verb], [*found, played] if played else found)


def _motion_candidate(clause: Clause, reply: ReplyObjects) -> Candidate | None:
    """Return the interaction (riding, horse) for "a man on a horse jumps over a fence"; None for other clauses."""
    light = base_of(clause.verb[0]) in table("light_verb") and clause.direct and clause.object is not None
    done = light_verb(clause.object) if light and clause.object is not None else ""
    if clause.subject is None or reply.object or (done or base_of(clause.verb[0])) not in table("motion"):
        return None
    alone = not done and clause.direct and len(clause.verb) == 1
    if alone and clause.object is not None and not is_scenery(clause.object):
        return None
    noun, head = clause.aboard, clause.subject.head
    if noun is not None and noun.head not in table("implied_by_noun"):
        noun = noun if any(is_kind(noun.head, kind) for kind in table("ridden")) else None
    earlier = {*clause.verb[1:], *(attached.preposition for attached in clause.attached)}
    own = table("rider").get(head) if earlier.isdisjoint(table("astride")) else None
    ridden = names(noun) if noun is not None else [own] if own else []
    named = names(clause.object) if clause.object is not None else []
    verbs = [gerund(done) if done else clause.verb[0], " ".join(clause.verb), "riding"]
    return Candidate(verbs, [*named, *ridden] if clause.verb[-1] == "to" else [*ridden, *named]) if ridden else None


def _light_verb_candidate(clause: Clause, reply: ReplyObjects) -> Candidate | None:
    """Return the interaction (sipping from, cup) for "taking a sip from a cup"; None without a light verb."""
    noun = clause.second or clause.object
    if noun is None or base_of(clause.verb[0]) not in table("light_verb") or not (stem := light_verb(noun)):
        return None
    carries = base_of(clause.verb[0]) == "give" and stem in ("shoot", *table("motion"))  # "gives her a ride"
    if carries or (noun is clause.object and not clause.direct and clause.verb[1:] != ["for"]):
        return None
    brought = [Attached("of", noun.of)] if noun.of is not None else []
    brought += [Attached("", clause.object)] if clause.second is not None and clause.object is not None else []
    brought += [a for a in clause.attached if a.preposition not in table("nearby") or stem in table("posture")]
    brought = [each for each in brought if each.noun.head not in table("pronoun")]
    found = next((each for each in brought if is_in_reply(each.noun, reply)), next(iter(brought), None))
    if found is None and not reply.object:
        return None
    preposition = found.preposition if found else ""
    kept = "" if preposition in ("of", "to", "out of") else preposition
    said = [*clause.verb, *([] if word_of(noun.head).plural else ["a"]), *noun.words, preposition]
    objects = [reply.object] if found is None else names(found.noun)
    if found is not None and found.noun is noun.of:
        objects += [name for other in clause.attached if may_be_object(other) for name in names(other.noun)]
    return Candidate([f"{gerund(stem)} {kept}".strip(), " ".join(said).strip()], objects)


def _reply_candidate(clause: Clause, object_: Noun, reply: ReplyObjects) -> Candidate:
    """Return the candidate of a clause with a noun that is in the reply; ``object_`` is the object of the clause."""
    direct = [noun for noun in with_conjuncts(object_) if is_in_reply(noun, reply)]
    attached = [a for a in clause.attached if is_in_reply(a.noun, reply) and not a.noun.none]
    if attached and not direct:
        return Candidate(verbs_with(clause, attached[0]), names_known(attached[0].noun, reply))
    part = clause.direct and object_ in direct and not has_head_in_reply(object_, reply)
    if part and (inner := candidate_without_inner(clause, object_)):
        return inner
    elsewhere = not direct and not clause.direct and is_scenery(object_)
    found = [name for noun in direct or [object_] for name in names_known(noun, reply)]
    return Candidate([clause.verb[0] if elsewhere else " ".join(clause.verb)], found)
