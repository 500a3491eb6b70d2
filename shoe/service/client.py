"""Python clients for a shoe server: a blocking client, and an asynchronous client.

API calls are generators that yield HTTP requests and pauses, so that both clients share them.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import random
import re
import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Concatenate, ParamSpec, Self, TypeVar, cast
from urllib.parse import quote as escaped, urlsplit

import msgspec
from msgspec.structs import replace

from shoe.core.errors import MissingExtraError, OptionError, ServiceError, printable, quote
from shoe.core.io.files import atomic_write, unreadable_error
from shoe.service.settings import is_loopback
from shoe.service.types import ENDED, Change, Error, NewComparison, NewRun, NewUpload, Run, RunList, Upload, Version
from shoe.version import __version__

if TYPE_CHECKING:
    import httpx2

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Flow = Generator["dict[str, Any] | float", "httpx2.Response | ServiceError", T]
"""API call: a generator that yields requests (arguments of ``httpx2.Client.request``) and pauses (in seconds).

For each request it receives the response, or an error if the server cannot be reached."""
Progress = Callable[[str, float], None]
"""Progress callback: called with the name of the stage, and the completed fraction of the stage (0 to 1)."""
RunCallback = Callable[[Run], None]
"""Progress callback: called with the current state of a run after each query."""
API = 1
PART = 8 << 20
"""Size in bytes of each part of an upload; after a lost connection, at most one part is sent again."""
_PATIENCE, _FIRST_PATIENCE = 120.0, 10.0
"""Seconds to wait for a busy or unreachable server: for most requests, and for the first (its address may be wrong)."""
_FIRST_WAIT, _LONGEST_WAIT = 0.25, 15.0
_FIRST_POLL, _LONGEST_POLL = 0.1, 2.0
_TIMEOUT, _CONNECT = 60.0, 10.0
_TRIES, _PAUSE = 6, 1.0
_LONGEST_NAME = 200
_BUSY = (408, 425, 429, 502, 503, 504)
"""HTTP statuses after which the request is repeated: too slow, too many requests, or no server behind a proxy."""
_NUMBER = re.compile(r"^\[Errno -?\d+\] ")  # error number at the beginning of a message of the operating system


def send(method: str, path: str, *expected: int, patience: float = _PATIENCE, **options: Any) -> Flow[httpx2.Response]:
    """Send a request, with retries while the server is busy or cannot be reached, and return the response.

    A retry is safe for every request of the API, because repeated submissions give the same run. Raise ServiceError,
    with the server's message, for HTTP statuses other than 200 to 299 and `expected`, or if the server stays busy or
    unreachable: `patience` is the total waiting time in seconds. `options` are arguments of ``httpx2.Client.request``.
    """
    wait, left = _FIRST_WAIT, patience
    while True:
        answer = yield {"method": method, "url": path, **options}
        if isinstance(answer, ServiceError):
            delay = ""
        elif answer.status_code in _BUSY:
            delay = answer.headers.get("retry-after", "")
        else:
            break
        pause = max(wait * random.uniform(0.5, 1.0), float(delay) if delay.isdecimal() else 0.0)  # noqa: S311 - spreads clients
        if pause > left:
            break
        yield pause
        left -= pause
        wait = min(2 * wait, _LONGEST_WAIT)
    if isinstance(answer, ServiceError):
        raise answer
    status = answer.status_code
    if answer.is_success or status in expected:
        return answer
    if 300 <= status < 400:
        raise ServiceError(f"the server redirects to {answer.headers.get('location')}: use this address", status)
    try:
        refusal = msgspec.json.decode(answer.content, type=Error)
    except msgspec.MsgspecError:
        raise ServiceError(f"the server responded with HTTP status {status} without a message", status) from None
    raise ServiceError(refusal.error + (f" ({refusal.hint})" if refusal.hint else ""), status)


def _read(response: httpx2.Response, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(response.content, type=kind)
    except msgspec.MsgspecError as error:  # for example, if another program runs at this address
        raise ServiceError(
            f"unexpected response: is this the address of a shoe server? ({printable(str(error))})",
            response.status_code,
        ) from None


def _get(path: str, kind: type[T], **query: str | int | None) -> Flow[T]:
    """Send a GET request with the query parameters that are not None, and parse the JSON of the response."""
    given = {name: value for name, value in query.items() if value is not None}
    return _read((yield from send("GET", path, params=given or None)), kind)


def _post(path: str, content: msgspec.Struct, kind: type[T], method: str = "POST") -> Flow[T]:
    """Send a struct as JSON by `method`, and parse the JSON of the response."""
    body, headers = msgspec.json.encode(content), {"content-type": "application/json"}
    return _read((yield from send(method, path, content=body, headers=headers)), kind)


def _then(flow: Flow[T], convert: Callable[[T], R]) -> Flow[R]:
    return convert((yield from flow))


@dataclass(frozen=True, slots=True)
class _File:
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


def _upload(file: _File, progress: Progress, packed: bool) -> Flow[None]:
    """Send a file in one request, or, if it is larger than 8 MiB, in parts, with calls of `progress`."""
    if file.size <= PART:
        part, headers = file.part(0, packed)
        headers |= {"x-content-sha256": file.digest, "content-type": "application/octet-stream"}
        name = {"name": file.name[:_LONGEST_NAME]}
        yield from send("PUT", "/v1/predictions", params=name, content=part, headers=headers)
        return
    announced = NewUpload(size=file.size, sha256=file.digest, name=file.name[:_LONGEST_NAME])
    best, left = -1, _TRIES
    while left:
        state = yield from _post("/v1/uploads", announced, Upload)
        offset = state.offset
        while offset < file.size:
            progress("uploading", offset / file.size)
            part, headers = file.part(offset, packed)
            headers |= {"upload-offset": str(offset), "content-type": "application/offset+octet-stream"}
            # 404, 409: an earlier copy of this part has arrived, or is arriving, but its response was lost.
            answer = yield from send("PATCH", f"/v1/uploads/{state.id}", 404, 409, content=part, headers=headers)
            if answer.status_code in (404, 409):
                break  # and request the current offset
            offset = _read(answer, Upload).offset
        if (yield from send("GET", f"/v1/predictions/{file.digest}", 404)).status_code != 404:
            progress("uploading", 1.0)
            return
        left = _TRIES if offset > best else left - 1
        best = max(best, offset)
        yield _PAUSE
    raise ServiceError(f"{file.name}: the upload stopped at {best:,} of {file.size:,} bytes: submit the file again")


def server_version() -> Flow[Version]:
    """Return the server's version; raise ServiceError if its API is not compatible, or no shoe server responds."""
    try:
        found = _read((yield from send("GET", "/v1/version", patience=_FIRST_PATIENCE)), Version)
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


