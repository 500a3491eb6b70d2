"""Bongard problems as a study: assignment of problems to testers, sides of the queries, and problems that are kept."""

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
        group, concept: group and concept of the problem, not shown to testers.
        sides: images of side A, which show the concept, and of side B, which do not.
        queries: the two query images, in random order.
        shows: whether each query shows the concept.
    """

    group: str
    concept: str
    sides: tuple[list[PictureFile], list[PictureFile]]
    queries: tuple[PictureFile, PictureFile]
    shows: tuple[bool, bool]


class ProblemStudy(RatingStudy, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="problems"):
    """A study of Bongard problems, as stored in ``study.json``.

    Item 2 p + k is query k of problem p. Rating 1 means side A, and rating 0 side B.

    Attributes:
        files: names of the problem files, in the order of the problems.
        examples: problems shown first, with their answers.
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
        """Return the questions for a rater: the assigned problems in a random order, both queries in succession."""
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
        """Return the distinct image files shown by a page with these questions, those of the examples first."""
        asked = [self.problems[number] for number in dict.fromkeys(question.item // 2 for question in order)]
        shown = (name for each in (*self.examples, *asked) for name in (*each.sides[0], *each.sides[1], *each.queries))
        return list(dict.fromkeys(shown))

    def row(self, rater: str, question: Question, rating: int, seconds: float) -> list[object]:
        """Return the row of the table of answers for one answer, in the order of ``columns``."""
        number, query = divmod(question.item, 2)
        problem, shows = self.problems[number], self.problems[number].shows[query]
        side, right = "positive" if shows else "negative", int(bool(rating) == shows)
        return [number, problem.group, problem.concept, side, rater, right, seconds]


def new_problem_study(
    problems: Problems, files: list[Path], raters: int, testers: int, seed: int, examples: Problems | None = None
) -> ProblemStudy:
    """Return a new study of Bongard problems, with problems assigned to testers.

    Args:
        files: problem files, in the order of the problems.
        testers: number of testers of each problem; three in the literature.
        seed: random seed, 0..65535.

    Raises:
        OptionError: if there are fewer raters than testers per problem, or two files have the same name.
    """
    if raters < testers:
        raise OptionError(f"--raters: found {raters}, expected at least {testers}, the number of testers per problem")
    if len(set(names := [path.name for path in files])) < len(files):
        raise OptionError(f"problem files: found the same name twice in {', '.join(names)}, expected different names")
    first = random_numbers(_STREAM + (1 << 18) + (seed << 8), (len(problems),)) % np.uint64(2)
    made = [_problem(problems, number, bool(flip)) for number, flip in enumerate(first.tolist())]
    first_image = len(problems.regions)
    solved = [_problem(examples, k, k % 2 == 1, first_image) for k in range(len(examples))] if examples else []
    return ProblemStudy(seed, raters, testers, names, digest(problems), made, solved)


def _problem(problems: Problems, number: int, flip: bool, first: int = 0) -> Problem:
    def names(rows: Indices) -> list[str]:
        return [f"{first + row}.jpg" for row in rows.tolist()]

    positives, negatives = names(problems.positives[number]), names(problems.negatives[number])
    group, concept = problems.groups[problems.group[number]], " ".join(problems.concepts[problems.concept[number]])
    sides, queries = (positives[:SHOTS], negatives[:SHOTS]), (positives[SHOTS], negatives[SHOTS])
    return Problem(group, concept, sides, queries[::-1] if flip else queries, (not flip, flip))
