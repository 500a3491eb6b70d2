"""State of batches, which may take longer than one run of the command, and the parser of their results.

The ledger contains these events per batch, in this order: ``{"event": "prepared", "digest", "requests": [[custom_id,
attempt, keys], ...]}`` before anything is sent; ``{"event": "uploaded", "digest", "file"}``; ``{"event": "started",
"digest", "batch"}``; ``{"event": "ended", "digest"}`` after the batch's last answer was recorded. If there is no
"started" event, the batch is looked up at the endpoint by its digest.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec

from shoe.core.errors import ShoeError
from shoe.llm.endpoint import Endpoint
from shoe.llm.errors import NoResponseFormatError, Transient, answer, is_shallow
from shoe.llm.request import KEY_BYTES, Request

Name = tuple[bytes, int]  # key of a question, and number of the attempt (1 or 2)


def attempts_in(request: Request) -> list[Name]:
    """Return (key, attempt) for each question of a request; the attempt (1 or 2) is the same for all."""
    return [(key, request.attempt) for key in request.keys]


_Number = Annotated[int, msgspec.Meta(ge=1, le=2)]
_Keys = Annotated[str, msgspec.Meta(pattern=rf"^([0-9a-f]{{{2 * KEY_BYTES}}})+\Z")]


EVENTS: dict[str, list[tuple[str, Any]]] = {
    "prepared": [("digest", str), ("requests", list[tuple[str, _Number, _Keys]])],
    "uploaded": [("digest", str), ("file", str)],
    "started": [("digest", str), ("batch", str)],
    "ended": [("digest", str)],
}
"""Fields of the events of batches in a ledger, by kind of event; see the module's docstring."""


@dataclass(slots=True)
class OpenBatch:
    """A batch that has not ended, or whose start is uncertain because an earlier run was killed."""

    digest: str
    requests: dict[str, list[Name]]  # (key, attempt) of each question, by custom ID of the request
    # file, batch: IDs of the uploaded file and of the batch; None if not known.
    file: str | None = None
    batch: str | None = None
    # {(key, attempt): single-question request} for those questions of the batch that the present run needs.
    found: dict[Name, Request] = field(default_factory=dict)
    overlapped: bool = False  # whether another batch ran at the same time

    def request(self, custom_id: str) -> Request | None:
        """Return the request with a custom ID, with only those questions that this run needs; None if it needs none."""
        return _together([self.found[name] for name in self.requests[custom_id] if name in self.found])


class Supply:
    """Queue of the requests to be sent; questions that are already in a running batch are left out.

    Requests that were taken but not sent are put back into ``waiting``; those whose answer is missing go into
    ``again``.
    """

    def __init__(self, requests: Iterator[Request]) -> None:
        self._requests = requests
        self.waiting: deque[Request] = deque()
        self.again: deque[Request] = deque()
        self._batch_of: dict[Name, OpenBatch] = {}

    def take(self, *, again: bool) -> Request | None:
        """Return the next request, or None after the last; if ``again``, also those of which an answer is missing."""
        request = self.waiting.popleft() if self.waiting else self._next()
        return self.again.popleft() if request is None and again and self.again else request

    def exclude(self, batch: OpenBatch) -> None:
        """Leave out the questions of ``batch`` from now on; requests for them are collected in ``batch.found``."""
        self._batch_of.update((name, batch) for names in batch.requests.values() for name in names)

    def include(self, batch: OpenBatch) -> None:
        """Cancel :meth:`exclude` for the questions of ``batch``; questions already left out are not queued."""
        for names in batch.requests.values():
            for name in names:
                self._batch_of.pop(name, None)

    def read_ahead(self, enough: Callable[[], bool]) -> None:
        """Queue requests until ``enough()`` is True or none is left, without questions left out by :meth:`exclude`."""
        while not enough() and (request := self._next()):
            self.waiting.append(request)

    def _next(self) -> Request | None:
        for request in self._requests:
            if self._batch_of.keys().isdisjoint(attempts_in(request)):
                return request
            rest: list[Request] = []
            for part in request.parts():
                (name,) = attempts_in(part)
                if batch := self._batch_of.get(name):
                    batch.found[name] = part
                else:
                    rest.append(part)
            if rest:
                return _together(rest)
        return None


def batches_in(events: Iterable[Mapping[str, Any]]) -> tuple[dict[str, OpenBatch], set[str]]:
    """Return ({digest: batch} of prepared batches that have not ended, IDs of ended batches) from a ledger's events.

    ``file`` or ``batch`` of a batch that is not yet uploaded or started is None. An ended batch without ID has ID "".
    """
    running: dict[str, OpenBatch] = {}
    ended: set[str] = set()
    for event in events:
        match event:
            case {"event": "prepared", "digest": digest, "requests": requests}:
                made = ((name, Request(bytes.fromhex(keys), {}, attempt=attempt)) for name, attempt, keys in requests)
                running[digest] = OpenBatch(digest, {name: attempts_in(request) for name, request in made})
            case {"event": "uploaded", "digest": digest, "file": file} if digest in running:
                running[digest].file = file
            case {"event": "started", "digest": digest, "batch": batch} if digest in running:
                running[digest].batch = batch
            case {"event": "ended", "digest": digest} if digest in running:
                ended.add(running.pop(digest).batch or "")
    return running, ended


class _Response(msgspec.Struct):
    status_code: int = 0
    body: Any = None


class _Error(msgspec.Struct):
    code: str | None = None


class _Line(msgspec.Struct):
    custom_id: str
    response: _Response | None
    error: _Error | None = None


Result = dict[str, Any] | Transient | NoResponseFormatError | ShoeError


def result_of(place: Endpoint, model: str, text: bytes) -> tuple[str, Result]:
    """Parse a line of an output or error file of a batch; return (custom ID, result), with ID "" if it is invalid.

    The result is the answer as JSON, or the exception that describes the failure (returned, not raised).
    """
    try:
        line = msgspec.json.decode(text, type=_Line, strict=False)
    except (ValueError, RecursionError):
        return "", Transient("malformed line")
    name, response, error = line.custom_id, line.response or _Response(), line.error or _Error()
    if not response.status_code:
        return name, Transient("expired" if error.code == "batch_expired" else place.shown(error.code or "failed"))
    body = response.body
    written = body.encode() if isinstance(body, str) else msgspec.json.encode(body)
    try:
        return name, answer(place, model, response.status_code, {}, written if is_shallow(body) else text)
    except (Transient, NoResponseFormatError, ShoeError) as failed:
        return name, failed


def _together(parts: list[Request]) -> Request | None:
    return parts[0].joined(parts[1:]) if parts else None
