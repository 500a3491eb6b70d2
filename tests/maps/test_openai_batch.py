"""Batches against a real server: what is lost on the way or missing in them, and processes that end in between."""

import resource
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from threading import Thread
from time import sleep
from typing import Any

import pytest

from shoe.core.errors import InputError, ShoeError
from shoe.llm import batch
from shoe.llm.ledger import State
from shoe.llm.limits import Limits
from shoe.llm.request import Request
from shoe.maps.config import Backend
from tests.llm.server import Server
from tests.llm.server_plan import Plan
from tests.maps.asking import Memory, in_groups, questions, rater, ratings

COUNT = 90


class Killed(BaseException):
    """The process ends here, as far as the rater can tell."""


class Dies(Memory):
    """A recorder whose process ends before or after the n-th thing that it is to remember."""

    def __init__(self, at: int, *, before: bool, past: Memory | None = None) -> None:
        super().__init__()
        self.events = list(past.events) if past else []
        self._left = at
        self._before = before

    def remember(self, event: Mapping[str, Any]) -> None:
        self._left -= 1
        if self._left == 0 and self._before:
            raise Killed
        super().remember(event)
        if self._left == 0:
            raise Killed


class Tight(Memory):
    """A recorder of a job that ends when its budget has no room for a request."""

    def may_ask(self, request: Request) -> bool:
        self.stopping = not super().may_ask(request)
        return not self.stopping


def rated(server: Server, memory: Memory, count: int = COUNT, **options: Any) -> tuple[dict[bytes, int], Backend]:
    config, backend = rater(server.url, "openai-batch", **options)
    pending = [question for question in questions(count) if question.key not in answered(memory)]
    backend.rate(in_groups(pending, config.pairs_per_request), memory)
    return ratings(backend, memory), backend


def answered(memory: Memory) -> set[bytes]:
    return {key for request, _ in memory.answers for key in request.keys}


def times(server: Server) -> set[int]:
    """How often pairs were answered."""
    return set(server.stats()["answers"].get("m", {}).values())


@pytest.fixture(autouse=True)
def _lists_that_do_not_lag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "LISTS_LAG", 0.1)


@pytest.fixture(scope="module")
def clean() -> dict[bytes, int]:
    with Server() as server:
        return rated(server, Memory())[0]


def test_one_batch_answers_all(clean: dict[bytes, int]) -> None:
    assert len(clean) == COUNT
    assert set(clean.values()) == {0, 1, 2, 3, 4}


@pytest.mark.parametrize("pairs_per_request", [1, 7])
@pytest.mark.slow
def test_what_batches_leave_out_goes_into_later_ones(pairs_per_request: int) -> None:
    plan = Plan(rates={"line 500": 0.15, "line lost": 0.15, "batch 500": 0.1, "batch dropped": 0.1}, seed=4)
    memory = Memory()
    with Server() as server:
        clean = rated(server, Memory(), pairs_per_request=pairs_per_request)[0]
    with Server(plan) as server:
        found, *_ = rated(server, memory, pairs_per_request=pairs_per_request, requests_per_batch=10)
        counted = server.stats()
        assert times(server) == {1}
    assert found == clean
    assert {"500", "missing"} == {kind for kind, _ in memory.failures}
    # Batches whose creation was answered by a hang-up were found again, none was made twice.
    assert counted["batches"] == sum(event["event"] == "started" for event in memory.events)


@pytest.mark.slow
def test_a_budget_smaller_than_a_batch_is_spent_and_its_answers_come_with_the_next_run(clean: dict[bytes, int]) -> None:
    first, second = Tight(40), Memory()
    with Server(Plan(batch_seconds=0.5)) as server:
        assert rated(server, first)[0] == {}
        assert first.stopping
        second.events = list(first.events)
        assert rated(server, second)[0] == clean
        assert times(server) == {1}
        assert server.stats()["batches"] == 2
    assert [len(event["requests"]) for event in second.events if event["event"] == "prepared"] == [40, COUNT - 40]


