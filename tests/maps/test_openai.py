"""Chat completions against a real server: every fault, outages, what stops a run, what a run may take."""

from collections import Counter
from collections.abc import Callable, Container, Iterator
from dataclasses import replace
from threading import Thread
from time import monotonic
from typing import Any

import orjson
import pytest

from shoe.core.errors import OptionError, ShoeError
from shoe.llm.client import GIVEN_UP_IN_A_ROW
from shoe.llm.endpoint import address
from shoe.llm.errors import HopelessError, RejectedError
from shoe.llm.ledger import State
from shoe.llm.limits import Limits
from shoe.llm.request import Request
from shoe.maps.config import identity_of
from shoe.maps.prompts import SECOND_TIME, Group
from tests.llm.http import Heard, Says
from tests.llm.server import Endpoint, Server, error
from tests.llm.server_plan import Plan, share
from tests.maps.asking import Memory, asked, in_groups, questions, rater

FAULTS = dict.fromkeys(("429", "500", "dropped", "cut", "empty"), 0.05)
FAULTS |= {"malformed": 0.02, "503": 0.03, "529": 0.02, "slow": 0.01}
FORMS = dict.fromkeys(("prose", "thinking", "fenced", "shuffled", "unknown id", "by object"), 0.15)
NO_RATING = {"chatter": 0.06, "endless thought": 0.06}
SOME_WITHOUT = dict.fromkeys(("missing", "out of scale", "fraction", "two ratings"), 0.05)
DOWN = "http://127.0.0.1:9/v1"


def all_at_once(counted: dict[str, Any]) -> Counter[int]:
    return Counter(counted["answers"]["m"].values())


def test_every_pair_is_asked_once() -> None:
    found, counted, memory = asked()
    assert len(found) == counted["requests"] == memory.requests == 60
    assert set(found.values()) == {0, 1, 2, 3, 4}


@pytest.mark.slow
@pytest.mark.parametrize("pairs_per_request", [1, pytest.param(7, marks=pytest.mark.slow)])
def test_faults_of_transport_change_nothing(pairs_per_request: int) -> None:
    clean, _, _ = asked(pairs_per_request=pairs_per_request)
    plan = Plan(rates={name: 2 * rate for name, rate in FAULTS.items()} | FORMS, slow_seconds=60, seed=1)
    found, counted, memory = asked(plan, pairs_per_request=pairs_per_request, limits=Limits(timeout=1.0))
    assert (found, set(all_at_once(counted))) == (clean, {1})
    late = [kind == "timeout" for kind, _ in memory.failures]
    assert sum(late) >= counted.get("slow", 0), "a loaded machine may be late by itself"
    assert len(late) - sum(late) == sum(counted.get(name, 0) for name in FAULTS if name != "slow") > 0
    assert memory.requests == counted["requests"] == len(memory.answers) + len(memory.failures)
    assert counted["replays"] >= sum(counted.get(name, 0) for name in ("cut", "slow", "empty"))


@pytest.mark.parametrize("pairs_per_request", [1, 7])
def test_an_answer_without_a_rating_is_kept_and_leaves_others_alone(pairs_per_request: int) -> None:
    clean, _, _ = asked(Plan(), 120, pairs_per_request=pairs_per_request)
    plan = Plan(rates=FORMS | NO_RATING | SOME_WITHOUT, seed=3)
    found, counted, memory = asked(plan, 120, pairs_per_request=pairs_per_request)
    unread = {key for key, state in found.items() if state == State.UNPARSED_ONCE}
    assert len(unread) == sum(counted["unreadable"]["m"].values()) > 0
    assert found == clean | dict.fromkeys(unread, State.UNPARSED_ONCE)
    assert not memory.failures


def test_refusals_are_no_ratings() -> None:
    found, _, _ = asked(Plan(refused=0.3))
    assert 0 < Counter(found.values())[State.REFUSED] < 60


def test_an_answer_with_nothing_in_it_is_asked_for_again_under_another_name_and_not_kept() -> None:
    found, counted, memory = asked(Plan(rates={"no choices": 0.3}))
    hollow = [kind for kind, _ in memory.failures]
    assert set(found.values()) == {0, 1, 2, 3, 4}
    assert hollow == ["hollow"] * sum(counted["unreadable"]["m"].values()) != []
    assert "replays" not in counted


def test_an_endpoint_without_response_format_is_asked_in_plain_text() -> None:
    found, counted, memory = asked(Plan(structured=False))
    assert (len(found), memory.failures[0][0]) == (60, "no response_format")
    # Only what was in flight before the first such answer was lost.
    assert 1 <= counted["response_format"] <= 2


