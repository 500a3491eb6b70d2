"""Endpoints behind gateways, such as Azure's: their own headers, and a query in the address; secrets stay outside."""

from pathlib import Path

import pytest

from shoe.core.errors import ShoeError
from shoe.llm.endpoint import address
from shoe.maps.raters_toml import read_raters
from shoe.predict.answers import Answers
from shoe.predict.backends.endpoint import Endpoint
from tests.errors import input_error
from tests.llm.http import Heard, Says
from tests.llm.server import Server, error
from tests.llm.server_plan import Plan
from tests.maps.test_moves import BATCHED, CHATTED, rated, raters
from tests.predict.asking import questions
from tests.predict.vlm_server import VlmServer, made_up

KEY, TEAM = "9f8b7c6d-azure-hush", "team hush-hush"
MORE = 'headers = {api-key = "SHOE_TEST_AZURE", X-Team = "SHOE_TEST_TEAM"}'


class Gateway(Server):
    """Passes on only what carries both headers and the version of the API, and no other key; counts what it denies."""

    denied = 0

    @property
    def url(self) -> str:
        return super().url + "?api-version=2024-10-21"

    async def reply(self, heard: Heard) -> Says | None:
        given = heard.headers.get("api-key"), heard.headers.get("x-team"), heard.query.get("api-version")
        if given != (KEY, TEAM, "2024-10-21") or "authorization" in heard.headers:
            self.denied += 1
            return error(401, f"Access denied due to invalid subscription key {given}", "401")
        return await super().reply(heard)


@pytest.fixture(autouse=True)
def _secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOE_TEST_AZURE", KEY)
    monkeypatch.setenv("SHOE_TEST_TEAM", TEAM)


def stored(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_requests_and_batches_carry_headers_and_query_and_nothing_is_stored(tmp_path: Path) -> None:
    with Gateway(Plan()) as server:
        for kind, pairs in (("openai", CHATTED), ("openai-batch", BATCHED)):
            outcome = rated(raters(tmp_path, server.url, kind, MORE), pairs)
            assert all((part.states >= 0).all() for part in outcome.parts.values())
        assert server.denied == 0
        assert server.stats()["answers"]
        addresses = raters(tmp_path, server.url, "openai", MORE).sessions[0].addresses()
        assert addresses == {server.url.partition("?")[0]: 16}
    assert (ledger := stored(tmp_path / "shoe-ledger"))
    assert not any(private.encode() in ledger for private in (KEY, TEAM, "SHOE_TEST", "api-version"))


def test_a_value_that_is_not_accepted_is_named_by_its_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOE_TEST_AZURE", "another-hush-key")
    with Gateway(Plan()) as server, pytest.raises(ShoeError, match=r"HTTP 401: .*SHOE_TEST_AZURE") as shown:
        rated(raters(tmp_path, server.url, "openai", MORE), CHATTED)
    assert not any(private in str(shown.value) for private in ("hush", "api-version"))
    monkeypatch.delenv("SHOE_TEST_TEAM")
    with pytest.raises(ShoeError, match="SHOE_TEST_TEAM: found nothing"):
        rated(raters(tmp_path, "http://127.0.0.1:9/v1", "openai", MORE), CHATTED)


def test_questions_about_images_carry_them_too(tmp_path: Path) -> None:
    heard: list[Heard] = []

    class Watched(VlmServer):
        async def reply(self, one: Heard) -> Says | None:
            heard.append(one)
            return await super().reply(one)

    with Watched(made_up) as server:
        headers = {"api-key": "SHOE_TEST_AZURE"}
        config = Endpoint(model="m", base_url=f"{server.url}?api-version=1", headers=headers, most_tokens=1)
        assert Answers(tmp_path / "a.jsonl", config).ask(lambda: questions(2, 2)) == {"probabilities": 4}
    assert [(one.headers["api-key"], one.query) for one in heard] == [(KEY, {"api-version": "1"})] * 4
    assert KEY.encode() not in stored(tmp_path)


@pytest.mark.parametrize(
    ("headers", "query", "found"),
    [
        *(({name: "SHOE_TEST_TEAM"}, "", f"r: headers: .*{name}") for name in ("Host", "a b", "Authorization")),
        ({"api-key": KEY}, "", "r: headers: .*api-key"),
        *(({}, f"?{query}", r"base_url: .*a key") for query in ("api-key=hushhush1", "sig=hushhush1")),
        ({}, "?v=1&subscription-key=hushhush1", r"base_url: .*a key"),
    ],
)
def test_headers_that_cannot_be_sent_and_keys_in_queries_are_refused(
    headers: dict[str, str], query: str, found: str
) -> None:
    with pytest.raises(ShoeError, match=found) as shown:
        address("r", f"http://host/v1{query}", "" if query else "SHOE_TEST_AZURE", headers)
    assert "hush" not in str(shown.value)


def test_a_value_instead_of_a_variable_is_refused_in_raters_toml(tmp_path: Path) -> None:
    start = '[[rater]]\nname = "r"\nkind = "openai"\nmodel = "m"\nbase_url = "http://h/v1"\n'
    (tmp_path / "r.toml").write_text(start + MORE)
    assert read_raters(tmp_path / "r.toml").raters[0].headers["api-key"] == "SHOE_TEST_AZURE"  # type: ignore[attr-defined]
    (tmp_path / "r.toml").write_text(f'{start}headers = {{api-key = "{KEY}"}}')
    with input_error(field="rater.headers.api-key") as shown:
        read_raters(tmp_path / "r.toml")
    assert "hush" not in str(shown.value)


def test_an_endpoint_with_headers_may_charge() -> None:
    assert address("r", "https://host/v1", "", {"api-key": "SHOE_TEST_AZURE"}).may_charge
    assert not address("r", "https://host/v1", "", {}).may_charge
