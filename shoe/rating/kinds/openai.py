"""Kind ``openai``: any endpoint that speaks OpenAI's chat completions, many requests at a time.

One pair a request is the paper's way; ``pairs_per_request`` puts several into one. Where the endpoint knows
``response_format``, answers are JSON by force; where it answers 400 or 422 that it does not, the rest of the run goes
on in plain text, which is read all the same.

Every request has an ``Idempotency-Key`` made of its questions. An endpoint that honours it gives an answer once
however often the process is killed. One that does not may be asked again for what was in flight at a kill: that is at
most ``limits.concurrency`` requests, and nothing whose answer had arrived.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shoe.lexicon.expressions import Part
from shoe.llm.chat import SECOND_TIME, Chat
from shoe.llm.client import Pass
from shoe.llm.endpoint import OFFICIAL, OFFICIAL_KEY, address, without_slash
from shoe.rating.answers import read_chat
from shoe.rating.config import RaterConfig
from shoe.rating.kinds import Setting
from shoe.rating.prompts import Prompts
from shoe.rating.questions import Backend, Group, Recorder

SETTINGS: Mapping[str, Setting] = {
    "base_url": Setting(str, OFFICIAL, "the endpoint's address, up to what comes before /chat/completions"),
    "api_key_env": Setting(
        str,
        "",
        f"environment variable with its key; {OFFICIAL_KEY} for the official endpoint, none for others",
        changes_answers=False,
    ),
    "structured": Setting(bool, True, "ask for JSON by response_format, as long as the endpoint knows it"),
}


def identity(config: RaterConfig) -> Mapping[str, Any]:
    """The endpoint's address as it is used, and what is said when a pair is asked a second time."""
    return {"base_url": without_slash(config.settings["base_url"]), "second_time": SECOND_TIME}


def backend(config: RaterConfig, prompts: Prompts) -> Backend:
    """Make the rater. The key is read when it first asks.

    Raises:
        OptionError: for settings that cannot be.
    """
    return _ChatEndpoint(config, prompts)


class _ChatEndpoint:
    def __init__(self, config: RaterConfig, prompts: Prompts) -> None:
        self._address = address(config.name, config.settings["base_url"], config.settings["api_key_env"])
        self._chat = Chat(config, prompts)
        self._config = config

    def rate(self, groups: Iterator[Group], recorder: Recorder) -> None:
        Pass(self._address.open(), self._config, self._chat, recorder).run(groups)

    def parse(self, part: Part, ids: Sequence[str], raw: Mapping[str, Any]) -> list[int]:
        return read_chat(raw, ids)
