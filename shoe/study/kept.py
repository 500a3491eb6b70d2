"""A study's folder: ``study.json``, whichever kind it is, copies of the pictures that its pages show, problem files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from shoe.bongard.files import read_problems
from shoe.bongard.problems import Problems
from shoe.bongard.score import digest
from shoe.core.errors import InputError, OptionError
from shoe.io.files import read_bytes, replacing
from shoe.io.json import read_typed
from shoe.study.plan import Study
from shoe.study.problems import ProblemStudy

FILE, PICTURES, PROBLEMS = "study.json", "pictures", "problems"
AnyStudy = Study | ProblemStudy


class _Kind(msgspec.Struct):
    kind: str = ""


def write_study(folder: Path, study: AnyStudy, pictures: Mapping[str, bytes]) -> None:
    """Write a study into a folder, made if it is not there.

    Args:
        folder: where to.
        study: the study.
        pictures: by file name, those that it names.

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
        InputError: where a file is not there, or the problems are others.
    """
    problems = read_problems(*(folder / PROBLEMS / Path(name).name for name in study.files))
    if digest(problems) != study.digest:
        expected = f"those that {folder / FILE} is of"
        raise InputError(folder / PROBLEMS, found="other problems", expected=expected)
    return problems


def load_study(folder: Path) -> AnyStudy:
    """Read ``study.json``.

    Raises:
        InputError: where it is not there, or holds something else.
    """
    path = folder / FILE
    data = read_bytes(path)
    kind: type[AnyStudy] = ProblemStudy if read_typed(path, data, _Kind, _place).kind == "problems" else Study
    return read_typed(path, data, kind, _place)


def _place(_document: object, number: int, _record: object) -> str:
    return f"record {number}"
