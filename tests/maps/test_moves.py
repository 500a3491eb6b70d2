"""Endpoints that move or stand behind gateways: answers stay, and secrets do not."""

import re
import shutil
from collections.abc import Mapping, Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import orjson
import pytest

from shoe.core.errors import ShoeError
from shoe.lexicon.senses import Part
from shoe.llm.budget import Budget
from shoe.llm.endpoint import address
from shoe.maps.built_map import write_built
from shoe.maps.job import Outcome, rate
from shoe.maps.planning import plan_pairs
from shoe.maps.raters_toml import read_raters
from shoe.maps.session import Raters
from shoe.predict.answers import Answers
from shoe.predict.backends.endpoint import Endpoint
from shoe.similarity import SimilarityMap
from tests.cli import run as cli
from tests.errors import input_error
from tests.llm.http import Heard, Says
from tests.llm.server import Server, error
from tests.llm.server_plan import Plan
from tests.maps.asking import PROMPTS
from tests.predict.asking import questions
from tests.predict.vlm_server import VlmServer, made_up

OLD = Path(__file__).parents[1] / "data" / "ledgers"
"""Ledgers of single requests and of a batch, answers of `shoe predict` and a map, with addresses in their keys."""
Pairs = Mapping[Part, Sequence[tuple[str, str]]]
CHATTED: Pairs = {
    "verb": [(a, b) for a in ("ride.v.01",) for b in ("straddle.v.01", "eat.v.01", "sit.v.01")]
    + [("feed.v.01", "eat.v.01")],
    "object": [("horse.n.01", "pony.n.01"), ("horse.n.01", "dog.n.01")],
}
BATCHED: Pairs = {"verb": [("ride.v.01", "board.v.01"), ("ride.v.01", "walk.v.01")]}


def raters(folder: Path, url: str, kind: str = "openai", more: str = "", model: str = "qwen3-32b") -> Raters:
    (folder / "raters.toml").write_text(
        f'[[rater]]\nname = "qwen"\nkind = "{kind}"\nmodel = "{model}"\nrevision = "r1"\nrepeats = 2\n'
        f'base_url = "{url}"\n{more or "sampling = {temperature = 0, max_tokens = 20}"}\n'
    )
    return Raters(read_raters(folder / "raters.toml"), PROMPTS, folder / "shoe-ledger")


def rated(session: Raters, pairs: Pairs) -> Outcome:
    return rate(session, {part: plan_pairs(part, of_part) for part, of_part in pairs.items()}, Budget())


def states(outcome: Outcome) -> dict[Any, list[list[int]]]:
    return {part: found.states.tolist() for part, found in outcome.parts.items()}


def test_answers_of_earlier_versions_are_used_from_every_address(tmp_path: Path) -> None:
    shutil.copytree(OLD / "shoe-ledger", tmp_path / "shoe-ledger")
    before = {path: path.read_bytes() for path in (tmp_path / "shoe-ledger").iterdir()}
    for more in ("", "sampling = {temperature = 0, max_tokens = 30}"):
        for kind in ("openai", "openai-batch"):
            session = raters(tmp_path, "http://127.0.0.1:9/v1", kind, more)  # nothing is listening there
            assert states(rated(session, CHATTED)) == {"verb": [[0, 0]] * 4, "object": [[4, 4], [1, 1]]}
            assert states(rated(session, BATCHED)) == {"verb": [[4, 4], [1, 1]]}
    assert {path: path.read_bytes() for path in (tmp_path / "shoe-ledger").iterdir()} == before


def test_another_rater_does_not_get_the_answers(tmp_path: Path) -> None:
    shutil.copytree(OLD / "shoe-ledger", tmp_path / "shoe-ledger")
    with Server(Plan()) as server:
        rated(raters(tmp_path, server.url, more="sampling = {temperature = 1, max_tokens = 20}"), CHATTED)
        assert server.stats()["requests"] == 12


def test_an_old_map_can_be_read_and_a_new_one_does_not_name_the_address(tmp_path: Path) -> None:
    old = SimilarityMap.load(OLD / "old-map")
    assert old.tables["verb"].ratings.tolist() == [[0, 0]] * 4
    shutil.copytree(OLD / "shoe-ledger", tmp_path / "shoe-ledger")
    session = raters(tmp_path, "http://gpu-17:8000/v1")
    write_built(tmp_path / "map", "hico-det", session, rated(session, CHATTED), {"verb": "v", "object": "o"})
    text = (tmp_path / "map" / "map.json").read_text()
    assert "gpu-17" not in text
    assert "127.0.0.1" not in text
    rater = orjson.loads(text)["raters"][0]
    assert (rater["model"], rater["revision"]) == ("qwen3-32b", "r1")
    assert (tmp_path / "map" / "verbs.tsv").read_bytes() == (OLD / "old-map" / "verbs.tsv").read_bytes()


