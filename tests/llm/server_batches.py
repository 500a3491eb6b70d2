"""Files and batches of the test server: OpenAI's Batch API, kept in memory."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any

import orjson

from tests.llm.http import Heard, Http, Reply, Says, says_json
from tests.llm.server_plan import Plan, share

ENDED = ("completed", "expired", "cancelled", "failed")


class Batches:
    """Uploads, batches and what came out of them.

    Faults of lines, by the plan's rates: "line 500" (a line of the error file), "line lost" (no line anywhere). Faults
    of requests: "batch 500" (nothing happened), "batch dropped" (it happened, but the response is lost).
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._tasks: set[asyncio.Task[None]] = set()

    def forget(self, answers: Any) -> None:
        self.counts: Counter[str] = Counter()
        self._answers = answers
        self._files: dict[str, tuple[str, bytes]] = {}
        self._batches: dict[str, dict[str, Any]] = {}
        self._born: dict[str, float] = {}
        self._created: dict[str, dict[str, Any]] = {}
        self._tries: Counter[tuple[object, ...]] = Counter()

    def add_to(self, http: Http, checked: Callable[[Reply], Reply]) -> None:
        http.add("POST", "/v1/files", checked(self.upload))
        http.add("GET", "/v1/files/{id}/content", checked(self.content))
        http.add("POST", "/v1/batches", checked(self.create))
        http.add("GET", "/v1/batches", checked(self.listed))
        http.add("GET", "/v1/batches/{id}", checked(self.retrieve))
        http.add("POST", "/v1/batches/{id}/cancel", checked(self.cancel))

    async def upload(self, heard: Heard) -> Says | None:
        if fault := self._fault("upload"):
            return self._failed(fault)
        form = heard.form()
        assert form["purpose"][1] == b"batch"
        name, content = form["file"]
        return says_json(self._keep(str(name), content, "batch"))

    async def content(self, heard: Heard) -> Says | None:
        if fault := self._fault("content"):
            return self._failed(fault)
        return Says(self._files[heard.match["id"]][1], kind="application/octet-stream")

    async def create(self, heard: Heard) -> Says | None:
        fault = self._fault("create")
        if fault == "batch 500":
            return self._failed(fault)
        asked = heard.json()
        assert (asked["endpoint"], asked["completion_window"]) == ("/v1/chat/completions", "24h")
        honoured = self.plan.honours_keys and not self.plan.begins_again
        if (once := heard.headers.get("idempotency-key", "")) in self._created and honoured:
            return says_json(self._created[once])
        self.counts["batches"] += 1
        batch = {name: asked.get(name) for name in ("endpoint", "completion_window", "input_file_id", "metadata")}
        batch |= {"object": "batch", "created_at": 0, "status": "validating", "id": f"batch-{len(self._batches) + 1}"}
        batch["request_counts"] = {"total": 0, "completed": 0, "failed": 0}
        self._batches[batch["id"]] = batch
        self._born[batch["id"]], self._created[once] = monotonic(), batch
        task = asyncio.create_task(self._run(batch))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if fault:
            return self._failed(fault)
        await asyncio.sleep(self.plan.hold_create)
        return says_json(batch)

    async def listed(self, heard: Heard) -> Says:
        if not self.plan.lists_batches:
            return Says(status=404)
        before = monotonic() - self.plan.lists_lag
        newest_first = [batch for batch in reversed(self._batches.values()) if self._born[batch["id"]] <= before]
        if after := heard.query.get("after"):
            newest_first = newest_first[1 + [batch["id"] for batch in newest_first].index(after) :]
        page = newest_first[: int(heard.query.get("limit", 20))]
        return says_json({"object": "list", "data": page, "has_more": len(page) < len(newest_first)})

    async def retrieve(self, heard: Heard) -> Says | None:
        if fault := self._fault("retrieve"):
            return self._failed(fault)
        if heard.match["id"] not in self._batches:
            return says_json({"error": {"message": "no such batch"}}, 404)
        return says_json(self._batches[heard.match["id"]])

    async def cancel(self, heard: Heard) -> Says:
        batch = self._batches[heard.match["id"]]
        if batch["status"] not in ENDED:
            batch["status"] = "cancelling"
        return says_json(batch)

    async def _run(self, batch: dict[str, Any]) -> None:
        lines = self._files[batch["input_file_id"]][1].splitlines()
        requests = [orjson.loads(line) for line in lines]
        names = [request["custom_id"] for request in requests]
        problem: dict[str, Any] = {}
        if len(lines) > self.plan.most_lines or len(set(names)) < len(names):
            problem = {"code": "invalid", "message": f"{len(lines)} lines are too many, or equal", "line": 1}
        elif sum(other["status"] == "in_progress" for other in self._batches.values()) >= self.plan.most_batches:
            problem = {"code": "token_limit_exceeded", "message": "too many tokens are waiting"}
        if problem:
            batch |= {"status": "failed", "errors": {"object": "list", "data": [problem]}}
            return
        batch["status"] = "in_progress"
        batch["request_counts"]["total"] = len(lines)
        while len(self._batches) < self.plan.first_waits_for:
            await asyncio.sleep(0.01)
        await asyncio.sleep(self.plan.batch_seconds)
        number = int(batch["id"].rpartition("-")[2])
        end = {"cancelling": "cancelled"}.get(batch["status"], "completed")
        if number <= self.plan.expiring:
            end = "expired"
        done = requests if end == "completed" else requests[: len(requests) // 2]
        answers, errors = self._lines(done)
        errors += [_line(request, 0, "The batch expired.") for request in requests[len(done) :] if end == "expired"]
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
        about = {"id": number, "object": "file", "created_at": 0, "status": "processed"}
        return about | {"bytes": len(content), "filename": name, "purpose": purpose}

    def _fault(self, route: str) -> str | None:
        self._tries[(route,)] += 1
        return self.plan.fault(("batch 500", "batch dropped"), route, self._tries[(route,)])

    def _failed(self, fault: str) -> Says | None:
        return None if fault == "batch dropped" else says_json({"error": {"message": "Try again later"}}, 500)


def _line(request: Mapping[str, Any], status: int, body: Any) -> bytes:
    """The line of a request with a response, or of an expired one without a status."""
    response = {"status_code": status, "request_id": "r", "body": body} if status else None
    error = None if status else {"code": "batch_expired", "message": body}
    return orjson.dumps({"id": "l", "custom_id": request["custom_id"], "response": response, "error": error}) + b"\n"


def _json_or_text(content: bytes) -> Any:
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        return content.decode()
