"""Contract of each route: its OpenAPI schema, and refusals as one clear line of JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import ceil
from typing import Any, TypeVar

import msgspec
from fastapi import Depends, FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.requests import Request
from starlette.responses import Response

from shoe.core.errors import InputError, ShoeError, printable, quote
from shoe.core.io.json import explained, parse_json
from shoe.service import types
from shoe.version import __version__

# What a request is answered that cannot be granted: one clear line as JSON, in the style of the command line.

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
    """Base class of refusals of the service."""


class NotFoundError(RefusedError):
    """Raised for a thing that does not exist, or that this team may not see."""


class ConflictError(RefusedError):
    """Raised for an action that the state of a thing does not allow."""


class TooLargeError(RefusedError):
    """Raised for more bytes than the limit."""


class DamagedError(RefusedError):
    """Raised for content with another hash or size than announced, or packed data that breaks off."""


class FullError(RefusedError):
    """Raised when the disk is full."""


class BusyError(RefusedError):
    """Raised when too much is in progress; the request may be repeated later."""


class QuotaError(RefusedError):
    """Raised when a team has no submission left for today."""


class Refused(Exception):  # noqa: N818 - said of the request
    """A refusal with its HTTP status.

    Attributes:
        field: name of the wrong field of the request.
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
        """Return the refusal as a response."""
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
    """Raise Refused for names that a request may not have."""
    names = ", ".join(quote(name) for name in unknown[:8])
    return Refused(422, f"{_SOURCE}: unknown {what} {names}; known: {', '.join(known)}", field=printable(unknown[0]))


async def known_parameters(request: Request) -> None:
    """Raise Refused (422), naming unknown parameters, if a request has parameters that its route does not."""
    if request.url.query:
        known = [parameter.alias for parameter in request.scope["route"].dependant.query_params]
        unknown = sorted(request.query_params.keys() - set(known))
        if unknown:
            raise unknown_fields("parameter", unknown, known or ["none"])


_PLACE = "#/components/schemas/{name}"
_REFUSALS = {
    400: "The request is no HTTP that is understood here.",
    401: "It needs a token, or a valid one.",
    403: "The token does not allow it, a page of another site asked for it, or the ground truth is not shown.",
    404: "There is no such thing, or none that the caller may see.",
    408: "The body came too slowly.",
    409: "It cannot be done in the state that things are in.",
    413: "The body is larger than is taken.",
    415: "The body is packed in a way that is not taken.",
    421: "The server does not go by this name.",
    422: "A field or parameter is wrong; the message names it.",
    429: "Too often, or too much at once: Retry-After says when to come again.",
    500: "A fault of the server's own.",
    503: "The server is stopping, or has too many connections.",
    507: "No disk space is left, for all or for the team.",
}


def contract(
    gives: Any = None,
    takes: Any = None,
    *,
    media: str | None = None,
    status: int = 200,
    also: Mapping[int, Any] | None = None,
    raw: Sequence[str] = (),
    open_to: str = "token",
    hidden: bool = False,
) -> dict[str, Any]:
    """Return the arguments of a route's decorator that describe the route.

    Args:
        gives: type of the answer's JSON.
        takes: type of the body's JSON.
        media: media type of an answer that is not JSON.
        also: types of answers with other statuses.
        raw: media types of a body that is not JSON.
        open_to: "all" where no token is needed.
        hidden: whether the schema leaves the route out.
    """
    answers: dict[int, Any] = {
        code: {"description": why, "content": {"application/json": {"schema": _schema(types.Error)}}}
        for code, why in _REFUSALS.items()
    }
    for code, kind in {**(also or {}), status: gives}.items():
        answers[code] = {"description": "What was asked for."}
        if kind is not None:
            answers[code]["content"] = {"application/json": {"schema": _schema(kind)}}
        elif media is not None and code == status:
            answers[code]["content"] = {media: {"schema": {}}}
    extra: dict[str, Any] = {}
    if takes is not None:
        content: dict[str, Any] = {"application/json": {"schema": _schema(takes)}}
        extra["requestBody"] = {"required": True, "content": content}
    elif raw:
        binary = {"schema": {"type": "string", "format": "binary"}}
        extra["requestBody"] = {"required": True, "content": dict.fromkeys(raw, binary)}
    if open_to == "all":
        extra["security"] = []
    return {
        "responses": answers,
        "response_model": None,
        "status_code": status,
        "openapi_extra": extra,
        "include_in_schema": not hidden,
        "response_class": Response,
    }


def describe(app: FastAPI) -> dict[str, Any]:
    """Make the OpenAPI schema of an application, once."""
    if app.openapi_schema is None:
        kinds = [kind for kind in vars(types).values() if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]
        _, components = msgspec.json.schema_components(kinds, ref_template=_PLACE)
        schema = get_openapi(
            title="shoe serve",
            version=__version__,
            description="Scores human-object interaction predictions; the JSON of results is the command line's.",
            routes=app.routes,
        )
        schema.setdefault("components", {})["schemas"] = components
        schema["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        schema["security"] = [{"token": []}] if app.state.shared.settings.open_to == "tokens" else [{"token": []}, {}]
        app.openapi_schema = schema
    return app.openapi_schema


@cache
def _schema(kind: Any) -> Any:
    (schema,), _ = msgspec.json.schema_components([kind], ref_template=_PLACE)
    return schema
