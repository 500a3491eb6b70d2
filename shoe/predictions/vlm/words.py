"""Split the words of a pair into verb and object, from separate fields, a sentence, or both."""

import re
from functools import lru_cache
from typing import Any, NamedTuple

from shoe.lexicon import text
from shoe.lexicon.senses import bases, find
from shoe.predictions.vlm.box_marks import can_be_verb, is_person
from shoe.predictions.vlm.markup import scored_labels, split_label, split_verdict, stated_labels
from shoe.predictions.vlm.parsed_reply import Pair

_LONGEST_VERB = 3
_LIST = re.compile(r"""\[\s*(?:(['"]).*\1|[\w ,;-]+)\s*\]""")
_ARROW, _TRIPLET = re.compile(r"\s*(?:-+>?|→|\||\s/\s)\s*"), 3  # as in "person-riding-horse"
_WHILE = re.compile(r"(\w+ing) while (\w+ing(?: \w+)?)")  # "boarding while loading"; not "leaning over while feeding"
_LAST_VERB = re.compile(r"\w\W+(?:while|to) (\w+)\Z")  # as in "leaning over to pet"
_FUNCTION_WORDS = text.DETERMINERS | text.AUXILIARIES | text.NEGATIONS | text.CONJUNCTIONS
_NOT_VERBS = _FUNCTION_WORDS | text.WORD_CLASSES["persons"]
_PARTICLES = text.PREPOSITIONS | text.PARTICLES


class Interaction(NamedTuple):
    """Verb, object and score (as written) of a pair."""

    verb: str
    object: str
    score: Any
    phrase: str = ""  # text that was split into the words
    turned: bool = False  # whether the second box is the human box: "bench, used by, person", "child, held by, woman"


class Words(NamedTuple):
    """Interactions in the words of a pair."""

    interactions: tuple[Interaction, ...] = ()  # empty if the words name none or could not be parsed
    unparsed: str = ""  # the phrase without a recognised verb and object
    thing_relation: str = ""  # relation as text if its subject is a thing ("cup on table"), not "cup held by man"
    doubtful: tuple[str, ...] = ()  # phrases whose split may be wrong, with the resulting verb and object
    denied: int = 0  # number of interactions that the words deny ("not riding", "❌ riding"), which are left out


class _ParsedWords(NamedTuple):
    readings: tuple[tuple[str, str], ...]
    doubtful: bool = False
    denied: bool = False


def parse_pair_words(pair: Pair) -> Words | None:
    """Parse the words of a pair into interactions; None if the pair has no words."""
    (phrase, *said), (target, *of_target) = split_verdict(pair.phrase), split_verdict(pair.target)
    judged = [(verb.score, *split_verdict(without_brackets(verb.text))) for verb in pair.verbs]
    confirmed = [(words, score) for score, words, verdict in judged if words and verdict is not False]
    denied = len([verdict for *_, verdict in judged if verdict is False])
    if False in (*said, *of_target) or (denied and not confirmed):
        return Words(denied=max(denied, 1))
    target, score_of_target = split_label(target)
    if not confirmed and phrase and (stated_labels(phrase) or len(scored_labels(phrase)) > 1):
        phrase, confirmed = "", [(phrase, None)]
    lists = [(scored_labels(label), score) for words, score in confirmed for label in stated_labels(words) or (words,)]
    phrase, own_score = split_label(phrase) if phrase else ("", None)
    if pair.score is None:
        lists = [(each, each[0][1] if score is None else score) for each, score in lists]
        pair = pair._replace(score=own_score or score_of_target)
    stated = [(words, score if len(each) == 1 else own) for each, score in lists for words, own in each]
    if len(stated) > 1:  # {"verb": "ride", "action": "riding the horse"} is one verb
        firsts: dict[tuple[str, ...], tuple[str, Any]] = {}
        for words, score in stated:
            firsts.setdefault(_base_form(words, target), (words, score))
        stated = list(firsts.values())
    subject, verbs = pair.subject, [words for words, _ in stated]
    if not verbs and not phrase:
        subject, verbs, target, phrase = _from_texts(subject, target, pair.texts)
    if not verbs and not phrase:
        return None
    if pair.is_relation and subject and not is_person(subject):
        return _reverse_relation(pair, subject, target, verbs or [phrase])
    found: list[Interaction] = []
    doubtful: list[str] = []
    scores = [score for _, score in stated] or [None]
    listed = pair.score if isinstance(pair.score, list) and len(pair.score) == len(verbs) > 1 else None
    for i, verb in enumerate(verbs or [""]):
        passive = _passive_of_person(subject, verb or phrase, target)
        parsed = passive or _parse_words(verb, phrase, target)
        own_score = scores[i] if i < len(scores) else None
        score = own_score if own_score is not None else listed[i] if listed else pair.score
        source = verb or phrase
        turned = passive is not None
        found += [Interaction(*words, score, "" if source == words[0] else source, turned) for words in parsed.readings]
        denied += parsed.denied
        if parsed.doubtful:
            doubtful.append(f"{source} = {' or '.join(map(', '.join, parsed.readings))}")
    if found or denied:
        return Words(tuple(found), doubtful=tuple(doubtful), denied=denied)
    if not target and (name := pair.object.key or ("person" if pair.object.side == "human" else "")):
        return parse_pair_words(pair._replace(target=name))
    return Words(unparsed=phrase or verbs[0])


