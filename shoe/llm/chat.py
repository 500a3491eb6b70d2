"""Chat completions: what a request says, and where in an answer its text, its refusal or its end is."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson

from shoe.core.errors import OptionError, quote
from shoe.rating.config import RaterConfig
from shoe.rating.prompts import Prompts
from shoe.rating.questions import Group

SECOND_TIME = (
    "Your last answer to this could not be read. Answer in the form given above: JSON and nothing else, each rating one"
    " of the digits 0, 1, 2, 3, 4."
)
"""Said at the end of a question that is asked again because its first answer held no rating."""
_OURS = ("model", "messages", "n", "stream")
_CHARS_PER_TOKEN = 4
_ANSWER_TOKENS_PER_PAIR = 16
_RATING = {"type": "integer", "enum": [0, 1, 2, 3, 4]}


class Chat:
    """Makes a rater's requests; the same questions make the same bytes."""

    def __init__(self, config: RaterConfig, prompts: Prompts) -> None:
        for name in _OURS:
            if name in config.sampling:
                raise OptionError(f"rater {quote(config.name)}: sampling: found {name}, expected to leave it to shoe")
        self._prompts = prompts
        self._several = config.pairs_per_request > 1
        self._sampling = dict(config.sampling)
        self._model = config.model
        bounds = [config.sampling.get(name) for name in ("max_completion_tokens", "max_tokens")]
        self._answer_tokens = next((n for n in bounds if isinstance(n, int)), None)
        self._format = {"response_format": _response_format(self._several)}

    def body(self, group: Group, structured: bool) -> bytes:
        """JSON of a request; a ``response_format`` among the sampling parameters has its place."""
        rendered = self._prompts.render(group, several=self._several)
        user = rendered.user if group[0].asking == 1 else f"{rendered.user}\n\n{SECOND_TIME}"
        messages = [{"role": "system", "content": rendered.system}, {"role": "user", "content": user}]
        extra = self._format | self._sampling if structured else self._sampling
        return orjson.dumps({"model": self._model, "messages": messages, **extra})

    def once(self, group: Group, structured: bool) -> str:
        """32 hex digits for a request: questions, which asking of them it is, and form."""
        what = b"".join(question.key for question in group) + bytes([group[0].asking, structured])
        return hashlib.blake2b(what, digest_size=16).hexdigest()

    def most_tokens(self, group: Group, body: bytes) -> float:
        """About how many tokens a request may take, question and answer together."""
        return len(body) / _CHARS_PER_TOKEN + (self._answer_tokens or _ANSWER_TOKENS_PER_PAIR * len(group))


def _response_format(several: bool) -> dict[str, Any]:
    """A JSON schema for answers, the same for all requests: endpoints prepare each schema that they see anew."""
    if several:
        pair = _object({"id": {"type": "string"}, "rating": _RATING})
        schema = _object({"ratings": {"type": "array", "items": pair}})
    else:
        schema = _object({"rating": _RATING})
    return {"type": "json_schema", "json_schema": {"name": "ratings", "strict": True, "schema": schema}}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
