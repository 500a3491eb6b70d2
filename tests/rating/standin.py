"""A kind of rater for tests: what it says follows from the pair's names, and it writes down what it was asked.

As a program it builds a map, with this kind known: ``python -m tests.rating.standin OUT --raters raters.toml ...``.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from operator import setitem
from pathlib import Path
from typing import Any
from zlib import crc32

import orjson

from shoe.lexicon.expressions import Part
from shoe.rating import kinds
from shoe.rating.answers import read_chat
from shoe.rating.config import RaterConfig
from shoe.rating.kinds import Setting
from shoe.rating.prompts import Prompts
from shoe.rating.questions import Backend, Group, Recorder
from shoe.rating.states import State

SETTINGS: Mapping[str, Setting] = {
    "seed": Setting(int, 0, "of its opinions"),
    "log": Setting(Path, None, "where it writes what it was asked", changes_answers=False),
    "delay": Setting(float, 0.0, "seconds for an answer", changes_answers=False),
    "threads": Setting(int, 3, "requests at a time", changes_answers=False),
    "down": Setting(Path, None, "while this file is there, no attempt succeeds", changes_answers=False),
}
KIND = "standin"


def know_this_kind(put: Callable[[Any, str, Any], None] = setitem) -> None:
    """Make shoe know the kind; a test gives its ``monkeypatch.setitem``, so that it is forgotten afterwards."""
    put(kinds.KINDS, KIND, KIND)
    put(sys.modules, f"{kinds.__name__}.{KIND}", sys.modules[__name__])


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
    """The state in which one pair ends."""
    last = fate(seed, first, second)[-1]
    ends = {"refused": State.REFUSED, "nothing": State.UNPARSABLE}
    return last if isinstance(last, int) else int(ends[last])


def backend(config: RaterConfig, prompts: Prompts) -> Backend:
    return _StandIn(config, prompts)


class _StandIn:
    def __init__(self, config: RaterConfig, prompts: Prompts) -> None:
        self._config = config
        self._prompts = prompts
        self._several = config.pairs_per_request > 1

    def rate(self, groups: Iterator[Group], recorder: Recorder) -> None:
        with ThreadPoolExecutor(self._config.settings["threads"]) as pool:
            while not recorder.stopping:
                some = [group for _, group in zip(range(self._config.settings["threads"]), groups, strict=False)]
                if not some:
                    return
                for done in [pool.submit(self._ask, group, recorder) for group in some]:
                    done.result()

    def _ask(self, group: Group, recorder: Recorder) -> None:
        fates = [fate(self._config.settings["seed"], q.first.name, q.second.name) for q in group]
        rendered = self._prompts.render(group, several=self._several)
        for attempt in range(2):
            if not recorder.may_ask(group):
                return
            self._log("asked", group)
            time.sleep(self._config.settings["delay"])
            if self._is_down() or (attempt == 0 and ["fails"] in [one[:1] for one in fates]):
                recorder.failure(group, "500", "as it was to be")
            else:
                self._log("answered", group)
                recorder.answer(group, self._raw(group, fates, rendered.ids))
                return

    def _is_down(self) -> bool:
        down = self._config.settings["down"]
        return down is not None and down.exists()

    def _raw(self, group: Group, fates: Sequence[list[int | str]], ids: Sequence[str]) -> dict[str, Any]:
        late = [question.asking == 2 or one[0] == "fails" for question, one in zip(group, fates, strict=True)]
        said = [one[-1] if is_late else one[0] for one, is_late in zip(fates, late, strict=True)]
        message: dict[str, Any] = {"content": "no idea"}
        if said == ["refused"]:
            message = {"content": None, "refusal": "no"}
        elif any(isinstance(one, int) for one in said):
            ratings = {name: one for name, one in zip(ids, said, strict=True) if isinstance(one, int)}
            message = {"content": orjson.dumps({"ratings": ratings}).decode()}
        usage = {"prompt_tokens": 100 * len(group), "completion_tokens": 10 * len(group)}
        return {"choices": [{"message": message}], "usage": usage}

    def _log(self, what: str, group: Group) -> None:
        if (log := self._config.settings["log"]) is not None:
            lines = "".join(f"{what} {question.key.hex()} {question.asking}\n" for question in group)
            handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.write(handle, lines.encode())
            os.close(handle)

    def parse(self, part: Part, ids: Sequence[str], raw: Mapping[str, Any]) -> list[int]:
        return read_chat(raw, ids)


if __name__ == "__main__":
    from tests.rating import standin

    standin.know_this_kind()
    sys.argv[1:1] = ["map", "build"]
    from shoe.cli import main

    main()
