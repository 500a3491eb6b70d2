"""From a predicted word to the labels and WordNet synsets that it may mean, each with the reason.

The rules are SHOE's (section 4 of its paper's supplement), with the choices that it leaves open: the whole expression
first, then for objects the pooled senses of its nouns, for verbs the head verb without its particle.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from shoe.core.errors import unknown_name
from shoe.lexicon import text
from shoe.lexicon.constructions import constructions
from shoe.lexicon.expressions import KIND, LONGEST_EXPRESSION, POS, Part, Sense, bases, distinct, find, with_head
from shoe.lexicon.store import lexicon, per_lexicon, wordnet
from shoe.lexicon.text import noun_forms, verb_forms

# Which label of a dataset a predicted word *is*: the same words in another case, spelling of blanks or inflection.

# Plurals that neither a rule nor WordNet's exception list gives.
_IRREGULAR_PLURALS = {"person": ["people"]}


def match_labels(words: Sequence[str], labels: Sequence[str], part: Part) -> NDArray[np.int32]:
    """Find the label that each word is an inflection of; synonyms do not count.

    "Riding", "is riding" and "rode" are ride, "sitting on" is sit_on, "TVs" is tv, "a ski" is skis; "sitting" is not
    sit_on, "sofa" is not couch. Of a word's alternatives the first that is a label counts.

    Args:
        words: W predicted words; :data:`~shoe.lexicon.text.ALTERNATIVES` separates alternatives of one.
        labels: L labels of the dataset.
        part: "verb" or "object".

    Returns:
        (W,) index of the label, -1 for a word that is no label. An exact match comes before an inflection.
    """
    known = _known(tuple(labels), part)
    found = [[_match(reading, known, part) for reading in text.alternatives(word)] for word in words]
    return np.array([next((label for label in of_word if label >= 0), -1) for of_word in found], np.int32)


@per_lexicon(16)
def _known(labels: tuple[str, ...], part: Part) -> dict[str, int]:
    known: dict[str, int] = {}
    for number, label in enumerate(labels):
        known.setdefault(_joined(text.tokens(text.plain(label))), number)
    for number, label in enumerate(labels):
        for form in _forms(text.tokens(text.plain(label)), part):
            known.setdefault(form, number)
    return known


def _match(word: str, known: dict[str, int], part: Part) -> int:
    if len(word) > text.LONGEST_LABEL:
        return -1
    words = text.tokens(text.plain(word))
    exact = known.get(_joined(words), -1)
    if exact >= 0 or not words:
        return exact
    dropped = text.ARTICLES if part == "object" else text.ARTICLES | text.AUXILIARIES
    start = 0
    while start < len(words) - 1 and words[start] in dropped:
        start += 1
    kept = words[start:]
    found = known.get(_joined(kept), -1)
    if found >= 0:
        return found
    bases = lexicon().exceptions[POS[part]].get(kept[-1 if part == "object" else 0], [])
    forms = (_joined(with_head(kept, base, part)) for base in bases)
    return next((known[form] for form in forms if form in known), -1)


def _forms(label: list[str], part: Part) -> list[str]:
    """Return the regular inflections of a label: of the first word of a verb, of the last word of an object."""
    if not label or text.says_no_interaction(label):
        return []
    if part == "verb":
        forms = verb_forms(label[0])
    else:
        last = label[-1]
        forms = [*noun_forms(last), *_IRREGULAR_PLURALS.get(last, []), *lexicon().base_forms(last, "n")]
    return [_joined(with_head(label, form, part)) for form in forms]


def _joined(words: list[str]) -> str:
    return "".join(words)


# Words in languages other than English: what a lexicon has of them, without the grammar that English has here.

ENGLISH = "en"


def senses_of(words: Sequence[str], part: Part, spelled: str) -> list[Sense]:
    """List the senses of a whole expression, else those of the longest known expressions in it.

    The senses of all expressions of an object are pooled, as in SHOE's paper; of a verb the first one counts. Words
    without meaning (articles, auxiliaries) are skipped unless they are part of an expression.
    """
    store = lexicon()
    whole = _of(spelled, part)
    if whole or not words:
        return whole
    units = [part for word in words for part in _parts(word)] if store.spaced else list("".join(words))
    joint = "_" if store.spaced else ""
    found: list[Sense] = []
    start = 0
    while start < len(units) and not (found and part == "verb"):
        for end in range(min(len(units), start + LONGEST_EXPRESSION), start, -1):
            if end - start == 1 and units[start] in store.passed_over:
                continue
            if senses := _of(joint.join(units[start:end]), part):
                why = f'part of "{" ".join(words)}"'
                found += [sense._replace(reason=f"{why}, {sense.reason}") for sense in senses]
                start = end - 1
                break
        start += 1
    return distinct(found)


def _parts(word: str) -> list[str]:
    """Split an elided word without meaning off a word: "s'asseoir"."""
    first, mark, rest = word.partition("'")
    return [rest] if mark and rest and first in lexicon().passed_over else [word]


def _of(written: str, part: Part) -> list[Sense]:
    """Return the senses of one expression and of its base forms; it is inflected as a whole, or on its first word."""
    store, pos = lexicon(), POS[part]
    first, blank, rest = written.partition("_")
    forms = [*store.base_forms(written, pos), *(base + blank + rest for base in store.base_forms(first, pos) if blank)]
    return [
        Sense(sense, form, "as written" if form == written else f'base form of "{written}"')
        for form in dict.fromkeys(forms)
        for sense in store.senses(form, pos).tolist()
    ]


# WordNet's definitions of verbs as ways of saying the verb: "look over carefully" is inspect.
#
# A predicate is looked up whole, without articles and adverbs, and by each noun in it: what is done with the tongue is
# what definitions that mention the tongue say.

LONGEST_DEFINITION = 5
"""Words of the longest expression that is kept, articles and possessives not counted."""

EQUAL_PREPOSITIONS = dict(pair.split("=") for pair in text.WORD_CLASSES["equal_prepositions"])
"""Prepositions that say the same after a verb, to the one that WordNet's verbs have: "climb aboard", "climb on"."""

