"""Kinds ``openai`` and ``openai-batch``: any endpoint with OpenAI's chat completions API.

If the endpoint does not support ``response_format`` (HTTP 400 or 422), the rest of the run uses plain-text answers.
Every request has an ``Idempotency-Key`` computed from its questions. If an endpoint ignores this key and the process is
killed, requests in flight are sent again and may be charged twice. Batches continue after the process ends.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from shoe.core.errors import OptionError, quote
from shoe.llm.batch import BatchPass
from shoe.llm.client import Pass
from shoe.llm.endpoint import OFFICIAL, OFFICIAL_KEY, Endpoint, Secrets, address
from shoe.llm.ledger import ASK_AGAIN
from shoe.llm.request import OURS, Chat, Recorder
from shoe.maps.config import Backend, RaterConfig, setting
from shoe.maps.prompts import SECOND_TIME, Group, Prompts
from shoe.maps.rating_answers import read_chat

_ANTHROPIC = "//api.anthropic.com"
_RATING = {"type": "integer", "enum": [0, 1, 2, 3, 4]}


class OpenAI(RaterConfig, frozen=True, kw_only=True):
    """any endpoint with OpenAI's chat completions API, with concurrent requests."""

    kind: ClassVar[str] = "openai"
    chats: ClassVar[bool] = True

    base_url: Annotated[str, setting("URL of the endpoint, without /chat/completions", key=False)] = OFFICIAL
    api_key_env: Annotated[
        str, setting(f"environment variable with the API key; {OFFICIAL_KEY} for OpenAI's endpoint", key=False)
    ] = ""
    headers: Annotated[
        dict[str, str], setting("further headers, each with the environment variable of its value", key=False)
    ] = {}  # noqa: RUF012 - msgspec copies it
    served_as: Annotated[
        str, setting("name of the model for stored answers, if endpoints call it differently; `model` by default")
    ] = ""
    structured: Annotated[bool, setting("request JSON by response_format, if the endpoint supports it")] = True

    @property
    def place(self) -> Endpoint:
        """Endpoint, with names of environment variables for key and headers; OptionError for invalid URL or header."""
        return address(f"rater {quote(self.name)}", self.base_url, self.api_key_env, self.headers)

    def backend(self, prompts: Prompts) -> Backend:
        """Return the rater; raise OptionError if its settings are invalid. The API key is read at the first request."""
        return _ChatEndpoint(self)

    def identity(self) -> Mapping[str, Any]:
        """Return {"second_time": sentence added to a question on its second attempt}; answers depend on it."""
        return {"second_time": SECOND_TIME}


class OpenAIBatch(OpenAI, frozen=True, kw_only=True):
    """OpenAI's Batch API: the same answers within a day, at half the price."""

    kind: ClassVar[str] = "openai-batch"
    divisible: ClassVar[bool] = False

    requests_per_batch: Annotated[
        int, setting("most requests per batch; set fewer if queued tokens are limited", key=False, ge=1, le=50_000)
    ] = 50_000
    batches: Annotated[int, setting("largest number of batches that run at once", key=False, ge=1, le=1000)] = 4


class _ChatEndpoint:
    def __init__(self, config: OpenAI) -> None:
        self._address = config.place
        for name in OURS:
            if name in config.sampling:
                raise OptionError(f"rater {quote(config.name)}: sampling: remove {name}, which shoe sets itself")
        if isinstance(config, OpenAIBatch) and _ANTHROPIC in config.base_url.lower():
            gateway = 'set kind = "openai", or base_url of a gateway with batches'
            raise OptionError(f"rater {quote(config.name)}: Anthropic has no OpenAI-compatible batches: {gateway}")
        secrets = Secrets(*(os.environ.get(name, "").strip() for name in self._address.variables))
        for name in config.__struct_fields__:
            if secrets.cleaned(said := getattr(config, name)) != said:
                raise OptionError(
                    f"rater {quote(config.name)}: {name}: contains a secret: put it into the environment variable that "
                    "api_key_env names"
                )
        self._format = _response_format(several=config.pairs_per_request > 1) if config.structured else None
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
    schema = _object({"rating": _RATING})
    if several:
        pair = _object({"id": {"type": "string"}, "rating": _RATING})
        schema = _object({"ratings": {"type": "array", "items": pair}})
    return {"type": "json_schema", "json_schema": {"name": "ratings", "strict": True, "schema": schema}}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
