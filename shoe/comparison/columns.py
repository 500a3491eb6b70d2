"""Columns of the table that compares runs: metrics, their headings, and the cell of a model in a column."""

from collections.abc import Iterable
from typing import NamedTuple

from shoe.comparison.significance import LOWER_IS_BETTER

FULL = "full"
"""Last part of the key of a mean over all classes of an exact-label protocol."""
_HEADINGS = {
    FULL: "mAP",
    "rare": "rare",
    "non_rare": "non-rare",
    "map": "SHOE-mAP",
    "mf1": "SHOE-mF1",
    "mf1_best_tau": "SHOE-mF1 best tau",
    "gt_miss_rate": "GT missed",
    "prediction_miss_rate": "unmatched",
    "no_overlap_rate": "no overlap",
}


def heading(figure: str) -> str:
    """Return the heading, in tables, of the metric with key ``figure``.

    >>> heading("strict:hico-det:full"), heading("semantic:part-unseen"), heading("semantic:gt_miss_rate")
    ('mAP', 'SHOE-mAP unseen', 'GT missed')
    """
    kind, *_, name = figure.split(":")
    if name not in _HEADINGS:
        part = name.removeprefix("part-").replace("-", " ", 1)
        return f"SHOE-mAP {part}" if kind == "semantic" else part
    return _HEADINGS[name]


def heading_with_arrow(figure: str) -> str:
    """Return the heading, in tables, of the metric with key ``figure``, with an arrow if the lowest value is best."""
    return f"{heading(figure)} ↓" if figure.endswith(LOWER_IS_BETTER) else heading(figure)


class Column(NamedTuple):
    """Column of the comparison table: metric key (figure), protocol (group) and heading."""

    figure: str
    group: str
    heading: str

    @property
    def marked(self) -> str:
        """Heading, with an arrow if the lowest value is the best."""
        return heading_with_arrow(self.figure)


class Cell(NamedTuple):
    """Value of a metric for one model, with its rank among all models.

    Attributes:
        value, rank: value of the metric as a fraction, and its rank from 1 (best); None if there is nothing to measure.
        best, second: whether the value is the best, and whether it is the second best after a single best value. Both
            are False if all values are equal.
        above: positions in the list of models, from 1, of the models that are significantly worse.
    """

    value: float | None
    rank: int | None
    best: bool
    second: bool
    above: tuple[int, ...]


def columns_of(figures: Iterable[str], semantic: str) -> list[Column]:
    """Return the columns of metrics with the keys ``figures``; ``semantic`` is the name of the semantic protocol.

    A new metric is one more key of :meth:`~shoe.comparison.run.Run.figures`, with a heading in this file.
    """
    columns = []
    for figure in figures:
        kind, *protocol, _ = figure.split(":")
        columns.append(Column(figure, semantic if kind == "semantic" else "".join(protocol), heading(figure)))
    return columns
