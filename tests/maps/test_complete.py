"""Completing a map: which pairs come first, what is asked and written, when it ends, and that it goes on."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import Mock
from zlib import crc32

import numpy as np
import pytest
from numpy.typing import NDArray

import shoe
from shoe.benchmarks.truth import read_truth_file
from shoe.core.errors import InputError, OptionError
from shoe.demo import PREDICTIONS, TRUTH
from shoe.lexicon.senses import POS, Part
from shoe.lexicon.store import ids_of, names_of
from shoe.llm.budget import Budget
from shoe.maps.complete import Completion, Pair, Why, complete, map_to_continue
from shoe.maps.influence import by_credit, by_false_positives
from shoe.maps.planning import plan_needed
from shoe.predictions import read_predictions
from shoe.scoring.evidence.bounds import OPTIONS, OpenScore, false_positives, imputation_of, precision_bounds
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.matching.task import Task
from shoe.scoring.scorer import Scorer
from shoe.scoring.semantic import semantic_score
from shoe.similarity import RatedPairs, Rater, Similarity, SimilarityMap, WordNetSimilarity
from shoe.similarity.ensemble import ENSEMBLE
from tests.errors import input_error
from tests.maps.samples import Rows, content, made
from tests.oracles.model import ImageScene, Triplet, to_tables
from tests.oracles.scenes import small_classes
from tests.tables import one_triplet, pairs_by_name

FILES = ("out/map.json", "out/verbs.tsv", "out/objects.tsv")
PURPOSE = {"predictions": "vlm.jsonl"}


@pytest.fixture(scope="module")
def task() -> Task:
    """Every tenth image of the sample: enough for several rounds."""
    truth = read_truth_file(TRUTH)
    kept = truth.interactions.select_images(np.arange(0, len(truth.interactions.images), 10))
    predictions = read_predictions(PREDICTIONS["free text"])
    shown = np.isin(predictions.images, kept.images)
    return Task(predictions.select_images(shown), replace(truth, interactions=kept))


def ratings(part: Part, class_senses: NDArray[np.int32], senses: NDArray[np.int32]) -> NDArray[np.int64]:
    """What a rater might say who agrees with WordNet, more or less; the same both ways round."""
    names = names_of(senses)
    similar = np.nan_to_num(WordNetSimilarity("path").values(part, class_senses, senses))
    doubt = [[crc32(" ".join(sorted((a, b))).encode()) % 100 / 100 for b in names] for a in names_of(class_senses)]
    return np.clip(np.round(7 * similar - 1.7 + 1.5 * np.reshape(doubt, similar.shape)), 0, 4).astype(np.int64)


@cache
def rating(pair: Pair) -> int:
    part: Part = "verb" if ".v." in pair[0] else "object"
    return int(ratings(part, ids_of(pair[:1]), ids_of(pair[1:]))[0, 0])


@dataclass
class StandIn:
    refuses: int = 0
    most: int | None = None
    price: float = 0.0
    leaves_out: int = 0
    asked: Counter[tuple[str, ...]] = field(default_factory=Counter)
    budget: Budget = field(default_factory=Budget)

    def rate(self, wanted: Mapping[Part, Sequence[Pair]]) -> Mapping[Part, RatedPairs]:
        answers: dict[Part, dict[Pair, list[int | None]]] = {part: {} for part in wanted}
        for part, pairs in wanted.items():
            for pair in pairs:
                question = tuple(sorted(pair))
                if self.over or self._is(question, self.leaves_out):
                    continue
                self.asked[question] += 1
                answers[part][pair] = [None if self._is(question, self.refuses) else rating(pair)]
        self.budget.requests, self.budget.spent = self.asked.total(), self.price * self.asked.total()
        if self.over:
            self.budget.stop("requests")
        return {part: pairs_by_name(pairs, 1) for part, pairs in answers.items()}

    @property
    def over(self) -> bool:
        return self.most is not None and self.asked.total() >= self.most

    def _is(self, question: tuple[str, ...], one_in: int) -> bool:
        return one_in > 0 and crc32(" ".join(question).encode()) % one_in == 1


class Whole(Similarity):
    name, digest = "whole", "00000000"

    def values(self, part: Part, class_senses: NDArray[np.int32], senses: NDArray[np.int32]) -> NDArray[np.float64]:
        return np.where(class_senses[:, None] == senses, 1.0, ratings(part, class_senses, senses) / 4)


def run(
    task: Task, folder: Path, stand_in: StandIn, start: SimilarityMap | None = None, name: str = "stand-in", **more: Any
) -> Completion:
    begin = replace(start or made(folder / "start", {}, ("nobody",)), ensemble=ENSEMBLE)
    settings: dict[str, Any] = {"tolerance": 0.001, "purpose": PURPOSE, "budget": stand_in.budget} | more
    return complete(begin, task, stand_in.rate, [Rater(name, "a test")], folder / "out", **settings)


def loaded(folder: Path) -> SimilarityMap:
    return SimilarityMap.load(folder / "out", ENSEMBLE)


class Run(NamedTuple):
    folder: Path
    stand_in: StandIn
    found: Completion


@pytest.fixture(scope="module")
def whole(task: Task, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder, stand_in = tmp_path_factory.mktemp("whole"), StandIn()
    return Run(folder, stand_in, run(task, folder, stand_in))


@pytest.fixture(scope="module")
def refused(task: Task, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run in which a third was refused."""
    folder, stand_in = tmp_path_factory.mktemp("refused"), StandIn(refuses=3)
    return Run(folder, stand_in, run(task, folder, stand_in))


