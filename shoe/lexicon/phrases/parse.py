"""Phrases that say that nothing is done with a thing: "no interaction between the man and the dog"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from shoe.lexicon import text
from shoe.lexicon.expressions import bases, find
from shoe.lexicon.phrases.clauses import sentence_of
from shoe.lexicon.phrases.interactions import MOST_ALTERNATIVES, candidates
from shoe.lexicon.phrases.notation import Fields, fields_or_sentence
from shoe.lexicon.phrases.noun_phrases import Candidate, Given, Noun, all_of, given_of, is_of_body, is_scenery, names
from shoe.lexicon.phrases.tags import tags_of, words_of
from shoe.lexicon.phrases.words import FULL_STOP, is_known_verb, patterns, table, word_of
from shoe.lexicon.store import by_wordnet

NO_INTERACTION = "no_interaction"

_DENIES_ALL = re.compile(patterns("denial"))
# What names no thing that something could be done with: "in this image", "between people and objects".
_UNNAMED = re.compile(rf"\b(?:{patterns('unnamed')})")
# Letters of a verb after a form of be.
_DOES = re.compile(r"B[RX]*[GE]")


def says_nothing(part: str) -> bool:
    """Whether a part of a phrase says that there is no interaction."""
    may_deny = any(word in part for word in table("denying"))
    return part.strip() in table("nothing") or (may_deny and bool(_DENIES_ALL.search(part.replace("_", " "))))


def no_interaction(part: str, given: Given, beside: Sequence[str] = ()) -> list[list[Candidate]]:
    """Read "no interaction between the man and the dog": a thing after these words, before them, or a person after.

    Where it names none, that of a sentence beside it is meant: "None. The chair is in the background."
    """
    if given.object:
        return [[Candidate([NO_INTERACTION], [given.object])]]
    part = _UNNAMED.sub("", part)
    sides = (
        [] if part.strip() in table("nothing") else [words_of(s) for s in _DENIES_ALL.sub("| the ", part).split("|")]
    )
    told = []
    for words in sides:
        tags = _DOES.sub(lambda does: "I" * len(does[0]), tags_of(words))
        told.append(nouns_of(words, tags.replace("G", "J").replace("E", "J")))
    after = [noun for nouns in told[1:] for noun in nouns]
    near = nouns_of(list(beside), tags_of(list(beside)))
    things = [noun for noun in (*near, *(n for nouns in told for n in nouns)) if not noun.person]
    others = [noun for noun in things if not is_scenery(noun) and not is_of_body(noun)] or things or after
    return [[Candidate([NO_INTERACTION], names(others[-1]))]] if others else []


def nouns_of(words: list[str], tags: str) -> list[Noun]:
    """Every noun phrase of tagged words that names something."""
    sentence = sentence_of(words, tags)
    found = [*sentence.nouns, *(attached.noun for attached in sentence.loose)]
    for clause in sentence.clauses:
        listed = (clause.object, clause.second, *(attached.noun for attached in clause.attached))
        found += [noun for noun in listed if noun is not None]
    return [each for noun in found for each in (noun, *noun.also) if not _is_general(each)]


def _is_general(noun: Noun) -> bool:
    """Whether a noun names nothing by itself: "no interaction with any object"."""
    heads = {noun.head, *bases(noun.head, "object")}
    told = word_of(noun.head)
    general = not heads.isdisjoint(table("nothing").keys() | table("key_object").keys() | table("reciprocal").keys())
    return general or (bool(told.forms) and not told.noun)


# From a phrase to verb and object: "a man is riding a brown horse" is riding, brown horse.
#
# No tagger: the lexicon says what words can be, ``data/phrase_words.tsv`` what some words do in a phrase. A phrase is
# read in steps, a module each: its notation, the part that each word plays, its clauses, their readings.

LONGEST_PHRASE = 500
"""Characters; what is longer is no phrase."""

# A question, "yes" or "no", what else is answered.
_EXCHANGE = re.compile(
    rf"(?:.*[.!:,] )?(?:{patterns('asks')})(.*)\?(?=.*\w)\W*(?:(?:{patterns('answers')})\W+)?"
    rf"(?:({patterns('assent')})\b|({patterns('dissent')})(?=\W*$|[,.;:!]| -))?\W*(.*)",
    re.DOTALL,
)
# What is said of an interaction that is named with its things: "the interaction between him and the dog is petting".
_ABOUT = re.compile(rf"\s*(?!no\b)(?:{patterns('about')}) (.+?)(?: is|:) (?!no |not |un)(.+)")
_OF_THING = re.compile(r"\b(?:it|them)\b")
_SENTENCE_END = re.compile(r"[.!?]+(?:\s|$)|\n|;\s")
_HEDGE = re.compile(rf",? (?:al)?though [^,.]*?(?:{patterns('refusal')}).*")
_REFUSES = re.compile(rf"(?:{patterns('refusal')}).*?(?:\b(?:but|however)\b,?|$)")
# What says nothing of the interaction, at the beginning of a sentence and within it.
_FRAME = re.compile(rf"(?:{patterns('frame')})\s*")
_ASIDE = re.compile(patterns("aside"))
_TURN = re.compile(rf"\b(?:{'|'.join(table('turn'))})\b")
# Letters of words that want an object ("has", "next to", "with a").
_LEFT_OPEN = ("H", "I", "D")


class Reading(NamedTuple):
    """One reading of a phrase: a verb, with its particle, and its object, as ``Reading("talking on", "phone")``."""

    verb: str
    object: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """What a phrase says of an interaction, in lower case; r readings.

    Attributes:
        readings: distinct verbs with their objects, the best reading first; none where there is no interaction.
    """

    readings: tuple[Reading, ...]

    @property
    def verbs(self) -> tuple[str, ...]:
        """(r,) the verb of each reading."""
        return tuple(reading.verb for reading in self.readings)

    @property
    def objects(self) -> tuple[str, ...]:
        """(r,) the object of each reading."""
        return tuple(reading.object for reading in self.readings)


@dataclass(frozen=True, slots=True)
class Said:
    """What a phrase says of one pair of person and object.

    Attributes:
        interactions: one for each interaction said of the pair; none where none is found. A word may hold alternatives
            joined by " / ", the best one first. The object is empty where the only thing said is what a person does
            without one ("he is swimming"); such a reading is doubtful.
        doubtful: whether the split into verb and object is not sure.
        denied: whether the phrase says only what does not happen; "no interaction" with a thing is an interaction.
    """

    interactions: tuple[Reading, ...]
    doubtful: bool = False
    denied: bool = False


@by_wordnet
def parse_phrase(phrase: str) -> Phrase:
    """Find verb and object in a sentence, a fragment of one or a triplet.

    >>> phrase = parse_phrase("a man wearing a helmet rides a brown horse")
    >>> phrase.verbs, phrase.objects
    (('rides', 'wearing'), ('brown horse', 'helmet'))
    >>> parse_phrase("<person, no interaction, bicycle>").readings
    (Reading(verb='no_interaction', object='bicycle'),)
    >>> parse_phrase("a man is not riding a horse").verbs
    ()

    The verb keeps its inflection and its particle, without auxiliaries; the object its adjectives, without articles
    and without what follows it. Of a passive ("a horse ridden by a man") the subject is the object. A phrase that
    denies the interaction has no reading, as one of more than ``LONGEST_PHRASE`` characters.
    """
    groups, _ = _groups(phrase, Given())
    readings = [
        Reading(verb, noun)
        for group in groups
        for rank in range(MOST_ALTERNATIVES)
        for candidate in group
        for verb, noun in _pairs(candidate, rank)
    ]
    return Phrase(tuple(dict.fromkeys(readings)))


def best_reading(phrase: str) -> Reading | None:
    """Find the first reading of a phrase; None if it has none."""
    return next(iter(parse_phrase(phrase).readings), None)


@by_wordnet
def interactions(
    phrase: str,
    *,
    verb: str | None = None,
    object: str | None = None,  # noqa: A002 - the field's word
    known: Sequence[str] = (),
) -> Said:
    """Find the interactions that a phrase says of a pair.

    >>> interactions("is riding and holding", object="horse").interactions
    (Reading(verb='riding', object='horse'), Reading(verb='holding', object='horse'))
    >>> interactions("eating pizza with a fork").interactions
    (Reading(verb='eating', object='pizza / fork'),)

    Args:
        phrase: a sentence, a fragment of one or a triplet, in English.
        verb: the verb, where it is given apart; the phrase then supplies the object.
        object: the object, where it is given apart; the phrase then supplies the verb.
        known: nouns of the things that the reply has boxes of; an object among them is preferred.
    """
    if verb is not None:
        part = fields_or_sentence(phrase)
        found = _object_only(_FRAME.sub("", part) if isinstance(part, str) else part.object)
        return Said((Reading(verb, text.ALTERNATIVES.join(found)),)) if found else Said(())
    groups, denied = _groups(phrase, given_of(object, tuple(known)))
    best = groups[0] if groups else []
    said = [Reading(_joined(candidate.verbs), object or _joined(candidate.objects)) for candidate in best]
    doubtful = any(candidate.doubtful for candidate in best)
    if not said and not denied and (alone := _without_object(phrase)):
        return Said((alone,), doubtful=True)
    return Said(tuple(dict.fromkeys(said)), doubtful=doubtful, denied=denied and not said)


def _without_object(phrase: str) -> Reading | None:
    """Read what a person does that has no object: "he is swimming"."""
    found = fields_or_sentence(phrase)
    words = words_of(_without_frames(found)[0]) if isinstance(found, str) and len(phrase) <= LONGEST_PHRASE else []
    for clause in sentence_of(words, tags_of(words)).clauses[:1]:
        done = clause.object is None and clause.verb[0] != "being" and is_known_verb(clause.verb[0])
        if done and clause.subject is not None and clause.subject.person and not clause.passive:
            return Reading(clause.verb[0], "")
    return None


def _joined(words: list[str]) -> str:
    return text.ALTERNATIVES.join(list(dict.fromkeys(words))[:MOST_ALTERNATIVES])


def _pairs(candidate: Candidate, rank: int) -> list[tuple[str, str]]:
    """Pairs of alternatives whose ranks add up to one number."""
    both = product(enumerate(candidate.verbs), enumerate(candidate.objects))
    return [(verb, noun) for (i, verb), (j, noun) in both if i + j == rank]


def _groups(phrase: str, given: Given) -> tuple[list[list[Candidate]], bool]:
    """Return the interactions of a phrase, those of one pair together, and whether it denies one."""
    if len(phrase) > LONGEST_PHRASE:
        return [], False
    if "?" in phrase and (exchange := _EXCHANGE.fullmatch(text.plain(phrase))):
        return _of_exchange(exchange, given)
    if about := _ABOUT.match(text.plain(phrase)):
        things = _things(words_of(about[1]))
        groups, denied = _groups(about[2], given._replace(only=things[-1]) if things and not given.heads else given)
        if groups:
            return groups, denied
    found = fields_or_sentence(phrase)
    if isinstance(found, Fields) and given.object and not find(words_of(found.object), "object"):
        found = f"{found.verb}, {found.object}"
    if isinstance(found, Fields):
        return _of_fields(found)
    return _of_sentences(_SENTENCE_END.split(found), given)


def _of_exchange(exchange: re.Match[str], given: Given) -> tuple[list[list[Candidate]], bool]:
    """Read a question with its answer: the answer counts, and has its things and its verb from the question."""
    asked, assent, denial, said = exchange.groups()
    said = said[frame.end() :] if (frame := _FRAME.match(said)) else said
    things = _things(words_of(asked))
    if things and not given.heads:
        given = given._replace(only=things[-1])
    groups, denied = _groups(f"the {things[-1]}, {said}" if things and _OF_THING.search(said) else said, given)
    if (groups and (denied or not groups[0][0].verbs[0].startswith("being"))) or (denied and not denial):
        return groups, denied
    if denial:
        return (no_interaction(asked, given) if says_nothing(f"not{asked}") else []), True
    return _of_sentences([asked if assent else f"{asked} {said}"], given)


def _things(words: list[str]) -> list[str]:
    return [" ".join(noun.words) for noun in nouns_of(words, tags_of(words)) if not noun.person]


def _of_fields(fields: Fields) -> tuple[list[list[Candidate]], bool]:
    if says_nothing(fields.object):
        fields = Fields(fields.object, fields.verb)
    noun = _object_only(fields.object)
    if not noun:
        return [], False
    if says_nothing(fields.verb):
        return [[Candidate([NO_INTERACTION], noun)]], True
    groups, denied = _of_sentences([fields.verb], Given(object=noun[0]))
    if groups:
        return [[Candidate(c.verbs, noun, not fields.sure) for c in groups[0]]], denied
    verb = " ".join(words_of(fields.verb)).replace("_", " ")
    return ([[Candidate([verb], noun, doubtful=True)]] if verb and not denied else []), denied


def _object_only(phrase: str) -> list[str]:
    words = words_of(text.plain(phrase))
    if words and words[0] not in text.DETERMINERS:
        words = ["the", *words]
    sentence = sentence_of(words, tags_of(words))
    nouns = [clause.object for clause in sentence.clauses if clause.object is not None]
    nouns += [*sentence.nouns, *(loose.noun for loose in sentence.loose)]
    if nouns:
        return [name for noun in all_of(nouns[0]) for name in names(noun)]
    return [" ".join(words[1:])] if words[1:] else []


def _of_sentences(parts: Sequence[str], given: Given) -> tuple[list[list[Candidate]], bool]:
    """Read sentences as one; the first that says of a thing that nothing is done with it is a reading itself."""
    words: list[str] = []
    tags, denied, nothing = "", False, False
    for part in parts:
        said, refuses = _without_frames(part)
        denied = denied or refuses
        if says_nothing(said):
            denied = nothing = True
            groups = no_interaction(said.replace("_", " "), given, words)
            if groups and not candidates(sentence_of(words, tags), given):
                return groups, True
        elif (more := words_of(said)) and table("foreign").keys().isdisjoint(more):
            words += [FULL_STOP, *more] if words else more
            tags += (FULL_STOP if tags else "") + tags_of(more)
    left_open = bool(given.object) and tags[-1:] in _LEFT_OPEN
    ends = left_open and "N" in tags and given.heads.isdisjoint(words)  # "has a look at"
    sentence = sentence_of(words, tags)
    groups = [] if ends else candidates(sentence, given)
    if left_open and not groups:
        words += ["the", *words_of(text.plain(given.object))]
        groups = candidates(sentence_of(words, tags_of(words)), given)
    if len(words) == 2 and not words[0].endswith("ing") and find(words, "object"):
        groups = [[candidate._replace(doubtful=True) for candidate in group] for group in groups]
    subjects = [clause.subject for clause in sentence.clauses if clause.verb[0] != "being"]
    if nothing and words and not any(subject is None or subject.person for subject in subjects):
        groups = no_interaction("none", given, words) or groups
    return groups, not groups and (denied or any(clause.negated for clause in sentence.clauses))


def _without_frames(part: str) -> tuple[str, bool]:
    """Drop from a sentence what says nothing of the interaction; return whether that is that one cannot tell."""
    part = part.strip()
    while frame := _FRAME.match(part):
        part = part[frame.end() :]
    part = _HEDGE.sub("", part) if "though" in part else part
    refuses = _REFUSES.search(part)
    said = _ASIDE.sub("", part[refuses.end() :] if refuses else part)
    return _TURN.sub(lambda turn: table("turn")[turn[0]], said), bool(refuses)
