"""Predicted pairs of a person and an object, as columns, with what a model says of their detection and their verbs.

Pairs come from a file of their own (``pair_files``) or from triplets (:func:`pairs_of`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.classes import NO_INTERACTION
from shoe.benchmarks.image_names import image_index
from shoe.core.arrays import Floats, Indices
from shoe.core.equal_rows import Bits, as_bits, first_equal, first_of_run, together
from shoe.core.interactions import Interactions
from shoe.lexicon.labels import match_labels
from shoe.predictions.notes import ReadNotes

NO_VERB = ""
"""The verb of every row of a table of pairs."""


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Predicted pairs of many images; n pairs, V verbs.

    Attributes:
        table: one row a pair; its verb is ``NO_VERB``, its score that of its detection.
        detected: whether those scores are given; if not, all are 1.
        interaction: (n,) highest score of a verb other than no_interaction, without that of detection; None where it is
            not known.
        verb_scores: (n, V) score of each verb, without that of detection; NaN where none is given; None where there are
            none at all.
        verbs: the dataset's V verbs.
        triplets: the triplets that the pairs come from; None for pairs of a file of their own.
        of_triplet: (triplets,) the pair of each.
        notes: how the file was read.
    """

    table: Interactions
    detected: bool = False
    interaction: Floats | None = None
    verb_scores: Floats | None = None
    verbs: tuple[str, ...] = ()
    triplets: Interactions | None = None
    of_triplet: Indices | None = None
    notes: ReadNotes | None = None


def pairs_of(triplets: Interactions, interaction_scores: Floats | None = None) -> Pairs:
    """List the pairs of triplets: distinct human box, object box and object of an image, in order of first appearance.

    Boxes are compared as exact numbers. Triplets of no_interaction and of words outside the dataset make pairs too, as
    pairs come before classification (protocols.md 8.7).

    Args:
        triplets: n triplets.
        interaction_scores: (n,) score of each triplet's verb alone. Of a pair the highest among its triplets is then
            known. In a file that was cut to an image's best products of detection and interaction, that is the highest
            of all verbs, since the triplets of a pair share one detection.
    """
    first = first_equal(_columns(triplets, triplets.image, triplets.object))
    is_pair = first == np.arange(len(first))
    rows = np.flatnonzero(is_pair)
    of_triplet = (np.cumsum(is_pair) - 1)[first]
    nothing = np.zeros(len(rows), np.int32)
    table = replace(triplets.select(rows), verb=nothing, verbs=(NO_VERB,), score=np.ones(len(rows)))
    best = None
    if interaction_scores is not None:
        acts = match_labels(triplets.verbs, (NO_INTERACTION,), "verb")[triplets.verb] < 0
        best = np.full(len(rows), -np.inf)
        np.maximum.at(best, of_triplet[acts], interaction_scores[acts])
        best[np.isinf(best)] = 0.0
    return Pairs(table, interaction=best, triplets=triplets, of_triplet=of_triplet)


def find_pairs(pairs: Pairs, triplets: Interactions) -> Indices:
    """(triplets,) the first pair with exactly the boxes and the object of each triplet; -1 where there is none."""
    return _matched(pairs.table, triplets)[0]


def triplet_scores(pairs: Pairs, triplets: Interactions) -> Floats:
    """(triplets,) what pairs with verb scores give each triplet: that of its first pair which has one, else NaN."""
    scores = np.full(len(triplets), np.nan)
    if pairs.verb_scores is None:
        return scores
    pair, following = _matched(pairs.table, triplets)
    verb = match_labels(triplets.verbs, pairs.verbs, "verb")[triplets.verb]
    rows = np.flatnonzero((pair >= 0) & (verb >= 0))
    while len(rows):
        scores[rows] = pairs.verb_scores[pair[rows], verb[rows]]
        pair[rows] = following[pair[rows]]
        rows = rows[np.isnan(scores[rows]) & (pair[rows] >= 0)]
    return scores


def _matched(pairs: Interactions, triplets: Interactions) -> tuple[Indices, Indices]:
    """(triplets,) the first pair of each, and (pairs,) the next pair that is equal; -1 where there is none."""
    # Images and objects that triplets do not have are number -1.
    image = image_index(pairs.images, triplets.images)[pairs.image]
    object_ = match_labels(pairs.objects, triplets.objects, "object")[pairs.object]
    theirs = _columns(triplets, triplets.image, triplets.object)
    both = zip(_columns(pairs, image, object_), theirs, strict=True)
    order, new = together([np.concatenate(column) for column in both])
    first = first_of_run(order, new)[len(pairs) :]
    following = np.full(len(order), -1, np.int64)
    following[order[:-1]] = np.where(new[1:] | (order[1:] >= len(pairs)), -1, order[1:])
    return np.where(first < len(pairs), first, -1), following[: len(pairs)]


def _columns(table: Interactions, image: NDArray[np.int32], object_: NDArray[np.int32]) -> list[Bits]:
    return [*as_bits(image), *as_bits(object_), *as_bits(table.human_boxes), *as_bits(table.object_boxes)]
