"""Calls to a service, each as a generator of requests, for both kinds of client."""

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
from shoe.core.io.files import unreadable
from shoe.service.types import ENDED, Change, Error, NewComparison, NewRun, NewUpload, Run, RunList, Upload, Version
from shoe.version import __version__

# What a client does, apart from how it is sent: a flow yields calls and waits, and is given the answers.
#
# The same flow is run by :class:`~shoe.service.client.client.Client` and by
# :class:`~shoe.service.client.client.AsyncClient`, so that
# each exchange is written once.

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
    """Wait for some seconds."""

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
    """Request a path until there is an answer."""
    return asked(Call("GET", path, query))


def post(path: str, content: msgspec.Struct, method: str = "POST") -> Flow[Answer]:
    """Send JSON until there is an answer."""
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


# Prediction files on their way to a service: not at all where it has them, else in parts that can be sent again.

PART = 8 << 20
"""Bytes of a file that are sent at once: what a lost connection costs at most."""
_LONGEST_NAME = 200
_TRIES, _PAUSE = 6, 1.0
Told = Callable[[str, float], None]
"""Called with what is being done, and how much of it is done, 0 to 1."""


@contextmanager
def opened(path: str | Path) -> Iterator[File]:
    """Open a file that the server may have.

    Raises:
        InputError: for a file that cannot be read.
    """
    path = Path(path)
    try:
        stream = path.open("rb")
    except OSError as error:
        raise unreadable(path, error) from None
    with stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
        yield File(stream, path.name, digest, stream.tell())


def upload(file: File, tell: Told, *, packed: bool) -> Flow[None]:
    """Send a file to the server, compressed if `packed`.

    Raises:
        ServiceError: for a server that cannot be reached, or refuses it.
    """
    if file.size > PART:
        yield from _in_parts(file, tell, packed)
        return
    part, headers = file.part(0, packed)
    headers |= {"x-content-sha256": file.digest, "content-type": "application/octet-stream"}
    yield from asked(Call("PUT", "/v1/predictions", {"name": file.name[:_LONGEST_NAME]}, part, headers))


@dataclass(frozen=True, slots=True)
class File:
    """A file: its name, size in bytes, and SHA-256, by which the server identifies it."""

    stream: BinaryIO
    name: str
    digest: str
    size: int

    def part(self, offset: int, packed: bool) -> tuple[bytes, dict[str, str]]:
        """Return the part that begins at an offset, and the header that names its compression, if any."""
        self.stream.seek(offset)
        part = self.stream.read(PART)
        if not packed:
            return part, {}
        try:
            from zstandard import ZstdCompressor
        except ImportError:
            return gzip.compress(part, 1), {"content-encoding": "gzip"}
        return ZstdCompressor(3).compress(part), {"content-encoding": "zstd"}


def _in_parts(file: File, tell: Told, packed: bool) -> Flow[None]:
    """Send the parts that the server lacks; where it disagrees, ask it for the offset again."""
    announced = NewUpload(size=file.size, sha256=file.digest, name=file.name[:_LONGEST_NAME])
    best, left = -1, _TRIES
    while left:
        state = (yield from post("/v1/uploads", announced)).read(Upload)
        offset = state.offset
        while offset < file.size:
            tell("uploading", offset / file.size)
            part, headers = file.part(offset, packed)
            headers |= {"upload-offset": str(offset), "content-type": "application/offset+octet-stream"}
            # 404, 409: it has arrived though its answer was lost, wholly or in part, or is still arriving.
            answer = yield from asked(Call("PATCH", f"/v1/uploads/{state.id}", content=part, headers=headers), 404, 409)
            if answer.status in (404, 409):
                break
            offset = answer.read(Upload).offset
        if (yield from asked(Call("GET", f"/v1/predictions/{file.digest}"), 404)).status != 404:
            tell("uploading", 1.0)
            return
        left = _TRIES if offset > best else left - 1
        best = max(best, offset)
        yield Wait(_PAUSE)
    raise ServiceError(f"{file.name}: the server does not take more than {best:,} of its {file.size:,} bytes")


API = 1
_FIRST_PATIENCE = 10.0
"""Seconds to wait for a server that nothing was heard of yet: it may start again, and its address may be wrong."""
_FIRST_LOOK, _LONGEST_LOOK = 0.1, 2.0
Seen = Callable[[Run], None]
"""Called with each state of a run that is waited for."""


