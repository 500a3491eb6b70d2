"""Check of scores: do right predictions have higher scores than wrong ones?"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.scoring_options import StrictOptions
from shoe.core.arrays import Floats, Indices, first_of_each, mask_of
from shoe.scoring.matching.task import Task
from shoe.scoring.roles import RoleResult, person_matches, role_entries, role_scores
from shoe.scoring.strict import ranked_rows, strict_score

# Right scores of weak models can be lower for true positives, if some classes have both higher scores and more errors;
# within a class, they are less so.
_INVERTED, _INVERTED_IN_CLASS, _DEVIATIONS = 0.4, 0.45, 3.5
_HARDLY_HIGHER = 0.6  # detectors have an AUC of 0.7 or more, within images also, if they are good
_IN_IMAGE = 0.55


def inverted_scores(task: Task, strict: StrictOptions | None, by_person: Sequence[RoleResult]) -> list[str]:
    """Return one warning if right predictions have lower, or hardly higher scores than wrong ones, else [].

    ``strict``, or else each result ``by_person``, decides which predictions are right. Under ``strict``, repeated
    predictions of one ground truth are right, too, because the scores decide which of them counts.
    """
    table, roles = task.predictions, task.predictions.roles
    auc, where = None, ""
    name = found = None
    if strict is not None:
        rows, pairs = ranked_rows(task, strict), task.exact_overlaps(strict.coordinates, strict.rule)
        right = np.flatnonzero(mask_of(pairs.prediction, len(table))[rows])
        rank, name = dense_ranks(table.score[rows]), "strict"
        auc = low_auc(task.hoi[rows], rank, right)
        if auc is None:  # the scores of each image may be in another order than its predictions
            of_image, deviation = _auc_within(table.image[rows], rank, right)
            if of_image + _DEVIATIONS * deviation < _IN_IMAGE and rank.any():
                auc, where = of_image, " within images"
    for result in by_person if strict is None else ():
        if auc is None and task.truth.roles is not None:
            options, found = result.options, result.map
            entries = role_entries(task, person_matches(task, task.truth.roles, [options])[options.overlap], options)
            name = options.protocol
            auc = low_auc(entries.category, dense_ranks(entries.score), np.flatnonzero(entries.credit))
    if auc is None:
        return []
    why = "do the scores belong to other predictions of the file?"
    if auc > _INVERTED_IN_CLASS or where:
        told = "scores: right predictions have hardly higher scores than wrong ones"
        return [f"{told} (AUC {auc:.2f}{where}, by chance 0.50): {why}"]
    roles = roles and replace(roles, agent=-roles.agent, score=-roles.score)
    other = Task(replace(table, score=-table.score, roles=roles), task.truth)
    found = strict_score(task, strict).map if strict else found
    chosen = [each.options for each in by_person if each.options.protocol == name]
    better = strict_score(other, strict).map if strict else role_scores(other, chosen)[0].map
    told = f"scores: right predictions have lower scores than wrong ones (AUC {auc:.2f} instead of 0.5 or more)"
    if (better or 0) <= (found or 0):
        return [f"{told}: {why}"]
    return [
        f"{told}: if low scores are good scores in the file, replace each score by 1 - score ({name} mAP "
        f"{100 * (better or 0):.2f} instead of {100 * (found or 0):.2f})"
    ]


def dense_ranks(score: Floats) -> Indices:
    """Return the (n,) rank of each score from 0 for the lowest; equal scores have the same rank."""
    order, rank = np.argsort(score), np.zeros(len(score), np.int64)
    rank[order] = np.cumsum(first_of_each(score[order])) - 1
    return rank


def low_auc(category: NDArray[np.integer], rank: Indices, right: Indices) -> float | None:
    """Return the area under the ROC curve (AUC) if right predictions have lower or hardly higher scores, else None.

    The AUC is the fraction of pairs (right, wrong) in which the right prediction has the higher score; ties count half.
    The result is the AUC over all pairs if it is below 0.4, else the AUC over pairs of one class if it is below 0.45;
    either must also be over 3.5 standard deviations of van Elteren's test (1960) below 0.5. Or it is the AUC over pairs
    of one class, if both are over 0.45 and two standard deviations below 0.6, and the scores are not all equal.

    ``category`` and ``rank`` are the (n,) class and score rank (:func:`dense_ranks`) of the predictions; ``right`` are
    the indices of the right predictions.

    >>> import numpy as np
    >>> low_auc(np.zeros(60, int), np.arange(60), np.arange(30))
    0.0
    """
    is_chance, auc = bool(rank.any()), 0.5
    for group, most in ((np.zeros(len(rank), np.int64), _INVERTED), (category, _INVERTED_IN_CLASS)):
        auc, deviation = _auc_within(group, rank, right)
        if auc < most and auc + _DEVIATIONS * deviation < 0.5:
            return auc
        is_chance &= auc > _INVERTED_IN_CLASS and max(auc, 0.5) + 2 * deviation < _HARDLY_HIGHER
    return auc if is_chance else None


def _auc_within(group: NDArray[np.integer], rank: Indices, right: Indices) -> tuple[float, float]:
    """Return the AUC over pairs of one group and its standard deviation if scores mean nothing; 0.5 and 1 if no pair.

    ``group`` and ``rank`` are the (n,) group and score rank of the predictions; ``right`` are the right predictions.
    """
    number = np.bincount(group)
    true = np.bincount(group[right], minlength=len(number))
    pairs, middle = true * (number - true).astype(np.float64), np.cumsum(number) - number / 2
    if not pairs.sum():
        return 0.5, 1.0
    keys = (group.astype(np.int64) << int(rank.max()).bit_length()) | rank
    own = np.sort(keys[right])
    keys.sort()
    # Equal scores of a group have their mean rank.
    above = (np.searchsorted(keys, own) + np.searchsorted(keys, own, "right")).sum() / 2 - middle @ true
    return 0.5 + float(above / pairs.sum()), float(np.sqrt(pairs @ (number + 1) / 12) / pairs.sum())