def _submit(path: str | Path, wanted: NewRun, progress: Progress, packed: bool) -> Flow[Run]:
    """Upload a prediction file if needed, create a run, and return the run.

    `wanted` is the request for the run. Its `prediction`, and `name` if None, are filled in here; also `truth` if there
    is no `board`, from the only ground truth on the server (OptionError if there are several or none).
    """
    if wanted.truth is None and wanted.board is None:
        names = [str(each["name"]) for each in (yield from _registered("truths"))]
        if len(names) != 1:
            known = ", ".join(names) or "none"
            raise OptionError(f"truth: found none, expected the name of one of the server's ground truths: {known}")
        wanted = replace(wanted, truth=names[0])
    path = Path(path)
    try:
        stream = path.open("rb")
    except OSError as error:
        raise unreadable_error(path, error) from None
    with stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
        file = _File(stream, path.name, digest, stream.tell())
        wanted = replace(wanted, prediction=digest, name=wanted.name or path.stem)
        try:  # the file is only sent if the server does not have it and accepts the request
            return (yield from _post("/v1/runs", wanted, Run))
        except ServiceError as error:
            if error.status != 404 or digest not in str(error):
                raise
        yield from _upload(file, progress, packed)
    return (yield from _post("/v1/runs", wanted, Run))


def _wait(path: str, seen: RunCallback, timeout: float | None) -> Flow[Run]:
    began, pause = time.monotonic(), _FIRST_POLL
    while True:
        state = yield from _get(path, Run)
        seen(state)
        if state.state in ENDED:
            return state
        if timeout is not None and time.monotonic() - began + pause > timeout:
            raise ServiceError(f"{state.id}: still {state.state} after {timeout:g} s")
        yield pause
        pause = min(1.5 * pause, _LONGEST_POLL)


def _act(path: str, action: str) -> Flow[Run]:
    """Cancel, retry or diagnose a run, and return the run, which is unchanged if its state forbids the action."""
    answer = yield from send("POST", f"{path}/{action}", 409)
    return _read(answer, Run) if answer.status_code != 409 else (yield from _get(path, Run))