def version() -> Flow[Version]:
    """Ask for the server's version, and check that it is compatible."""
    try:
        found = (yield from asked(Call("GET", "/v1/version"), patience=_FIRST_PATIENCE)).read(Version)
    except ServiceError as error:
        if error.status in (404, 410):
            raise ServiceError(
                f"no shoe service with API v{API} is there (it may be of another version: this is shoe {__version__})",
                error.status,
            ) from None
        raise
    if API not in found.api:
        spoken = ", ".join(f"v{number}" for number in found.api)
        raise ServiceError(
            f"the server runs shoe {found.shoe} and speaks API {spoken}, this is shoe {__version__}, which speaks "
            f"v{API}: pip install 'shoe-eval[client]=={found.shoe}'"
        )
    return found


def submit(path: str | Path, wanted: NewRun, *, tell: Told, packed: bool) -> Flow[Run]:
    """Upload the file if needed and create a run.

    Args:
        path: of the prediction file.
        wanted: the run; its prediction is filled in, and its truth and name unless given.
        tell: progress callback.
        packed: whether the file is compressed for the transfer.
    """
    if wanted.truth is None and wanted.board is None:
        names = [str(each["name"]) for each in (yield from truths())]
        if len(names) != 1:
            known = ", ".join(names) or "none"
            raise OptionError(
                f"truth: found none named, expected one of the ground truths that the server has: {known}"
            )
        wanted = replace(wanted, truth=names[0])
    with opened(path) as file:
        wanted = replace(wanted, prediction=file.digest, name=wanted.name or Path(path).stem)
        try:  # the file is only sent if the server does not have it and accepts the request
            return (yield from post("/v1/runs", wanted)).read(Run)
        except ServiceError as error:
            if error.status != 404 or file.digest not in str(error):
                raise
        yield from upload(file, tell, packed=packed)
    return (yield from post("/v1/runs", wanted)).read(Run)


def run(of: str) -> Flow[Run]:
    """Ask for a run's state."""
    return (yield from get(_place(of))).read(Run)


def wait(of: str, seen: Seen, timeout: float | None) -> Flow[Run]:
    """Poll a run until it has ended, at growing intervals."""
    began, pause = time.monotonic(), _FIRST_LOOK
    while True:
        state = yield from run(of)
        seen(state)
        if state.state in ENDED:
            return state
        if timeout is not None and time.monotonic() - began + pause > timeout:
            raise ServiceError(f"{state.id}: found {state.state} after {timeout:g} s, expected it to have ended")
        yield Wait(pause)
        pause = min(1.5 * pause, _LONGEST_LOOK)


def runs(state: str | None, after: str | None, limit: int) -> Flow[list[Run]]:
    """List runs, the latest first."""
    query: dict[str, str | int] = {"limit": limit}
    query |= {name: value for name, value in (("state", state), ("after", after)) if value is not None}
    return (yield from get("/v1/runs", **query)).read(RunList).runs


def act(of: str, what: str) -> Flow[Run]:
    """Cancel, retry or diagnose a run; a run in the wanted state, as after a lost answer, stays so."""
    answer = yield from asked(Call("POST", f"{_place(of)}/{what}"), 409)
    return answer.read(Run) if answer.status != 409 else (yield from run(of))


def change(of: str, what: Change) -> Flow[Run]:
    """Change the name or the visibility of a run."""
    return (yield from post(_place(of), what, "PATCH")).read(Run)


def delete(of: str) -> Flow[None]:
    """Delete a run; one that is gone already is no error."""
    yield from asked(Call("DELETE", _place(of)), 404)


def result(of: str) -> Flow[dict[str, Any]]:
    """Return the JSON of ``shoe score``, or of another kind of run."""
    return (yield from get(f"{_place(of)}/result")).read(dict[str, Any])


def file(of: str, name: str) -> Flow[bytes]:
    """Return a file that a run has made."""
    return (yield from get(f"{_place(of)}/files/{escaped(name, safe='')}")).content


def compare(wanted: NewComparison) -> Flow[Run]:
    """Submit a comparison of runs."""
    return (yield from post("/v1/compare", wanted)).read(Run)


def truths() -> Flow[list[dict[str, Any]]]:
    """Return registered ground truths."""
    return (yield from get("/v1/truths")).read(dict[str, list[dict[str, Any]]])["truths"]


def boards() -> Flow[list[dict[str, Any]]]:
    """Return leaderboards."""
    return (yield from get("/v1/boards")).read(dict[str, list[dict[str, Any]]])["boards"]


def board(name: str) -> Flow[dict[str, Any]]:
    """Return a leaderboard's table."""
    return (yield from get(f"/v1/boards/{escaped(name, safe='')}")).read(dict[str, Any])


def _place(of: str) -> str:
    return f"/v1/runs/{escaped(of, safe='')}"
