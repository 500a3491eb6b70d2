"""Files that raters send back, as one table of answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from shoe.core.errors import InputError, many, quote
from shoe.io.files import read_bytes
from shoe.similarity.ensemble import HIGHEST
from shoe.study.plan import Study
from shoe.study.ratings import SENSES

COLUMNS = (*SENSES, "rater", "rating", "occasion", "part", "gold", "seconds")


class Answer(msgspec.Struct, frozen=True):
    """One answer; of several to the same question the last one counts.

    Attributes:
        item: its index in the study.
        occasion: 1, or 2 for a repeat.
        rating: 0 to 4.
        shown, answered: milliseconds since 1970.
    """

    item: int
    occasion: int
    rating: int
    shown: float
    answered: float


class Returned(msgspec.Struct, frozen=True):
    """The file that a rater's page saves."""

    study: str
    rater: str
    answers: list[Answer]


def table_of(study: Study, paths: Sequence[Path]) -> list[list[object]]:
    """Rows of a table that ``shoe study report`` reads, header first; equal answers in several files count once.

    Raises:
        InputError: for a file of another study, of nobody that it invited, with an answer to what it does not ask, or
            if two files differ in what one rater last answered.
    """
    answers: dict[tuple[str, int, int], tuple[Answer, Path]] = {}
    for path in paths:
        returned = _read(path, study)
        last = {(answer.item, answer.occasion): answer for answer in sorted(returned.answers, key=lambda a: a.answered)}
        for (item, occasion), answer in last.items():
            earlier = answers.setdefault((returned.rater, item, occasion), (answer, path))
            if answer.answered > earlier[0].answered:
                answers[returned.rater, item, occasion] = (answer, path)
    rows: list[list[object]] = [list(COLUMNS)]
    for (rater, item, occasion), (answer, _) in sorted(answers.items()):
        asked = study.items[item]
        seconds = round(max(0.0, answer.answered - answer.shown) / 1000, 3)
        gold = "" if asked.gold is None else asked.gold
        rows.append([*asked.senses, rater, answer.rating, occasion, asked.part, gold, seconds])
    return rows


def _read(path: Path, study: Study) -> Returned:
    try:
        returned = msgspec.json.decode(read_bytes(path), type=Returned)
    except msgspec.DecodeError as error:
        raise InputError(path, found=str(error), expected="the file that a rater's page saves") from None
    if returned.study != study.id:
        raise InputError(path, field="study", found=quote(returned.study), expected=f"{study.id}, as this study has")
    if returned.rater not in study.names:
        expected = f"one of its {many(study.raters, 'rater')}, {study.names[0]} to {study.names[-1]}"
        raise InputError(path, field="rater", found=quote(returned.rater), expected=expected)
    for number, answer in enumerate(returned.answers):
        right = 0 <= answer.item < len(study.items) and answer.occasion in (1, 2) and 0 <= answer.rating <= HIGHEST
        if not right:
            found = quote([answer.item, answer.occasion, answer.rating])
            expected = f"item 0 to {len(study.items) - 1}, occasion 1 or 2, rating 0 to {HIGHEST}"
            raise InputError(path, record=f"answer {number}", found=found, expected=expected)
    return returned
