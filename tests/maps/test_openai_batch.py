"""Batches against a real server, also of Google's form: what is lost on the way, and processes that end in between."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from threading import Thread
from time import sleep
from typing import Any

import pytest

from shoe.core.errors import InputError, OptionError, ShoeError
from shoe.llm import batch
from shoe.llm.errors import HopelessError
from shoe.llm.ledger import State
from shoe.llm.limits import Limits
from shoe.llm.request import Request
from tests.llm.http import Heard, Says, says_json
from tests.llm.server import Server
from tests.llm.server_google import KEY, GoogleServer
from tests.llm.server_plan import Plan
from tests.maps.asking import Memory, in_groups, questions, rater, ratings
from tests.maps.samples import files_of_at_most

COUNT = 90


class Killed(BaseException):
    """The process ends here, as far as the rater can tell."""


class Dies(Memory):
    """A recorder whose process ends before or after the n-th thing that it is to remember."""

    def __init__(self, at: int, *, before: bool = False) -> None:
        super().__init__()
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


def rated(server: Server, memory: Memory, count: int = COUNT, **options: Any) -> dict[bytes, int]:
    config, backend = rater(server.url, "openai-batch", **options)
    pending = [question for question in questions(count) if question.key not in answered(memory)]
    backend.rate(in_groups(pending, config.pairs_per_request), memory)
    return ratings(backend, memory)


def ended(server: Any, at: int, count: int = COUNT, *, before: bool = False, **options: Any) -> Memory:
    """What is left to the next process by one that ends before or after the n-th thing that it is to remember."""
    first = Dies(at, before=before)
    with pytest.raises(Killed):
        rated(server, first, count, **options)
    return Memory(past=first)


def has_started(memory: Memory) -> bool:
    return any(event["event"] == "started" for event in memory.events)


def answered(memory: Memory) -> set[bytes]:
    return {key for request, _ in memory.answers for key in request.keys}


def times(server: Server) -> set[int]:
    return set(server.stats()["answers"].get("m", {}).values())


def batches(server: Server) -> int:
    return int(server.stats().get("batches", 0))


@pytest.fixture(autouse=True)
def _lists_that_do_not_lag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "LISTS_LAG", 0.1)


@pytest.fixture(scope="module")
def clean() -> dict[bytes, int]:
    with Server() as server:
        return rated(server, Memory())


def test_one_batch_answers_all(clean: dict[bytes, int]) -> None:
    assert (len(clean), set(clean.values())) == (COUNT, {0, 1, 2, 3, 4})


@pytest.mark.parametrize("pairs_per_request", [1, 7])
@pytest.mark.slow
def test_what_batches_leave_out_goes_into_later_ones(pairs_per_request: int) -> None:
    plan = Plan(rates={"line 500": 0.15, "line lost": 0.15, "batch 500": 0.1, "batch dropped": 0.1}, seed=4)
    memory = Memory()
    with Server() as server:
        clean = rated(server, Memory(), pairs_per_request=pairs_per_request)
    with Server(plan) as server:
        assert rated(server, memory, pairs_per_request=pairs_per_request, requests_per_batch=10) == clean
        assert times(server) == {1}
        # Batches whose creation was answered by a hang-up were found again, none was made twice.
        assert batches(server) == sum(event["event"] == "started" for event in memory.events)
    assert {"500", "missing"} == {kind for kind, _ in memory.failures}


@pytest.mark.slow
def test_a_budget_smaller_than_a_batch_is_spent_and_its_answers_come_with_the_next_run(clean: dict[bytes, int]) -> None:
    first = Tight(40)
    with Server(Plan(batch_seconds=0.5)) as server:
        assert rated(server, first) == {}
        assert first.stopping
        second = Memory(past=first)
        assert (rated(server, second), times(server), batches(server)) == (clean, {1}, 2)
    assert [len(event["requests"]) for event in second.events if event["event"] == "prepared"] == [40, COUNT - 40]


def test_a_job_that_is_interrupted_sends_no_batch() -> None:
    memory = Memory()
    memory.stopping = True
    with Server() as server:
        rated(server, memory)
        assert batches(server) == 0


def test_a_full_disk_is_one_line() -> None:
    with Server() as server, pytest.raises(InputError, match="File too large"), files_of_at_most(10_000):
        rated(server, Memory())


TRIED_ONCE = Limits(tries=1)


@pytest.mark.parametrize(
    ("plan", "options", "number", "failures"),
    [
        pytest.param(Plan(expiring=1), {}, 2, {"expired": COUNT // 2}, id="one expires with half of its answers"),
        pytest.param(Plan(most_lines=20), {"requests_per_batch": 20, "batches": 2}, 5, {}, id="no more than they may"),
        pytest.param(
            *(Plan(most_batches=1, batch_seconds=0.1), {"requests_per_batch": 30, "limits": TRIED_ONCE}, None, None),
            id="what has no room waits",
        ),
        # The first is under way when the second fails for want of room, and over when either is looked at.
        pytest.param(
            Plan(most_batches=1, first_waits_for=2, hold_create=0.3),
            {"requests_per_batch": 45, "batches": 2, "limits": TRIED_ONCE},
            *(3, {"failed": 45}),
            id="what had no room beside one that ended is sent again",
            marks=pytest.mark.slow,
        ),
        pytest.param(Plan(structured=False), {"limits": TRIED_ONCE}, None, None, id="without response_format"),
        pytest.param(Plan(hold_create=1.0), {"limits": Limits(timeout=0.3)}, 1, None, id="no answer to a creation"),
    ],
)
def test_batches_give_all_answers_once(
    plan: Plan, options: dict[str, Any], number: int | None, failures: dict[str, int] | None, clean: dict[bytes, int]
) -> None:
    memory = Memory()
    with Server(plan) as server:
        assert (rated(server, memory, **options), times(server)) == (clean, {1})
        assert number in (None, batches(server))
    assert failures in (None, Counter(kind for kind, _ in memory.failures))


def test_requests_that_never_succeed_are_left_after_so_many_batches() -> None:
    memory = Memory()
    with Server(Plan(rates={"line lost": 1.0})) as server:
        assert (rated(server, memory, limits=Limits(tries=3)), batches(server)) == ({}, 3)
    assert len(memory.failures) == 3 * COUNT


@pytest.mark.parametrize(
    ("plan", "said"),
    [(Plan(most_lines=20), r"batch-1 .*\b90 lines are"), (Plan(most_batches=0), r"batch-1 .*: too many tokens")],
    ids=["refused", "no room"],
)
def test_a_batch_that_the_endpoint_never_takes_stops_the_run_with_its_words(plan: Plan, said: str) -> None:
    with Server(plan) as server, pytest.raises(ShoeError, match=said):
        rated(server, Memory())


def test_an_answer_to_more_than_is_asked_for_is_not_taken_apart() -> None:
    """Ids are those of all pairs of a request: some of them by themselves could be told from others by other ids."""
    with Server() as server:
        second = ended(server, 3, 8, pairs_per_request=4)
        _, backend = rater(server.url, "openai-batch", pairs_per_request=4)
        backend.rate(in_groups(questions(6), 4), second)
        assert ratings(backend, second).keys() == {question.key for question in questions(6)}
        assert [len(request.keys) for request, _ in second.answers] == [4, 2]


def test_answers_without_a_rating_are_kept() -> None:
    memory = Memory()
    with Server(Plan(rates={"chatter": 0.3}, refused=0.1)) as server:
        found = rated(server, memory)
        unreadable = sum(server.stats()["unreadable"]["m"].values())
    states = Counter(found.values())
    assert states[State.UNPARSED_ONCE] == unreadable > 0
    assert states[State.REFUSED] > 0
    assert len(found) == COUNT
    assert not memory.failures


# prepared, uploaded, started, ended: the process ends before or after each of them.
ENDINGS = [(Plan(), at, before, None, 1) for at in (1, 2, 3, 4) for before in (True, False)]
# Answers to what is begun are lost, lists lag, and the process ends.
LOST = [
    pytest.param(Plan(hold_create=0.5, lists_lag=lag, honours_keys=honours), 3, True, 0.2, 1, marks=pytest.mark.slow)
    for lag, honours in ((0.5, False), (10**9, True))
]


@pytest.mark.parametrize(
    ("plan", "at", "before", "timeout", "number"),
    [*ENDINGS, *LOST, (Plan(lists_batches=False, honours_keys=False), 3, True, None, 2)],
)
def test_a_process_that_ends_asks_nothing_twice_if_batches_can_be_found_again(
    plan: Plan, at: int, before: bool, timeout: float | None, number: int, clean: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"limits": Limits(timeout=timeout)} if timeout else {}
    monkeypatch.setattr(batch, "LISTS_LAG", 1.0 if timeout else 0.1)
    with Server(plan) as server:
        assert rated(server, ended(server, at, before=before, **options)) == clean
        assert (times(server), batches(server)) == ({number}, number)


def test_a_batch_is_joined_though_the_plan_has_changed_meanwhile() -> None:
    """The second run asks for more pairs, in other groups: those in the batch are not asked again."""
    with Server() as server:
        second = ended(server, 3, 60, pairs_per_request=4)
        _, backend = rater(server.url, "openai-batch", pairs_per_request=4)
        more = questions(COUNT)
        backend.rate(in_groups([more[-1], *more[:-1]], 4), second)
        assert (answered(second), times(server)) == ({question.key for question in more}, {1})


def test_a_second_attempt_is_not_given_the_first_ones_answer() -> None:
    with Server(Plan(rates={"chatter": 0.5})) as server:
        second = ended(server, 4, before=True)
        _, backend = rater(server.url, "openai-batch")
        unread = {key for key, state in ratings(backend, second).items() if state == State.UNPARSED_ONCE}
        second.answers.clear()
        again = [replace(question, attempt=2) for question in questions(COUNT) if question.key in unread]
        backend.rate(in_groups(again), second)
        found = ratings(backend, second)
    assert found.keys() == unread != set()
    assert min(found.values()) >= 0


def test_a_batch_of_another_process_is_left_to_it() -> None:
    with Server(Plan(batch_seconds=60)) as server:
        second = ended(server, 3)
        events = list(second.events)
        _, backend = rater(server.url, "openai-batch")
        backend.rate(iter([]), second)
    assert second.events == events != []


@pytest.mark.slow
def test_a_stop_leaves_the_batch_to_go_on(clean: dict[bytes, int], caplog: pytest.LogCaptureFixture) -> None:
    first = Memory()
    with Server(Plan(batch_seconds=1.0)) as server:
        thread = Thread(target=rated, args=(server, first))
        thread.start()
        while not has_started(first):
            sleep(0.01)
        first.stopping = True
        thread.join(5)
        assert not thread.is_alive()
        assert not first.answers
        assert "batch-1: in_progress, 0 of 90 " in caplog.text
        assert re.search(r"batch-1 continues .* 90 requests", caplog.text)
        assert (rated(server, Memory(past=first)), batches(server)) == (clean, 1)


@pytest.mark.slow
def test_a_cancelled_batch_stops_the_run_and_its_answers_are_kept() -> None:
    memory = Memory()
    with Server(Plan(batch_seconds=0.5)) as server:

        def cancel() -> None:
            import openai

            while not has_started(memory):
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
        with pytest.raises(HopelessError, match=r"HTTP 401: .*SHOE_TEST_KEY") as shown:
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
    with pytest.raises(ShoeError, match=r"127\.0\.0\.1:9/v1: .* 2 tries: unreachable"):
        backend.rate(in_groups(questions(3)), memory)


@pytest.mark.slow
def test_what_a_budget_had_room_for_is_sent_though_the_endpoint_fails_at_first() -> None:
    first = Tight(40)
    with Server(Plan(seed=27, rates={"batch 500": 0.5})) as server:  # the first upload, and the first creation
        rated(server, first)
        assert batches(server) == 1
    assert [event["event"] for event in first.events] == ["prepared", "uploaded", "started"]


def test_a_budget_bounds_the_batch() -> None:
    memory = Memory(most_requests=25)
    with Server() as server:
        assert (len(rated(server, memory)), batches(server)) == (25, 1)


FEW = 30


@pytest.fixture(autouse=True)
def _google_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOE_TEST_KEY", KEY)


def test_googles_batches_give_the_answers_of_openais() -> None:
    memory = Memory()
    with Server(Plan()) as server:
        expected = rated(server, Memory(), FEW)
    with GoogleServer(Plan()) as google:
        assert (rated(google, memory, FEW, api_key_env="SHOE_TEST_KEY"), google.stats()["batches"]) == (expected, 1)
    files = [str(event["file"]) for event in memory.events if event["event"] == "uploaded"]
    batches = [event["batch"] for event in memory.events if event["event"] == "started"]
    assert files[0].startswith("files/")
    assert batches == ["batches/batch-1"]
    assert KEY not in str(memory.events)


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_a_process_that_ends_asks_google_nothing_twice(at: int) -> None:
    with GoogleServer(Plan()) as google:
        second = ended(google, at, FEW, api_key_env="SHOE_TEST_KEY")
        assert (len(rated(google, second, FEW, api_key_env="SHOE_TEST_KEY")), google.stats()["batches"]) == (FEW, 1)


def test_answers_that_google_has_deleted_are_asked_for_again() -> None:
    with GoogleServer(Plan()) as google:
        second = ended(google, 3, FEW, api_key_env="SHOE_TEST_KEY")
        while google.google.status("batch-1") != "completed":
            pass
        google.google.delete_files()
        assert (len(rated(google, second, FEW, api_key_env="SHOE_TEST_KEY")), google.stats()["batches"]) == (FEW, 2)


def test_the_file_and_the_key_stay_at_googles_server() -> None:
    with Server(Plan()) as other, GoogleServer(Plan()) as google:
        google.google.elsewhere = other.url.removesuffix("/v1")
        with pytest.raises(ShoeError, match="after 1 tries"):
            rated(google, Memory(), FEW, api_key_env="SHOE_TEST_KEY", limits=Limits(tries=1))
        assert other.stats()["answers"] == {}


def test_a_rater_with_batches_at_anthropic_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(OptionError, match=r'Anthropic .*kind = "openai"'):
        rater("https://api.anthropic.com/v1", "openai-batch")
    rater("https://api.anthropic.com/v1", "openai")


class NoBatches(Server):
    async def reply(self, heard: Heard) -> Says | None:
        return await super().reply(heard) if heard.path == "/stats" else says_json({"detail": "Not Found"}, 404)


def test_an_endpoint_without_batches_is_one_line_before_anything_is_paid() -> None:
    memory = Memory()
    with NoBatches(Plan()) as server:
        config, backend = rater(server.url, "openai-batch")
        with pytest.raises(ShoeError, match=r'HTTP 404: .*kind = "openai"'):
            backend.rate(in_groups(questions(3), config.pairs_per_request), memory)
    assert not ratings(backend, memory)
