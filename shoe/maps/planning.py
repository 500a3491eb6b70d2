"""Plans: the pairs of a dataset that are to be rated, for all senses, for predictions, or for whole interactions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.classes import NO_INTERACTION, HoiClasses
from shoe.benchmarks.protocols import SEMANTIC
from shoe.core.arrays import Indices, Ints, distinct, expand
from shoe.core.errors import OptionError, near, quote
from shoe.core.interactions import Interactions
from shoe.lexicon.expressions import POS, Part
from shoe.lexicon.resolve import ObjectWords, match_labels, resolve
from shoe.lexicon.store import lexicon, names_of, per_lexicon
from shoe.maps.prompts import Interaction, SenseText, Subject, describe
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.similarity import Basis, SimilarityMap, SimilarityTable
from shoe.similarity.whole_interactions import Row, said

# What a class's sense is compared with: for an object, senses near it; for a verb, what a person can be seen doing.
#
# **Objects.** One step goes from a sense to a hypernym or a hyponym; two steps reach siblings. The default, four, gives
# HICO-DET's 80 objects 40,040 pairs, as the paper has 40K. Left out are the lexicographer files of what cannot be seen
# and pointed at (``INVISIBLE``). Named individuals stay, below the class that they are instances of.
#
# **Verbs.** The paper does not list its about 7,150 "HOI-relevant" verb senses. Here they follow from WordNet 3.0 by a
# rule of three clauses, which gives 7,172 of its 13,767 verb senses for HICO-DET:
#
# 1. All of the lexicographer files whose verbs are movements of a body, or of a thing by one: verb.body,
#    verb.consumption, verb.contact, verb.motion.
# 2. Of the files that mix visible actions with others, the senses that WordNet's tagged texts use (tag count above 0):
#    verb.change (cook and cut, but also evolve), verb.competition (play and fence, but also default), verb.creation
#    (paint, but also formulate), verb.perception (watch, but also hallucinate), verb.possession (give, but also
#    inherit).
# 3. Whatever its file, a sense at most two steps of hypernymy from a class's own sense: the class itself, what it is a
#    manner of, its own manners, and its siblings. This brings in "sign", "read" and "teach" with what is like them.

Synsets = NDArray[np.int32]
STEPS = 4
VERB_STEPS = 2

_INVISIBLE = "act attribute cognition event feeling motive phenomenon process quantity relation state time"
INVISIBLE = frozenset(f"noun.{file}" for file in _INVISIBLE.split())
"""Lexicographer files without things that a picture can show; communication has signs, possession has money."""

BODILY = frozenset({"verb.body", "verb.consumption", "verb.contact", "verb.motion"})
MIXED = frozenset({"verb.change", "verb.competition", "verb.creation", "verb.perception", "verb.possession"})


def object_neighbours(classes: Synsets, steps: int = STEPS) -> tuple[Indices, Synsets]:
    """Find the senses to compare with each of C object classes: visible ones nearby, and all other classes.

    Returns:
        (n,) row of ``classes``, ascending, and (n,) a sense to compare it with; a class's own sense is among them.
    """
    owner, near = within(classes, steps)
    words = lexicon()
    visible = np.array([words.lexname(synset) not in INVISIBLE for synset in near.tolist()], bool)
    everyone = np.repeat(np.arange(len(classes)), len(classes))
    owner = np.concatenate([owner[visible], everyone])
    near = np.concatenate([near[visible], np.tile(classes, len(classes))])
    return _split(distinct(_joined(owner, near)))


def verb_vocabulary(classes: Synsets) -> Synsets:
    """List the verb senses that a dataset's verb classes are compared with, ascending; the classes' own are among them.

    Of a lexicon other than WordNet, which holds the verbs of one domain, these are all verbs.
    """
    words = lexicon()
    verbs = range(words.nouns, len(words))
    if not words.is_wordnet:
        return np.array(verbs, np.int32)

    def is_in_texts(verb: int) -> bool:
        """Return whether WordNet's tagged texts use the sense, by any of its lemmas."""
        return any(words.tag_count(lemma, "v")[words.senses(lemma, "v") == verb].any() for lemma in words.lemmas(verb))

    chosen = [
        verb for verb in verbs if (file := words.lexname(verb)) in BODILY or (file in MIXED and is_in_texts(verb))
    ]
    _, near = within(classes, VERB_STEPS)
    return distinct(np.concatenate([np.array(chosen, np.int64), near])).astype(np.int32)


