"""From a phrase to verb and object: "a man is riding a brown horse" is riding, brown horse.

No tagger: the lexicon says what words can be, ``data/phrase_words.tsv`` what some words do in a phrase. A phrase is
read in steps, a module each: its notation, the part that each word plays, its clauses, their readings.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from shoe.lexicon import text
from shoe.lexicon.expressions import find
from shoe.lexicon.phrase_clauses import sentence_of
from shoe.lexicon.phrase_given import Given, given_of
from shoe.lexicon.phrase_notation import Fields, fields_or_sentence
from shoe.lexicon.phrase_nouns import all_of, names
from shoe.lexicon.phrase_parts import Candidate, Clause, Noun
from shoe.lexicon.phrase_readings import MOST_ALTERNATIVES, candidates
from shoe.lexicon.phrase_tags import tags_of, words_of
from shoe.lexicon.phrase_words import patterns, table

LONGEST_PHRASE = 500
"""Characters; what is longer is no phrase."""

NO_INTERACTION = "no_interaction"

# A question, "yes" or "no", what else is answered.
_EXCHANGE = re.compile(
    rf"(?:.*[.!:,] )?(?:{patterns('asks')})(.*)\?(?=.*\w)\W*(?:(?:{patterns('answers')})\W+)?"
    rf"(?:({patterns('assent')})\b|({patterns('dissent')})(?=\W*$|[,.;:!]| -))?\W*(.*)",
    re.DOTALL,
)
_OF_THING = re.compile(r"\b(?:it|them)\b")
_SENTENCE_END = re.compile(r"[.!?]+(?:\s|$)|\n")
_DENIES_ALL = re.compile(patterns("denial"))
_REFUSES = re.compile(rf"(?:{patterns('refusal')}).*?(?:\b(?:but|however)\b,?|$)")
# What says nothing of the interaction, at the beginning of a sentence and within it.
_FRAME = re.compile(rf"(?:{patterns('frame')})\s*")
_ASIDE = re.compile(patterns("aside"))
_TURN = re.compile(rf"\b(?:{'|'.join(table('turn'))})\b")
# Letters of a verb after a form of be.
_DOES = re.compile(r"B[RX]*[GE]")
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
            joined by " / ", the best one first.
        doubtful: whether the split into verb and object is not sure.
        denied: whether the phrase says only what does not happen; "no interaction" with a thing is an interaction.
    """

    interactions: tuple[Reading, ...]
    doubtful: bool = False
    denied: bool = False


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
    groups, denied = _groups(phrase, given_of(object, known))
    best = groups[0] if groups else []
    said = [Reading(_joined(candidate.verbs), object or _joined(candidate.objects)) for candidate in best]
    doubtful = any(candidate.doubtful for candidate in best)
    return Said(tuple(dict.fromkeys(said)), doubtful=doubtful, denied=denied and not said)


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
    found = fields_or_sentence(phrase)
    if isinstance(found, Fields) and given.object and not find(words_of(found.object), "object"):
        found = f"{found.verb}, {found.object}"
    if isinstance(found, Fields):
        return _of_fields(found)
    denies, before = False, ""
    parts = [part for part in _SENTENCE_END.split(found) if any(letter.isalpha() for letter in part)]
    for part, following in zip(parts, [*parts[1:], ""], strict=False):
        groups, denied = _of_sentence(f"{before}, {part}" if before and _refers(part) else part, given)
        if groups and not (following and _refers(following) and (groups[0][0].doubtful or _sets_scene(part))):
            return groups, denied
        denies, before = denies or denied, part
    return [], denies


def _refers(part: str) -> bool:
    """Whether a sentence speaks of "it"."""
    return not table("anaphor").keys().isdisjoint(words_of(part))


def _sets_scene(part: str) -> bool:
    """Whether a sentence speaks of things only: "a kite is in the air"."""
    tags = tags_of(words_of(part))
    return "P" not in tags and tags[:1] not in ("V", "G", "E")


