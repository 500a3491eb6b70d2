"""From a dataset's classes to the pairs of senses that are to be rated: all of them, or those that are needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shoe.benchmarks.classes import HoiClasses
from shoe.core.arrays import Indices
from shoe.core.errors import OptionError, near, quote
from shoe.core.interactions import Interactions
from shoe.core.ragged import distinct
from shoe.lexicon.expressions import POS, Part
from shoe.lexicon.resolve import ObjectWords, resolve
from shoe.lexicon.store import lexicon
from shoe.rating.neighbourhood import STEPS, Synsets, object_neighbours, verb_vocabulary

if TYPE_CHECKING:
    from shoe.rating.questions import Interaction

VERB_RULE = (
    "verb vocabulary, version 1: all of verb.body, verb.consumption, verb.contact, verb.motion; the senses with a tag "
    "count of verb.change, verb.competition, verb.creation, verb.perception, verb.possession; every sense at most 2 "
    "steps of hypernymy from a class's"
)
Subject = Part | Literal["interaction"]
"""What a rater is asked about: senses of verbs, senses of objects, or whole interactions."""
NEEDED_RULE = "needed by predictions, version 1: every class's sense with every candidate sense of every predicted word"


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The m rows that a map of one part of speech is to have, and the n questions that fill them.

    A question is an unordered pair of two different synsets: where both are class senses, one answer fills two rows.

    Attributes:
        part: "verb", "object" or "interaction" (:func:`shoe.rating.whole.plan_whole`).
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


Plans = Mapping[Part, Plan] | Mapping[Subject, Plan]
"""What is to be rated, by what it is about."""
Rules = Mapping[Any, str]
"""In words, which pairs the plan of a part has."""


def object_rule(steps: int = STEPS) -> str:
    """Say which object pairs a plan of a whole dataset has, for a map's provenance."""
    return (
        f"object neighbourhood, version 1: visible senses at most {steps} steps of hypernymy from a class's; the "
        "other classes"
    )


def plan_dataset(classes: HoiClasses, *, steps: int = STEPS) -> dict[Part, Plan]:
    """Plan a whole map: the verbs' classes with the verb vocabulary, the objects' with what is within some steps.

    ``VERB_RULE`` and ``object_rule`` say in words what the plans hold.
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
    """Plan what scoring given predictions looks up (``NEEDED_RULE``).

    Args:
        classes: of the dataset.
        predictions: of one or more models.
        object_words: as scoring will have it, see :func:`shoe.lexicon.resolve.resolve`.

    Raises:
        OptionError: for an ``object_words`` that does not exist.
    """
    senses = needed_senses(predictions, object_words)
    return {part: _all_with_all(part, _class_senses(classes, part), senses[part]) for part in POS}


def needed_senses(
    predictions: Sequence[Interactions], object_words: ObjectWords = "phrase-first"
) -> dict[Part, Synsets]:
    """List the senses of all words that occur in a triplet, per part of speech, ascending: what scoring looks up."""
    verbs = {word for table in predictions for word in _used(table.verbs, table.verb)}
    objects = {word for table in predictions for word in _used(table.objects, table.object)}
    return {"verb": _senses(verbs, "verb", object_words), "object": _senses(objects, "object", object_words)}


def _used(vocabulary: Sequence[str], word: np.typing.NDArray[np.int32]) -> Iterable[str]:
    return (vocabulary[number] for number in np.flatnonzero(np.bincount(word, minlength=len(vocabulary))).tolist())


def _senses(words: Iterable[str], part: Part, object_words: ObjectWords) -> Synsets:
    found = {candidate.synset for word in words for candidate in resolve(word, part, object_words).candidates}
    return np.array(sorted(found), np.int32)


def plan_pairs(part: Part, pairs: Sequence[tuple[str, str]]) -> Plan:
    """Plan pairs of a class's sense and another, by name; one given twice counts once, a sense with itself not.

    Raises:
        OptionError: for a name that is not that of a synset of this part.
    """
    number = {name: _synset(part, name) for name in {name for pair in pairs for name in pair}}
    ids = np.array([[number[name] for name in pair] for pair in pairs], np.int32).reshape(-1, 2)
    return _plan(part, ids[:, 0], ids[:, 1])


def _class_senses(classes: HoiClasses, part: Part) -> Synsets:
    """(C,) distinct senses of a dataset's classes, ascending; no_interaction has none."""
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
    """Sort directed pairs by their names, each once, none of a sense with itself, and number their questions."""
    different = class_synset != synset
    by_name, class_rank, rank = _ranked(class_synset[different], synset[different])
    rows = distinct(class_rank * len(by_name) + rank)
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


def _ranked(class_synset: Synsets, synset: Synsets) -> tuple[Synsets, Indices, Indices]:
    """The senses that occur, in the order of their names, and each column as indices of them."""
    occurring = np.flatnonzero(np.bincount(np.concatenate([class_synset, synset])))
    by_name = np.array(sorted(occurring.tolist(), key=lexicon().name), np.int32)
    index = np.zeros(len(lexicon()), np.int64)
    index[by_name] = np.arange(len(by_name))
    return by_name, index[class_synset], index[synset]
