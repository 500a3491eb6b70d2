"""Requests to an endpoint, the settings that they share, and the interface of a recorder of answers."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from shoe.llm.budget import ANSWER_TOKENS_PER_QUESTION, LIKELY_TOKENS_PER_CHAR, Usage, bound_of

KEY_BYTES = 16
OURS = ("model", "messages", "n", "stream")  # fields that shoe sets itself; no sampling parameters
_CHARACTERS_OF_IMAGE = 12_000  # number of characters that an image counts as in estimates of tokens


class Request:
    """One request to an endpoint, with one question; requests of a subclass may have several questions.

    A subclass may compute ``payload`` and ``about`` on demand, so that a million queued requests need little memory.

    Attributes:
        key: 16-byte hash of everything that affects the answer; for several questions, their concatenated keys.
        attempt: 1, or 2 if the first answer was unusable.
    """

    __slots__ = ("_about", "_payload", "attempt", "key")

    def __init__(
        self, key: bytes, payload: Mapping[str, Any], about: Mapping[str, Any] | None = None, attempt: int = 1
    ) -> None:
        self.key, self.attempt, self._payload, self._about = key, attempt, payload, about or {}

    @property
    def keys(self) -> list[bytes]:
        """The 16-byte key of each question."""
        return [self.key[start : start + KEY_BYTES] for start in range(0, len(self.key), KEY_BYTES)]

    def payload(self) -> Mapping[str, Any]:
        """Return the JSON of the request, ``{"messages": [...]}``, without the fields that all requests share."""
        return self._payload

    def about(self) -> Mapping[str, Any]:
        """Return JSON that is stored in a file with the answer, such as the image and the pair; {} for nothing."""
        return self._about

    def characters(self) -> int:
        """Return the number of characters of the request's texts, or slightly more; an image counts as 12,000."""
        return _characters(self.payload())

    def size(self) -> int:
        """Return the number of bytes of the request's texts; an image counts as 12,000."""
        return _characters(self.payload(), lambda text: len(text.encode()))

    def parts(self) -> "Sequence[Request]":
        """Return one request per question."""
        return [self]

    def joined(self, requests: "Sequence[Request]") -> "Request":
        """Return one request with the questions of this request and of ``requests``, or raise TypeError."""
        if requests:
            raise TypeError("requests of this class cannot be joined into one request")
        return self


@dataclass(frozen=True, slots=True)
class Chat:
    """Settings that all requests to one model share.

    Attributes:
        sampling: parameters that are passed to the endpoint unchanged, without "model", "messages", "n" and "stream".
        response_format: JSON schema of answers, if the endpoint supports it; None for plain text. It is the same for
            all requests, because endpoints compile each new schema.
        rounds: number of times that the user discarded unusable answers to send their questions again. A part of
            idempotency keys, so that the endpoint does not return the old answers.
    """

    model: str
    sampling: Mapping[str, Any]
    response_format: Mapping[str, Any] | None
    rounds: int = 0

    def body(self, request: Request, structured: bool) -> bytes:
        """Return the complete JSON of a request, which includes ``response_format`` only if ``structured``."""
        ours = {"response_format": self.response_format} if structured else {}
        return msgspec.json.encode({"model": self.model, **request.payload(), **ours, **self.sampling})

    def idempotency_key(self, request: Request, structured: bool, empty_responses: int = 0) -> str:
        """Return the idempotency key of a request, 32 hex digits.

        An endpoint may answer the same key with the same response. So the key changes after each response without
        content; ``empty_responses`` is their number so far.
        """
        data = request.key + bytes([request.attempt, structured])
        if self.rounds or empty_responses:
            data += f"{self.rounds} {empty_responses}".encode()
        return hashlib.blake2b(data, digest_size=16).hexdigest()

    def most_tokens(self, request: Request, body: bytes) -> float:
        """Estimate the largest number of tokens of a request and its answer; ``body`` is the JSON of the request."""
        answer = bound_of(self.sampling) or ANSWER_TOKENS_PER_QUESTION * len(request.keys)
        return len(body) * LIKELY_TOKENS_PER_CHAR + answer


class Recorder(Protocol):
    """Interface of a thread-safe recorder of answers and failures."""

    def answer(self, request: Request, raw: Mapping[str, Any]) -> None:
        """Store a raw answer, JSON as received, so that it outlives the process; raise InputError if this fails."""

    def failure(self, request: Request, kind: str, detail: str = "", usage: Usage | None = None) -> None:
        """Store a failed attempt: kind of failure ("429", "timeout", ...), error message, tokens if reported."""

    def may_ask(self, request: Request) -> bool | None:
        """Reserve one request in the budget; return True if it may be sent, None if not yet, False if the run ends."""

    def remember(self, event: Mapping[str, Any]) -> None:
        """Store an event that a later run needs, such as the start of a batch; return once it is on the disk."""

    def remembered(self) -> list[Mapping[str, Any]]:
        """Return all events stored by :meth:`remember`, in this run and earlier runs, oldest first."""

    @property
    def stopping(self) -> bool:
        """Whether the run is ending: answers to requests in flight are recorded, but no further request is sent."""


def _characters(value: Any, length: Callable[[str], int] = len) -> int:
    match value:
        case str():
            return length(value)
        case list():
            return sum(_characters(item, length) for item in value)
        case {"type": "image_url"}:
            return _CHARACTERS_OF_IMAGE
        case dict():
            return sum(_characters(item, length) for item in value.values())
    return 0
