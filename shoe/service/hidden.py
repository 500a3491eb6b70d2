"""Results on a ground truth that is not shown: a few rounded metrics, from which single labels cannot be read.

AP in full precision reveals which predictions of a class are right: two runs with 20 predictions in two orders are
enough. Therefore metrics are rounded to a step of about their standard error, and details are left out.
"""

import csv
from collections.abc import Mapping
from math import floor, log10
from pathlib import Path
from typing import Any

from shoe.core.io.spreadsheets import delimited_text
from shoe.diagnosis.error_types import ERRORS

LEAST_TRUTHS = 100
"""Number of ground truths from which a class has metrics, in steps that a single prediction does not change."""
_EXACT = ("classes", "entries", "images", "ground_truths", "predictions")
"""Numbers that are known, and therefore not rounded."""
_KEPT = frozenset(
    {"signature", "dataset", "split", "name", "strict", "protocols", "roles", "semantic", "protocol", "map", "mf1"}
    | {"map_rare", "map_non_rare", "map_without", "map_without_no_interaction", "max_recall", "mf1_best_tau"}
    | {"gt_miss_rate", "prediction_miss_rate", "no_overlap_rate", "parts", "seen", "unseen", "harmonic_mean"}
    | {"errors", "error", "count", "delta_map", "progression", *_EXACT, *(error.name for error in ERRORS)}
    | {"vocabulary_gap", "exact_map", "verb_credit", "object_credit"}
)
"""Keys of results and diagnoses that are kept."""


def decimals(size: int) -> int:
    """Return the number of decimals for a metric in 0..1 over `size` items: a step is 1/5 to 2 standard errors.

    >>> [decimals(size) for size in (20, 100, 9_999, 33_405)]
    [1, 2, 2, 3]
    """
    return 1 + floor(log10(max(size, 1)) / 2)


def rounded(metrics: Mapping[str, float], size: int) -> dict[str, float]:
    """Return fractions rounded to ``decimals(size)``; `size` is the smaller number: ground truths or predictions."""
    return {key: round(value, decimals(size)) for key, value in metrics.items()}


def reduced(content: Any, size: int, key: str = "") -> Any:
    """Return the JSON of a result or a diagnosis, reduced to the keys in `_KEPT` and to rounded metrics and counts.

    Counts, except those under `_EXACT`, are rounded to multiples of ``size / 10 ** decimals(size)``, at least 1.
    """
    if isinstance(content, Mapping):
        return {name: reduced(value, size, name) for name, value in content.items() if name in _KEPT}
    if isinstance(content, list | tuple):
        return [reduced(each, size, key) for each in content]
    if isinstance(content, float):
        return round(content, decimals(size))
    if isinstance(content, int) and key not in _EXACT:
        step = max(round(size / 10 ** decimals(size)), 1)
        return round(content / step) * step
    return content


def reduce_classes(path: Path) -> None:
    """Rewrite classes.csv: only classes with LEAST_TRUTHS or more ground truths, one decimal less than `decimals`."""
    header, *rows = csv.reader(path.read_text("utf-8").splitlines())
    measured = [k for k, name in enumerate(header) if name.endswith(("_ap", "_recall", "_f1"))]
    kept = [row for row in rows if int(row[header.index("ground_truths")]) >= LEAST_TRUTHS]
    for row in kept:
        digits = decimals(int(row[header.index("ground_truths")])) - 1
        for k in measured:
            row[k] = row[k] and f"{float(row[k]):.{digits}f}"
    path.write_text(delimited_text([header, *kept]), "utf-8")