def _file(path: str, name: str) -> Flow[bytes]:
    return (yield from send("GET", f"{path}/files/{escaped(name, safe='')}")).content


def _save(path: str, name: str, target: str | Path) -> Flow[None]:
    content = yield from _file(path, name)
    with atomic_write(target) as stream:
        stream.write(content)


def _registered(kind: str) -> Flow[list[dict[str, Any]]]:
    return (yield from _get(f"/v1/{kind}", dict[str, list[dict[str, Any]]]))[kind]


def _path(run: Run | str) -> str:
    return f"/v1/runs/{escaped(run if isinstance(run, str) else run.id, safe='')}"


def is_local(server: str) -> bool:
    """Return whether the host of a URL is "localhost" or a loopback address; files are sent there uncompressed."""
    return is_loopback(urlsplit(server).hostname or "")


def _next(flow: Flow[T], answer: httpx2.Response | ServiceError | None = None) -> tuple[Any, T | None]:
    """Return (next request or pause of an API call, None), or (None, result) if the API call has ended."""
    try:
        return next(flow) if answer is None else flow.send(answer), None
    except StopIteration as end:
        return None, end.value


def _library() -> Any:
    try:
        import httpx2
    except ImportError:
        raise MissingExtraError("the client of a shoe server", "client") from None
    return httpx2


def _settings(server: str, token: str | None, timeout: float) -> dict[str, object]:
    parts = urlsplit(server)
    if "@" in parts.netloc:
        raise OptionError("server: the address must not contain a user name or password: use a token instead")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise OptionError(f"server: found {quote(server)}, expected an address like https://shoe.example.org")
    headers = {"user-agent": f"shoe/{__version__}", "accept": "application/json, */*"}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    return {
        "base_url": server.rstrip("/"),
        "headers": headers,
        "timeout": _library().Timeout(timeout, connect=min(timeout, _CONNECT)),
        "follow_redirects": False,  # another host must not receive the token
        "trust_env": not is_local(server),  # a proxy of the environment cannot reach a server on this machine
    }


def _unreachable(error: Exception, server: object) -> ServiceError:
    why = _NUMBER.sub("", str(error)) or type(error).__name__
    return ServiceError(f"the server cannot be reached ({str(server).rstrip('/')}: {why})")


