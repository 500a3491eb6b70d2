"""Files and batches of the test server: OpenAI's Batch API, kept in memory."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import Any, Protocol

import orjson
from aiohttp import web

from tests.llm.server_plan import Plan, share

ENDED = ("completed", "expired", "cancelled", "failed")


class Answers(Protocol):
    """Where the answer to one line comes from."""

    def pairs(self, body: Mapping[str, Any]) -> list[tuple[str, str]]: ...

    def answer(self, body: Mapping[str, Any]) -> bytes: ...


class Batches:
    """Uploads, batches and what came out of them.

    Faults of lines, by the plan's rates: "line 500" (a line of the error file), "line lost" (no line anywhere). Faults
    of requests: "batch 500" (nothing happened), "batch dropped" (it happened, but the response is lost).
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._tasks: set[asyncio.Task[None]] = set()

    def forget(self, answers: Answers) -> None:
        """Have no files and batches, and take answers from there."""
        self.counts: Counter[str] = Counter()
        self._answers = answers
        self._files: dict[str, tuple[str, bytes]] = {}
        self._batches: dict[str, dict[str, Any]] = {}
        self._tries: Counter[tuple[object, ...]] = Counter()

    def add_to(self, router: web.UrlDispatcher) -> None:
        router.add_post("/v1/files", self.upload)
        router.add_get("/v1/files/{id}/content", self.content)
        router.add_post("/v1/batches", self.create)
        router.add_get("/v1/batches", self.listed)
        router.add_get("/v1/batches/{id}", self.retrieve)
        router.add_post("/v1/batches/{id}/cancel", self.cancel)

    async def upload(self, request: web.Request) -> web.StreamResponse:
        if fault := self._fault("upload"):
            return await self._failed(request, fault)
        form = await request.post()
        part = form["file"]
        assert isinstance(part, web.FileField)
        assert form["purpose"] == "batch"
        return web.json_response(self._keep(part.filename, part.file.read(), "batch"))

    async def content(self, request: web.Request) -> web.StreamResponse:
        if fault := self._fault("content"):
            return await self._failed(request, fault)
        return web.Response(body=self._files[request.match_info["id"]][1])

    async def create(self, request: web.Request) -> web.StreamResponse:
        fault = self._fault("create")
        if fault == "batch 500":
            return await self._failed(request, fault)
        asked = await request.json()
        assert (asked["endpoint"], asked["completion_window"]) == ("/v1/chat/completions", "24h")
        self.counts["batches"] += 1
        batch = {
            "id": f"batch-{len(self._batches) + 1}",
            "object": "batch",
            "endpoint": asked["endpoint"],
            "completion_window": "24h",
            "input_file_id": asked["input_file_id"],
            "metadata": asked.get("metadata"),
            "created_at": 0,
            "status": "validating",
            "request_counts": {"total": 0, "completed": 0, "failed": 0},
        }
        self._batches[batch["id"]] = batch
        task = asyncio.create_task(self._run(batch))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if fault:
            return await self._failed(request, fault)
        await asyncio.sleep(self.plan.hold_create)
        return web.json_response(batch)

    async def listed(self, request: web.Request) -> web.Response:
        if not self.plan.lists_batches:
            return web.Response(status=404)
        newest_first = [*reversed(self._batches.values())]
        after = request.query.get("after")
        if after:
            newest_first = newest_first[1 + [batch["id"] for batch in newest_first].index(after) :]
        page = newest_first[: int(request.query.get("limit", 20))]
        return web.json_response({"object": "list", "data": page, "has_more": len(page) < len(newest_first)})

    async def retrieve(self, request: web.Request) -> web.StreamResponse:
        if fault := self._fault("retrieve"):
            return await self._failed(request, fault)
        if request.match_info["id"] not in self._batches:
            return web.json_response({"error": {"message": "no such batch"}}, status=404)
        return web.json_response(self._batches[request.match_info["id"]])

    async def cancel(self, request: web.Request) -> web.Response:
        batch = self._batches[request.match_info["id"]]
        if batch["status"] not in ENDED:
            batch["status"] = "cancelling"
        return web.json_response(batch)

    async def _run(self, batch: dict[str, Any]) -> None:
        lines = self._files[batch["input_file_id"]][1].splitlines()
        requests = [orjson.loads(line) for line in lines]
        names = [request["custom_id"] for request in requests]
        if len(lines) > self.plan.most_lines or len(set(names)) < len(names):
            problem = {"code": "invalid", "message": f"{len(lines)} lines are too many, or equal", "line": 1}
            batch |= {"status": "failed", "errors": {"object": "list", "data": [problem]}}
            return
        if sum(other["status"] == "in_progress" for other in self._batches.values()) >= self.plan.most_batches:
            problem = {"code": "token_limit_exceeded", "message": "too many tokens are waiting"}
            batch |= {"status": "failed", "errors": {"object": "list", "data": [problem]}}
            return
        batch["status"] = "in_progress"
        batch["request_counts"]["total"] = len(lines)
        await asyncio.sleep(self.plan.batch_seconds)
        number = int(batch["id"].rpartition("-")[2])
        end = {"cancelling": "cancelled"}.get(batch["status"], "completed")
        if number <= self.plan.expiring:
            end = "expired"
        done = requests if end == "completed" else requests[: len(requests) // 2]
        answers, errors = self._lines(done)
        errors += [_expired(request) for request in requests[len(done) :]] if end == "expired" else []
        batch["request_counts"] |= {"completed": len(answers), "failed": len(errors)}
        for name, content in (("output_file_id", answers), ("error_file_id", errors)):
            if content:
                batch[name] = self._keep(name, b"".join(content), "batch_output")["id"]
        batch["status"] = end

    def _lines(self, requests: list[Any]) -> tuple[list[bytes], list[bytes]]:
        answers, errors = [], []
        for request in sorted(requests, key=share):
            body = request["body"]
            name = (body["model"], *self._answers.pairs(body))
            self._tries[name] += 1
            fault = self.plan.fault(("line 500", "line lost"), *name, self._tries[name])
            if not self.plan.structured and "response_format" in body:
                errors.append(_line(request, 400, {"error": {"message": "Unknown parameter: 'response_format'"}}))
            elif fault == "line 500":
                errors.append(_line(request, 500, {"error": {"message": "Try again later"}}))
            elif fault is None:
                content = self._answers.answer(body)
                answers.append(_line(request, 200, _json_or_text(content)))
        return answers, errors

    def _keep(self, name: str, content: bytes, purpose: str) -> dict[str, Any]:
        number = f"file-{len(self._files) + 1}"
        self._files[number] = (name, content)
        self.counts["files"] += 1
        return {
            "id": number,
            "object": "file",
            "bytes": len(content),
            "created_at": 0,
            "filename": name,
            "purpose": purpose,
            "status": "processed",
        }

    def _fault(self, route: str) -> str | None:
        self._tries[(route,)] += 1
        return self.plan.fault(("batch 500", "batch dropped"), route, self._tries[(route,)])

    async def _failed(self, request: web.Request, fault: str) -> web.Response:
        if fault == "batch dropped" and request.transport is not None:
            request.transport.close()
        return web.json_response({"error": {"message": "Try again later"}}, status=500)


def _line(request: Mapping[str, Any], status: int, body: Any) -> bytes:
    response = {"status_code": status, "request_id": "r", "body": body}
    return orjson.dumps({"id": "l", "custom_id": request["custom_id"], "response": response, "error": None}) + b"\n"


def _expired(request: Mapping[str, Any]) -> bytes:
    error = {"code": "batch_expired", "message": "This request could not be executed before the batch expired."}
    return orjson.dumps({"id": "l", "custom_id": request["custom_id"], "response": None, "error": error}) + b"\n"


def _json_or_text(content: bytes) -> Any:
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        return content.decode()
