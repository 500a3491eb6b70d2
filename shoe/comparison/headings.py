"""What figures are called in tables, by their keys."""

from __future__ import annotations

from shoe.comparison.ranks import LOWER_IS_BETTER

FULL = "full"
"""Ends the key of a mean over all classes of a protocol by exact labels."""
_HEADINGS = {
    FULL: "mAP",
    "rare": "rare",
    "non_rare": "non-rare",
    "map": "SHOE-mAP",
    "mf1": "SHOE-mF1",
    "gt_miss_rate": "GT missed",
    "prediction_miss_rate": "unmatched",
}
_PART = "part-"


def heading(figure: str) -> str:
    """What a figure is called.

    >>> heading("strict:hico-det:full"), heading("semantic:part-unseen"), heading("semantic:gt_miss_rate")
    ('mAP', 'SHOE-mAP unseen', 'GT missed')
    """
    kind, *_, name = figure.split(":")
    if name not in _HEADINGS:
        part = name.removeprefix(_PART).replace("-", " ", 1)
        return f"SHOE-mAP {part}" if kind == "semantic" else part
    return _HEADINGS[name]


def marked(figure: str) -> str:
    """What it is called, with an arrow where the lowest figure is the best."""
    return f"{heading(figure)} ↓" if figure.endswith(LOWER_IS_BETTER) else heading(figure)
