"""Client of OpenAI's Batch API: start batches, wait until they end, record answers, repeat unanswered requests."""

import logging
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, suppress
from hashlib import blake2b
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

import msgspec

from shoe.core.errors import InputError, ShoeError
from shoe.llm import errors
from shoe.llm.batch_state import OpenBatch, Supply, attempts_in, batches_in, result_of
from shoe.llm.client import backoff, client, connection_error, sdk
from shoe.llm.endpoint import Endpoint
from shoe.llm.limits import Limits
from shoe.llm.request import Chat, Recorder, Request

_MARK = "shoe"
_MOST_LISTED = 1000
LISTS_LAG = 60.0  # seconds within which a new batch appears in the list of batches
_LOOKS = 30
_MAYBE_BEGUN = (408, 409)  # HTTP statuses below 500 after which a batch may still have been started
_T = TypeVar("_T")
_NO_BATCHES = """the endpoint has no OpenAI-compatible batches (if base_url is right, set kind = "openai")"""
_ODD = "odd", "not a response of the Batch API (is base_url right?)"


class BatchState(NamedTuple):
    """State of a batch of requests; fields that are missing or invalid in the endpoint's response are empty or 0.

    ``status`` is a word of OpenAI's Batch API, such as "in_progress". ``files`` are the IDs of the output and error
    files that exist. Of ``total`` requests, ``done`` were answered or have failed. ``problems`` are (code, message) of
    errors that concern the whole batch.
    """

    id: str
    status: str
    files: list[str]
    done: int
    total: int
    problems: list[tuple[str, str]]


def _field(value: Any, kind: type[_T], *path: str) -> _T:
    """Return the nested attribute value.a.b for ``path`` ("a", "b"), or ``kind()`` if it is not of type ``kind``."""
    for name in path:
        value = getattr(value, name, None)
    return value if isinstance(value, kind) else kind()


def _id(place: Endpoint, response: Any) -> str:
    """Return the ID in a response; raise Transient if the response has no ID or the ID contains a secret."""
    name = _field(response, str, "id")
    if not name or name != place.shown(name):
        raise errors.Transient(*_ODD)
    return name


