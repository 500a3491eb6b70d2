"""What testers answered about Bongard problems: how often they are right, and which problems are kept.

A tester solves a problem by being right about both queries; a problem is kept if any of its testers solves it
(Bongard-HOI supplement, section D, which had three of them).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta

from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.documents import Count, Document, Fraction
from shoe.core.errors import InputError, quote
from shoe.core.io.delimited import delimited_rows
from shoe.core.io.files import read_bytes
from shoe.core.statistics import alpha
from shoe.similarity.ensemble import MISSING, Ratings
from shoe.study.agreement import Figure, figure_of
from shoe.study.ratings import cell_error, number_of

COLUMNS = ("problem", "group", "concept", "query", "rater", "right", "seconds")
QUERIES = ("positive", "negative")
GUESSED = 1 / 4
"""How likely a tester who guesses solves a problem."""


@dataclass(frozen=True, slots=True, eq=False)
class Trials:
    """Answers of R testers about the queries of N problems.

    Attributes:
        groups, group: names of groups, and (N,) the index of each problem's.
        right: (N, 2, R) whether each was right about the positive and the negative query; MISSING where not asked.
        seconds: (N, R) time taken for both queries; NaN where the table does not say.
    """

    problems: tuple[str, ...]
    raters: tuple[str, ...]
    groups: tuple[str, ...]
    group: Indices
    right: Ratings
    seconds: Floats

    @property
    def done(self) -> Mask:
        """(N, R) who answered both queries of which problem."""
        return np.asarray((self.right != MISSING).all(axis=1))

    @property
    def solved(self) -> Mask:
        """(N, R) who was right about both."""
        return np.asarray((self.right == 1).all(axis=1))

    @property
    def kept(self) -> Mask:
        """(N,) problems that any tester solves."""
        return np.asarray(self.solved.any(axis=1))


class Tester(Document, frozen=True, rename={"accuracy": "right"}):
    """One tester: problems answered, share of right answers and of solved problems, median seconds of a problem."""

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
    """Some problems: how they were answered, and what is kept of them.

    Attributes:
        problems: that anybody answered whole.
        testers: fewest and most who answered one of them.
        accuracy: share of right answers, with its interval over problems and testers.
        positive, negative: likewise of those queries alone.
        agreement: Krippendorff's alpha, nominal, of the sides that testers chose.
        kept, dropped, waiting: how many problems any tester solves; none of all their testers; none so far.
        guessed: share that would be kept if all guessed.
    """

    problems: Count
    testers: Annotated[Sequence[Count], Meta(min_length=2, max_length=2, description="of a problem, fewest and most")]
    accuracy: Figure
    positive: Figure
    negative: Figure
    agreement: float | None = None
    kept: Count
    dropped: Count
    waiting: Count
    guessed: Fraction


class TestersReport(Document, frozen=True, kw_only=True):
    """Answers of testers about all problems and about each group, and the score of each tester."""

    all: Result
    groups: dict[str, Result] = msgspec.field(default_factory=dict)
    testers: dict[str, Tester]

    @classmethod
    def from_trials(cls, trials: Trials, path: Path) -> TestersReport:
        """Compute all figures of testers' answers.

        Raises:
            InputError: if nobody answered both queries of a problem; ``path`` is the table's.
        """
        everything = result_of(trials, np.ones(len(trials.problems), bool))
        if everything is None:
            raise InputError(path, found="no problem of which a tester answered both queries", expected="one at least")
        groups = {name: result_of(trials, trials.group == number) for number, name in enumerate(trials.groups)}
        testers = {name: one_tester(trials, j) for j, name in enumerate(trials.raters)}
        return cls(
            all=everything,
            groups={name: found for name, found in groups.items() if found and len(groups) > 1},
            testers={name: found for name, found in testers.items() if found},
        )

    @property
    def results(self) -> dict[str, Result]:
        """Results of all problems, then of each group, by name."""
        return {"all": self.all} | self.groups


def is_trials(path: Path) -> bool:
    """Tell by the header whether a table is of problems and testers."""
    header = read_bytes(path).split(b"\n", 1)[0].decode("utf-8", "replace")
    return {"problem", "query", "right"} <= {name.strip('" \r') for name in re.split("[,\t]", header)}


def read_trials(path: Path) -> Trials:
    """Read a table of testers' answers: ``COLUMNS`` in any order, of which concept and seconds may be absent.

    Raises:
        InputError: naming file, line and field: a query that is neither positive nor negative, an answer that is
            neither 0 nor 1, a second answer to one query by one tester, two groups of one problem.
    """
    return trials_of(delimited_rows(path), path)


def trials_of(rows: Sequence[Sequence[object]], path: Path) -> Trials:
    """Take a table of testers' answers, header first; ``path`` is what messages call it."""
    header = [str(name) for name in rows[0]]
    columns = {name: header.index(name) for name in COLUMNS if name in header}
    for name in COLUMNS:
        if name not in ("concept", "seconds") and header.count(name) != 1:
            expected = f"once each: {' '.join(COLUMNS)}"
            raise InputError(path, record="line 1", field=name, found=quote(" ".join(header)), expected=expected)
    problems: dict[str, str] = {}
    raters: dict[str, int] = {}
    answers: dict[tuple[str, int, str], tuple[int, float]] = {}
    for number, row in enumerate(rows[1:], start=2):
        told = {name: str(row[column]).strip() for name, column in columns.items()}

        def wrong(field: str, expected: str, told: dict[str, str] = told, number: int = number) -> InputError:
            return cell_error(path, number, field, told[field], expected)

        if told["query"] not in QUERIES:
            raise wrong("query", "positive or negative")
        if told["right"] not in ("0", "1"):
            raise wrong("right", "0 or 1")
        for name in ("problem", "rater"):
            if not told[name]:
                raise wrong(name, "a name")
        if problems.setdefault(told["problem"], told["group"]) != told["group"]:
            raise wrong("group", f"{quote(problems[told['problem']])}, as before of the same problem")
        key = told["problem"], QUERIES.index(told["query"]), told["rater"]
        if key in answers:
            raise wrong("rater", "one answer of a tester to each query")
        raters.setdefault(told["rater"], len(raters))
        seconds_taken = number_of(path, number, "seconds", told.get("seconds", ""), sys.float_info.max)
        answers[key] = int(told["right"]), seconds_taken
    place = {name: number for number, name in enumerate(problems)}
    groups = tuple(dict.fromkeys(problems.values()))
    right = np.full((len(place), 2, len(raters)), MISSING, np.int8)
    seconds = np.full(right.shape, np.nan)
    for (problem, query, rater), (value, took) in answers.items():
        at = place[problem], query, raters[rater]
        right[at], seconds[at] = value, took
    group = np.array([groups.index(name) for name in problems.values()], np.int64)
    return Trials(tuple(problems), tuple(raters), groups, group, right, seconds.sum(axis=1))


