from concurrent.futures import ThreadPoolExecutor
from itertools import count, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from shoe.llm.budget import Budget, Price, Usage, likely_usage, most_usage, usage_of
from shoe.llm.ledger import Ledger
from shoe.llm.limits import Limits
from shoe.llm.recorder import LedgerRecorder, Tally, Terms
from shoe.llm.request import Request
from tests.examples import examples
from tests.llm.http import Heard, Http, Says, says_json
from tests.llm.ledgers import ask, recorded

BOUNDED = {"max_tokens": 20}
TOLD: dict[str, Any] = {"prompt_tokens": 3, "completion_tokens": 1}


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 300, "completion_tokens": 10}, Usage(300, 10)),
        ({"input_tokens": 300, "output_tokens": 10}, Usage(300, 10)),
        ({"prompt_tokens": 300, "completion_tokens": 0}, Usage(300, 0)),
        ({"prompt_tokens": 300}, Usage(300, 0)),
        (TOLD | {"prompt_tokens_details": {"cached_tokens": 2}}, Usage(3, 1, 2)),
        (TOLD | {"prompt_tokens_details": {"cached_tokens": 9}}, Usage(3, 1, 3)),
        (TOLD | {"prompt_tokens_details": None}, Usage(3, 1)),
        (TOLD | {"prompt_tokens_details": {"cached_tokens": "x"}}, Usage(3, 1)),
        *(({}, None), (None, None), ([300, 10], None)),
        ({"prompt_tokens": -1, "completion_tokens": 1}, None),
        ({"prompt_tokens": True, "completion_tokens": 1}, None),
        ({"prompt_tokens": "300", "completion_tokens": 1}, None),
    ],
)
def test_what_an_answer_says_it_took(usage: Any, expected: Usage | None) -> None:
    assert usage_of({"usage": usage}) == expected


def test_prices() -> None:
    usage = Usage(1_000_000, 100_000, 400_000)
    assert usage.cost(Price()) == 0
    assert usage.cost(Price(input=2, output=10)) == pytest.approx(2 + 1)
    assert usage.cost(Price(input=2, output=10, cached_input=0.5)) == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 1)
    assert usage.cost(Price(input=2, output=10, cached_input=0)) == pytest.approx(0.6 * 2 + 1)


def test_the_bound_of_a_request_is_above_what_is_likely() -> None:
    for characters, pairs in product((100, 5000), (1, 20)):
        most, likely = most_usage({}, characters, pairs), likely_usage(characters, pairs)
        assert (most.input > likely.input, most.output > likely.output) == (True, True)
    bound = most_usage(BOUNDED, 2000, 1)
    assert (bound.input > 2000, bound.output) == (True, 20)


faults = st.sampled_from([None, "500", "timeout"])
flights = st.lists(st.tuples(st.floats(0, 2), st.floats(0, 1), st.booleans()), max_size=60)


@given(st.floats(0, 10), st.integers(0, 30), flights)
def test_no_budget_is_overshot(max_cost: float, max_requests: int, requests: list[tuple[float, float, bool]]) -> None:
    budget, flying = Budget(max_cost, max_requests), []
    for most, share, lands in requests:
        if budget.reserve(most):  # neither "there is no room", nor "not yet"
            flying.append((most, share))
        if flying and lands:
            reserved, part = flying.pop(0)
            budget.settle(reserved, reserved * part)
    for reserved, part in flying:
        budget.settle(reserved, reserved * part)
    assert budget.spent <= max_cost * (1 + 1e-9) + 1e-12
    assert budget.requests <= max_requests


def test_a_budget_ends_the_run_only_where_nothing_that_is_in_flight_can_make_room() -> None:
    budget = Budget(max_cost=1)
    assert [budget.reserve(cost) for cost in (0.9, 0.2)] == [True, None]
    budget.settle(0.9, 0.3)
    assert [budget.reserve(cost) for cost in (0.2, 0.6)] == [True, None]
    assert not budget.stopping
    budget.settle(0.2, 0.2)
    assert [budget.reserve(cost) for cost in (0.6, 0.1)] == [False] * 2, "the run ends; another one has its own budget"
    assert budget.reason == "cost"


