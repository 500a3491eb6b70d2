"""Kind ``openai-batch``: OpenAI's Batch API, the same answers within a day at half the price.

Requests are those of the kind ``openai``. They are uploaded ``requests_per_batch`` at a time, at most ``batches``
batches are under way at once, and what a batch does not answer is put into a later one. When the process ends, batches
go on at the endpoint, and the next run fetches their answers: a batch is remembered before it is begun and marked with
a digest of its requests, by which it is found again even if its beginning was the last thing that happened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shoe.core.errors import OptionError, quote
from shoe.lexicon.expressions import Part
from shoe.llm.batch_pass import BatchPass
from shoe.llm.chat import Chat
from shoe.llm.endpoint import address
from shoe.rating.answers import read_chat
from shoe.rating.config import RaterConfig
from shoe.rating.kinds import Setting, openai
from shoe.rating.prompts import Prompts
from shoe.rating.questions import Backend, Group, Recorder

_MOST_REQUESTS = 50_000

SETTINGS: Mapping[str, Setting] = {
    **openai.SETTINGS,
    "requests_per_batch": Setting(
        int, _MOST_REQUESTS, "most requests in one batch; fewer where the endpoint bounds waiting tokens", False
    ),
    "batches": Setting(int, 4, "most batches under way at once", changes_answers=False),
}

identity = openai.identity


def backend(config: RaterConfig, prompts: Prompts) -> Backend:
    """Make the rater. The key is read when it first asks.

    Raises:
        OptionError: for settings that cannot be.
    """
    for name, most in (("requests_per_batch", _MOST_REQUESTS), ("batches", 1000)):
        found = config.settings[name]
        if not 1 <= found <= most:
            raise OptionError(f"rater {quote(config.name)}: {name}: found {found}, expected 1 to {most}")
    return _BatchEndpoint(config, prompts)


class _BatchEndpoint:
    def __init__(self, config: RaterConfig, prompts: Prompts) -> None:
        self._address = address(config.name, config.settings["base_url"], config.settings["api_key_env"])
        self._chat = Chat(config, prompts)
        self._config = config

    def rate(self, groups: Iterator[Group], recorder: Recorder) -> None:
        BatchPass(self._address.open(), self._config, self._chat, recorder).run(groups)

    def parse(self, part: Part, ids: Sequence[str], raw: Mapping[str, Any]) -> list[int]:
        return read_chat(raw, ids)
