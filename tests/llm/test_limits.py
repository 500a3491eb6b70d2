"""How many requests are let through, and when."""

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic

import pytest
from hypothesis import given, strategies as st

from shoe.llm.limits import Bucket, Gate, Limits, duration


def with_gate(what: Callable[[Gate], Awaitable[None]]) -> Callable[[], None]:
    """A test of a gate of 16 places, in a loop of its own."""

    def test() -> None:
        async def inner() -> None:
            await what(Gate(Limits(concurrency=16)))

        asyncio.run(inner())

    return test


async def filled(gate: Gate) -> None:
    while gate.in_flight < int(gate.window):
        assert await gate.enter()


async def round_trip(gate: Gate) -> None:
    """All requests in flight are answered well; others take their places, and new ones, at once."""
    await filled(gate)
    for _ in range(gate.in_flight):
        gate.record_answer()
        gate.leave()
        await filled(gate)


@with_gate
async def test_places_double_each_round_trip_up_to_the_limit(gate: Gate) -> None:
    seen = []
    for _ in range(6):
        seen.append(gate.window)
        await round_trip(gate)
    assert seen == [1, 2, 4, 8, 16, 16]


@with_gate
async def test_an_overload_halves_unused_places_once_and_they_come_back_one_a_round_trip(gate: Gate) -> None:
    gate.window = 8.0
    assert await gate.enter()
    gate.record_answer()
    assert gate.window == 8.0, "places that are not used do not grow"
    await filled(gate)
    sent_at = monotonic()
    for _ in range(8):
        gate.halve_window(sent_at)
        gate.leave()
    assert gate.window == 4.0
    await round_trip(gate)
    assert 4.9 < gate.window <= 5.0
    for _ in range(5):
        gate.halve_window(monotonic() + 1)
    assert gate.window == 1.0, "there is always one place"


@with_gate
async def test_whoever_waits_gets_the_place_that_comes_free_in_order(gate: Gate) -> None:
    order: list[int] = []

    async def wait(number: int) -> None:
        assert await gate.enter()
        order.append(number)

    assert await gate.enter()
    tasks = [asyncio.create_task(wait(number)) for number in range(3)]
    await asyncio.sleep(0)
    for _ in tasks:
        gate.leave()
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)
    assert order == [0, 1, 2]
    assert gate.in_flight == 1


@with_gate
async def test_a_stop_wakes_who_waits_and_who_sleeps(gate: Gate) -> None:
    assert await gate.enter()
    waits = asyncio.create_task(gate.enter())
    gate.pause(300)
    starts = asyncio.create_task(gate.start(1))
    await asyncio.sleep(0)
    gate.stop()
    assert not await asyncio.wait_for(waits, 5)
    assert not await asyncio.wait_for(starts, 5)
    assert not await gate.enter()
    await asyncio.wait_for(gate.sleep(300), 5)


@with_gate
async def test_no_request_is_sent_while_the_endpoint_wants_a_pause_or_gives_no_time(gate: Gate) -> None:
    begun = monotonic()
    gate.apply_headers({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "60ms"})
    gate.apply_headers({"x-ratelimit-remaining-requests": "1", "x-ratelimit-reset-requests": "300s"})
    assert await gate.start(1)
    assert monotonic() - begun >= 0.05
    for window, least in ((2.0, 0.0), (1.0, 0.5)):
        gate.window, begun = window, monotonic()
        gate.back_off()
        assert await gate.start(1)
        assert least <= monotonic() - begun < least + 0.4


@given(st.floats(1, 1e6), st.lists(st.floats(0, 1000), min_size=1, max_size=50))
def test_a_bucket_lets_through_no_more_than_its_rate(per_minute: float, amounts: list[float]) -> None:
    bucket = Bucket(per_minute)
    waits = [bucket.spend(amount) for amount in amounts]
    before_last = sum(amounts[:-1])
    # All were asked for at about the same time; a second's worth may go at once.
    assert waits[-1] >= before_last / (per_minute / 60) - 1.0 - 0.5
    assert min(waits) >= 0


def test_tokens_that_were_not_used_are_given_back_and_no_limit_means_no_wait() -> None:
    bucket, endless = Bucket(60), Bucket(None)
    bucket.spend(100)
    bucket.correct(-100)
    endless.correct(-5)
    assert (bucket.spend(1), endless.spend(1e9)) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *(("6m0s", 360.0), ("20ms", 0.02), ("1.5", 1.5), ("1m30.5s", 90.5), ("1h", 3600.0)),
        *(("", 0.0), ("soon", 0.0), ("1x", 0.0)),
        ("1741305600000", 0.0),  # a moment, not a duration
        ("2026-01-01T00:00:00Z", 0.0),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert duration(text) == seconds