def within(synsets: Synsets, steps: int) -> tuple[Indices, Synsets]:
    """Find all senses that are at most some steps up or down from S others, in any order.

    Returns:
        (n,) row of ``synsets``, ascending, and (n,) a sense near it; the sense itself is among them.
    """
    first, neighbour = _links()
    found = frontier = distinct(_joined(np.arange(len(synsets)), synsets))
    for _ in range(steps):
        owner, synset = _split(frontier)
        step, index = expand(first[synset], first[synset + 1] - first[synset])
        reached = distinct(_joined(owner[step], neighbour[index]))
        frontier = reached[~np.isin(reached, found, assume_unique=True)]
        found = np.sort(np.concatenate([found, frontier]))
    return _split(found)


@per_lexicon(None)
def _links() -> tuple[Indices, Synsets]:
    """Return hypernyms and hyponyms of every sense: those of sense s stand from first[s] to first[s + 1]."""
    words = lexicon()
    above = [words.hypernyms(synset) for synset in range(len(words))]
    lower = np.repeat(np.arange(len(words), dtype=np.int32), [len(hypernyms) for hypernyms in above])
    upper = np.concatenate(above).astype(np.int32)
    start, end = np.concatenate([lower, upper]), np.concatenate([upper, lower])
    order = np.argsort(start, kind="stable")
    return np.searchsorted(start[order], np.arange(len(words) + 1)), end[order]


def _joined(owner: Indices, synset: Synsets) -> Indices:
    """One number for a row and a sense."""
    return owner.astype(np.int64) * len(lexicon()) + synset


def _split(joined: Indices) -> tuple[Indices, Synsets]:
    owner, synset = np.divmod(joined, len(lexicon()))
    return owner, synset.astype(np.int32)


VERB_RULE = (
    "verb vocabulary, version 1: all of verb.body, verb.consumption, verb.contact, verb.motion; the senses with a tag "
    "count of verb.change, verb.competition, verb.creation, verb.perception, verb.possession; every sense at most 2 "
    "steps of hypernymy from a class's"
)
NEEDED_RULE = "needed by predictions, version 1: every class's sense with every candidate sense of every predicted word"


_WHOLE = SEMANTIC["shoe"]
_CELLS = 1 << 20
_UNKNOWN = "(not in the dictionary: what the words say)"


@dataclass(frozen=True, eq=False)
class Plan:
    """The m rows that a map of one part of speech is to have, and the n questions that fill them.

    A question is an unordered pair of two different synsets: where both are class senses, one answer fills two rows.

    Attributes:
        part: "verb", "object" or "interaction" (:func:`plan_whole`).
        class_synset: (m,) sense of the class, in the compiled lexicon; rows are sorted by both names.
        synset: (m,) the sense that it is compared with.
        question: (m,) row among the n questions.
        first, second: (n,) the two senses of each question, ``first`` the one whose name sorts first; sorted by both
            names.
        described: of whole interactions, each in words; the numbers above are then indices into these. None for senses.
    """

    part: Subject
    class_synset: Synsets
    synset: Synsets
    question: Indices
    first: Synsets
    second: Synsets
    described: Sequence[Interaction] | None = None

    def __len__(self) -> int:
        """Number of questions."""
        return len(self.first)

    @cached_property
    def texts(self) -> Mapping[int, tuple[SenseText, bytes]]:
        """Every sense of the plan in words, and as keys take it in.

        Raises:
            MissingExtraError: if WordNet's glosses cannot be read.
        """
        if self.described is not None:
            return {number: (one, one.encoded()) for number, one in enumerate(self.described)}
        synsets = np.unique(np.concatenate([self.first, self.second])).tolist()
        senses = describe([lexicon().name(synset) for synset in synsets])
        return {synset: (sense, sense.encoded()) for synset, sense in zip(synsets, senses, strict=True)}