class Seeing(Endpoint):
    def __init__(self) -> None:
        super().__init__(Plan())
        self.bodies: list[dict[str, Any]] = []

    async def chat(self, heard: Heard) -> Says | None:
        self.bodies.append(heard.json())
        return await super().chat(heard)


def test_sampling_parameters_go_as_they_are_and_the_schema_is_always_the_same() -> None:
    seeing = Seeing()
    for size in (1, 4):
        asked(seeing, 8, pairs_per_request=size, sampling={"temperature": 0.5, "stop": ["x"]})
    assert all((body["temperature"], body["stop"], body["model"]) == (0.5, ["x"], "m") for body in seeing.bodies)
    assert len({orjson.dumps(body["response_format"]) for body in seeing.bodies}) == 2


def test_a_response_format_of_ones_own_stays_and_it_can_be_left_out() -> None:
    seeing = Seeing()
    asked(seeing, 1, sampling={"response_format": {"type": "json_object"}})
    asked(seeing, 1, structured=False)
    assert [body.get("response_format") for body in seeing.bodies] == [{"type": "json_object"}, None]


@pytest.mark.parametrize("name", ["model", "messages", "n", "stream"])
def test_what_shoe_sets_is_no_sampling_parameter(name: str) -> None:
    with pytest.raises(OptionError, match=f"sampling: remove {name}"):
        rater(DOWN, sampling={name: 1})


@pytest.mark.parametrize(
    ("variable", "said"),
    [("SHOE_TEST_KEY", "SHOE_TEST_KEY: found nothing"), ("gsk_hUshHush42", "api_key_env: found nothing")],
)
def test_a_missing_key_is_named(variable: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOE_TEST_KEY", raising=False)
    _, backend = rater(DOWN, api_key_env=variable)
    with pytest.raises(OptionError, match=said) as shown:
        backend.rate(iter([]), Memory())
    assert "Hush" not in str(shown.value)


@pytest.mark.parametrize(
    "url",
    ["", "host/v1", "ftp://host/v1", "http://u:p@host/v1", "http://host/v1?token=x", "http://host/v1#x", "http://[/v1"],
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(OptionError, match="base_url") as shown:
        rater(url)
    assert "u:p" not in str(shown.value)


def test_a_key_goes_nowhere_but_to_the_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOE_TEST_KEY", "sk-right")
    found, _, memory = asked(Plan(key="sk-right"), 9, api_key_env="SHOE_TEST_KEY")
    assert len(found) == 9
    assert "sk-right" not in repr(memory.answers)


def test_the_official_key_is_not_sent_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-right")
    with pytest.raises(HopelessError, match=r"HTTP 401: .*api_key_env"):
        asked(Plan(key="sk-right"))


def test_a_wrong_key_stops_at_once_with_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOE_TEST_KEY", "sk-wrong")
    memory, endpoint = Memory(), Endpoint(Plan(key="sk-right"))
    with pytest.raises(HopelessError, match=r"HTTP 401: .*SHOE_TEST_KEY") as shown:
        asked(endpoint, 500, memory, api_key_env="SHOE_TEST_KEY", limits=Limits(concurrency=64))
    assert endpoint.counts["unauthorized"] == 1
    assert "sk-" not in str(shown.value) + repr(memory.failures)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("elsewhere", r"HTTP 307: .* to http://127\.0\.0\.1:9/"),
        *(("nowhere", "HTTP 404"), ("page", r" 1 try: html: .*base_url")),
    ],
)
def test_a_wrong_address_stops_at_once(path: str, said: str) -> None:
    memory = Memory()
    with Server() as server:
        _, backend = rater(server.url.replace("/v1", f"/{path}"), limits=Limits(tries=1))
        with pytest.raises(ShoeError, match=said):
            backend.rate(in_groups(questions(99)), memory)
    assert (memory.answers, memory.requests) == ([], 1)


def test_an_endpoint_that_is_down_is_named_after_one_request() -> None:
    memory = Memory()
    _, backend = rater(DOWN, limits=Limits(tries=3))
    with pytest.raises(ShoeError, match=r"127\.0\.0\.1:9/v1: .* 3 tries: unreachable"):
        backend.rate(in_groups(questions(99)), memory)
    assert [kind for kind, _ in memory.failures] == ["unreachable"] * 3


