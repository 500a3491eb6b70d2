"""What a client does, apart from how it is sent: a flow yields calls and waits, and is given the answers.

The same flow is run by :class:`~shoe.client.client.Client` and by :class:`~shoe.client.client.AsyncClient`, so that
each exchange is written once.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from shoe.core.errors import ServiceError, printable
from shoe.service.types import Error

T = TypeVar("T")

PATIENCE = 120.0
"""Seconds that are waited in all for a service that cannot be reached or is busy, for each thing asked of it."""
_FIRST_WAIT, _LONGEST_WAIT = 0.25, 15.0
_BUSY = (408, 425, 429, 502, 503, 504)
"""Answers after which the same may be asked again: not yet, too many, or nobody behind a proxy."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request.

    Attributes:
        method: of HTTP.
        path: below the server's address, from "/" on.
        query: what stands behind "?".
        content: the body.
        headers: beside those that each request has.
    """

    method: str
    path: str
    query: Mapping[str, str | int] = field(default_factory=dict)
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing for some seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back.

    Attributes:
        status: of HTTP; None where no whole answer came.
        headers: by lower-case name.
        content: the body; why nothing came, where nothing did.
    """

    status: int | None
    headers: Mapping[str, str]
    content: bytes

    def read(self, kind: type[T]) -> T:
        """The body as a kind of object.

        Raises:
            ServiceError: if it is something else, as the page of another program.
        """
        try:
            return msgspec.json.decode(self.content, type=kind)
        except msgspec.MsgspecError as error:
            raise ServiceError(
                f"the server answers with something else than a shoe service does ({printable(str(error))})",
                self.status,
            ) from None


Flow = Generator[Call | Wait, Answer, T]


def get(path: str, **query: str | int) -> Flow[Answer]:
    """Ask for something, until there is an answer."""
    return asked(Call("GET", path, query))


def post(path: str, content: msgspec.Struct, method: str = "POST") -> Flow[Answer]:
    """Send JSON, until there is an answer."""
    body = msgspec.json.encode(content)
    return asked(Call(method, path, content=body, headers={"content-type": "application/json"}))


def asked(call: Call, *expected: int, patience: float = PATIENCE) -> Flow[Answer]:
    """Send a request again until a server that can be reached and is not busy has answered.

    Only what may be done twice is sent by this: all that the interface has is, since equal work is one run there.

    Args:
        call: the request.
        expected: statuses that are no errors, beside those below 300.
        patience: seconds to wait in all.

    Raises:
        ServiceError: for a refusal, in the server's words, or after too long a wait.
    """
    wait, left = _FIRST_WAIT, patience
    while True:
        answer = yield call
        if answer.status is not None and answer.status not in _BUSY:
            break
        told = answer.headers.get("retry-after", "")
        pause = max(wait * random.uniform(0.5, 1.0), float(told) if told.isdecimal() else 0.0)  # noqa: S311 - spreads clients
        if pause > left:
            break
        yield Wait(pause)
        left -= pause
        wait = min(2 * wait, _LONGEST_WAIT)
    if answer.status is None or not (200 <= answer.status < 300 or answer.status in expected):
        raise _refusal(answer)
    return answer


def _refusal(answer: Answer) -> ServiceError:
    if answer.status is None:
        return ServiceError(f"the server cannot be reached ({answer.content.decode('utf-8', 'replace')})")
    if 300 <= answer.status < 400:
        return ServiceError(f"the server sends elsewhere: use {answer.headers.get('location')}", answer.status)
    try:
        said = msgspec.json.decode(answer.content, type=Error)
    except msgspec.MsgspecError:
        return ServiceError(f"the server answers {answer.status}, and does not say why", answer.status)
    return ServiceError(said.error + (f" ({said.hint})" if said.hint else ""), answer.status)
