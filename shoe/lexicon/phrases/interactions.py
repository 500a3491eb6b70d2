"""How far each clause of a phrase is from being the one that is meant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from shoe.lexicon.constructions import is_kind
from shoe.lexicon.expressions import bases
from shoe.lexicon.phrases.groups import (
    are_rivals,
    group_of,
    implied_object,
    is_bare,
    is_before,
    is_immaterial,
    is_nearby,
    is_of_given,
    poses,
    sets_scene,
)
from shoe.lexicon.phrases.noun_phrases import (
    MATERIAL,
    Attached,
    Candidate,
    Clause,
    Given,
    Noun,
    Sentence,
    all_of,
    is_given,
    is_inner,
    is_named,
    is_of_body,
    is_scenery,
    light_verb,
    names,
    names_known,
    senses_of,
    verb_of_noun,
)
from shoe.lexicon.phrases.words import base_of, gerund, is_expression, is_known_verb, table, word_of


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


# The things that pronouns stand for: "it", "them", "him" and "her" of animals, "its mane".


def name_pronouns(clauses: list[Clause], nouns: list[Noun], given: Given) -> None:
    """Put what was named before, or what the reply gives where nothing is that it gives, in the place of pronouns."""
    for number, clause in enumerate(clauses):
        before, thing = clauses[:number], clause.object
        if clause.subject is not None and clause.subject.words == ["it"]:
            clause.subject = _undergoing(clause.subject, before, nouns)
        for at, (preposition, noun) in enumerate(clause.attached):
            if noun.head == "it" and (things := _things(clause, [*before, clause], nouns, given)):
                clause.attached[at] = Attached(preposition, things[-1])
        if thing is None:
            continue
        if thing.words[0] in table("anaphor"):
            _name(clause, before, _things(clause, before, nouns, given))
        elif thing.its or (thing.of is not None and thing.of.words[0] in table("anaphor")):
            things = _things(clause, before, nouns, given)
            thing.owner = next(reversed(things), None) if thing.its else None
            thing.of = thing.of if thing.its or not things else things[-1]


def _things(clause: Clause, before: list[Clause], nouns: list[Noun], given: Given) -> list[Noun]:
    """Things that a pronoun in a clause may stand for, the likeliest last; surroundings are the least likely."""
    its = clause.object is not None and clause.object.its
    own = clause.subject if clause.kind == "finite" and not its else None
    attached = [attached.noun for other in before for attached in other.attached]
    found = [n for n in all_of(*nouns, *attached, *_told(before)) if n is not own and not n.person and not is_inner(n)]
    done = [o.object for o in before if o.direct and base_of(o.verb[0]) in table("light_verb")]
    found = [n for n in found if not (light_verb(n) and any(n is each for each in done))]
    found = [n.owner if n.its and n.owner is not None else n for n in found]
    found = [n for n in found if n is not clause.object and not is_of_body(n) and n.head not in table("anaphor")]
    named = given.object.split()
    if named and not word_of(named[-1]).person and not any(is_given(noun, given) for noun in found):
        return [Noun(named)]
    return sorted(found, key=lambda noun: not is_scenery(noun))


def _told(before: list[Clause]) -> list[Noun]:
    """Objects of clauses and things that they tell of; of what has or is somewhere the thing comes last."""
    found: list[Noun | None] = []
    for other in before:
        done = other.direct and base_of(other.verb[0]) != "have"
        found += [_told_of(other), other.object] if done else [other.object, _told_of(other)]
    return [noun for noun in found if noun is not None]


def _name(clause: Clause, before: list[Clause], things: list[Noun]) -> None:
    """Name the object of a clause: one of several things for "them", an animal for "him" and "her"."""
    told, pronoun = _told(before), clause.object.words[0] if clause.object is not None else ""
    if pronoun in ("him", "her"):
        things = [noun for noun in things if senses_of(noun.head)[:1] == ("noun.animal",)]
        told = [] if any(other.subject is not None and other.subject.person for other in before) else told
        if not things and not told and clause.second is None:
            return
    several = [noun for noun in things if word_of(noun.head).plural or noun.also] if pronoun == "them" else []
    told = [noun for noun in told if not noun.person or pronoun != "it"]
    meant = next(reversed(several or things or told), None)
    if meant is not None and pronoun == "it" and (other := _rival(meant, before, clause.subject)) is not None:
        meant = replace(meant, also=[*meant.also, other])
    clause.object, clause.second = meant or clause.second, clause.second if meant else None


def _undergoing(subject: Noun, before: list[Clause], nouns: list[Noun]) -> Noun:
    """The thing that "it" stands for in "it is being washed": what the clauses before tell of."""
    told = [noun for clause in before if clause.passive and (noun := _told_of(clause)) is not None]
    objects = [clause.object for clause in before if clause.object is not None and clause.direct]
    things = [noun for noun in all_of(*nouns, *objects) if noun is not subject and not noun.person]
    return next(reversed(told or things), subject)


def _rival(meant: Noun, before: list[Clause], own: Noun | None) -> Noun | None:
    """The other thing that a pronoun may stand for: a truck where "loaded with hay" tells of it."""
    for main, clause in pairwise(before):
        if clause.object is meant and clause.kind == "participle" and "e" in word_of(clause.verb[0]).forms:
            return main.object if main.object is not own else None
    return None


def _told_of(clause: Clause) -> Noun | None:
    return None if clause.subject is None or clause.subject.person else clause.subject


# What clauses share: the object of verbs that "and" joins, and that which a relative clause tells of.


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


# What prepositions bring in beside the object: "cutting a cake with a knife", "reading the time on a clock".


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


# What has no verb, or one that the person does not do: "horse riding", "bicycle rider", "a dog licks a man".


def turned(clause: Clause, given: Given) -> Candidate | None:
    """Read "a dog licks a man", "a kite is in his hand": the person is not the subject, so that this is the object."""
    thing, person = clause.subject, clause.object
    if thing is None or person is None or thing.person or is_of_body(thing) or is_given(person, given):
        return None
    if MATERIAL.isdisjoint(senses_of(thing.head)):
        return None
    part = is_of_body(person) and (person.owner is None or person.owner.person)
    if not part and not person.person:
        return None
    return Candidate([" ".join([*clause.verb, *(person.words if part else [])])], names(thing), doubtful=True)


def is_act(noun: Noun) -> bool:
    """Whether a noun says what is done before who or what it is done by: "repair"."""
    return senses_of(noun.head)[:1] == ("noun.act",) and bool(verb_of_noun(noun))


def of_nominal(clause: Clause) -> Candidate | None:
    """Read "horse riding", "dog walking in the park"."""
    subject, base = clause.subject, base_of(clause.verb[0])
    if subject is None or subject.person or (clause.object is None and len(clause.verb) > 1) or clause.attached:
        return None
    if not clause.verb[0].endswith("ing") or base in table("posture").keys() - table("led"):
        return None
    return Candidate(clause.verb[:1], names(subject), doubtful=True)


def without_verb(sentence: Sentence, given: Given) -> list[Candidate]:
    """Read "bicycle rider", "use of laptop", "man on a horse", "book in hand"."""
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
    subject = sentence.nouns[0] if sentence.nouns else None
    if subject is not None and subject.none:
        return []
    for preposition, attached in sentence.loose:
        noun = next((each for each in all_of(attached) if not each.person), attached)
        verb = "having" if preposition == "with" else f"being {preposition}"
        being = Clause(verb.split(), "finite", subject, noun)
        if not noun.none and not is_scenery(noun) and not (subject is None and (noun.person or is_of_body(noun))):
            found.append(turned(being, given) or Candidate([verb], names(noun), doubtful=True))
    return found


# From the clauses of a phrase to verbs and objects: which clause is meant, and which of its nouns is the object.

MOST_ALTERNATIVES = 3


def candidates(sentence: Sentence, given: Given) -> list[list[Candidate]]:
    """Return the interactions of a sentence, best first; those joined by "and" together in one group."""
    for clause in sentence.clauses:
        lacking = (attached.noun for attached in clause.attached if attached.noun.none)
        clause.negated = clause.negated or any(given.object and is_given(noun, given) for noun in lacking)
    for first, second in pairwise(sentence.clauses):
        like = base_of(first.verb[0]) in table("copula") and first.verb[1:] == ["like"]
        second.negated = second.negated or (first.negated and (second.linked == "or" or like))
    clauses = [clause for clause in sentence.clauses if not clause.negated]
    for clause, purpose in pairwise(clauses):
        used = purpose.kind == "infinitive" and base_of(clause.verb[0]) == "use" and not moves_body(clause)
        clause.use = purpose if used else None
    share_objects(sentence.clauses, [*(attached.noun for attached in sentence.loose), *sentence.nouns], given)
    if given.object and not any(is_of_given(clause, given) for clause in clauses):
        clauses = [] if any(clause.negated and is_of_given(clause, given) for clause in sentence.clauses) else clauses
    if len(clauses) < len(sentence.clauses) and all(map(_only_is, clauses)):
        clauses = []
    clauses += _carried(sentence) if clauses and not given.object else []
    read = [(clause, candidate) for clause in clauses if (candidate := _candidate(clause, given))]
    if not read:
        return [] if sentence.clauses and not clauses else [[c] for c in without_verb(sentence, given)]
    if len(read) == 1:
        return [[candidate._replace(doubtful=candidate.doubtful or _unsure(clause)) for clause, candidate in read]]
    ranks = ranks_of([clause for clause, _ in read], given)
    order = sorted(range(len(read)), key=lambda i: (ranks[i], i))
    best = order[0]
    group = group_of([clause for clause, _ in read], best, given)
    rivals = [i for i in order[1:2] if i not in group and not (given.heads and is_of_given(read[best][0], given))]
    unnamed = {c.object.head for c, _ in read if c.direct and c.object} if given.object else set()
    unsure = _unsure(read[best][0]) or (len(unnamed) > 1 and not any(is_of_given(c, given) for c, _ in read))
    if unsure or any(are_rivals(read[best][0], read[i][0]) for i in rivals):
        read[best] = (read[best][0], read[best][1]._replace(doubtful=True))
    return [[read[i][1] for i in group], *([read[i][1]] for i in order if i not in group)]


def _only_is(clause: Clause) -> bool:
    """Whether a clause says only where a thing is, or what it has."""
    thing = clause.subject is not None and not clause.subject.person
    thing = thing and (clause.object is None or not clause.object.person)
    return thing and base_of(clause.verb[0]) in {"being", "be", "have", *table("posture")}


def _is_hand(noun: Noun) -> bool:
    """Whether a noun is a part of the body that holds things: a hand, an arm, a lap."""
    return not table("hand").keys().isdisjoint((noun.head.removesuffix("s"), *bases(noun.head, "object")))


def _carried(sentence: Sentence) -> list[Clause]:
    """What the person has who is told of: "a man with a surfboard under his arm", "a woman with a bag"."""
    person = next(iter(sentence.nouns), None)
    if person is None or not person.person:
        return []
    found = []
    for at, (preposition, noun) in enumerate(sentence.loose):
        held = any(_is_hand(attached.noun) for attached in sentence.loose[at + 1 : at + 2])
        thing = not (noun.person or noun.none or is_of_body(noun) or is_scenery(noun) or _is_hand(noun))
        if preposition == "with" and thing and not MATERIAL.isdisjoint(senses_of(noun.head)):
            verb = "holding" if held else "having"
            found.append(Clause([verb], "relative" if held else "subordinate", person, noun, direct=True))
    return found


def _unsure(clause: Clause) -> bool:
    """Whether a verb is unknown, or an object no noun by itself, or who does something ("helping a child swing")."""
    if not is_known_verb(clause.verb[0]) or clause.verb[0] == "being":
        return True
    doer = clause.subject
    animal = doer is not None and not doer.person and senses_of(doer.head)[:1] == ("noun.animal",)
    if animal and clause.kind == "finite" and not clause.passive:
        return True
    if clause.verb == ["having"] and clause.kind == "subordinate" and not clause.apart:
        return True
    if clause.object is None:
        return False
    *before, head = [word_of(word) for word in clause.object.words]
    other = bool(head.forms) or head.adjective
    return other and (not head.noun or any(word.person and not word.adjective for word in before))


def _candidate(clause: Clause, given: Given) -> Candidate | None:
    if clause.passive:
        verbs = [f"{clause.verb[0]} {clause.dangling}".strip()]
        verbs += [f"{clause.use.verb[0]} with"] if clause.use is not None else []
        objects = names(clause.subject) if clause.subject is not None else [given.object] if given.object else []
        return Candidate(verbs, objects) if objects else None
    verb = " ".join(clause.verb)
    if aboard := _aboard(clause, given):
        return aboard
    if clause.subject and clause.object and clause.object.words[0] in table("reciprocal"):
        if clause.attached and not clause.direct:
            return Candidate(verbs_with(clause, clause.attached[0]), names(clause.attached[0].noun))
        return Candidate([verb], names(clause.subject))
    if clause.object is None:
        implied = implied_object(clause)
        objects = [word for word in (given.object, implied, given.only) if word][:1]
        return Candidate([verb], objects, not given.object and not implied) if objects else of_nominal(clause)
    light = _light(clause, given)
    if light or (clause.verb[1:] == ["for"] and light_verb(clause.object)):
        return light
    if by_thing := turned(clause, given):
        return by_thing
    if clause.verb[-1] in ("in", "with") and clause.object.of is not None and is_act(clause.object):
        return Candidate([verb_of_noun(clause.object)], names(clause.object.of))
    implied = implied_object(clause)
    if implied and not given.object and implied.split()[-1] in given.heads and not is_given(clause.object, given):
        return Candidate(clause.verb[:1], [implied])
    if given.object or (given.heads and is_of_given(clause, given)):
        return _with_given(clause, clause.object, given)
    if implied and not clause.direct:
        senses = senses_of(clause.object.head)
        thing = not (clause.object.person or (senses and MATERIAL.isdisjoint(senses)))
        named = names(clause.object) if thing or is_scenery(clause.object) else []
        on_it = clause.verb[-1] in ("on", "with", "at", "in") and thing and not is_scenery(clause.object)
        return Candidate([verb], [*named, implied]) if on_it else Candidate([clause.verb[0]], [implied, *named])
    if clause.direct and (inner := with_inner(clause, clause.object)):
        return inner
    beside = [attached for attached in clause.attached if may_be_object(attached)]
    place = not clause.direct and is_scenery(clause.object)
    if place and clause.kind == "participle" and (nominal := of_nominal(clause)):
        return nominal
    if beside and (place or clause.object.head in table("pronoun")):
        also = names(clause.object) if place else []
        return Candidate(verbs_with(clause, beside[0]), [*names(beside[0].noun), *also])
    others = [attached.noun for attached in beside]
    if clause.second is not None and not clause.second.person and base_of(clause.verb[0]) != "feed":
        return Candidate([verb], [*names(clause.second), *names(clause.object)])
    if clause.use is not None:
        aim = names(clause.use.object) if clause.use.object is not None else []
        return Candidate([verb, f"{clause.use.verb[0]} with"], names(clause.object) + aim)
    played = table("game").get(clause.object.head) if base_of(clause.verb[0]) == "play" else None
    found = [name for noun in all_of(clause.object, *others) for name in names(noun)]
    return Candidate([verb], [*found, played] if played else found)


def _aboard(clause: Clause, given: Given) -> Candidate | None:
    """Read "a man on a horse jumps over a fence": what moves the person, who rides it, and what it goes to."""
    light = base_of(clause.verb[0]) in table("light_verb") and clause.direct and clause.object is not None
    done = light_verb(clause.object) if light and clause.object is not None else ""
    if clause.subject is None or given.object or (done or base_of(clause.verb[0])) not in table("motion"):
        return None
    alone = not done and clause.direct and len(clause.verb) == 1
    if alone and clause.object is not None and not is_scenery(clause.object):
        return None
    noun, head = clause.aboard, clause.subject.head
    if noun is not None and noun.head not in table("implied_by_noun"):
        noun = noun if any(is_kind(noun.head, kind) for kind in table("ridden")) else None
    told = {*clause.verb[1:], *(attached.preposition for attached in clause.attached)}
    own = table("rider").get(head) if told.isdisjoint(table("astride")) else None
    ridden = names(noun) if noun is not None else [own] if own else []
    named = names(clause.object) if clause.object is not None else []
    verbs = [gerund(done) if done else clause.verb[0], " ".join(clause.verb), "riding"]
    return Candidate(verbs, [*ridden, *named]) if ridden else None


def _light(clause: Clause, given: Given) -> Candidate | None:
    """Read "taking a sip from a cup", "giving the dog a bath"."""
    noun = clause.second or clause.object
    if noun is None or base_of(clause.verb[0]) not in table("light_verb"):
        return None
    stem = light_verb(noun)
    if not stem or (noun is clause.object and not clause.direct and clause.verb[1:] != ["for"]):
        return None
    brought = [Attached("of", noun.of)] if noun.of is not None else []
    brought += [Attached("", clause.object)] if clause.second is not None and clause.object is not None else []
    brought = [each for each in (*brought, *clause.attached) if each.noun.head not in table("pronoun")]
    found = next((each for each in brought if is_given(each.noun, given)), next(iter(brought), None))
    if found is None and not given.object:
        return None
    preposition = found.preposition if found else ""
    kept = "" if preposition in ("of", "to", "out of") else preposition
    said = [*clause.verb, *([] if word_of(noun.head).plural else ["a"]), *noun.words, preposition]
    objects = [given.object] if found is None else names(found.noun)
    if found is not None and found.noun is noun.of:
        objects += [name for other in clause.attached if may_be_object(other) for name in names(other.noun)]
    return Candidate([f"{gerund(stem)} {kept}".strip(), " ".join(said).strip()], objects)


def _with_given(clause: Clause, object_: Noun, given: Given) -> Candidate:
    """Read a clause whose object the reply gives, or has a box of."""
    direct = [noun for noun in all_of(object_) if is_given(noun, given)]
    attached = [a for a in clause.attached if is_given(a.noun, given) and not a.noun.none]
    if attached and not direct:
        return Candidate(verbs_with(clause, attached[0]), names_known(attached[0].noun, given))
    if clause.dangling and not direct:
        return Candidate(verbs_with(clause, Attached(clause.dangling, object_)), names(object_))
    part = clause.direct and object_ in direct and not is_named(object_, given)
    if part and (inner := with_inner(clause, object_)):
        return inner
    elsewhere = not direct and not clause.direct and is_scenery(object_)
    found = [name for noun in direct or [object_] for name in names_known(noun, given)]
    return Candidate([clause.verb[0] if elsewhere else " ".join(clause.verb)], found)