class Client:
    """Blocking client for a shoe server.

    Every call can be interrupted and repeated: a file that the server has is not sent again, an interrupted upload
    continues, and an equal submission returns the same run. While the server is busy or cannot be reached, requests
    are repeated for up to two minutes.

    >>> with Client("http://127.0.0.1:8017") as client:                          # doctest: +SKIP
    ...     run = client.wait(client.submit("predictions.json", "hico-det"))
    ...     client.result(run)["semantic"]["map"]
    """

    def __init__(self, server: str, *, token: str | None = None, timeout: float = _TIMEOUT) -> None:
        """Create a client; nothing is sent yet. Raise OptionError if the URL of the server is not valid.

        Args:
            server: URL of the server, for example "https://shoe.example.org".
            token: access token, if the server requires one.
            timeout: time limit in seconds for each step of a request: to connect (at most 10 s), to send, to receive.
        """
        self._packed = not is_local(server)
        self._http = _library().Client(**_settings(server, token, timeout))
        self._version: Version | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    @property
    def version(self) -> Version:
        """Version of shoe and of the API on the server, requested once.

        Raises:
            ServiceError: if the API is not compatible, or no shoe server is at the address.
        """
        if self._version is None:
            self._version = self._run(server_version())
        return self._version

    def _do(self, flow: Flow[T]) -> T:
        _ = self.version
        return self._run(flow)

    def _run(self, flow: Flow[T]) -> T:
        """Send the requests that an API call (a generator) yields, and return the result of the call."""
        try:
            step, found = _next(flow)
            while step is not None:
                if isinstance(step, float):
                    time.sleep(step)
                    step, found = _next(flow)
                else:
                    step, found = _next(flow, self._send(step))
        finally:
            flow.close()
        return found  # type: ignore[return-value]  # a flow that has ended has its value

    def _send(self, request: dict[str, Any]) -> Any:
        try:
            return self._http.request(**request)
        except _library().RequestError as error:
            return _unreachable(error, self._http.base_url)

    def submit(
        self,
        path: str | Path,
        truth: str | None = None,
        *,
        name: str | None = None,
        protocols: Sequence[str] = (),
        options: Sequence[str] = (),
        similarity: str | None = None,
        boxes: str | None = None,
        scores: str | None = None,
        format: str | None = None,  # noqa: A002 - as read_predictions has it
        subset: str | None = None,
        bad_boxes: str = "refuse",
        visibility: str = "team",
        board: str | None = None,
        progress: Progress = lambda *_: None,
    ) -> Run:
        """Submit a prediction file for scoring, and return the run.

        Args:
            path: prediction file in any supported format.
            truth: name of a ground truth on the server; None if the server has only one, or if `board` is given.
            name: name of the run (default: file name without extension).
            protocols: protocols as for ``shoe score``; empty for the default protocols.
            options: scoring options, for example "tau=0.4".
            similarity: name of a similarity map on the server.
            boxes: box convention of the predictions (default: that of the file format).
            scores: score scale of the predictions (default: confidences from 0 to 1).
            format: file format of the predictions (default: detected from the content).
            subset: name of a subset of the images.
            bad_boxes: rule for predictions with an invalid box or score: "refuse", "drop" or "count".
            visibility: "team" (only your team sees the run) or "public".
            board: leaderboard to submit to, which determines ground truth, protocols and options.
            progress: progress callback, called with the name of the stage and its completed fraction (0 to 1).

        Returns:
            The run. If your team has submitted the same file with the same request before, this is the earlier run.

        Raises:
            InputError: if the file cannot be read.
            OptionError: without `truth` and `board`, if the server does not have exactly one ground truth.
            ServiceError: if the server refuses the request, or cannot be reached.
        """
        wanted = NewRun(
            prediction="", truth=truth, board=board, name=name, protocols=tuple(protocols), options=tuple(options),
            similarity=similarity or "dataset", boxes=boxes, scores=scores, format=format, subset=subset,
            visibility=visibility, bad_boxes=bad_boxes,  # type: ignore[arg-type]  # the server checks both
        )  # fmt: skip
        return self._do(_submit(path, wanted, progress, self._packed))

    def wait(self, run: Run | str, *, seen: RunCallback = lambda _: None, timeout: float | None = None) -> Run:
        """Wait until a run is done, failed or cancelled, and return the run; its diagnosis may still be running.

        Args:
            run: run, or its ID.
            seen: progress callback, called with the current state of the run after each query.
            timeout: seconds until ServiceError is raised; None for no limit.
        """
        return self._do(_wait(_path(run), seen, timeout))

    def run(self, run: Run | str) -> Run:
        """Return the current state of a run."""
        return self._do(_get(_path(run), Run))

    def runs(self, *, state: str | None = None, after: str | None = None, limit: int = 50) -> list[Run]:
        """Return a page of the team's runs and public runs (for administrators: all runs), the latest first.

        Args:
            state: return only runs in this state, for example "done" (default: all states).
            after: ID of the last run of the previous page (default: return the first page).
            limit: maximum number of runs, 1 to 200.
        """
        return self._do(_then(_get("/v1/runs", RunList, limit=limit, state=state, after=after), lambda page: page.runs))

    def result(self, run: Run | str) -> dict[str, Any]:
        """Return the result of a finished run, as ``shoe score --json`` or ``shoe compare --json`` writes it."""
        return self._do(_get(f"{_path(run)}/result", dict[str, Any]))

    def file(self, run: Run | str, name: str) -> bytes:
        """Return the content of an output file of a finished run, for example ``run.shoe`` (names: ``Run.outputs``)."""
        return self._do(_file(_path(run), name))

    def save(self, run: Run | str, name: str, path: str | Path) -> None:
        """Download the output file `name` of a finished run, and write the file `path` atomically."""
        return self._do(_save(_path(run), name, path))

    def compare(self, runs: Sequence[Run | str], *, resamples: int | None = None, seed: int = 0) -> Run:
        """Submit a comparison of 2 to 20 finished runs; return its run, or your team's run of an equal comparison.

        Args:
            runs: runs, or their IDs.
            resamples: number of bootstrap samples of images (default: as for ``shoe compare``).
            seed: random seed for bootstrap and randomisation test.
        """
        wanted = NewComparison(
            runs=[run if isinstance(run, str) else run.id for run in runs], resamples=resamples, seed=seed
        )
        return self._do(_post("/v1/compare", wanted, Run))

    def diagnose(self, run: Run | str) -> Run:
        """Return a run with the state of its diagnosis, ``further["diagnose"]``; the diagnosis starts after scoring."""
        return self._do(_act(_path(run), "diagnose"))

    def cancel(self, run: Run | str) -> Run:
        """Cancel a queued or running run, and return the run; a run that has ended is returned unchanged."""
        return self._do(_act(_path(run), "cancel"))

    def retry(self, run: Run | str) -> Run:
        """Repeat a failed or cancelled run, and return it; unchanged in another state, or if an equal run exists."""
        return self._do(_act(_path(run), "retry"))

    def change(self, run: Run | str, *, name: str | None = None, visibility: str | None = None) -> Run:
        """Change name or visibility ("team" or "public") of a run, if not None, and return the run."""
        fields = Change(name=name, visibility=visibility)  # type: ignore[arg-type]  # the server checks it
        return self._do(_post(_path(run), fields, Run, "PATCH"))

    def delete(self, run: Run | str) -> None:
        """Delete a run; do nothing if there is no such run."""
        return self._do(_then(send("DELETE", _path(run), 404), lambda _: None))

    def truths(self) -> list[dict[str, Any]]:
        """Return the ground truths on the server, as dicts with "name", "dataset", and metadata in "facts"."""
        return self._do(_registered("truths"))

    def boards(self) -> list[dict[str, Any]]:
        """Return the leaderboards on the server, as dicts with "name", "title" and other settings, without tables."""
        return self._do(_registered("boards"))

    def board(self, name: str) -> dict[str, Any]:
        """Return a leaderboard as a dict: settings in "board", ranked runs in "rows", other runs in "left_out"."""
        return self._do(_get(f"/v1/boards/{escaped(name, safe='')}", dict[str, Any]))


