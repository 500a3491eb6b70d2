"""API calls as generators that yield HTTP requests and pauses, for both the blocking and the asynchronous client."""

from __future__ import annotations

import gzip
import hashlib
import random
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TypeVar
from urllib.parse import quote as escaped

import msgspec
from msgspec.structs import replace

from shoe.core.errors import OptionError, ServiceError, printable
from shoe.core.io.files import atomic_write, unreadable_error
from shoe.service.types import ENDED, Error, NewRun, NewUpload, Run, RunList, Upload, Version
from shoe.version import __version__

T = TypeVar("T")

PATIENCE = 120.0
"""Total seconds to wait, per request, for a server that cannot be reached or is busy."""
_FIRST_WAIT, _LONGEST_WAIT = 0.25, 15.0
_BUSY = (408, 425, 429, 502, 503, 504)
"""HTTP statuses after which the request is repeated: too slow, too many requests, or no server behind a proxy."""


@dataclass(frozen=True, slots=True)
class Call:
    """An HTTP request.

    Attributes:
        path: path below the server's address, beginning with "/".
        query: query parameters by name.
        content: body of the request; None for no body.
        headers: additional headers; the client adds its general headers.
    """

    method: str
    path: str
    query: Mapping[str, str | int] = field(default_factory=dict)
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP response.

    Attributes:
        status: HTTP status; None if no complete response arrived.
        headers: headers by lower-case name.
        content: body of the response; a description of the failure if no complete response arrived.
    """

    status: int | None
    headers: Mapping[str, str]
    content: bytes

    def read(self, kind: type[T]) -> T:
        """Parse the JSON body as an instance of the type `kind`.

        Raises:
            ServiceError: if the body has another structure, for example if another program runs at this address.
        """
        try:
            return msgspec.json.decode(self.content, type=kind)
        except msgspec.MsgspecError as error:
            raise ServiceError(
                f"unexpected response: is this the address of a shoe server? ({printable(str(error))})", self.status
            ) from None


Flow = Generator[Call | float, Answer, T]
"""API call: a generator that yields requests and pauses (in seconds), receives responses, and returns a result."""


def get(path: str, kind: type[T], **query: str | int) -> Flow[T]:
    """Send a GET request with query parameters, and parse the JSON of the response; errors of `send_with_retries`."""
    return (yield from send_with_retries(Call("GET", path, query))).read(kind)


def post(path: str, content: msgspec.Struct, kind: type[T], method: str = "POST") -> Flow[T]:
    """Send a struct as JSON by `method`, and parse the JSON of the response; errors of `send_with_retries`."""
    body, headers = msgspec.json.encode(content), {"content-type": "application/json"}
    return (yield from send_with_retries(Call(method, path, content=body, headers=headers))).read(kind)


def send_with_retries(call: Call, *expected: int, patience: float = PATIENCE) -> Flow[Answer]:
    """Send a request, with retries while the server is busy or cannot be reached, and return the response.

    A retry is safe for every request of the API, because equal submissions are the same run.

    Args:
        expected: accepted HTTP statuses besides 200 to 299.
        patience: total seconds to wait between retries.

    Raises:
        ServiceError: for any other status, with the server's message, or if the server stays busy or unreachable.
    """
    wait, left = _FIRST_WAIT, patience
    while True:
        answer = yield call
        if answer.status is not None and answer.status not in _BUSY:
            break
        delay = answer.headers.get("retry-after", "")
        pause = max(wait * random.uniform(0.5, 1.0), float(delay) if delay.isdecimal() else 0.0)  # noqa: S311 - spreads clients
        if pause > left:
            break
        yield pause
        left -= pause
        wait = min(2 * wait, _LONGEST_WAIT)
    if answer.status is None or not (200 <= answer.status < 300 or answer.status in expected):
        raise _service_error(answer)
    return answer


def _service_error(answer: Answer) -> ServiceError:
    if answer.status is None:
        return ServiceError(f"the server cannot be reached ({answer.content.decode('utf-8', 'replace')})")
    if 300 <= answer.status < 400:
        location = answer.headers.get("location")
        return ServiceError(f"the server redirects to {location}: use this address", answer.status)
    try:
        refusal = msgspec.json.decode(answer.content, type=Error)
    except msgspec.MsgspecError:
        return ServiceError(f"the server responded with HTTP status {answer.status} without a message", answer.status)
    return ServiceError(refusal.error + (f" ({refusal.hint})" if refusal.hint else ""), answer.status)


PART = 8 << 20
"""Size in bytes of each part of an upload; after a lost connection, at most one part is sent again."""
_LONGEST_NAME = 200
_TRIES, _PAUSE = 6, 1.0
Progress = Callable[[str, float], None]
"""Progress callback: called with the name of the stage, and the completed fraction of the stage (0 to 1)."""


@contextmanager
def open_hashed(path: str | Path) -> Iterator[File]:
    """Open a file, compute its SHA-256, and yield the open file with name, SHA-256 and size.

    Raises:
        InputError: if the file cannot be read.
    """
    path = Path(path)
    try:
        stream = path.open("rb")
    except OSError as error:
        raise unreadable_error(path, error) from None
    with stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
        yield File(stream, path.name, digest, stream.tell())


def upload(file: File, progress: Progress, *, packed: bool) -> Flow[None]:
    """Send a file, compressed if `packed`; if the file is larger than PART bytes, send parts and call `progress`.

    Raises:
        ServiceError: if the server cannot be reached, or refuses the file.
    """
    if file.size > PART:
        yield from _upload_parts(file, progress, packed)
        return
    part, headers = file.part(0, packed)
    headers |= {"x-content-sha256": file.digest, "content-type": "application/octet-stream"}
    yield from send_with_retries(Call("PUT", "/v1/predictions", {"name": file.name[:_LONGEST_NAME]}, part, headers))


@dataclass(frozen=True, slots=True)
class File:
    """An open file to upload: name, size in bytes, and SHA-256, by which the server identifies the file."""

    stream: BinaryIO
    name: str
    digest: str
    size: int

    def part(self, offset: int, packed: bool) -> tuple[bytes, dict[str, str]]:
        """Return at most PART bytes from `offset`, compressed if `packed`, and the HTTP headers for the compression."""
        self.stream.seek(offset)
        part = self.stream.read(PART)
        if not packed:
            return part, {}
        try:
            from zstandard import ZstdCompressor
        except ImportError:
            return gzip.compress(part, 1), {"content-encoding": "gzip"}
        return ZstdCompressor(3).compress(part), {"content-encoding": "zstd"}


def _upload_parts(file: File, progress: Progress, packed: bool) -> Flow[None]:
    """Send the missing parts of a file; if the server rejects the offset of a part, request the current offset."""
    announced = NewUpload(size=file.size, sha256=file.digest, name=file.name[:_LONGEST_NAME])
    best, left = -1, _TRIES
    while left:
        state = yield from post("/v1/uploads", announced, Upload)
        offset = state.offset
        while offset < file.size:
            progress("uploading", offset / file.size)
            part, headers = file.part(offset, packed)
            headers |= {"upload-offset": str(offset), "content-type": "application/offset+octet-stream"}
            # 404, 409: an earlier copy of this part has arrived, or is arriving, but its response was lost.
            answer = yield from send_with_retries(
                Call("PATCH", f"/v1/uploads/{state.id}", content=part, headers=headers), 404, 409
            )
            if answer.status in (404, 409):
                break
            offset = answer.read(Upload).offset
        if (yield from send_with_retries(Call("GET", f"/v1/predictions/{file.digest}"), 404)).status != 404:
            progress("uploading", 1.0)
            return
        left = _TRIES if offset > best else left - 1
        best = max(best, offset)
        yield _PAUSE
    raise ServiceError(f"{file.name}: the upload stopped at {best:,} of {file.size:,} bytes: submit the file again")


API = 1
_FIRST_PATIENCE = 10.0
"""Total seconds of retries for the first request; short, so that a wrong address is reported soon."""
_FIRST_POLL, _LONGEST_POLL = 0.1, 2.0
RunCallback = Callable[[Run], None]
"""Progress callback: called with the current state of a run after each query."""


def version() -> Flow[Version]:
    """Return the server's version; raise ServiceError if its API is not compatible, or no shoe server responds."""
    try:
        found = (yield from send_with_retries(Call("GET", "/v1/version"), patience=_FIRST_PATIENCE)).read(Version)
    except ServiceError as error:
        if error.status in (404, 410):
            raise ServiceError(
                f"no shoe server with API v{API} at this address (this is shoe {__version__})", error.status
            ) from None
        raise
    if API not in found.api:
        spoken = ", ".join(f"v{number}" for number in found.api)
        raise ServiceError(
            f"shoe {__version__} needs API v{API}, but the server (shoe {found.shoe}) has API {spoken}: "
            f"install shoe {found.shoe}"
        )
    return found


