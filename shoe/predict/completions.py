"""Raw answers in the form of OpenAI's chat completions: written by the back ends of this machine, read from all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from shoe.llm.errors import REFUSALS
from shoe.predict.records import Alternative, Token

REFUSED = "refused"
LEAST = -9999.0
"""Written for the logarithm of 0, as endpoints do."""


class Said(NamedTuple):
    """What a model said.

    Attributes:
        text: as it wrote it.
        tokens: of the text, with the logarithms of their raw probabilities; None where none are told.
        finish: why it ended: "stop", "length", "refused", or as an endpoint calls it.
    """

    text: str
    tokens: tuple[Token, ...] | None
    finish: str


def completion(said: Said, prompt_tokens: int) -> dict[str, Any]:
    """Write an answer as a chat completion; tokens have an ``id`` beside what OpenAI's have."""
    tokens = said.tokens or ()
    content = [{**_written(token), "top_logprobs": [_written(other) for other in token.top]} for token in tokens]
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": said.text},
        "logprobs": None if said.tokens is None else {"content": content},
        "finish_reason": said.finish,
    }
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": len(tokens)}
    return {"object": "chat.completion", "choices": [choice], "usage": usage}


def read_completion(raw: Mapping[str, Any]) -> Said:
    """Read the first choice of a chat completion; what is not in it is an empty text, and no tokens."""
    choices = raw.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    found = choice.get("message")
    message: Mapping[str, Any] = found if isinstance(found, dict) else {}
    if choice.get("finish_reason") == "content_filter" or message.get("refusal") or _is_filtered(raw.get("error")):
        return Said(_text(message.get("refusal")), None, REFUSED)
    kept = choice.get("logprobs")
    places = kept.get("content") if isinstance(kept, dict) else None
    tokens = [_token(place) for place in places] if isinstance(places, list) else []
    whole = None if not tokens or None in tokens else tuple(token for token in tokens if token is not None)
    return Said(_text(message.get("content")), whole, str(choice.get("finish_reason") or "stop"))


def of_text(said: Said) -> tuple[Token, ...]:
    """Return the tokens that make the text: some endpoints tell the end token's probability, too, others do not."""
    tokens = said.tokens or ()
    text = said.text.strip()
    if said.finish == "stop" and _joined(tokens) != text and _joined(tokens[:-1]) == text:
        return tokens[:-1]
    return tokens


def _joined(tokens: Sequence[Token]) -> str:
    return "".join(token.text for token in tokens).strip()


def _written(token: Token | Alternative) -> dict[str, Any]:
    known = {} if token.id < 0 else {"id": token.id}
    return {"token": token.text, "logprob": token.logprob, **known}


def _token(place: Any) -> Token | None:
    read = _alternative(place)
    if read is None:
        return None
    top = place.get("top_logprobs")
    others = [_alternative(other) for other in top] if isinstance(top, list) else []
    return Token(read.text, read.logprob, read.id, tuple(other for other in others if other is not None))


def _alternative(place: Any) -> Alternative | None:
    """A token and the logarithm of its probability."""
    if not isinstance(place, dict) or not isinstance(place.get("token"), str):
        return None
    logprob, number = place.get("logprob"), place.get("id", -1)
    if isinstance(logprob, bool) or not isinstance(logprob, int | float):
        return None
    return Alternative(place["token"], max(float(logprob), LEAST), number if isinstance(number, int) else -1)


def _text(content: Any) -> str:
    """The text of a message, which may come in parts."""
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return "".join(text for text in texts if isinstance(text, str))


def _is_filtered(error: Any) -> bool:
    return isinstance(error, dict) and error.get("code") in REFUSALS
