"""Rating whole plans, in one process."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from io import StringIO
from itertools import product
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from rich.console import Console

from shoe.core.errors import OptionError, ShoeError
from shoe.lexicon.senses import Part
from shoe.lexicon.store import lexicon
from shoe.llm.budget import Budget, Price
from shoe.llm.ledger import State
from shoe.maps.built_map import check_place, states_of, write_built
from shoe.maps.config import Ensemble, RatersFile
from shoe.maps.cost_estimate import Progress, measured_progress
from shoe.maps.job import Disagreement, Outcome, apply_prefilter, known, rate, rate_pairs, sample_zeros
from shoe.maps.planning import Plan, plan_pairs
from shoe.maps.prompts import Prompts, Question, Subject, describe
from shoe.maps.session import Raters
from shoe.report.maps import print_outcome
from shoe.similarity import SimilarityMap
from tests.errors import input_error
from tests.maps import standin

VERBS = [f"{verb}.v.01" for verb in "ride straddle feed stroke eat walk wash throw kick jump".split()]  # noqa: SIM905
NOUNS = [f"{noun}.n.01" for noun in ("bicycle", "horse", "pony", "dog", "car", "cup", "knife", "ball")]
PAIRS: dict[Part, list[tuple[str, str]]] = {
    "verb": [(a, b) for a, b in product(VERBS, VERBS) if a != b],
    "object": [(a, b) for a, b in product(NOUNS[:4], NOUNS) if a != b],
}
RULES: dict[Part, str] = {"verb": "some verbs", "object": "some objects"}


@pytest.fixture(autouse=True, scope="module")
def _kind() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        standin.know_this_kind(patch.setitem)
        yield


def plans() -> dict[Part, Plan]:
    return {part: plan_pairs(part, pairs) for part, pairs in PAIRS.items()}


def rater(seed: int, name: str = "", **more: Any) -> standin.StandIn:
    return standin.StandIn(name=name or f"r{seed}", model="m", seed=seed, **more)


def all_ready(folder: Path, *raters: standin.StandIn, **ensemble: Any) -> Raters:
    configs = raters or tuple(three())
    return Raters(RatersFile(configs, Ensemble(**({"sample": 5} | ensemble))), Prompts.read(), folder)


def run(
    folder: Path, *raters: standin.StandIn, budget: Budget | None = None, **ensemble: Any
) -> tuple[Raters, Outcome]:
    ready = all_ready(folder, *raters, **ensemble)
    return ready, rate(ready, plans(), budget or Budget())


def three(**settings: Any) -> list[standin.StandIn]:
    return [rater(seed, **settings) for seed in (1, 2, 3)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return run(tmp_path_factory.mktemp("whole"))[1]


def same(one: Outcome, other: Outcome) -> bool:
    return all((one.parts[part].states == other.parts[part].states).all() for part in one.parts)


def built(folder: Path, raters: Raters, outcome: Outcome) -> dict[str, bytes]:
    write_built(folder, "hico-det", raters, outcome, RULES)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def by_name(outcome: Outcome, part: Part, column: int) -> dict[tuple[str, str], int]:
    rated, name = outcome.parts[part], lexicon().name
    rows = zip(rated.plan.first.tolist(), rated.plan.second.tolist(), rated.states[:, column].tolist(), strict=True)
    return {(name(a), name(b)): int(state) for a, b, state in rows}


def test_every_pair_ends_in_the_state_that_its_answers_give_it(whole: Outcome) -> None:
    zeros = {pair for pair, state in by_name(whole, "verb", 0).items() if state == 0}
    for part in ("verb", "object"):
        for column, seed in enumerate((1, 2, 3)):
            for pair, state in by_name(whole, part, column).items():
                assert state == standin.state(seed, *pair) or (pair in zeros and part == "verb")
    verbs = whole.parts["verb"]
    assert all(states_of(verbs, 0)[name] > 0 for name in ("rated", "refused", "unparsable"))
    assert verbs.zeros == len(zeros) > 5


def test_zeros_go_no_further_but_for_a_sample(whole: Outcome) -> None:
    verbs, first = whole.parts["verb"], whole.parts["verb"].states[:, 0]
    assert verbs.sampled is not None
    assert len(verbs.sampled) == 5
    assert (first[verbs.sampled] == 0).all()
    for column in (1, 2):
        expected = first != 0
        expected[verbs.sampled] = True
        assert (verbs.asked[:, column] == expected).all()
        assert ((verbs.states[:, column] != State.UNRATED) == expected).all()
        given = verbs.states[verbs.sampled, column]
        counts = int((given >= 0).sum()), int((given > 0).sum())
        assert verbs.disagreements[f"r{column + 1}"] == Disagreement.from_counts(*counts)
    objects = whole.parts["object"]
    assert objects.sampled is None
    assert objects.asked.all()


def test_without_prefilter_or_with_one_rater_all_see_all(tmp_path: Path) -> None:
    for _, outcome in (run(tmp_path, prefilter=()), run(tmp_path, rater(1))):
        assert all(rated.asked.all() and rated.sampled is None for rated in outcome.parts.values())


def test_refused_and_unparsable_are_no_zeros_and_what_is_pending_waits() -> None:
    one = np.array([0, 1, 4, State.REFUSED, State.UNPARSABLE, State.UNRATED, State.UNPARSED_ONCE], np.int8)
    onward, zero = apply_prefilter(np.stack([one], axis=1))
    assert onward.tolist() == [False, True, True, True, True, False, False]
    assert zero.tolist() == [True, False, False, False, False, False, False]
    two = np.array([1, 0, 0, 0, State.REFUSED, 0, 3], np.int8)
    onward, zero = apply_prefilter(np.stack([one, two], axis=1))
    assert onward.tolist() == [True, True, True, True, True, False, True]
    assert not zero.any()


@pytest.mark.parametrize(("not_zero", "rated"), [(0, 1), (0, 400), (3, 400), (200, 400), (400, 400), (1, 2)])
def test_the_interval_is_wilsons(not_zero: int, rated: int) -> None:
    """Its bounds are the shares whose normal interval just reaches the share that was found (Wilson 1927)."""
    low, high = Disagreement.from_counts(rated, not_zero).interval_95
    for bound in (low, high):
        assert rated * (bound - not_zero / rated) ** 2 == pytest.approx(1.959963984540054**2 * bound * (1 - bound))
    assert (low == 0, high == 1) == (not_zero == 0, not_zero == rated)


def test_the_sample_depends_on_the_seed_and_the_pairs_alone() -> None:
    plan = plans()["verb"]
    everything = np.arange(len(plan))
    sample = sample_zeros(plan, everything, 10, seed=0)
    assert len(set(sample.tolist())) == 10
    assert (np.diff(sample) > 0).all()
    assert sample.tolist() == sample_zeros(plan, everything, 10, seed=0).tolist()
    assert sample.tolist() != sample_zeros(plan, everything, 10, seed=1).tolist()
    fewer = everything[::2]
    assert set(sample_zeros(plan, fewer, 10, seed=0).tolist()) >= set(sample.tolist()) & set(fewer.tolist())
    assert sample_zeros(plan, everything[:4], 10, seed=0).tolist() == [0, 1, 2, 3]
    counts = Counter(row for seed in range(300) for row in sample_zeros(plan, everything, 10, seed).tolist())
    assert len(counts) == len(plan)
    assert max(counts.values()) < 4 * 300 * 10 / len(plan)


@pytest.mark.slow
def test_the_map_is_the_same_whatever_came_in_between(tmp_path: Path) -> None:
    expected = built(tmp_path / "a" / "map", *run(tmp_path / "clean"))
    draw = np.random.default_rng(3)
    for number in range(3):
        ledger, down = tmp_path / f"ledger-{number}", tmp_path / f"down-{number}"
        for turn in range(40):
            down.unlink(missing_ok=True)
            if turn % 3 == 1:
                down.write_text("")
            threads = int(draw.integers(1, 9))
            budget = Budget(max_requests=int(draw.integers(0, 60)))
            raters, outcome = run(ledger, *three(threads=threads, down=down), budget=budget)
            if budget.reason is None and turn % 3 != 1:
                break
            built(tmp_path / f"b{number}" / "map", raters, outcome)
        assert built(tmp_path / f"b{number}" / "map", raters, outcome) == expected
        assert turn > 2


def asked(log: Path, what: str = "asked") -> Counter[str]:
    lines = log.read_text().splitlines() if log.exists() else []
    return Counter(line.removeprefix(f"{what} ") for line in lines if line.startswith(what))


def test_nothing_is_answered_twice_and_a_second_run_asks_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    _, first = run(tmp_path / "ledger", *three(log=log))
    once = asked(log, "answered")
    assert (set(once.values()), {asking for entry in once for asking in entry[-1]}) == ({1}, {"1", "2"})
    requests, budget = asked(log).total(), Budget()
    for name, count in (("done", len(once)), ("requests", requests), ("retries", requests - len(once))):
        assert sum(getattr(tally, name) for tally in first.tallies) == count
    _, again = run(tmp_path / "ledger", *three(log=log), budget=budget)
    assert (asked(log, "answered"), budget.requests) == (once, 0)
    assert same(again, first)


def test_two_jobs_on_one_ledger_do_not_double_work(tmp_path: Path) -> None:
    log = tmp_path / "log"
    outcomes: list[Outcome] = []

    def work() -> None:
        outcomes.append(run(tmp_path / "ledger", *three(log=log, delay=0.002))[1])

    threads = [Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (set(asked(log, "answered").values()), len(outcomes)) == ({1}, 3)
    assert all(same(outcome, outcomes[0]) for outcome in outcomes)


def test_groups_are_cut_from_all_questions_whatever_was_answered(tmp_path: Path) -> None:
    def grouped(folder: Path, **budget: Any) -> tuple[Raters, Outcome]:
        return run(folder, *(rater(seed, pairs_per_request=7) for seed in (1, 2)), budget=Budget(**budget))

    expected = built(tmp_path / "a" / "map", *grouped(tmp_path / "one"))
    for count in (1, 3, 5, 2):
        grouped(tmp_path / "two", max_requests=count)
    assert built(tmp_path / "b" / "map", *grouped(tmp_path / "two")) == expected


def test_repeats_are_columns_and_questions_of_their_own(tmp_path: Path) -> None:
    log = tmp_path / "log"
    raters, outcome = run(tmp_path / "ledger", rater(1, repeats=3, log=log), rater(2))
    assert raters.columns == ["r1-1", "r1-2", "r1-3", "r2"]
    assert (outcome.parts["verb"].states[:, [0]] == outcome.parts["verb"].states[:, :3]).all()
    assert len({entry.split()[0] for entry in asked(log)}) == 3 * sum(len(plan) for plan in plans().values())
    write_built(tmp_path / "map", "hico-det", raters, outcome, RULES)
    columns = [(one["name"], one.get("repeat")) for one in SimilarityMap.load(tmp_path / "map").about["raters"]]
    assert columns == [("r1-1", 1), ("r1-2", 2), ("r1-3", 3), ("r2", None)]


def test_the_budget_in_requests_is_kept_and_the_rest_comes_later(tmp_path: Path) -> None:
    log, total = tmp_path / "log", 0
    while True:
        budget = Budget(max_requests=50)
        run(tmp_path / "ledger", *three(log=log, threads=7), budget=budget)
        total += 50
        assert asked(log).total() <= total
        if budget.reason is None:
            break
        assert (budget.reason, budget.requests, asked(log).total()) == ("requests", 50, total)
    assert set(asked(log, "answered").values()) == {1}


def test_the_budget_in_money_is_never_overshot_and_nearly_used(tmp_path: Path) -> None:
    price = Price(input=300, output=300)
    budget = Budget(max_cost=3.0)
    dear = [replace(rater(seed, threads=5, sampling={"max_tokens": 20}), price=price) for seed in (1, 2)]
    _, outcome = run(tmp_path, *dear, budget=budget)
    assert budget.reason == "cost"
    assert 2.4 < budget.spent <= 3.0
    assert budget.spent == pytest.approx(sum(tally.cost for tally in outcome.tallies))
    assert sum(tally.failures.total() for tally in outcome.tallies) > 0, "what failed costs nothing"
    assert budget.spent == pytest.approx(0.033 * sum(tally.done for tally in outcome.tallies))


def test_a_rater_that_costs_nothing_is_not_stopped_by_a_budget_in_money(tmp_path: Path) -> None:
    budget = Budget(max_cost=0)
    run(tmp_path, rater(1), budget=budget)
    assert budget.reason is None


def test_what_is_known_is_told_without_asking(tmp_path: Path) -> None:
    log, ledger = tmp_path / "log", tmp_path / "ledger"
    nothing = known(all_ready(ledger, *three(log=log)), plans())
    assert (nothing.parts["verb"].states == State.UNRATED).all()
    assert nothing.parts["verb"].asked[:, 0].all()
    assert not ledger.exists()
    _, outcome = run(ledger, *three(log=log))
    requests = asked(log)
    assert same(known(all_ready(ledger, *three(log=log)), plans()), outcome)
    assert asked(log) == requests


def test_some_pairs_are_rated_by_name(tmp_path: Path) -> None:
    wanted: Mapping[Part, list[tuple[str, str]]] = {"verb": [*PAIRS["verb"][:20], ("ride.v.01",) * 2], "object": []}
    raters, budget = all_ready(tmp_path), Budget()
    found = rate_pairs(raters, wanted, budget)
    assert (set(found["verb"].names()), len(found["object"])) == (set(PAIRS["verb"][:20]), 0)
    for pair, ratings in zip(found["verb"].names(), found["verb"].ratings.tolist(), strict=True):
        of_all = [standin.state(seed, *sorted(pair)) for seed in (1, 2, 3)]
        shown = of_all if of_all[0] != 0 else [0, -1, -1]
        assert ratings == [max(state, -1) for state in shown]
    assert budget.requests > 20
    more = Budget()
    again = rate_pairs(raters, wanted, more)["verb"]
    assert (again.ratings == found["verb"].ratings).all()
    assert more.requests == 0


def test_a_pair_that_may_yet_be_answered_is_left_out(tmp_path: Path) -> None:
    found = rate_pairs(all_ready(tmp_path), {"verb": PAIRS["verb"][:20]}, Budget(max_requests=3))["verb"]
    assert 0 < len(found) < 20


def test_a_rater_that_cannot_go_on_ends_the_run_with_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def rate(self, groups: Any, recorder: Any) -> None:
            raise ShoeError("'r2': wrong key")

        def parse(self, ids: Any, raw: Any) -> list[int]:
            return []

    broken = Broken()
    monkeypatch.setattr(standin.StandIn, "backend", lambda config, prompts: broken)
    budget = Budget()
    with pytest.raises(ShoeError, match="'r2': wrong key"):
        run(tmp_path, prefilter=(), budget=budget)
    assert budget.reason == "failed"


def test_one_rater_under_two_names_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"'b' and 'a'"):
        all_ready(tmp_path, rater(1, "a"), rater(1, "b"))


def test_an_empty_plan_is_an_empty_map(tmp_path: Path) -> None:
    empty: dict[Part, Plan] = {part: plan_pairs(part, []) for part in PAIRS}
    raters = all_ready(tmp_path / "ledger")
    built(tmp_path / "map", raters, rate(raters, empty, Budget()))
    assert len(SimilarityMap.load(tmp_path / "map").tables["verb"]) == 0


def test_the_map_says_how_it_came_about(tmp_path: Path) -> None:
    first_rater = rater(1, pairs_per_request=2, revision="v1", sampling={"seed": 1})
    built(tmp_path / "map", *run(tmp_path / "ledger", first_rater, rater(2)))
    about = SimilarityMap.load(tmp_path / "map").about
    first = about["raters"][0]
    assert first.items() >= {"kind": standin.KIND, "pairs_per_request": 2, "revision": "v1"}.items()
    assert first["settings"] == first["sampling"] == {"seed": 1}
    assert about["prompts"][first["prompts"]["verbs"]] == Prompts.read().verb.text
    states = first["states"]["verbs"]
    assert states["rated"] + states["refused"] + states["unparsable"] == about["built"]["plan"]["verbs"]["questions"]
    assert about["built"]["complete"] is True
    filtered = about["built"]["prefilter"]["verbs"]
    assert (filtered["rater"], filtered["sample"], filtered["seed"]) == ("r1", 5, 0)
    assert filtered["disagreement"]["r2"]["rated"] <= 5
    assert filtered["share_in_the_paper"] == [0.00245, 0.01318]


def test_a_rater_with_one_rating_for_all_pairs_is_a_warning(tmp_path: Path) -> None:
    console = Console(width=1000, record=True, file=StringIO())
    raters, outcome = run(tmp_path, rater(1), rater(2), prefilter=())
    outcome.parts["verb"].states[:, 1] = 4
    print_outcome(raters, outcome, console)
    (line,) = [line for line in console.export_text().splitlines() if line.startswith("warning: ")]
    assert re.match(rf"warning: verbs: rater 'r2' .*\b{len(outcome.parts['verb'].plan)} .*\b4\b", line)


def test_a_map_so_far_says_that_it_is_not_whole(tmp_path: Path) -> None:
    built(tmp_path / "map", *run(tmp_path / "ledger", budget=Budget(max_requests=10)))
    about = SimilarityMap.load(tmp_path / "map").about
    assert about["built"]["complete"] is False
    assert about["built"]["plan"]["verbs"]["unanswered"] > 0


def test_only_a_map_of_this_job_is_replaced(tmp_path: Path) -> None:
    raters = all_ready(tmp_path / "ledger")
    for name in ("new", "empty"):
        check_place(tmp_path / name)
        (tmp_path / name).mkdir(exist_ok=True)
    built(tmp_path / "map", raters, known(raters, plans()))
    check_place(tmp_path / "map")
    (tmp_path / "file").write_text("")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "map.json").write_text("{}")
    for name in ("file", "other"):
        with input_error(source=str(tmp_path / name)):
            check_place(tmp_path / name)


def test_an_estimate_learns_from_the_answers(tmp_path: Path) -> None:
    raters = all_ready(tmp_path, rater(1), rater(2, pairs_per_request=3))
    nothing: dict[Subject, int] = {"verb": 0, "object": 0}
    assert measured_progress(raters, known(raters, plans()))["r1"] == Progress(nothing, nothing)
    outcome = rate(raters, plans(), Budget())
    learnt = measured_progress(raters, outcome)
    assert learnt["r1"].answered == {part: len(plan) for part, plan in plans().items()}
    assert learnt["r1"].zeros["verb"] == outcome.parts["verb"].zeros
    assert learnt["r1"].answer_tokens == learnt["r2"].answer_tokens == 10
    assert learnt["r1"].seconds == 0.5
    length = sum(map(len, Prompts.read().render([question_of(outcome)], several=False)[:2]))
    assert learnt["r1"].tokens_per_char == pytest.approx(100 / length, rel=0.1)


def question_of(outcome: Outcome) -> Question:
    first, second = describe(list(next(iter(by_name(outcome, "verb", 0)))))
    return Question(bytes(16), "verb", first, second)
