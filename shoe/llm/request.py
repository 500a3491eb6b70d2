"""What is asked of an endpoint, and where its answers go. Nothing here knows what a question is about."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from shoe.llm.budget import ANSWER_TOKENS_PER_QUESTION, LIKELY_TOKENS_PER_CHAR, Usage, bound_of

KEY_BYTES = 16
OURS = ("model", "messages", "n", "stream")
"""What is no sampling parameter: a request says it itself."""
_CHARACTERS_OF_IMAGE = 12_000
"""An image counts as so many characters of text where tokens are estimated."""


class Request:
    """One request to an endpoint, about one question or several.

    A subclass may make payload and account only when they are needed, so that a million waiting requests cost no
    memory, and may be made of several questions (:meth:`parts`, :meth:`joined`).

    Attributes:
        key: 16 bytes that stand for everything that can change the answer; of a request about several questions, their
            keys one after the other.
        attempt: 1, or 2 where the answer to the first attempt could not be used.
    """

    __slots__ = ("_about", "_payload", "attempt", "key")

    def __init__(
        self, key: bytes, payload: Mapping[str, Any], about: Mapping[str, Any] | None = None, attempt: int = 1
    ) -> None:
        """Take what is asked.

        Args:
            key: see the class.
            payload: JSON of the request but for what the rest of a run's requests have, too: ``{"messages": [...]}``.
            about: JSON that is kept beside the answer, for whoever reads it.
            attempt: see the class.
        """
        self.key = key
        self.attempt = attempt
        self._payload = payload
        self._about = about or {}

    @property
    def keys(self) -> list[bytes]:
        """The keys of its questions."""
        return [self.key[start : start + KEY_BYTES] for start in range(0, len(self.key), KEY_BYTES)]

    def payload(self) -> Mapping[str, Any]:
        """Return the JSON that asks."""
        return self._payload

    def about(self) -> Mapping[str, Any]:
        """Return the JSON that is kept beside the answer."""
        return self._about

    def characters(self) -> int:
        """Return how many characters the request's texts have, or a few more."""
        return _characters(self.payload())

    def size(self) -> int:
        """Return how many bytes the request's texts have; an image counts as so many as its tokens may be."""
        return _characters(self.payload(), lambda text: len(text.encode()))

    def parts(self) -> Sequence[Request]:
        """Return a request for each of its questions alone."""
        return [self]

    def joined(self, others: Sequence[Request]) -> Request:
        """Return one request for its questions and those of others of its kind, in this order."""
        if others:
            raise TypeError("requests of this kind cannot be joined")
        return self


@dataclass(frozen=True, slots=True)
class Chat:
    """What all requests to one model have in common; equal requests are equal bytes.

    Attributes:
        model: as the endpoint calls it.
        sampling: parameters that are passed on as they are; none of ``OURS``.
        rounds: how often answers without a rating were made void: what is asked again is another request.
        response_format: asks for structured answers, as long as the endpoint knows it; None asks for plain text. One
            schema for all requests: endpoints prepare each schema that they see anew.
    """

    model: str
    sampling: Mapping[str, Any]
    response_format: Mapping[str, Any] | None
    rounds: int = 0

    def body(self, request: Request, structured: bool) -> bytes:
        """JSON of a request; a ``response_format`` among the sampling parameters stands before ours."""
        ours = {"response_format": self.response_format} if structured else {}
        return msgspec.json.encode({"model": self.model, **request.payload(), **ours, **self.sampling})

    def once(self, request: Request, structured: bool, hollow: int = 0) -> str:
        """32 hex digits for a request: questions, which attempt it is, form, and how often nothing was in its answer.

        An endpoint that keeps answers under such names would give the same nothing again.
        """
        what = request.key + bytes([request.attempt, structured])
        if self.rounds or hollow:
            what += f"{self.rounds} {hollow}".encode()
        return hashlib.blake2b(what, digest_size=16).hexdigest()

    def most_tokens(self, request: Request, body: bytes) -> float:
        """About how many tokens a request may take, question and answer together."""
        answer = bound_of(self.sampling) or ANSWER_TOKENS_PER_QUESTION * len(request.keys)
        return len(body) * LIKELY_TOKENS_PER_CHAR + answer


class Recorder(Protocol):
    """Where all that happens is put, as it happens; safe to call from several threads."""

    def answer(self, request: Request, raw: Mapping[str, Any]) -> None:
        """Keep one raw answer, JSON as it came, before anything reads it: it outlives this process from here on.

        Raises:
            InputError: if the ledger cannot be written.
        """

    def failure(self, request: Request, kind: str, detail: str = "", usage: Usage | None = None) -> None:
        """Keep one attempt that brought no answer: "429", "timeout", ..., and the tokens that it says it took."""

    def may_ask(self, request: Request) -> bool | None:
        """Reserve one request in the budget.

        Returns:
            False when the budget has no room for it: ask nothing more then; None when it may have room as soon as
            something that is in flight has come back.
        """

    def remember(self, event: Mapping[str, Any]) -> None:
        """Keep something that is no answer and must outlive the process, durably: the id of a started batch."""

    def remembered(self) -> list[Mapping[str, Any]]:
        """Return all events, oldest first, those of earlier runs included."""

    @property
    def stopping(self) -> bool:
        """Whether the run is to end: finish what is in flight, start nothing."""


def _characters(value: Any, length: Callable[[str], int] = len) -> int:
    match value:
        case str():
            return length(value)
        case list():
            return sum(_characters(one, length) for one in value)
        case {"type": "image_url"}:
            return _CHARACTERS_OF_IMAGE
        case dict():
            return sum(_characters(one, length) for one in value.values())
    return 0
