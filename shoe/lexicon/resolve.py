"""From a predicted word to the WordNet synsets that it may mean, each with the reason.

The rules are SHOE's (section 4 of its paper's supplement), with the choices that it leaves open: the whole expression
first, then for objects the pooled senses of its nouns, for verbs the head verb without its particle.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from shoe.core.errors import unknown_name
from shoe.lexicon import text
from shoe.lexicon.expressions import KIND, LONGEST_EXPRESSION, Sense, bases, distinct, find
from shoe.lexicon.expressions import Part as Part
from shoe.lexicon.other_languages import ENGLISH, senses_of
from shoe.lexicon.predicates import because, verb_senses
from shoe.lexicon.store import lexicon, per_lexicon, wordnet

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
        name: its name there.
        lemma: the lemma that led to it.
        reason: how, in a few words.
        weight: how much of its meaning the word says: 1, and less where it names a kind or a part of it.
    """

    synset: int
    name: str
    lemma: str
    reason: str
    weight: float = 1


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a word may mean: candidates in order of preference, none if the lexicon does not know it."""

    word: str
    part: Part
    candidates: tuple[Candidate, ...]


def resolve(word: str, part: Part, object_words: ObjectWords = "phrase-first") -> Resolution:
    """Find the synsets that a predicted verb or object may mean.

    >>> [candidate.name for candidate in resolve("hot dogs", "object").candidates]
    ['hotdog.n.01', 'hotdog.n.02', 'frank.n.02']

    "no interaction" resolves to nothing, as does a negated verb.

    Args:
        word: as predicted: any case, inflected, with underscores, hyphens or blanks, with particle or modifiers; of
            alternatives ("laptop / desk") the candidates of each, in order.
        part: whether it is the verb or the object of an interaction.
        object_words: what is asked of an object of several words: "phrase-first" (the whole, else its nouns pooled),
            "pooled" (each word, as SHOE's paper), "head" (the last word), "phrase" (the whole or nothing).

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
    """What signatures say of the lexicon in use: its name, unless it is WordNet, and its digest."""
    used = lexicon()
    named = {} if used is wordnet() else {"lexicon": used.label}
    return named | {"lexicon-sha": lexicon_digest()}


@per_lexicon(None)
def lexicon_digest() -> str:
    """8 hex digits of the compiled lexicon and the tables: what they resolve a word to can move a semantic figure."""
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
    """A thing or animal without the possessive ending of what it has as a part: "horse" of "horse's reins"."""
    owner, store = word.removesuffix("'s"), lexicon()
    senses = [store.senses(base, "n").tolist()[0] for base in bases(owner, "object")] if owner != word else []
    return owner if senses and store.lexname(senses[0]) != "noun.person" else word


def _pooled(words: list[str], phrase: list[str]) -> list[Sense]:
    return [sense for rank, group in enumerate(_noun_groups(phrase)) for sense in _nouns(words, group, rank == 0)]


def _nouns(words: list[str], group: list[str], main: bool) -> Iterable[Sense]:
    """Pool the longest known expressions of a noun group, from its head leftwards, without what only describes."""
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
    """Whether words before a noun tell of it what it is like, not what it is."""
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
    """Drop a modifier that hyphens join to a preposition, which brings in nothing: "carry-on" of "carry-on bag"."""
    *before, last = spelled.split("_") if "-" in spelled else [""]
    joined = [parts for parts in map(text.tokens, before) if len(parts) == 1 or text.PREPOSITIONS.isdisjoint(parts)]
    return [*(word for parts in joined for word in parts), *text.tokens(last)] if before else words


def without_determiners(words: list[str]) -> list[str]:
    """Drop articles, possessives and numbers before a noun; a last word stays."""
    start = 0
    while start < len(words) - 1 and (words[start] in text.DETERMINERS or words[start].isdigit()):
        start += 1
    return words[start:]


def _noun_groups(phrase: list[str]) -> list[list[str]]:
    """Split a noun phrase at "of", without what only measures and what another preposition brings in.

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
