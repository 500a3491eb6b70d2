"""Any payload to any model: nothing in llm/ knows what is asked, or reads what is answered."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from shoe.core.errors import ShoeError
from shoe.llm.budget import Budget, Price
from shoe.llm.client import Pass
from shoe.llm.endpoint import address
from shoe.llm.ledger import Ledger, State, answers, as_keys
from shoe.llm.ledger_writer import writing
from shoe.llm.limits import Limits
from shoe.llm.recorder import LedgerRecorder, Tally, Terms
from shoe.llm.request import Chat, Request
from tests.llm.http import Heard, Says, says_json
from tests.llm.server import Endpoint, Server
from tests.llm.server_plan import Plan

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


class Painter(Endpoint):
    """Says what it was sent."""

    async def chat(self, heard: Heard) -> Says | None:
        self.counts["requests"] += 1
        body = heard.json()
        text, picture = body["messages"][0]["content"]
        assert picture == PICTURE
        assert body["temperature"] == 0
        message = {"role": "assistant", "content": f"{text['text']}: a man rides a horse"}
        usage = {"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010}
        return says_json({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})


def request(number: int) -> Request:
    content = [{"type": "text", "text": f"picture {number}"}, PICTURE]
    payload = {"messages": [{"role": "user", "content": content}]}
    return Request(number.to_bytes(16, "big"), payload, {"image": f"{number}.jpg"})


def parse(entry: Any) -> list[int]:
    """Whether there is an answer at all: what it says is for others to read."""
    return [1 if entry["answer"]["choices"][0]["message"]["content"] else State.UNPARSED_ONCE]


def ask(folder: Path, server: Server, numbers: range, budget: Budget) -> tuple[Ledger, Tally]:
    ledger, tally = Ledger(folder / "painter.jsonl", {"model": "painter"}, parse), Tally("painter")
    chat = Chat("painter", {"temperature": 0, "max_tokens": 50}, None)
    place = address("the painter", server.url, "", {}).open()
    ledger.refresh()
    known = ledger.states(as_keys(b"".join(request(number).key for number in numbers)))
    wanted = [request(number) for number, state in zip(numbers, known, strict=True) if state == State.UNRATED]
    with writing(ledger.path, ledger.identity, lambda: budget.stopping, print) as writer:
        assert writer is not None
        price = Price(1.0, 1.0)
        recorder = LedgerRecorder(ledger, writer, budget, tally, Terms(price, chat.sampling))
        Pass(place, chat, Limits(), recorder).run(iter(wanted))
    ledger.refresh()
    return ledger, tally


def test_pictures_are_asked_about_once_within_a_budget_and_answers_kept_as_they_came(tmp_path: Path) -> None:
    painter = Painter(Plan())
    with Server(endpoint=painter) as server:
        budget = Budget(max_requests=15)
        ledger, tally = ask(tmp_path, server, range(40), budget)
        assert (budget.reason, tally.done, painter.counts["requests"]) == ("requests", 15, 15)
        assert tally.cost == pytest.approx(15 * 1010 / 1e6)
        ledger, tally = ask(tmp_path, server, range(40), Budget())
        assert (tally.done, painter.counts["requests"]) == (25, 40)
    kept = {entry["image"]: entry["answer"]["choices"][0]["message"]["content"] for entry in answers(ledger.path)}
    assert kept == {f"{n}.jpg": f"picture {n}: a man rides a horse" for n in range(40)}
    assert (ledger.states(as_keys(b"".join(request(number).key for number in range(41))))[-2:] == [1, -1]).all()


def test_what_a_library_below_the_sdk_lets_through_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def stumble(*_: Any, **__: Any) -> None:
        raise ExceptionGroup("of tasks", [OverflowError("port must be 0-65535")])

    monkeypatch.setattr("httpx2.AsyncHTTPTransport.handle_async_request", stumble)
    ledger, chat = Ledger(tmp_path / "l.jsonl", {"model": "m"}, parse), Chat("m", {}, None)
    with writing(ledger.path, ledger.identity, lambda: False, print) as writer:
        assert writer is not None
        recorder = LedgerRecorder(ledger, writer, Budget(), Tally("m"))
        with pytest.raises(ShoeError, match=r"no answer after 1 try: dropped: of tasks"):
            Pass(address("r", "http://127.0.0.1:9/v1", "", {}).open(), chat, Limits(tries=1), recorder).run(
                iter([request(0)])
            )


def test_an_answer_that_says_nothing_to_its_reader_is_kept(tmp_path: Path) -> None:
    ledger, budget = Ledger(tmp_path / "painter.jsonl", {"model": "painter"}, parse), Budget()
    with writing(ledger.path, ledger.identity, lambda: False, print) as writer:
        assert writer is not None
        recorder = LedgerRecorder(ledger, writer, budget, Tally("painter"), Terms(Price(1.0, 1.0)))
        assert recorder.may_ask(request(1))
        recorder.answer(request(1), {"choices": [{"message": {"content": ""}}]})
    assert len([*answers(ledger.path)]) == 1


def test_what_holds_nothing_now_and_then_among_second_answers_is_no_broken_endpoint(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "painter.jsonl", {"model": "painter"}, parse)
    with writing(ledger.path, ledger.identity, lambda: False, print) as writer:
        assert writer is not None
        recorder = LedgerRecorder(ledger, writer, Budget(), Tally("painter"))
        for number in range(100):
            recorder.failure(request(number), "hollow")
            second = Request(number.to_bytes(16), {}, attempt=2)
            recorder.answer(second, {"choices": [{"message": {"content": ["", "2"][number % 2]}}]})
    recorder.check()
    assert not recorder.stopping


def test_a_picture_counts_as_its_tokens_not_as_its_bytes() -> None:
    large = {**PICTURE, "image_url": {"url": "data:" + "A" * 5_000_000}}
    asked = Request(bytes(16), {"messages": [{"role": "user", "content": [{"type": "text", "text": "what?"}, large]}]})
    assert len("what?") < asked.characters() < 50_000


class Charging(Endpoint):
    """Charges all that a request's bounds allow; later, if it is greedy, ten times that."""

    def __init__(self, greedy_after: int) -> None:
        super().__init__(Plan())
        self.greedy_after = greedy_after
        self.charged = 0.0

    async def chat(self, heard: Heard) -> Says | None:
        self.counts["requests"] += 1
        await asyncio.sleep(0.01)
        factor = 10 if self.counts["requests"] > self.greedy_after else 1
        tokens = factor * len(heard.json()["messages"][0]["content"][0]["text"].encode()), factor * 50
        self.charged += sum(tokens) / 1e6
        usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
        return says_json({"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}], "usage": usage})


@pytest.mark.parametrize(("greedy_after", "least", "most"), [(10**9, 0.9, 1.0), (40, 0.9, 1.0 + 16 * 5000 / 200_000)])
def test_a_run_ends_near_its_budget_whatever_it_is_charged(
    tmp_path: Path, greedy_after: int, least: float, most: float
) -> None:
    charging = Charging(greedy_after)
    texts = [[{"type": "text", "text": f"{number} " + "é" * 400}] for number in range(800)]
    asked = [Request(n.to_bytes(16), {"messages": [{"role": "user", "content": text}]}) for n, text in enumerate(texts)]
    ledger, budget = Ledger(tmp_path / "l.jsonl", {"model": "m"}, lambda entry: [1]), Budget(max_cost=0.2)
    with Server(endpoint=charging) as server, writing(ledger.path, ledger.identity, lambda: False, print) as writer:
        assert writer is not None
        recorder = LedgerRecorder(ledger, writer, budget, Tally("m"), Terms(Price(1.0, 1.0), {"max_tokens": 50}))
        place = address("r", server.url, "", {}).open()
        Pass(place, Chat("m", {"max_tokens": 50}, None), Limits(), recorder).run(iter(asked))
    assert budget.reason == "cost"
    assert budget.spent == pytest.approx(charging.charged)
    assert least * 0.2 <= charging.charged <= most * 0.2