@pytest.mark.slow
def test_it_ends_inside_the_tolerance_after_few_questions_asked_once(task: Task, whole: Run) -> None:
    folder, stand_in, found = whole
    last = found.rounds[-1]
    assert found.why is Why.TOLERANCE
    assert last.width <= 0.001
    assert len(found.rounds) > 3
    assert set(stand_in.asked.values()) == {1}
    assert last.rated == stand_in.asked.total() == sum(state.asked for state in found.rounds)
    needed = sum(len(plan) for plan in plan_needed(task.truth.classes, [task.predictions]).values())
    assert last.rated * 20 < needed
    current = HoiSimilarity.from_task(task, loaded(folder), OPTIONS)
    assert semantic_score(task, current, OPTIONS).map == last.map
    # What the whole table says of credit and matches is inside; of which class false positives are is not bounded.
    scorer = Scorer(task, HoiSimilarity.from_task(task, Whole(), OPTIONS), OPTIONS)
    matches = scorer.match(scorer.map_rows)
    category = false_positives(scorer, current, matches.unmatched).category
    score = scorer.entries(replace(matches, false_positive_of=category)).means().map
    assert score is not None
    assert last.map_interval[0] <= score <= last.map_interval[1]


def test_the_map_holds_the_answers_and_says_why(task: Task, tmp_path: Path) -> None:
    start = made(tmp_path / "start", {"ride.v.01 straddle.v.01": (3, None)}, provenance="by hand")
    run(task, tmp_path, StandIn(), tolerance=0.05, start=start)
    found = loaded(tmp_path)
    assert [rater.name for rater in found.raters] == ["one", "two", "stand-in"]
    pairs = {pair: row for part in POS for pair, row in content(found.tables[part]).items()}
    assert pairs.pop(("ride.v.01", "straddle.v.01")) == [3, None, None]
    assert pairs
    assert all(row == [None, None, rating(pair)] for pair, row in pairs.items())
    assert found.about["provenance"] == "by hand"
    (account,) = found.about["completed"]
    assert (account["for"], account["from"]) == (PURPOSE, {"name": "start", "digest": start.digest})
    assert sum(account["rated"].values()) == len({tuple(sorted(pair)) for pair in pairs})
    assert account["unanswered"] == {"verb": [], "object": []}


def test_an_answer_to_two_classes_holds_both_ways_round(task: Task, whole: Run) -> None:
    for part, table in loaded(whole.folder).tables.items():
        pairs = content(table)
        classes = set(task.truth.classes.verb_synsets if part == "verb" else task.truth.classes.object_synsets)
        both = [(a, b) for a, b in pairs if b in classes]
        assert both
        assert all(pairs[b, a] == pairs[a, b] for a, b in both)


@pytest.mark.slow
def test_what_is_refused_stays_open_and_is_not_asked_again(task: Task, refused: Run, tmp_path: Path) -> None:
    folder, stand_in, found = refused
    assert found.why is Why.NOTHING_LEFT
    last = found.rounds[-1]
    assert last.width > 0.001
    assert 0 < last.unanswered < last.rated
    assert (last.unanswered + last.rated, set(stand_in.asked.values())) == (stand_in.asked.total(), {1})
    again = StandIn()
    second = run(task, tmp_path, again, start=loaded(folder))
    assert second.why is Why.NOTHING_LEFT
    assert again.asked.total() == 0
    assert (second.rounds[-1].rated, second.rounds[-1].unanswered) == (last.rated, last.unanswered)


