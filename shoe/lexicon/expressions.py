"""Look-up of one expression of one or several words in WordNet and the aliases, in every spelling."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import product
from typing import Literal, NamedTuple

from shoe.lexicon.store import Pos, lexicon, per_lexicon
from shoe.lexicon.text import PREPOSITIONS, american, noun_forms, table_rows, undoubled, verb_forms

Part = Literal["verb", "object"]
POS: dict[Part, Pos] = {"verb": "v", "object": "n"}

LONGEST_EXPRESSION = 5
"""Words of the longest expression that is looked up."""

_NO_JOINTS = str.maketrans("", "", "_-")

KIND = 0.75
"""What a sense counts where only a kind, a make or a part of it is named: raters give such 3 of 4."""

WEIGHTS = {"same": 1, "kind": KIND, "half": 0.5}
"""What the senses in the lexicon's tables count by how they relate to the word."""

RARE = 0.8
"""What a sense counts that a word hardly ever has, unless the best of all is asked for."""

# A lemma is well known if WordNet's tagged texts use it so often; a sense of so small a share of its uses then is rare.
_KNOWN_USES = 5
_RARE_SHARE = 0.05


class Sense(NamedTuple):
    """A synset that an expression may mean, the lemma and the rule that led to it, and its weight 0..1."""

    synset: int
    lemma: str
    reason: str
    weight: float = 1


def find(words: list[str], part: Part, spelled: str = "") -> list[Sense]:
    """Return the senses of an expression: those of its aliases, then WordNet's of each spelling and base form.

    ``spelled``, the expression as written with underscores for blanks, is tried before other spellings.
    """
    if not words or (len(words) > LONGEST_EXPRESSION and not lexicon().has(spelled, POS[part])):
        return []
    return list(_find(tuple(words), part, spelled))


@per_lexicon(10_000)
def _find(words: tuple[str, ...], part: Part, spelled: str) -> tuple[Sense, ...]:
    found = _found(list(words), part, spelled)
    if found:
        return tuple(found)
    variants = [[word, *american(word)] for word in words]
    for variant in list(product(*variants))[1:9]:
        found = _found(list(variant), part, "")
        if found:
            spelling = f'American spelling "{" ".join(variant)}"'
            return tuple(s._replace(reason=f"{spelling}, {s.reason}") for s in found)
    return ()


@per_lexicon(10_000)
def bases(word: str, part: Part) -> tuple[str, ...]:
    """Return the lemmas that a single word may be a form of.

    These are morphy's, without verbs that English inflects otherwise ("hoping" is no form of hop, "bed" none of be),
    and with doubled consonants and spellings that morphy does not know ("blogging", "practising").
    """
    store = lexicon()
    found = store.base_forms(word, POS[part])
    if part == "object" or word in store.exceptions["v"]:
        return tuple(found)
    if not found:
        base = undoubled(word)
        respelled = (bases(spelling, part) for spelling in american(word))
        return (base,) if base and store.has(base, "v") else next(filter(None, respelled), ())
    return (word,) if word in found else tuple(base for base in found if word in verb_forms(base)) or tuple(found)


def _found(words: list[str], part: Part, spelled: str) -> list[Sense]:
    store, written = lexicon(), spelled or "_".join(words)
    senses = [
        Sense(store.synset(name), lemma, f"alias: {why}", weight)
        for lemma in _alias_keys(words, part)
        for name, weight, why in _aliases(part).get(lemma, [])
        if store.synset(name) >= 0
    ]
    for lemma in _lemmas(words, part, spelled):
        reason = f'base form of "{" ".join(words)}"'
        if lemma == written:
            reason = "as written"
        elif lemma.translate(_NO_JOINTS) == "".join(words):
            reason = f'spelled "{lemma}"'
        senses += [Sense(synset, lemma, reason) for synset in store.senses(lemma, POS[part]).tolist()]
    return distinct(senses)


def distinct(senses: Iterable[Sense]) -> list[Sense]:
    """Return each sense once, at its first place, with its largest weight; common senses come before rare ones."""
    best: dict[int, Sense] = {}
    for sense in senses:
        other = best.setdefault(sense.synset, sense)
        if other is not sense and _counts(sense) > _counts(other):
            best[sense.synset] = sense
    return list(best.values())


def _counts(sense: Sense) -> tuple[float, bool]:
    return sense.weight, not is_rare(sense.lemma, sense.synset)


def is_rare(lemma: str, synset: int) -> bool:
    """Return whether WordNet's tagged texts use a lemma, but hardly ever in this sense ("squeeze" as hug)."""
    return synset in _rare_senses(lemma, lexicon().pos(synset))


@per_lexicon(10_000)
def _rare_senses(lemma: str, pos: Pos) -> frozenset[int]:
    counts = lexicon().tag_count(lemma, pos)
    uses = counts.sum()
    return frozenset(lexicon().senses(lemma, pos)[counts <= _RARE_SHARE * uses].tolist() if uses >= _KNOWN_USES else ())


def _lemmas(words: list[str], part: Part, spelled: str) -> list[str]:
    """Return WordNet's lemmas for an expression in any spelling, inflected on its head."""
    store, pos = lexicon(), POS[part]
    if len(words) == 1:
        lemmas = [spelled, *bases(spelled, part), *bases(words[0], part)]
        return [lemma for lemma in dict.fromkeys(lemmas) if store.has(lemma, pos)]
    heads = [words[-1 if part == "object" else 0]]
    heads += [base for base in bases(heads[0], part) if base != heads[0]]
    # "being at" is no form of "beat", nor "going at" of "goat".
    joints = ("_", "-") if words[-1] in PREPOSITIONS else ("_", "-", "")
    forms = [joint.join(with_head(words, head, part)) for joint in joints for head in heads]
    return [form for form in dict.fromkeys([spelled, *forms]) if store.has(form, pos)]


def with_head(words: list[str], head: str, part: Part) -> list[str]:
    """Replace the head of an expression by another form: the last word of a noun, the first of a verb."""
    return [*words[:-1], head] if part == "object" else [head, *words[1:]]


def _alias_keys(words: list[str], part: Part) -> list[str]:
    inflected = _alias_forms(part)
    head = words[-1] if part == "object" else words[0]
    forms = ["_".join(words), "".join(words), *("_".join(with_head(words, base, part)) for base in bases(head, part))]
    return list(dict.fromkeys(inflected[form] for form in forms if form in inflected))


@cache
def _aliases(part: Part) -> dict[str, list[tuple[str, float, str]]]:
    """Return, for each alias, its synsets: name, weight and reason."""
    return {
        word: [(name, WEIGHTS[relation], why) for name in names.split()]
        for where, word, names, relation, why in table_rows("aliases.tsv")
        if where == part
    }


@cache
def _alias_forms(part: Part) -> dict[str, str]:
    head, forms_of = (-1, noun_forms) if part == "object" else (0, verb_forms)
    split = [(alias, alias.split("_")) for alias in _aliases(part)]
    # Of compounds that are verbs the end is inflected: "blow-dried", "high-fives".
    verbs = split if head == 0 else []
    ends = {"_".join([*words[:-1], form]): alias for alias, words in verbs for form in verb_forms(words[-1])}
    forms = {"_".join(with_head(words, form, part)): alias for alias, words in split for form in forms_of(words[head])}
    return ends | forms