def submit(path: str | Path, wanted: NewRun, *, progress: Progress, packed: bool) -> Flow[Run]:
    """Upload a prediction file if needed, create a run, and return the run.

    Args:
        wanted: request for the run; `prediction` is filled in here, and `name` if None; also `truth` if there is no
            `board`, from the only ground truth on the server (OptionError if there are several or none).
        packed: whether the file is compressed for the transfer.
    """
    if wanted.truth is None and wanted.board is None:
        names = [str(each["name"]) for each in (yield from registered("truths"))]
        if len(names) != 1:
            known = ", ".join(names) or "none"
            raise OptionError(f"truth: found none, expected the name of one of the server's ground truths: {known}")
        wanted = replace(wanted, truth=names[0])
    with open_hashed(path) as file:
        wanted = replace(wanted, prediction=file.digest, name=wanted.name or Path(path).stem)
        try:  # the file is only sent if the server does not have it and accepts the request
            return (yield from post("/v1/runs", wanted, Run))
        except ServiceError as error:
            if error.status != 404 or file.digest not in str(error):
                raise
        yield from upload(file, progress, packed=packed)
    return (yield from post("/v1/runs", wanted, Run))


def wait(id_: str, seen: RunCallback, timeout: float | None) -> Flow[Run]:
    """Query a run every 0.1 to 2 s until the run has ended, and return it; raise ServiceError after `timeout` s."""
    began, pause = time.monotonic(), _FIRST_POLL
    while True:
        state = yield from get(run_path(id_), Run)
        seen(state)
        if state.state in ENDED:
            return state
        if timeout is not None and time.monotonic() - began + pause > timeout:
            raise ServiceError(f"{state.id}: still {state.state} after {timeout:g} s")
        yield pause
        pause = min(1.5 * pause, _LONGEST_POLL)


