"""An endpoint on this machine that answers every request at once, in a process of its own."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.shared import environment

MESSAGE = {"role": "assistant", "content": '{"rating": 2}'}
ANSWER = json.dumps(
    {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 400, "completion_tokens": 6, "total_tokens": 406},
    }
).encode()


@contextmanager
def endpoint() -> Iterator[str]:
    """Yield the address of the server, which runs as long as the block."""
    code = "import asyncio; from benchmarks.endpoint import serve; asyncio.run(serve())"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def counted(url: str) -> tuple[int, float]:
    """Return how many requests came, and how many a second, from the first to the last."""
    with urllib.request.urlopen(f"{url}/stats") as response:
        requests, seconds = json.load(response)
    return requests, requests / seconds


class Instant(asyncio.Protocol):
    """Answers every request with the same rating, and GET /stats with their number and seconds.

    It parses no more of a request than its length.
    """

    requests = 0
    first = last = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        assert isinstance(transport, asyncio.Transport)
        self._transport, self._received = transport, b""

    def data_received(self, data: bytes) -> None:
        """Answer all requests that are whole by now."""
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            head = self._received[:end].lower()
            if head.startswith(b"get "):
                self._answer(json.dumps([Instant.requests, Instant.last - Instant.first]).encode())
                self._transport.close()
                return
            length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
            if len(self._received) < end + 4 + length:
                return
            self._received = self._received[end + 4 + length :]
            Instant.last = time.perf_counter()
            Instant.first = Instant.first or Instant.last
            Instant.requests += 1
            self._answer(ANSWER)

    def _answer(self, body: bytes) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self._transport.write(head.encode() + body)


async def serve() -> None:
    """Print the address and answer, without end."""
    server = await asyncio.get_running_loop().create_server(Instant, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()
