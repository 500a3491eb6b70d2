"""Classify an endpoint's responses: an answer to store, an error to retry, or an error that ends the run."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

import msgspec

from shoe.core.errors import ShoeError, quote
from shoe.llm.budget import Usage, usage_of
from shoe.llm.endpoint import Endpoint, named

REFUSALS = frozenset({"content_filter", "content_policy_violation", "invalid_prompt"})
"""Error codes by which an endpoint refuses one question; "invalid_prompt" is OpenAI's code for a flagged prompt."""
DENIED_IN_A_ROW = 3  # rejections in a row after which an endpoint that has answered gets no further request
LONGEST_PAUSE = 300.0  # longest pause, in seconds, that an endpoint can request with the Retry-After header
HOLLOW = ("empty", "cut", "hollow")  # kinds of successful responses without any content
_TRANSIENT = {408, 409, 425, 429}
_OVERLOAD = {408, 429, 503, 504, 529}
REJECTED = {"400", "403", "413", "422"}  # HTTP statuses that reject one request, however often it is sent
_FLAGGED = "flagged"
_DEEP = "values nested hundreds deep"
_NO_MONEY = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
_FORMAT_WORDS = ("response_format", "json_schema", "structured output", "guided", "grammar")


@dataclass(slots=True, eq=False)
class Transient(Exception):  # noqa: N818 (it is handled, not shown)
    """Failure of one attempt after which the same request may succeed."""

    kind: str  # HTTP status or name of the failure: "429", "500", "timeout", "dropped", "empty", ...
    detail: str = ""  # the endpoint's error message, without secrets
    retry_after: float | None = None  # number of seconds that the endpoint requests to wait, or None
    overload: bool = False  # whether fewer concurrent requests should be sent, because the endpoint may be overloaded
    reached: bool = True  # whether the endpoint itself responded; False for a timeout or a web page, for example
    usage: Usage | None = None

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}" if self.detail else self.kind


class StoppedError(Exception):
    """Raised instead of sending or repeating a request, because the run is ending."""


class _StatusError(ShoeError):
    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.kind = str(status)


class RejectedError(_StatusError):
    """Error for a request that the endpoint rejects; repeating it is useless, but other requests may be accepted."""


class HopelessError(_StatusError):
    """Error for an endpoint that rejects all requests (wrong key, ...); they are repeated if it has answered before."""


class NoResponseFormatError(Exception):
    """Error for an endpoint that does not support ``response_format``, or the JSON schema in this field."""


