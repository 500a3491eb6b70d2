"""Verb and object of a pair, from what stands beside its boxes: fields of their own, a sentence, or both."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from shoe.lexicon import text
from shoe.lexicon.expressions import bases
from shoe.predictions.vlm.box_marks import can_be_verb, is_person
from shoe.predictions.vlm.parsed_reply import Pair

_LONGEST_VERB = 3
_JOINED = re.compile(r"[,;/&+|]|\band\b")
_ARROW, _TRIPLET = re.compile(r"\s*(?:-+>?|→|\||\s/\s)\s*"), 3  # "person-riding-horse"
_NOTHING = (["none"], ["nothing"], ["null"], ["nil"], ["na"], ["n", "a"], ["no", "relation"], ["no", "action"])
_TURN = frozenset(("by",))
_OTHERS = text.DETERMINERS | text.AUXILIARIES | text.NEGATIONS | text.CONJUNCTIONS
_NO_VERBS = _OTHERS | text.WORD_CLASSES["persons"]
_PARTICLES = text.PREPOSITIONS | text.PARTICLES


class Interaction(NamedTuple):
    """One interaction of a pair: its words, the score as written, and the phrase that was split into the words."""

    verb: str
    object: str
    score: Any
    phrase: str = ""


class Words(NamedTuple):
    """What is said of a pair.

    Attributes:
        interactions: one for each; none where nothing is said to happen, or nothing could be understood.
        turned: whether the pair's second box is the human's: "bench, being used by, person".
        unparsed: the phrase in which no verb and object were found, "" if they were.
        no_person: whether this is a relation between other things.
        doubtful: phrases whose split is not sure, with the split.
        denied: whether words say only what does not happen, and are left out.
    """

    interactions: tuple[Interaction, ...] = ()
    turned: bool = False
    unparsed: str = ""
    no_person: str = ""
    doubtful: tuple[str, ...] = ()
    denied: bool = False


class _Said(NamedTuple):
    readings: tuple[tuple[str, str], ...]
    doubtful: bool
    denied: bool


def words_of(pair: Pair) -> Words | None:
    """Find the words of a pair; None if it has none."""
    subject, target, verbs, phrase = pair.subject, pair.target, [v.text for v in pair.verbs], pair.phrase
    if not verbs and not phrase:
        subject, verbs, target, phrase = _from_texts(subject, target, pair.texts)
    if not verbs and not phrase:
        return None
    if pair.is_relation and subject and not is_person(subject):
        return _turned(pair, subject, target, verbs or [phrase])
    found: list[Interaction] = []
    doubtful: list[str] = []
    denied = False
    scores = [verb.score for verb in pair.verbs] or [None]
    listed = pair.score if isinstance(pair.score, list) and len(pair.score) == len(verbs) > 1 else None
    for i, verb in enumerate(verbs or [""]):
        said = _said(verb, phrase, target)
        own = scores[i] if i < len(scores) else None
        score = own if own is not None else listed[i] if listed else pair.score
        whole = verb or phrase
        found += [Interaction(*words, score, "" if whole == words[0] else whole) for words in said.readings]
        denied |= said.denied
        if said.doubtful:
            doubtful.append(f"{whole} = {' or '.join(map(', '.join, said.readings))}")
    if found or denied:
        return Words(tuple(found), doubtful=tuple(doubtful), denied=denied)
    if not target and pair.object.key:
        return words_of(pair._replace(target=pair.object.key))
    return Words(unparsed=phrase or verbs[0])


@lru_cache(1 << 16)
def _said(verb: str, phrase: str, target: str) -> _Said:
    """Readings of a verb and a phrase beside the object that a reply names."""
    whole = verb or phrase
    if target:
        words = text.tokens(text.plain(whole))
        if text.says_no_interaction(words) or words in _NOTHING:
            return _Said((("no_interaction", target),), doubtful=False, denied=False)
        named = text.tokens(text.plain(target))
        before = _before_target(words, named)
        if not before and (act := _after_target(words, named)):
            return _Said(((act, target),), doubtful=True, denied=False)
        whole = before or whole
        if _is_verb_alone(whole, target):
            return _Said(((whole, target),), doubtful=False, denied=False)
        if len(listed := _verbs_of(whole, target)) > 1:
            return _Said(tuple((each, target) for each in listed), doubtful=False, denied=False)
    elif len(parts := _ARROW.split(phrase)) == _TRIPLET and is_person(parts[0]):
        phrase = " ".join(parts)
    from shoe.lexicon.phrases.parse import interactions

    both = bool(verb) and bool(phrase) and not target and _is_verb_alone(verb, "")
    known = (target,) if target else ()
    said = interactions(phrase, verb=verb) if both else interactions(verb or phrase, object=target or None, known=known)
    readings = tuple((reading.verb, reading.object) for reading in said.interactions if reading.object)
    if not readings and both:
        readings = tuple((r.verb, r.object) for r in interactions(f"{verb} {phrase}").interactions if r.object)
    if not readings and not said.denied and target:
        return _Said(((whole, target),), doubtful=True, denied=False)
    return _Said(readings, said.doubtful, said.denied)


def _before_target(words: list[str], target: list[str]) -> str:
    """The verb of a field that names the object after it, as it stands beside: "row a boat", boat; "" for all else."""
    count = len(words) - len(target)
    if not 0 < count <= _LONGEST_VERB or not _is_same(words[count:], target):
        return ""
    verb = words[:count]
    while verb and verb[-1] in text.DETERMINERS:
        verb.pop()
    alone = bool(verb) and verb[0] not in _NO_VERBS and can_be_verb(verb[0])
    return " ".join(verb) if alone and _PARTICLES.issuperset(verb[1:]) else ""


def _after_target(words: list[str], target: list[str]) -> str:
    """What may be the verb of a field that names the object before it, and nothing else: "elephant ride", elephant."""
    act = words[-1] if len(words) == len(target) + 1 else ""
    verb = act in bases(act, "verb") and act not in _PARTICLES and _is_same(words[:-1], target)
    return act if verb else ""


def _is_same(words: list[str], target: list[str]) -> bool:
    """Whether words are the object, in any number."""
    if not target or words[:-1] != target[:-1]:
        return False
    return words[-1] == target[-1] or not {words[-1], *bases(words[-1], "object")}.isdisjoint(
        (target[-1], *bases(target[-1], "object"))
    )


def _is_verb_alone(verb: str, target: str) -> bool:
    """Whether a field holds nothing but a verb, so that it needs no parsing: "riding", "sit_on", "talking on"."""
    if _JOINED.search(verb) or ":" in verb:
        return False
    words = text.tokens(text.plain(verb))
    if len(words) < 2 or len(words) > _LONGEST_VERB or any(word.endswith("ing") for word in words[1:]):
        return len(words) == 1  # "horse riding" is none
    if not _OTHERS.isdisjoint(words) or text.tokens(text.plain(target))[-1:] in [[word] for word in words]:
        return False
    acts = _PARTICLES.issuperset(words[1:]) and words[0] not in _NO_VERBS and can_be_verb(words[0])
    return not any(map(is_person, words[1:] if acts else words))  # "peers into" is no person, "man on" is


def _verbs_of(verb: str, target: str) -> list[str]:
    """The verbs of a field that lists nothing but verbs: "jumping, riding and holding"; none for anything else."""
    if not _JOINED.search(verb):
        return []
    listed = [each for part in _JOINED.split(verb) if (each := part.strip())]
    gerunds = {each.split()[0].endswith("ing") for each in listed}
    alone = len(gerunds) == 1 and all(_is_verb_alone(each, target) and _begins_as_verb(each) for each in listed)
    return listed if alone else []


def _begins_as_verb(words: str) -> bool:
    """Whether words begin with a verb that is no particle: not the "down" of "up and down"."""
    first, *_ = text.tokens(text.plain(words))
    return can_be_verb(words) and first not in text.PREPOSITIONS and first not in _OTHERS


def _from_texts(subject: str, target: str, texts: tuple[str, ...]) -> tuple[str, list[str], str, str]:
    """Subject, verbs, object and phrase from texts whose keys say nothing."""
    words = list(texts)
    if len(words) > 1 and not subject and is_person(words[0]):
        subject, words = words[0], words[1:]
    if target and words:
        return subject, [words[0]], target, ""
    if len(words) >= 2:
        first, second = words[:2]
        swap = _is_verb_rather(second, first)
        return subject, [second if swap else first], first if swap else second, ""
    return subject, [], target, words[0] if words else ""


def _is_verb_rather(text_: str, other: str) -> bool:
    """Whether of two texts whose keys say nothing the one, and not the other, says what is done."""
    denies, other_denies = (text.says_no_interaction(text.tokens(text.plain(each))) for each in (text_, other))
    if denies or other_denies:
        return denies and not other_denies
    return can_be_verb(text_) and not can_be_verb(other)


def _turned(pair: Pair, subject: str, target: str, verbs: list[str]) -> Words:
    """A relation whose subject is a thing: turned round where its verb is passive and its object a person."""
    shown = f"{subject}, {verbs[0]}, {target}"
    if not target or not is_person(target):
        return Words(no_person=shown)
    found = []
    for i, verb in enumerate(verbs):
        words = text.tokens(text.plain(verb))
        if not _TURN.intersection(words[1:]):
            continue
        said = _said("", f"a {subject} {verb.replace('_', ' ')} a person", "")
        score = pair.verbs[i].score if i < len(pair.verbs) and pair.verbs[i].score is not None else pair.score
        found += [Interaction(verb, subject, score) for verb, thing in said.readings if not is_person(thing)]
    return Words(tuple(found), turned=True) if found else Words(no_person=shown)
