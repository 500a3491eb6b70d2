"""Chat completions against a real server: every fault, what stops a run, what a run may take."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from threading import Thread
from typing import Any

import orjson
import pytest

from shoe.core.errors import OptionError, ShoeError
from shoe.llm.client import GIVEN_UP_IN_A_ROW
from shoe.llm.endpoint import address
from shoe.llm.ledger import State
from shoe.llm.limits import Limits
from shoe.llm.request import Request
from shoe.maps.config import identity_of
from shoe.maps.prompts import Group
from tests.llm.http import Heard, Says
from tests.llm.server import Endpoint, Server, error
from tests.llm.server_plan import Plan, share
from tests.maps.asking import Memory, in_groups, questions, rater, ratings

FAULTS = {
    "malformed": 0.02,
    "429": 0.05,
    "500": 0.05,
    "503": 0.03,
    "529": 0.02,
    "dropped": 0.05,
    "cut": 0.05,
    "slow": 0.01,
    "empty": 0.05,
}
FORMS = {"prose": 0.15, "thinking": 0.15, "fenced": 0.15, "shuffled": 0.15, "unknown id": 0.15, "by object": 0.15}
NO_RATING = {"chatter": 0.06, "endless thought": 0.06}
SOME_WITHOUT = {"missing": 0.05, "out of scale": 0.05, "fraction": 0.05, "two ratings": 0.05}
DOWN = "http://127.0.0.1:9/v1"


def asked(
    plan: Plan, count: int = 60, *, memory: Memory | None = None, **options: Any
) -> tuple[dict[bytes, int], dict[str, Any], Memory]:
    """Ratings, what the server counted, what was kept."""
    memory = memory or Memory()
    with Server(plan) as server:
        config, backend = rater(server.url, **options)
        backend.rate(in_groups(questions(count), config.pairs_per_request), memory)
        return ratings(backend, memory), server.stats(), memory


def all_at_once(counted: dict[str, Any]) -> Counter[int]:
    """How many pairs were answered how often."""
    return Counter(counted["answers"]["m"].values())


def test_every_pair_is_asked_once() -> None:
    found, counted, memory = asked(Plan())
    assert len(found) == counted["requests"] == memory.requests == 60
    assert set(found.values()) == {0, 1, 2, 3, 4}


@pytest.mark.slow
@pytest.mark.parametrize("pairs_per_request", [1, pytest.param(7, marks=pytest.mark.slow)])
def test_faults_of_transport_change_nothing(pairs_per_request: int) -> None:
    clean, _, _ = asked(Plan(), 60, pairs_per_request=pairs_per_request)
    found, counted, memory = asked(
        Plan(rates={name: 2 * rate for name, rate in FAULTS.items()} | FORMS, slow_seconds=60, seed=1),
        60,
        pairs_per_request=pairs_per_request,
        limits=Limits(timeout=1.0),
    )
    assert found == clean
    assert set(all_at_once(counted)) == {1}
    late = [kind == "timeout" for kind, _ in memory.failures]
    assert sum(late) >= counted.get("slow", 0), "a loaded machine may be late by itself"
    assert len(late) - sum(late) == sum(counted.get(name, 0) for name in FAULTS if name != "slow") > 0
    assert memory.requests == counted["requests"] == len(memory.answers) + len(memory.failures)
    assert counted["replays"] >= sum(counted.get(name, 0) for name in ("cut", "slow", "empty"))


@pytest.mark.parametrize("pairs_per_request", [1, 7])
def test_an_answer_without_a_rating_is_kept_and_leaves_others_alone(pairs_per_request: int) -> None:
    clean, _, _ = asked(Plan(), 120, pairs_per_request=pairs_per_request)
    found, counted, memory = asked(
        Plan(rates=FORMS | NO_RATING | SOME_WITHOUT, seed=3), 120, pairs_per_request=pairs_per_request
    )
    unread = {key for key, state in found.items() if state == State.UNPARSED_ONCE}
    assert len(unread) == sum(counted["unreadable"]["m"].values()) > 0
    assert {key: clean[key] for key in clean if key not in unread} == {
        key: state for key, state in found.items() if key not in unread
    }
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
    assert len(found) == 60
    assert memory.failures[0][0] == "no response_format"
    # Only what was in flight before the first such answer was lost.
    assert 1 <= counted["response_format"] <= 2


def test_structured_output_can_be_left_out() -> None:
    _, counted, _ = asked(Plan(structured=False), structured=False)
    assert "response_format" not in counted


class _Bodies:
    """Sees the requests that a server gets."""

    def __init__(self, server: Server) -> None:
        self.bodies: list[dict[str, Any]] = []
        answer = server.endpoint.generator.answer

        def seen(body: Any) -> bytes:
            self.bodies.append(body)
            return answer(body)

        server.endpoint.generator.answer = seen  # type: ignore[method-assign]


def test_sampling_parameters_go_as_they_are_and_the_schema_is_always_the_same() -> None:
    with Server() as server:
        seen = _Bodies(server)
        for size in (1, 4):
            _, backend = rater(server.url, pairs_per_request=size, sampling={"temperature": 0.5, "stop": ["x"]})
            backend.rate(in_groups(questions(8), size), Memory())
    assert all((body["temperature"], body["stop"], body["model"]) == (0.5, ["x"], "m") for body in seen.bodies)
    assert len({orjson.dumps(body["response_format"]) for body in seen.bodies}) == 2


def test_a_response_format_of_ones_own_stays() -> None:
    with Server() as server:
        seen = _Bodies(server)
        _, backend = rater(server.url, sampling={"response_format": {"type": "json_object"}})
        backend.rate(in_groups(questions(1)), Memory())
    assert seen.bodies[0]["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize("name", ["model", "messages", "n", "stream"])
def test_what_shoe_sets_is_no_sampling_parameter(name: str) -> None:
    with pytest.raises(OptionError, match=f"sampling: remove {name}"):
        rater(DOWN, sampling={name: 1})


def test_a_missing_key_names_the_variable_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOE_TEST_KEY", raising=False)
    _, backend = rater(DOWN, api_key_env="SHOE_TEST_KEY")
    with pytest.raises(OptionError, match="environment variable SHOE_TEST_KEY: found nothing, expected an API key"):
        backend.rate(iter([]), Memory())


def test_a_key_in_place_of_a_variable_is_not_shown() -> None:
    _, backend = rater(DOWN, api_key_env="gsk_hUshHush42")
    with pytest.raises(OptionError) as shown:
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
    found, _, memory = asked(Plan(key="sk-right"), api_key_env="SHOE_TEST_KEY")
    assert len(found) == 60
    assert "sk-right" not in repr(memory.answers)


def test_the_official_key_is_not_sent_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-right")
    with pytest.raises(ShoeError, match="HTTP 401: it does not accept requests without a key"):
        asked(Plan(key="sk-right"))


def test_a_wrong_key_stops_at_once_with_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOE_TEST_KEY", "sk-wrong")
    memory = Memory()
    with Server(Plan(key="sk-right")) as server:
        _, backend = rater(server.url, api_key_env="SHOE_TEST_KEY", limits=Limits(concurrency=64))
        with pytest.raises(ShoeError, match="does not accept the key in environment variable SHOE_TEST_KEY") as shown:
            backend.rate(in_groups(questions(500)), memory)
        assert server.stats()["unauthorized"] == 1
    assert "sk-" not in str(shown.value)
    assert "sk-" not in repr(memory.failures)


def test_an_unknown_model_stops_at_once() -> None:
    memory = Memory()
    with pytest.raises(ShoeError, match="HTTP 404: The model m does not exist"):
        asked(Plan(models=["other"]), memory=memory)
    assert memory.requests == 1


@pytest.mark.parametrize(("path", "said"), [("elsewhere", "redirects to http://127.0.0.1:9/"), ("nowhere", "HTTP 404")])
def test_a_wrong_address_stops_at_once(path: str, said: str) -> None:
    with Server() as server:
        _, backend = rater(server.url.replace("/v1", f"/{path}"))
        with pytest.raises(ShoeError, match=said):
            backend.rate(in_groups(questions(9)), Memory())


def test_a_web_page_is_no_answer() -> None:
    memory = Memory()
    with Server() as server:
        _, backend = rater(server.url.replace("/v1", "/page"), limits=Limits(tries=1))
        with pytest.raises(ShoeError, match=r"no answer after 1 try: html: a web page.*is base_url right"):
            backend.rate(in_groups(questions(99)), memory)
    assert not memory.answers
    assert memory.requests == 1


def test_an_endpoint_that_is_down_is_named_after_one_request() -> None:
    memory = Memory()
    _, backend = rater(DOWN, limits=Limits(tries=3))
    with pytest.raises(ShoeError, match=r"127\.0\.0\.1:9/v1: no answer after 3 tries: unreachable"):
        backend.rate(in_groups(questions(99)), memory)
    assert [kind for kind, _ in memory.failures] == ["unreachable"] * 3


class Picky(Endpoint):
    """An endpoint that does not take some requests, for a reason of its own."""

    def __init__(self, share_taken: float) -> None:
        super().__init__(Plan())
        self._share_taken = share_taken

    def rejects(self, body: dict[str, Any]) -> bool:
        return share(body["messages"][-1]["content"]) >= self._share_taken

    async def chat(self, heard: Heard) -> Says | None:
        if self.rejects(heard.json()):
            self.counts["rejected"] += 1
            return error(400, "This input is not for us")
        return await super().chat(heard)


def test_a_request_that_is_never_taken_does_not_end_the_run_of_the_others() -> None:
    memory, picky = Memory(), Picky(0.8)
    with Server(endpoint=picky) as server:
        _, backend = rater(server.url)
        backend.rate(in_groups(questions(200)), memory)
        rejected = picky.counts["rejected"]
    assert 0 < rejected < 100
    assert len(ratings(backend, memory)) == 200 - rejected
    assert [kind for kind, _ in memory.failures] == ["400"] * rejected


def test_requests_of_which_none_is_taken_stop_the_run_soon() -> None:
    memory = Memory()
    with Server(endpoint=Picky(0.0)) as server:
        _, backend = rater(server.url)
        with pytest.raises(ShoeError, match="HTTP 400: This input is not for us"):
            backend.rate(in_groups(questions(200)), memory)
    assert memory.requests == GIVEN_UP_IN_A_ROW


def test_failures_without_end_stop_the_run() -> None:
    memory = Memory()
    with pytest.raises(
        ShoeError, match=r"20 requests in a row failed after 2 tries each, the last with 500: Try again"
    ):
        asked(Plan(rates={"500": 1.0}, in_a_row=10**9), memory=memory, limits=Limits(tries=2))
    assert 40 <= memory.requests <= 40 + 2 * 16


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
    _, counted, _ = asked(Plan(seconds=0.01), 100, limits=Limits(concurrency=5))
    # On a busy machine the fifth request may start when the first has its answer.
    assert 2 <= counted["most_in_flight"] <= 5


@pytest.mark.slow
def test_requests_per_minute_are_held() -> None:
    memory = Memory()
    thread_groups = in_groups(questions(100))
    with Server() as server:
        _, backend = rater(server.url, limits=Limits(requests_per_minute=600))
        thread = Thread(target=backend.rate, args=(thread_groups, memory))
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
        for group in in_groups(questions(150)):
            taken += 1
            assert taken <= len(memory.answers) + 8 + 1
            yield group

    memory = Memory()
    with Server() as server:
        _, backend = rater(server.url, limits=Limits(concurrency=8))
        backend.rate(groups(), memory)
    assert len(memory.answers) == taken == 150


def test_a_budget_ends_the_run_and_all_that_was_sent_is_kept() -> None:
    memory = Memory(most_requests=25)
    found, counted, _ = asked(Plan(seconds=0.01), memory=memory)
    assert len(found) == counted["requests"] == 25


def test_retries_count_in_the_budget() -> None:
    memory = Memory(most_requests=25)
    _, counted, _ = asked(Plan(rates={"500": 0.5}, seed=5), memory=memory)
    assert counted["requests"] == 25 == len(memory.answers) + len(memory.failures)


def test_a_stop_keeps_what_is_in_flight() -> None:
    memory = Memory(stop_after=20)
    found, counted, _ = asked(Plan(seconds=0.05), 200, memory=memory)
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
                raise ShoeError("no space left on the disk")

    memory = Full()
    with Server(Plan(seconds=0.02)) as server:
        _, backend = rater(server.url)
        with pytest.raises(ShoeError, match="no space left"):
            backend.rate(in_groups(questions(200)), memory)
        assert len(memory.answers) == server.stats()["requests"] < 60


def test_the_same_request_has_the_same_idempotency_key_in_every_process() -> None:
    with Server() as server:
        for _ in range(2):  # as if what was kept had been lost
            _, backend = rater(server.url)
            backend.rate(in_groups(questions(30)), Memory())
        counted = server.stats()
    assert counted["replays"] == 30
    assert all_at_once(counted) == {1: 30}


def test_other_repeats_are_other_requests() -> None:
    with Server() as server:
        _, backend = rater(server.url)
        for repeat in (1, 2):
            backend.rate(in_groups(questions(30, repeat)), Memory())
        assert all_at_once(server.stats()) == {2: 30}


def test_a_second_attempt_is_another_request_that_says_what_form_is_expected() -> None:
    with Server() as server:
        seen = _Bodies(server)
        _, backend = rater(server.url)
        first = questions(1)
        for attempt in (1, 2):
            backend.rate(in_groups([replace(question, attempt=attempt) for question in first]), Memory())
        assert all_at_once(server.stats()) == {2: 1}
    before, after = (body["messages"][-1]["content"] for body in seen.bodies)
    assert after.startswith(before)
    assert "JSON and nothing else" in after.removeprefix(before)


def test_an_address_is_the_same_with_and_without_a_slash_at_its_end() -> None:
    one, other = (identity_of(rater(url)[0]) for url in ("http://host/v1", "http://host/v1/"))
    assert one == other


def test_a_key_is_no_part_of_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOE_TEST_KEY", " sk-right\n")
    place = address("r", "http://host/v1", "SHOE_TEST_KEY", {}).open()
    assert place.key == "sk-right"
    assert "sk-right" not in repr(place) + str(place)
