"""Rate only what a score depends on: bound it, have the most influential unrated pairs rated, bound it again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shoe.benchmarks.protocols import SEMANTIC
from shoe.core.arrays import Floats, Mask
from shoe.core.documents import Count, Document, Fraction, Span
from shoe.core.errors import InputError
from shoe.lexicon.expressions import Part
from shoe.lexicon.store import names_of
from shoe.maps.estimate import Estimate
from shoe.maps.growing_map import Draft, Pair, Rate, questions_of
from shoe.maps.influence import by_credit, by_false_positives
from shoe.scoring.evidence.bounds import Bounds, OpenScore, hull, precision_bounds
from shoe.scoring.evidence.draws import imputation_of
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.matching.task import Task
from shoe.scoring.scorer import Scorer
from shoe.similarity import Rater, Similarity, SimilarityMap
from shoe.similarity.unrated import Lookups

OPTIONS = SEMANTIC["shoe"]
_FIRST = 500
"""Pairs of the first round where money is limited: what they cost says how many more it buys."""
_UNLIMITED = 1 << 62


class Spent(NamedTuple):
    """Requests made in this run, money spent on them in the currency of the price table, and whether that is all."""

    requests: int = 0
    cost: float = 0.0
    over: bool = False


class Why(StrEnum):
    """Why a completion ended."""

    DECIDED = "no unrated pair can move the score"
    TOLERANCE = "the interval is inside the tolerance"
    OVER = "no more may be asked in this run"
    NOTHING_LEFT = "no pair is left that could be asked"


@dataclass(frozen=True, slots=True)
class Round:
    """The state after a round; number 0 is the beginning.

    Attributes:
        score: SHOE-mAP under the map as it is then.
        interval: its bounds, each unmatched prediction a false positive of today's class or of the other possible one.
        matches: its bounds, each a false positive of today's class: what is open about credit and matches.
        asked: questions in this round; a pair of two class senses is one question, whichever way round.
        rated: questions so far that have a rating, earlier runs for the same purpose included.
        unanswered: questions so far that have no valid answer.
        spent: so far in this run.
    """

    number: int
    score: float
    interval: Bounds
    matches: Bounds
    asked: int
    rated: int
    unanswered: int
    spent: Spent

    @property
    def width(self) -> float:
        """Width of the interval."""
        return self.interval[1] - self.interval[0]


@dataclass(frozen=True, slots=True)
class Completion:
    """What came of completing a map: the state after each round, and why there was none after the last."""

    rounds: list[Round]
    why: Why


class CompletionSpent(Document, frozen=True):
    """Requests of this run, and their cost."""

    requests: Count
    cost: float


class CompletionRound(Document, frozen=True):
    """SHOE-mAP with its bounds after a round of a completion, and the pairs rated by then.

    Attributes:
        matches_interval: bounds with every unmatched prediction a false positive of its present class.
        asked: number of questions in this round.
        requests, cost: of this run so far.
    """

    map: Fraction
    map_interval: Span
    matches_interval: Span
    asked: Count
    rated: Count
    unanswered: Count
    requests: Count
    cost: float


class CompletedPairs(Document, frozen=True):
    """Number of pairs rated, and of pairs that a whole build and a build for these predictions would ask about."""

    rated: Count
    unanswered: Count
    whole_build: Count
    looked_up: Count


class MapCompleted(Document, frozen=True, kw_only=True):
    """A map completed for a file of predictions; fractions 0..1."""

    out: str | None = None
    tolerance: Fraction
    why: str
    map: Fraction
    map_interval: Span
    pairs: CompletedPairs
    spent: CompletionSpent
    rounds: list[CompletionRound]

    @classmethod
    def from_completion(
        cls, completion: Completion, tolerance: float, whole_build: int, looked_up: int, out: Path
    ) -> MapCompleted:
        """Return the last state of a completion, its rounds, and the number of pairs that other ways would ask about.

        Args:
            tolerance: width of the interval at which the completion ends.
            whole_build: number of questions about the whole dataset.
            looked_up: number of questions about all that the predictions look up.
            out: folder of the map, which is written if any pair is rated.
        """
        last = completion.rounds[-1]
        return cls(
            out=str(out) if last.rated else None,
            tolerance=tolerance,
            why=completion.why.name.lower(),
            map=last.score,
            map_interval=last.interval,
            pairs=CompletedPairs(last.rated, last.unanswered, whole_build, looked_up),
            spent=CompletionSpent(last.spent.requests, last.spent.cost),
            rounds=[
                CompletionRound(
                    map=state.score,
                    map_interval=state.interval,
                    matches_interval=state.matches,
                    asked=state.asked,
                    rated=state.rated,
                    unanswered=state.unanswered,
                    requests=state.spent.requests,
                    cost=state.spent.cost,
                )
                for state in completion.rounds
            ],
        )


class CompleteEstimate(Document, frozen=True):
    """Score before the first round, and the estimate of that round, of ``shoe map complete --dry-run``."""

    map: Fraction
    map_interval: Span
    estimate: Estimate


def complete(
    similarity: SimilarityMap,
    task: Task,
    rate: Rate,
    raters: Sequence[Rater],
    out: Path,
    *,
    tolerance: float,
    purpose: Mapping[str, Any],
    budget: float | None = None,
    spent: Callable[[], Spent] = Spent,
    known: Rate | None = None,
    show: Callable[[Round], None] = lambda _: None,
) -> Completion:
    """Have pairs rated until SHOE-mAP, by protocol ``shoe``, is known well enough.

    Args:
        similarity: the map to begin with; its raters are combined as it is loaded.
        task: predictions and what they are scored against.
        raters: whose ratings it returns, in their order.
        out: folder of the completed map, written after every round; not at all if nothing is rated.
        tolerance: width of the interval that will do, in fractions of SHOE-mAP.
        purpose: what map.json says the map was completed for, as JSON has it.
        budget: money; what is left of it decides how many pairs a round may have. ``rate`` has to keep to it.
        spent: says what ``rate`` has spent in this run.
        known: as ``rate``, but asks nobody: of the pairs that earlier runs found to have no valid answer, those that it
            leaves out are asked again. Without it, none is.
        show: is told of every round.

    Returns:
        All rounds.

    Raises:
        InputError: if the score cannot be measured, or ``out`` cannot be written.
        OptionError: if a rater has the name of another one of the map.
    """
    draft = Draft.of(similarity, raters, purpose, known)
    rounds: list[Round] = []
    asked = 0
    while True:
        look = look_at(similarity, task)
        rated = sum(draft.rated.values()), draft.without_answer
        rounds.append(Round(len(rounds), look.score, look.interval, look.matches, asked, *rated, spent()))
        show(rounds[-1])
        if look.open_score is None:
            return Completion(rounds, Why.DECIDED)
        if rounds[-1].width <= tolerance or rounds[-1].spent.over:
            return Completion(rounds, Why.TOLERANCE if rounds[-1].width <= tolerance else Why.OVER)
        wanted = _wanted(look, look.open_score, draft, _affordable(rounds, budget))
        if not any(wanted.values()):
            return Completion(rounds, Why.NOTHING_LEFT)
        draft.ask(wanted)
        classes = {part: lookups.class_senses for part, lookups in _lookups(look.open_score).items()}
        asked = draft.add(rate(wanted), classes)
        if asked:
            similarity = draft.write(out)


def first_round(
    similarity: SimilarityMap,
    task: Task,
    raters: Sequence[Rater],
    tolerance: float,
    purpose: Mapping[str, Any],
    known: Rate | None = None,
) -> tuple[Round, dict[Part, list[Pair]]]:
    """Say where :func:`complete` would begin, and which pairs its first round would have rated, money unlimited.

    Args and errors are those of :func:`complete`; nothing is asked, and nothing written.
    """
    draft, look = Draft.of(similarity, raters, purpose, known), look_at(similarity, task)
    rated = sum(draft.rated.values()), draft.without_answer
    state = Round(0, look.score, look.interval, look.matches, 0, *rated, Spent())
    if look.open_score is None or state.width <= tolerance:
        return state, {}
    return state, _wanted(look, look.open_score, draft, _UNLIMITED)


class Look(NamedTuple):
    """What a map makes of an evaluation, and what it leaves open; ``open_score`` is None where that is nothing.

    Attributes:
        open_score: what it may come to.
        interval, matches: as :class:`Round` has them.
        today: (K,) lowest and highest average precisions, each a false positive of today's class.
    """

    score: float
    open_score: OpenScore | None
    interval: Bounds
    matches: Bounds
    today: tuple[Floats, Floats]


def look_at(similarity: Similarity, task: Task) -> Look:
    """Bound SHOE-mAP, by protocol ``shoe``, over all values of what a map leaves unrated.

    Raises:
        InputError: if the score cannot be measured.
    """
    similarities = HoiSimilarity.of(task, similarity, OPTIONS)
    scorer = Scorer(task, similarities, OPTIONS)
    score = scorer.map()
    if score is None:
        raise InputError("ground truth", found="no triplet", expected="some to score against")
    imputation = imputation_of(task, similarities, OPTIONS)
    if imputation is None or imputation.decided:
        nothing = np.zeros(len(scorer.truths))
        return Look(score, None, (score, score), (score, score), (nothing, nothing))
    lowest = Scorer(task, imputation.low, OPTIONS, scorer.near)
    found = OpenScore.of(lowest, imputation, lowest.map_rows)
    today, either = (precision_bounds(found, other) for other in (found.today, found.other))
    matches, interval = (hull([score, *found.mean_bounds(ap)]) or (score, score) for ap in (today, either))
    return Look(score, found, interval, matches, today)


def _wanted(look: Look, open_score: OpenScore, draft: Draft, most: int) -> dict[Part, list[Pair]]:
    """The pairs of the next round: for credit and matches, or for false positives, whichever leaves more open."""
    lookups = _lookups(open_score)
    askable = {part: draft.askable(of_part) for part, of_part in lookups.items()}
    of_matches, of_all = (high - low for low, high in (look.matches, look.interval))
    ways = [
        partial(by_credit, open_score, look.today, askable, most),
        partial(by_false_positives, open_score, askable, most),
    ]
    for way in ways if of_matches >= of_all - of_matches else ways[::-1]:
        chosen = way()
        if any(mask.any() for mask in chosen.values()):
            return {part: _names(lookups[part], mask) for part, mask in chosen.items() if mask.any()}
    return {}


def _names(lookups: Lookups, chosen: Mask) -> list[Pair]:
    """The chosen pairs by name, each question once."""
    rows, columns = np.nonzero(chosen)
    classes, senses = lookups.class_senses[rows], lookups.synsets[columns]
    questions = questions_of(classes, senses).tolist()
    pairs = sorted(zip(names_of(classes), names_of(senses), questions, strict=True), reverse=True)
    return [(first, second) for first, second, _ in {pair[2]: pair for pair in pairs}.values()][::-1]


def _lookups(open_score: OpenScore) -> dict[Part, Lookups]:
    return {"verb": open_score.imputation.verbs, "object": open_score.imputation.objects}


def _affordable(rounds: Sequence[Round], budget: float | None) -> int:
    """How many pairs the rest of a budget buys, at what pairs have cost so far."""
    if budget is None:
        return _UNLIMITED
    asked, cost = sum(state.asked for state in rounds), rounds[-1].spent.cost
    return max(1, int((budget - cost) * asked / cost)) if asked and cost else _FIRST