def answer(place: Endpoint, model: str, status: int, headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
    """Return the answer in a response as JSON without secrets: a chat completion, or the error of a content filter.

    ``model`` is the name of the model, for messages; ``headers`` is a mapping with case-insensitive names.

    Raise Transient if the same request may succeed later, NoResponseFormatError if it may succeed without
    ``response_format``, and ShoeError if repeating it is useless. A chat completion without text is Transient if
    neither a token limit nor a content filter has ended it.
    """
    raw = _content(body)
    if not 200 <= status < 300:
        message, code = message_and_code(body)
        is_refusal = code in REFUSALS and (code != "invalid_prompt" or _FLAGGED in message.lower())
        if not (is_refusal and status in (400, 403) and isinstance(raw, dict)):
            raise http_error(place, model, status, headers, body)
    elif not body.strip():
        raise Transient("empty")
    elif "html" in headers.get("Content-Type", ""):
        raise Transient("html", "a web page, not an answer (is base_url right?)", reached=False)
    elif not isinstance(raw, dict):
        raise Transient("cut", "no JSON object")
    elif (error := raw.get("error")) and not raw.get("choices"):
        number = error.get("code") if isinstance(error, dict) else None
        status = number if isinstance(number, int) and 400 <= number < 600 else 502
        raise http_error(place, model, status, headers, body)
    elif _is_hollow(raw):
        raise Transient("hollow", "no chat completion with anything in it (is base_url right?)", usage=usage_of(raw))
    cleaned: dict[str, Any] = place.secrets.cleaned(raw)
    return cleaned


def _is_hollow(raw: Mapping[str, Any]) -> bool:
    """Return whether a response's first choice has no text and no refusal, and did not reach the token limit."""
    match raw.get("choices"):
        case [{"message": dict(), "finish_reason": "content_filter" | "length"}, *_]:
            return False
        case [{"message": dict(message)}, *_]:
            return not (text_of(message.get("content")) + text_of(message.get("refusal"))).strip()
    return True


def text_of(content: Any) -> str:
    """Return the text in a field of a chat message, which is a text or a list of parts; "" for other values."""
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return "".join(text for text in texts if isinstance(text, str))


def _content(body: bytes) -> Any:
    """Return the parsed JSON of a response; None if it is invalid, or nested too deeply for a line of the ledger."""
    with suppress(ValueError, RecursionError):
        if is_shallow(content := msgspec.json.decode(body)):
            return content
    return None


def is_shallow(value: Any, levels: int = 250) -> bool:
    """Return whether parsed JSON is nested at most ``levels`` deep; deeper JSON could exceed the recursion limit."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels >= 0 and all(is_shallow(item, levels - 1) for item in items)


def http_error(
    place: Endpoint, model: str, status: int, headers: Mapping[str, str], body: bytes
) -> Transient | ShoeError | NoResponseFormatError:
    """Return (not raise) the exception for an error response; arguments are as for :func:`answer`."""
    message, code = message_and_code(body)
    words = place.shown(message)
    reason = f": {words}" if words else ""
    if status == 429 and code in _NO_MONEY:
        return ShoeError(f"{place}: no credit left{reason}")
    if status in _TRANSIENT or status >= 500:
        return Transient(str(status), words, retry_after=retry_after(headers), overload=status in _OVERLOAD)
    if status == 401 or (status == 403 and _FLAGGED not in message.lower()):
        variables = " or ".join(map(named, place.variables))
        key = f"the key in {variables}" if variables else "requests without a key"
        hint = "" if variables else " (set api_key_env to the name of a variable that holds one)"
        # The message of a 401 response often repeats a part of the key.
        words = f"it does not accept {key}{reason if status == 403 else ''}{hint}"
        return HopelessError(f"{place}: HTTP {status}: {words}", status)
    if status == 404:
        return HopelessError(f"{place}: HTTP 404{reason} (check the model name {quote(model)} and base_url)", status)
    if 300 <= status < 400:
        target = place.shown(headers.get("Location", "another address"))
        where = f"it redirects to {target}, which shoe does not follow (is base_url right?)"
        return HopelessError(f"{place}: HTTP {status}: {where}", status)
    if status in (400, 422) and any(word in message.lower() for word in _FORMAT_WORDS):
        return NoResponseFormatError(words)
    line = f"{place}: HTTP {status}{reason or ': no reason given'}"
    return RejectedError(line, status) if str(status) in REJECTED else HopelessError(line, status)


def message_and_code(body: bytes) -> tuple[str, str]:
    """Return (message, code) in the JSON of an error response; code "" if missing. Without JSON, return (body, "")."""
    try:
        content = msgspec.json.decode(body)
    except RecursionError:
        return _DEEP, ""
    except ValueError:
        return body.decode("utf-8", "replace").strip(), ""  # complete, because a part of a secret is not recognised
    error = content.get("error", content) if isinstance(content, dict) else content
    if not isinstance(error, dict):
        return _text(error), ""
    message = error.get("message") or error.get("detail") or error
    return _text(message), _text(error.get("code") or error.get("type") or "")


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode() if is_shallow(value) else _DEEP


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait, at most 300, by the header ``retry-after-ms`` or ``Retry-After``; None if invalid."""
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return min(milliseconds / 1000, LONGEST_PAUSE)
    text = headers.get("Retry-After")
    seconds = _number(text)
    if seconds is None and text:
        now = time()
        with suppress(ValueError, OverflowError):  # the date of Retry-After is a time of the endpoint's clock
            now = parsedate_to_datetime(headers.get("Date", "")).timestamp()
        try:
            seconds = parsedate_to_datetime(text).timestamp() - now
        except (ValueError, OverflowError):
            return None
    return None if seconds is None else min(max(seconds, 0.0), LONGEST_PAUSE)


def _number(text: str | None) -> float | None:
    with suppress(ValueError):
        if 0 <= (number := float(text or "")) < float("inf"):
            return number
    return None
