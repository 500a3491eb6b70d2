"""Rate only the pairs that a score depends on: bound the score, rate the most influential unrated pairs, and repeat."""

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
from shoe.lexicon.senses import Part
from shoe.lexicon.store import names_of
from shoe.llm.budget import Budget
from shoe.maps.cost_estimate import Estimate
from shoe.maps.growing_map import Draft, Pair, Rate, question_ids
from shoe.maps.influence import by_credit, by_false_positives
from shoe.scoring.evidence.bounds import Bounds, OpenScore, precision_bounds, value_range
from shoe.scoring.evidence.draws import imputation_of
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.matching.task import Task
from shoe.scoring.scorer import Scorer
from shoe.similarity import Rater, Similarity, SimilarityMap
from shoe.similarity.unrated import SenseLookups

OPTIONS = SEMANTIC["shoe"]
_FIRST = 500
"""Number of pairs in the first round if the budget is limited; later rounds are sized by the cost of these pairs."""
_UNLIMITED = 1 << 62


class Why(StrEnum):
    """Reason why the completion of a similarity map has ended; the value of each member is its text for users."""

    DECIDED = "no unrated pair can change the score"
    TOLERANCE = "the interval is within the tolerance"
    OVER = "this run may make no more requests"
    NOTHING_LEFT = "no unrated pair is left to ask the raters about"


class CompletionSpent(Document, frozen=True):
    """Number of requests in one run of the command, and their cost in the currency of raters.toml."""

    requests: Count
    cost: float


class CompletionRound(Document, frozen=True):
    """SHOE-mAP and its bounds after one round of completing a similarity map, and the number of pairs rated so far.

    Attributes:
        map: SHOE-mAP with the map after the round.
        map_interval: lowest and highest SHOE-mAP that ratings of the unrated pairs could give. A false positive is one
            of the class most similar to it, either at present or if unrated pairs have plausible high values.
        matches_interval: these bounds if each false positive stays in the class most similar to it at present.
        asked: number of questions answered in this round, with or without a rating; (a, b) and (b, a) are one question.
        rated: number of questions with a rating so far, including earlier runs for the same predictions.
        unanswered: number of questions without a valid answer so far.
        requests, cost: requests of this run so far, and their cost in the currency of raters.toml.
        cached: number of answers so far that came from the user's cache.
    """

    map: Fraction
    map_interval: Span
    matches_interval: Span
    asked: Count
    rated: Count
    unanswered: Count
    requests: Count
    cost: float
    cached: Count = 0

    @property
    def width(self) -> float:
        """Difference of highest and lowest SHOE-mAP in ``map_interval``, 0 to 1."""
        return self.map_interval[1] - self.map_interval[0]


@dataclass(frozen=True, slots=True)
class Completion:
    """Scores and counts before the first round of completing a map and after each round, and why it ended."""

    rounds: list[CompletionRound]
    why: Why


class CompletedPairs(Document, frozen=True):
    """Number of pairs rated to complete a similarity map for a prediction file, compared with larger plans.

    Attributes:
        rated: number of pairs with a rating.
        unanswered: number of pairs that were sent to the raters and got no valid answer.
        whole_build: number of pairs in a complete map for the dataset, which does not depend on predictions.
        looked_up: number of pairs of a class sense and any sense of a word in the prediction file.
    """

    rated: Count
    unanswered: Count
    whole_build: Count
    looked_up: Count


class MapCompleted(Document, frozen=True, kw_only=True):
    """Result of completing a similarity map for a file of predictions; scores are from 0 to 1.

    Attributes:
        out: folder of the completed map; absent if no map was written, because no pair was rated.
        tolerance: the completion ends when ``map_interval`` is at most this wide.
        why: "decided" (no rating can change the score), "tolerance", "over" (no budget) or "nothing_left" (to rate).
        map: SHOE-mAP with the completed map.
        map_interval: lowest and highest SHOE-mAP that ratings of the remaining unrated pairs could give.
    """

    out: str | None = None
    tolerance: Fraction
    why: str
    map: Fraction
    map_interval: Span
    pairs: CompletedPairs
    spent: CompletionSpent
    rounds: list[CompletionRound]


class CompleteEstimate(Document, frozen=True):
    """Result of ``shoe map complete --dry-run``: present score, and estimated cost of the first round."""

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
    budget: Budget,
    known: Rate | None = None,
    show: Callable[[CompletionRound], None] = lambda _: None,
) -> Completion:
    """Rate pairs until SHOE-mAP is known up to a tolerance, no pair is left, or the budget is used up.

    Args:
        similarity: map to start from; the completed map has the same ensemble.
        rate: function that sends pairs to ``raters`` and returns their ratings, in one column per rater.
        out: folder of the completed map, written after every round; not written if nothing is rated.
        tolerance: the completion ends when the interval of possible values of SHOE-mAP is at most this wide.
        purpose: data that identify the predictions. A completion by the same raters for the same purpose is continued.
        budget: limit of requests and cost in this run, which ``rate`` must update and enforce; the remaining cost
            limits the number of pairs per round.
        known: function like ``rate`` that only returns stored answers. It is called with the pairs that earlier runs
            could not rate; pairs without a stored answer are sent again. If None, none of these pairs is sent again.
        show: progress callback, called with the state before the first round and after every round.

    Raises:
        InputError: if there is no ground truth to score against, or ``out`` cannot be written.
        OptionError: if a new rater has the name of a different rater of the map.
    """
    draft = Draft.from_map(similarity, raters, purpose, known)
    rounds: list[CompletionRound] = []
    asked, cached_before = 0, draft.cached
    while True:
        look = bound_score(similarity, task)
        state = _round(look, draft, asked, budget)
        rounds.append(state)
        show(state)
        if look.open_score is None:
            return Completion(rounds, Why.DECIDED)
        if state.width <= tolerance or budget.stopping:
            return Completion(rounds, Why.TOLERANCE if state.width <= tolerance else Why.OVER)
        most = _UNLIMITED
        if budget.max_cost is not None:
            total, cost = sum(state.asked for state in rounds), state.cost
            most = max(1, int((budget.max_cost - cost) * total / cost)) if total and cost else _FIRST
        wanted = _select(look, look.open_score, draft, most)
        if not wanted:
            return Completion(rounds, Why.NOTHING_LEFT)
        classes = {part: lookups.class_senses for part, lookups in _lookups(look.open_score).items()}
        asked = draft.add_answers(wanted, rate(wanted), classes)
        if asked:
            draft.cached = cached_before + budget.cached
            similarity = draft.write(out)