@pytest.mark.slow
def test_others_are_asked_what_one_refused(task: Task, refused: Run, tmp_path: Path) -> None:
    other = StandIn()
    found = run(task, tmp_path, other, start=loaded(refused.folder), name="other")
    assert other.asked
    assert found.why is Why.TOLERANCE
    assert [rater.name for rater in loaded(tmp_path).raters] == ["nobody", "stand-in", "other"]


@pytest.mark.slow
def test_what_is_left_out_is_for_another_run(task: Task, tmp_path: Path) -> None:
    first = run(task, tmp_path, StandIn(leaves_out=3))
    assert first.why is Why.NOTHING_LEFT
    assert first.rounds[-1].unanswered == 0
    stand_in = StandIn()
    second = run(task, tmp_path, stand_in, start=loaded(tmp_path))
    assert second.why is Why.TOLERANCE
    assert stand_in.asked
    assert second.rounds[-1].rated == first.rounds[-1].rated + stand_in.asked.total()


def test_a_run_that_was_broken_off_goes_on_and_ends_with_the_same_bytes(task: Task, whole: Run, tmp_path: Path) -> None:
    class BrokenOffError(Exception):
        pass

    first, second, show = StandIn(), StandIn(), Mock(side_effect=[None, None, BrokenOffError])
    with pytest.raises(BrokenOffError):
        run(task, tmp_path, first, show=show)
    run(task, tmp_path, second, start=loaded(tmp_path))
    assert not first.asked.keys() & second.asked.keys()
    assert all((tmp_path / file).read_bytes() == (whole.folder / file).read_bytes() for file in FILES)


def test_a_budget_ends_it_with_what_there_is(task: Task, tmp_path: Path) -> None:
    stand_in = StandIn(most=500, price=0.01, budget=Budget(max_cost=5.0))
    found = run(task, tmp_path, stand_in)
    last = found.rounds[-1]
    assert found.why is Why.OVER
    assert stand_in.asked.total() == last.rated == 500
    assert (last.requests, last.cost) == (500, 5.0)
    assert last.width > 0.001
    assert sum(len(table) for table in loaded(tmp_path).tables.values()) >= 500
    assert found.rounds[1].asked <= 400


def test_nothing_is_asked_where_nothing_is_open(task: Task, tmp_path: Path) -> None:
    stand_in = StandIn()
    found = run(task, tmp_path, stand_in, tolerance=1.0)
    assert (found.why, len(found.rounds)) == (Why.TOLERANCE, 1)
    rows = {f"ride.v.01 {sense}": (0,) for sense in ("straddle.v.01", "range.v.04", "straddle.v.03")}
    known = made(tmp_path / "known", rows, ("nobody",))
    decided = run(one_word(task), tmp_path, stand_in, tolerance=0, start=known)
    assert (decided.why, len(decided.rounds)) == (Why.DECIDED, 1)
    assert not stand_in.asked
    assert not (tmp_path / "out").exists()


def one_word(task: Task) -> Task:
    """A person who rides a horse, and straddles it; the only class."""
    classes = task.truth.classes
    ride = classes.labels.index("ride horse")
    first, no = np.zeros(1, np.int32), np.zeros(1, bool)
    synsets = {name: getattr(classes, name)[ride : ride + 1] for name in ("verb_synsets", "object_synsets")}
    words = {"verbs": ("ride",), "objects": ("horse",)} | synsets
    only = replace(classes, verb=first, object=first, rare=no, unseen=no, of=first[None], scored=~no, **words)
    one = one_triplet()
    return Task(replace(one, verbs=("straddle",)), replace(task.truth, interactions=one, classes=only))


def test_a_rater_may_not_take_the_column_of_another(task: Task, tmp_path: Path) -> None:
    start = made(tmp_path / "start", {}, ("stand-in",))
    with pytest.raises(OptionError, match=r"'stand-in' .*'a test'"):
        run(task, tmp_path, StandIn(), start=start)


def test_without_truth_there_is_nothing_to_complete_for(task: Task, tmp_path: Path) -> None:
    empty = replace(task.truth, interactions=task.truth.interactions.select(np.zeros(0, np.int64)))
    with input_error(source="ground truth"):
        run(Task(task.predictions, empty), tmp_path, StandIn())


