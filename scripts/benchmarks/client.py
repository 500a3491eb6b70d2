"""The stage about what asking costs: `shoe map build` against an endpoint on this machine that answers at once.

In the same run a bare loop over the openai SDK sends requests of the same size: the ratio says what shoe adds by
planning its requests, writing prompts, keeping every answer in the ledger, counting, adapting its concurrency and
reading the ratings. Peak memory is the whole process's, planning and writing the map included.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.endpoint import counted, endpoint
from benchmarks.shared import SHOE, Row

CONCURRENCY = 64
RATERS = """
[[rater]]
name = "m"
kind = "openai"
model = "m"
base_url = "{url}/v1"
sampling = {{temperature = 0, max_tokens = 20}}
limits = {{concurrency = {concurrency}}}
"""


def client(folder: str, *, requests: int | None = None) -> list[Row]:
    """Build maps of 10,000 and 100,000 pairs; with requests=0, of all pairs of HICO-DET, almost a million (minutes)."""
    found = []
    for size in (10_000, 100_000) if requests is None else (requests,):
        bare = bare_loop(5_000)  # each time anew: what else the machine does changes
        count, per_second, seconds, memory = build(size, folder)
        found += [
            Row(f"shoe map build, {count:,} requests, requests a second", per_second, "1/s"),
            Row("  / bare loop over the SDK", per_second / bare, "×"),
            Row("  whole run", seconds, "s"),
            Row("  peak memory", memory, "MB"),
        ]
    return found


def build(most_requests: int, parent: str) -> tuple[int, float, float, float]:
    """Build a map of so many of HICO-DET's pairs, 0 for all: requests, requests a second, seconds and MB."""
    with endpoint() as url, TemporaryDirectory(dir=parent) as folder:
        raters = Path(folder) / "raters.toml"
        raters.write_text(RATERS.format(url=url, concurrency=CONCURRENCY))
        command = [*SHOE, "map", "build", f"{folder}/map", "--raters", str(raters), "--yes"]
        command += ["--max-requests", str(most_requests)] if most_requests else []
        begun = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert process.stderr
        said = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begun
        if os.waitstatus_to_exitcode(status) not in (0, 3):  # 3: the budget was used up, as it was to be
            sys.exit(said)
        return *counted(url), seconds, used.ru_maxrss / 1024


def bare_loop(requests: int) -> float:
    """Send requests that are all the same, and parse the answers' JSON; return requests a second."""
    import httpx2
    import openai

    messages = [{"role": "system", "content": "x" * 1000}, {"role": "user", "content": "x" * 500}]
    body = json.dumps({"model": "m", "messages": messages, "temperature": 0, "max_tokens": 20}).encode()

    async def send(url: str) -> None:
        left = iter(range(requests))
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
        http = openai.DefaultAsyncHttpxClient(limits=limits)
        async with openai.AsyncOpenAI(api_key="none", base_url=f"{url}/v1", max_retries=0, http_client=http) as sdk:

            async def work() -> None:
                for _ in left:
                    reply = await sdk.post("/chat/completions", cast_to=httpx2.Response, content=body)
                    json.loads(reply.content)

            await asyncio.gather(*(work() for _ in range(CONCURRENCY)))

    with endpoint() as url:
        asyncio.run(send(url))
        return counted(url)[1]
