"""Files that raters send back, as one table of answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np

from shoe.bongard.problems import Problems
from shoe.core.errors import InputError, many, quote
from shoe.io.files import read_bytes
from shoe.io.json import read_typed
from shoe.study.kept import AnyStudy, problems_of
from shoe.study.plan import Phase, Question
from shoe.study.problems import ProblemStudy
from shoe.study.testers import trials_of


class RaterAnswer(msgspec.Struct, frozen=True):
    """One answer; of several to the same question the last one counts, by the order of the file.

    Attributes:
        item: its index in the study.
        occasion: 1, or 2 for a repeat.
        rating: 0 to 4; of a query of a problem 1 for side A, 0 for side B.
        shown, answered: milliseconds since 1970.
        phase: as :class:`shoe.study.plan.Question` has it.
    """

    item: int
    occasion: int
    rating: int
    shown: float
    answered: float
    phase: Phase = "words"

    @property
    def question(self) -> Question:
        """What it answers."""
        return Question(self.item, self.occasion, self.phase)


class RaterFile(msgspec.Struct, frozen=True):
    """The file that a rater's page saves."""

    study: str
    rater: str
    answers: Annotated[list[RaterAnswer], msgspec.Meta(extra={"item": "answer"})]


LastAnswers = dict[tuple[str, Question], RaterAnswer]
"""By rater and question, the last answer."""


def answers_of(study: AnyStudy, paths: Sequence[Path]) -> LastAnswers:
    """Read what raters sent back; equal answers in several files count once.

    Raises:
        InputError: for a file of another study, of nobody that it invited, with an answer to what it does not ask, or
            if two files differ in what one rater last answered.
    """
    answers: dict[tuple[str, Question], tuple[tuple[float, int], RaterAnswer, Path]] = {}
    for path in paths:
        returned = _read(path, study)
        latest = -np.inf  # a clock that was put back changes no order
        for place, answer in enumerate(returned.answers):
            latest = max(latest, answer.answered)
            key, when = (returned.rater, answer.question), (latest, place)
            earlier = answers.get(key)
            if earlier is None or when > earlier[0]:
                answers[key] = (when, answer, path)
            elif when == earlier[0] and answer.rating != earlier[1].rating:
                expected = f"{earlier[1].rating}, as {earlier[2]} has it for the same moment"
                raise InputError(path, record=f"answer {place}", found=str(answer.rating), expected=expected)
    return {key: answer for key, (_, answer, _) in sorted(answers.items())}


def table_of(study: AnyStudy, answers: LastAnswers) -> list[list[object]]:
    """Rows of a table that ``shoe study report`` reads, header first."""
    rows: list[list[object]] = [list(study.columns)]
    for (rater, question), answer in answers.items():
        seconds = round(max(0.0, answer.answered - answer.shown) / 1000, 3)
        rows.append(study.row(rater, question, answer.rating, seconds))
    return rows


def kept_problems(folder: Path, study: ProblemStudy, answers: LastAnswers) -> Problems:
    """Problems of a study that at least one tester solves; its folder has them all."""
    trials = trials_of(table_of(study, answers), folder)
    kept = sorted(int(name) for name, solved in zip(trials.problems, trials.kept, strict=True) if solved)
    return problems_of(folder, study).select(np.array(kept, np.int64))


def _read(path: Path, study: AnyStudy) -> RaterFile:
    returned = read_typed(path, read_bytes(path), RaterFile, lambda _document, number, _: f"answer {number}")
    if returned.study != study.id:
        raise InputError(path, field="study", found=quote(returned.study), expected=f"{study.id}, as this study has")
    if returned.rater not in study.names:
        expected = f"one of its {many(study.raters, 'rater')}, {study.names[0]} to {study.names[-1]}"
        raise InputError(path, field="rater", found=quote(returned.rater), expected=expected)
    asked = set(study.order(study.names.index(returned.rater)))
    for number, answer in enumerate(returned.answers):
        if answer.question not in asked or not 0 <= answer.rating < study.levels:
            found = quote([*answer.question, answer.rating])
            expected = f"what the page of {returned.rater} asks, and a rating 0 to {study.levels - 1}"
            raise InputError(path, record=f"answer {number}", found=found, expected=expected)
    return returned
