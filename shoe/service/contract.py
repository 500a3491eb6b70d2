"""API contract: error responses, parsing of request bodies, and the OpenAPI schema of routes."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from math import ceil
from typing import Any, TypeVar

import msgspec
from fastapi import Depends, FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.requests import Request
from starlette.responses import Response

from shoe.core.errors import printable, quote
from shoe.core.io.json import explain_error, parse_json
from shoe.service import types
from shoe.version import __version__


class Refused(Exception):  # noqa: N818
    """Exception that becomes the error response to a request: status, message, wrong field, and advice (`hint`)."""

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
        """Return the HTTP response, whose JSON has the message, the wrong field and the hint."""
        document = {"error": self.message, "field": self.field, "hint": self.hint}
        return json_response({key: value for key, value in document.items() if value}, self.status, self.headers)


def too_many(message: str, wait: float) -> Refused:
    """Return an error with HTTP status 429, and a header with the seconds to wait (`wait` rounded up, at least 1)."""
    seconds = max(1, ceil(wait))
    hint = f"try again in {seconds} s" if seconds <= 600 else None
    return Refused(429, message, hint=hint, headers={"Retry-After": str(seconds)})


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response with a value as JSON."""
    return Response(msgspec.json.encode(value), status, headers, media_type="application/json")


T = TypeVar("T", bound=msgspec.Struct)
_SOURCE = "request"


def body(kind: type[T]) -> Any:
    """Return a FastAPI dependency that parses the JSON body of a request as the struct type `kind`.

    The dependency raises Refused (422), whose message names the unknown fields, or the wrong field and its value.
    """

    async def read(request: Request) -> T:
        data = await request.body()
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # the code below finds the cause
            return msgspec.json.decode(data, type=kind)
        document = parse_json(_SOURCE, data)
        known = [field.encode_name for field in msgspec.structs.fields(kind)]
        if isinstance(document, dict) and (unknown := sorted(document.keys() - set(known))):
            raise unknown_fields("field", unknown, known)
        try:
            return msgspec.convert(document, kind)
        except msgspec.ValidationError as error:
            where = str(error).partition(" - at `$.")[2].rstrip("`") or None
            raise Refused(422, str(explain_error(_SOURCE, error, document, kind)), field=where) from None

    return Depends(read)


def unknown_fields(noun: str, unknown: Sequence[str], known: Sequence[str]) -> Refused:
    """Return an error with HTTP status 422 for unknown names; `noun` is "field" or "parameter"."""
    names = ", ".join(quote(name) for name in unknown[:8])
    return Refused(422, f"{_SOURCE}: unknown {noun} {names}; known: {', '.join(known)}", field=printable(unknown[0]))


async def known_parameters(request: Request) -> None:
    """Raise Refused (422) if a request has query parameters that its route does not define."""
    if request.url.query:
        known = [parameter.alias for parameter in request.scope["route"].dependant.query_params]
        unknown = sorted(request.query_params.keys() - set(known))
        if unknown:
            raise unknown_fields("parameter", unknown, known or ["none"])


_PLACE = "#/components/schemas/{name}"
_REFUSALS = {
    400: "The request is not valid HTTP.",
    401: "The token is missing or not valid.",
    403: "The token does not have the permission, another site sent the request, or the results are withheld.",
    404: "The resource does not exist, or the caller may not see it.",
    408: "The body was sent too slowly.",
    409: "The state of the resource does not allow the action.",
    413: "The body exceeds the size limit.",
    415: "The compression of the body is not supported.",
    421: "The Host header does not contain a name of this server.",
    422: "A field or parameter is wrong; the message names it.",
    429: "Too many requests, runs or uploads; the header Retry-After contains the seconds to wait.",
    500: "Internal server error.",
    503: "The server is stopping, or has too many connections.",
    507: "The disk is full, or the team's disk quota is used up.",
}


def contract(
    gives: Any = None,
    takes: Any = None,
    *,
    media: str | None = None,
    status: int = 200,
    raw: Sequence[str] = (),
    open_to: str = "token",
) -> dict[str, Any]:
    """Return the keyword arguments of a FastAPI route decorator that describe the route in the OpenAPI schema.

    Args:
        gives, takes: types of the JSON response and of the JSON request body; None for bodies that are not JSON.
        media, raw: media type of a response, and media types of a request body, that is not JSON.
        status: HTTP status of a successful response.
        open_to: "all" if no token is needed, else "token".
    """
    answers: dict[int, Any] = {
        code: {"description": why, "content": {"application/json": {"schema": _schema(types.Error)}}}
        for code, why in _REFUSALS.items()
    }
    answers[status] = {"description": "Success."}
    if gives is not None:
        answers[status]["content"] = {"application/json": {"schema": _schema(gives)}}
    elif media is not None:
        answers[status]["content"] = {media: {"schema": {}}}
    extra: dict[str, Any] = {"security": []} if open_to == "all" else {}
    content: dict[str, Any] = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in raw}
    if takes is not None:
        content = {"application/json": {"schema": _schema(takes)}}
    if content:
        extra["requestBody"] = {"required": True, "content": content}
    return {
        "responses": answers,
        "response_model": None,
        "status_code": status,
        "openapi_extra": extra,
        "response_class": Response,
    }


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI schema of an application, which is computed at the first call and then reused."""
    if app.openapi_schema is None:
        kinds = [kind for kind in vars(types).values() if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]
        _, components = msgspec.json.schema_components(kinds, ref_template=_PLACE)
        schema = get_openapi(
            title="shoe serve",
            version=__version__,
            description="Scores human-object interaction predictions. Results have the same JSON as the command line.",
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
