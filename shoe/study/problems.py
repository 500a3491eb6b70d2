"""Bongard problems as a study: assignment of problems to testers, sides of the queries, and problems that are kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import msgspec
import numpy as np

from shoe.core.arrays import Indices, random_numbers
from shoe.core.errors import OptionError
from shoe.scoring.bongard.problems import SHOTS, Problems
from shoe.scoring.bongard.score import digest
from shoe.study.plan import PictureFile, Question, RatingStudy, shuffled
from shoe.study.testers import COLUMNS as TESTER_COLUMNS

_STREAM = (7 << 28) + (4 << 20)


class Problem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One problem as testers see it.

    Attributes:
        group, concept: group and concept of the problem; not shown.
        sides: the pictures of side A, which show the concept, and of side B, which do not.
        queries: the query pictures, in a drawn order.
        shows: whether each query shows the concept.
    """

    group: str
    concept: str
    sides: tuple[list[PictureFile], list[PictureFile]]
    queries: tuple[PictureFile, PictureFile]
    shows: tuple[bool, bool]


class ProblemStudy(RatingStudy, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="problems"):
    """A study of Bongard problems, as ``study.json`` holds it: item 2 p + k is query k of problem p, rating 1 side A.

    Attributes:
        seed: seed of everything that is drawn.
        raters: number of pages.
        testers: number of testers of each problem.
        files: names of the problem files, in the order of the problems.
        examples: shown first with their answers.
    """

    levels: ClassVar[int] = 2
    columns: ClassVar[tuple[str, ...]] = TESTER_COLUMNS
    seed: int
    raters: int
    testers: int
    files: list[str]
    digest: str
    problems: list[Problem]
    examples: list[Problem] = msgspec.field(default_factory=list)

    def order(self, rater: int) -> list[Question]:
        """Return one rater's questions: both queries of a problem together, problems in the rater's own order."""
        numbers = random_numbers(_STREAM + (self.seed << 8), (len(self.problems), self.raters))
        asked, load = [], np.zeros(self.raters, np.int64)
        for problem, drawn in enumerate(numbers):  # those who have the fewest so far, so that all have as many
            chosen = np.lexsort((drawn, load))[: self.testers]
            load[chosen] += 1
            if rater in chosen:
                asked.append(problem)
        mine = shuffled(np.array(asked, np.int64), _STREAM + (1 << 19) + rater, self.seed).tolist()
        return [Question(2 * problem + query, 1, "sides") for problem in mine for query in (0, 1)]

    def pictures(self, order: Sequence[Question]) -> list[str]:
        """Return the files of the pictures that a page with these questions shows."""
        asked = [self.problems[number] for number in dict.fromkeys(question.item // 2 for question in order)]
        shown = (name for each in (*self.examples, *asked) for name in (*each.sides[0], *each.sides[1], *each.queries))
        return list(dict.fromkeys(shown))

    def row(self, rater: str, question: Question, rating: int, seconds: float) -> list[object]:
        """Return the row of the table of answers for one answer."""
        number, query = divmod(question.item, 2)
        problem = self.problems[number]
        shows = problem.shows[query]
        right = int(bool(rating) == shows)
        return [number, problem.group, problem.concept, "positive" if shows else "negative", rater, right, seconds]


def new_problem_study(
    problems: Problems, files: list[Path], raters: int, testers: int, seed: int, examples: Problems | None = None
) -> ProblemStudy:
    """Plan a study of problems.

    Args:
        files: problem files, in order.
        raters: number of pages.
        testers: number of testers of each problem; three in the literature.
        seed: 0..65535.
        examples: problems that are shown first, with their answers.

    Raises:
        OptionError: for fewer raters than testers of a problem, and for two files of one name.
    """
    if raters < testers:
        raise OptionError(f"--raters: found {raters}, expected at least {testers}, the testers of each problem")
    names = [path.name for path in files]
    if len(set(names)) < len(names):
        raise OptionError(f"problem files: found two of one name in {', '.join(names)}, expected different names")
    first = random_numbers(_STREAM + (1 << 18) + (seed << 8), (len(problems),)) % np.uint64(2)
    made = [_problem(problems, number, bool(flip)) for number, flip in enumerate(first.tolist())]
    solved = (
        [_problem(examples, k, k % 2 == 1, len(problems.regions)) for k in range(len(examples))] if examples else []
    )
    return ProblemStudy(seed, raters, testers, names, digest(problems), made, solved)


def _problem(problems: Problems, number: int, flip: bool, first: int = 0) -> Problem:
    def names(rows: Indices) -> list[str]:
        return [f"{first + row}.jpg" for row in rows.tolist()]

    positives, negatives = names(problems.positives[number]), names(problems.negatives[number])
    queries = positives[SHOTS], negatives[SHOTS]
    return Problem(
        problems.groups[problems.group[number]],
        " ".join(problems.concepts[problems.concept[number]]),
        (positives[:SHOTS], negatives[:SHOTS]),
        queries[::-1] if flip else queries,
        (not flip, flip),
    )