def first_round(
    similarity: SimilarityMap,
    task: Task,
    raters: Sequence[Rater],
    tolerance: float,
    purpose: Mapping[str, Any],
    known: Rate | None = None,
) -> tuple[CompletionRound, dict[Part, list[Pair]]]:
    """Return the present score, and the pairs that the first round of :func:`complete` rates without cost limit.

    There are none if the completion would end at once. No rater is queried, and nothing is written.
    """
    draft, look = Draft.from_map(similarity, raters, purpose, known), bound_score(similarity, task)
    state = _round(look, draft, 0, Budget())
    if look.open_score is None or state.width <= tolerance:
        return state, {}
    return state, _select(look, look.open_score, draft, _UNLIMITED)


class BoundedScore(NamedTuple):
    """SHOE-mAP of predictions with a similarity map, and its bounds over all possible values of unrated pairs.

    Attributes:
        open_score: possible matches and false positives; None if no rating can change the score.
        interval, matches: lowest and highest SHOE-mAP; ``matches`` assumes that no false positive changes its class.
        precisions: (K,) lowest and (K,) highest average precision of K classes, under the same assumption.
    """

    score: float
    open_score: OpenScore | None
    interval: Bounds
    matches: Bounds
    precisions: tuple[Floats, Floats]


def bound_score(similarity: Similarity, task: Task) -> BoundedScore:
    """Compute SHOE-mAP (protocol ``shoe``) and its bounds; raise InputError if the ground truth has no triplet."""
    similarities = HoiSimilarity.from_task(task, similarity, OPTIONS)
    scorer = Scorer(task, similarities, OPTIONS)
    score = scorer.map()
    if score is None:
        raise InputError("ground truth", found="no triplet", expected="at least one triplet to score against")
    imputation = imputation_of(task, similarities, OPTIONS)
    if imputation is None or imputation.decided:
        nothing = np.zeros(len(scorer.truths))
        return BoundedScore(score, None, (score, score), (score, score), (nothing, nothing))
    lowest = Scorer(task, imputation.low, OPTIONS, scorer.near)
    found = OpenScore.from_scorer(lowest, imputation, lowest.map_rows)
    current, either = (precision_bounds(found, other) for other in (found.current, found.other))
    matches, interval = (value_range([score, *found.mean_bounds(ap)]) or (score, score) for ap in (current, either))
    return BoundedScore(score, found, interval, matches, current)


def _round(look: BoundedScore, draft: Draft, request_count: int, budget: Budget) -> CompletionRound:
    answered = sum(draft.rated.values()), sum(map(len, draft.unanswered.values()))
    counts = request_count, *answered, budget.requests
    return CompletionRound(look.score, look.interval, look.matches, *counts, budget.spent, budget.cached)


def _select(look: BoundedScore, open_score: OpenScore, draft: Draft, most: int) -> dict[Part, list[Pair]]:
    """Return the pairs of the next round, per part of speech, by the criterion that widens the interval more."""
    lookups = _lookups(open_score)
    askable = {part: draft.askable(of_part) for part, of_part in lookups.items()}
    matches_width, width = (high - low for low, high in (look.matches, look.interval))
    credit = partial(by_credit, open_score, look.precisions, askable, most)
    unmatched = partial(by_false_positives, open_score, askable, most)
    for select in (credit, unmatched) if matches_width >= width - matches_width else (unmatched, credit):
        selected = select()
        if any(mask.any() for mask in selected.values()):
            return {part: _names(lookups[part], mask) for part, mask in selected.items() if mask.any()}
    return {}


def _names(lookups: SenseLookups, selected: Mask) -> list[Pair]:
    """Return the pairs in a (C, S) mask, by name; a pair that is selected in both directions occurs once."""
    rows, columns = np.nonzero(selected)
    classes, senses = lookups.class_senses[rows], lookups.synsets[columns]
    questions = question_ids(classes, senses).tolist()
    pairs = sorted(zip(names_of(classes), names_of(senses), questions, strict=True), reverse=True)
    return [(first, second) for first, second, _ in {pair[2]: pair for pair in pairs}.values()][::-1]


def _lookups(open_score: OpenScore) -> dict[Part, SenseLookups]:
    return {"verb": open_score.imputation.verbs, "object": open_score.imputation.objects}
