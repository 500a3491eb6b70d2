"""Kinds ``openai`` and ``openai-batch``: any endpoint that speaks OpenAI's chat completions.

One pair a request is the paper's way; ``pairs_per_request`` puts several into one. Where the endpoint does not know
``response_format`` (400 or 422), the rest of the run goes on in plain text, which is read all the same. Every request
has an ``Idempotency-Key`` made of its questions; an endpoint that does not honour it may be asked again for what was in
flight at a kill. Batches have the same requests, and go on at the endpoint when the process ends.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from shoe.core.errors import OptionError, quote
from shoe.llm.batch import BatchPass
from shoe.llm.client import Pass
from shoe.llm.endpoint import OFFICIAL, OFFICIAL_KEY, Secrets, address
from shoe.llm.ledger import ASK_AGAIN
from shoe.llm.request import OURS, Chat, Recorder
from shoe.maps.config import Backend, RaterConfig, setting
from shoe.maps.prompts import SECOND_TIME, Group, Prompts
from shoe.maps.rating_answers import read_chat

_RATING = {"type": "integer", "enum": [0, 1, 2, 3, 4]}


class OpenAI(RaterConfig, frozen=True, kw_only=True):
    """any endpoint that speaks OpenAI's chat completions, many requests at a time."""

    kind: ClassVar[str] = "openai"
    chats: ClassVar[bool] = True

    base_url: Annotated[str, setting("the endpoint's address, up to what comes before /chat/completions")] = OFFICIAL
    api_key_env: Annotated[
        str, setting(f"environment variable with its key; {OFFICIAL_KEY} for the official endpoint", key=False)
    ] = ""
    structured: Annotated[bool, setting("ask for JSON by response_format, as long as the endpoint knows it")] = True

    def backend(self, prompts: Prompts) -> Backend:
        """Make the rater. The key is read when it first asks."""
        return _ChatEndpoint(self)

    def identity(self) -> Mapping[str, Any]:
        """Return the endpoint's address as it is used, and what is said when a pair is asked a second time."""
        return {"base_url": self.base_url.rstrip("/"), "second_time": SECOND_TIME}


class OpenAIBatch(OpenAI, frozen=True, kw_only=True):
    """OpenAI's Batch API, the same answers within a day at half the price."""

    kind: ClassVar[str] = "openai-batch"
    divisible: ClassVar[bool] = False

    requests_per_batch: Annotated[
        int, setting("most requests in one batch; fewer where waiting tokens are bounded", key=False, ge=1, le=50_000)
    ] = 50_000
    batches: Annotated[int, setting("most batches under way at once", key=False, ge=1, le=1000)] = 4


class _ChatEndpoint:
    def __init__(self, config: OpenAI) -> None:
        self._address = address(f"rater {quote(config.name)}", config.base_url, config.api_key_env)
        for name in OURS:
            if name in config.sampling:
                raise OptionError(f"rater {quote(config.name)}: sampling: found {name}, expected to leave it to shoe")
        secrets = Secrets(os.environ.get(self._address.key_variable, "").strip())
        for name in config.__struct_fields__:
            if secrets.cleaned(said := getattr(config, name)) != said:
                raise OptionError(
                    f"rater {quote(config.name)}: {name}: found a secret in it, expected api_key_env to hold it"
                )
        response_format = _response_format(several=config.pairs_per_request > 1) if config.structured else None
        self._format = response_format
        self._config = config

    def rate(self, groups: Iterator[Group], recorder: Recorder) -> None:
        place, config = self._address.open(), self._config
        rounds = sum(event["event"] == ASK_AGAIN for event in recorder.remembered())
        chat = Chat(config.model, config.sampling, self._format, rounds)
        if isinstance(config, OpenAIBatch):
            sizes = {"requests_per_batch": config.requests_per_batch, "batches": config.batches}
            BatchPass(place, chat, config.limits, recorder, **sizes).run(groups)
        else:
            Pass(place, chat, config.limits, recorder).run(groups)

    def parse(self, ids: Sequence[str], raw: Mapping[str, Any]) -> list[int]:
        return read_chat(raw, ids)


def _response_format(*, several: bool) -> dict[str, Any]:
    """A JSON schema for answers."""
    if several:
        pair = _object({"id": {"type": "string"}, "rating": _RATING})
        schema = _object({"ratings": {"type": "array", "items": pair}})
    else:
        schema = _object({"rating": _RATING})
    return {"type": "json_schema", "json_schema": {"name": "ratings", "strict": True, "schema": schema}}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
