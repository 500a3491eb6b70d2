"""What clauses share: the object of verbs that "and" joins, and the things that "it", "them" and "him" stand for."""

from __future__ import annotations

from itertools import pairwise

from shoe.lexicon.phrase_groups import implied_object, is_bare
from shoe.lexicon.phrase_nouns import all_of, is_inner, senses_of
from shoe.lexicon.phrase_parts import Attached, Clause, Noun
from shoe.lexicon.phrase_words import table, word_of


def share_objects(clauses: list[Clause], nouns: list[Noun]) -> None:
    """Give a verb without object the object of the verb that "and" joins to it; "it" the thing before it."""
    for clause in clauses:
        if clause.topic is not None and clause.object is None and (clause.verb[1:] or not implied_object(clause)):
            clause.verb += clause.dangling.split()
            clause.object, clause.direct, clause.dangling = clause.topic, len(clause.verb) == 1, ""
        elif clause.topic is not None and clause.dangling:
            clause.attached.append(Attached(clause.dangling, clause.topic))
            clause.dangling = ""
    for number, clause in enumerate(clauses):
        if clause.passive and clause.subject is not None and clause.subject.words == ["it"]:
            clause.subject = _undergoing(clause.subject, clauses[:number], nouns)
        parts = [] if clause.object is None else [clause.object, clause.object.of]
        if any(part is not None and part.words[0] in table("anaphor") for part in parts):
            _name(clause, clauses[:number], nouns)
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


def _undergoing(subject: Noun, before: list[Clause], nouns: list[Noun]) -> Noun:
    """The thing that "it" stands for in "it is being washed": what the clauses before tell of."""
    told = [noun for clause in before if clause.passive and (noun := _told_of(clause)) is not None]
    things = [noun for noun in all_of(*nouns) if noun is not subject and not noun.person]
    return next(reversed(told or things), subject)


def _name(clause: Clause, before: list[Clause], nouns: list[Noun]) -> None:
    """Put what was named before in the place of a pronoun: of several things for "them", of an animal for "him"."""
    own = clause.subject if clause.kind == "finite" else None
    ordered = [(other.object, _told_of(other))[:: -1 if other.direct else 1] for other in before]
    told = [noun for pair in ordered for noun in pair if noun is not None]
    things = [n for n in all_of(*nouns, *told) if n is not own and not n.person and not is_inner(n)]
    pronoun = clause.object.words[0] if clause.object is not None else ""
    if pronoun == "him":
        things = [noun for noun in things if senses_of(noun.head)[:1] == ("noun.animal",)]
        told = [] if any(other.subject is not None and other.subject.person for other in before) else told
        if not things and not told and clause.second is None:
            return
    if pronoun in table("anaphor"):
        several = [noun for noun in things if word_of(noun.head).plural or noun.also] if pronoun == "them" else []
        clause.object, clause.second = clause.second or next(reversed(several or things or told), None), None
    elif clause.object is not None and things:
        clause.object.of = things[-1]


def _told_of(clause: Clause) -> Noun | None:
    """The thing that a clause has as its subject."""
    return None if clause.subject is None or clause.subject.person else clause.subject
