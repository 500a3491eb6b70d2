"""Requests read by type: one line says what is wrong in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
from fastapi import Depends
from starlette.requests import Request

from shoe.core.errors import InputError, printable, quote
from shoe.io.json import parse_json
from shoe.io.typed import explained
from shoe.service.refusals import Refused

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
