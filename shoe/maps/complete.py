"""Rate only the pairs that a score depends on: bound the score, rate the most influential unrated pairs, and repeat.

A draft of the map holds its ratings, unanswered questions, and record of runs in map.json.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices, Ints, Mask
from shoe.core.documents import Count, Document, Fraction, Span
from shoe.core.errors import InputError, quote
from shoe.lexicon.senses import POS, Part
from shoe.lexicon.store import ids_of, lexicon, names_of
from shoe.llm.budget import Budget
from shoe.maps.built_map import all_columns, in_columns, widen
from shoe.maps.cost_estimate import Estimate
from shoe.maps.influence import by_credit, by_false_positives
from shoe.scoring.evidence.bounds import OPTIONS, Bounds, OpenScore, imputation_of, precision_bounds
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.matching.task import Task
from shoe.scoring.scorer import Scorer
from shoe.similarity import RatedPairs, Rater, Similarity, SimilarityMap, write_map
from shoe.similarity.ensemble import ENSEMBLE
from shoe.similarity.map_files import ABOUT, clear_leftovers
from shoe.similarity.pairs import pair_keys
from shoe.similarity.unrated import SenseLookups
from shoe.similarity.whole_interactions import WholeRatings

MARK = "completed"
"""Key of map.json with the list of records of completions, oldest first."""
SELECTION = "of the pairs without a rating, those that SHOE-mAP of these predictions depends on most were rated"
"""Sentence in map.json about how pairs were selected."""
Pair = tuple[str, str]
"""(class synset, synset)."""
Rate = Callable[[Mapping[Part, Sequence[Pair]]], Mapping[Part, RatedPairs]]
"""Function that rates (class synset, synset) pairs, and returns them with one column of ratings per rater.