def runs(state: str | None, after: str | None, limit: int) -> Flow[list[Run]]:
    """Return at most `limit` runs in a state (None: all) after the run `after` (None: first page), the latest first."""
    query: dict[str, str | int] = {"limit": limit}
    query |= {name: value for name, value in (("state", state), ("after", after)) if value is not None}
    return (yield from get("/v1/runs", RunList, **query)).runs


def act(id_: str, action: str) -> Flow[Run]:
    """Cancel, retry or diagnose a run, and return the run, which is unchanged if its state forbids the action."""
    answer = yield from send_with_retries(Call("POST", f"{run_path(id_)}/{action}"), 409)
    return answer.read(Run) if answer.status != 409 else (yield from get(run_path(id_), Run))


def delete(id_: str) -> Flow[None]:
    """Delete a run; do nothing if there is no such run."""
    yield from send_with_retries(Call("DELETE", run_path(id_)), 404)


def file(id_: str, name: str) -> Flow[bytes]:
    """Return the content of the output file `name` of a run."""
    call = Call("GET", f"{run_path(id_)}/files/{escaped(name, safe='')}")
    return (yield from send_with_retries(call)).content


def save(id_: str, name: str, path: str | Path) -> Flow[None]:
    """Download the output file `name` of a run, and write the file `path` atomically."""
    content = yield from file(id_, name)
    with atomic_write(path) as stream:
        stream.write(content)


def registered(kind: str) -> Flow[list[dict[str, Any]]]:
    """Return the registered ground truths (`kind` "truths") or leaderboards ("boards", without tables), as dicts."""
    return (yield from get(f"/v1/{kind}", dict[str, list[dict[str, Any]]]))[kind]


def run_path(id_: str) -> str:
    """Return the path of a run in the API."""
    return f"/v1/runs/{escaped(id_, safe='')}"