class Picky(Endpoint):
    def __init__(self, share_taken: float) -> None:
        super().__init__(Plan())
        self._share_taken = share_taken

    async def chat(self, heard: Heard) -> Says | None:
        if share(heard.json()["messages"][-1]["content"]) >= self._share_taken:
            self.counts["rejected"] += 1
            return error(400, "Not for us")
        return await super().chat(heard)


def test_a_request_that_is_never_taken_does_not_end_the_run_of_the_others() -> None:
    found, counted, memory = asked(Picky(0.8), 100)
    rejected = counted["rejected"]
    assert 0 < rejected < 50
    assert (len(found), [kind for kind, _ in memory.failures]) == (100 - rejected, ["400"] * rejected)


@pytest.mark.parametrize(
    ("endpoint", "kind", "said", "requests"),
    [
        (lambda: Endpoint(Plan(models=["other"])), HopelessError, r"404: The model m .*'m'", [1]),
        (lambda: Picky(0.0), RejectedError, "400: Not for us", [GIVEN_UP_IN_A_ROW]),
        (
            *(lambda: Endpoint(Plan(rates={"500": 1.0}, in_a_row=10**9)), ShoeError),
            *(r": 20 .* 2 tries .* 500: Try again", range(40, 40 + 2 * 16 + 1)),
        ),
    ],
    ids=["unknown model", "takes nothing", "fails without end"],
)
def test_an_endpoint_that_answers_nothing_stops_the_run_soon(
    endpoint: Callable[[], Endpoint], kind: type[ShoeError], said: str, requests: Container[int]
) -> None:
    memory = Memory()
    with pytest.raises(kind, match=said):
        asked(endpoint(), 200, memory, limits=Limits(tries=2))
    assert memory.requests in requests


def test_a_group_that_always_fails_is_left_for_the_next_run() -> None:
    found, _, memory = asked(Plan(rates={"500": 0.1}, in_a_row=10**9, seed=2), limits=Limits(tries=1))
    assert 40 < len(found) < 60
    assert len(memory.failures) == 60 - len(found)


@pytest.mark.slow
def test_the_number_of_requests_at_once_follows_what_the_endpoint_bears() -> None:
    found, counted, _ = asked(
        Plan(seconds=0.02, most_in_flight=6, retry_after="0.02"), 200, limits=Limits(concurrency=64, tries=20)
    )
    assert len(found) == 200
    assert 4 <= counted["most_in_flight"] <= 14
    assert counted["429"] < 80


def test_no_more_requests_at_once_than_allowed() -> None:
    _, counted, _ = asked(Plan(seconds=0.01), 50, limits=Limits(concurrency=5))
    # On a busy machine the fifth request may start when the first has its answer.
    assert 2 <= counted["most_in_flight"] <= 5


@pytest.mark.slow
def test_requests_per_minute_are_held() -> None:
    memory = Memory()
    with Server() as server:
        _, backend = rater(server.url, limits=Limits(requests_per_minute=600))
        thread = Thread(target=backend.rate, args=(in_groups(questions(100)), memory))
        thread.start()
        thread.join(1.5)
        memory.stopping = True
        thread.join()
    # Ten a second, and a second's worth at once.
    assert 11 <= len(memory.answers) <= 10 + 10 * 3


def test_groups_are_taken_as_they_are_needed() -> None:
    taken = 0

    def groups() -> Iterator[Group]:
        nonlocal taken
        for taken, group in enumerate(in_groups(questions(60)), start=1):
            assert taken <= len(memory.answers) + 8 + 1
            yield group

    memory = Memory()
    with Server() as server:
        _, backend = rater(server.url, limits=Limits(concurrency=8))
        backend.rate(groups(), memory)
    assert len(memory.answers) == taken == 60


@pytest.mark.parametrize(("plan", "fails"), [(Plan(seconds=0.01), False), (Plan(rates={"500": 0.5}, seed=5), True)])
def test_a_budget_of_requests_and_retries_ends_the_run_and_all_that_was_sent_is_kept(plan: Plan, fails: bool) -> None:
    found, counted, memory = asked(plan, memory=Memory(most_requests=25))
    assert counted["requests"] == 25 == len(memory.answers) + len(memory.failures)
    assert (len(found), bool(memory.failures)) == (len(memory.answers), fails)


def test_a_stop_keeps_what_is_in_flight() -> None:
    found, counted, _ = asked(Plan(seconds=0.05), 200, Memory(stop_after=20))
    assert 20 <= len(found) == counted["requests"] < 60


