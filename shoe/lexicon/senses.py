"""Senses of a word or expression in any spelling, from the lexicon and from tables of aliases and constructions."""

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import product
from typing import Literal, NamedTuple

import numpy as np

from shoe.core.arrays import Floats, Mask
from shoe.lexicon import text
from shoe.lexicon.store import Pos, lexicon, per_lexicon
from shoe.lexicon.text import PREPOSITIONS, american, noun_forms, table_rows, undoubled, verb_forms

Part = Literal["verb", "object"]
POS: dict[Part, Pos] = {"verb": "v", "object": "n"}

_NO_JOINTS = str.maketrans("", "", "_-")

KIND = 0.75
"""Weight of a sense if the word names only a kind, a make or a part of the sense; raters give such pairs 3 of 4."""

WEIGHTS = {"own": 1, "same": 1, "kind": KIND, "half": 0.5}
"""Weight of a sense for each relation between word and sense in the tables of ``data/``."""

RARE = 0.8
"""Weight of a rare sense of a word under `sense=likely`."""

# A lemma with _KNOWN_USES uses in WordNet's tagged texts has rare senses: those with at most _RARE_SHARE of these uses.
_KNOWN_USES = 5
_RARE_SHARE = 0.05


class Sense(NamedTuple):
    """One synset that an expression may mean.

    Attributes:
        lemma: lemma by which the synset was found.
        reason: rule that led to the synset, in a few words.
        weight: factor 0..1 for similarities; below 1 if the expression means only a kind or a part of the synset.
        own: whether the expression, in any spelling, is a lemma of the synset. Other senses are additions of shoe, from
            aliases, definitions and constructions; they are not used for labels of the dataset, nor with the protocol
            option ``partial=full``.
    """

    synset: int
    lemma: str
    reason: str
    weight: float = 1
    own: bool = True

    @property
    def name(self) -> str:
        """Name of the synset in the active lexicon."""
        return lexicon().name(self.synset)


def find(words: list[str], part: Part, spelled: str = "") -> list[Sense]:
    """Return the senses of an expression in any spelling: first from the table of aliases, then from the lexicon.

    ``words`` are in lower case; ``spelled``, the expression as written with underscores for blanks, precedes other
    spellings. American spellings are tried only if the words as given have no sense. An unknown expression has no
    senses, nor has an expression of more than five words, unless ``spelled`` is a lemma.
    """
    if not words or (len(words) > text.LONGEST_EXPRESSION and not lexicon().has(spelled, POS[part])):
        return []
    return list(_find(tuple(words), part, spelled))


@per_lexicon(10_000)
def _find(words: tuple[str, ...], part: Part, spelled: str) -> tuple[Sense, ...]:
    if found := _found(list(words), part, spelled):
        return tuple(found)
    for variant in list(product(*([word, *american(word)] for word in words)))[1:9]:
        if found := _found(list(variant), part, ""):
            spelling = f'American spelling "{" ".join(variant)}"'
            return tuple(s._replace(reason=f"{spelling}, {s.reason}") for s in found)
    return ()


@per_lexicon(10_000)
def bases(word: str, part: Part) -> tuple[str, ...]:
    """Return the lemmas that a single word may be a form of; () if there are none.

    The lemmas are those of WordNet's morphy, except verbs that do not have this form (morphy gives hop for "hoping").
    A verb lemma has only itself as base, unless it is also an irregular form ("saw"). Some forms that morphy does not
    recognise ("blogging", "practising") are resolved, too.
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
    inflected, head = _alias_forms(part), words[-1 if part == "object" else 0]
    forms = ["_".join(words), "".join(words), *("_".join(with_head(words, base, part)) for base in bases(head, part))]
    senses = [
        Sense(store.synset(name), alias, f"alias: {why}", WEIGHTS[relation], relation == "own")
        for alias in dict.fromkeys(inflected[form] for form in forms if form in inflected)
        for name, relation, why in _aliases(part)[alias]
        if store.synset(name) >= 0
    ]
    for lemma in _lemmas(words, part, spelled):
        same = lemma.translate(_NO_JOINTS) == "".join(words)
        reason = f'spelled "{lemma}"' if same else f'base form of "{" ".join(words)}"'
        reason = "as written" if lemma == written else reason
        senses += [Sense(synset, lemma, reason) for synset in store.senses(lemma, POS[part]).tolist()]
    return distinct(senses)


def distinct(senses: Iterable[Sense]) -> list[Sense]:
    """Return one sense per synset, in the order of first appearance of the synsets.

    Of several senses with the same synset, the sense with the highest weight is returned; on a tie, a sense that is not
    rare. Its ``own`` is true if it is true for any of these senses.
    """
    best: dict[int, Sense] = {}
    for sense in senses:
        other = best.setdefault(sense.synset, sense)
        if other is not sense:
            kept = max(other, sense, key=lambda each: (each.weight, not is_rare(each.lemma, each.synset)))
            best[sense.synset] = kept._replace(own=sense.own or other.own)
    return list(best.values())


def is_rare(lemma: str, synset: int) -> bool:
    """Return whether at most 5 % of a lemma's uses in WordNet's tagged texts have this sense ("squeeze" as hug).

    False for a lemma with fewer than five uses.
    """
    return synset in _rare_senses(lemma, lexicon().pos(synset))


@per_lexicon(10_000)
def _rare_senses(lemma: str, pos: Pos) -> frozenset[int]:
    counts = lexicon().tag_count(lemma, pos)
    uses = counts.sum()
    return frozenset(lexicon().senses(lemma, pos)[counts <= _RARE_SHARE * uses].tolist() if uses >= _KNOWN_USES else ())


def _lemmas(words: list[str], part: Part, spelled: str) -> list[str]:
    """Return the lexicon's lemmas for an expression in any spelling, also for an inflected head."""
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
    """Return the words with the last word (of an object) or the first word (of a verb) replaced by ``head``."""
    return [*words[:-1], head] if part == "object" else [head, *words[1:]]


