"""A faulty endpoint: a real HTTP server that speaks OpenAI's chat completions, files and batches, and counts.

In a test: ``with Server(Plan(...)) as server``; by itself: ``python -m tests.llm.server '{"seed": 1}'``.
"""

import asyncio
import json
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler

from tests.llm.server_batches import Batches
from tests.llm.server_plan import NEVER_ARRIVES, NEVER_REACHED, Plan, Reader, completion


class Generator:
    """Answers, and how often each pair was answered; the same for single requests and for lines of batches."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.read = Reader()
        self.answers: dict[str, Counter[str]] = defaultdict(Counter)
        self.unreadable: dict[str, Counter[str]] = defaultdict(Counter)

    def pairs(self, body: Mapping[str, Any]) -> list[tuple[str, str]]:
        return self.read.pairs(body["messages"][-1]["content"])

    def answer(self, body: Mapping[str, Any]) -> bytes:
        model, pairs = body["model"], self.pairs(body)
        content, lost = completion(self.plan, model, pairs, [self.answers[model][pair] for _, pair in pairs])
        self.answers[model].update(pair for _, pair in pairs)
        self.unreadable[model].update(lost)
        return content


class Endpoint:
    """The routes and all that is counted."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.batches = Batches(plan)
        self.in_flight = 0
        self.forget()

    def forget(self) -> None:
        """Be as a new server; nothing may be in flight."""
        self.generator = Generator(self.plan)
        self.batches.forget(self.generator)
        self.counts: Counter[str] = Counter()
        self.most_in_flight = 0
        self._stored: dict[str, bytes] = {}
        self._tries: Counter[tuple[object, ...]] = Counter()
        self._in_a_row: Counter[tuple[object, ...]] = Counter()

    def app(self) -> web.Application:
        app = web.Application(client_max_size=2**30, middlewares=[self.authorized])
        app.router.add_post("/v1/chat/completions", self.chat)
        app.router.add_get("/stats", self.stats)
        for path in ("chat/completions", "files"):
            app.router.add_post(f"/elsewhere/{path}", self.elsewhere)
        app.router.add_post("/page/chat/completions", self.page)
        self.batches.add_to(app.router)
        return app

    @web.middleware
    async def authorized(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        given = request.headers.get("Authorization", "none")
        self.counts["http"] += 1
        if self.plan.key and request.path != "/stats" and given != f"Bearer {self.plan.key}":
            self.counts["unauthorized"] += 1
            return error(401, f"Incorrect API key provided: {given}", "invalid_api_key")
        return await handler(request)

    async def stats(self, request: web.Request) -> web.Response:
        return web.json_response(self.counted())

    def counted(self) -> dict[str, Any]:
        return {
            **self.counts,
            **self.batches.counts,
            "most_in_flight": self.most_in_flight,
            "answers": self.generator.answers,
            "unreadable": self.generator.unreadable,
        }

    async def elsewhere(self, request: web.Request) -> web.Response:
        return web.Response(status=307, headers={"Location": "http://127.0.0.1:9/v1/chat/completions"})

    async def page(self, request: web.Request) -> web.Response:
        return web.Response(text="<!doctype html><p>Welcome", content_type="text/html")

    async def chat(self, request: web.Request) -> web.StreamResponse:
        self.counts["requests"] += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await self._chat(request)
        finally:
            self.in_flight -= 1

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        plan = self.plan
        body = orjson.loads(await request.read())
        if plan.models and body["model"] not in plan.models:
            return error(404, f"The model {body['model']} does not exist", "model_not_found")
        if not plan.structured and "response_format" in body:
            self.counts["response_format"] += 1
            return error(400, "Unknown parameter: 'response_format'")
        if plan.most_in_flight is not None and self.in_flight > plan.most_in_flight:
            self.counts["429"] += 1
            return error(429, "Too many requests", headers={"Retry-After": plan.retry_after})
        request_name = (body["model"], *self.generator.pairs(body))
        fault = self._fault(request_name)
        self.counts[fault or "well"] += 1
        if fault in NEVER_REACHED:
            return await self._refuse(request, fault)
        content = self._generated(request.headers.get("Idempotency-Key", ""), body)
        if plan.seconds or fault == "slow":
            await asyncio.sleep(plan.slow_seconds if fault == "slow" else plan.seconds)
        if fault == "empty":
            return web.Response()
        if fault == "cut":
            return await self._cut(request, content)
        return web.Response(body=content, content_type="application/json")

    def _fault(self, name: tuple[object, ...]) -> str | None:
        self._tries[name] += 1
        fault = self.plan.fault((*NEVER_REACHED, *NEVER_ARRIVES), *name, self._tries[name])
        self._in_a_row[name] = self._in_a_row[name] + 1 if fault else 0
        if self._in_a_row[name] <= self.plan.in_a_row:
            return fault
        self._in_a_row[name] = 0
        return None

    def _generated(self, once: str, body: Mapping[str, Any]) -> bytes:
        if once in self._stored:
            self.counts["replays"] += 1
            return self._stored[once]
        content = self.generator.answer(body)
        if once and self.plan.honours_keys:
            self._stored[once] = content
        return content

    async def _refuse(self, request: web.Request, fault: str) -> web.Response:
        if fault == "dropped":
            _hang_up(request)
            return web.Response()
        headers = {"Retry-After": self.plan.retry_after} if fault in ("429", "503") else {}
        return error(int(fault), "Try again later", headers=headers)

    async def _cut(self, request: web.Request, content: bytes) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": str(len(content))})
        await response.prepare(request)
        await response.write(content[: len(content) // 2])
        _hang_up(request)
        return response


def _hang_up(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.close()


def error(status: int, message: str, code: str = "", headers: Mapping[str, str] | None = None) -> web.Response:
    """An error as OpenAI writes it."""
    content = {"error": {"message": message, "type": "error", "code": code or None}}
    return web.json_response(content, status=status, headers=headers)


class Server:
    """The endpoint on a port of its own, in a thread of its own, as long as the block lasts."""

    def __init__(self, plan: Plan | None = None) -> None:
        self.endpoint = Endpoint(plan or Plan())
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    def stats(self) -> dict[str, Any]:
        """All that was counted."""
        counted: dict[str, Any] = asyncio.run_coroutine_threadsafe(self._counted(), self._loop).result()
        return counted

    async def _counted(self) -> dict[str, Any]:
        return json.loads(json.dumps(self.endpoint.counted()))  # type: ignore[no-any-return]

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        runner = web.AppRunner(self.endpoint.app(), access_log=None, shutdown_timeout=0)
        self._loop.run_until_complete(self._start(runner))
        self._ready.set()
        self._loop.run_forever()
        self._loop.run_until_complete(runner.cleanup())
        pending = asyncio.all_tasks(self._loop)
        for task in pending:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
        self._loop.close()

    async def _start(self, runner: web.AppRunner) -> None:
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self._port: int = runner.addresses[0][1]


def main(arguments: Sequence[str]) -> None:
    with Server(Plan(**json.loads(arguments[0] if arguments else "{}"))) as server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        sys.stdin.read()  # until whoever started it closes the pipe


if __name__ == "__main__":
    main(sys.argv[1:])