def _as_coroutine(method: Callable[Concatenate[Client, P], T]) -> Callable[Concatenate[AsyncClient, P], Awaitable[T]]:
    """Return `method` unchanged; its result is that of ``self._do``, which is awaitable in :class:`AsyncClient`."""
    return cast(Any, method)  # type: ignore[no-any-return]


class AsyncClient:
    """Asynchronous version of :class:`Client`, with the same methods as coroutines; `version` is a coroutine, too."""

    def __init__(self, server: str, *, token: str | None = None, timeout: float = _TIMEOUT) -> None:
        """Create a client; arguments and errors as for :class:`Client`."""
        self._packed = not is_local(server)
        self._http = _library().AsyncClient(**_settings(server, token, timeout))
        self._version: Version | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def version(self) -> Version:
        """Return the version of shoe and of the API on the server, requested once; ServiceError if not compatible."""
        if self._version is None:
            self._version = await self._run(server_version())
        return self._version

    async def _do(self, flow: Flow[T]) -> T:
        await self.version()
        return await self._run(flow)

    async def _run(self, flow: Flow[T]) -> T:
        # A flow reads, hashes and writes files in a thread, so that the event loop is not blocked.
        try:
            step, found = await asyncio.to_thread(_next, flow)
            while step is not None:
                if isinstance(step, float):
                    await asyncio.sleep(step)
                    step, found = await asyncio.to_thread(_next, flow)
                else:
                    step, found = await asyncio.to_thread(_next, flow, await self._send(step))
        finally:
            flow.close()
        return found  # type: ignore[return-value]  # a flow that has ended has its value

    async def _send(self, request: dict[str, Any]) -> Any:
        try:
            return await self._http.request(**request)
        except _library().RequestError as error:
            return _unreachable(error, self._http.base_url)

    submit = _as_coroutine(Client.submit)
    wait = _as_coroutine(Client.wait)
    run = _as_coroutine(Client.run)
    runs = _as_coroutine(Client.runs)
    result = _as_coroutine(Client.result)
    file = _as_coroutine(Client.file)
    save = _as_coroutine(Client.save)
    compare = _as_coroutine(Client.compare)
    diagnose = _as_coroutine(Client.diagnose)
    cancel = _as_coroutine(Client.cancel)
    retry = _as_coroutine(Client.retry)
    change = _as_coroutine(Client.change)
    delete = _as_coroutine(Client.delete)
    truths = _as_coroutine(Client.truths)
    boards = _as_coroutine(Client.boards)
    board = _as_coroutine(Client.board)
