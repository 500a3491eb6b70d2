"""OpenAI's Batch API through its SDK, whose own retries are off: files up and down, batches begun and looked at."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from shoe.errors import MissingExtraError, ShoeError
from shoe.raters.network.endpoint import Endpoint
from shoe.raters.network.errors import Transient, http_error
from shoe.raters.network.retry import retrying

if TYPE_CHECKING:
    from openai.types import Batch

_MARK = "shoe"
_MOST_LISTED = 1000
_T = TypeVar("_T")


class StoppedError(Exception):
    """The job is to end, and a request that failed is not made again."""


class BatchApi:
    """Batches at one endpoint; a context, after which its files are gone."""

    def __init__(
        self,
        place: Endpoint,
        model: str,
        timeout: float,
        tries: int,
        sleep: Callable[[float], None],
        stopped: Callable[[], bool],
    ) -> None:
        try:
            import openai
        except ImportError:
            raise MissingExtraError("asking an endpoint", "llm") from None
        self._place = place
        self._model = model
        self._tries = tries
        self._stopped = stopped
        self._retrying = retrying(tries, sleep, stopped)
        self._client = openai.OpenAI(
            api_key=place.key or "none",
            base_url=place.base_url,
            max_retries=0,
            timeout=timeout,
            http_client=openai.DefaultHttpxClient(follow_redirects=False),
        )
        self._folder = TemporaryDirectory(prefix="shoe-")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()
        self._folder.cleanup()

    @property
    def folder(self) -> Path:
        """A folder for files that are gone afterwards."""
        return Path(self._folder.name)

    def upload(self, name: str, path: Path) -> str:
        """Send a file of requests; its id."""

        def send() -> str:
            with path.open("rb") as stream:
                return self._client.files.create(file=(name, stream), purpose="batch").id

        return self._call(send)

    def start(self, file: str, digest: str, others: Collection[str]) -> str:
        """Begin a batch, marked with what it asks; one begun by an attempt whose response was lost is taken instead.

        Args:
            file: id of its requests.
            digest: of them.
            others: ids of batches with the same requests that are known to be another.
        """
        lost: list[bool] = []

        def create() -> str:
            if lost and (found := self._begun(others).get(digest)):
                return found
            lost.append(True)
            return self._client.batches.create(
                input_file_id=file,
                endpoint="/v1/chat/completions",
                completion_window="24h",
                metadata={_MARK: digest},
            ).id

        return self._call(create)

    def begun(self, others: Collection[str]) -> dict[str, str]:
        """Ids of the newest batches by the digest that they are marked with; none where the endpoint lists none."""
        return self._call(lambda: self._begun(others))

    def _begun(self, others: Collection[str]) -> dict[str, str]:
        import openai

        try:
            newest = list(islice(self._client.batches.list(limit=100), _MOST_LISTED))
        except openai.APIStatusError as error:
            if error.status_code not in (404, 405, 501):
                raise
            return {}
        return {
            batch.metadata[_MARK]: batch.id
            for batch in reversed(newest)
            if batch.metadata and _MARK in batch.metadata and batch.id not in others
        }

    def look(self, batch: str) -> Batch | None:
        """How a batch stands; None if the endpoint does not know it any more."""
        import openai

        def retrieve() -> Batch | None:
            try:
                return self._client.batches.retrieve(batch)
            except openai.NotFoundError:
                return None

        return self._call(retrieve)

    def lines(self, file: str) -> Iterator[bytes]:
        """Download a file and go through its lines; a line feed ends one, no other character does."""
        path = self.folder / "downloaded"

        def download() -> None:
            with self._client.files.with_streaming_response.content(file) as response:
                response.stream_to_file(path)

        self._call(download)
        with path.open("rb") as stream:
            yield from stream

    def _call(self, ask: Callable[[], _T]) -> _T:
        try:
            answered: _T = self._retrying.copy()(self._attempt, ask)
            return answered
        except Transient as last:
            if self._stopped():
                raise StoppedError from None
            raise ShoeError(f"{self._place}: it does not answer after {self._tries} tries: {last}") from None

    def _attempt(self, ask: Callable[[], _T]) -> _T:
        import openai

        try:
            return ask()
        except openai.APITimeoutError:
            raise Transient("timeout") from None
        except openai.APIConnectionError as error:
            raise Transient("dropped", self._place.shown(str(error.__cause__ or error))) from None
        except openai.APIStatusError as error:
            response = error.response
            failed = http_error(self._place, self._model, response.status_code, response.headers, response.read())
            raise failed from None
