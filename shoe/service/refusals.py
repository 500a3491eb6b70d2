"""What a request is answered that cannot be granted: one clear line as JSON, in the style of the command line."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

import msgspec
from starlette.responses import Response


class Refused(Exception):  # noqa: N818 - said of the request
    """A request is refused.

    Attributes:
        status: of HTTP.
        message: one line.
        field: of the request, that is wrong.
        hint: what to do.
        headers: of the answer.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        field: str | None = None,
        hint: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.field, self.hint = status, message, field, hint
        self.headers = dict(headers or {})

    def response(self) -> Response:
        """The answer."""
        said = {"error": self.message, "field": self.field, "hint": self.hint}
        return json_response({key: value for key, value in said.items() if value}, self.status, self.headers)


def too_many(what: str, wait: float) -> Refused:
    """Return the refusal 429, which asks to wait for some seconds."""
    seconds = max(1, ceil(wait))
    return Refused(429, what, hint=f"try again in {seconds} s", headers={"Retry-After": str(seconds)})


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Answer with JSON."""
    return Response(msgspec.json.encode(value), status, headers, media_type="application/json")