Plans = Mapping[Part, Plan] | Mapping[Subject, Plan]
"""What is to be rated, by what it is about."""
Rules = Mapping[Any, str]
"""In words, which pairs the plan of a part has."""


def object_rule(steps: int = STEPS) -> str:
    """Describe the object pairs in a plan of a whole dataset, for a map's provenance."""
    return (
        f"object neighbourhood, version 1: visible senses at most {steps} steps of hypernymy from a class's; the "
        "other classes"
    )


def plan_dataset(classes: HoiClasses, *, steps: int = STEPS) -> dict[Part, Plan]:
    """Plan a whole map: verb classes with the verb vocabulary, object classes with senses within some steps.

    ``VERB_RULE`` and ``object_rule`` describe the plans in words.
    """
    verbs, objects = _class_senses(classes, "verb"), _class_senses(classes, "object")
    owner, near_objects = object_neighbours(objects, steps)
    return {
        "verb": _all_with_all("verb", verbs, verb_vocabulary(verbs)),
        "object": _plan("object", objects[owner], near_objects),
    }


def plan_needed(
    classes: HoiClasses, predictions: Sequence[Interactions], *, object_words: ObjectWords = "phrase-first"
) -> dict[Part, Plan]:
    """Plan the pairs that scoring of given predictions looks up (``NEEDED_RULE``).

    Args:
        predictions: predictions of one or more models.
        object_words: as for scoring, see :func:`shoe.lexicon.resolve.resolve`.

    Raises:
        OptionError: for an ``object_words`` that does not exist.
    """
    senses = needed_senses(predictions, object_words)
    return {part: _all_with_all(part, _class_senses(classes, part), senses[part]) for part in POS}


def needed_senses(
    predictions: Sequence[Interactions], object_words: ObjectWords = "phrase-first"
) -> dict[Part, Synsets]:
    """List the senses of all words that occur in a triplet, per part of speech, ascending."""
    verbs = {word for table in predictions for word in _used(table.verbs, table.verb)}
    objects = {word for table in predictions for word in _used(table.objects, table.object)}
    return {"verb": _senses(verbs, "verb", object_words), "object": _senses(objects, "object", object_words)}


def _used(vocabulary: Sequence[str], word: np.typing.NDArray[np.int32]) -> Iterable[str]:
    return (vocabulary[number] for number in np.flatnonzero(np.bincount(word, minlength=len(vocabulary))).tolist())


def _senses(words: Iterable[str], part: Part, object_words: ObjectWords) -> Synsets:
    found = {candidate.synset for word in words for candidate in resolve(word, part, object_words).candidates}
    return np.array(sorted(found), np.int32)


def plan_pairs(part: Part, pairs: Sequence[tuple[str, str]]) -> Plan:
    """Plan pairs of a class's sense and another, by name; duplicates count once, a sense with itself not at all.

    Raises:
        OptionError: for a name that is not that of a synset of this part.
    """
    number = {name: _synset(part, name) for name in {name for pair in pairs for name in pair}}
    ids = np.array([[number[name] for name in pair] for pair in pairs], np.int32).reshape(-1, 2)
    return _plan(part, ids[:, 0], ids[:, 1])


def _class_senses(classes: HoiClasses, part: Part) -> Synsets:
    """Return (C,) distinct senses of a dataset's classes, ascending; no_interaction has none."""
    senses = classes.verb_sense if part == "verb" else classes.object_sense
    return np.unique(senses[senses >= 0]).astype(np.int32)


