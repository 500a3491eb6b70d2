"""What a predicted verb may mean: expressions, particles, light verbs, compounds and definitions of WordNet."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from shoe.lexicon import text
from shoe.lexicon.constructions import constructions
from shoe.lexicon.definitions import EQUAL_PREPOSITIONS, defined_by
from shoe.lexicon.expressions import KIND, LONGEST_EXPRESSION, Sense, bases, find
from shoe.lexicon.store import lexicon

_PHRASAL = text.WORD_CLASSES["phrasal_verbs"]
_LIGHT = text.WORD_CLASSES["light_verbs"]
# These tell something of their own beside what their noun does: "sending a text" is texting, and sending.
_DELIVERING = text.WORD_CLASSES["delivering_verbs"]
# Particles that change what a verb means; "on" says where, as other prepositions do.
_ADVERBIAL = text.PARTICLES - {"on"}
# A verb with such a particle is meant as the idiom ("pick up") if tagged texts use it more often than this.
_IDIOM_USES = 20
_WITH_NOUN = text.ARTICLES | text.WORD_CLASSES["possessives"]
_ROLES = frozenset(["instr", "obj"])


def verb_senses(words: list[str], spelled: str) -> list[Sense]:
    """List the senses that a verb of one or several words may mean, best first; ``spelled`` is it as written."""
    if text.NEGATIONS.intersection(words):
        return []
    kept = without_auxiliaries([word for word in words if word not in _ROLES]) or words
    whole = find(words, "verb", spelled) if _essential(kept) != words or len(words) > 2 else []
    if whole:
        return whole
    compound: list[Sense] = []
    if "-" in spelled:
        compound, kept = _compound(kept, spelled)
    content, purpose = _purpose(_essential(kept))
    found = _of_noun(kept, _LIGHT)
    known = bool(found)
    if not known:
        found, known = _expression(content, spelled if content == words else "")
        found += _of_noun(kept, _DELIVERING)
    if len(content) > 1 and not known and bases(content[0], "verb"):
        found += defined_by(content)
    adverbial = find(kept[:2], "verb") if len(kept) > 1 and is_adverb(kept[1]) else []  # "looking closely at"
    found = [*adverbial, *found, *constructions(content), *purpose]
    if found:
        # What a compound has of its own is a kind of what its head says: "bottle-feeding" of feeding.
        return [*compound, *(sense._replace(weight=sense.weight * KIND) for sense in found)] if compound else found
    later = (because(find([word], "verb"), f'verb in "{" ".join(content)}"') for word in content[1:])
    return next((senses for senses in later if senses), [])


def without_auxiliaries(words: list[str]) -> list[str]:
    """Drop what stands before the verb: "is slowly picking up a" leaves "picking up a".

    What looks like an auxiliary is the verb where none follows: "being on", "having in her hand".
    """
    start, verb = 0, 0
    while start < len(words) - 1 and (words[start] in text.AUXILIARIES | text.FILLERS or is_adverb(words[start])):
        if words[start] in text.AUXILIARIES and bases(words[start], "verb"):
            verb = start
        start += 1
    return words[verb:] if start and not _begins_a_verb(words[start]) else words[start:]


def _begins_a_verb(word: str) -> bool:
    """Whether an auxiliary may stand before a word; forms of verbs that WordNet lacks are told by their endings."""
    if word in text.PREPOSITIONS | text.DETERMINERS:
        return False
    return bool(bases(word, "verb")) or word.endswith(("ing", "ed"))


def is_adverb(word: str) -> bool:
    """Whether a word only tells how: "slowly", unlike "rely"."""
    return word.endswith("ly") and not bases(word, "verb")


def _essential(words: list[str]) -> list[str]:
    return [word for word in words if word not in _WITH_NOUN and not is_adverb(word)]


def _compound(words: list[str], spelled: str) -> tuple[list[Sense], list[str]]:
    """The senses of a compound that begins some words, and these from its head on.

    WordNet has deep-fry; "hand-feeding a" is feeding a. A compound in its base form is found like any expression.
    """
    for parts in map(text.tokens, spelled.split("_")):
        heads = [head for head in bases(parts[-1], "verb") if head != parts[-1]] if len(parts) > 1 else []
        if heads and words[: len(parts)] == parts:
            why = f'base form of "{"-".join(parts)}"'
            known = [sense for head in heads for sense in find([*parts[:-1], head], "verb")]
            return because(known, why), words[len(parts) - 1 :]
    return [], words


def _of_noun(words: list[str], light: frozenset[str]) -> list[Sense]:
    """The verb that a light verb's noun comes from: "taking a close look at" is looking, "taking for a run" running."""
    if len(words) < 3 or not light.intersection(bases(words[0], "verb")):
        return []
    start = 2 if words[1] == "for" else 1
    end = next((k for k in range(start, len(words)) if words[k] in text.PREPOSITIONS), len(words))
    counted = words[start] in text.DETERMINERS if start < end else False
    if end - start < 1 + counted or not (counted or end < len(words)):
        return []
    if find(_essential(words[:end]), "verb"):
        return []
    # Without an article only what is no plural: "maintenance", not "leaves".
    nouns = bases(words[end - 1], "object") if counted else [words[end - 1]]
    verbs = dict.fromkeys(verb for noun in nouns for verb in lexicon().verbs_of(noun))
    why = f'"{words[end - 1]}" of "{" ".join(words)}"'
    said = [*([verb, f"{words[end - 2]}ly"] for verb in verbs), *([verb] for verb in verbs)]
    return [sense for expression in said for sense in because(find(expression, "verb"), why)]


