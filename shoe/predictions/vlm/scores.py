"""Confidences as models write them: numbers, percent, or words."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from shoe.core.arrays import Floats
from shoe.predictions.vlm.boxes import number_of

WORDS = {
    "certain": 0.95,
    "very high": 0.95,
    "high": 0.9,
    "likely": 0.75,
    "medium": 0.6,
    "moderate": 0.6,
    "low": 0.3,
    "unlikely": 0.2,
    "very low": 0.1,
}
"""What a confidence in words counts as; every report names those that a file has."""
_SHARE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(%|/\s*100?)\s*")


def score_of(value: Any) -> tuple[float | None, str]:
    """Read a confidence.

    Args:
        value: as written.

    Returns:
        the score; NaN where there is none, None where it cannot be read. What was read where it was no plain number:
        "%", "/" or the word.
    """
    if value is None or value == "":
        return np.nan, ""
    number = number_of(value)
    if number is not None:
        return (number if number == number and abs(number) < 1e300 else None), ""
    if isinstance(value, list) and len(value) == 1:
        return score_of(value[0])
    if not isinstance(value, str):
        return None, ""
    if share := _SHARE.fullmatch(value):
        whole = 10.0 if share[2].replace(" ", "") == "/10" else 100.0
        return float(share[1]) / whole, "%" if share[2] == "%" else "/"
    word = " ".join(value.lower().replace("_", " ").replace("-", " ").split())
    return (WORDS[word], word) if word in WORDS else (None, "")


def are_percent(scores: Floats) -> bool:
    """Whether all scores of a file are whole numbers from 1 to 100, some above 10: percent."""
    given = scores[~np.isnan(scores)]
    return bool(len(given)) and bool(given.min() >= 1 and 10 < given.max() <= 100 and (given == np.rint(given)).all())
