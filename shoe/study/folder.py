"""Folder of a study: ``study.json``, pictures of its pages, problem files, and answers of raters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np

from shoe.core.errors import InputError, OptionError, many, quote
from shoe.core.io.files import read_bytes, replacing
from shoe.core.io.json import read_typed
from shoe.scoring.bongard.problems import Problems, read_problems
from shoe.scoring.bongard.score import digest
from shoe.study.plan import Phase, Question, Study
from shoe.study.problems import ProblemStudy
from shoe.study.testers import trials_of

FILE, PICTURES, PROBLEMS = "study.json", "pictures", "problems"
AnyStudy = Study | ProblemStudy


class _Kind(msgspec.Struct):
    kind: str = ""


def write_study(folder: Path, study: AnyStudy, pictures: Mapping[str, bytes]) -> None:
    """Write a study into a folder, which is made if absent.

    Args:
        pictures: pictures that the study shows, by file name.

    Raises:
        OptionError: if the folder holds another study.
        InputError: if it cannot be written to.
    """
    if (folder / FILE).exists() and load_study(folder).id != study.id:
        raise OptionError(f"{folder} holds another study; expected an empty folder, or the options that made it")
    try:
        (folder / PICTURES if pictures else folder).mkdir(parents=True, exist_ok=True)
        for name, content in pictures.items():  # without study.json, which comes last, they are nothing
            (folder / PICTURES / name).write_bytes(content)
    except OSError as error:
        raise InputError(folder, found=str(error.strerror), expected="a folder that can be written to") from error
    with replacing(folder / FILE) as stream:
        stream.write(msgspec.json.format(msgspec.json.encode(study), indent=1))


def write_problem_files(folder: Path, paths: Sequence[Path]) -> None:
    """Copy the problem files of a study into its folder."""
    contents = {path.name: path.read_bytes() for path in paths}
    (folder / PROBLEMS).mkdir(exist_ok=True)
    for name, content in contents.items():
        with replacing(folder / PROBLEMS / name) as stream:
            stream.write(content)


def problems_of(folder: Path, study: ProblemStudy) -> Problems:
    """Read the problems of a study from its folder, in its order.

    Raises:
        InputError: if a file is absent or holds other problems.
    """
    problems = read_problems(*(folder / PROBLEMS / Path(name).name for name in study.files))
    if digest(problems) != study.digest:
        expected = f"those that {folder / FILE} is of"
        raise InputError(folder / PROBLEMS, found="other problems", expected=expected)
    return problems


def load_study(folder: Path) -> AnyStudy:
    """Read ``study.json``, or raise InputError if it is absent or not a study."""
    path = folder / FILE
    data = read_bytes(path)
    kind: type[AnyStudy] = ProblemStudy if read_typed(path, data, _Kind, _place).kind == "problems" else Study
    return read_typed(path, data, kind, _place)


def _place(_document: object, number: int, _record: object) -> str:
    return f"record {number}"


# Files that raters send back, as one table of answers.


class RaterAnswer(msgspec.Struct, frozen=True):
    """One answer; of several answers to a question the last one in the file counts.

    Attributes:
        item: its index in the study.
        occasion: 1, or 2 for a repeat.
        rating: 0 to 4; of a query of a problem 1 for side A, 0 for side B.
        shown, answered: milliseconds since 1970.
        phase: phase of :class:`shoe.study.plan.Question`.
    """

    item: int
    occasion: int
    rating: int
    shown: float
    answered: float
    phase: Phase = "words"

    @property
    def question(self) -> Question:
        """The question that it answers."""
        return Question(self.item, self.occasion, self.phase)


class RaterFile(msgspec.Struct, frozen=True):
    """The file that a rater's page saves."""

    study: str
    rater: str
    answers: Annotated[list[RaterAnswer], msgspec.Meta(extra={"item": "answer"})]


LastAnswers = dict[tuple[str, Question], RaterAnswer]
"""By rater and question, the last answer."""


def answers_of(study: AnyStudy, paths: Sequence[Path]) -> LastAnswers:
    """Read answers from raters' files; equal answers in several files count once.

    Raises:
        InputError: for a file of another study or of a rater who was not invited, an answer to a question that was not
            asked, or two files that differ in a rater's last answer to a question.
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
    """Return the rows of a table for ``shoe study report``, header first."""
    rows: list[list[object]] = [list(study.columns)]
    for (rater, question), answer in answers.items():
        seconds = round(max(0.0, answer.answered - answer.shown) / 1000, 3)
        rows.append(study.row(rater, question, answer.rating, seconds))
    return rows


def kept_problems(folder: Path, study: ProblemStudy, answers: LastAnswers) -> Problems:
    """Return the problems of a study that at least one tester solves; its folder has them all."""
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
