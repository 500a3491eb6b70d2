"""Folder of a study: ``study.json``, images of its pages, problem files, and answers of raters."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np

from shoe.core.errors import InputError, OptionError, pluralize, quote
from shoe.core.io.files import atomic_write, read_bytes
from shoe.core.io.json import read_typed
from shoe.scoring.bongard.problems import Problems, read_problems
from shoe.scoring.bongard.score import digest
from shoe.study.plan import Phase, ProblemStudy, Question, Study
from shoe.study.testers import trials_of

FILE, PICTURES, PROBLEMS = "study.json", "pictures", "problems"
AnyStudy = Study | ProblemStudy


class _Kind(msgspec.Struct):
    kind: str = ""


def write_study(folder: Path, study: AnyStudy, pictures: Mapping[str, bytes]) -> None:
    """Write a study and its pictures (content by file name) into a folder, which is created if absent.

    Raise OptionError if the folder holds another study, and InputError if it is not writable.
    """
    if (folder / FILE).exists() and load_study(folder).id != study.id:
        raise OptionError(f"{folder} holds another study; use an empty folder, or the options of that study")
    try:
        (folder / PICTURES if pictures else folder).mkdir(parents=True, exist_ok=True)
        for name, content in pictures.items():  # study.json is written last, so that no study is incomplete
            (folder / PICTURES / name).write_bytes(content)
    except OSError as error:
        raise InputError(folder, found=str(error.strerror), expected="a folder that can be written to") from error
    with atomic_write(folder / FILE) as stream:
        stream.write(msgspec.json.format(msgspec.json.encode(study), indent=1))


def write_problem_files(folder: Path, paths: Sequence[Path]) -> None:
    """Copy the problem files of a study into its folder, where files of the same name are replaced."""
    contents = {path.name: path.read_bytes() for path in paths}
    (folder / PROBLEMS).mkdir(exist_ok=True)
    for name, content in contents.items():
        with atomic_write(folder / PROBLEMS / name) as stream:
            stream.write(content)


def problems_of(folder: Path, study: ProblemStudy) -> Problems:
    """Read the problems of a study from its folder; InputError if a file is absent, or has other problems."""
    problems = read_problems(*(folder / PROBLEMS / Path(name).name for name in study.files))
    if digest(problems) != study.digest:
        expected = f"the problems of {folder / FILE}"
        raise InputError(folder / PROBLEMS, found="changed problems, or problems of another study", expected=expected)
    return problems


def load_study(folder: Path) -> AnyStudy:
    """Read ``study.json``, or raise InputError if it is absent or not a study."""
    path, data = folder / FILE, read_bytes(folder / FILE)
    kind: type[AnyStudy] = ProblemStudy if read_typed(path, data, _Kind, _place).kind == "problems" else Study
    return read_typed(path, data, kind, _place)


def _place(_document: object, number: int, _record: object) -> str:
    return f"record {number + 1}"


class RaterAnswer(msgspec.Struct, frozen=True):
    """One answer of a rater to the question that consists of item, occasion and phase.

    The rating is 0 to 4; for the query of a problem, 1 for side A and 0 for side B. The times when the question was
    shown and answered are in milliseconds since 1970.
    """

    item: int
    occasion: int
    rating: int
    shown: float
    answered: float
    phase: Phase = "words"

    @property
    def question(self) -> Question:
        """Question that was answered."""
        return Question(self.item, self.occasion, self.phase)


class RaterFile(msgspec.Struct, frozen=True):
    """File with a rater's answers, saved by the rater's page."""

    study: str
    rater: str
    answers: Annotated[list[RaterAnswer], msgspec.Meta(extra={"item": "answer"})]


LastAnswers = dict[tuple[str, Question], RaterAnswer]
"""Last answer by rater and question."""


def answers_of(study: AnyStudy, paths: Sequence[Path]) -> LastAnswers:
    """Read raters' files, and return the last answer of each rater to each question, sorted by rater and question.

    Raise InputError for another study, an unknown rater or question, or different answers given at the same time.
    """
    answers: dict[tuple[str, Question], tuple[tuple[float, int], RaterAnswer, Path]] = {}
    for path in paths:
        returned, latest = _read(path, study), -np.inf  # so that a clock that was set back does not change the order
        for place, answer in enumerate(returned.answers):
            latest = max(latest, answer.answered)
            key, when = (returned.rater, answer.question), (latest, place)
            if (earlier := answers.get(key)) is None or when > earlier[0]:
                answers[key] = (when, answer, path)
            elif when == earlier[0] and answer.rating != earlier[1].rating:
                expected = f"{earlier[1].rating} as in {earlier[2]}, for an answer given at the same time"
                raise InputError(path, record=f"answer {place + 1}", found=str(answer.rating), expected=expected)
    return {key: answer for key, (_, answer, _) in sorted(answers.items())}


def table_of(study: AnyStudy, answers: LastAnswers) -> list[list[object]]:
    """Return a table for ``shoe study report``: the header ``study.columns``, and one row per answer."""
    took = {key: round(max(0.0, answer.answered - answer.shown) / 1000, 3) for key, answer in answers.items()}
    return [list(study.columns), *(study.row(*key, answer.rating, took[key]) for key, answer in answers.items())]


def kept_problems(folder: Path, study: ProblemStudy, answers: LastAnswers) -> Problems:
    """Return the problems of a study that at least one tester solved, according to ``answers``."""
    trials = trials_of(table_of(study, answers), folder)
    kept = sorted(int(name) for name, solved in zip(trials.problems, trials.kept, strict=True) if solved)
    return problems_of(folder, study).select(np.array(kept, np.int64))


def _read(path: Path, study: AnyStudy) -> RaterFile:
    returned = read_typed(path, read_bytes(path), RaterFile, lambda _document, number, _: f"answer {number + 1}")
    if returned.study != study.id:
        raise InputError(path, field="study", found=quote(returned.study), expected=f"{study.id}, the ID of this study")
    if returned.rater not in study.names:
        expected = f"one of the {pluralize(study.raters, 'rater')} of the study, {study.names[0]} to {study.names[-1]}"
        raise InputError(path, field="rater", found=quote(returned.rater), expected=expected)
    asked = set(study.order(study.names.index(returned.rater)))
    for number, answer in enumerate(returned.answers):
        if answer.question not in asked or not 0 <= answer.rating < study.levels:
            found = quote([*answer.question, answer.rating])
            expected = f"a question on the page of {returned.rater}, and a rating 0 to {study.levels - 1}"
            raise InputError(path, record=f"answer {number + 1}", found=found, expected=expected)
    return returned
