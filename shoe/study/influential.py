"""Which pairs of interactions a score of given predictions depends on, and how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoe.core.arrays import Floats, Ints
from shoe.core.errors import OptionError
from shoe.lexicon.expressions import Part
from shoe.lexicon.names import names_of
from shoe.maps.complete import OPTIONS, look_at
from shoe.maps.influence import on_matches
from shoe.matching.task import Task
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.similarity import Similarity
from shoe.similarity.unrated import Filled

Senses = tuple[str, str, str, str]
"""WordNet names of verb and object of the class, and of the prediction."""


@dataclass(frozen=True, slots=True, eq=False)
class Influential:
    """N distinct pairs of a class and a predicted interaction whose similarity a score depends on.

    Attributes:
        senses: of each pair.
        words: verb and object of the class, and as they were predicted.
        influence: (N,) share of what SHOE-mAP would leave open were nothing rated; the mean over prediction files.
        similarity: (N,) under the map, 0..1.
    """

    senses: list[Senses]
    words: list[tuple[tuple[str, str], tuple[str, str]]]
    influence: Floats
    similarity: Floats


@dataclass(frozen=True, slots=True)
class Nothing(Filled):
    """A map as if nobody had rated anything: only a sense and itself are known to be the same."""

    source: Similarity
    name: str = "nothing rated"

    def values(self, part: Part, class_senses: Ints, senses: Ints) -> Floats:
        """Look up C class senses against S senses; see :class:`~shoe.similarity.Similarity`."""
        known = self.source.values(part, class_senses, senses)
        found: Floats = np.where(class_senses[:, None] == senses, known, np.nan)
        return found


def influential(tasks: Sequence[Task], similarity: Similarity) -> Influential:
    """Find the pairs that may be matched, and what of SHOE-mAP rests on each, were nothing rated.

    It is what ``shoe map complete`` would go by, were the map empty.

    Args:
        tasks: predictions of one or more models beside the same ground truth.
        similarity: says which sense of a predicted word is meant.

    Raises:
        InputError: if a score cannot be measured.
        OptionError: if no score depends on how similar anything is.
    """
    pairs: dict[Senses, list[float]] = {}
    words: dict[Senses, tuple[tuple[str, str], tuple[str, str]]] = {}
    for task in tasks:
        looked = look_at(Nothing(similarity), task)
        if looked.open_score is None:
            continue
        truth, row, share = on_matches(looked.open_score, looked.today)
        classes, table = task.truth.classes, task.predictions
        cells = np.stack([looked.open_score.scorer.hoi[truth], table.verb[row], table.object[row]])
        (hoi, verb, object_), at = np.unique(cells, axis=1, return_inverse=True)
        influence = np.bincount(at.ravel(), weights=share, minlength=len(hoi))
        known = HoiSimilarity.of(task, similarity, OPTIONS)
        verb_row, object_row = known.verb_row[hoi], known.object_row[hoi]
        of_class = known.verb_senses[verb_row], known.object_senses[object_row]
        predicted = known.verbs.sense[verb_row, verb], known.objects.sense[object_row, object_]
        senses, values = np.stack([*of_class, *predicted]), known.sigma(hoi, verb, object_)
        rows = np.flatnonzero((senses >= 0).all(axis=0) & (senses[:2] != senses[2:]).any(axis=0))
        rows = rows[np.argsort(-influence[rows], kind="stable")]
        names = [names_of(column[rows]) for column in senses]
        for k, a, x, b, y in zip(rows.tolist(), *names, strict=True):
            of = classes.verbs[classes.verb[hoi[k]]], classes.objects[classes.object[hoi[k]]]
            words.setdefault((a, x, b, y), (of, (table.verbs[verb[k]], table.objects[object_[k]])))
            pair = pairs.setdefault((a, x, b, y), [0.0, float(values[k])])
            pair[0] += float(influence[k]) / len(tasks)
    if not pairs:
        raise OptionError("for: found predictions whose SHOE-mAP depends on no pair of interactions, expected some")
    of_pairs, similarities = np.array(list(pairs.values())).T
    return Influential(list(pairs), list(words.values()), of_pairs, similarities)