@given(
    max_cost=st.floats(0.001, 0.1),
    width=st.integers(1, 16),
    answers=st.lists(st.tuples(st.integers(0, 15), *[st.floats(0, 1)] * 2, faults), max_size=80),
    factors=st.lists(st.floats(1, 20), min_size=1, max_size=5),
)
def test_no_endpoint_makes_a_run_pass_its_budget_by_more_than_what_is_in_flight_exceeds_its_bounds(
    max_cost: float, width: int, answers: list[tuple[int, float, float, str | None]], factors: list[float]
) -> None:
    """Where no answer exceeds its bound (all factors 1), the budget holds to the last digit."""
    for liar in ([1.0], factors):
        budget, price, kept = Budget(max_cost), Price(10.0, 40.0), SimpleNamespace(append=lambda line: None)
        ledger = Ledger(Path("nowhere"), {"model": "m"}, lambda entry: [1])
        recorder = LedgerRecorder(ledger, kept, budget, Tally("m"), Terms(price, BOUNDED))  # type: ignore[arg-type]
        flying: list[tuple[Request, float]] = []
        charged = worst = 0.0
        for number, (which, share_in, share_out, fault) in enumerate(answers):
            asked = Request(number.to_bytes(16), {"messages": [{"content": "x" * 40 * which}]})
            before = budget._reserved
            if len(flying) < width and recorder.may_ask(asked):
                flying.append((asked, budget._reserved - before))
            if not flying or len(flying) < width // 2:
                continue
            request, reserved = flying.pop(which % len(flying))
            factor = liar[number % len(liar)]
            usage = Usage(int(factor * share_in * (request.size() + 256)), int(factor * share_out * 20))
            charged += 0.0 if fault else usage.cost(price)
            worst = max(worst, usage.cost(price) - reserved)
            if fault:
                recorder.failure(request, fault)
            else:
                recorder.answer(request, {"usage": {"prompt_tokens": usage.input, "completion_tokens": usage.output}})
        slack = 0.0 if liar == [1.0] else width * max(worst, 0.0)
        assert charged <= budget.spent * (1 + 1e-9) + 1e-12
        assert budget.spent <= (max_cost + slack) * (1 + 1e-9) + 1e-12


WIDTH = 8


@pytest.mark.parametrize(
    ("tenfold_from", "tokens_out", "fails", "sampling"),
    [
        (40, 10, 0, BOUNDED),
        (10**9, 20, 0, BOUNDED),
        pytest.param(10**9, 10, 2, BOUNDED, marks=pytest.mark.slow),
        pytest.param(40, 2000, 3, {}, marks=pytest.mark.slow),
    ],
)
def test_a_hostile_server_makes_a_run_pass_its_budget_by_what_was_in_flight_at_most_and_ends_it_no_sooner(
    tenfold_from: int, tokens_out: int, fails: int, sampling: dict[str, int], tmp_path: Path
) -> None:
    """Usage that is tenfold from some request on, answers without a bound, every n-th request failing, at no charge."""
    price, told, most_cost, asked = Price(10.0, 40.0), list[float](), 1.0, count(1)

    async def reply(heard: Heard) -> Says:
        number = next(asked)
        if fails and number % fails == 0:
            return says_json({"error": {"message": "not now"}}, 500)
        factor = 10 if number > tenfold_from else 1
        usage = Usage(800 * factor, tokens_out * factor)
        told.append(usage.cost(price))
        tokens = {"prompt_tokens": usage.input, "completion_tokens": usage.output}
        return says_json({"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}], "usage": tokens})

    server, budget = Http(), Budget(most_cost)
    server.add("POST", "/v1/chat/completions", reply)
    ledger = Ledger(tmp_path / "ledger.jsonl", {"model": "m"}, lambda entry: [1])
    requests = [Request(number.to_bytes(16), {"messages": [{"content": "é" * 400}]}) for number in range(1000)]
    with server, recorded(ledger, budget, Terms(price, sampling)) as recorder:
        ask(recorder, server.url, requests, Limits(concurrency=WIDTH, tries=20))
    bound = most_usage(sampling, requests[0].size(), 1).cost(price)
    assert tenfold_from == 40 or max(told) <= bound, "a byte is a token at most"
    assert budget.reason == "cost"
    assert budget.spent == pytest.approx(sum(told))
    assert budget.spent <= most_cost + WIDTH * max(0.0, max(told) - bound)
    assert budget.spent >= most_cost - max(bound, *told)


def test_many_threads_share_a_budget_and_the_user_has_the_last_word() -> None:
    budget = Budget(max_requests=1000)

    def work() -> int:
        return sum(iter(lambda: bool(budget.reserve(0.0)), False))

    with ThreadPoolExecutor(8) as pool:
        assert sum(future.result() for future in [pool.submit(work) for _ in range(8)]) == budget.requests == 1000
    reasons: list[str | None] = []
    for reason in ("failed", "interrupted", "failed"):
        budget.stop(reason)
        reasons.append(budget.reason)
    assert reasons == ["requests", "interrupted", "interrupted"]


@given(
    st.integers(0, 30) | st.none(),
    st.floats(0, 30) | st.none(),
    st.lists(st.tuples(st.integers(1, 9), st.floats(0.1, 9), st.floats(0, 1), st.booleans()), max_size=30),
)
@examples(30)
def test_leases_never_pass_a_budget_and_all_of_it_comes_back(
    requests: int | None, cost: float | None, asked: list[tuple[int, float, float, bool]]
) -> None:
    budget, out, made = Budget(cost, requests), [], 0
    for number, price, share, ends in asked:
        if (part := budget.lease(number, price)) is not None:
            out.append((part, share))
        if out and (ends or part is None):
            part, share = out.pop(0)
            part.requests = int(share * (number if part.max_requests is None else part.max_requests))
            part.spent = share * (price if part.max_cost is None else part.max_cost)
            made += part.requests
            budget.take_back(part)
        assert requests is None or budget.requests <= requests
        assert cost is None or budget.spent <= cost * (1 + 1e-9)
    for part, _ in out:
        budget.take_back(part)
    assert budget.requests == made
    if not budget.stopping and requests != 0 and cost != 0:
        left = budget.lease(10**6, 10**6)
        assert (left is None) == budget.stopping
        assert left is None or left.max_requests is None or left.max_requests == (requests or 0) - made