@cache
def _aliases(part: Part) -> dict[str, list[tuple[str, str, str]]]:
    """Return {alias: [(synset name, relation, reason) of each synset]} for verbs or objects."""
    return {
        word: [(name, relation, why) for name in names.split()]
        for where, word, names, relation, why in table_rows("aliases.tsv")
        if where == part
    }


@cache
def _alias_forms(part: Part) -> dict[str, str]:
    head, forms_of = (-1, noun_forms) if part == "object" else (0, verb_forms)
    split = [(alias, alias.split("_")) for alias in _aliases(part)]
    verbs = split if head == 0 else []  # of compounds the end is inflected: "blow-dried", "high-fives"
    ends = {"_".join([*words[:-1], form]): alias for alias, words in verbs for form in verb_forms(words[-1])}
    forms = {"_".join(with_head(words, form, part)): alias for alias, words in split for form in forms_of(words[head])}
    return ends | forms


# Constructions: meanings of a verb with its preposition or noun, as "stepping off" (leave) or "drying with" (use).
#
# Each row of ``data/constructions.tsv`` defines a construction by its verbs, nouns and prepositions; a predicate must
# match all three columns. A verb is a lemma, a verb sense (matches its hyponyms), or a noun sense (matches verbs of
# motion derived from such nouns: "skateboard"). A noun is a sense and matches its hyponyms. A preposition is a word or
# a spatial relation ("on" for "on top of"). "*" matches anything, also a missing word.

# Spatial relations: agreement between the preposition of a verb and that of a class.


def preposition_weights(classes: Sequence[str], verbs: Sequence[str]) -> Floats:
    """Return (C, W) factors 0..1 for the agreement of the prepositions of C class verbs and W predicted verbs.

    For stand_under and "standing near", the factor is 0.5; for ride and "riding past", 0.25. It is 1 if the predicted
    verb has no spatial preposition, if the class verb has none and is no verb of motion, or if preposition_pairs.tsv
    does not list the two prepositions. It is also 1 if the class verb has none and a construction defines the predicted
    verb ("walking beside" is taking for a walk). Of several alternatives in a predicted verb, the one with the highest
    factor counts.
    """
    of_class = [relation(label) or ("-" if _moves(label) else "") for label in classes]
    weights = np.ones((len(classes), len(verbs)))
    if any(of_class):
        said = [[relation(reading) for reading in text.alternatives(verb)] for verb in verbs]
        for w in (w for w, relations in enumerate(said) if all(relations)):
            readings = (text.plain(each[: text.LONGEST_LABEL]) for each in text.alternatives(verbs[w]))
            is_defined = any(constructions(text.tokens(reading)) for reading in readings)
            for c in (c for c, own in enumerate(of_class) if own and not (own == "-" and is_defined)):
                weights[c, w] = max(_weights().get(frozenset((of_class[c], other)), 1) for other in said[w])
    return weights


def _moves(label: str) -> bool:
    """Return whether the first sense of a class verb is a motion."""
    first = [sense for word in text.tokens(text.plain(label))[:1] for sense in _first_senses(word)]
    return bool(first) and _is_motion(first[0])


def takes_tool(classes: Sequence[str]) -> Mask:
    """Return a (C,) mask of the class verbs that end in "with" (cut_with), so that their object is a tool."""
    return np.array([text.tokens(label)[-1:] == ["with"] for label in classes], bool)