def _purpose(words: list[str]) -> tuple[list[str], list[Sense]]:
    """Words but for what something is done for, and the senses of that, as far as it is done: "bending to pick up"."""
    for place in (place for place in range(1, len(words) - 1) if words[place] == "to"):
        verb, uses = words[place + 1], lexicon().tag_count
        if verb in bases(verb, "verb") and uses(verb, "v").sum() > uses(verb, "n").sum():
            first = list(takewhile("to".__ne__, words[place + 1 :]))  # a chain of purposes would be a list of guesses
            found = because(verb_senses(first, ""), f'purpose of "{" ".join(words)}"')
            return words[:place], [sense._replace(weight=sense.weight * KIND) for sense in found]
    return words, []


def _expression(words: list[str], spelled: str) -> tuple[list[Sense], bool]:
    """The longest expression that WordNet has from the first word on, and whether only a preposition is left.

    What follows a verb may be no part of its meaning ("wiping out", "flying high"): the verb alone follows.
    """
    for end in range(min(len(words), LONGEST_EXPRESSION), 0, -1):
        senses = find(words[:end], "verb", spelled if end == len(words) else "")
        if not senses and end > 1 and words[end - 1] in EQUAL_PREPOSITIONS:
            senses = find([*words[: end - 1], EQUAL_PREPOSITIONS[words[end - 1]]], "verb")
        if not senses:
            continue
        why = f'verb of "{" ".join(words)}"'
        if end < len(words):
            senses = because(senses, why)
        if _may_be_literal(words[:end], senses[0].lemma):
            weight = KIND if words[end - 1] in _ADVERBIAL else 1
            senses += [sense._replace(weight=weight) for sense in because(find(words[:1], "verb"), why)]
        return senses, end == len(words) or (end > 1 and text.PREPOSITIONS.issuperset(words[end:]))
    return [], False


def _may_be_literal(words: list[str], lemma: str) -> bool:
    """Whether a verb with a particle, which WordNet has as a lemma, may be no idiom: "wiping out the oven"."""
    if len(words) < 2 or lemma in _PHRASAL or _LIGHT.intersection(bases(words[0], "verb")):
        return False
    if words[-1] in _ADVERBIAL or lexicon().adjective_first(words[-1]):
        return bool(lexicon().tag_count(lemma, "v").sum() <= _IDIOM_USES)
    return words[-1] in text.PREPOSITIONS


def because(senses: Iterable[Sense], why: str) -> list[Sense]:
    """Put a reason before those of some senses."""
    return [s._replace(reason=why if s.reason == "as written" else f"{why}, {s.reason}") for s in senses]