_SKIPPED = text.DETERMINERS | text.WORD_CLASSES["placeholders"]
_EMPTY = _SKIPPED | text.PREPOSITIONS | text.PARTICLES | text.CONJUNCTIONS | text.AUXILIARIES | text.NEGATIONS


def singular(word: str) -> str:
    """Remove a plural's -s, in definitions and in what is looked up in them alike."""
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def is_content(word: str) -> bool:
    """Whether a word in a definition may be a noun that tells which verb it defines."""
    return word not in _EMPTY and not word.endswith(("ing", "ly"))


def canonical(words: Sequence[str]) -> list[str]:
    """Remove words in which a definition and its use may differ: "put one's lips onto" is put, on, lip."""
    kept = [EQUAL_PREPOSITIONS.get(word, word) for word in words[1:] if word not in _SKIPPED]
    kept = [singular(word) for word in kept if not word.endswith("ly")]
    # A preposition at the end waits for its object, which is not part of the expression.
    while len(kept) > 1 and kept[-1] in text.PREPOSITIONS:
        kept.pop()
    return [words[0], *kept]


def defined_by(words: Sequence[str]) -> list[Sense]:
    """Find the verb senses whose definition equals a predicate in any form of its verb; then those sharing a noun."""
    phrases = [" ".join(canonical([base, *words[1:]])) for base in bases(words[0], "verb")]
    reasons = {phrase: f'definition "{phrase}"' for phrase in phrases if " " in phrase}
    store = lexicon()
    for word, after in pairwise([*words[1:], ""]):
        describes = after and after not in _EMPTY and store.adjective_first(word)  # "a good brushing"
        if is_content(word) and not describes:
            reasons[singular(word)] = f'"{word}" in its definition'
    return [Sense(s, store.lemmas(s)[0], why) for phrase, why in reasons.items() for s in store.defined(phrase)]