def one_tester(trials: Trials, j: int) -> Tester | None:
    """Figures of one tester; None who has not answered a whole problem."""
    done = trials.done[:, j]
    if not done.any():
        return None
    seconds = trials.seconds[done, j]
    known = seconds[~np.isnan(seconds)]
    return Tester(
        int(done.sum()),
        float(trials.right[done][:, :, j].mean()),
        float(trials.solved[done, j].mean()),
        float(np.median(known)) if len(known) else None,
    )


def result_of(trials: Trials, chosen: Mask) -> Result | None:
    """Figures of the problems that a mask chooses; None where none of them was answered whole."""
    done: Mask = trials.done.any(axis=1) & chosen
    if not done.any():
        return None
    right, by = trials.right[done], trials.done[done]
    number, most = by.sum(axis=1), int(trials.done.sum(axis=1).max())
    kept = trials.kept[done]
    # Right about the positive query is side A, and so is wrong about the negative one.
    sides = np.concatenate([right[:, 0], np.where(right[:, 1] == MISSING, MISSING, 1 - right[:, 1])])
    return Result(
        problems=len(by),
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
    """Share of right answers of (n, q, R)."""

    def share(items: Indices, raters: Indices) -> float | None:
        some = right[items][:, :, raters]
        given = some[some != MISSING]
        return float(given.mean()) if len(given) else None

    return figure_of(share, (right.shape[0], right.shape[2]), "share")