def test_it_begins_with_the_map_or_with_what_became_of_it(task: Task, tmp_path: Path) -> None:
    start = made(tmp_path / "start", {})
    assert map_to_continue(start, tmp_path / "out") is start
    run(task, tmp_path, StandIn(), tolerance=0.2, start=start)
    found = loaded(tmp_path)
    assert map_to_continue(start, tmp_path / "out").digest == found.digest
    assert map_to_continue(found, tmp_path / "out").digest == found.digest
    other = made(tmp_path / "other", {"ride.v.01 straddle.v.01": (1, 1)})
    with pytest.raises(InputError, match=r"'out'.*'other'"):
        map_to_continue(other, tmp_path / "out")
    (tmp_path / "file").write_text("")
    with input_error(source=str(tmp_path / "file")):
        map_to_continue(start, tmp_path / "file")


HUMAN, THING = (10.0, 10.0, 60.0, 110.0), (30.0, 50.0, 130.0, 120.0)
FAR = ((210.0, 10.0, 260.0, 110.0), (230.0, 50.0, 330.0, 120.0))
SENSES = {"straddle.v.01", "range.v.04", "straddle.v.03"}


def on_pair(verb: str, noun: str = "horse") -> Triplet:
    return Triplet(HUMAN, THING, verb, noun)


def prospects_of(folder: Path, scenes: Sequence[tuple[list[Triplet], list[Triplet]]], rows: Rows) -> OpenScore:
    made(folder / "map", rows)
    images = [
        ImageScene(f"HICO_test2015_{number:08d}.jpg", truth=truth, predictions=said)
        for number, (truth, said) in enumerate(scenes, start=1)
    ]
    truth, predictions = to_tables(images, small_classes())
    report = shoe.score(predictions, truth, similarity=folder / "map", protocols=["shoe"])
    assert report.similarities is not None
    imputation = imputation_of(report.task, report.similarities)
    assert imputation is not None
    return OpenScore.from_scorer(Scorer(report.task, imputation.low, OPTIONS), imputation)


def chosen(prospects: OpenScore, *, credit: bool, most: int = 1 << 40) -> set[tuple[str, str]]:
    lookups = {"verb": prospects.imputation.verbs, "object": prospects.imputation.objects}
    askable: Any = {part: of_part.unrated for part, of_part in lookups.items()}
    if credit:
        masks = by_credit(prospects, precision_bounds(prospects, prospects.current), askable, most)
    else:
        masks = by_false_positives(prospects, askable, most)
    found: set[tuple[str, str]] = set()
    for part, mask in masks.items():
        row, column = np.nonzero(mask)
        of_part = lookups[part]
        found.update(zip(names_of(of_part.class_senses[row]), names_of(of_part.synsets[column]), strict=True))
    return found


def test_a_match_of_a_class_with_few_ground_truths_comes_first(tmp_path: Path) -> None:
    feed, straddle = on_pair("feed"), on_pair("straddle")
    scenes = [([on_pair("ride")], [straddle]), ([feed], [straddle]), ([feed], []), ([feed], [])]
    prospects = prospects_of(tmp_path, scenes, {})
    assert chosen(prospects, credit=True, most=1) == {("ride.v.01", sense) for sense in SENSES}
    classes = small_classes()
    of_feed = classes.verb_synsets[classes.labels.index("feed horse")]
    assert chosen(prospects, credit=True) == {(of, sense) for of in ("ride.v.01", of_feed) for sense in SENSES}


def test_what_is_rated_or_never_compared_is_not_asked(tmp_path: Path) -> None:
    scenes = [([on_pair("ride")], [on_pair("straddle"), Triplet(*FAR, "eat", "pony")])]
    prospects = prospects_of(tmp_path, scenes, {"ride.v.01 straddle.v.01": (1, None)})
    assert chosen(prospects, credit=True) == {("ride.v.01", "range.v.04"), ("ride.v.01", "straddle.v.03")}


def test_a_match_that_is_open_for_anothers_sake_leads_to_the_other(tmp_path: Path) -> None:
    # "hold" is the class's own word for "hold horse"; whether it is left for that hangs on what "ride horse" takes.
    truth = [on_pair("ride"), on_pair("hold")]
    prospects = prospects_of(tmp_path, [(truth, [on_pair("straddle"), on_pair("hold")])], {})
    assert {("ride.v.01", sense) for sense in SENSES} <= chosen(prospects, credit=True)


def test_the_guess_is_given_ratings_to_rest_on_first(tmp_path: Path) -> None:
    scenes = [([on_pair("ride")], [Triplet(*FAR, "straddle", "pony")])]
    prospects = prospects_of(tmp_path, scenes, {})
    wanted = chosen(prospects, credit=False)
    assert 0 < len(wanted) <= 2 * 10 * 40
    assert wanted == chosen(prospects, credit=False)