# What a predicted verb may mean: expressions, particles, light verbs, compounds and definitions of WordNet.

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
    """List the senses of a verb of one or several words, best first; ``spelled`` is the verb as written."""
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
    """Remove auxiliaries and adverbs before the verb: "is slowly picking up a" becomes "picking up a".

    An auxiliary without a verb after it is the verb itself: "being on", "having in her hand".
    """
    start, verb = 0, 0
    while start < len(words) - 1 and (words[start] in text.AUXILIARIES | text.FILLERS or is_adverb(words[start])):
        if words[start] in text.AUXILIARIES and bases(words[start], "verb"):
            verb = start
        start += 1
    return words[verb:] if start and not _begins_a_verb(words[start]) else words[start:]


def _begins_a_verb(word: str) -> bool:
    """Return whether a word can follow an auxiliary as a verb; verbs unknown to WordNet are recognised by endings."""
    if word in text.PREPOSITIONS | text.DETERMINERS:
        return False
    return bool(bases(word, "verb")) or word.endswith(("ing", "ed"))


def is_adverb(word: str) -> bool:
    """Return whether a word is an adverb of manner: "slowly", unlike "rely"."""
    return word.endswith("ly") and not bases(word, "verb")


def _essential(words: list[str]) -> list[str]:
    return [word for word in words if word not in _WITH_NOUN and not is_adverb(word)]


def _compound(words: list[str], spelled: str) -> tuple[list[Sense], list[str]]:
    """Return the senses of a compound at the start of some words, and the words from its head on.

    WordNet has deep-fry; "hand-feeding a" becomes feeding a. A compound in its base form is found like any expression.
    """
    for parts in map(text.tokens, spelled.split("_")):
        heads = [head for head in bases(parts[-1], "verb") if head != parts[-1]] if len(parts) > 1 else []
        if heads and words[: len(parts)] == parts:
            why = f'base form of "{"-".join(parts)}"'
            known = [sense for head in heads for sense in find([*parts[:-1], head], "verb")]
            return because(known, why), words[len(parts) - 1 :]
    return [], words


def _of_noun(words: list[str], light: frozenset[str]) -> list[Sense]:
    """Return the verb of a light verb's noun: "taking a close look at" is looking, "taking for a run" running."""
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
    """Return the words without their purpose, and the senses of the purpose with its weight: "bending to pick up"."""
    for place in (place for place in range(1, len(words) - 1) if words[place] == "to"):
        verb, uses = words[place + 1], lexicon().tag_count
        if verb in bases(verb, "verb") and uses(verb, "v").sum() > uses(verb, "n").sum():
            first = list(takewhile("to".__ne__, words[place + 1 :]))  # a chain of purposes would be a list of guesses
            found = because(verb_senses(first, ""), f'purpose of "{" ".join(words)}"')
            return words[:place], [sense._replace(weight=sense.weight * KIND) for sense in found]
    return words, []


def _expression(words: list[str], spelled: str) -> tuple[list[Sense], bool]:
    """Return the longest known expression from the first word on, and whether only a preposition is left.

    Words after a verb may not belong to its meaning ("wiping out", "flying high"): the senses of the verb alone follow.
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
    """Return whether a verb with a particle that WordNet has may be meant literally: "wiping out the oven"."""
    if len(words) < 2 or lemma in _PHRASAL or _LIGHT.intersection(bases(words[0], "verb")):
        return False
    if words[-1] in _ADVERBIAL or lexicon().adjective_first(words[-1]):
        return bool(lexicon().tag_count(lemma, "v").sum() <= _IDIOM_USES)
    return words[-1] in text.PREPOSITIONS


def because(senses: Iterable[Sense], why: str) -> list[Sense]:
    """Put a text before the reasons of some senses."""
    return [s._replace(reason=why if s.reason == "as written" else f"{why}, {s.reason}") for s in senses]


ObjectWords = Literal["phrase-first", "pooled", "head", "phrase"]

# What stands before "of" in these says how many or how much, not what.
_MEASURES = text.WORD_CLASSES["measures"]
# Words that only describe; also nouns in WordNet, one of them a class ("orange cat" is no fruit).
_DESCRIPTIVE = text.WORD_CLASSES["descriptive"]
# A participle before a noun describes it ("parked car"), unless tagged texts know it well as a noun ("building").
_NOUN_USES = 5
_TABLES = Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A synset that a word may mean.

    Attributes:
        synset: its number in the lexicon.
        lemma: the lemma that led to it.
        reason: the rule that led to it, in a few words.
        weight: share of the sense's meaning that the word has: 1, or less where it names a kind or a part of it.
    """

    synset: int
    name: str
    lemma: str
    reason: str
    weight: float = 1


