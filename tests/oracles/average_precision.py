"""Average precision of a ranked list of labels in 0..1, in loops, and over all orders of equally scored entries."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, combinations, groupby, pairwise, product
from math import factorial, prod
from typing import Literal

EPSILON = 1e-8
"""Algorithm 1, line 34. Part of all-points and trapezoid; the methods on a grid of recalls have none."""

MOST_ORDERS = 50_000
TOLERANCE = 1e-12

Grid = Literal["arange", "linspace", "exact"]
Method = Literal["all-points", "11-point", "101-point", "trapezoid"]
Entry = tuple[float, float]
"""Score and label; a label is 0, 1 or a similarity between them."""


def mean(values: Iterable[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return sum(present) / len(present) if present else None


def recall_grid(name: Grid) -> list[float]:
    """The eleven recalls as each reference computes them.

    arange multiplies: start + i * step. linspace (torch) does so for the first half (i < 11 // 2) and counts the
    second half back from the end: end - (10 - i) * step. exact divides: i / 10.
    """
    if name == "arange":
        return [i * 0.1 for i in range(11)]
    if name == "linspace":
        return [i * 0.1 for i in range(5)] + [1 - (10 - i) * 0.1 for i in range(5, 11)]
    return [i / 10 for i in range(11)]


def interpolated(labels: Sequence[float], truths: int, thresholds: Sequence[float], tolerance: float = 0.0) -> float:
    """Mean over thresholds of the largest precision at a recall that reaches the threshold; 0 where none does."""
    # Sums of fractional labels differ in their last digits by order, so recall may miss a threshold by the tolerance.
    if truths == 0:
        return 0.0
    curve = _curve(labels, truths, epsilon=0.0)
    total = 0.0
    for threshold in thresholds:
        total += max((precision for recall, precision in curve if recall >= threshold - tolerance), default=0.0)
    return total / len(thresholds)


def eleven_point(labels: Sequence[float], truths: int, grid: Grid = "exact") -> float:
    return interpolated(labels, truths, recall_grid(grid))


def all_points(labels: Sequence[float], truths: int, epsilon: float = EPSILON) -> float:
    """Area under the step curve of the precision envelope; ``epsilon`` is 0 where the text is not Algorithm 1's."""
    curve = _curve(labels, truths, epsilon)
    area = envelope = 0.0
    for i in reversed(range(len(curve))):
        recall, precision = curve[i]
        envelope = max(envelope, precision)
        area += (recall - (curve[i - 1][0] if i else 0.0)) * envelope
    return area


def trapezoid(labels: Sequence[float], truths: int) -> float:
    """Area under the raw curve, joined by straight lines; it starts at recall 0 with the first entry's precision."""
    curve = _curve(labels, truths, EPSILON)
    area = 0.0
    for (last_recall, last_precision), (recall, precision) in pairwise([(0.0, curve[0][1]), *curve] if curve else []):
        area += (recall - last_recall) * (precision + last_precision) / 2
    return area


def average_precision(labels: Sequence[float], truths: int, method: Method) -> float:
    """AP of labels in rank order. ``truths`` = 0 gives 0. 11-point uses the exact grid."""
    if method == "11-point":
        return interpolated(labels, truths, recall_grid("exact"), TOLERANCE)
    if method == "101-point":
        return interpolated(labels, truths, [k / 100 for k in range(101)], TOLERANCE)
    if method == "trapezoid":
        return trapezoid(labels, truths)
    return all_points(labels, truths)


class OutOfReachError(Exception):
    """There is too much to enumerate; a property rejects such a scene (``scenes.within_reach``)."""


def expected_ap(entries: Sequence[Entry], truths: int, method: Method) -> float:
    """Mean AP over all orders of equally scored entries, by enumeration.

    Entries of one score and one label are interchangeable, so each distinct sequence of labels of a tie group comes
    from equally many orders: the mean over distinct sequences is the mean over orders.
    """
    ranked = sorted(entries, key=lambda entry: -entry[0])
    groups = [[label for _, label in tied] for _, tied in groupby(ranked, key=lambda entry: entry[0])]
    number = prod(map(_number_of_sequences, groups))
    if number > MOST_ORDERS:
        raise OutOfReachError(f"{number} orders of tied entries are too many to enumerate")
    values = [
        average_precision([label for part in parts for label in part], truths, method)
        for parts in product(*[list(_sequences(group)) for group in groups])
    ]
    return sum(values) / len(values)


def _curve(labels: Sequence[float], truths: int, epsilon: float) -> list[tuple[float, float]]:
    found = accumulate(labels)
    return [(of / (truths + epsilon), of / (rank + epsilon)) for rank, of in enumerate(found, start=1)]


def _number_of_sequences(group: Sequence[float]) -> int:
    return factorial(len(group)) // prod(map(factorial, Counter(group).values()))


def _sequences(group: Sequence[float]) -> Iterator[list[float]]:
    """All distinct sequences: the rarest label goes to every choice of places, the others fill the rest."""
    counts = Counter(group)
    label = min(counts, key=counts.__getitem__)
    if len(counts) == 1:
        yield list(group)
        return
    for others in _sequences([each for each in group if each != label]):
        for places in combinations(range(len(group)), counts[label]):
            remaining = iter(others)
            yield [label if i in places else next(remaining) for i in range(len(group))]
