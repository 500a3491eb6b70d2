"""What earlier answers of a rater say about those to come: how many tokens a prompt and an answer take."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from shoe.lexicon.expressions import Part
from shoe.llm.costs import Usage, usage_of
from shoe.rating.estimate import Progress
from shoe.rating.job import Outcome
from shoe.rating.panel import Panel, Seat
from shoe.rating.questions import Question
from shoe.rating.senses import describe
from shoe.rating.states import pending

_LATEST = 1 << 18
"""Bytes of a ledger's end that are looked at."""


def measured_progress(panel: Panel, outcome: Outcome) -> dict[str, Progress]:
    """Say per rater what its kept answers tell about the rest of its work."""
    found: dict[str, Progress] = {}
    column = 0
    for seat in panel.seats:
        columns = slice(column, column + len(seat.columns))
        answered, zeros = _counts(outcome, columns)
        found[seat.config.name] = Progress(answered, zeros, *_tokens(seat, panel))
        column = columns.stop
    return found


def _counts(outcome: Outcome, columns: slice) -> tuple[Mapping[Part, int], Mapping[Part, int]]:
    states = {part: rated.states[:, columns] for part, rated in outcome.parts.items()}
    answered = {part: int(np.count_nonzero(~pending(found))) for part, found in states.items()}
    return answered, {part: int(np.count_nonzero(found == 0)) for part, found in states.items()}


def _tokens(seat: Seat, panel: Panel) -> tuple[float | None, float | None]:
    """Input tokens for each character of a prompt, and output tokens for each pair."""
    answers = [(entry, usage) for entry in _latest(seat.ledger.path) if (usage := usage_of(entry.get("answer", {})))]
    if not answers:
        return None, None
    characters = sum(_characters(seat, panel, entry) for entry, _ in answers)
    pairs = sum(len(entry["pairs"]) for entry, _ in answers)
    total = Usage(*map(sum, zip(*(usage for _, usage in answers), strict=True)))
    return total.input / characters, total.output / pairs


def _characters(seat: Seat, panel: Panel, entry: Mapping[str, Any]) -> int:
    senses = describe([name for pair in entry["pairs"] for name in pair])
    group = [Question(b"", entry["part"], *pair) for pair in zip(senses[::2], senses[1::2], strict=True)]
    return panel.prompts.length(group, several=seat.config.pairs_per_request > 1)


def _latest(path: Path) -> list[dict[str, Any]]:
    """The answers in whole lines at the end of a ledger."""
    try:
        with path.open("rb") as stream:
            stream.seek(max(os.fstat(stream.fileno()).st_size - _LATEST, 0))
            lines = stream.read().split(b"\n")[1:-1]
    except FileNotFoundError:
        return []
    entries = [orjson.loads(line) for line in lines]
    return [entry for entry in entries if "answer" in entry]