def _synset(part: Part, name: str) -> int:
    synset = lexicon().synset(name)
    if synset >= 0 and lexicon().pos(synset) == POS[part]:
        return synset
    lemma = name.split(".")[0]
    similar = near(name, (lexicon().name(s) for s in lexicon().senses(lemma, POS[part]).tolist()), likeness=0)
    hint = f" (did you mean {similar[0]}?)" if similar else ""
    kind = "a verb" if part == "verb" else "a noun"
    raise OptionError(
        f"{quote(name)} is not the name of {kind} sense of {lexicon().title}, as {lexicon().example()}{hint}"
    )


def _all_with_all(part: Part, classes: Synsets, synsets: Synsets) -> Plan:
    return _plan(part, np.repeat(classes, len(synsets)), np.tile(synsets, len(classes)))


def _plan(part: Part, class_synset: Synsets, synset: Synsets) -> Plan:
    """Sort directed pairs by name, remove duplicates and senses with themselves, and number their questions."""
    different = class_synset != synset
    class_synset, synset = class_synset[different], synset[different]
    occurring = np.flatnonzero(np.bincount(np.concatenate([class_synset, synset])))
    by_name = np.array(sorted(occurring.tolist(), key=lexicon().name), np.int32)
    order = np.zeros(len(lexicon()), np.int64)
    order[by_name] = np.arange(len(by_name))
    rows = distinct(order[class_synset] * len(by_name) + order[synset])
    class_rank, rank = np.divmod(rows, max(len(by_name), 1))
    asked = np.minimum(class_rank, rank) * len(by_name) + np.maximum(class_rank, rank)
    questions = distinct(asked)
    first, second = np.divmod(questions, max(len(by_name), 1))
    return Plan(
        part=part,
        class_synset=by_name[class_rank],
        synset=by_name[rank],
        question=np.searchsorted(questions, asked),
        first=by_name[first],
        second=by_name[second],
    )


class WholePlan(NamedTuple):
    """The m pairs of a class and predicted words that raters compare: their texts and their names in a map."""

    plan: Plan
    rows: list[Row]
    rule: str


