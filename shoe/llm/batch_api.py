"""OpenAI's Batch API through its SDK: files are uploaded and downloaded, batches started and their state fetched."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from shoe.core.errors import ShoeError
from shoe.llm.endpoint import Endpoint
from shoe.llm.errors import DENIED_IN_A_ROW, HopelessError, Transient, http_error
from shoe.llm.limits import Limits
from shoe.llm.sdk import backoff, client, connection_error

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