def test_a_move_asks_nothing_and_each_answer_has_its_address(tmp_path: Path) -> None:
    with Server(Plan()) as server, Server(Plan()) as other:
        first = states(rated(raters(tmp_path, server.url), CHATTED))
        elsewhere = other.url.replace("127.0.0.1", "localhost")
        more = "sampling = {temperature = 0, max_tokens = 30}"
        for kind in ("openai", "openai-batch"):
            assert states(rated(raters(tmp_path, elsewhere, kind, more), CHATTED)) == first
        assert not other.stats().get("requests")
        rated(raters(tmp_path, elsewhere), BATCHED)
        assert raters(tmp_path, elsewhere).sessions[0].addresses() == {server.url: 12, elsewhere: 4}
        assert len(list((tmp_path / "shoe-ledger").iterdir())) == 1


def test_two_names_of_a_model_are_one_rater_if_its_settings_say_so(tmp_path: Path) -> None:
    served = 'served_as = "qwen3-32b@r1"'
    with Server(Plan()) as server:
        first = states(rated(raters(tmp_path, server.url, more=served, model="default"), CHATTED))
        requests = server.stats()["requests"]
        assert states(rated(raters(tmp_path, server.url, more=served, model="qwen"), CHATTED)) == first
        assert server.stats()["requests"] == requests
        rated(raters(tmp_path, server.url, model="qwen"), CHATTED)
        assert server.stats()["requests"] == 2 * requests


def test_the_dry_run_counts_the_answers_of_another_address(tmp_path: Path) -> None:
    shutil.copytree(OLD / "shoe-ledger", tmp_path / "shoe-ledger")
    raters(tmp_path, "http://127.0.0.1:9/v1")
    box = '"human_box": [1, 1, 50, 50], "object_box": [10, 10, 60, 60], "score": 0.5'
    words = f'{{"image": "HICO_test2015_00000001.jpg", {box}, "verb": "ride", "object": "moped"}}\n'
    (tmp_path / "words.jsonl").write_text(words)
    options = ("--raters", "raters.toml", "--for", "words.jsonl", "--parts", "object", "--dry-run")
    done = cli.run("map", "build", "map", *options, folder=tmp_path)
    assert done.returncode == 0
    assert re.search(r"\b16 .* http://127\.0\.0\.1:35437/v1\b", done.stderr)


def about_images(path: Path, url: str, model: str = "m", **more: Any) -> Answers:
    return Answers(path, Endpoint(model=model, base_url=url, most_tokens=1, **more))


def test_answers_about_images_are_used_from_another_address(tmp_path: Path) -> None:
    shutil.copy(OLD / "mine.answers.jsonl", tmp_path)
    with VlmServer(made_up) as server:
        answers = about_images(tmp_path / "mine.answers.jsonl", server.url)
        assert (answers.ask(lambda: questions(2, 2)), server.requests) == ({"probabilities": 4}, 0)
        assert (answers.ask(lambda: questions(3, 2)), server.requests) == ({"probabilities": 6}, 2)
        about_images(tmp_path / "new.jsonl", server.url).ask(lambda: questions(1, 2))
        later = about_images(tmp_path / "new.jsonl", "http://127.0.0.1:9/v1", "n", served_as="m")
        assert later.ask(lambda: questions(1, 2)) == {"probabilities": 2}


def named(*names: str) -> Any:
    """An endpoint that answers under these names, one after the other; the last one stays."""
    left = chain(names, repeat(names[-1]))
    return lambda body: made_up(body) | {"model": next(left)}


def test_another_name_of_the_model_is_a_warning_and_a_change_of_the_name_an_error(tmp_path: Path) -> None:
    def ask(names: Sequence[str], path: str) -> list[str]:
        said: list[str] = []
        with VlmServer(named(*names)) as server:
            about_images(tmp_path / path, server.url).ask(lambda: questions(4, 2), say=said.append)
        return said

    assert ask(["m"], "a.jsonl") == []
    (warning,) = ask(["m-2025-04-14"], "b.jsonl")
    assert "'m-2025-04-14'" in warning
    with pytest.raises(ShoeError, match=r"'m'.*'m-mini'"):
        ask(["m", "m", "m-mini"], "c.jsonl")
    assert (tmp_path / "c.jsonl").read_bytes().count(b'"answer"') >= 3  # what is paid for is kept


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
