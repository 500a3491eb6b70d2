"""What the tests of ledgers share: requests about numbers, answers that are states by key, and files of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from shoe.llm.budget import Budget
from shoe.llm.client import Pass
from shoe.llm.endpoint import address
from shoe.llm.ledger import Ledger, answer_entry, answer_line, as_keys
from shoe.llm.ledger_writer import Writer, writing
from shoe.llm.limits import Limits
from shoe.llm.recorder import LedgerRecorder, Tally, Terms
from shoe.llm.request import Chat, Request

IDENTITY = {"model": "a model"}


def parse(entry: Mapping[str, Any]) -> list[int]:
    states: list[int] = [entry["answer"]["said"][key] for key in entry["keys"]]
    return states


def request(*numbers: int) -> Request:
    key = b"".join(number.to_bytes(8, "big") * 2 for number in numbers)
    return Request(key, {"messages": []}, {"about": "a test"})


def line(numbers: Sequence[int], states: Sequence[int], padding: int = 0) -> bytes:
    asked = request(*numbers)
    said = {key.hex(): state for key, state in zip(asked.keys, states, strict=True)}
    return answer_line(answer_entry(asked, {"said": said, "padding": "x" * padding}))


def states(ledger: Ledger, count: int) -> list[int]:
    return [int(state) for state in ledger.states(as_keys(request(*range(count)).key))]


def fresh(folder: Path, identity: Mapping[str, Any] = IDENTITY, name: str = "ledger.jsonl") -> Ledger:
    return Ledger(folder / name, identity, parse)


def read(folder: Path, count: int) -> list[int]:
    ledger = fresh(folder)
    ledger.refresh()
    return states(ledger, count)


@contextmanager
def written(ledger: Ledger) -> Iterator[Writer]:
    """The writer of a ledger that no other process is writing."""
    with writing(ledger.path, ledger.identity, lambda: False, print) as writer:
        assert writer is not None
        yield writer


@contextmanager
def recorded(ledger: Ledger, budget: Budget | None = None, terms: Terms | None = None) -> Iterator[LedgerRecorder]:
    with written(ledger) as writer:
        yield LedgerRecorder(ledger, writer, budget or Budget(), Tally(ledger.identity["model"]), terms or Terms())


def ask(recorder: LedgerRecorder, url: str, requests: Iterable[Request], limits: Limits, key: str = "") -> None:
    """Send requests to an endpoint, with the sampling that the recorder's bounds rest on."""
    chat = Chat(str(recorder.ledger.identity["model"]), recorder.terms.sampling, None)
    Pass(address("r", url, key, {}).open(), chat, limits, recorder).run(iter(requests))


def write(folder: Path, lines: Sequence[bytes]) -> Path:
    ledger = fresh(folder)
    with written(ledger) as writer:
        for one in lines:
            writer.append(one)
        writer.flush()
    return ledger.path


def random_lines(seed: int, count: int, questions: int) -> list[bytes]:
    """Answers with everything in them: several questions, refusals, second answers."""
    draw = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        numbers = draw.choice(questions, draw.integers(1, 4), replace=False).tolist()
        made.append(line(numbers, draw.choice([-4, -2, 0, 1, 2, 3, 4], len(numbers)).tolist(), int(draw.integers(50))))
    return made
