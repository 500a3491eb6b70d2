"""A map's similarities to a task's words as they are, and as they would be with values imputed for unrated pairs.

Between which values a similarity can lie depends on the options of the protocol:

- ``sense=max``, ``sense=first``: an unrated pair of a sense that counts may be 0 to 1; a word's value lies between its
  values with all unrated pairs at 0 and at 1.
- ``sense=one``: which sense counts depends on all pairs of the word. A word with an unrated pair may be anything up to
  what its best sense can be, but for words that equal the class's.
- ``direction=symmetric``: an unrated direction may be 0 to 1 if it starts at a class's sense; else it stays away.
- ``unrated=wup``: WordNet's values stand in for ratings that might have been any, so the bounds are those of ``zero``.
- ``unrated=drop``: who takes part depends on what is rated. There are no bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shoe.core.arrays import Mask
from shoe.matching.task import Task
from shoe.protocols.options import SemanticOptions
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.similarity import Basis, SimilarityTable
from shoe.similarity.unrated import Imputed, Lookups


@dataclass(frozen=True, slots=True, eq=False)
class Imputation:
    """A map's similarities to a task's words: today's, and with three kinds of imputed values.

    Attributes:
        today: unrated pairs as the options say.
        low, high: the lowest and the highest value of every cell, whatever the unrated pairs are.
        guess: unrated pairs as WordNet and the rated ones lead to expect.
        verbs, objects: the pairs of senses behind the cells.
    """

    today: HoiSimilarity
    low: HoiSimilarity
    high: HoiSimilarity
    guess: HoiSimilarity
    verbs: Lookups
    objects: Lookups

    @property
    def decided(self) -> bool:
        """Whether no unrated pair could change any value."""
        tables = ((self.low.verbs, self.high.verbs), (self.low.objects, self.high.objects))
        return all(np.array_equal(low.values, high.values) for low, high in tables)


def imputation_of(task: Task, today: HoiSimilarity, options: SemanticOptions) -> Imputation | None:
    """Impute values in three ways; None where nothing can be unrated, or there are no bounds."""
    source = today.source
    if source is None or options.unrated == "drop":
        return None
    classes = frozenset({*today.verb_senses.tolist(), *today.object_senses.tolist()} - {-1})
    verbs = Lookups.of(source, "verb", today.verb_senses, task.predictions.verbs, options)
    objects = Lookups.of(source, "object", today.object_senses, task.predictions.objects, options)
    if options.direction == "class" and not verbs.unrated.any() and not objects.unrated.any():
        return None

    def imputed(value: float | None, chosen: SemanticOptions = options) -> HoiSimilarity:
        return HoiSimilarity.of(task, Imputed(source, classes, value), chosen)

    # Where one sense counts for all classes it may be any, also one that counts in full.
    highest = replace(options, sense="max", partial="full") if options.sense == "one" else options
    low, high = imputed(0.0), imputed(1.0, highest)
    if options.sense == "one":
        low_verbs, high_verbs = _of_any_sense(low.verbs, high.verbs, verbs)
        low_objects, high_objects = _of_any_sense(low.objects, high.objects, objects)
        low = replace(low, verbs=low_verbs, objects=low_objects)
        high = replace(high, verbs=high_verbs, objects=high_objects)
    return Imputation(today, low, high, imputed(None), verbs, objects)


def _of_any_sense(
    low: SimilarityTable, high: SimilarityTable, lookups: Lookups
) -> tuple[SimilarityTable, SimilarityTable]:
    """Bounds where one sense counts for all classes: 0 to the best sense's value for a word with an unrated pair."""
    unsure = np.zeros(len(lookups.count), bool)
    word = np.repeat(np.arange(len(lookups.count)), lookups.count)
    unrated: Mask = np.logical_or.reduce(lookups.unrated, axis=0)
    unsure[word[unrated[lookups.senses]]] = True
    by_rule: Mask = low.basis == np.uint8(Basis.SAME_WORD)
    return (
        replace(low, values=np.where(unsure & ~by_rule, 0.0, low.values)),
        replace(high, values=np.where(unsure, high.values, low.values)),
    )
