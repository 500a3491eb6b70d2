"""Explanations of metrics: statistics of predictions and words, intervals, and values per rater and per file order."""

from shoe.scoring.evidence.draws import Interval, interval
from shoe.scoring.evidence.facts import Profile, Resolution, Spread, order_spans, profile, resolution, spread

__all__ = ["Interval", "Profile", "Resolution", "Spread", "interval", "order_spans", "profile", "resolution", "spread"]
