"""Answers that are paid once: another folder, map or command of the same user asks nothing again."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shoe.demo import PREDICTIONS, TRUTH
from shoe.llm.cache import open_cache
from shoe.predict.answers import Answers
from shoe.predict.backends.endpoint import Endpoint
from shoe.predictions import read_predictions, write_predictions
from tests.cli import run as cli
from tests.llm.server import Server
from tests.llm.server_plan import Plan
from tests.maps.test_kills import ARGUMENTS, Work, answered_other_than_once, answers, rater_toml
from tests.predict.asking import questions
from tests.predict.vlm_server import VlmServer, made_up, without_logprobs

RATERS = rater_toml("one", "m1") + rater_toml("several", "m2", "openai", "pairs_per_request = 5")
ODD = Plan(rates={"chatter": 0.1, "missing": 0.05}, refused=0.05, unparsable=0.05)


OFF = {"SHOE_CACHE": "off"}
OBJECTS = (*ARGUMENTS[:2], "--parts", "object", *ARGUMENTS[2:])


def map_of(work: Work) -> dict[str, bytes]:
    files = work.map()
    about = json.loads(files.pop("map.json"))
    for rater in about["raters"]:
        rater.pop("from_cache", None)
    return files | {"map.json": json.dumps({**about, "digest": None}).encode()}


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"SHOE_CACHE": str(tmp_path / "cache")}


def works(folder: Path, server: Server, *names: str, raters: str = RATERS, **arguments: Any) -> list[Work]:
    return [Work(folder / name, raters.format(url=server.url), **arguments) for name in names]


def test_a_second_build_in_another_folder_asks_nothing(tmp_path: Path, env: dict[str, str]) -> None:
    with Server(ODD) as server:
        first, second, third = works(tmp_path, server, "first", "second", "third", arguments=OBJECTS)
        assert first.run(env=env)[0] == 0
        requests = server.stats()["requests"]
        code, out, _ = second.run("--dry-run", "--json", "-", env=env)
        assert code == 0
        expected = json.loads(out)["estimate"]["raters"]
        assert [rater["pairs"]["likely"] for rater in expected] == [0, 0]
        assert not (second.folder / "shoe-ledger").exists()
        code, out, errors = second.run("--json", "run.json", env=env)
        assert (code, server.stats()["requests"]) == (0, requests)
        assert "from cache" in out
        assert map_of(second) == map_of(first)
        assert second.run(env=env)[0] == 0  # all is in the ledger now
        assert third.run(env=OFF)[0] == 0
        assert server.stats()["requests"] >= 1.9 * requests
    run = json.loads((second.folder / "run.json").read_text())["run"]
    assert run["requests"] == 0
    about = json.loads(second.map()["map.json"])
    for rater, estimate, of_run in zip(about["raters"], expected, run["raters"], strict=True):
        ends = ("rated", "refused", "unparsable")
        final = {part: sum(of[end] for end in ends) for part, of in rater["states"].items()}
        assert rater["from_cache"] == final
        assert estimate["cached"] == of_run["cached"] == sum(final.values())
        assert re.search(rf"{rater['name']}: +{sum(final.values())} .*\bcache\b", errors)
    texts = [path.read_text() for path in (second.folder / "shoe-ledger").iterdir()]
    lines = [json.loads(line) for text in texts for line in text.splitlines()]
    origins = {(line["origin"], line["address"]) for line in lines if "answer" in line}
    assert origins == {("cache", server.url)}


def test_answers_of_a_run_without_the_cache_and_an_other_grouping_are_used(tmp_path: Path, env: dict[str, str]) -> None:
    with Server(ODD) as server:
        work, other = works(tmp_path, server, "first", "second")
        assert work.run("--parts", "object", env=OFF)[0] == 0
        assert work.run("--max-requests", "9", env=env)[0] == 3  # adds the answers of the ledger
        assert other.run(env=env)[0] == 0
        wrong = answered_other_than_once(server.stats())
        assert not wrong["m1"]
        assert wrong.total() <= 5  # a group in flight that is grouped anew


def test_asking_again_asks_for_what_the_cache_has_no_rating(tmp_path: Path, env: dict[str, str]) -> None:
    with Server(ODD) as server:
        (work,) = works(tmp_path, server, "first", arguments=OBJECTS)
        assert work.run(env=env)[0] == 0
        states = [rater["states"] for rater in json.loads(work.map()["map.json"])["raters"]]
        without = sum(part["refused"] + part["unparsable"] for of_rater in states for part in of_rater.values())
        paid = answers(server)
        assert work.run("--ask-again", "refused,unparsable", env=env)[0] == 0
        assert answers(server) - paid >= without > 0


def test_complete_uses_the_answers_of_build_and_is_divided(tmp_path: Path, env: dict[str, str]) -> None:
    table = read_predictions(PREDICTIONS["free text"])
    raters = RATERS.partition('[[rater]]\nname = "several"')[0]
    with Server(Plan()) as server:
        arguments = ["map", "complete", "hico-det", "--for", "few.jsonl", "-g", str(TRUTH), "--tolerance", "0"]
        arguments += ["--raters", "raters.toml", "--yes", "--out"]
        whole, second, divided = works(tmp_path, server, *"abc", raters=raters, arguments=arguments)
        for work in (whole, second, divided):
            write_predictions(table.select(np.arange(0, len(table), 80)), work.folder / "few.jsonl", "vlm")
        assert whole.run(env=env)[0] == 0
        assert (requests := server.stats()["requests"]) > 5
        code, out, errors = second.run(env=env)
        assert (code, server.stats()["requests"]) == (0, requests), errors
        assert re.search(rf"\b{requests:,} .*\bcache\b", out)
        records = json.loads(second.map()["map.json"])["completed"]
        assert records[-1]["from_cache"] == requests
        for shard in ("1/2", "2/2"):
            code, _, errors = divided.run("--shard", shard, env=OFF)
            assert code == 0
            assert f"part {shard}" in errors
            assert not (divided.folder / "map").exists()
        code, _, errors = divided.run(env=OFF)
        assert "merged" in errors
        assert (server.stats()["requests"], divided.map()["verbs.tsv"]) == (2 * requests, whole.map()["verbs.tsv"])


def test_the_command_shows_exports_and_empties_it(tmp_path: Path, env: dict[str, str]) -> None:
    def cache(*options: str) -> Any:
        done = cli.run("map", "cache", *options, folder=tmp_path, environment=env)
        return done.stdout + done.stderr if done.returncode == 0 else done.returncode

    assert "no answers" in cache()
    with Server(Plan()) as server:
        work, other = works(tmp_path, server, "first", "other", arguments=OBJECTS)
        assert work.run(env=env)[0] == 0
        requests = server.stats()["requests"]
        assert all(f"{model}: " in cache() for model in ("m1", "m2"))
        assert "MB" in cache()
        # A colleague puts the exported ledgers into a subfolder of the ledgers, and builds.
        cache("--export", "other/shoe-ledger/from-me")
        code, _, errors = other.run(env=OFF)
        assert (code, server.stats()["requests"]) == (0, requests), errors
        assert map_of(other) == map_of(work)
    assert cache("--export", "x", "--clear") == 2
    assert "empty" in cache("--clear")
    assert "no answers" in cache()
    assert cli.run("map", "cache", "--cache", "off").stdout.endswith("is off\n")


def test_predict_uses_answers_in_another_file_unless_they_lack_probabilities(tmp_path: Path) -> None:
    store = open_cache(str(tmp_path / "cache"), pytest.fail)

    def ask(name: str, url: str, count: int = 2, *, probabilities: bool = True) -> dict[str, int]:
        answers = Answers(tmp_path / name, Endpoint(model="m", base_url=url, most_tokens=1), store=store)
        known = answers.plan(lambda: questions(count), probabilities=probabilities).cached
        found = answers.ask(lambda: questions(count), probabilities=probabilities)
        return {**found, "cached": known}

    with VlmServer(without_logprobs) as server:
        assert ask("a.jsonl", server.url, probabilities=False) == {"text": 6, "cached": 0}
    with VlmServer(made_up) as server:
        assert (ask("b.jsonl", server.url, probabilities=False), server.requests) == ({"text": 6, "cached": 6}, 0)
        assert ask("c.jsonl", server.url) == {"probabilities": 6, "cached": 0}
        assert (ask("d.jsonl", server.url, 3), server.requests) == ({"probabilities": 9, "cached": 6}, 9)
    assert ask("e.jsonl", "http://127.0.0.1:9/v1", 3) == {"probabilities": 9, "cached": 9}
    lines = [json.loads(line) for line in (tmp_path / "e.jsonl").read_text().splitlines()[1:]]
    assert {line["origin"] for line in lines} == {"cache"}