@dataclass(frozen=True, slots=True)
class Resolution:
    """Candidate synsets of a word in order of preference; none if the lexicon does not know it."""

    word: str
    part: Part
    candidates: tuple[Candidate, ...]


def resolve(word: str, part: Part, object_words: ObjectWords = "phrase-first") -> Resolution:
    """Find the synsets that a predicted verb or object may mean.

    >>> [candidate.name for candidate in resolve("hot dogs", "object").candidates]
    ['hotdog.n.01', 'hotdog.n.02', 'frank.n.02']

    "no interaction" has no synset, and neither has a negated verb.

    Args:
        word: predicted word in any case, inflected, with underscores, hyphens or blanks, with particle or modifiers; of
            alternatives ("laptop / desk") the candidates of each, in order.
        part: "verb" or "object".
        object_words: rule for an object of several words: "phrase-first" (the whole, else its nouns pooled), "pooled"
            (each word, as in SHOE's paper), "head" (the last word), "phrase" (the whole or nothing).

    Raises:
        OptionError: if ``object_words`` is none of these.
    """
    if object_words not in get_args(ObjectWords):
        raise unknown_name("object-words", object_words, get_args(ObjectWords))
    return _resolved(word, part, object_words)


@per_lexicon(10_000)
def _resolved(word: str, part: Part, object_words: ObjectWords) -> Resolution:
    readings = text.alternatives(word)
    senses = distinct(sense for reading in readings for sense in _senses(reading, part, object_words))
    name = lexicon().name
    counts = ("" if sense.weight == 1 else f", counts {sense.weight:g}" for sense in senses)
    candidates = (
        Candidate(s.synset, name(s.synset), s.lemma, s.reason + count, s.weight)
        for s, count in zip(senses, counts, strict=True)
    )
    return Resolution(word, part, tuple(candidates))


def _senses(reading: str, part: Part, object_words: ObjectWords) -> Iterable[Sense]:
    written = text.plain(reading) if len(reading) <= text.LONGEST_LABEL else ""
    words = text.tokens(written)
    if text.says_no_interaction(words):
        return []
    spelled = text.spelled(written)
    if lexicon().language != ENGLISH:
        return senses_of(words, part, spelled)
    found = list(verb_senses(words, spelled) if part == "verb" else _object(words, spelled, object_words))
    split = text.at_capitals(reading)
    return found if found or split == reading else _senses(split, part, object_words)


def lexicon_facts() -> dict[str, str]:
    """Return the lexicon's entries in signatures: its name, unless it is WordNet, and its digest."""
    used = lexicon()
    named = {} if used is wordnet() else {"lexicon": used.label}
    return named | {"lexicon-sha": lexicon_digest()}