@lru_cache(maxsize=10_000)
def relation(verb: str) -> str:
    """Return the spatial relation that follows the first word of a verb: "near" for "sitting beside"; "" for none."""
    words, relations = text.tokens(text.plain(verb[: text.LONGEST_LABEL])), _relations()
    spans = ("_".join(words[start : start + size]) for start in range(1, len(words)) for size in (3, 2, 1))
    return next((relations[span] for span in spans if relations.get(span)), "")


@cache
def _relations() -> dict[str, str]:
    return {word: relation for relation, words in text.table_rows("prepositions.tsv") for word in words.split()}


@cache
def _weights() -> dict[frozenset[str], float]:
    return {frozenset(pair): float(weight) for *pair, weight, _ in text.table_rows("preposition_pairs.tsv")}


_NOUN_SENSES = 3  # only the first count: almost any noun could be a tool in a rare sense


def constructions(words: Sequence[str]) -> list[Sense]:
    """Return the verb senses that fit a predicate by patterns of verb, noun and preposition; [] if no pattern fits.

    The patterns are in constructions.tsv: a verb of motion with "off" ("stepping off") has the sense exit.v.01.
    ``words`` is the predicate in lower case; a predicate that starts with a preposition ("on") is read as "be on".
    """
    if not words:
        return []
    if words[0] in text.PREPOSITIONS:
        words = ["be", *words]
    place, relations = relation(" ".join(words)), _relations().values()
    after = {place, *(word for word in words[1:] if word not in relations)}
    return [
        sense
        for verbs, nouns, prepositions, senses in _constructions()
        if prepositions == ["*"] or after.intersection(prepositions)
        if verbs == ["*"] or any(_is_verb(words[0], verb) for verb in verbs)
        if nouns == ["*"] or any(is_kind(word, noun) for word in words[1:] for noun in nouns)
        for sense in senses
    ]


def _is_verb(word: str, verb: str) -> bool:
    # ``verb`` is a lemma (the word is a form of it), a verb sense (the word's first sense is equal or a hyponym), or a
    # noun sense (the word is a verb of motion with a lemma that is such a noun).
    if "." not in verb:
        return verb in bases(word, "verb")
    store = lexicon()
    first = _first_senses(word)
    if ".v." in verb:
        return any(store.synset(verb) in with_ancestors(sense) for sense in first)
    return any(is_kind(lemma, verb) for sense in filter(_is_motion, first) for lemma in store.lemmas(sense))


def _first_senses(word: str) -> list[int]:
    """Return the first sense of each verb lemma that a word may be a form of."""
    return [int(lexicon().senses(lemma, "v")[0]) for lemma in bases(word, "verb")]


def _is_motion(sense: int) -> bool:
    return lexicon().lexname(sense) == "verb.motion"


def is_kind(word: str, noun: str) -> bool:
    """Return whether one of the first three senses of ``word`` is the synset named ``noun``, or a hyponym of it."""
    store = lexicon()
    found = [store.senses(base, "n").tolist()[:_NOUN_SENSES] for base in bases(word, "object")]
    return any(store.synset(noun) in with_ancestors(sense) for senses in found for sense in senses)


def are_alike(thing: str, other: str) -> bool:
    """Return whether ``thing`` and its last word are unknown, or ``other`` is (a kind of) ``thing`` or its hypernym."""
    store = lexicon()
    found = (bases(word.replace(" ", "_"), "object") or bases(word.split()[-1], "object") for word in (thing, other))
    a, b = ({sense for base in each for sense in store.senses(base, "n").tolist()} for each in found)
    wide = a.union(*(store.hypernyms(sense).tolist() for sense in a))
    return not a or any(not wide.isdisjoint(with_ancestors(sense)) for sense in b)


@per_lexicon(10_000)
def with_ancestors(sense: int) -> frozenset[int]:
    """Return a sense and all its direct and indirect hypernyms; no path in WordNet 3.0 has more than 19 steps."""
    return frozenset([sense]).union(*map(with_ancestors, lexicon().hypernyms(sense).tolist()))


@per_lexicon(None)
def _constructions() -> list[tuple[list[str], list[str], list[str], list[Sense]]]:
    synset, found = lexicon().synset, []
    for verbs, nouns, prepositions, names, how, why in text.table_rows("constructions.tsv"):
        senses = [Sense(synset(name), name.partition(".")[0], why, WEIGHTS[how], own=False) for name in names.split()]
        known = [sense for sense in senses if sense.synset >= 0]
        found.append((verbs.split(), nouns.split(), prepositions.split(), known))
    return found
