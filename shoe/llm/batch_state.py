"""State of batches, which may continue over several runs of the process, and the parser of their results.

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

Name = tuple[bytes, int]
"""Key of a question, and number of the attempt (1 or 2)."""


def names_of(request: Request) -> list[Name]:
    """Return (key, attempt) of each question of a request."""
    return [(key, request.attempt) for key in request.keys]


class _Prepared(msgspec.Struct, tag_field="event", tag="prepared"):
    digest: str
    requests: list[
        tuple[
            str,
            Annotated[int, msgspec.Meta(ge=1, le=2)],
            Annotated[str, msgspec.Meta(pattern=rf"^([0-9a-f]{{{2 * KEY_BYTES}}})+\Z")],
        ]
    ]


class _Uploaded(msgspec.Struct, tag_field="event", tag="uploaded"):
    digest: str
    file: str


class _Begun(msgspec.Struct, tag_field="event", tag="started"):
    digest: str
    batch: str


class _Ended(msgspec.Struct, tag_field="event", tag="ended"):
    digest: str


Event = _Prepared | _Uploaded | _Begun | _Ended
"""Event of a batch in a ledger; see the module's docstring."""


@dataclass(slots=True)
class Started:
    """A batch that was started or may have been started, and has not ended.

    Attributes:
        digest: hash of the batch's requests.
        requests: (key, attempt) of each question, by custom ID of the request.
        file: ID of the uploaded file, if known.
        batch: ID of the batch, if known.
        found: by (key, attempt), a request with this question alone, for each question of the batch that was also found
            among the requests of this run.
        overlapped: whether another batch was running at any time during this batch.
    """

    digest: str
    requests: dict[str, list[Name]]
    file: str | None = None
    batch: str | None = None
    found: dict[Name, Request] = field(default_factory=dict)
    overlapped: bool = False

    @property
    def found_all(self) -> bool:
        """Whether all questions of the batch were found among the requests of this run that were read so far."""
        return len(self.found) == sum(map(len, self.requests.values()))

    def open_request(self, custom_id: str) -> Request | None:
        """Return a request with those questions under ``custom_id`` that belong to this run; None if there are none."""
        return _together([self.found[name] for name in self.requests[custom_id] if name in self.found])

    def request(self, custom_id: str) -> Request | None:
        """Return the request with a custom ID; None unless all its questions belong to this run.

        An answer cannot be parsed for only some of its questions, because their IDs depend on the other questions.
        """
        return self.open_request(custom_id) if all(name in self.found for name in self.requests[custom_id]) else None


class Supply:
    """Queue of the requests that are still to be sent, without the questions that are already in a running batch."""

    def __init__(self, requests: Iterator[Request]) -> None:
        self._requests = requests
        self._waiting: deque[Request] = deque()
        self._again: deque[Request] = deque()
        self._batch_of: dict[Name, Started] = {}

    def take(self, *, again: bool) -> Request | None:
        """Return the next request, or None; with ``again``, also requests to be repeated, after all new requests."""
        request = self._waiting.popleft() if self._waiting else self._next()
        return self._again.popleft() if request is None and again and self._again else request

    def put_back(self, request: Request) -> None:
        """Put a request back to the front of the queue."""
        self._waiting.appendleft(request)

    def ask_again(self, request: Request) -> None:
        """Queue a request to be sent again."""
        self._again.append(request)

    def hold(self, started: Started) -> None:
        """Leave the questions of a batch out of the queue, and store them in ``started.found`` when they are read."""
        self._batch_of.update((name, started) for names in started.requests.values() for name in names)

    def release(self, started: Started) -> None:
        """Stop leaving the questions of a batch out of the queue."""
        for names in started.requests.values():
            for name in names:
                self._batch_of.pop(name, None)

    def find(self, enough: Callable[[], bool]) -> None:
        """Read requests ahead, which fills ``found`` of held batches, until ``enough()`` is True or none is left."""
        while not enough() and (request := self._next()):
            self._waiting.append(request)

    def _next(self) -> Request | None:
        for request in self._requests:
            if self._batch_of.keys().isdisjoint(names_of(request)):
                return request
            rest: list[Request] = []
            for part in request.parts():
                (name,) = names_of(part)
                if started := self._batch_of.get(name):
                    started.found[name] = part
                else:
                    rest.append(part)
            if rest:
                return _together(rest)
        return None


def past(events: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Started], set[str]]:
    """Return, from events of earlier runs, the batches that have not ended, by digest, and the IDs of ended batches."""
    running: dict[str, Started] = {}
    ended: set[str] = set()
    for event in events:
        match event:
            case {"event": "prepared", "digest": digest, "requests": requests}:
                made = ((name, Request(bytes.fromhex(keys), {}, attempt=attempt)) for name, attempt, keys in requests)
                running[digest] = Started(digest, {name: names_of(request) for name, request in made})
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
    """Parse a line of an output or error file; return the custom ID ("" if the line is invalid) and the result.

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
