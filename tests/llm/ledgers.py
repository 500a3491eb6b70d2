"""What the tests of ledgers share: a rater of the simplest kind, questions, and answers that are ratings by id."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shoe.lexicon.expressions import Part
from shoe.llm.index import as_keys
from shoe.llm.ledger import Ledger, answer_line
from shoe.llm.ledger_writer import writing
from shoe.rating.config import RaterConfig
from shoe.rating.prompts import ids_of
from shoe.rating.questions import Question, Sense
from shoe.rating.states import States

CONFIG = RaterConfig("w", "lexical", "Word Net!", settings={"measure": "wup", "thresholds": [0.1, 0.2, 0.3, 0.4]})
SENSES = Sense("ride.v.01", ("ride",), "sit"), Sense("straddle.v.01", ("straddle",), "sit")


def parse(part: Part, ids: Sequence[str], raw: Mapping[str, Any]) -> list[int]:
    states: list[int] = [raw["ratings"][name] for name in ids]
    return states


def question(number: int) -> Question:
    return Question(number.to_bytes(8, "big") * 2, "verb", *SENSES)


def line(numbers: Sequence[int], states: Sequence[int], padding: int = 0) -> bytes:
    group = [question(number) for number in numbers]
    ids = ids_of([one.key for one in group])
    return answer_line(group, ids, "", {"ratings": dict(zip(ids, states, strict=True)), "padding": "x" * padding})


def states(ledger: Ledger, count: int) -> list[int]:
    found: States = ledger.states(as_keys(b"".join(question(number).key for number in range(count))))
    return [int(state) for state in found]


def fresh(folder: Path, config: RaterConfig = CONFIG) -> Ledger:
    return Ledger(folder, config, parse)


def read(folder: Path, count: int) -> list[int]:
    ledger = fresh(folder)
    ledger.refresh()
    return states(ledger, count)


def write(folder: Path, lines: Sequence[bytes]) -> Path:
    ledger = fresh(folder)
    with writing(ledger.path, ledger.identity, lambda: False, lambda said: None) as writer:
        assert writer is not None
        for one in lines:
            writer.append(one)
        writer.flush()
    return ledger.path


def random_lines(seed: int, count: int, questions: int) -> list[bytes]:
    """Answers with everything in them: several pairs, refusals, second answers."""
    draw = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        numbers = draw.choice(questions, draw.integers(1, 4), replace=False).tolist()
        made.append(line(numbers, draw.choice([-4, -2, 0, 1, 2, 3, 4], len(numbers)).tolist(), int(draw.integers(50))))
    return made
