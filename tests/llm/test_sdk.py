"""Bodies without end, or that would unpack to one, whichever client asks."""

import asyncio
import gzip
from collections.abc import Callable

import httpx2
import openai
import pytest

from shoe.core.errors import ShoeError
from shoe.llm import client as sdk
from shoe.llm.batch import BatchApi
from shoe.llm.endpoint import Endpoint
from shoe.llm.errors import Transient
from shoe.llm.limits import Limits
from tests.llm.http import Heard, Http, Says
from tests.mentions import mentions

LARGE = Says(b'{"id": "b", "status": "failed", "more": "' + bytes(5000) + b'"}')
PACKED = Says(gzip.compress(b'{"id": "b", "status": "failed"}'), headers={"Content-Encoding": "gzip"})
DRIPPING = Says(b'{"id": "b", "status": "failed"}' + b" " * 20, drip=0.05)


def asked(said: Says, ask: Callable[[Endpoint], object]) -> list[str]:
    """What the server heard about packed answers."""
    heard: list[str] = []

    async def reply(one: Heard) -> Says:
        heard.append(one.headers["accept-encoding"])
        return said

    server = Http()
    server.add("GET", "/v1/.*", reply)
    server.add("POST", "/v1/.*", reply)
    with server:
        ask(Endpoint("r", server.url, ""))
    return heard


def in_batches(place: Endpoint, *, file: bool = False) -> None:
    api = BatchApi(place, "m", Limits(tries=1, timeout=0.3), lambda seconds: None, lambda: False)
    try:
        assert len([*api.lines("f")]) if file else api.state("b")
    finally:
        api.close()


def alone(place: Endpoint) -> None:
    async def post() -> None:
        async with sdk.async_client(place, 0.3) as client:
            await client.post("/chat/completions", cast_to=httpx2.Response, content=b"{}")

    try:
        asyncio.run(post())
    except openai.APIConnectionError as error:
        raise sdk.connection_error(place, error, 0.3) from None


@pytest.mark.parametrize("ask", [in_batches, alone])
@pytest.mark.parametrize(("said", "kind"), [(LARGE, "too long: … 0.001 MB"), (PACKED, "packed"), (DRIPPING, "timeout")])
def test_no_answer_is_longer_or_takes_longer_than_it_may(
    monkeypatch: pytest.MonkeyPatch, ask: Callable[[Endpoint], None], said: Says, kind: str
) -> None:
    monkeypatch.setattr(sdk, "LONGEST_BODY", 1000)
    with pytest.raises((ShoeError, Transient), match=mentions(kind)):
        asked(said, ask)


def test_a_file_may_be_longer_than_an_answer_and_no_longer_than_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk, "LONGEST_BODY", 1000)
    assert asked(LARGE, lambda place: in_batches(place, file=True)) == ["identity"]
    monkeypatch.setattr(sdk, "LONGEST_FILE", 2000)
    with pytest.raises(ShoeError, match=mentions("too long: … 0.002 MB")):
        asked(LARGE, lambda place: in_batches(place, file=True))
