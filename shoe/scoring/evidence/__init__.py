"""What a figure rests on: functions of a report that are called when their answer is wanted, never while printing.

``profile(report)`` and ``resolution(report)`` say facts about predictions and words, ``interval(report)`` where SHOE
would lie were all pairs rated, ``spread(report)`` what single raters of the map would say, and ``order_spans(report)``
what other orders of the same file would.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoe.scoring.evidence.draws import Interval, interval
    from shoe.scoring.evidence.facts import (
        Profile,
        Resolution,
        Spread,
        box_check,
        order_spans,
        profile,
        resolution,
        spread,
    )

__all__ = [
    "Interval",
    "Profile",
    "Resolution",
    "Spread",
    "box_check",
    "interval",
    "order_spans",
    "profile",
    "resolution",
    "spread",
]

_HOMES = {"Interval": "draws", "interval": "draws"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'facts')}"), name)
