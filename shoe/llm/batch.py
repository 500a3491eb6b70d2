"""One pass over requests in batches: start them, wait, keep their answers, and repeat the requests without one."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, suppress
from hashlib import blake2b
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any, NamedTuple, TypeVar

import msgspec

from shoe.core.errors import InputError, ShoeError
from shoe.llm.batch_state import Started, Supply, names_of, past, result_of
from shoe.llm.endpoint import Endpoint
from shoe.llm.errors import DENIED_IN_A_ROW, HopelessError, NoResponseFormatError, Transient, http_error
from shoe.llm.limits import Limits
from shoe.llm.request import Chat, Recorder, Request
from shoe.llm.sdk import backoff, client, connection_error

# OpenAI's Batch API through its SDK: files are uploaded and downloaded, batches started and their state fetched.

_MARK = "shoe"
_MOST_LISTED = 1000
LISTS_LAG = 60.0
"""Seconds within which a new batch appears in the list of batches."""
_LOOKS = 30
_MAYBE_BEGUN = (408, 409)
"""Statuses below 500 after which a batch may have been started all the same."""
_T = TypeVar("_T")
_ODD = "odd", "not what the Batch API answers (is base_url right?)"


class StoppedError(Exception):
    """The run is to end, and a request that failed is not made again."""


class Seen(NamedTuple):
    """State of a batch; fields that the endpoint does not return as the API defines them are empty or 0.

    Attributes:
        id: ID of the batch.
        status: "in_progress", "completed", ...
        files: IDs of its output and error files.
        done, total: numbers of requests.
        problems: codes and messages of its errors.
    """

    id: str
    status: str
    files: list[str]
    done: int
    total: int
    problems: list[tuple[str, str]]


def _seen(place: Endpoint, batch: Any) -> Seen:
    """Return the state in a response of the SDK, whatever that holds."""
    files = [_field(batch, str, "output_file_id"), _field(batch, str, "error_file_id")]
    done, failed, total = (_field(batch, int, "request_counts", name) for name in ("completed", "failed", "total"))
    problems = [
        (_field(one, str, "code"), _field(one, str, "message")) for one in _field(batch, list, "errors", "data")
    ]
    status = _field(batch, str, "status")
    return Seen(_id(place, batch), status, [name for name in files if name], done + failed, total, problems)


def _field(of: Any, kind: type[_T], *path: str) -> _T:
    """Return a nested attribute of this type; an empty value if there is none."""
    for name in path:
        of = getattr(of, name, None)
    return of if isinstance(of, kind) else kind()


def _id(place: Endpoint, found: Any) -> str:
    """Return the ID in a response; raise Transient if it has none, like a web page, or holds a secret."""
    name = _field(found, str, "id")
    if not name or name != place.shown(name):
        raise Transient(*_ODD)
    return name


class BatchApi:
    """Batches at one endpoint. Closing it deletes its temporary files."""

    def __init__(
        self, place: Endpoint, model: str, limits: Limits, sleep: Callable[[float], None], stopped: Callable[[], bool]
    ) -> None:
        self._place = place
        self._model = model
        self._limits = limits
        self._stopped = stopped
        self._sleep = sleep
        self._client = client(place, limits.timeout)
        self._answered: float | None = None
        self._denied = 0
        self._folder = TemporaryDirectory(prefix="shoe-")

    def close(self) -> None:
        """Close the connection, and delete the temporary files."""
        self._client.close()
        self._folder.cleanup()

    @property
    def folder(self) -> Path:
        """Folder for temporary files."""
        return Path(self._folder.name)

    def upload(self, name: str, path: Path) -> str:
        """Upload a file of requests; return its ID."""

        def send() -> str:
            with path.open("rb") as stream:
                return _id(self._place, self._client.files.create(file=(name, stream), purpose="batch"))

        return self._call(send)

    def start(self, file: str, digest: str, once: str, others: Collection[str]) -> str:
        """Start a batch, marked with its digest, and return its ID.

        If the response to an attempt was lost, the batch that this attempt may have started is looked up first.

        Args:
            file: ID of the file of requests.
            digest: hash of the requests.
            once: idempotency key, the same in later runs.
            others: IDs of known earlier batches with the same requests.
        """
        import openai

        lost = False

        def create() -> str:
            nonlocal lost
            if lost and (found := self._begun(others, [digest]).get(digest)):
                return found
            if lost and self._stopped():
                raise Transient("unknown", "whether a batch was begun")
            lost = True
            try:
                begun = self._client.batches.create(
                    input_file_id=file,
                    endpoint="/v1/chat/completions",
                    completion_window="24h",
                    metadata={_MARK: digest},
                    extra_headers={"Idempotency-Key": once},
                )
            except openai.APIStatusError as error:
                lost = error.status_code >= 500 or error.status_code in _MAYBE_BEGUN
                raise
            return _id(self._place, begun)

        return self._call(create)

    def begun(self, others: Collection[str], wanted: Collection[str]) -> dict[str, str]:
        """Return the IDs of the newest batches by their digest; empty if the endpoint has no list of batches.

        The list may lag behind, so that it is fetched again for a while until it shows the ``wanted`` digests.
        """
        return self._call(lambda: self._begun(others, wanted))

    def _begun(self, others: Collection[str], wanted: Collection[str]) -> dict[str, str]:
        end = monotonic() + LISTS_LAG
        while True:
            found = self._listed(others)
            if found is None or found.keys() >= set(wanted) or monotonic() >= end or self._stopped():
                return found or {}
            self._sleep(LISTS_LAG / _LOOKS)

    def _listed(self, others: Collection[str]) -> dict[str, str] | None:
        import openai

        try:
            newest = list(islice(self._client.batches.list(limit=100), _MOST_LISTED))
        except openai.APIStatusError as error:
            if error.status_code not in (404, 405, 501):
                raise
            return None
        marked = ((_field(batch, dict, "metadata"), _field(batch, str, "id")) for batch in reversed(newest))
        return {
            about[_MARK]: batch
            for about, batch in marked
            if _MARK in about and batch and batch not in others and batch == self._place.shown(batch)
        }

    def look(self, batch: str) -> Seen | None:
        """Return the state of a batch; None if the endpoint answers three times that it does not exist."""
        import openai

        unknown: list[bool] = []

        def retrieve() -> Seen | None:
            try:
                found = self._client.batches.retrieve(batch)
            except openai.NotFoundError:
                unknown.append(True)
                if len(unknown) == DENIED_IN_A_ROW:
                    return None
                raise Transient("404") from None
            unknown.clear()
            if not (seen := _seen(self._place, found)).status:
                raise Transient(*_ODD)
            return seen

        return self._call(retrieve)

    def lines(self, file: str) -> Iterator[bytes]:
        """Download a file and iterate over its lines. Only a line feed ends a line.

        If the file no longer exists at the endpoint, yield nothing.
        """
        import openai

        path = self.folder / "downloaded"

        def download() -> None:
            try:
                with self._client.files.with_streaming_response.content(file) as response:
                    response.stream_to_file(path)
            except openai.NotFoundError:
                path.write_bytes(b"")
            except (OSError, openai.OpenAIError, Transient):
                raise
            except Exception as error:  # of the SDK's HTTP library, which has had several names
                raise Transient("dropped", self._place.shown(str(error))) from None

        self._call(download)
        with path.open("rb") as stream:
            yield from stream

    def _call(self, ask: Callable[[], _T]) -> _T:
        for attempt in count(1):
            try:
                return self._attempt(ask)
            except Transient as last:
                if self._stopped():
                    raise StoppedError from None
                # An endpoint that had answered, not too long ago, may come back.
                is_out = self._answered is not None and monotonic() - self._answered < self._limits.outage
                if attempt >= self._limits.tries and not is_out:
                    tries = self._limits.tries
                    raise ShoeError(f"{self._place}: it does not answer after {tries} tries: {last}") from None
                wait = backoff(attempt, last)
            self._sleep(wait)
        raise AssertionError

    def _attempt(self, ask: Callable[[], _T]) -> _T:
        import openai

        try:
            found = ask()
        except openai.APIConnectionError as error:
            raise connection_error(self._place, error, self._limits.timeout) from None
        except openai.APIStatusError as error:
            response = error.response
            failed = http_error(self._place, self._model, response.status_code, response.headers, response.read())
            self._denied += isinstance(failed, HopelessError)
            if isinstance(failed, HopelessError) and self._answered and self._denied < DENIED_IN_A_ROW:
                failed = Transient(failed.kind, str(failed))
            raise failed from None
        except (MemoryError, OSError, ShoeError, Transient):
            raise
        except Exception:  # the SDK raises errors of all kinds over invalid JSON, as do libraries below it
            raise Transient(*_ODD) from None
        self._answered, self._denied = monotonic(), 0
        return found


_log = logging.getLogger(__name__)
MOST_BYTES = 200_000_000
_FIRST_LOOK, _LONGEST_BETWEEN_LOOKS, _LOOK_FOR_A_STOP = 0.1, 60.0, 0.1
_LINE = b'{"custom_id":"%b","method":"POST","url":"/v1/chat/completions","body":%b}\n'
_OVER = ("completed", "expired", "cancelled", "failed")
_NO_FORMAT = "no response_format"
_QUEUE_FULL = ("token_limit_exceeded", "request_limit_exceeded")


class BatchPass:
    """All batches of one model in one run."""

    def __init__(
        self, place: Endpoint, chat: Chat, limits: Limits, recorder: Recorder, *, requests_per_batch: int, batches: int
    ) -> None:
        """Take the endpoint, the model and the largest numbers of requests per batch and of batches at once."""
        self._place = place
        self._chat = chat
        self._tries_allowed = limits.tries
        self._most_requests = requests_per_batch
        self._most_batches = batches
        self._recorder = recorder
        self._structured = chat.response_format is not None
        self._api = BatchApi(place, chat.model, limits, self._sleep, self._is_over)
        self._open, self._ended = past(recorder.remembered())
        self._running: list[Started] = []
        self._tries: Counter[str] = Counter()
        self._shown: dict[str, str] = {}
        self._budget_left = True
        self._sends_last = False
        self._waits_for_room = False
        self._queue_full = False

    def run(self, requests: Iterator[Request]) -> None:
        """Make all requests; if the run is stopped, running batches go on at the endpoint.

        Raises:
            ShoeError: if no further request makes sense.
        """
        self._supply = Supply(requests)
        try:
            with closing(self._api), suppress(StoppedError):
                self._resume()
                self._go_on()
        except OSError as error:
            found, expected = error.strerror or str(error), "room for a batch's files (TMPDIR says where)"
            raise InputError(self._api.folder, found=found, expected=expected) from None
        finally:
            for started in self._running:
                name = self._place.shown(str(started.batch))
                goes_on = f"batch {name} goes on at the endpoint with {len(started.requests)} requests"
                _log.warning("%s: %s: run the same command again to fetch its answers", self._place, goes_on)

    def _go_on(self) -> None:
        between = _FIRST_LOOK
        while not self._recorder.stopping:
            while len(self._running) < self._most_batches and self._begin():
                pass
            if not self._running and not self._waits_for_room:
                return
            self._waits_for_room = False
            for started in self._running if len(self._running) > 1 else ():
                started.beside = True  # before their states are fetched, which may show that all have ended
            if any(self._look(started) for started in list(self._running)):
                between = _FIRST_LOOK
            else:
                self._sleep(between)
                between = min(1.5 * between, _LONGEST_BETWEEN_LOOKS)

    def _resume(self) -> None:
        """Resume the batches of earlier runs that hold a question of this run."""
        unsure = [started for started in self._open.values() if started.batch is None]
        wanted = [started.digest for started in unsure if started.file is not None]
        begun = self._api.begun(self._ended, wanted) if unsure else {}
        for started in unsure:
            started.batch = begun.get(started.digest)
            if started.batch is not None:
                self._recorder.remember({"event": "started", "digest": started.digest, "batch": started.batch})
        self._running = [started for started in self._open.values() if started.batch is not None]
        for started in self._running:
            self._supply.hold(started)
        self._supply.find(lambda: all(started.found for started in self._running))
        for started in [one for one in self._running if not one.found]:  # answered since, or another process's
            self._forget(started)

    def _forget(self, started: Started) -> None:
        self._running.remove(started)
        self._supply.release(started)

    def _begin(self) -> bool:
        """Start one more batch; return False if there is no request that may be made now."""
        path, requests, digest = self._api.folder / "requests.jsonl", {}, blake2b(digest_size=16)
        with path.open("wb") as stream:
            for name, request, text in self._next_requests():
                requests[name] = request
                digest.update(text)
                stream.write(text)
        # Requests that were reserved before the budget was used up are sent: otherwise such a budget would send none.
        if not requests or (self._budget_left and self._recorder.stopping):
            return False
        self._sends_last = not self._budget_left
        self._send(path, requests, digest.hexdigest())
        self._sends_last = False
        return True

    def _next_requests(self) -> Iterator[tuple[str, Request, bytes]]:
        """Yield the requests of one more batch, with custom ID and line; their largest cost is reserved."""
        count = size = 0
        while (
            count < self._most_requests and self._budget_left and not self._queue_full and not self._recorder.stopping
        ):
            # Requests without an answer are repeated once no batch is running, and not in many small batches.
            request = self._supply.take(again=not self._running)
            if request is None:
                return
            name = self._chat.once(request, self._structured)
            text = _LINE % (name.encode(), self._chat.body(request, self._structured))
            count, size = count + 1, size + len(text)
            if size > MOST_BYTES:
                self._supply.put_back(request)
                return
            room = self._recorder.may_ask(request)
            if room is None:
                self._waits_for_room = True
                self._supply.put_back(request)
                return
            self._budget_left = room
            if room:
                yield name, request, text

    def _send(self, path: Path, requests: Mapping[str, Request], digest: str) -> None:
        started = Started(digest, {name: names_of(request) for name, request in requests.items()})
        started.found = {name: part for one in requests.values() for part in one.parts() for name in names_of(part)}
        earlier = self._open.get(digest)
        listed = [[name, request.attempt, request.key.hex()] for name, request in requests.items()]
        self._recorder.remember({"event": "prepared", "digest": digest, "requests": listed})
        started.file = earlier.file if earlier else None
        if started.file is None:
            started.file = self._api.upload(f"shoe-{digest}.jsonl", path)
            self._recorder.remember({"event": "uploaded", "digest": digest, "file": started.file})
        over = sum(event["event"] == "ended" and event["digest"] == digest for event in self._recorder.remembered())
        started.batch = self._api.start(started.file, digest, f"{digest}-{over}", self._ended)
        self._recorder.remember({"event": "started", "digest": digest, "batch": started.batch})
        self._supply.hold(started)
        self._running.append(started)

    def _look(self, started: Started) -> bool:
        """Fetch the state of a batch; if it has ended, keep its answers, repeat the other requests, and return True."""
        batch = self._api.look(started.batch or "")
        if batch is not None and batch.status not in _OVER:
            self._progress(batch)
            return False
        self._supply.find(lambda: started.found_all)
        why: str = "vanished" if batch is None else "missing" if batch.status == "completed" else batch.status
        missing = dict.fromkeys(started.requests, why)
        hopeless, failed = self._keep_lines(started, batch, missing) if batch is not None else (None, set())
        self._recorder.remember({"event": "ended", "digest": started.digest})
        self._open.pop(started.digest, None)
        self._ended.add(started.batch or "")
        self._forget(started)
        self._queue_full = False
        excused = batch is not None and batch.status == "failed" and self._is_excused(started, batch)
        for name, why in missing.items():
            if request := started.asked(name):
                if name not in failed:
                    self._recorder.failure(request, why)
                self._tries[name] += not (excused or why == _NO_FORMAT)
                if self._tries[name] < self._tries_allowed:
                    self._supply.ask_again(request)
        if batch is not None and batch.status == "cancelled":
            raise ShoeError(f"{self._place}: batch {batch.id} was cancelled; what it had answered is kept")
        if hopeless and len(missing) == len(started.requests):
            raise hopeless
        return True

    def _keep_lines(self, started: Started, batch: Seen, missing: dict[str, str]) -> tuple[ShoeError | None, set[str]]:
        """Keep the results of a batch that this run asks for, in order; many failures in a row end the run.

        Requests with an answer are removed from ``missing``, and the others get a more specific reason there.

        Returns:
            An error after which no further try makes sense, if any; and the requests whose failure was kept.
        """
        hopeless, failed = None, set[str]()
        lines = (text for file in batch.files for text in self._api.lines(file))
        for name, result in (result_of(self._place, self._chat.model, text) for text in lines):
            if name not in missing:
                continue
            if isinstance(result, dict):
                del missing[name]
                if request := started.request(name):
                    self._recorder.answer(request, result)
                elif request := started.asked(name):
                    self._supply.ask_again(request)
                continue
            if isinstance(result, NoResponseFormatError):
                missing[name] = _NO_FORMAT
                self._structured = False
            else:
                missing[name] = result.kind if isinstance(result, Transient) else "error"
                hopeless = hopeless or (result if isinstance(result, ShoeError) else None)
            if request := started.asked(name):
                usage = result.usage if isinstance(result, Transient) else None
                self._recorder.failure(request, missing[name], usage=usage)
                failed.add(name)
        return hopeless, failed

    def _is_excused(self, started: Started, batch: Seen) -> bool:
        """Return whether a batch that was not even started may be sent again, later or in another form.

        Raises:
            ShoeError: if not.
        """
        message = next((message for _, message in batch.problems if message), "no reason given")
        if any(code in _QUEUE_FULL for code, _ in batch.problems) and started.beside:
            # Other batches fill the queue until one of them ends.
            self._queue_full = bool(self._running)
            return True
        failed = http_error(
            self._place, self._chat.model, 400, {}, msgspec.json.encode({"error": {"message": message}})
        )
        if not isinstance(failed, NoResponseFormatError) or not self._structured:
            reason = self._place.shown(message)
            raise ShoeError(f"{self._place}: batch {batch.id} failed: {reason} (requests_per_batch sets its size)")
        self._structured = False
        return True

    def _progress(self, batch: Seen) -> None:
        """Log the progress of a batch, at each tenth of it."""
        state = f"{batch.status} {10 * batch.done // batch.total if batch.total else 0}"
        if self._shown.get(batch.id) != state:
            self._shown[batch.id] = state
            line_ = self._place.shown(f"batch {batch.id}: {batch.status}, {batch.done} of {batch.total} requests")
            _log.warning("%s: %s", self._place, line_)

    def _is_over(self) -> bool:
        """Whether the run is to end, so that nothing is retried; a batch that the budget allows is still sent."""
        return self._recorder.stopping and not self._sends_last

    def _sleep(self, seconds: float) -> None:
        end = monotonic() + seconds
        while not self._is_over() and (left := end - monotonic()) > 0:
            sleep(min(left, _LOOK_FOR_A_STOP))