def plan_whole(classes: HoiClasses, predictions: Sequence[Interactions], similarity: SimilarityMap) -> WholePlan:
    """Plan the pairs that can matter: each predicted verb and object with the classes that its parts resemble.

    Args:
        predictions: predictions of one or more models.
        similarity: similarity whose parts, under protocol ``shoe``, select the classes and the sense of each word.
    """
    verbs = sorted({said(word) for table in predictions for word in table.verbs} - {""})
    objects = sorted({said(word) for table in predictions for word in table.objects} - {""})
    verb, object_ = _pairs(predictions, verbs, objects)
    known = HoiSimilarity.of_words(classes, verbs, objects, similarity, _WHOLE)
    askable = (known.verb_senses[known.verb_row] >= 0) & (known.object_senses[known.object_row] >= 0)
    exact = np.pad(classes.of, ((0, 1), (0, 1)), constant_values=-1)[
        match_labels(verbs, classes.verbs, "verb")[verb], match_labels(objects, classes.objects, "object")[object_]
    ]
    doing = match_labels(verbs, [NO_INTERACTION], "verb")[verb] < 0
    hoi, pair = np.zeros((2, 0), np.int64)
    step = max(1, _CELLS // len(classes))
    for start in range(0, len(verb), step):
        part = slice(start, start + step)
        sigma = known.sigma(np.arange(len(classes)), verb[part, None], object_[part, None])
        which, of_class = np.nonzero((sigma >= _WHOLE.delta) & askable & doing[part, None])
        other = exact[part][which] != of_class
        hoi, pair = np.concatenate([hoi, of_class[other]]), np.concatenate([pair, start + which[other]])
    order = np.lexsort((pair, hoi))
    hoi, verb, object_ = hoi[order], verb[pair[order]], object_[pair[order]]
    verb_sense = _senses_meant("verb", known.verbs, known.verb_senses, verbs)[known.verb_row[hoi], verb]
    object_sense = _senses_meant("object", known.objects, known.object_senses, objects)[known.object_row[hoi], object_]
    ours, class_number = np.unique(hoi, return_inverse=True)
    others, said_number = np.unique([verb, verb_sense, object_, object_sense], axis=1, return_inverse=True)
    of_classes = zip(
        _texts([classes.verbs[v] for v in classes.verb[ours]], known.verb_senses[known.verb_row[ours]]),
        _texts([classes.objects[o] for o in classes.object[ours]], known.object_senses[known.object_row[ours]]),
        strict=True,
    )
    of_predictions = zip(
        _texts([verbs[v] for v in others[0]], others[1]),
        _texts([objects[o] for o in others[2]], others[3]),
        strict=True,
    )
    first, second = class_number.astype(np.int32), (len(ours) + said_number.reshape(-1)).astype(np.int32)
    labels = [(classes.verbs[v], classes.objects[o]) for v, o in zip(classes.verb, classes.object, strict=True)]
    return WholePlan(
        plan=Plan(
            part="interaction",
            class_synset=first,
            synset=second,
            question=np.arange(len(hoi)),
            first=first,
            second=second,
            described=[Interaction.of(*both) for both in [*of_classes, *of_predictions]],
        ),
        rows=[(*labels[k], verbs[v], objects[o]) for k, v, o in zip(hoi.tolist(), verb, object_, strict=True)],
        rule=(
            "whole interactions, version 1: every verb and object of a prediction with every class that is similar "
            f"by {_WHOLE.delta:g} or more under {_WHOLE.protocol} and map {similarity.name} ({similarity.digest}), "
            "but for the class of these labels and no_interaction; words in the sense most similar to the class's"
        ),
    )


def _pairs(predictions: Sequence[Interactions], verbs: list[str], objects: list[str]) -> tuple[Indices, Indices]:
    """Return distinct pairs of a verb and an object that occur in a triplet, as indices, in the order of the words."""
    keys = [np.zeros(0, np.int64)]
    for table in predictions:
        verb, object_ = (
            np.array([number.get(said(word), -1) for word in words], np.int64)
            for number, words in (
                ({word: i for i, word in enumerate(verbs)}, table.verbs),
                ({word: i for i, word in enumerate(objects)}, table.objects),
            )
        )
        known = (verb[table.verb] >= 0) & (object_[table.object] >= 0)
        keys.append((verb[table.verb] * max(len(objects), 1) + object_[table.object])[known])
    return np.divmod(distinct(np.concatenate(keys)), max(len(objects), 1))


def _senses_meant(part: Part, table: SimilarityTable, class_senses: Ints, words: list[str]) -> Ints:
    """Return (C, W) sense of each word: the class's own, the one most similar to it, or the word's first."""
    candidates = [resolve(word, part, _WHOLE.object_words).candidates for word in words]
    first = np.array([of_word[0].synset if of_word else -1 for of_word in candidates], np.int32)
    senses = np.where(table.sense >= 0, table.sense, first)
    return np.where(table.basis == Basis.SAME_WORD, class_senses[:, None], senses)


def _texts(words: Sequence[str], senses: Ints) -> list[SenseText]:
    """Return words in their senses: the word itself first, then its sense's other words."""
    names = [names_of(np.array([sense], np.int32))[0] if sense >= 0 else "" for sense in senses.tolist()]
    of_name = {sense.name: sense for sense in describe(sorted(set(names) - {""}))} | {"": SenseText("", (), _UNKNOWN)}
    found = []
    for word, name in zip(map(said, words), names, strict=True):
        lemmas, gloss = of_name[name].lemmas, of_name[name].gloss
        found.append(SenseText(name, (word, *(lemma for lemma in lemmas if said(lemma) != word)), gloss))
    return found
