"""From the clauses of a phrase to verbs and objects: which clause is meant, and which of its nouns is the object."""

from __future__ import annotations

from itertools import pairwise

from shoe.lexicon.constructions import is_kind
from shoe.lexicon.expressions import bases
from shoe.lexicon.phrase_beside import may_be_object, verbs_with, with_inner
from shoe.lexicon.phrase_given import Given, is_given, is_named, names_known
from shoe.lexicon.phrase_groups import are_rivals, group_of, implied_object, is_of_given
from shoe.lexicon.phrase_nouns import (
    MATERIAL,
    all_of,
    is_of_body,
    is_scenery,
    light_verb,
    names,
    senses_of,
    verb_of_noun,
)
from shoe.lexicon.phrase_parts import Attached, Candidate, Clause, Noun, Sentence
from shoe.lexicon.phrase_ranks import moves_body, ranks_of
from shoe.lexicon.phrase_shared import share_objects
from shoe.lexicon.phrase_verbless import is_act, of_nominal, turned, without_verb
from shoe.lexicon.phrase_words import base_of, gerund, is_known_verb, table, word_of

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