def _of_exchange(exchange: re.Match[str], given: Given) -> tuple[list[list[Candidate]], bool]:
    """Read a question with its answer: the answer counts, and has its things and its verb from the question."""
    asked, assent, denial, said = exchange.groups()
    said = said[frame.end() :] if (frame := _FRAME.match(said)) else said
    words = words_of(asked)
    things = [" ".join(noun.words) for noun in _nouns(words, tags_of(words)) if not noun.person]
    if things and not given.heads:
        given = given._replace(only=things[-1])
    groups, denied = _groups(f"the {things[-1]}, {said}" if things and _OF_THING.search(said) else said, given)
    if denied or (groups and not groups[0][0].verbs[0].startswith("being")):
        return groups, denied
    if denial:
        return (_no_interaction(asked, given) if _says_nothing(f"not{asked}") else []), True
    return _of_sentence(asked if assent else f"{asked} {said}", given)


def _of_fields(fields: Fields) -> tuple[list[list[Candidate]], bool]:
    if _says_nothing(fields.object):
        fields = Fields(fields.object, fields.verb)
    noun = _object_only(fields.object)
    if not noun:
        return [], False
    if _says_nothing(fields.verb):
        return [[Candidate([NO_INTERACTION], noun)]], True
    groups, denied = _of_sentence(fields.verb, Given(object=noun[0]))
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
    return (
        [name for noun in all_of(nouns[0]) for name in names(noun)]
        if nouns
        else [" ".join(words[1:])]
        if words[1:]
        else []
    )


def _says_nothing(part: str) -> bool:
    may_deny = any(word in part for word in table("denying"))
    return part.strip() in table("nothing") or (may_deny and bool(_DENIES_ALL.search(part.replace("_", " "))))


def _of_sentence(part: str, given: Given) -> tuple[list[list[Candidate]], bool]:
    part = part.strip()
    while frame := _FRAME.match(part):
        part = part[frame.end() :]
    refuses = _REFUSES.search(part)
    part = _TURN.sub(lambda turn: table("turn")[turn[0]], _ASIDE.sub("", part[refuses.end() :] if refuses else part))
    words = words_of(part)
    if _says_nothing(part):
        return _no_interaction(part.replace("_", " "), given), True
    if not table("foreign").keys().isdisjoint(words):
        return [], False
    tags = tags_of(words)
    sentence = sentence_of(words, tags)
    groups = candidates(sentence, given)
    if given.object and not groups and tags[-1:] in _LEFT_OPEN:
        words += ["the", *words_of(text.plain(given.object))]
        groups = candidates(sentence_of(words, tags_of(words)), given)
    if len(words) == 2 and not words[0].endswith("ing") and find(words, "object"):
        groups = [[candidate._replace(doubtful=True) for candidate in group] for group in groups]
    return groups, not groups and (bool(refuses) or any(clause.negated for clause in sentence.clauses))


def _no_interaction(part: str, given: Given) -> list[list[Candidate]]:
    """Read "no interaction between the man and the dog": a thing after these words, before them, or a person after."""
    if given.object:
        return [[Candidate([NO_INTERACTION], [given.object])]]
    if part.strip() in table("nothing"):
        return []
    sides = [words_of(side) for side in _DENIES_ALL.sub("| the ", part).split("|")]
    before, *after = [_nouns(words, _without_verbs(tags_of(words))) for words in sides]
    things = [noun for noun in (*before, *(n for nouns in after for n in nouns)) if not noun.person]
    others = things or [noun for nouns in after for noun in nouns]
    return [[Candidate([NO_INTERACTION], names(others[-1]))]] if others else []


def _without_verbs(tags: str) -> str:
    return _DOES.sub(lambda does: "I" * len(does[0]), tags).replace("G", "J").replace("E", "J")


def _nouns(words: list[str], tags: str) -> list[Noun]:
    """Every noun phrase of tagged words that names something."""
    sentence = sentence_of(words, tags)

    def of(clause: Clause) -> list[Noun]:
        return [n for n in (clause.object, clause.second, *(a.noun for a in clause.attached)) if n is not None]

    found = [*sentence.nouns, *(a.noun for a in sentence.loose), *(n for c in sentence.clauses for n in of(c))]
    return [each for noun in found for each in (noun, *noun.also) if each.head not in table("nothing")]
