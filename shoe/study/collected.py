"""Files that raters send back, as one table of answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import numpy as np

from shoe.core.errors import InputError, many, quote
from shoe.io.files import read_bytes
from shoe.io.json import read_typed
from shoe.similarity.ensemble import HIGHEST
from shoe.study.plan import Study, order_of
from shoe.study.ratings import SENSES

COLUMNS = (*SENSES, "rater", "rating", "occasion", "part", "gold", "seconds")


class Answer(msgspec.Struct, frozen=True):
    """One answer; of several to the same question the last one counts, by the order of the file.

    Attributes:
        item: its index in the study.
        occasion: 1, or 2 for a repeat.
        phase: words, or picture where the picture was shown.
        rating: 0 to 4.
        shown, answered: milliseconds since 1970.
    """

    item: int
    occasion: int
    phase: Literal["words", "picture"]
    rating: int
    shown: float
    answered: float


class Returned(msgspec.Struct, frozen=True):
    """The file that a rater's page saves."""

    study: str
    rater: str
    answers: Annotated[list[Answer], msgspec.Meta(extra={"item": "answer"})]


def table_of(study: Study, paths: Sequence[Path]) -> list[list[object]]:
    """Rows of a table that ``shoe study report`` reads, header first; equal answers in several files count once.

    Raises:
        InputError: for a file of another study, of nobody that it invited, with an answer to what it does not ask, or
            if two files differ in what one rater last answered.
    """
    answers: dict[tuple[str, int, int], tuple[tuple[float, int], Answer, Path]] = {}
    for path in paths:
        returned = _read(path, study)
        latest = -np.inf  # a clock that was put back changes no order
        for place, answer in enumerate(returned.answers):
            latest = max(latest, answer.answered)
            key, when = (returned.rater, answer.item, answer.occasion), (latest, place)
            earlier = answers.get(key)
            if earlier is None or when > earlier[0]:
                answers[key] = (when, answer, path)
            elif when == earlier[0] and answer.rating != earlier[1].rating:
                expected = f"{earlier[1].rating}, as {earlier[2]} has it for the same moment"
                raise InputError(path, record=f"answer {place}", found=str(answer.rating), expected=expected)
    rows: list[list[object]] = [list(COLUMNS)]
    for (rater, item, occasion), (_, answer, _) in sorted(answers.items()):
        asked = study.items[item]
        seconds = round(max(0.0, answer.answered - answer.shown) / 1000, 3)
        gold = "" if asked.gold is None else asked.gold
        rows.append([*asked.senses, rater, answer.rating, occasion, asked.part, gold, seconds])
    return rows


def _read(path: Path, study: Study) -> Returned:
    returned = read_typed(path, read_bytes(path), Returned, lambda _document, number, _: f"answer {number}")
    if returned.study != study.id:
        raise InputError(path, field="study", found=quote(returned.study), expected=f"{study.id}, as this study has")
    if returned.rater not in study.names:
        expected = f"one of its {many(study.raters, 'rater')}, {study.names[0]} to {study.names[-1]}"
        raise InputError(path, field="rater", found=quote(returned.rater), expected=expected)
    asked = set(order_of(study, study.names.index(returned.rater)))
    for number, answer in enumerate(returned.answers):
        if (answer.item, answer.occasion) not in asked or not 0 <= answer.rating <= HIGHEST:
            found = quote([answer.item, answer.occasion, answer.rating])
            expected = f"an item and occasion that the page of {returned.rater} asks, and a rating 0 to {HIGHEST}"
            raise InputError(path, record=f"answer {number}", found=found, expected=expected)
    return returned
