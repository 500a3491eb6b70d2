"""The things that pronouns stand for: "it", "them", "him" and "her" of animals, "its mane"."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from shoe.lexicon.phrase_given import Given, is_given
from shoe.lexicon.phrase_nouns import all_of, is_inner, is_of_body, is_scenery, light_verb, senses_of
from shoe.lexicon.phrase_parts import Attached, Clause, Noun
from shoe.lexicon.phrase_words import base_of, table, word_of


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
