"""What the OpenAPI schema says of each route: what it takes, what it gives, and how it refuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.responses import Response

from shoe.service import types
from shoe.version import __version__

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
    """Make the arguments of a route that describe it.

    Args:
        gives: type of the answer's JSON.
        takes: type of the body's JSON.
        media: of an answer that is no JSON.
        status: of the answer.
        also: types of answers of other statuses.
        raw: media types of a body that is no JSON.
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
