"""From a phrase to verb and object: "a man is riding a brown horse" is riding, brown horse.

No tagger: the lexicon says which words can be verbs, and short lists which words open and close a noun phrase.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from typing import NamedTuple

from shoe.lexicon import text
from shoe.lexicon.expressions import bases, find
from shoe.lexicon.resolve import describes, without_determiners
from shoe.lexicon.store import lexicon

LONGEST_PHRASE = 500
"""Characters; what is longer is no phrase."""

_PERSONS = text.WORD_CLASSES["persons"]
_SKIPPED = text.AUXILIARIES | text.FILLERS
_BOUNDARIES = (text.PREPOSITIONS | text.PARTICLES | text.CONJUNCTIONS | text.AUXILIARIES | {","}) - {"of"}
_NO_INTERACTION = "no_interaction"
# Prepositions of several words, and what a verb takes with it of them.
_COMPOUND_PREPOSITIONS = {
    ("on", "top", "of"): ["on"],
    ("on", "the", "back", "of"): ["on"],
    ("in", "front", "of"): ["in", "front", "of"],
    ("close", "to"): ["close", "to"],
}

_SENTENCE_END = re.compile(r"[.!?;]+(?:\s|$)|\n")
_WORD = re.compile(r"[^\W_](?:[\w'&/-]*[^\W_])?|,")
_FIELD_MARKS = re.compile(r"\s*(?:,|\||->)\s*")
_BRACKETS = "<>()[]{}\"' "


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


def parse_phrase(phrase: str) -> Phrase:
    """Find verb and object in a sentence, a fragment of one or a triplet.

    >>> phrase = parse_phrase("a man is riding a brown horse while holding a rope")
    >>> phrase.verbs, phrase.objects
    (('riding', 'holding'), ('brown horse', 'rope'))
    >>> parse_phrase("<person, no interaction, bicycle>").readings
    (Reading(verb='no_interaction', object='bicycle'),)
    >>> parse_phrase("a man is not riding a horse").verbs
    ()

    The verb keeps its inflection and its particle, without auxiliaries; the object its adjectives, without articles
    and without what follows it. Of a passive with a person ("a horse ridden by a man") the subject is the object. A
    phrase that denies the interaction has no reading, as one of more than ``LONGEST_PHRASE`` characters.
    """
    found = list(dict.fromkeys(_readings(phrase)))
    others = (reading for reading in found[1:] if reading.verb.split()[0] not in text.AUXILIARIES)
    return Phrase((*found[:1], *others))


@dataclass(frozen=True, slots=True)
class Said:
    """What a phrase says of one pair of person and object.

    Attributes:
        interactions: one for each interaction said of the pair; none where none is found. A word may hold alternatives
            joined by " / ", the best one first.
        doubtful: whether the split into verb and object is not sure.
        denied: whether the phrase says that there is no interaction, or not this one.
    """

    interactions: tuple[Reading, ...]
    doubtful: bool = False
    denied: bool = False


def interactions(
    phrase: str,
    *,
    verb: str | None = None,
    object: str | None = None,  # noqa: A002
    known: Sequence[str] = (),
) -> Said:
    """Find the interactions that a phrase says of a pair.

    >>> interactions("is riding", object="horse").interactions
    (Reading(verb='riding', object='horse'),)

    Args:
        phrase: a sentence, a fragment of one or a triplet, in English.
        verb: the verb, where it is given apart; the phrase then supplies the object.
        object: the object, where it is given apart; the phrase then supplies the verb.
        known: nouns of the things that the reply has boxes of; an object among them is preferred.
    """
    denied = bool(text.NEGATIONS.intersection(_words(text.plain(phrase))))
    found = best_reading(phrase) or (best_reading(f"{phrase} {object}") if object else None)
    if found is None:
        return Said((), denied=denied)
    return Said((Reading(verb or found.verb, object or found.object),), denied=denied or found.verb == _NO_INTERACTION)


def best_reading(phrase: str) -> Reading | None:
    """Find the first reading of a phrase, without looking for others; None if it has none."""
    return next(_readings(phrase), None)


def _readings(phrase: str) -> Iterator[Reading]:
    return (reading for reading in _candidates(phrase) if reading.verb and reading.object)


def _candidates(phrase: str) -> Iterator[Reading]:
    if len(phrase) > LONGEST_PHRASE:
        return
    plain = text.plain(phrase).replace("a/an", "a").strip()
    fields, words = _fields(plain), _words(plain)
    if text.NEGATIONS.intersection(words):
        return
    if found := _after_no_interaction(words):
        yield found
    elif fields:
        verb, noun = fields
        while len(verb) > 1 and (verb[0] in _SKIPPED or _is_adverb(verb[0])):
            verb = verb[1:]
        yield Reading(" ".join(verb), " ".join(_noun_phrase(noun)[0]))
    else:
        for index in dict.fromkeys(_verb_indices(words)):
            yield _passive(words, index) or _active(words, index)


def _fields(plain: str) -> tuple[list[str], list[str]] | None:
    """Return the words of verb and object of "<person, ride, horse>", "person | ride | horse" or "ride, horse"."""
    parts = [part.strip(_BRACKETS) for part in _FIELD_MARKS.split(plain.strip(_BRACKETS))]
    if not 2 <= len(parts) <= 3:
        return None
    verb, noun = _words(parts[-2]), _words(parts[-1])
    marked = plain[:1] in "<([{" or "|" in plain or "->" in plain
    short = 1 <= len(verb) <= 3 and len(noun) <= 3 and _is_verb(verb[0]) and text.AUXILIARIES.isdisjoint(noun[:1])
    person = len(parts) == 2 or not _words(parts[0]) or _words(parts[0])[-1] in _PERSONS
    return (verb, noun) if marked or (short and person) else None


def _words(plain: str) -> list[str]:
    sentence = next((part for part in _SENTENCE_END.split(plain) if part.strip(_BRACKETS)), "")
    words = _WORD.findall(sentence)
    return text.tokens(words[0]) if len(words) == 1 else words


def _after_no_interaction(words: list[str]) -> Reading | None:
    for index, word in enumerate(words):
        joined = [word, *words[index + 1 : index + 2]] == ["no", "interaction"]
        if joined or text.says_no_interaction(text.tokens(word)):
            rest = list(dropwhile(lambda word: word in text.PREPOSITIONS or word == ",", words[index + 1 + joined :]))
            return Reading(_NO_INTERACTION, " ".join(_noun_phrase(rest)[0]))
    return None


def _verb_indices(words: list[str]) -> Iterator[int]:
    """Yield where the verb may be, likeliest first."""
    yield from _after_auxiliaries(words)
    yield from (
        i for i, word in enumerate(words) if "_" in word and _is_verb(word) and not find(word.split("_"), "object")
    )
    free = [i for i in range(1, len(words)) if words[i - 1] not in text.DETERMINERS | text.PREPOSITIONS]
    free = [i for i in free if _is_verb(words[i]) and words[i] not in text.AUXILIARIES]
    participles = [i for i in free if words[i].endswith("ing")]
    if words and (words[0] in text.DETERMINERS or words[0] in _PERSONS):
        yield from participles
        yield from (i for i in free if not _rather_noun(words[i]))
        yield from free
    elif words and _rather_noun(words[0]):
        yield from (i for i in participles if i == 1)
    if words and _is_verb(words[0]) and words[0] not in _PERSONS:
        yield 0
    yield from participles
    yield from (i for i, word in enumerate(words) if i and word in text.AUXILIARIES - {"to"})


def _after_auxiliaries(words: list[str]) -> Iterator[int]:
    """Yield the verb that an auxiliary leads to ("is about to throw"), then those between ("is getting on")."""
    for start, word in enumerate(words):
        follower = words[start + 1] if start + 1 < len(words) else ""
        begins = word in text.FILLERS and (follower == "to" or (follower.endswith("ing") and _is_verb(follower)))
        if not begins and (word not in text.AUXILIARIES or (word == "to" and start)):
            continue
        end = start + 1
        while end < len(words) and (words[end] in _SKIPPED or _is_adverb(words[end])):
            end += 1
        indices = [end, *range(end - 1, start, -1)]
        yield from (i for i in indices if i < len(words) and words[i] not in text.AUXILIARIES and _is_verb(words[i]))


def _active(words: list[str], index: int) -> Reading:
    verb, rest = [words[index]], words[index + 1 :]
    while len(rest) > 1:
        compound = next((c for c in _COMPOUND_PREPOSITIONS if tuple(rest[: len(c)]) == c and len(rest) > len(c)), None)
        if compound:
            verb, rest = verb + _COMPOUND_PREPOSITIONS[compound], rest[len(compound) :]
        elif rest[0] in text.PREPOSITIONS or rest[0] in text.PARTICLES:
            verb, rest = [*verb, rest[0]], rest[1:]
        elif _is_adverb(rest[0]):
            rest = rest[1:]
        else:
            break
    noun, after = _noun_phrase(rest)
    if len(verb) == 1 and noun[1:2] == ["of"] and find([*verb, noun[0]], "verb"):
        return Reading(" ".join([*verb, noun[0]]), " ".join(without_determiners(noun[2:])))
    if len(after) == 1 and after[0] in text.PARTICLES and len(verb) == 1 and find([*verb, *after], "verb"):
        verb += after
    return Reading(" ".join(verb), " ".join(noun))


def _passive(words: list[str], index: int) -> Reading | None:
    """Read "the horse is being ridden by a man"; None if a phrase is not of this kind."""
    agent = without_determiners(words[index + 2 :])
    subject = words[:index]
    while subject and (subject[-1] in _SKIPPED or _is_adverb(subject[-1])):
        subject = subject[:-1]
    is_passive = words[index + 1 : index + 2] == ["by"] and not words[index].endswith("ing") and subject
    if not is_passive or not _PERSONS.intersection(agent):
        return None
    return Reading(words[index], " ".join(_noun_phrase(subject)[0]))


def _noun_phrase(words: list[str]) -> tuple[list[str], list[str]]:
    """Split words into the noun phrase that they begin with, without determiners, and what follows it."""
    words = without_determiners(words)
    if words and (words[0] in text.DETERMINERS or words[0] in _BOUNDARIES):
        return [], words
    for index in range(1, len(words)):
        second = words[index] in text.DETERMINERS and words[index - 1] != "of"
        if second or words[index] in _BOUNDARIES or _opens_clause(words, index):
            return words[:index], words[index:]
    return words, []


def _opens_clause(words: list[str], index: int) -> bool:
    """Whether a participle says what the noun before it does ("horse eating grass"; not "wooden dining table")."""
    word = words[index]
    if not word.endswith("ing") or not bases(word, "verb") or describes([words[index - 1]]):
        return False
    return bool(find([words[index - 1]], "object")) and not find(words[index : index + 2], "object")


def _is_verb(word: str) -> bool:
    """Whether a word can be a verb form; its first part if it has several ("sit_on")."""
    if word in text.DETERMINERS or word in text.PREPOSITIONS:
        return False
    first = re.split("[_-]", word, maxsplit=1)[0]
    return any(bases(w, "verb") or find([w], "verb") for w in (word, first)) or (
        len(first) > 5 and first.endswith("ing")
    )


def _is_adverb(word: str) -> bool:
    return len(word) > 3 and word.endswith("ly") and not bases(word, "verb") and not find([word], "object")


def _rather_noun(word: str) -> bool:
    """Whether tagged texts have a word as a noun more often than as a verb."""
    store = lexicon()
    uses = {pos: sum(int(store.tag_count(b, pos).sum()) for b in store.base_forms(word, pos)) for pos in ("n", "v")}
    return uses["n"] > uses["v"]