def test_a_job_that_is_interrupted_sends_no_batch() -> None:
    memory = Memory()
    memory.stopping = True
    with Server() as server:
        rated(server, memory)
        assert not server.stats().get("batches")


def test_a_full_disk_is_one_line() -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Server() as server:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
        try:
            with pytest.raises(InputError, match="File too large, expected a temporary folder with enough space"):
                rated(server, Memory())
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_an_expired_batch_keeps_its_answers_and_the_rest_is_asked_again(clean: dict[bytes, int]) -> None:
    memory = Memory()
    with Server(Plan(expiring=1)) as server:
        assert rated(server, memory)[0] == clean
        assert times(server) == {1}
        assert server.stats()["batches"] == 2
    assert Counter(kind for kind, _ in memory.failures) == {"expired": COUNT // 2}


def test_requests_that_never_succeed_are_left_after_so_many_batches() -> None:
    memory = Memory()
    with Server(Plan(rates={"line lost": 1.0})) as server:
        assert rated(server, memory, limits=Limits(tries=3))[0] == {}
        assert server.stats()["batches"] == 3
    assert len(memory.failures) == 3 * COUNT


def test_batches_hold_no_more_than_they_may(clean: dict[bytes, int]) -> None:
    with Server(Plan(most_lines=20)) as server:
        assert rated(server, Memory(), requests_per_batch=20, batches=2)[0] == clean
        assert server.stats()["batches"] == 5


def test_a_batch_that_the_endpoint_refuses_stops_the_run_with_its_words() -> None:
    with Server(Plan(most_lines=20)) as server, pytest.raises(ShoeError, match="batch-1 failed: 90 lines are too many"):
        rated(server, Memory())


def test_a_batch_for_which_there_is_no_room_waits(clean: dict[bytes, int]) -> None:
    with Server(Plan(most_batches=1, batch_seconds=0.1)) as server:
        assert rated(server, Memory(), requests_per_batch=30, limits=Limits(tries=1))[0] == clean
        assert times(server) == {1}


@pytest.mark.slow
def test_a_batch_without_room_beside_one_that_has_ended_before_it_is_looked_at_is_sent_again(
    clean: dict[bytes, int],
) -> None:
    """The first is under way when the second fails for want of room, and over when either is looked at."""
    memory = Memory()
    with Server(Plan(most_batches=1, first_waits_for=2, hold_create=0.3)) as server:
        assert rated(server, memory, requests_per_batch=45, batches=2, limits=Limits(tries=1))[0] == clean
        assert times(server) == {1}
        assert server.stats()["batches"] == 3
    assert [kind for kind, _ in memory.failures] == ["failed"] * 45


def test_a_batch_without_room_that_was_alone_ends_the_run() -> None:
    with Server(Plan(most_batches=0)) as server, pytest.raises(ShoeError, match="too many tokens are waiting"):
        rated(server, Memory())


def test_an_answer_to_more_than_is_asked_for_is_not_taken_apart() -> None:
    """Ids are those of all pairs of a request: some of them by themselves could be told from others by other ids."""
    first = Dies(3, before=False)
    with Server() as server:
        with pytest.raises(Killed):
            rated(server, first, 8, pairs_per_request=4)
        second = Memory()
        second.events = list(first.events)
        _, backend = rater(server.url, "openai-batch", pairs_per_request=4)
        backend.rate(in_groups(questions(6), 4), second)
        assert ratings(backend, second).keys() == {question.key for question in questions(6)}
        assert [len(request.keys) for request, _ in second.answers] == [4, 2]


def test_answers_without_a_rating_are_kept() -> None:
    memory = Memory()
    with Server(Plan(rates={"chatter": 0.3}, refused=0.1)) as server:
        found, *_ = rated(server, memory)
        unreadable = sum(server.stats()["unreadable"]["m"].values())
    states = Counter(found.values())
    assert states[State.UNPARSED_ONCE] == unreadable > 0
    assert states[State.REFUSED] > 0
    assert len(found) == COUNT
    assert not memory.failures


def test_an_endpoint_without_response_format_is_asked_in_plain_text(clean: dict[bytes, int]) -> None:
    with Server(Plan(structured=False)) as server:
        assert rated(server, Memory(), limits=Limits(tries=1))[0] == clean


# prepared, uploaded, started, ended: the process ends before or after each of them, and within what it waits for.
@pytest.mark.parametrize("at", [1, 2, 3, 4])
@pytest.mark.parametrize("before", [True, False])
def test_a_process_that_ends_asks_nothing_twice(at: int, before: bool, clean: dict[bytes, int]) -> None:
    first = Dies(at, before=before)
    with Server() as server:
        with pytest.raises(Killed):
            rated(server, first)
        second = Memory()
        second.events, second.answers = list(first.events), list(first.answers)
        assert rated(server, second)[0] == clean
        assert times(server) == {1}
        assert server.stats()["batches"] == 1


def test_an_answer_to_the_creation_of_a_batch_that_never_comes(clean: dict[bytes, int]) -> None:
    memory = Memory()
    with Server(Plan(hold_create=1.0)) as server:
        assert rated(server, memory, limits=Limits(timeout=0.3))[0] == clean
        assert server.stats()["batches"] == 1


def test_an_endpoint_that_lists_no_batches_is_no_reason_to_stop(clean: dict[bytes, int]) -> None:
    first = Dies(3, before=True)
    with Server(Plan(lists_batches=False, honours_keys=False)) as server:
        with pytest.raises(Killed):
            rated(server, first)
        second = Memory()
        second.events = list(first.events)
        assert rated(server, second)[0] == clean
        assert server.stats()["batches"] == 2


@pytest.mark.slow
@pytest.mark.parametrize(("lists_lag", "honours_keys"), [(0.5, False), (10**9, True)])
def test_a_batch_is_begun_once_though_lists_lag_answers_are_lost_and_the_process_ends(
    lists_lag: float, honours_keys: bool, clean: dict[bytes, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "LISTS_LAG", 1.0)
    first, second = Dies(3, before=True), Memory()
    with Server(Plan(hold_create=0.5, lists_lag=lists_lag, honours_keys=honours_keys)) as server:
        with pytest.raises(Killed):
            rated(server, first, limits=Limits(timeout=0.2))
        second.events = list(first.events)
        assert rated(server, second)[0] == clean
        assert times(server) == {1}
        assert server.stats()["batches"] == 1


def test_a_batch_is_joined_though_the_plan_has_changed_meanwhile(clean: dict[bytes, int]) -> None:
    """The second run asks for more pairs, in other groups: those in the batch are not asked again."""
    first = Dies(3, before=False)
    with Server() as server:
        with pytest.raises(Killed):
            rated(server, first, 60, pairs_per_request=4)
        second = Memory()
        second.events = list(first.events)
        _, backend = rater(server.url, "openai-batch", pairs_per_request=4)
        more = questions(COUNT)
        backend.rate(in_groups([more[-1], *more[:-1]], 4), second)
        assert answered(second) == {question.key for question in more}
        assert times(server) == {1}


def test_a_second_attempt_is_not_given_the_first_ones_answer() -> None:
    first = Dies(4, before=True)
    with Server(Plan(rates={"chatter": 0.5})) as server:
        with pytest.raises(Killed):
            rated(server, first)
        _, backend = rater(server.url, "openai-batch")
        unread = {key for key, state in ratings(backend, first).items() if state == State.UNPARSED_ONCE}
        second = Memory()
        second.events = list(first.events)
        again = [replace(question, attempt=2) for question in questions(COUNT) if question.key in unread]
        backend.rate(in_groups(again), second)
        found = ratings(backend, second)
    assert found.keys() == unread
    assert min(found.values()) >= 0


def test_a_batch_of_another_process_is_left_to_it() -> None:
    first = Dies(3, before=False)
    with Server(Plan(batch_seconds=60)) as server:
        with pytest.raises(Killed):
            rated(server, first)
        second = Memory()
        second.events = list(first.events)
        _, backend = rater(server.url, "openai-batch")
        backend.rate(iter([]), second)
    assert second.events == first.events


@pytest.mark.slow
def test_a_stop_leaves_the_batch_to_go_on(clean: dict[bytes, int], caplog: pytest.LogCaptureFixture) -> None:
    first = Memory()
    with Server(Plan(batch_seconds=1.0)) as server:
        thread = Thread(target=rated, args=(server, first))
        thread.start()
        while not any(event["event"] == "started" for event in first.events):
            sleep(0.01)
        first.stopping = True
        thread.join(5)
        assert not thread.is_alive()
        assert not first.answers
        assert "batch-1: in_progress, 0 of 90 requests" in caplog.text
        assert "batch-1 continues at the endpoint with 90 requests: run the same command again" in caplog.text
        second = Memory()
        second.events = list(first.events)
        assert rated(server, second)[0] == clean
        assert server.stats()["batches"] == 1


@pytest.mark.slow
def test_a_cancelled_batch_stops_the_run_and_its_answers_are_kept() -> None:
    memory = Memory()
    with Server(Plan(batch_seconds=0.5)) as server:

        def cancel() -> None:
            import openai

            while not any(event["event"] == "started" for event in memory.events):
                sleep(0.01)
            with openai.OpenAI(api_key="none", base_url=server.url) as client:
                client.batches.cancel("batch-1")

        thread = Thread(target=cancel)
        thread.start()
        with pytest.raises(ShoeError, match="batch-1 was cancelled"):
            rated(server, memory)
        thread.join()
    assert len(memory.answers) == COUNT // 2


def test_a_wrong_key_stops_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOE_TEST_KEY", "sk-wrong")
    memory = Memory()
    with Server(Plan(key="sk-right")) as server:
        with pytest.raises(ShoeError, match="the key in environment variable SHOE_TEST_KEY") as shown:
            rated(server, memory, api_key_env="SHOE_TEST_KEY")
        assert server.stats()["unauthorized"] == 1
    assert "sk-" not in str(shown.value)


def test_a_redirection_is_not_followed() -> None:
    with Server() as server:
        _, backend = rater(server.url.replace("/v1", "/elsewhere"), "openai-batch")
        with pytest.raises(ShoeError, match="redirects to http://127"):
            backend.rate(in_groups(questions(3)), Memory())


@pytest.mark.parametrize("memory", [Memory(), Tight(2)])
def test_an_endpoint_that_is_down_is_one_line_whatever_the_budget(memory: Memory) -> None:
    _, backend = rater("http://127.0.0.1:9/v1", "openai-batch", limits=Limits(tries=2))
    with pytest.raises(ShoeError, match=r"127\.0\.0\.1:9/v1: no answer after 2 tries"):
        backend.rate(in_groups(questions(3)), memory)


@pytest.mark.slow
def test_what_a_budget_had_room_for_is_sent_though_the_endpoint_fails_at_first() -> None:
    first = Tight(40)
    with Server(Plan(seed=27, rates={"batch 500": 0.5})) as server:  # the first upload, and the first creation
        rated(server, first)
        assert server.stats()["batches"] == 1
    assert [event["event"] for event in first.events] == ["prepared", "uploaded", "started"]


def test_a_budget_bounds_the_batch() -> None:
    memory = Memory(most_requests=25)
    with Server() as server:
        assert len(rated(server, memory)[0]) == 25
        assert server.stats()["batches"] == 1