def test_a_stop_ends_long_waits() -> None:
    memory = Memory()
    with Server(Plan(rates={"429": 1.0}, retry_after="200")) as server:
        _, backend = rater(server.url)
        thread = Thread(target=backend.rate, args=(in_groups(questions(9)), memory))
        thread.start()
        while not memory.failures:
            thread.join(0.01)
        memory.stopping = True
        thread.join(20)
        assert not thread.is_alive()
    assert memory.requests == 1


def test_what_a_recorder_raises_ends_the_run_after_the_rest_was_kept() -> None:
    class Full(Memory):
        def answer(self, request: Request, raw: Any) -> None:
            super().answer(request, raw)
            if len(self.answers) == 10:
                raise ShoeError("full")

    memory, endpoint = Full(), Endpoint(Plan(seconds=0.02))
    with pytest.raises(ShoeError, match="full"):
        asked(endpoint, 200, memory)
    assert len(memory.answers) == endpoint.counts["requests"] < 60


def test_the_same_request_has_the_same_idempotency_key_in_every_process_and_other_repeats_have_others() -> None:
    with Server() as server:
        for repeat in (1, 1, 2):  # as if what was kept had been lost
            _, backend = rater(server.url)
            backend.rate(in_groups(questions(30, repeat)), Memory())
        counted = server.stats()
    assert (counted["replays"], all_at_once(counted)) == (30, {2: 30})


def test_a_second_attempt_is_another_request_that_says_what_form_is_expected() -> None:
    seeing = Seeing()
    with Server(endpoint=seeing) as server:
        _, backend = rater(server.url)
        for attempt in (1, 2):
            backend.rate(in_groups([replace(question, attempt=attempt) for question in questions(1)]), Memory())
        assert all_at_once(server.stats()) == {2: 1}
    before, after = (body["messages"][-1]["content"] for body in seeing.bodies)
    assert after.split() == [*before.split(), *SECOND_TIME.split()]


def test_an_address_is_the_same_with_and_without_a_slash_at_its_end() -> None:
    one, other = (identity_of(rater(url)[0]) for url in ("http://host/v1", "http://host/v1/"))
    assert one == other


def test_a_key_is_no_part_of_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOE_TEST_KEY", " sk-right\n")
    place = address("r", "http://host/v1", "SHOE_TEST_KEY", {}).open()
    assert place.key == "sk-right"
    assert "sk-right" not in repr(place) + str(place)


class Away(Endpoint):
    """Is away for some seconds after so many answers; or denies every n-th request, or all from some on."""

    def __init__(self, status: int = 503, *, after: int = 10**9, seconds: float = 0.0, every: int = 10**9) -> None:
        super().__init__(Plan())
        self.status, self.after, self.seconds, self.every = status, after, seconds, every
        self.since = 0.0

    async def chat(self, heard: Heard) -> Says | None:
        self.counts["asked"] += 1
        if self.counts["asked"] >= self.after:
            self.since = self.since or monotonic()
            if monotonic() - self.since < self.seconds:
                self.counts["away"] += 1
                return error(self.status, "gone") if self.status else None
        return error(self.status, "a slip") if self.counts["asked"] % self.every == 0 else await super().chat(heard)


@pytest.mark.slow
@pytest.mark.parametrize("status", [pytest.param(503, marks=pytest.mark.slow), 0])
def test_an_outage_is_waited_out_by_one_request_at_a_time(status: int) -> None:
    found, counted, _ = asked(Away(status, after=40, seconds=2), 200)
    assert len(found) == 200
    assert counted["away"] <= 20 + 16 + 6


@pytest.mark.slow
def test_an_outage_that_lasts_too_long_ends_the_run() -> None:
    with pytest.raises(ShoeError, match=r": 20 .* 2 tries .* 503: gone"):
        asked(Away(after=40, seconds=10**9), 200, limits=Limits(tries=2, outage=1))


@pytest.mark.slow
@pytest.mark.parametrize("status", [401, 403, 404])
def test_what_is_denied_once_is_asked_again_and_what_is_denied_three_times_in_a_row_stops(status: int) -> None:
    found, _, memory = asked(Away(status, every=50), 200)
    assert (len(found), [kind for kind, _ in memory.failures]) == (200, [str(status)] * 4)
    denies = Away(status, after=40, seconds=10**9)
    with pytest.raises(ShoeError, match=f"HTTP {status}"):
        asked(denies, 200, limits=Limits(concurrency=4))
    assert denies.counts["away"] <= 3 + 4
