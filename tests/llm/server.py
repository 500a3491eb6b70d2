"""A faulty endpoint: a real HTTP server that speaks OpenAI's chat completions, files and batches, and counts.

In a test: ``with Server(Plan(...)) as server``; by itself: ``python -m tests.llm.server '{"seed": 1}'``.
"""

import asyncio
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from tests.llm.http import Heard, Http, Reply, Says, always, says_json
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

    def add_to(self, http: Http) -> None:
        http.add("POST", "/v1/chat/completions", self.authorized(self.chat))
        http.add("GET", "/stats", self.stats)
        elsewhere = Says(status=307, headers={"Location": "http://127.0.0.1:9/v1/chat/completions"})
        for path in ("chat/completions", "files"):
            http.add("POST", f"/elsewhere/{path}", always(elsewhere))
        page = Says(b"<!doctype html><p>Welcome", kind="text/html; charset=utf-8")
        http.add("POST", "/page/chat/completions", always(page))
        self.batches.add_to(http, self.authorized)

    def authorized(self, reply: Reply) -> Reply:
        async def checked(heard: Heard) -> Says | None:
            given = heard.headers.get("authorization", "none")
            if self.plan.key and given != f"Bearer {self.plan.key}":
                self.counts["unauthorized"] += 1
                return error(401, f"Incorrect API key provided: {given}", "invalid_api_key")
            return await reply(heard)

        return checked

    async def stats(self, heard: Heard) -> Says:
        return says_json(self.counted())

    def counted(self) -> dict[str, Any]:
        made = {"answers": self.generator.answers, "unreadable": self.generator.unreadable}
        return {**self.counts, **self.batches.counts, "most_in_flight": self.most_in_flight, **made}

    async def chat(self, heard: Heard) -> Says | None:
        self.counts["requests"] += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await self._chat(heard)
        finally:
            self.in_flight -= 1

    async def _chat(self, heard: Heard) -> Says | None:
        plan = self.plan
        body = heard.json()
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
            return self._refused(fault)
        content = self._generated(heard.headers.get("idempotency-key", ""), body)
        if plan.seconds or fault == "slow":
            await asyncio.sleep(plan.slow_seconds if fault == "slow" else plan.seconds)
        if fault == "empty":
            return Says()
        if fault == "malformed":
            return Says(content[: len(content) // 2])
        return Says(content, sent=len(content) // 2 if fault == "cut" else None)

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

    def _refused(self, fault: str) -> Says | None:
        if fault == "dropped":
            return None
        headers = {"Retry-After": self.plan.retry_after} if fault in ("429", "503") else {}
        return error(int(fault), "Try again later", headers=headers)


def error(status: int, message: str, code: str = "", headers: Mapping[str, str] | None = None) -> Says:
    return says_json({"error": {"message": message, "type": "error", "code": code or None}}, status, headers)


class Server(Http):
    """The endpoint on a port of its own, in a thread of its own, as long as the block lasts."""

    def __init__(self, plan: Plan | None = None, endpoint: Endpoint | None = None) -> None:
        super().__init__()
        self.endpoint = endpoint or Endpoint(plan or Plan())
        self.endpoint.add_to(self)

    def stats(self) -> dict[str, Any]:
        counted: dict[str, Any] = self.call(lambda: json.loads(json.dumps(self.endpoint.counted())))
        return counted


def main(arguments: Sequence[str]) -> None:
    with Server(Plan(**json.loads(arguments[0] if arguments else "{}"))) as server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        sys.stdin.read()  # until whoever started it closes the pipe


if __name__ == "__main__":
    main(sys.argv[1:])
