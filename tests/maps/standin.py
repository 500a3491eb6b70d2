"""A kind of rater for tests: what it says follows from the pair's names, and it writes down what it was asked.

As a program it builds a map, with this kind known: ``python -m tests.maps.standin OUT --raters raters.toml ...``.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from operator import setitem
from pathlib import Path
from typing import Annotated, Any, ClassVar
from zlib import crc32

import orjson

from shoe.llm.ledger import State
from shoe.llm.request import Recorder
from shoe.maps.config import Backend, RaterConfig, setting
from shoe.maps.prompts import Group, Prompts
from shoe.maps.raters import kinds
from shoe.maps.rating_answers import read_chat

KIND = "standin"


def know_this_kind(put: Callable[[Any, str, Any], None] = setitem) -> None:
    """Make shoe know the kind; a test gives its ``monkeypatch.setitem``, so that it is forgotten afterwards."""
    put(kinds.KINDS, KIND, f"{__name__}:StandIn")


def fate(seed: int, first: str, second: str) -> list[int | str]:
    """What happens to one pair, attempt by attempt; the last is final."""
    number = crc32(f"{seed} {first} {second}".encode()) // 7
    if number % 100 < 50:
        return [0]
    if number % 100 < 80:
        return [1 + number % 4]
    if number % 100 < 85:
        return ["refused"]
    if number % 100 < 90:
        return ["nothing", number % 5]
    return ["nothing", "nothing"] if number % 100 < 95 else ["fails", number % 5]


def state(seed: int, first: str, second: str) -> int:
    last = fate(seed, first, second)[-1]
    ends = {"refused": State.REFUSED, "nothing": State.UNPARSABLE}
    return last if isinstance(last, int) else int(ends[last])


class StandIn(RaterConfig, frozen=True, kw_only=True):
    """made up for tests."""

    kind: ClassVar[str] = KIND
    chats: ClassVar[bool] = True

    seed: Annotated[int, setting("of its opinions")] = 0
    log: Annotated[Path | None, setting("where it writes what it was asked", key=False)] = None
    delay: Annotated[float, setting("seconds for an answer", key=False)] = 0.0
    threads: Annotated[int, setting("requests at a time", key=False)] = 3
    down: Annotated[Path | None, setting("while this file is there, no attempt succeeds", key=False)] = None

    def backend(self, prompts: Prompts) -> Backend:
        return _StandIn(self, prompts)


class _StandIn:
    def __init__(self, config: StandIn, prompts: Prompts) -> None:
        self._config = config
        self._prompts = prompts
        self._several = config.pairs_per_request > 1

    def rate(self, groups: Iterator[Group], recorder: Recorder) -> None:
        with ThreadPoolExecutor(self._config.threads) as pool:
            while not recorder.stopping:
                some = [group for _, group in zip(range(self._config.threads), groups, strict=False)]
                if not some:
                    return
                for done in [pool.submit(self._ask, group, recorder) for group in some]:
                    done.result()

    def _ask(self, group: Group, recorder: Recorder) -> None:
        fates = [fate(self._config.seed, q.first.name, q.second.name) for q in group.questions]
        rendered = self._prompts.render(group.questions, several=self._several)
        for attempt in range(2):
            while (may := recorder.may_ask(group)) is None:
                time.sleep(0.001)
            if not may:
                return
            self._log("asked", group)
            time.sleep(self._config.delay)
            if self._is_down() or (attempt == 0 and ["fails"] in [one[:1] for one in fates]):
                recorder.failure(group, "500", "as it was to be")
            else:
                self._log("answered", group)
                recorder.answer(group, self._raw(group, fates, rendered.ids))
                return

    def _is_down(self) -> bool:
        down = self._config.down
        return down is not None and down.exists()

    def _raw(self, group: Group, fates: Sequence[list[int | str]], ids: Sequence[str]) -> dict[str, Any]:
        late = [
            question.attempt == 2 or one[0] == "fails" for question, one in zip(group.questions, fates, strict=True)
        ]
        said = [one[-1] if is_late else one[0] for one, is_late in zip(fates, late, strict=True)]
        message: dict[str, Any] = {"content": "no idea"}
        if said == ["refused"]:
            message = {"content": None, "refusal": "no"}
        elif any(isinstance(one, int) for one in said):
            ratings = {name: one for name, one in zip(ids, said, strict=True) if isinstance(one, int)}
            message = {"content": orjson.dumps({"ratings": ratings}).decode()}
        usage = {"prompt_tokens": 100 * len(ids), "completion_tokens": 10 * len(ids)}
        return {"choices": [{"message": message}], "usage": usage, "seconds": 0.5}

    def _log(self, what: str, group: Group) -> None:
        if (log := self._config.log) is not None:
            lines = "".join(f"{what} {question.key.hex()} {question.attempt}\n" for question in group.questions)
            handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.write(handle, lines.encode())
            os.close(handle)

    def parse(self, ids: Sequence[str], raw: Mapping[str, Any]) -> list[int]:
        return read_chat(raw, ids)


if __name__ == "__main__":
    know_this_kind()
    sys.argv[1:1] = ["map", "build"]
    from shoe.cli import main

    main()