class BatchApi:
    """Client of the Batch API of one endpoint, based on the openai SDK.

    Methods repeat a call that failed for a temporary reason. They raise StoppedError instead if the run is ending, and
    ShoeError if the endpoint rejects the call or the limit of attempts is reached. ``folder`` is for temporary files.
    """

    def __init__(
        self, place: Endpoint, model: str, limits: Limits, sleep: Callable[[float], None], stopped: Callable[[], bool]
    ) -> None:
        self._place, self._model, self._limits, self._sleep, self._stopped = place, model, limits, sleep, stopped
        self._client, self._openai, self._google = client(place, limits.timeout), sdk(), place.google_files
        self._answered: float | None = None
        self._denied = 0
        self._temporary = TemporaryDirectory(prefix="shoe-")
        self.folder = Path(self._temporary.name)

    def close(self) -> None:
        """Close the connection, and delete the temporary files."""
        self._client.close()
        self._temporary.cleanup()

    def upload(self, name: str, path: Path) -> str:
        """Upload the file at ``path``, with one request per line, as ``name``; return its ID at the endpoint."""

        def send() -> str:
            if self._google:
                file = _google_upload(self._client, self._google, name, path)
                return _id(self._place, self._openai.types.FileObject.construct(id=file))
            with path.open("rb") as stream:
                return _id(self._place, self._client.files.create(file=(name, stream), purpose="batch"))

        return self._call(send)

    def start(self, file: str, digest: str, idempotency_key: str, ignored: Collection[str]) -> str:
        """Start a batch, and return its ID.

        If the response to an attempt is lost, the batch may exist. So the next attempt first searches the endpoint's
        list of batches for ``digest``, the hash of the requests, which is in the metadata of the batch. ``file`` is the
        ID of the uploaded requests; ``ignored`` are IDs of earlier batches, which may have the same digest.
        """
        lost = False

        def create() -> str:
            nonlocal lost
            if lost and (batch := self._newest(ignored, [digest]).get(digest)):
                return batch
            if lost and self._stopped():
                raise errors.Transient("unknown", "whether a batch was begun")
            lost = True
            try:
                response = self._client.batches.create(
                    input_file_id=file,
                    endpoint="/v1/chat/completions",
                    completion_window="24h",
                    metadata={_MARK: digest},
                    extra_headers={"Idempotency-Key": idempotency_key},
                )
            except self._openai.APIStatusError as error:
                lost = error.status_code >= 500 or error.status_code in _MAYBE_BEGUN
                raise
            return _id(self._place, response)

        return self._call(create)

    def newest(self, ignored: Collection[str], wanted: Collection[str]) -> dict[str, str]:
        """Return {digest of the requests: ID} of batches started by shoe; {} if the endpoint cannot list batches.

        Only the 1,000 newest batches are searched, except ``ignored`` IDs; of equal digests, the newest counts. As a
        new batch may not be listed at once, the list is fetched repeatedly until it contains all ``wanted`` digests, 60
        seconds have passed, or the run is ending.
        """
        return self._call(lambda: self._newest(ignored, wanted))

    def _newest(self, ignored: Collection[str], wanted: Collection[str]) -> dict[str, str]:
        end = monotonic() + LISTS_LAG
        while True:
            batches = self._list(ignored)
            if batches is None or batches.keys() >= set(wanted) or monotonic() >= end or self._stopped():
                return batches or {}
            self._sleep(LISTS_LAG / _LOOKS)

    def _list(self, ignored: Collection[str]) -> dict[str, str] | None:
        try:
            newest = list(islice(self._client.batches.list(limit=100), _MOST_LISTED))
        except self._openai.APIStatusError as error:
            if error.status_code not in (404, 405, 501):
                raise
            return None
        labelled = ((_field(batch, dict, "metadata"), _field(batch, str, "id")) for batch in reversed(newest))
        return {
            metadata[_MARK]: batch
            for metadata, batch in labelled
            if _MARK in metadata and batch and batch not in ignored and batch == self._place.shown(batch)
        }

    def state(self, batch: str) -> BatchState | None:
        """Return the state of the batch with this ID; None if it does not exist (HTTP 404 three times in a row)."""
        unknown = 0

        def retrieve() -> BatchState | None:
            nonlocal unknown
            try:
                # Not by batches.retrieve, which would encode the slash in Google's IDs ("batches/abc").
                response = self._client.get(f"/batches/{quote(batch)}", cast_to=self._openai.types.Batch)
            except self._openai.NotFoundError:
                unknown += 1
                if unknown == errors.DENIED_IN_A_ROW:
                    return None
                raise errors.Transient("404") from None
            unknown = 0
            if not (status := _field(response, str, "status")):
                raise errors.Transient(*_ODD)
            files = [file for kind in ("output", "error") if (file := _field(response, str, f"{kind}_file_id"))]
            counts = ("completed", "failed", "total")
            done, failed, total = (_field(response, int, "request_counts", name) for name in counts)
            listed = _field(response, list, "errors", "data")
            problems = [(_field(error, str, "code"), _field(error, str, "message")) for error in listed]
            return BatchState(_id(self._place, response), status, files, done + failed, total, problems)

        return self._call(retrieve)

    def lines(self, file: str) -> Iterator[bytes]:
        """Download the file with this ID, and yield its lines, also the line feeds; nothing if the file is deleted."""
        path = self.folder / "downloaded"

        def download() -> None:
            try:
                if self._google:
                    path.write_bytes(_google_download(self._client, self._google, file))
                    return
                with self._client.files.with_streaming_response.content(file) as response:
                    response.stream_to_file(path)
            except self._openai.NotFoundError:
                path.write_bytes(b"")
            except (OSError, self._openai.OpenAIError, errors.Transient):
                raise
            except Exception as error:  # from the HTTP library of the SDK, whose name depends on the release
                raise errors.Transient("dropped", self._place.shown(str(error))) from None

        self._call(download)
        with path.open("rb") as stream:
            yield from stream

    def _call(self, send: Callable[[], _T]) -> _T:
        for attempt in count(1):
            try:
                return self._attempt(send)
            except errors.Transient as last:
                if self._stopped():
                    raise errors.StoppedError from None
                # An endpoint that has answered recently may come back.
                is_out = self._answered is not None and monotonic() - self._answered < self._limits.outage
                tries = self._limits.tries
                if attempt >= tries and not is_out:
                    raise ShoeError(f"{self._place}: no answer after {tries} tries: {last}") from None
                wait = backoff(attempt, last)
            self._sleep(wait)
        raise AssertionError

    def _attempt(self, send: Callable[[], _T]) -> _T:
        try:
            result = send()
        except self._openai.APIConnectionError as error:
            raise connection_error(self._place, error, self._limits.timeout) from None
        except self._openai.APIStatusError as error:
            response, status = error.response, error.status_code
            failed = errors.http_error(self._place, self._model, status, response.headers, response.read())
            if status in (404, 405) and self._answered is None:
                failed = ShoeError(f"{self._place}: HTTP {status}: {_NO_BATCHES}")
            self._denied += isinstance(failed, errors.HopelessError)
            if isinstance(failed, errors.HopelessError) and self._answered and self._denied < errors.DENIED_IN_A_ROW:
                failed = errors.Transient(failed.kind, str(failed))
            if isinstance(failed, errors.NoResponseFormatError):  # of a file or a batch, which have no response format
                failed = ShoeError(f"{self._place}: HTTP {status}: {failed}")
            raise failed from None
        except (MemoryError, OSError, ShoeError, errors.Transient):
            raise
        except Exception:  # the SDK and its libraries raise errors of all kinds for invalid JSON
            raise errors.Transient(*_ODD) from None
        self._answered, self._denied = monotonic(), 0
        return result


