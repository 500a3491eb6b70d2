"""Requests over HTTP: what comes back, or how it failed to. Redirects are not followed, nothing is tried twice here."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

from shoe.core.errors import MissingExtraError, ShoeError
from shoe.llm.endpoint import Endpoint
from shoe.llm.errors import Transient

if TYPE_CHECKING:
    import aiohttp

_LONGEST_BODY = 16_000_000


class Reply(NamedTuple):
    """One HTTP response, whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport:
    """Connections to one endpoint, kept open between requests; an asynchronous context."""

    def __init__(self, place: Endpoint, timeout: float) -> None:
        try:
            import aiohttp
        except ImportError:
            raise MissingExtraError("asking an endpoint", "llm") from None
        self._place = place
        self._timeout = timeout
        self._url = f"{place.base_url}/chat/completions"
        # aiohttp can look for proxies by itself, but does so for each request, and then sends what is in ~/.netrc too.
        self._session = aiohttp.ClientSession(
            headers=place.headers(),
            timeout=aiohttp.ClientTimeout(total=timeout),
            connector=aiohttp.TCPConnector(limit=0),
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=place.proxy,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def post(self, body: bytes, once: str) -> Reply:
        """Send one request.

        Args:
            body: JSON.
            once: its ``Idempotency-Key``: an endpoint that honours it answers a repeat with what it has, and an
                endpoint that does not answers again.

        Raises:
            Transient: if no whole response came in time.
            ShoeError: if the endpoint cannot prove who it is.
        """
        import aiohttp

        try:
            async with self._session.post(
                self._url, data=body, headers={"Idempotency-Key": once}, allow_redirects=False
            ) as response:
                return Reply(response.status, response.headers, await _content(response))
        except TimeoutError:
            raise Transient("timeout", f"nothing within {self._timeout:g} s", overload=True, reached=False) from None
        except aiohttp.ClientConnectorCertificateError as error:
            raise ShoeError(f"{self._place}: {self._place.shown(str(error))}") from None
        except aiohttp.ClientConnectorError as error:
            raise Transient("unreachable", self._place.shown(str(error)), overload=True, reached=False) from None
        except (aiohttp.ClientError, ConnectionError) as error:
            words = str(error) or type(error).__name__
            raise Transient("dropped", self._place.shown(words), reached=False) from None


async def _content(response: aiohttp.ClientResponse) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_any():
        parts.append(part)
        size += len(part)
        if size > _LONGEST_BODY:
            raise Transient("too long", f"an answer of more than {_LONGEST_BODY / 1e6:g} MB")
    return b"".join(parts)
