"""Whole interactions for raters to compare: which of them, in which words, and the map that holds what was said."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from shoe.benchmarks.classes import NO_INTERACTION, HoiClasses
from shoe.core.arrays import Indices, Ints
from shoe.core.errors import OptionError, quote
from shoe.core.interactions import Interactions
from shoe.core.ragged import distinct
from shoe.lexicon.expressions import POS, Part
from shoe.lexicon.labels import match_labels
from shoe.lexicon.names import names_of
from shoe.lexicon.resolve import resolve
from shoe.maps.draft import all_columns, in_columns, widened
from shoe.protocols.named import SEMANTIC
from shoe.rating.built import account, prompts_of, raters_of
from shoe.rating.job import Outcome, rated_pairs
from shoe.rating.planning import Plan
from shoe.rating.questions import Interaction, SenseText, describe
from shoe.rating.session import Raters
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.similarity import Basis, SimilarityMap, SimilarityTable, write_map
from shoe.similarity.whole import Row, WholeRatings, said

MARK = "whole"
"""What map.json calls the account of the interactions that were rated."""
OPTIONS = SEMANTIC["shoe"]
_CELLS = 1 << 20
_UNKNOWN = "(not in the dictionary: what the words say)"


class WholePlan(NamedTuple):
    """The m pairs of a class and predicted words that raters are to compare: how they are asked, and named in a map."""

    plan: Plan
    rows: list[Row]
    rule: str


def plan_whole(classes: HoiClasses, predictions: Sequence[Interactions], similarity: SimilarityMap) -> WholePlan:
    """Plan the pairs that can matter: of each predicted verb and object with the classes that its parts resemble.

    Args:
        classes: of the dataset.
        predictions: of one or more models.
        similarity: says by its components, under protocol ``shoe``, which classes those are, and which sense of a word
            is meant.
    """
    verbs = sorted({said(word) for table in predictions for word in table.verbs} - {""})
    objects = sorted({said(word) for table in predictions for word in table.objects} - {""})
    verb, object_ = _pairs(predictions, verbs, objects)
    known = HoiSimilarity.of_words(classes, verbs, objects, similarity, OPTIONS)
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
        which, of_class = np.nonzero((sigma >= OPTIONS.delta) & askable & doing[part, None])
        other = exact[part][which] != of_class
        hoi, pair = np.concatenate([hoi, of_class[other]]), np.concatenate([pair, start + which[other]])
    order = np.lexsort((pair, hoi))
    hoi, verb, object_ = hoi[order], verb[pair[order]], object_[pair[order]]
    verb_sense = _senses("verb", known.verbs, known.verb_senses, verbs)[known.verb_row[hoi], verb]
    object_sense = _senses("object", known.objects, known.object_senses, objects)[known.object_row[hoi], object_]
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
            f"by {OPTIONS.delta:g} or more under {OPTIONS.protocol} and map {similarity.name} ({similarity.digest}), "
            "but for the class of these labels and no_interaction; words in the sense most similar to the class's"
        ),
    )


def check_asked(raters: Raters) -> None:
    """See that all raters can be asked about interactions.

    Raises:
        OptionError: naming one that reads no prompts.
    """
    for config in raters.file.raters:
        if not (config.prompted or config.interactions):
            raise OptionError(
                f"rater {quote(config.name)} ({config.kind}) reads no prompts and compares senses alone; "
                "--whole-interactions needs raters that read prompts, or people"
            )


def write_whole(folder: Path, similarity: SimilarityMap, raters: Raters, outcome: Outcome, planned: WholePlan) -> None:
    """Write a map with its verbs and objects as they are, and what raters said of whole interactions.

    Args:
        folder: where to; an earlier map there is replaced.
        similarity: the map whose verbs, objects and predictions are taken over.
        raters: who was asked; columns of their own unless the map has them.
        outcome: what they answered.
        planned: what they were asked.

    Raises:
        InputError: if the folder cannot be written to.
        OptionError: if a rater has the name of another one of the map.
    """
    asked = list(raters_of(raters, outcome))
    columns = all_columns(similarity, asked)
    names = [rater.name for rater in columns]
    given = rated_pairs(outcome.parts["interaction"])
    rated = np.flatnonzero(given.rated)
    ratings = in_columns(given.ratings[rated], [names.index(rater.name) for rater in asked], len(columns))
    told = account(raters, outcome, {"interaction": planned.rule})
    write_map(
        folder,
        dataset=similarity.dataset,
        raters=columns,
        pairs={part: widened(similarity.tables[part], range(len(similarity.raters)), len(columns)) for part in POS},
        ensemble=similarity.about["ensemble"],
        prose=similarity.provenance
        | {
            MARK: {
                "from": {"name": similarity.name, "digest": similarity.digest},
                **told.to_dict(),
                "raters": [rater.entry() for rater in asked],
                "prompts": prompts_of(raters, outcome),
            }
        },
        learned=similarity.lesson,
        whole=WholeRatings([planned.rows[row] for row in rated.tolist()], ratings),
    )


def _pairs(predictions: Sequence[Interactions], verbs: list[str], objects: list[str]) -> tuple[Indices, Indices]:
    """Distinct pairs of a verb and an object that occur in a triplet, as indices, in the order of the words."""
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


def _senses(part: Part, table: SimilarityTable, class_senses: Ints, words: list[str]) -> Ints:
    """(C, W) sense that each word is taken in: the class's own, the one most similar to it, or the word's first."""
    candidates = [resolve(word, part, OPTIONS.object_words).candidates for word in words]
    first = np.array([of_word[0].synset if of_word else -1 for of_word in candidates], np.int32)
    senses = np.where(table.sense >= 0, table.sense, first)
    return np.where(table.basis == Basis.SAME_WORD, class_senses[:, None], senses)


def _texts(words: Sequence[str], senses: Ints) -> list[SenseText]:
    """Words in their senses: the word itself comes first, and its sense's other words after it."""
    names = [names_of(np.array([sense], np.int32))[0] if sense >= 0 else "" for sense in senses.tolist()]
    of_name = {sense.name: sense for sense in describe(sorted(set(names) - {""}))} | {"": SenseText("", (), _UNKNOWN)}
    found = []
    for word, name in zip(map(said, words), names, strict=True):
        lemmas, gloss = of_name[name].lemmas, of_name[name].gloss
        found.append(SenseText(name, (word, *(lemma for lemma in lemmas if said(lemma) != word)), gloss))
    return found