_log = logging.getLogger(__name__)
MOST_BYTES = 200_000_000
_FIRST_LOOK, _LONGEST_BETWEEN_LOOKS, _LOOK_FOR_A_STOP = 0.1, 60.0, 0.1
_LINE = b'{"custom_id":"%b","method":"POST","url":"/v1/chat/completions","body":%b}\n'
_OVER = ("completed", "expired", "cancelled", "failed")
_NO_FORMAT = "no response_format"
_QUEUE_FULL = ("token_limit_exceeded", "request_limit_exceeded")


class BatchPass:
    """Sends requests to one model by ``batches`` concurrent batches with at most ``requests_per_batch`` requests."""

    def __init__(
        self, place: Endpoint, chat: Chat, limits: Limits, recorder: Recorder, *, requests_per_batch: int, batches: int
    ) -> None:
        self._place, self._chat, self._recorder = place, chat, recorder
        self._tries_allowed, self._most_requests, self._most_batches = limits.tries, requests_per_batch, batches
        self._structured = chat.response_format is not None
        self._api = BatchApi(place, chat.model, limits, self._sleep, self._is_over)
        self._open, self._ended = batches_in(recorder.remembered())
        self._running: list[OpenBatch] = []
        self._tries: Counter[str] = Counter()
        self._shown: dict[str, str] = {}
        self._budget_left = True
        self._sends_last = self._waits_for_room = self._queue_full = False

    def run(self, requests: Iterator[Request]) -> None:
        """Send all requests, wait for their results, and record answers and failures.

        If the run is stopped, running batches continue at the endpoint, and the next run fetches their answers. Raise
        ShoeError if the endpoint rejects all requests, a batch was cancelled, or the disk is full.
        """
        self._supply = Supply(requests)
        try:
            with closing(self._api), suppress(errors.StoppedError):
                self._resume()
                self._run()
        except OSError as error:
            found, expected = error.strerror or str(error), "a temporary folder with enough space (set TMPDIR)"
            raise InputError(self._api.folder, found=found, expected=expected) from None
        finally:
            for started in self._running:
                name = self._place.shown(str(started.batch))
                running = f"batch {name} continues at the endpoint with {len(started.requests)} requests"
                _log.warning("%s: %s: run the same command again to fetch its answers", self._place, running)

    def _run(self) -> None:
        between = _FIRST_LOOK
        while not self._recorder.stopping:
            while len(self._running) < self._most_batches and self._begin():
                pass
            if not self._running and not self._waits_for_room:
                return
            self._waits_for_room = False
            for started in self._running if len(self._running) > 1 else ():
                started.overlapped = True  # before their states are fetched, which may show that all have ended
            if any(self._look(started) for started in list(self._running)):
                between = _FIRST_LOOK
            else:
                self._sleep(between)
                between = min(1.5 * between, _LONGEST_BETWEEN_LOOKS)

    def _resume(self) -> None:
        unsure = [started for started in self._open.values() if started.batch is None]
        wanted = [started.digest for started in unsure if started.file is not None]
        begun = self._api.newest(self._ended, wanted) if unsure else {}
        for started in unsure:
            started.batch = begun.get(started.digest)
            if started.batch is not None:
                self._recorder.remember({"event": "started", "digest": started.digest, "batch": started.batch})
        self._running = [started for started in self._open.values() if started.batch is not None]
        for started in self._running:
            self._supply.exclude(started)
        self._supply.read_ahead(lambda: all(started.found for started in self._running))
        for started in [batch for batch in self._running if not batch.found]:  # answered meanwhile, or of another run
            self._forget(started)

    def _forget(self, started: OpenBatch) -> None:
        self._running.remove(started)
        self._supply.include(started)

    def _begin(self) -> bool:
        """Start one more batch and return True; if no request may be sent now, return False."""
        path, requests, content = self._api.folder / "requests.jsonl", dict[str, Request](), blake2b(digest_size=16)
        with path.open("wb") as stream:
            for name, request, text in self._next_requests():
                requests[name] = request
                content.update(text)
                stream.write(text)
        # Requests that were reserved before the budget was used up are still sent.
        if not requests or (self._budget_left and self._recorder.stopping):
            return False
        self._sends_last = not self._budget_left
        digest = content.hexdigest()
        started = OpenBatch(digest, {name: attempts_in(request) for name, request in requests.items()})
        parts = (part for request in requests.values() for part in request.parts())
        started.found = {name: part for part in parts for name in attempts_in(part)}
        earlier = self._open.get(digest)
        listed = [[name, request.attempt, request.key.hex()] for name, request in requests.items()]
        self._recorder.remember({"event": "prepared", "digest": digest, "requests": listed})
        started.file = earlier.file if earlier else None
        if started.file is None:
            started.file = self._api.upload(f"shoe-{digest}.jsonl", path)
            self._recorder.remember({"event": "uploaded", "digest": digest, "file": started.file})
        ended = sum(event["event"] == "ended" and event["digest"] == digest for event in self._recorder.remembered())
        started.batch = self._api.start(started.file, digest, f"{digest}-{ended}", self._ended)
        self._recorder.remember({"event": "started", "digest": digest, "batch": started.batch})
        self._supply.exclude(started)
        self._running.append(started)
        self._sends_last = False
        return True

    def _next_requests(self) -> Iterator[tuple[str, Request, bytes]]:
        """Yield (custom ID, request, JSON line) for each request of one more batch, after reserving its budget."""
        count = size = 0
        while count < self._most_requests and self._budget_left and not (self._queue_full or self._recorder.stopping):
            # Requests without an answer are repeated once no batch is running, to avoid many small batches.
            request = self._supply.take(again=not self._running)
            if request is None:
                return
            name = self._chat.idempotency_key(request, self._structured)
            text = _LINE % (name.encode(), self._chat.body(request, self._structured))
            count, size = count + 1, size + len(text)
            may = self._recorder.may_ask(request) if size <= MOST_BYTES else None
            if may is None:
                self._waits_for_room |= size <= MOST_BYTES
                self._supply.waiting.appendleft(request)
                return
            self._budget_left = may
            if may:
                yield name, request, text

    def _look(self, started: OpenBatch) -> bool:
        """Fetch the state of a batch; if it has ended, record its answers, and return True."""
        batch = self._api.state(started.batch or "")
        if batch is not None and batch.status not in _OVER:
            self._progress(batch)
            return False
        self._supply.read_ahead(lambda: len(started.found) == sum(map(len, started.requests.values())))
        reason: str = "vanished" if batch is None else "missing" if batch.status == "completed" else batch.status
        missing = dict.fromkeys(started.requests, reason)
        hopeless, failed = self._keep_lines(started, batch, missing) if batch is not None else (None, set())
        self._recorder.remember({"event": "ended", "digest": started.digest})
        self._open.pop(started.digest, None)
        self._ended.add(started.batch or "")
        self._forget(started)
        self._queue_full = False
        excused = batch is not None and batch.status == "failed" and self._is_excused(started, batch)
        for name, reason in missing.items():
            if request := started.request(name):
                if name not in failed:
                    self._recorder.failure(request, reason)
                self._tries[name] += not (excused or reason == _NO_FORMAT)
                if self._tries[name] < self._tries_allowed:
                    self._supply.again.append(request)
        if batch is not None and batch.status == "cancelled":
            raise ShoeError(f"{self._place}: batch {batch.id} was cancelled; its answers so far are saved")
        if hopeless and len(missing) == len(started.requests):
            raise hopeless
        return True

    def _keep_lines(
        self, started: OpenBatch, batch: BatchState, missing: dict[str, str]
    ) -> tuple[ShoeError | None, set[str]]:
        """Record the answers and failures of an ended batch that are for questions of this run.

        Answered requests are removed from ``missing``, the reasons by custom ID; failures get a specific reason. Return
        the first error after which a request cannot succeed, or None; and the custom IDs of recorded failures.
        """
        hopeless, failed = None, set[str]()
        lines = (text for file in batch.files for text in self._api.lines(file))
        for name, result in (result_of(self._place, self._chat.model, text) for text in lines):
            if name not in missing:
                continue
            if isinstance(result, dict):
                del missing[name]
                request = started.request(name)
                # An answer cannot be parsed for a part of its questions: their IDs depend on the other questions.
                if request and len(request.keys) == len(started.requests[name]):
                    self._recorder.answer(request, result)
                elif request:
                    self._supply.again.append(request)
                continue
            if isinstance(result, errors.NoResponseFormatError):
                missing[name] = _NO_FORMAT
                self._structured = False
            else:
                missing[name] = result.kind if isinstance(result, errors.Transient) else "error"
                hopeless = hopeless or (result if isinstance(result, ShoeError) else None)
            if request := started.request(name):
                usage = result.usage if isinstance(result, errors.Transient) else None
                self._recorder.failure(request, missing[name], usage=usage)
                failed.add(name)
        return hopeless, failed

    def _is_excused(self, started: OpenBatch, batch: BatchState) -> bool:
        """Return True if a failed batch may be sent again without counting as a try; otherwise raise ShoeError."""
        message = next((message for _, message in batch.problems if message), "no reason given")
        if any(code in _QUEUE_FULL for code, _ in batch.problems) and started.overlapped:
            # The queue of the endpoint is full until another batch ends.
            self._queue_full = bool(self._running)
            return True
        body = msgspec.json.encode({"error": {"message": message}})
        failed = errors.http_error(self._place, self._chat.model, 400, {}, body)
        if not isinstance(failed, errors.NoResponseFormatError) or not self._structured:
            reason, hint = self._place.shown(message), "if it is too large, set requests_per_batch lower"
            raise ShoeError(f"{self._place}: batch {batch.id} failed: {reason} ({hint})")
        self._structured = False
        return True

    def _progress(self, batch: BatchState) -> None:
        state = f"{batch.status} {10 * batch.done // batch.total if batch.total else 0}"
        if self._shown.get(batch.id) != state:
            self._shown[batch.id] = state
            line = self._place.shown(f"batch {batch.id}: {batch.status}, {batch.done} of {batch.total} requests")
            _log.warning("%s: %s", self._place, line)

    def _is_over(self) -> bool:
        """Return whether the run is to end now; False while the last batch within the budget is being sent."""
        return self._recorder.stopping and not self._sends_last

    def _sleep(self, seconds: float) -> None:
        end = monotonic() + seconds
        while not self._is_over() and (left := end - monotonic()) > 0:
            sleep(min(left, _LOOK_FOR_A_STOP))


