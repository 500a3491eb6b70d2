"""Parser for the interactions (verbs and objects) in a sentence, a sentence fragment or a triplet."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from shoe.lexicon import text
from shoe.lexicon.phrases.clauses import sentence_of
from shoe.lexicon.phrases.interactions import MOST_ALTERNATIVES, candidates
from shoe.lexicon.phrases.notation import Fields, fields_or_sentence
from shoe.lexicon.phrases.noun_phrases import (
    Candidate,
    Noun,
    ReplyObjects,
    is_body_part,
    is_scenery,
    names,
    reply_objects,
    with_conjuncts,
)
from shoe.lexicon.phrases.tagger import tagging_of
from shoe.lexicon.phrases.tags import tags_of, words_of
from shoe.lexicon.phrases.words import FULL_STOP, Tag, patterns, table, verb_bases, word_of
from shoe.lexicon.senses import bases, find
from shoe.lexicon.store import by_wordnet

NO_INTERACTION = "no_interaction"

_DENIES_ALL = re.compile(patterns("denial"))
# Words that name no particular object: "in this image", "between people and objects".
_UNNAMED = re.compile(rf"\b(?:{patterns('unnamed')})")
_DOES = re.compile(r"B[RX]*[GE]")  # tags of a verb after a form of be


def denies_interaction(part: str) -> bool:
    """Return whether ``part`` of a phrase, in lower case, states that there is no interaction."""
    may_deny = any(word in part for word in table("denying"))
    return part.strip() in table("nothing") or (may_deny and bool(_DENIES_ALL.search(part.replace("_", " "))))


def no_interaction_candidates(part: str, reply: ReplyObjects, beside: Sequence[str] = ()) -> list[list[Candidate]]:
    """Return [[(no_interaction, object)]] for ``part`` of a phrase that denies an interaction; [] without an object.

    The object is that of the reply; else a thing in ``part`` ("dog" in "no interaction between the man and the dog");
    else a thing in ``beside``, the words of other sentences ("None. The chair is in the background."); else a person
    that ``part`` names after the denial.
    """
    if reply.object:
        return [[Candidate([NO_INTERACTION], [reply.object])]]
    part = _UNNAMED.sub("", part)
    sides = [] if part.strip() in table("nothing") else _DENIES_ALL.sub("| the ", part).split("|")
    denied_nouns = []
    for words in map(words_of, sides):
        tags = _DOES.sub(lambda does: Tag.PREP * len(does[0]), tags_of(words))
        denied_nouns.append(nouns_of(words, tags.replace(Tag.ING, Tag.ADJ).replace(Tag.PAST, Tag.ADJ)))
    after = [noun for nouns in denied_nouns[1:] for noun in nouns]
    near = nouns_of(list(beside), tags_of(list(beside)))
    things = [noun for noun in (*near, *(n for nouns in denied_nouns for n in nouns)) if not noun.person]
    others = [noun for noun in things if not is_scenery(noun) and not is_body_part(noun)] or things or after
    return [[Candidate([NO_INTERACTION], names(others[-1]))]] if others else []


def nouns_of(words: list[str], tags: str) -> list[Noun]:
    """Return all noun phrases of tagged words, except unspecific noun phrases such as "any object"."""
    sentence = sentence_of(words, tags)
    found = [*sentence.nouns, *(attached.noun for attached in sentence.loose)]
    for clause in sentence.clauses:
        listed = (clause.object, clause.second, *(attached.noun for attached in clause.attached))
        found += [noun for noun in listed if noun is not None]
    return [noun for noun in with_conjuncts(*found) if not _is_unspecific(noun)]


def _is_unspecific(noun: Noun) -> bool:
    """Return whether a noun names no particular thing: "object" in "no interaction with any object"."""
    known, heads = word_of(noun.head), {noun.head, *bases(noun.head, "object")}
    general = not heads.isdisjoint(table("nothing").keys() | table("key_object").keys() | table("reciprocal").keys())
    return general or (bool(known.forms) and not known.noun)


LONGEST_PHRASE = 500
"""Longest phrase in characters; longer texts are not parsed."""

# A question, "yes" or "no", and the rest of the answer.
_EXCHANGE = re.compile(
    rf"(?:.*[.!:,] )?(?:{patterns('asks')})(.*)\?(?=.*\w)\W*(?:(?:{patterns('answers')})\W+)?"
    rf"(?:({patterns('assent')})\b|({patterns('dissent')})(?=\W*$|[,.;:!]| -))?\W*(.*)",
    re.DOTALL,
)
# An interaction named after its objects: "the interaction between him and the dog is petting".
_ABOUT = re.compile(rf"\s*(?!no\b)(?:{patterns('about')}) (.+?)(?: is|:) (?!no |not |un)(.+)")
_OF_THING = re.compile(r"\b(?:it|them)\b")
_SENTENCE_END = re.compile(r"[.!?]+(?:\s|$)|\n|;\s")
_HEDGE = re.compile(rf",? (?:al)?though [^,.]*?(?:{patterns('refusal')}).*")
_REFUSES = re.compile(rf"(?:{patterns('refusal')}).*?(?:\b(?:but|however)\b,?|$)")
# Words without information on the interaction, at the start of a sentence and within it.
_FRAME = re.compile(rf"(?:{patterns('frame')})\s*")
_ASIDE = re.compile(patterns("aside"))
_TURN = re.compile(rf"\b(?:{'|'.join(table('turn'))})\b")
_LEFT_OPEN = (Tag.AUX, Tag.PREP, Tag.DET)  # tags of last words that need an object ("has", "next to", "with a")


class Reading(NamedTuple):
    """Verb (with its particle) and object read from a phrase, such as ``Reading("talking on", "phone")``."""

    verb: str
    object: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """Result of :func:`parse_phrase`: possible readings of a phrase, in lower case.

    ``readings`` are distinct pairs of verb and object, the best first; empty if there is no interaction.
    """

    readings: tuple[Reading, ...]

    @property
    def verbs(self) -> tuple[str, ...]:
        """Verb of each of the r readings."""
        return tuple(reading.verb for reading in self.readings)

    @property
    def objects(self) -> tuple[str, ...]:
        """Object of each of the r readings."""
        return tuple(reading.object for reading in self.readings)


@dataclass(frozen=True, slots=True)
class PhraseInteractions:
    """Interactions that a phrase states for one human-object pair.

    Attributes:
        interactions: one reading per interaction; empty if no interaction is found. A verb or object may consist of
            alternatives joined by " / ", the best first. The object is "" for an action without an object ("he is
            swimming"); ``doubtful`` is then true.
        doubtful: whether the split into verb and object is uncertain.
        denied: whether the phrase denies interactions and ``interactions`` is empty. "No interaction" with a named
            object is a reading with verb no_interaction, not a denial.
    """

    interactions: tuple[Reading, ...]
    doubtful: bool = False
    denied: bool = False


@by_wordnet
def parse_phrase(phrase: str) -> Phrase:
    """Return the verbs and objects in a sentence, a fragment of a sentence or a triplet, best first.

    >>> phrase = parse_phrase("a man wearing a helmet rides a brown horse")
    >>> phrase.verbs, phrase.objects
    (('rides', 'wearing'), ('brown horse', 'helmet'))
    >>> parse_phrase("<person, no interaction, bicycle>").readings
    (Reading(verb='no_interaction', object='bicycle'),)
    >>> parse_phrase("a man is not riding a horse").verbs
    ()

    The verb keeps its inflection and its particle, but not its auxiliaries. The object keeps its adjectives, but not
    its articles nor the words after it. In a passive, the grammatical subject is the object: "horse" in "a horse ridden
    by a man". A phrase that denies the interaction, or is longer than ``LONGEST_PHRASE`` characters, has no readings.
    """
    groups, _ = _find_groups(phrase, ReplyObjects())
    ranked = ((candidate, rank) for group in groups for rank in range(MOST_ALTERNATIVES) for candidate in group)
    return Phrase(tuple(dict.fromkeys(reading for candidate, rank in ranked for reading in _pairs(candidate, rank))))


def best_reading(phrase: str) -> Reading | None:
    """Return the best reading of a phrase, or None if the phrase has no reading."""
    return next(iter(parse_phrase(phrase).readings), None)


@by_wordnet
def interactions(
    phrase: str,
    *,
    verb: str | None = None,
    object: str | None = None,  # noqa: A002 - the field's word
    known: Sequence[str] = (),
) -> PhraseInteractions:
    """Return the interactions that a phrase states for a human-object pair.

    >>> interactions("is riding and holding", object="horse").interactions
    (Reading(verb='riding', object='horse'), Reading(verb='holding', object='horse'))
    >>> interactions("eating pizza with a fork").interactions
    (Reading(verb='eating', object='pizza / fork'),)

    Args:
        phrase: sentence, sentence fragment or triplet, in English.
        verb: verb from another field of the reply; only the object is then taken from the phrase.
        object: object from another field of the reply; only the verb is then taken from the phrase.
        known: labels of the boxes in the reply; nouns of the phrase with these labels are preferred as objects.
    """
    if verb is not None:
        part = fields_or_sentence(phrase)
        found = _object_only(_FRAME.sub("", part) if isinstance(part, str) else part.object)
        return PhraseInteractions((Reading(verb, text.ALTERNATIVES.join(found)),)) if found else PhraseInteractions(())
    groups, denied = _find_groups(phrase, reply_objects(object, tuple(known)))
    best = groups[0] if groups else []
    said = [Reading(_alternatives(candidate.verbs), object or _alternatives(candidate.objects)) for candidate in best]
    doubtful = any(candidate.doubtful for candidate in best)
    if not said and not denied and (alone := _without_object(phrase)):
        return PhraseInteractions((alone,), doubtful=True)
    return PhraseInteractions(tuple(dict.fromkeys(said)), doubtful=doubtful, denied=denied and not said)


def _without_object(phrase: str) -> Reading | None:
    """Return the reading of an action without an object, with object "" ("he is swimming"); None for other phrases."""
    found = fields_or_sentence(phrase)
    words = words_of(_without_frames(found)[0]) if isinstance(found, str) and len(phrase) <= LONGEST_PHRASE else []
    for clause in sentence_of(words, tags_of(words)).clauses[:1]:
        done = clause.object is None and clause.verb[0] != "being" and verb_bases(clause.verb[0])
        if done and clause.subject is not None and clause.subject.person and not clause.passive:
            return Reading(clause.verb[0], "")
    return None


def _alternatives(words: list[str]) -> str:
    return text.ALTERNATIVES.join(list(dict.fromkeys(words))[:MOST_ALTERNATIVES])


def _pairs(candidate: Candidate, rank: int) -> list[Reading]:
    """Return the (verb, object) readings of a candidate for which the two indices in its lists add up to ``rank``."""
    both = product(enumerate(candidate.verbs), enumerate(candidate.objects))
    return [Reading(verb, noun) for (i, verb), (j, noun) in both if i + j == rank]


def _find_groups(phrase: str, reply: ReplyObjects) -> tuple[list[list[Candidate]], bool]:
    """Return groups of possible interactions in a phrase, best first, and whether the phrase denies an interaction."""
    if len(phrase) > LONGEST_PHRASE:
        return [], False
    if "?" in phrase and (exchange := _EXCHANGE.fullmatch(text.plain(phrase))):
        return _exchange_candidates(exchange, reply)
    if about := _ABOUT.match(text.plain(phrase)):
        things = _inanimate_nouns(words_of(about[1]))
        about_reply = reply._replace(only=things[-1]) if things and not reply.heads else reply
        groups, denied = _find_groups(about[2], about_reply)
        if groups:
            return groups, denied
    found = fields_or_sentence(phrase)
    parts = [] if isinstance(found, Fields) else _SENTENCE_END.split(found)
    return _field_candidates(found) if isinstance(found, Fields) else _sentence_candidates(parts, reply)


def _exchange_candidates(exchange: re.Match[str], reply: ReplyObjects) -> tuple[list[list[Candidate]], bool]:
    """Parse a question and its answer; objects and verbs missing in the answer are taken from the question."""
    asked, assent, denial, said = exchange.groups()
    said = said[frame.end() :] if (frame := _FRAME.match(said)) else said
    things = _inanimate_nouns(words_of(asked))
    if things and not reply.heads:
        reply = reply._replace(only=things[-1])
    groups, denied = _find_groups(f"the {things[-1]}, {said}" if things and _OF_THING.search(said) else said, reply)
    if (groups and (denied or not groups[0][0].verbs[0].startswith("being"))) or (denied and not denial):
        return groups, denied
    if denial:
        return (no_interaction_candidates(asked, reply) if denies_interaction(f"not{asked}") else []), True
    return _sentence_candidates([asked if assent else f"{asked} {said}"], reply)


def _inanimate_nouns(words: list[str]) -> list[str]:
    return [" ".join(noun.words) for noun in nouns_of(words, tags_of(words)) if not noun.person]


def _field_candidates(fields: Fields) -> tuple[list[list[Candidate]], bool]:
    if denies_interaction(fields.object):
        fields = Fields(fields.object, fields.verb)
    if not (noun := _object_only(fields.object)):
        return [], False
    if denies_interaction(fields.verb):
        return [[Candidate([NO_INTERACTION], noun)]], True
    groups, denied = _sentence_candidates([fields.verb], ReplyObjects(object=noun[0]))
    if groups:
        return [[Candidate(c.verbs, noun, not fields.sure) for c in groups[0]]], denied
    verb = " ".join(words_of(fields.verb)).replace("_", " ")
    return ([[Candidate([verb], noun, doubtful=True)]] if verb and not denied else []), denied


def _object_only(phrase: str) -> list[str]:
    words = words_of(text.plain(phrase))
    words = words if not words or words[0] in text.DETERMINERS else ["the", *words]
    sentence = sentence_of(words, tags_of(words))
    nouns = [clause.object for clause in sentence.clauses if clause.object is not None]
    nouns += [*sentence.nouns, *(loose.noun for loose in sentence.loose)]
    found = [name for noun in with_conjuncts(*nouns[:1]) for name in names(noun)]
    return found or ([" ".join(words[1:])] if words[1:] else [])


def _sentence_candidates(parts: Sequence[str], reply: ReplyObjects) -> tuple[list[list[Candidate]], bool]:
    """Parse the sentences of a phrase together, and return the same as :func:`_find_groups`.

    A sentence that denies an interaction with a named object yields a no_interaction candidate.
    """
    words: list[str] = []
    tags, rival, denied, nothing = "", "", False, False
    for part in parts:
        said, refuses = _without_frames(part)
        denied = denied or refuses
        if denies_interaction(said):
            denied = nothing = True
            groups = no_interaction_candidates(said.replace("_", " "), reply, words)
            if groups and not candidates(sentence_of(words, tags), reply):
                return groups, True
        elif (more := words_of(said)) and table("foreign").keys().isdisjoint(more):
            (best, other), stop = tagging_of(more), FULL_STOP if words else ""
            words += [*stop, *more]
            tags, rival = tags + stop + best, rival + stop + other
    left_open = bool(reply.object) and tags[-1:] in _LEFT_OPEN
    ends = left_open and Tag.NOUN in tags and reply.heads.isdisjoint(words)  # "has a look at"
    sentence = sentence_of(words, tags)
    groups = [] if ends else candidates(sentence, reply)
    if left_open and not groups:
        words += ["the", *words_of(text.plain(reply.object))]
        groups = candidates(sentence_of(words, tags_of(words)), reply)
    others = candidates(sentence_of(words, rival), reply) if rival != tags and not reply.object else groups
    two_words = len(words) == 2 and not words[0].endswith("ing") and find(words, "object")
    if two_words or _heads(groups) != _heads(others):
        groups = [[candidate._replace(doubtful=True) for candidate in group] for group in groups or others]
    subjects = [clause.subject for clause in sentence.clauses if clause.verb[0] != "being"]
    if nothing and words and not any(subject is None or subject.person for subject in subjects):
        groups = no_interaction_candidates("none", reply, words) or groups
    lacks = (a for clause in sentence.clauses for a in clause.attached if a.noun.none and a.preposition != "without")
    return groups, not groups and (denied or any(clause.negated for clause in sentence.clauses) or any(lacks))


def _heads(groups: list[list[Candidate]]) -> list[tuple[str, str]]:
    """Return the first word of the verb and the last word of the object of each interaction of the best group."""
    return [(each.verbs[0].split()[0], each.objects[0].split()[-1]) for each in (groups or [[]])[0]]


def _without_frames(part: str) -> tuple[str, bool]:
    """Remove words without information; return the remaining text, and whether the words refuse an answer."""
    part = part.strip()
    while frame := _FRAME.match(part):
        part = part[frame.end() :]
    part = _HEDGE.sub("", part) if "though" in part else part
    refuses = _REFUSES.search(part)
    said = _ASIDE.sub("", part[refuses.end() :] if refuses else part)
    return _TURN.sub(lambda turn: table("turn")[turn[0]], said), bool(refuses)
