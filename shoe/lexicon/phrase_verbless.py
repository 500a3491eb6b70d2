"""What has no verb, or one that the person does not do: "horse riding", "bicycle rider", "a dog licks a man"."""

from __future__ import annotations

from shoe.lexicon.phrase_given import Given, is_given
from shoe.lexicon.phrase_nouns import MATERIAL, all_of, is_of_body, is_scenery, names, senses_of, verb_of_noun
from shoe.lexicon.phrase_parts import Candidate, Clause, Noun, Sentence
from shoe.lexicon.phrase_words import base_of, table


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
