"""Python clients for a shoe server: a blocking client, and an asynchronous client."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, cast
from urllib.parse import quote as escaped
from urllib.parse import urlsplit

from shoe.core.errors import MissingExtraError, OptionError, quote
from shoe.service.client import calls
from shoe.service.client.calls import Answer, Call, Flow, Progress, RunCallback
from shoe.service.types import Change, NewComparison, NewRun, Run, Version
from shoe.version import __version__

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")
LOOPBACK = ("127.0.0.1", "::1", "localhost")
_CONNECT = 10.0
_NUMBER = re.compile(r"^\[Errno -?\d+\] ")
"""Error number at the beginning of a message of the operating system."""


def address(server: str) -> str:
    """Return the URL of a server without a slash at the end.

    Raises:
        OptionError: if `server` is not an http or https URL, or contains a user name, password, query or fragment.
    """
    parts = urlsplit(server)
    if "@" in parts.netloc:
        raise OptionError("server: the address must not contain a user name or password: use a token instead")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise OptionError(f"server: found {quote(server)}, expected an address like https://shoe.example.org")
    return server.rstrip("/")


def is_local(server: str) -> bool:
    """Return whether the host of a URL is 127.0.0.1, ::1 or localhost; files are sent there without compression."""
    return urlsplit(server).hostname in LOOPBACK


def _next(flow: Flow[T], answer: Answer | None = None) -> tuple[Call | float | None, T | None]:
    """Return (next step of a flow, None), or (None, result) of a flow that has ended."""
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
    headers = {"user-agent": f"shoe/{__version__}", "accept": "application/json, */*"}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    return {
        "base_url": address(server),
        "headers": headers,
        "timeout": _library().Timeout(timeout, connect=min(timeout, _CONNECT)),
        "follow_redirects": False,  # another host must not receive the token
        "trust_env": not is_local(server),  # a proxy of the environment cannot reach a server on this machine
    }


def _request(call: Call) -> dict[str, object]:
    query, headers = dict(call.query) or None, dict(call.headers)
    return {"method": call.method, "url": call.path, "params": query, "content": call.content, "headers": headers}


def _answer(response: httpx2.Response) -> Answer:
    return Answer(response.status_code, {k.lower(): v for k, v in response.headers.items()}, response.content)


def _lost(error: Exception, server: object) -> Answer:
    why = _NUMBER.sub("", str(error)) or type(error).__name__
    return Answer(None, {}, f"{str(server).rstrip('/')}: {why}".encode())


P = ParamSpec("P")

_TIMEOUT = 60.0


def _silent(*_: object) -> None:
    pass


def _id(run: Run | str) -> str:
    return run if isinstance(run, str) else run.id


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
        """Create a client; nothing is sent yet.

        Args:
            server: URL of the server, for example "https://shoe.example.org".
            token: access token, if the server requires one.
            timeout: time limit in seconds for each step of a request: to connect (at most 10 s), to send, to receive.

        Raises:
            OptionError: if the URL is not valid.
            MissingExtraError: if the extra `client` is not installed.
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
            self._version = self._run(calls.version())
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

    def _send(self, call: Call) -> Answer:
        try:
            return _answer(self._http.request(**_request(call)))
        except _library().RequestError as error:
            return _lost(error, self._http.base_url)

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
        progress: Progress = _silent,
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
            prediction="", truth=truth, board=board, name=name, protocols=list(protocols), options=list(options),
            similarity=similarity or "dataset", boxes=boxes, scores=scores, format=format, subset=subset,
            visibility=visibility, bad_boxes=bad_boxes,  # type: ignore[arg-type]  # the server checks both
        )  # fmt: skip
        return self._do(calls.submit(path, wanted, progress=progress, packed=self._packed))

    def wait(self, run: Run | str, *, seen: RunCallback = _silent, timeout: float | None = None) -> Run:
        """Wait until a run is done, failed or cancelled, and return the run. Its follow-up jobs may still run.

        Args:
            run: run, or its ID.
            seen: progress callback, called with the current state of the run after each query.
            timeout: seconds until ServiceError is raised; None for no limit.
        """
        return self._do(calls.wait(_id(run), seen, timeout))

    def run(self, run: Run | str) -> Run:
        """Return the current state of a run."""
        return self._do(calls.get(calls.run_path(_id(run)), Run))

    def runs(self, *, state: str | None = None, after: str | None = None, limit: int = 50) -> list[Run]:
        """Return a page of the team's runs and public runs, the latest first.

        Args:
            state: return only runs in this state, for example "done" (default: all states).
            after: ID of the last run of the previous page (default: return the first page).
            limit: maximum number of runs, 1 to 200.
        """
        return self._do(calls.runs(state, after, limit))

    def result(self, run: Run | str) -> dict[str, Any]:
        """Return the result of a finished run, as ``shoe score --json`` or ``shoe compare --json`` writes it."""
        return self._do(calls.get(f"{calls.run_path(_id(run))}/result", dict[str, Any]))

    def file(self, run: Run | str, name: str) -> bytes:
        """Return the content of an output file of a finished run, for example ``run.shoe``; see ``Run.outputs``."""
        return self._do(calls.file(_id(run), name))

    def save(self, run: Run | str, name: str, path: str | Path) -> None:
        """Download the output file `name` of a finished run, and write the file `path` atomically."""
        return self._do(calls.save(_id(run), name, path))

    def compare(self, runs: Sequence[Run | str], *, resamples: int | None = None, seed: int = 0) -> Run:
        """Submit a comparison of 2 to 20 finished runs, and return the run of the comparison.

        Args:
            runs: runs, or their IDs.
            resamples: number of bootstrap samples of images (default: as for ``shoe compare``).
            seed: random seed for bootstrap and randomisation test.
        """
        wanted = NewComparison(runs=[_id(run) for run in runs], resamples=resamples, seed=seed)
        return self._do(calls.post("/v1/compare", wanted, Run))

    def diagnose(self, run: Run | str) -> Run:
        """Return a run; once the run is scored, its ``further["diagnose"]`` is the state of its diagnosis."""
        return self._do(calls.act(_id(run), "diagnose"))

    def cancel(self, run: Run | str) -> Run:
        """Cancel a queued or running run, and return the run; a run that has ended is returned unchanged."""
        return self._do(calls.act(_id(run), "cancel"))

    def retry(self, run: Run | str) -> Run:
        """Repeat a failed or cancelled run, and return the run; a run in another state is returned unchanged."""
        return self._do(calls.act(_id(run), "retry"))

    def change(self, run: Run | str, *, name: str | None = None, visibility: str | None = None) -> Run:
        """Change the name or the visibility ("team" or "public") of a run, and return the run; None: no change."""
        fields = Change(name=name, visibility=visibility)  # type: ignore[arg-type]  # the server checks it
        return self._do(calls.post(calls.run_path(_id(run)), fields, Run, "PATCH"))

    def delete(self, run: Run | str) -> None:
        """Delete a run; do nothing if there is no such run."""
        return self._do(calls.delete(_id(run)))

    def truths(self) -> list[dict[str, Any]]:
        """Return the ground truths on the server, as dicts with "name", "dataset", and metadata in "facts"."""
        return self._do(calls.registered("truths"))

    def boards(self) -> list[dict[str, Any]]:
        """Return the leaderboards on the server, as dicts with "name", "title" and other settings, without tables."""
        return self._do(calls.registered("boards"))

    def board(self, name: str) -> dict[str, Any]:
        """Return a leaderboard as a dict: settings in "board", ranked runs in "rows", other runs in "left_out"."""
        return self._do(calls.get(f"/v1/boards/{escaped(name, safe='')}", dict[str, Any]))


def _as_coroutine(method: Callable[Concatenate[Client, P], T]) -> Callable[Concatenate[AsyncClient, P], Awaitable[T]]:
    """Return `method` unchanged; its result is that of ``self._do``, which is awaitable in :class:`AsyncClient`."""
    return cast(Any, method)  # type: ignore[no-any-return]


class AsyncClient:
    """Asynchronous version of :class:`Client`: the same methods as coroutines, and a coroutine `version`."""

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
        """Return the version of shoe and of the API on the server, requested once; errors as for `Client.version`."""
        if self._version is None:
            self._version = await self._run(calls.version())
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

    async def _send(self, call: Call) -> Answer:
        try:
            return _answer(await self._http.request(**_request(call)))
        except _library().RequestError as error:
            return _lost(error, self._http.base_url)

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