A pair in the result without a rating has no valid answer and is not rated again. A pair that is missing in the result
may be rated by a later run.
"""
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


class Completion(NamedTuple):
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


def question_ids(class_sense: NDArray[np.integer], sense: NDArray[np.integer]) -> Indices:
    """Return one ID per unordered pair of sense IDs."""
    return pair_keys(np.minimum(class_sense, sense), np.maximum(class_sense, sense))


@dataclass(slots=True)
class Draft:
    """Map that is being completed; dictionaries are by part of speech.

    Attributes:
        start: the map at the start of this run.
        raters: raters of the columns: the raters of ``start``, then new raters.
        active: names of the raters that rate pairs in this run.
        pairs: rated pairs, with one column per rater.
        asked: IDs (:func:`question_ids`) of questions sent in this run, or without a valid answer from earlier runs.
        unanswered: IDs of the questions that were sent and got no valid answer.
        rated, cached: number of questions with a rating, and of answers from the user's cache, including earlier runs
            for the same predictions.
        records: entries for map.json, one per completion of the map; the last entry is that of this completion.
    """

    start: SimilarityMap
    raters: list[Rater]
    active: list[str]
    pairs: dict[Part, RatedPairs]
    asked: dict[Part, set[int]]
    unanswered: dict[Part, set[int]]
    rated: dict[Part, int]
    records: list[dict[str, Any]]
    cached: int = 0

    @classmethod
    def from_map(
        cls, similarity: SimilarityMap, raters: Sequence[Rater], purpose: Mapping[str, Any], known: Rate | None = None
    ) -> Self:
        """Create a draft from a similarity map and the raters that complete it.

        If the last completion of the map had the same raters and ``purpose`` (data that identify the predictions), the
        draft continues it. Questions to which these raters gave no rating before, if ``known`` returns a stored answer
        to them (or is None), are not asked again. Raise OptionError if the map has a rater of the same name with
        another model.
        """
        columns = all_columns(similarity, raters)
        active, old = [rater.name for rater in raters], range(len(similarity.raters))
        earlier = _records(similarity)
        same = [entry for entry in earlier if entry["raters"] == active]
        last = earlier.pop() if earlier and earlier[-1]["for"] == dict(purpose) and earlier[-1] in same else None
        without = {part: [pair for entry in same for pair in entry["unanswered"][part]] for part in POS}
        unanswered = {part: _questions(pairs) for part, pairs in without.items()}
        if known:
            unanswered = {part: set() for part in POS}
            for part, answers in known(without).items():
                unanswered[part] = set(question_ids(answers.class_sense, answers.sense).tolist())
        origin = last["from"] if last else {"name": similarity.name, "digest": similarity.digest}
        pairs = {part: widen(table, old, len(columns)) for part, table in similarity.tables.items()}
        asked = {part: set(questions) for part, questions in unanswered.items()}
        rated = {part: last["rated"][part] if last else 0 for part in POS}
        records = [*earlier, {"for": dict(purpose), "raters": active, "from": origin}]
        cached = last.get("from_cache", 0) if last else 0
        return cls(similarity, columns, active, pairs, asked, unanswered, rated, records, cached)

    def add_answers(
        self, sent: Mapping[Part, Sequence[Pair]], answers: Mapping[Part, RatedPairs], classes: Mapping[Part, Ints]
    ) -> int:
        """Add ratings; return the number of distinct questions in ``answers``, with and without a rating.

        Pairs in ``sent`` are not selected again. ``answers`` have one column per active rater; pairs without any rating
        are recorded as unanswered. A rating of two of the dataset's ``classes`` (sense IDs) counts in both directions.
        """
        names = [rater.name for rater in self.raters]
        columns = [names.index(name) for name in self.active]
        for part, pairs_sent in sent.items():
            self.asked[part] |= _questions(pairs_sent)
        count = 0
        for part, pairs in answers.items():
            questions = question_ids(pairs.class_sense, pairs.sense)
            without = np.isin(questions, questions[~pairs.rated])
            self.unanswered[part].update(questions[without].tolist())
            self.rated[part] += len(set(questions[~without].tolist()))
            count += len(set(questions.tolist()))
            rated = widen(pairs[~without], columns, len(self.raters))
            swapped = RatedPairs(rated.sense, rated.class_sense, rated.ratings)[np.isin(rated.sense, classes[part])]
            swapped = swapped[self.pairs[part].rows_of(swapped.class_sense, swapped.sense) < 0]
            self.pairs[part] = _merge(_merge(self.pairs[part], swapped, columns), rated, columns)
        return count

    def write(self, folder: Path) -> SimilarityMap:
        """Write the map to a folder, replacing an earlier map, and load it from there."""
        size = len(lexicon())
        names = {part: sorted(sorted(names_of(divmod(q, size))) for q in of) for part, of in self.unanswered.items()}
        whole, old = self.start.whole_ratings, range(len(self.start.raters))
        record = self.records[-1] | {"why": SELECTION, "rated": self.rated, "unanswered": names}
        record |= {"from_cache": self.cached} if self.cached else {}
        write_map(
            folder,
            dataset=self.start.dataset,
            raters=self.raters,
            pairs={part: pairs.by_name() for part, pairs in self.pairs.items()},
            ensemble=self.start.about["ensemble"],
            prose=self.start.provenance | {MARK: [*self.records[:-1], record]},
            learned=self.start.predictions_file,
            whole=whole and WholeRatings(whole.rows, in_columns(whole.ratings, old, len(self.raters))),
        )
        return SimilarityMap.load(folder, ENSEMBLE)


def _questions(pairs: Sequence[Sequence[str]]) -> set[int]:
    senses = ids_of(name for pair in pairs for name in pair).reshape(-1, 2)
    return set(question_ids(senses[:, 0], senses[:, 1]).tolist())


def _merge(pairs: RatedPairs, new: RatedPairs, columns: Sequence[int]) -> RatedPairs:
    """Return ``pairs`` with the ratings of ``new`` in ``columns``; pairs that only ``new`` contains come last."""
    rows = pairs.rows_of(new.class_sense, new.sense)
    ratings, known, further = pairs.ratings.copy(), np.flatnonzero(rows >= 0), new[rows < 0]
    ratings[rows[known][:, None], columns] = new.ratings[known][:, columns]
    class_sense = np.concatenate([pairs.class_sense, further.class_sense])
    sense = np.concatenate([pairs.sense, further.sense])
    return RatedPairs(class_sense, sense, np.concatenate([ratings, further.ratings]))


def map_to_continue(similarity: SimilarityMap, folder: Path) -> SimilarityMap:
    """Return the similarity map to complete: the map in a folder, or ``similarity`` if the folder is new or empty.

    Raise InputError if it contains neither ``similarity`` nor a map completed from it. Unfinished maps of killed
    processes are moved or deleted first.
    """
    clear_leftovers(folder)
    if not os.path.lexists(folder) or (folder.is_dir() and not any(folder.iterdir())):
        return similarity
    if not (folder / ABOUT).is_file():
        raise InputError(folder, found="no similarity map", expected="a new folder, or a map to continue")
    found = SimilarityMap.load(folder, ENSEMBLE)
    origins = {found.digest, *(entry["from"].get("digest") for entry in _records(found))}
    if similarity.digest not in origins:
        expected = f"{quote(similarity.name)}, or a completion of it by an earlier run"
        raise InputError(folder, found=f"another map, {quote(found.name)}", expected=expected)
    return found


class _Record(msgspec.Struct, rename={"purpose": "for", "origin": "from"}):
    purpose: dict[str, Any]
    raters: list[Any]
    origin: dict[str, Any]
    rated: dict[Part, int]
    unanswered: dict[Part, list[Pair]]


def _records(similarity: SimilarityMap) -> list[dict[str, Any]]:
    """Return the valid records of completions in map.json; ignore entries of any other form."""
    entries, valid = similarity.about.get(MARK), []
    for entry in entries if isinstance(entries, list) else ():
        with suppress(msgspec.ValidationError):
            record = msgspec.convert(entry, _Record)
            names = [name for pairs in record.unanswered.values() for pair in pairs for name in pair]
            if record.rated.keys() == record.unanswered.keys() == POS.keys() and (ids_of(names) >= 0).all():
                valid.append(entry)
    return valid


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

    Raise InputError if there is no ground truth to score against, or ``out`` cannot be written, and OptionError if a
    new rater has the name of a different rater of the map.

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
    imputation = imputation_of(task, similarities)
    if imputation is None:
        nothing = np.zeros(len(scorer.truths))
        return BoundedScore(score, None, (score, score), (score, score), (nothing, nothing))
    lowest = Scorer(task, imputation.low, OPTIONS, scorer.near)
    found = OpenScore.from_scorer(lowest, imputation)
    current, either = (precision_bounds(found, other) for other in (found.current, found.other))
    matches, interval = (found.mean_bounds(score, ap) for ap in (current, either))
    return BoundedScore(score, found, interval, matches, current)


def _round(look: BoundedScore, draft: Draft, request_count: int, budget: Budget) -> CompletionRound:
    answered = sum(draft.rated.values()), sum(map(len, draft.unanswered.values()))
    counts = request_count, *answered, budget.requests
    return CompletionRound(look.score, look.interval, look.matches, *counts, budget.spent, budget.cached)


def _select(look: BoundedScore, open_score: OpenScore, draft: Draft, most: int) -> dict[Part, list[Pair]]:
    """Return the pairs of the next round, per part of speech, by the criterion that widens the interval more."""
    lookups, askable = _lookups(open_score), {}
    for part, of in lookups.items():
        questions = question_ids(of.class_senses[:, None], of.synsets)
        askable[part] = of.unrated & ~np.isin(questions, list(draft.asked[part]))
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
