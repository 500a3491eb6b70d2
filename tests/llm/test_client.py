"""Any payload to any model: nothing in llm/ knows what is asked, or reads what is answered."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shoe.core.errors import ShoeError
from shoe.llm.budget import Budget, Price
from shoe.llm.ledger import Ledger, State, answers, as_keys
from shoe.llm.limits import Limits
from shoe.llm.recorder import Terms
from shoe.llm.request import Request
from tests.llm.http import Heard, Says, says_json
from tests.llm.ledgers import ask, recorded
from tests.llm.server import Endpoint, Server
from tests.llm.server_plan import Plan
from tests.mentions import mentions

SEEN = ": a man rides a horse"
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


class Painter(Endpoint):
    async def chat(self, heard: Heard) -> Says | None:
        self.counts["requests"] += 1
        body = heard.json()
        text, picture = body["messages"][0]["content"]
        assert picture == PICTURE
        assert body["temperature"] == 0
        message = {"role": "assistant", "content": text["text"] + SEEN}
        usage = {"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010}
        return says_json({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})


def request(number: int) -> Request:
    content = [{"type": "text", "text": f"picture {number}"}, PICTURE]
    payload = {"messages": [{"role": "user", "content": content}]}
    return Request(number.to_bytes(16, "big"), payload, {"image": f"{number}.jpg"})


def parse(entry: Any) -> list[int]:
    """Whether there is an answer at all: what it says is for others to read."""
    return [1 if entry["answer"]["choices"][0]["message"]["content"] else State.UNPARSED_ONCE]


def fresh(folder: Path) -> Ledger:
    return Ledger(folder / "painter.jsonl", {"model": "painter"}, parse)


def test_pictures_are_asked_about_once_within_a_budget_and_answers_kept_as_they_came(tmp_path: Path) -> None:
    painter, ledger = Painter(Plan()), fresh(tmp_path)
    keys = as_keys(b"".join(request(number).key for number in range(41)))
    with Server(endpoint=painter) as server:
        for budget, done, reason in ((Budget(max_requests=15), 15, "requests"), (Budget(), 25, None)):
            wanted = [request(number) for number in np.flatnonzero(ledger.states(keys[:40]) == State.UNRATED).tolist()]
            with recorded(ledger, budget, Terms(Price(1.0, 1.0), {"temperature": 0, "max_tokens": 50})) as recorder:
                ask(recorder, server.url, wanted, Limits())
            ledger.refresh()
            assert (budget.reason, recorder.tally.done) == (reason, done)
            assert recorder.tally.cost == pytest.approx(done * 1010 / 1e6)
    assert painter.counts["requests"] == 40
    kept = {entry["image"]: entry["answer"]["choices"][0]["message"]["content"] for entry in answers(ledger.path)}
    assert kept == {f"{n}.jpg": f"picture {n}{SEEN}" for n in range(40)}
    assert ledger.states(keys)[-2:].tolist() == [1, -1]


def test_what_a_library_below_the_sdk_lets_through_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def stumble(*_: Any, **__: Any) -> None:
        raise ExceptionGroup("of tasks", [OverflowError("port must be 0-65535")])

    monkeypatch.setattr("httpx2.AsyncHTTPTransport.handle_async_request", stumble)
    with (
        recorded(fresh(tmp_path)) as recorder,
        pytest.raises(ShoeError, match=mentions("1 try:", "dropped:", "of tasks")),
    ):
        ask(recorder, "http://127.0.0.1:9/v1", [request(0)], Limits(tries=1))


def test_what_holds_nothing_now_and_then_among_second_answers_is_no_broken_endpoint_and_kept(tmp_path: Path) -> None:
    with recorded(fresh(tmp_path), terms=Terms(Price(1.0, 1.0))) as recorder:
        for number in range(100):
            assert recorder.may_ask(request(number))
            recorder.failure(request(number), "hollow")
            second = Request(number.to_bytes(16), {}, attempt=2)
            recorder.answer(second, {"choices": [{"message": {"content": ["", "2"][number % 2]}}]})
    recorder.check()
    assert not recorder.stopping
    assert len([*answers(recorder.ledger.path)]) == 100


def test_a_picture_counts_as_its_tokens_not_as_its_bytes() -> None:
    large = {**PICTURE, "image_url": {"url": "data:" + "A" * 5_000_000}}
    asked = Request(bytes(16), {"messages": [{"role": "user", "content": [{"type": "text", "text": "what?"}, large]}]})
    assert len("what?") < asked.characters() < 50_000