def _base_form(verb: str, target: str) -> tuple[str, ...]:
    """Return the words of a verb, the first in its base form, without articles and without words of the object."""
    words, thing = text.tokens(text.plain(verb)), text.tokens(text.plain(target))
    rest = (word for word in words[1:] if word not in _FUNCTION_WORDS and word not in thing)
    return (*(bases(words[0], "verb")[:1] or words[:1]), *rest) if words else ()


def _passive_of_person(subject: str, source: str, target: str) -> _ParsedWords | None:
    """Return the interactions of the second person if the first is acted on: "child, held by, woman"; else None."""
    words = text.tokens(text.plain(source)) if "by" in source else []
    at = len(words) - 1 - words[::-1].index("by") if "by" in words else 0
    before, agent = words[:at], words[at + 1 :] or text.tokens(text.plain(target))
    if not (before and agent and is_person(subject or "person") and is_person(" ".join(agent))):
        return None
    if target and not _is_same(agent[-1:], text.tokens(text.plain(target))[-1:]):
        return None
    parsed = _parse_words("", " ".join([*before, "by", *agent]), "")
    if not any(thing.split()[-1] in before for _, thing in parsed.readings):  # only the verb: "is kissed by"
        before = [*text.tokens(text.plain(subject or "person")), *before]
        parsed = _parse_words("", " ".join([*before, "by", *agent]), "")
    for verb, thing in parsed.readings:
        noun, done = thing.split()[-1], verb.split()[0]
        if not (is_person(thing) and noun in before and done in before and before.index(noun) < before.index(done)):
            return None
    readings = tuple((verb, subject or thing) for verb, thing in parsed.readings)
    return parsed._replace(readings=readings) if readings else None


@lru_cache(1 << 16)
def _parse_words(verb: str, phrase: str, target: str) -> _ParsedWords:
    """Split a verb, or else a phrase, into (verb, object) pairs; ``target`` is the object of the reply or ""."""
    source = verb or phrase
    if target:
        words = text.tokens(text.plain(source))
        if text.says_no_interaction(words) or text.names_no_action(words):
            return _ParsedWords((("no_interaction", target),))
        target_words = text.tokens(text.plain(target))
        if target_words and target_words[-1] in words and _names_only(words, target_words):
            return _ParsedWords(())
        verb_before, last = _verb_before_target(words, target_words), words[-1] if words else ""
        is_verb_last = last in bases(last, "verb") and last not in _PARTICLES and len(words) == len(target_words) + 1
        if not verb_before and is_verb_last and _is_same(words[:-1], target_words):  # "elephant ride" and elephant
            return _ParsedWords(((last, target),), doubtful=True)
        source = verb_before or source
        if _is_verb_alone(source, target):
            return _ParsedWords(((source, target),))
        if len(verbs := split_verbs(source, target)) > 1:
            return _ParsedWords(tuple((each, target) for each in verbs))
        if (both := _WHILE.fullmatch(source)) and all(_is_verb_alone(each, target) for each in both.groups()):
            return _ParsedWords(tuple((each, target) for each in both.groups()), doubtful=True)
        if (last_verb := _LAST_VERB.search(source)) and can_be_verb(last_verb[1]) and not is_person(last_verb[1]):
            verb, phrase = "", f"{source} {target}"
    elif len(parts := _ARROW.split(phrase)) == _TRIPLET and is_person(parts[0]):
        phrase = " ".join(parts)
    from shoe.lexicon.phrases.parse import interactions as parse

    is_split = bool(verb) and bool(phrase) and not target and _is_verb_alone(verb, "")
    known = (target,) if target else ()
    parsed = parse(phrase, verb=verb) if is_split else parse(verb or phrase, object=target or None, known=known)
    readings = tuple((reading.verb, reading.object) for reading in parsed.interactions if reading.object)
    if not readings and is_split:
        readings = tuple((r.verb, r.object) for r in parse(f"{verb} {phrase}").interactions if r.object)
    if not readings and not parsed.denied and target:
        return _ParsedWords(((source, target),), doubtful=True)
    is_other = bool(target) and not _PARTICLES.issuperset(words[-1:]) and _names_other(verb or phrase, target)
    return _ParsedWords(readings, parsed.doubtful or is_other, parsed.denied)


def _names_other(phrase: str, target: str) -> bool:
    """Return whether a phrase names another thing than the object of the reply: "holding a bag" about a bicycle."""
    from shoe.lexicon.phrases.parse import interactions as parse

    things = [target, *(each.object for each in parse(phrase).interactions if each.object and each.verb.isalpha())]
    own, *others = ({sense.synset for sense in find(text.tokens(text.plain(each)), "object")} for each in things)
    return bool(own and others) and all(other and own.isdisjoint(other) for other in others)


