"""Answers of testers to Bongard problems: accuracy of the testers, and which problems are kept.

A tester solves a problem by answering both queries correctly. A problem is kept if any of its testers solves it
(Bongard-HOI supplement, section D, with three testers per problem).
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple, Self

import msgspec
import numpy as np
from msgspec import Meta

from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.documents import Count, Document, Fraction
from shoe.core.errors import InputError, quote
from shoe.core.io.files import read_bytes
from shoe.core.io.spreadsheets import delimited_rows
from shoe.core.statistics import alpha
from shoe.similarity.ensemble import MISSING, Ratings
from shoe.study.agreement import Figure, figure_of
from shoe.study.ratings import cell_error, number_of

COLUMNS = ("problem", "group", "concept", "query", "rater", "right", "seconds")
QUERIES = ("positive", "negative")
GUESSED = 1 / 4  # probability that a tester who guesses both queries solves a problem


class Trials(NamedTuple):
    """Answers of R testers to the queries of N Bongard problems, each in the ``group`` (N,), an index into ``groups``.

    Attributes:
        right: (N, 2, R) whether the positive and the negative query was answered correctly: 1, 0, or MISSING (-1).
        seconds: (N, R) time taken for both queries in seconds, or NaN if unknown for one of them.
    """

    problems: tuple[str, ...]
    raters: tuple[str, ...]
    groups: tuple[str, ...]
    group: Indices
    right: Ratings
    seconds: Floats

    @property
    def done(self) -> Mask:
        """(N, R) mask: whether each tester answered both queries of each problem."""
        return np.asarray((self.right != MISSING).all(axis=1))

    @property
    def solved(self) -> Mask:
        """(N, R) mask: whether each tester answered both queries of each problem correctly."""
        return np.asarray((self.right == 1).all(axis=1))

    @property
    def kept(self) -> Mask:
        """(N,) mask of the problems that at least one tester solved."""
        return np.asarray(self.solved.any(axis=1))


class Tester(Document, frozen=True, rename={"accuracy": "right"}):
    """One tester: problems answered, fraction of correct answers and of solved problems, median seconds per problem."""

    problems: Count
    accuracy: Fraction
    solved: Fraction
    seconds: float | None = None


class Result(
    Document,
    frozen=True,
    kw_only=True,
    rename={"accuracy": "right", "agreement": "alpha", "guessed": "kept_by_guessing"},
):
    """Answers to a group of problems, and number of problems kept.

    Attributes:
        problems: number of problems for which at least one tester answered both queries.
        testers: minimum and maximum number of testers per problem who answered both queries.
        accuracy: fraction of correct answers, with its 95 % interval over problems and testers.
        positive, negative: accuracy for positive queries and for negative queries.
        agreement: Krippendorff's nominal alpha of the sides chosen by testers.
        kept: number of problems solved by at least one tester.
        dropped: number of problems that no tester solved, and that the maximum number of testers answered.
        waiting: number of problems that no tester solved so far, and that fewer testers answered.
        guessed: expected fraction of problems kept if all testers guessed.
    """

    problems: Count
    testers: Annotated[Sequence[Count], Meta(min_length=2, max_length=2, description="minimum and maximum per problem")]
    accuracy: Figure
    positive: Figure
    negative: Figure
    agreement: float | None = None
    kept: Count
    dropped: Count
    waiting: Count
    guessed: Fraction


class TestersReport(Document, frozen=True, kw_only=True):
    """Results for all problems and for each group, and results of each tester."""

    all: Result
    groups: dict[str, Result] = msgspec.field(default_factory=dict)
    testers: dict[str, Tester]

    @classmethod
    def from_trials(cls, trials: Trials, path: Path) -> Self:
        """Return the report of answers; InputError, with ``path``, if no tester answered both queries of a problem."""
        everything = result_of(trials, np.ones(len(trials.problems), bool))
        if everything is None:
            raise InputError(path, found="no tester with answers to both queries of a problem", expected="one or more")
        names = trials.groups if len(trials.groups) > 1 else ()
        groups = {name: of for j, name in enumerate(names) if (of := result_of(trials, trials.group == j))}
        testers = {name: one for j, name in enumerate(trials.raters) if (one := one_tester(trials, j))}
        return cls(all=everything, groups=groups, testers=testers)

    @property
    def results(self) -> dict[str, Result]:
        """Results by name of the group; the first is "all", for all problems."""
        return {"all": self.all} | self.groups


def is_trials(path: Path) -> bool:
    """Return whether a file is a table of testers' answers: its header has the columns problem, query and right."""
    header = read_bytes(path).split(b"\n", 1)[0].decode("utf-8-sig", "replace")
    return {"problem", "query", "right"} <= {name.strip('" \r') for name in re.split("[,;\t]", header)}


