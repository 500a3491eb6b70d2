"""Endpoints that do not answer as the Batch API does: one line, or what can be had."""

from typing import Any

import pytest

from shoe.core.errors import ShoeError
from shoe.llm.limits import Limits
from tests.llm.http import Heard, Http, Reply, Says, always
from tests.llm.server import Endpoint, Server
from tests.llm.server_plan import Plan
from tests.maps.asking import Memory, in_groups, questions, rater
from tests.mentions import mentions


def says(body: str, *, html: bool = False, status: int = 200) -> Reply:
    return always(Says(body.encode(), status, kind="text/html" if html else "application/json"))


async def breaks_off(heard: Heard) -> Says:
    return Says(b'{"custom_id":' + bytes(100_000), sent=13)


UPLOADED, BEGUN = says('{"id": "file-1"}'), says('{"id": "b", "status": "in_progress"}')
OVER = says('{"id": "b", "status": "completed", "output_file_id": "f", "error_file_id": 5, "request_counts": 5}')
NOTHING = says("")
UNKNOWN = "json_schema is not supported"


class Odd(Endpoint):
    def __init__(self, upload: Reply, begin: Reply, look: Reply, content: Reply) -> None:
        super().__init__(Plan())
        self.heard: list[str] = []
        self._replies = upload, begin, look, content

    def add_to(self, http: Http) -> None:
        upload, begin, look, content = map(self.listening, self._replies)
        http.add("POST", "/v1/files", upload)
        http.add("GET", "/v1/files/{id}/content", content)
        http.add("POST", "/v1/batches", begin)
        http.add("GET", "/v1/batches/{id}", look)
        http.add("GET", "/v1/batches", self.listening(says("<p>", html=True)))

    def listening(self, reply: Reply) -> Reply:
        async def heard(one: Heard) -> Says | None:
            self.heard += one.headers.values()
            return await reply(one)

        return heard


def rated(
    memory: Memory | None = None,
    api_key_env: str = "",
    /,
    upload: Reply = UPLOADED,
    begin: Reply = BEGUN,
    look: Reply = OVER,
    content: Reply = NOTHING,
) -> Memory:
    memory = memory or Memory()
    with Server(endpoint=Odd(upload, begin, look, content)) as server:
        _, backend = rater(server.url, "openai-batch", limits=Limits(outage=0, tries=2), api_key_env=api_key_env)
        backend.rate(in_groups(questions(2)), memory)
    return memory


ODD = "2 tries: odd: … base_url"
FAILED = '{"id": "b", "status": "failed", "errors": "none", "request_counts": {"total": "two"}}'
STEPS = ("upload", "begin", "look")
REFUSED = says(f'{{"error": {{"message": "{UNKNOWN}"}}}}', status=400), f"HTTP 400: {UNKNOWN}"
NO_API = (says("<p>Welcome", html=True), NOTHING, says("[]"), says("{}"), says("{oops"))
NOT_SHOWN = ("file-sk-secret-key", "a\\nb", "a\\u202eb", "\\ud800", "x" * 1000)


@pytest.mark.parametrize(
    ("step", "odd", "values"),
    [
        *((step, *each) for step in STEPS for each in [*((odd, ODD) for odd in NO_API), REFUSED]),
        *((step, says(f'{{"id": "{id_}", "status": "in_progress"}}'), "odd: ") for step in STEPS for id_ in NOT_SHOWN),
        ("upload", says('{"id": ' + "[" * 5000 + "]" * 5000 + "}"), "odd"),
        ("content", breaks_off, "2 tries: dropped"),
        ("look", says(FAILED), "batch b failed: no reason"),
    ],
)
def test_what_is_no_batch_api_refused_too_deep_or_odd_is_one_line_and_kept_nowhere(
    monkeypatch: pytest.MonkeyPatch, step: str, odd: Reply, values: str
) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-secret-key")
    memory, replies = Memory(), dict[str, Any]({step: odd})
    with pytest.raises(ShoeError, match=mentions(values)) as caught:
        rated(memory, "SOME_KEY", **replies)
    assert "secret" not in f"{caught.value} {memory.events}"


@pytest.mark.parametrize("content", [NOTHING, says("[]\n{}\n5\n"), says("no such file", status=404)])
def test_files_without_answers_or_gone_leave_requests_without_an_answer(content: Reply) -> None:
    memory = rated(content=content)
    assert not memory.answers
    assert memory.failures == [("missing", "")] * 4


def test_no_other_endpoint_hears_what_is_for_the_official_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "WEBHOOK_SECRET"):
        monkeypatch.setenv(f"OPENAI_{name}", "sk-secret")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway: sk-secret\nAuthorization: Bearer sk-secret")
    monkeypatch.setenv("SOME_KEY", "sk-of-this-endpoint")
    odd = Odd(UPLOADED, BEGUN, OVER, NOTHING)
    with Server(endpoint=odd) as server:
        _, backend = rater(server.url, "openai-batch", limits=Limits(outage=0, tries=1), api_key_env="SOME_KEY")
        backend.rate(in_groups(questions(1)), Memory())
    assert "sk-secret" not in " ".join(odd.heard)
    assert odd.heard.count("Bearer sk-of-this-endpoint") == 4