def _names_only(words: list[str], target: list[str]) -> bool:
    """Return whether words name only the object, and perhaps a person: "bicycle", "person, bicycle"; not "tie"."""
    from shoe.lexicon.phrases.words import word_of

    things = [word for word in words if word not in _FUNCTION_WORDS and not is_person(word)]
    return not things or (_is_same(things, target) and word_of(target[-1]).rather_noun)


def _verb_before_target(words: list[str], target: list[str]) -> str:
    """Return the verb of a field that ends with the object: "row" for "row a boat" and boat; "" for other fields."""
    count = len(words) - len(target)
    if not 0 < count <= _LONGEST_VERB or "no" in words[:count] or not _is_same(words[count:], target):
        return ""
    verb = words[:count]
    while verb and verb[-1] in text.DETERMINERS:
        verb.pop()
    is_verb = bool(verb) and verb[0] not in _NOT_VERBS and can_be_verb(verb[0])
    return " ".join(verb) if is_verb and _PARTICLES.issuperset(verb[1:]) else ""


def _is_same(words: list[str], target: list[str]) -> bool:
    """Return whether words are equal to the words of the object, in singular or plural."""
    if not target or words[:-1] != target[:-1]:
        return False
    return words[-1] == target[-1] or not {words[-1], *bases(words[-1], "object")}.isdisjoint(
        (target[-1], *bases(target[-1], "object"))
    )


def _is_verb_alone(verb: str, target: str) -> bool:
    """Return whether a field is only a verb and needs no parsing: "riding", "sit_on", "talking on"."""
    if text.JOINED.search(verb) or ":" in verb:
        return False
    words = text.tokens(text.plain(verb))
    if len(words) < 2 or len(words) > _LONGEST_VERB or any(word.endswith("ing") for word in words[1:]):
        return len(words) == 1  # "horse riding" is not a verb
    if not _FUNCTION_WORDS.isdisjoint(words) or text.tokens(text.plain(target))[-1:] in [[word] for word in words]:
        return False
    is_verb = _PARTICLES.issuperset(words[1:]) and words[0] not in _NOT_VERBS and can_be_verb(words[0])
    return not any(map(is_person, words[1:] if is_verb else words))  # "peers into" is a verb, "man on" names a person


def without_brackets(cell: str) -> str:
    """Return the words of a Python list written as text: "kiss, pet" for "['kiss', 'pet']"; other texts unchanged."""
    return re.sub(r"[\[\]'\"]", "", cell).strip() if _LIST.fullmatch(cell) else cell


def split_verbs(verb: str, target: str) -> list[str]:
    """Return the verbs of a list of several verbs, all or none in -ing ("jumping, riding and holding"); else []."""
    if not text.JOINED.search(verb):
        return []
    verbs = [each for part in text.JOINED.split(verb) if (each := part.strip())]
    own = [each for each in verbs if not text.says_no_interaction(text.tokens(text.plain(each)))]
    gerunds = {(word := each.split()[0]).endswith("ing") and word not in bases(word, "verb") for each in own}
    are_verbs = len(gerunds) == 1 and all(_is_verb_alone(each, target) and can_be_verb(each) for each in own)
    firsts = {first for each in own for first in text.tokens(text.plain(each))[:1]}
    return verbs if are_verbs and (text.PREPOSITIONS | _FUNCTION_WORDS).isdisjoint(firsts) else []


def _from_texts(subject: str, target: str, texts: tuple[str, ...]) -> tuple[str, list[str], str, str]:
    """Return subject, verbs, object and phrase; missing parts are taken from texts whose keys have no meaning."""
    words = list(texts)
    if len(words) > 1 and not subject and is_person(words[0]):
        subject, words = words[0], words[1:]
    if target and words:
        return subject, [words[0]], target, ""
    if len(words) >= 2:
        denials = (text.says_no_interaction(text.tokens(text.plain(each))) for each in words[:2])
        ranked = [*zip(denials, map(can_be_verb, words), strict=False)]
        verb, thing = words[:2] if ranked[0] >= ranked[1] else words[1::-1]
        return subject, [verb], thing, ""
    return subject, [], target, words[0] if words else ""


def _reverse_relation(pair: Pair, subject: str, target: str, verbs: list[str]) -> Words:
    """Return a passive relation of a thing ("used by a person") as interactions of the person; else as a relation."""
    relation = f"{subject}, {verbs[0]}, {target}"
    if not target or not is_person(target):
        return Words(thing_relation=relation)
    found = []
    for i, verb in enumerate(verbs):
        if "by" not in text.tokens(text.plain(verb))[1:]:
            continue
        parsed = _parse_words("", f"a {subject} {verb.replace('_', ' ')} a person", "")
        score = pair.verbs[i].score if i < len(pair.verbs) and pair.verbs[i].score is not None else pair.score
        readings = [reading for reading in parsed.readings if not is_person(reading[1])]
        found += [Interaction(verb, subject, score, turned=True) for verb, _ in readings]
    return Words(tuple(found)) if found else Words(thing_relation=relation)