@per_lexicon(None)
def lexicon_digest() -> str:
    """Return 8 hex digits of the lexicon and the tables, which decide what a word resolves to."""
    digest = hashlib.sha256(lexicon().digest.encode())
    for path in sorted([*_TABLES.glob("*.tsv"), _TABLES / "word_classes.txt"]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


def _object(words: list[str], spelled: str, how: ObjectWords) -> Iterable[Sense]:
    if how == "pooled":
        found = [sense for word in words for sense in find([word], "object")]
        return because(found, f'word of "{" ".join(words)}"') if len(words) > 1 else found
    phrase = without_determiners(_without_joined(words, spelled))
    while len(phrase) > 1 and phrase[-1].isdigit():
        phrase.pop()
    if how == "head":
        head = _noun_groups(phrase)[0][-1:] if phrase else []
        return because(find(head, "object"), f'head of "{" ".join(words)}"') if head != words else find(head, "object")
    whole = find(words, "object", spelled) or find(phrase, "object")
    if how == "phrase":
        return whole
    owners = [_owner(word) for word in phrase]
    if whole:
        # The noun of a fixed expression may be meant literally: "big apple" is a city, or an apple.
        literal = find(phrase[1:], "object") if len(phrase) == 2 and phrase[0] in _DESCRIPTIVE else []
        senses = [*whole, *because(literal, f'head of "{" ".join(phrase)}"')]
        return senses if "of" not in phrase and owners == phrase else [*senses, *_pooled(words, owners)]
    return _pooled(words, owners)


def _owner(word: str) -> str:
    """Remove the possessive ending of an owner: "horse" of "horse's reins"."""
    owner, store = word.removesuffix("'s"), lexicon()
    senses = [store.senses(base, "n").tolist()[0] for base in bases(owner, "object")] if owner != word else []
    return owner if senses and store.lexname(senses[0]) != "noun.person" else word


def _pooled(words: list[str], phrase: list[str]) -> list[Sense]:
    return [sense for rank, group in enumerate(_noun_groups(phrase)) for sense in _nouns(words, group, rank == 0)]


def _nouns(words: list[str], group: list[str], main: bool) -> Iterable[Sense]:
    """Pool the senses of the longest known expressions of a noun group, from its head leftwards, without modifiers."""
    end = len(group)
    while end > 0:
        for start in range(max(0, end - LONGEST_EXPRESSION), end):
            known = group[start:end]
            if end < len(group) and describes(known):
                continue
            senses = find(known, "object")
            if senses:
                head = main and end == len(group)
                senses = because(senses, f'{"head" if head else "part"} of "{" ".join(words)}"')
                yield from senses if head else [s._replace(weight=KIND) for s in senses]
                end = start + 1
                break
        end -= 1


def describes(words: list[str]) -> bool:
    """Return whether words before a noun describe it rather than name it."""
    if all(word in _DESCRIPTIVE or word in text.CONJUNCTIONS for word in words):
        return True
    if len(words) > 1:
        return False
    word, store = words[0], lexicon()
    if word in text.DETERMINERS or word.isdigit() or word.endswith(("'s", "'")) or store.adjective_first(word):
        return True
    participle = word.endswith(("ing", "ed")) and any(base != word for base in bases(word, "verb"))
    return participle and bool(store.tag_count(word, "n").sum() < _NOUN_USES)


def _without_joined(words: list[str], spelled: str) -> list[str]:
    """Remove a modifier that hyphens join to a preposition: "carry-on" of "carry-on bag"."""
    *before, last = spelled.split("_") if "-" in spelled else [""]
    joined = [parts for parts in map(text.tokens, before) if len(parts) == 1 or text.PREPOSITIONS.isdisjoint(parts)]
    return [*(word for parts in joined for word in parts), *text.tokens(last)] if before else words


def without_determiners(words: list[str]) -> list[str]:
    """Remove articles, possessives and numbers before a noun; a last word stays."""
    start = 0
    while start < len(words) - 1 and (words[start] in text.DETERMINERS or words[start].isdigit()):
        start += 1
    return words[start:]


def _noun_groups(phrase: list[str]) -> list[list[str]]:
    """Split a noun phrase at "of", without measures and without nouns of other prepositions.

    "bowl of soup on a table" is bowl, soup; "slice of pizza" is pizza.
    """
    groups: list[list[str]] = [[]]
    for index, word in enumerate(phrase):
        if not index or word not in text.PREPOSITIONS:
            groups[-1].append(word)
        elif word == "of":
            groups.append([])
        else:
            break
    groups = [without_determiners(group) for group in groups if group]
    return [group for group in groups[:-1] if group[-1] not in _MEASURES] + groups[-1:]
