"""A small HTTP server for tests, on asyncio alone: routes, and responses that can be cut or dropped."""

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

import orjson


@dataclass
class Heard:
    """One request; ``headers`` by names in small letters, ``match`` what the route's pattern named."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    match: dict[str, str] = field(default_factory=dict)

    def json(self) -> Any:
        return orjson.loads(self.body)

    def form(self) -> dict[str, tuple[str | None, bytes]]:
        head = f"Content-Type: {self.headers['content-type']}\r\n\r\n".encode()
        parts: Any = BytesParser(policy=HTTP).parsebytes(head + self.body).iter_parts()
        return {
            part.get_param("name", header="content-disposition"): (part.get_filename(), part.get_payload(decode=True))
            for part in parts
        }


@dataclass(frozen=True)
class Says:
    """One response; if ``sent`` is a number, so many bytes of its body are sent before the connection is closed.

    ``drip`` seconds pass between the bytes of its body.
    """

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str = "application/json"
    sent: int | None = None
    drip: float = 0.0


Reply = Callable[[Heard], Awaitable[Says | None]]
"""Answers a request; None hangs up."""


def says_json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Says:
    return Says(orjson.dumps(value), status, headers or {})


def always(said: Says) -> Reply:

    async def reply(heard: Heard) -> Says:
        return said

    return reply


class Http:
    """A server on a port of its own, in a thread of its own, as long as the block lasts."""

    def __init__(self) -> None:
        self._routes: list[tuple[str, re.Pattern[str], Reply]] = []
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def add(self, method: str, path: str, reply: Reply) -> None:
        """Route a path, in which ``{name}`` stands for anything."""
        pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path)
        self._routes.append((method, re.compile(pattern), reply))

    async def reply(self, heard: Heard) -> Says | None:
        for method, pattern, reply in self._routes:
            if method == heard.method and (match := pattern.fullmatch(heard.path)):
                heard.match = match.groupdict()
                return await reply(heard)
        return Says(b"Not Found", 404, kind="text/plain")

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def call(self, function: Callable[[], Any]) -> Any:

        async def called() -> Any:
            return function()

        return asyncio.run_coroutine_threadsafe(called(), self._loop).result()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._talk, "127.0.0.1", 0, limit=2**26))
        self.port: int = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        pending = asyncio.all_tasks(self._loop)
        for task in pending:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
        self._loop.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (heard := await _heard(reader)) is not None:
                said = await self.reply(heard)
                if said is None:
                    break
                names = {"Content-Type": said.kind, "Content-Length": str(len(said.body)), **said.headers}
                head = "".join(f"{name}: {value}\r\n" for name, value in names.items())
                body = said.body if said.sent is None else said.body[: said.sent]
                writer.write(f"HTTP/1.1 {said.status} -\r\n{head}\r\n".encode() + (b"" if said.drip else body))
                for byte in body if said.drip else b"":
                    writer.write(bytes([byte]))
                    await writer.drain()
                    await asyncio.sleep(said.drip)
                await writer.drain()
                if said.sent is not None:
                    break
        except (ConnectionError, EOFError):  # who asked was killed
            pass
        finally:
            writer.close()


async def _heard(reader: asyncio.StreamReader) -> Heard | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines) if name}
    body = b""
    if headers.get("transfer-encoding") == "chunked":
        while size := int(await reader.readline(), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readline()
    elif length := int(headers.get("content-length", 0)):
        body = await reader.readexactly(length)
    parts = urlsplit(target)
    return Heard(method, parts.path, dict(parse_qsl(parts.query)), headers, body)
