"""What a page says per class: average precision and F1 of every model, and precision-recall curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoe.core.arrays import Floats
from shoe.core.ragged import expand
from shoe.runs.run import Run
from shoe.scoring.entries import Entries

MOST_POINTS = 50
"""Points of a curve: more would look the same."""
_SCALE = 65535


def classes(runs: Sequence[Run], *, curves: bool = True) -> dict[str, Any] | None:
    """Collect figures and curves per class, in the keys that ``static/classes.js`` and ``static/curves.js`` read.

    None where there is nothing that all models have.

    Args:
        runs: of one ground truth, under the same protocols.
        curves: whether to tell them, from which the ground truth of a model's own predictions can be told.
    """
    first = runs[0]
    measures, drawn = [], []
    for number, strict in enumerate(first.strict):
        of = [run.strict[number].entries for run in runs]
        label = f"{strict.options.protocol} AP"
        measures.append({"key": "strict", "label": label, "models": [_ap(entries) for entries in of]})
        drawn.append({"label": f"strict, {strict.options.protocol}", "models": [_curves(entries) for entries in of]})
    semantic = [run.semantic for run in runs if run.semantic is not None]
    if len(semantic) == len(runs):
        f1 = [np.where(mask, values, np.nan) for values, mask in (each.f1.f1() for each in semantic)]
        measures.append({"key": "ap", "label": "SHOE AP", "models": [_ap(each.entries) for each in semantic]})
        measures.append({"key": "f1", "label": "SHOE F1", "models": f1})
        drawn.append({"label": "soft, by meaning", "models": [_curves(each.entries) for each in semantic]})
    if not measures:  # figures by person alone: their entries are actions, and no classes
        return None
    of_truths = first.strict[0].entries if first.strict else semantic[0].entries
    return {
        "labels": first.classes.labels,
        "rare": first.classes.rare.astype(np.uint8),
        "truths": of_truths.truths,
        "measures": measures,
        "curves": drawn if curves else [],
        "scale": _SCALE,
    }


def _ap(entries: Entries) -> Floats:
    """(K,) AP per class, NaN outside the mean."""
    scores = entries.scores()
    return np.where(scores.in_mean, scores.ap, np.nan)


def _curves(entries: Entries) -> dict[str, Any]:
    """Recall and precision at the positive entries of each class, of ties in the order of the input.

    ``count`` (K,) says how many points a class has.
    """
    order = np.lexsort((-entries.score, entries.category))
    category, credit = entries.category[order], entries.credit[order]
    truths = entries.truths
    number = np.bincount(category, minlength=len(truths))
    start = np.cumsum(number) - number
    rank = np.arange(len(category)) - start[category] + 1
    gained = np.cumsum(credit)
    gained -= np.append(0, gained)[start][category]
    positive = np.flatnonzero((credit > 0) & (truths[category] > 0))
    of = np.bincount(category[positive], minlength=len(truths))
    count = np.minimum(of, MOST_POINTS)
    which, point = expand(np.zeros(len(of), np.int64), count)
    chosen = positive[(np.cumsum(of) - of)[which] + point * (of[which] - 1) // np.maximum(count[which] - 1, 1)]
    recall, precision = gained[chosen] / truths[category[chosen]], gained[chosen] / rank[chosen]
    columns = (np.round(np.clip(values, 0, 1) * _SCALE).astype(np.uint16) for values in (recall, precision))
    return dict(zip(("count", "recall", "precision"), (count, *columns), strict=True))
