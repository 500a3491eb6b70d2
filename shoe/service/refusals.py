"""What a request is answered that cannot be granted: one clear line as JSON, in the style of the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any, TypeVar

import msgspec
from fastapi import Depends
from starlette.requests import Request
from starlette.responses import Response

from shoe.core.errors import InputError, ShoeError, printable, quote
from shoe.core.io.json import explained, parse_json

# What a client did, or asked for, that the service has to refuse; each is one clear line.
#
# RefusedError
# ├── NotFoundError    no such thing, or none that this team may see
# ├── ConflictError    it cannot be done in the state that things are in
# ├── TooLargeError    more bytes than are taken
# ├── DamagedError     what came is not what was announced
# ├── FullError        no room on the disk
# ├── BusyError        too much at once
# └── QuotaError       no submission left for today


class RefusedError(ShoeError):
    """Base of what the service refuses."""


class NotFoundError(RefusedError):
    """There is no such thing, or none that this team may see."""


class ConflictError(RefusedError):
    """It cannot be done in the state that things are in."""


class TooLargeError(RefusedError):
    """More bytes than are taken."""


class DamagedError(RefusedError):
    """What came is not what was announced: another hash, another size, or packed data that breaks off."""


class FullError(RefusedError):
    """There is no room on the disk."""


class BusyError(RefusedError):
    """Too much at once: it can be asked for again when some of it is done."""


class QuotaError(RefusedError):
    """A team has no submission left for today."""


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


# Requests read by type: one line says what is wrong in them.

T = TypeVar("T", bound=msgspec.Struct)
_SOURCE = "request"


def body(kind: type[T]) -> Any:
    """Make the dependency that reads the JSON of a request as a msgspec struct."""

    async def read(request: Request) -> T:
        return decoded(await request.body(), kind)

    return Depends(read)


def decoded(data: bytes, kind: type[T]) -> T:
    """Read JSON of a type.

    Raises:
        Refused: 422, naming unknown fields, or the field that is wrong, what was found and what is expected.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass  # what is wrong is said below
    try:
        document = parse_json(_SOURCE, data)
    except InputError as error:
        raise Refused(422, str(error)) from None
    known = [field.encode_name for field in msgspec.structs.fields(kind)]
    if isinstance(document, dict) and (unknown := sorted(document.keys() - set(known))):
        raise unknown_fields("field", unknown, known)
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        where = str(error).partition(" - at `$.")[2].rstrip("`") or None
        raise Refused(422, str(explained(_SOURCE, error, document, kind)), field=where) from None


def unknown_fields(what: str, unknown: Sequence[str], known: Sequence[str]) -> Refused:
    """Refuse names that a request may not have."""
    names = ", ".join(quote(name) for name in unknown[:8])
    return Refused(422, f"{_SOURCE}: unknown {what} {names}; known: {', '.join(known)}", field=printable(unknown[0]))


async def known_parameters(request: Request) -> None:
    """See that a request has no parameters but those of its route.

    Raises:
        Refused: 422, naming the others.
    """
    if request.url.query:
        known = [parameter.alias for parameter in request.scope["route"].dependant.query_params]
        unknown = sorted(request.query_params.keys() - set(known))
        if unknown:
            raise unknown_fields("parameter", unknown, known or ["none"])
