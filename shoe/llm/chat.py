"""Chat completions: what a request says."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from shoe.llm.budget import ANSWER_TOKENS_PER_QUESTION, LIKELY_TOKENS_PER_CHAR, bound_of
from shoe.llm.request import Request

OURS = ("model", "messages", "n", "stream")
"""What is no sampling parameter: a request says it itself."""


@dataclass(frozen=True, slots=True)
class Chat:
    """What all requests to one model have in common; equal requests are equal bytes.

    Attributes:
        model: as the endpoint calls it.
        sampling: parameters that are passed on as they are; none of ``OURS``.
        response_format: asks for structured answers, as long as the endpoint knows it; None asks for plain text. One
            schema for all requests: endpoints prepare each schema that they see anew.
    """

    model: str
    sampling: Mapping[str, Any]
    response_format: Mapping[str, Any] | None

    def body(self, request: Request, structured: bool) -> bytes:
        """JSON of a request; a ``response_format`` among the sampling parameters stands before ours."""
        ours = {"response_format": self.response_format} if structured else {}
        return orjson.dumps({"model": self.model, **request.payload(), **ours, **self.sampling})

    def once(self, request: Request, structured: bool) -> str:
        """32 hex digits for a request: questions, which attempt it is, and form."""
        what = request.key + bytes([request.attempt, structured])
        return hashlib.blake2b(what, digest_size=16).hexdigest()

    def most_tokens(self, request: Request, body: bytes) -> float:
        """About how many tokens a request may take, question and answer together."""
        answer = bound_of(self.sampling) or ANSWER_TOKENS_PER_QUESTION * len(request.keys)
        return len(body) * LIKELY_TOKENS_PER_CHAR + answer