def read_trials(path: Path) -> Trials:
    """Read a table of testers' answers, see :func:`trials_of`."""
    return trials_of(delimited_rows(path), path)


def trials_of(rows: Sequence[Sequence[object]], path: Path) -> Trials:
    """Parse a table of testers' answers: columns problem, group, query, rater, right; optional: concept, seconds.

    Raise InputError with file ``path``, line and field if a query is neither positive nor negative, an answer is
    neither 0 nor 1, a tester answered a query twice, or a problem has two groups.
    """
    header = [str(name) for name in rows[0]]
    columns = {name: header.index(name) for name in COLUMNS if name in header}
    for name in COLUMNS:
        if name not in ("concept", "seconds") and header.count(name) != 1:
            expected = f"each of these columns once: {' '.join(COLUMNS)}"
            raise InputError(path, record="line 1", field=name, found=quote(" ".join(header)), expected=expected)
    problems: dict[str, str] = {}
    raters: dict[str, int] = {}
    answers: dict[tuple[str, str, str], tuple[int, float]] = {}
    for number, row in enumerate(rows[1:], start=2):
        cells = {name: str(row[column]).strip() for name, column in columns.items()}
        key, group = (cells["problem"], cells["query"], cells["rater"]), cells["group"]
        before = problems.setdefault(cells["problem"], group)
        for field, is_valid, expected in (
            ("query", cells["query"] in QUERIES, "positive or negative"),
            ("right", cells["right"] in ("0", "1"), "0 or 1"),
            ("problem", cells["problem"] != "", "a name"),
            ("rater", cells["rater"] != "", "a name"),
            ("group", group == before, f"{quote(before)}, as in earlier rows of the same problem"),
            ("rater", key not in answers, "one answer per tester and query"),
        ):
            if not is_valid:
                raise cell_error(path, number, field, cells[field], expected)
        raters.setdefault(cells["rater"], len(raters))
        took = number_of(path, number, "seconds", cells.get("seconds", ""), sys.float_info.max)
        answers[key] = int(cells["right"]), took
    groups, place = tuple(dict.fromkeys(problems.values())), {name: row for row, name in enumerate(problems)}
    right = np.full((len(place), 2, len(raters)), MISSING, np.int8)
    seconds = np.full(right.shape, np.nan)
    for (problem, query, rater), (value, took) in answers.items():
        at = place[problem], QUERIES.index(query), raters[rater]
        right[at], seconds[at] = value, took
    of_problems = np.array([groups.index(name) for name in problems.values()], np.int64)
    return Trials(tuple(problems), tuple(raters), groups, of_problems, right, seconds.sum(axis=1))


def one_tester(trials: Trials, j: int) -> Tester | None:
    """Return the results of tester ``j``, or None if the tester answered both queries of no problem."""
    done = trials.done[:, j]
    if not done.any():
        return None
    known = trials.seconds[done & ~np.isnan(trials.seconds[:, j]), j]
    accuracy, solved = float(trials.right[done][:, :, j].mean()), float(trials.solved[done, j].mean())
    return Tester(int(done.sum()), accuracy, solved, float(np.median(known)) if len(known) else None)


def result_of(trials: Trials, chosen: Mask) -> Result | None:
    """Return the results of the chosen problems; None if no tester answered both queries of a chosen problem."""
    done: Mask = trials.done.any(axis=1) & chosen
    if not done.any():
        return None
    right, kept = trials.right[done], trials.kept[done]
    number, most = trials.done[done].sum(axis=1), int(trials.done.sum(axis=1).max())
    # A correct answer to the positive query is side A, and so is a wrong answer to the negative query.
    sides = np.concatenate([right[:, 0], np.where(right[:, 1] == MISSING, MISSING, 1 - right[:, 1])])
    return Result(
        problems=len(kept),
        testers=(int(number.min()), int(number.max())),
        accuracy=_share(right),
        positive=_share(right[:, :1]),
        negative=_share(right[:, 1:]),
        agreement=alpha(sides.astype(np.int8), "nominal"),
        kept=int(kept.sum()),
        dropped=int((~kept & (number == most)).sum()),
        waiting=int((~kept & (number < most)).sum()),
        guessed=float((1 - (1 - GUESSED) ** number).mean()),
    )


def _share(right: Ratings) -> Figure:
    def share(items: Indices, raters: Indices) -> float | None:
        some = right[items][:, :, raters]
        given = some[some != MISSING]
        return float(given.mean()) if len(given) else None

    return figure_of(share, (right.shape[0], right.shape[2]), "share")
