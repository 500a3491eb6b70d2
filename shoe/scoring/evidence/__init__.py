"""Explanations of a report's metrics: facts about predictions and words, intervals, raters and orders of the file."""

from shoe.scoring.evidence.draws import Interval, interval
from shoe.scoring.evidence.facts import Profile, Resolution, Spread, box_check, order_spans, profile, resolution, spread

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