# Google's OpenAI-compatible endpoint has OpenAI's batches, but not OpenAI's files: these are sent to Google's own Files
# API, on the same server.

_GOOGLE_ID = re.compile(r"files/[\w-]+")  # form of the ID of a file at Google


def _google_upload(client: Any, server: str, name: str, path: Path) -> str:
    """Upload a JSONL file as ``name``, by Google's resumable upload; return its ID ("" for an invalid response)."""
    data = path.read_bytes()
    start = {"Protocol": "resumable", "Command": "start", "Header-Content-Type": "application/jsonl"}
    start["Header-Content-Length"] = str(len(data))
    new = {"file": {"display_name": name}}
    url = _google_post(client, f"{server}/upload/v1beta/files", start, body=new).headers["X-Goog-Upload-URL"]
    if not url.startswith(f"{server}/"):  # the file and the key are not sent to another server
        return ""
    end = {"Offset": "0", "Command": "upload, finalize"}
    file = _google_post(client, url, end, content=data).json()["file"]["name"]
    return file if _GOOGLE_ID.fullmatch(file) else ""


def _google_download(client: Any, server: str, file: str) -> bytes:
    """Return the content of the file with an ID, b"" for HTTP 403: Google's answer for a file that does not exist."""
    import httpx2
    import openai

    try:
        url = f"{server}/download/v1beta/{file}:download?alt=media"
        return bytes(client.get(url, cast_to=httpx2.Response).content) if _GOOGLE_ID.fullmatch(file) else b""
    except openai.PermissionDeniedError:
        return b""


def _google_post(client: Any, url: str, upload: dict[str, str], **content: Any) -> Any:
    import httpx2

    headers = {f"X-Goog-Upload-{name}": value for name, value in upload.items()}
    return client.post(url, cast_to=httpx2.Response, options={"headers": headers}, **content)
