"""``shoe map build`` as users run it, against the faulty server: killed, stopped, doubled, divided; and gone on."""

import json
import os
import pty
import random
import select
import signal
import subprocess
import time
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from shoe.cli.model_requests import BUDGET_REACHED
from shoe.demo import PREDICTIONS, TRUTH
from tests.cli import run as cli
from tests.llm.http import Heard, Reply, Says, says_json
from tests.llm.server import Endpoint, Server, error
from tests.llm.server_plan import Plan

KILLS = 12
# About 200 pairs: one verb sense with each of the classes', one object's with each of theirs.
PREDICTED = [("lasso", "unicycle")]
FAULTS = Plan(
    seed=7,
    rates={
        **dict.fromkeys(("429", "500", "503", "dropped", "cut", "empty", "malformed", "chatter"), 0.02),
        **dict.fromkeys(("missing", "out of scale", "batch 500", "batch dropped"), 0.02),
        **dict.fromkeys(("prose", "thinking", "shuffled"), 0.1),
        "slow": 0.003,
        "line 500": 0.05,
        "line lost": 0.05,
    },
    refused=0.01,
    unparsable=0.01,
    seconds=0.02,
    slow_seconds=1.5,
    batch_seconds=0.2,
)


def rater_toml(name: str, model: str, kind: str = "openai", *more: str) -> str:
    settings = [f'name = "{name}"', f'kind = "{kind}"', f'model = "{model}"', 'base_url = "{url}"', *more]
    return "\n".join(["[[rater]]", *settings, "\n"])


TIMED = "limits = {{timeout = 1}}"
ONE = rater_toml("one", "m1", "openai", "{more}")
TWO = rater_toml("one", "m1", "openai", TIMED) + rater_toml("several", "m2", "openai", "pairs_per_request = 5", TIMED)
BATCHED = ("pairs_per_request = 2", "requests_per_batch = 60", "limits = {{tries = 20}}")
THREE = '[ensemble]\nprefilter = ["verb"]\nsample = 30\n' + TWO + rater_toml("batch", "m3", "openai-batch", *BATCHED)

ARGUMENTS = ("map", "build", "--raters", "raters.toml", "--for", "words.jsonl", "--yes")

pytestmark = pytest.mark.slow


class Work:
    def __init__(self, folder: Path, raters: str, arguments: Sequence[str] = ARGUMENTS) -> None:
        self.folder = folder
        self.arguments = arguments
        folder.mkdir(exist_ok=True)
        (folder / "raters.toml").write_text(raters)
        row = {"image": "a.jpg", "human_box": [0, 0, 9, 9], "object_box": [0, 0, 9, 9], "score": 1}
        rows = [json.dumps(row | {"verb": verb, "object": thing}) + "\n" for verb, thing in PREDICTED]
        (folder / "words.jsonl").write_text("".join(rows))

    def start(self, *options: str, out: str = "map", env: Mapping[str, str] | None = None) -> "subprocess.Popen[str]":
        command, pipe = [*cli.COMMAND, *self.arguments, out, *options], subprocess.PIPE
        variables = {**os.environ, **(env or {})}
        return subprocess.Popen(command, cwd=self.folder, env=variables, stdout=pipe, stderr=pipe, text=True)

    def run(self, *options: str, env: Mapping[str, str] | None = None) -> tuple[int, str, str]:
        done = cli.run(*self.arguments, "map", *options, folder=self.folder, environment=env)
        return done.returncode, done.stdout, done.stderr

    def built(self, *options: str) -> dict[str, bytes]:
        code, _, errors = self.run(*options)
        assert code == 0, errors
        return self.map()

    def map(self, out: str = "map") -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted((self.folder / out).iterdir())}


def answered_other_than_once(counted: Mapping[str, Any]) -> Counter[str]:
    """Per model, pairs that were answered more often than once, or twice if the first answer had no rating."""
    found: Counter[str] = Counter()
    for model, answers in counted["answers"].items():
        unreadable = counted["unreadable"].get(model, {})
        for pair, times in answers.items():
            found[model] += times != (2 if unreadable.get(pair) else 1)
    return +found


def answers(server: Server) -> int:
    return sum(times.total() for times in [*server.endpoint.generator.answers.values()])


def one(folder: Path, server: Server, more: str = "") -> Work:
    return Work(folder, ONE.format(url=server.url, more=more))


def about(work: Work) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(work.map()["map.json"])
    return found


def killed_runs(work: Work, server: Server, moments: Sequence[tuple[int, float]]) -> None:
    """Run, and kill so many seconds after the server has given so many answers, again and again."""
    for moment, seconds in moments:
        process = work.start()
        while process.poll() is None and answers(server) < moment:
            time.sleep(0.01)
        time.sleep(seconds)
        assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGKILL)
        process.communicate()


def test_a_run_killed_twelve_times_builds_the_same_map_and_asks_nothing_twice(tmp_path: Path) -> None:
    draw = random.Random(11)
    with Server(FAULTS) as server:
        clean = Work(tmp_path / "clean", THREE.format(url=server.url)).built()
        assert not answered_other_than_once(server.stats())
        most = int(0.9 * answers(server))
        server.endpoint.forget()

        work = Work(tmp_path / "killed", THREE.format(url=server.url))
        moments = [(moment, draw.uniform(0, 0.15)) for moment in sorted(draw.sample(range(1, most), KILLS))]
        killed_runs(work, server, moments)
        assert work.built() == clean
        before = server.stats()
        assert (work.built(), server.stats()) == (clean, before)
    assert not answered_other_than_once(before)
    assert before["replays"] > 0


def test_an_endpoint_without_idempotency_is_asked_again_at_most_for_what_was_in_flight(tmp_path: Path) -> None:
    in_flight = 8
    with Server(Plan(seconds=0.05, honours_keys=False)) as server:
        work = one(tmp_path, server, f"limits = {{concurrency = {in_flight}}}")
        killed_runs(work, server, [(100, 0.0)])
        work.built()
        counted = server.stats()
    assert 0 < sum(answered_other_than_once(counted).values()) <= in_flight


def test_two_processes_on_one_ledger_ask_nothing_twice(tmp_path: Path) -> None:
    with Server(Plan(seconds=0.01)) as server:
        work = Work(tmp_path, THREE.format(url=server.url))
        others = [work.start("--ledger", "ledger", out=f"{side}/map") for side in ("left", "right")]
        for process in others:
            out, errors = process.communicate()
            assert process.returncode == 0, out + errors
        counted = server.stats()
    assert work.map("left/map") == work.map("right/map")
    assert not answered_other_than_once(counted)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_run_ended_by_budget_and_signal_keeps_what_is_in_flight(tmp_path: Path, ending: signal.Signals) -> None:
    with Server(Plan(seconds=0.05)) as server:
        work = one(tmp_path, server)
        code, _, errors = work.run("--max-requests", "80")
        assert code == BUDGET_REACHED
        assert "budget limit reached" in errors
        assert server.stats()["requests"] == kept(work) == 80
        assert not about(work)["built"]["complete"]

        process = work.start()
        while server.endpoint.counts["requests"] < 160:
            time.sleep(0.01)
        process.send_signal(ending)
        _, errors = process.communicate()
        assert process.returncode == 130, errors
        assert "Traceback" not in errors
        assert server.stats()["requests"] == kept(work)

        work.built()
        assert about(work)["built"]["complete"]
        assert not answered_other_than_once(server.stats())


def test_a_run_whose_terminal_is_closed_keeps_what_is_in_flight(tmp_path: Path) -> None:
    with Server(Plan(seconds=0.2)) as server:
        work = one(tmp_path, server)
        ours, terminal = pty.openpty()
        command = ["setsid", "--ctty", *cli.COMMAND, *work.arguments, "map"]
        process = subprocess.Popen(command, cwd=tmp_path, stdin=terminal, stdout=terminal, stderr=terminal)
        os.close(terminal)
        while server.endpoint.counts["requests"] < 60:
            assert select.select([ours], [], [], 0.01)[0] == [] or os.read(ours, 1 << 16)
        os.close(ours)
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGHUP)  # by the shell
        assert process.wait() in (130, 120)  # Python's own, where last words to the terminal could not be flushed
        assert server.stats()["requests"] == kept(work) >= 60
        work.built()
        assert not answered_other_than_once(server.stats())


def kept(work: Work) -> int:
    return sum(line.startswith('{"keys"') and '"answer"' in line for line in ledger_lines(work))


def ledger_lines(work: Work) -> list[str]:
    return [line for path in work.folder.rglob("*.jsonl") for line in path.read_text().splitlines()]


def test_no_rating_is_asked_for_once_more_and_no_more(tmp_path: Path) -> None:
    with Server(Plan(rates={"chatter": 0.2}, unparsable=0.1)) as server:
        work = one(tmp_path, server)
        work.built()
        counted = server.stats()
    assert not answered_other_than_once(counted)
    times = Counter(counted["answers"]["m1"].values())
    assert set(times) == {1, 2}
    unparsable = sum(state["unparsable"] for state in about(work)["raters"][0]["states"].values())
    assert 0 < unparsable < times[2]


def test_one_pair_that_is_refused_costs_no_other_its_rating(tmp_path: Path) -> None:
    with Server(Plan(refused=0.02)) as server:
        work = one(tmp_path, server, "pairs_per_request = 20")
        work.built()
        counted = server.stats()
        refused = sum(server.endpoint.plan.is_refused("m1", pair) for pair in counted["answers"]["m1"])
    assert not answered_other_than_once(counted)
    assert counted["unreadable"]["m1"]
    states = about(work)["raters"][0]["states"].values()
    assert sum(state["refused"] for state in states) == refused > 0
    assert sum(state["rated"] for state in states) == len(counted["answers"]["m1"]) - refused


def test_a_wrong_key_stops_at_once_with_one_line(tmp_path: Path) -> None:
    with Server(Plan(key="sk-right-right-right")) as server:
        work = one(tmp_path, server, 'api_key_env = "SHOE_TEST_KEY"')
        code, out, errors = work.run(env={"SHOE_TEST_KEY": "sk-wrong-wrong-wrong"})
        assert server.stats()["unauthorized"] == 1
    assert (code, out, errors.count("\n")) == (2, "", 1)
    assert "SHOE_TEST_KEY" in errors
    everything = errors + "".join(ledger_lines(work))
    assert "wrong" not in everything
    assert not (tmp_path / "map").exists()


PASSWORD = "hush-Hush-pw0rd"


class Gossip(Endpoint):
    """A proxy that answers by itself, and repeats what it was told."""

    def authorized(self, reply: Reply) -> Reply:
        return self.repeat

    async def repeat(self, heard: Heard) -> Says | None:
        told = heard.headers.get("proxy-authorization", "")
        return error(407, f"not you: {told}, {b64decode(told.partition(' ')[2]).decode()}")


@pytest.mark.parametrize(
    "proxy",
    [
        *("http://me:{}@127.0.0.1:9", "http://me:{}@127.0.0.1:port", "me:{}@127.0.0.1:9", "http://me:{}@[::1"),
        *("socks5://me:{}@127.0.0.1:9", "gopher://me:{}@127.0.0.1:9", "http://me:{}@gossip"),
    ],
)
@pytest.mark.parametrize("kind", ["openai", "openai-batch"])
def test_no_setting_of_a_proxy_brings_its_password_anywhere(proxy: str, kind: str, tmp_path: Path) -> None:
    with Server(endpoint=Gossip(Plan())) as server:
        limits = "limits = {tries = 2, timeout = 5}"
        raters = ONE.format(url="http://somewhere.example/v1", more=limits).replace('"openai"', f'"{kind}"')
        address = proxy.format(PASSWORD).replace("gossip", f"127.0.0.1:{server.port}")
        nothing = dict.fromkeys([name for name in os.environ if name.lower().endswith("_proxy")], "")
        code, out, errors = Work(tmp_path, raters).run(env=nothing | {"HTTP_PROXY": address, "http_proxy": address})
    assert (code, out, errors.count("\n")) == (2, "", 1)
    kept = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    for form in (PASSWORD, b64encode(f"me:{PASSWORD}".encode()).decode()):
        assert form.casefold() not in "".join([errors, *kept]).casefold()


def test_a_small_storm_of_kills_does_no_harm(tmp_path: Path) -> None:
    from tests.maps.storm import Found, storm

    storm(tmp_path, 6, 3, found := Found())
    assert not +found.wrong, found


def test_whole_interactions_are_built_through_a_kill_and_used_by_scoring(tmp_path: Path) -> None:
    truth, predictions = str(TRUTH), str(PREDICTIONS["free text"])
    few = (tmp_path / "few.jsonl").absolute()
    few.write_text("".join(line + "\n" for line in Path(predictions).read_text().splitlines()[:12]))
    arguments = ("map", "build", "--raters", "raters.toml", "--for", str(few), "--whole-interactions", "--yes")
    with Server(FAULTS) as server:
        clean = Work(tmp_path / "clean", THREE.format(url=server.url), arguments).built()
        assert not answered_other_than_once(server.stats())
        half = answers(server) // 2
        server.endpoint.forget()
        work = Work(tmp_path / "killed", THREE.format(url=server.url), arguments)
        killed_runs(work, server, [(half, 0.0)])
        assert work.built() == clean
    map_json = about(work)
    assert map_json["whole"]["complete"]
    assert map_json["whole"]["plan"]["interactions"]["rows"] >= map_json["interactions"]["pairs"] > 100
    assert [rater["name"] for rater in map_json["raters"]][-3:] == ["one", "several", "batch"]

    def scored(compare: str) -> dict[str, Any]:
        done = cli.run(
            *("score", str(few), "-g", truth, "--similarity", str(work.folder / "map"), "--protocol", "shoe"),
            *("-o", f"compare={compare}", "--json", "-"),
        )
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    whole, components = scored("interactions"), scored("components")
    assert 0 <= whole["semantic"]["components_share"] < 0.5
    assert whole["semantic"]["map"] != components["semantic"]["map"]
    assert "compare:interactions" in whole["signature"]


PARTS = 4
RATERS = THREE.partition('[[rater]]\nname = "batch"')[0]


def test_parts_make_the_map_of_an_undivided_run(tmp_path: Path) -> None:
    with Server(FAULTS) as server:
        clean = Work(tmp_path / "clean", RATERS.format(url=server.url)).built()
        server.endpoint.forget()
        work = Work(tmp_path / "divided", RATERS.format(url=server.url))
        order = [f"{number}/{PARTS}" for number in range(1, PARTS + 1)]
        for _ in range(2):  # the first rater's answers say what goes on to the other
            random.Random(3).shuffle(order)
            for shard in order:
                code, _, errors = work.run("--shard", shard)
                assert (code, errors.count("\n")) == (0, 1), errors
            assert not (work.folder / "map").exists() or clean != work.map()
            before = answers(server)
            assert work.run("--max-requests", "0")[0] in (0, 3)
            assert answers(server) == before
        assert work.map() == clean
        assert not answered_other_than_once(server.stats())


def test_killed_parts_at_the_same_time_lose_nothing_and_pay_nothing_twice(tmp_path: Path) -> None:
    with Server(FAULTS) as server:
        raters = ONE.format(url=server.url, more="limits = {timeout = 1}")
        clean = Work(tmp_path / "clean", raters).built()
        server.endpoint.forget()
        work = Work(tmp_path / "divided", raters)
        for killed in (True, False):
            processes = [work.start("--shard", f"{number}/{PARTS}") for number in range(1, PARTS + 1)]
            while killed and answers(server) < 100:
                time.sleep(0.01)
            for process in processes if killed else ():
                process.send_signal(signal.SIGKILL)
            for process in processes:
                process.communicate()
        assert work.built() == clean
        assert not answered_other_than_once(server.stats())


@pytest.mark.parametrize("shard", ["0/4", "5/4", "1", "1/0", "a/b", "1/4/2"])
def test_what_is_no_part_is_one_line(shard: str, tmp_path: Path) -> None:
    code, out, errors = Work(tmp_path, ONE.format(url="http://127.0.0.1:9/v1", more="")).run("--shard", shard)
    assert (code, out, errors.count("\n")) == (2, "", 1)
    assert "such as 3/16" in errors


USELESS = {"choices": [{"message": {"role": "assistant", "content": "I cannot say."}, "finish_reason": "stop"}]}


class Mute(Endpoint):
    """Says the same to everybody after some good answers, until it is put right."""

    def __init__(self, says: Says, good: int = 0) -> None:
        super().__init__(Plan())
        self.says, self.good = says, good

    async def chat(self, heard: Heard) -> Says | None:
        self.counts["asked"] += 1
        return await super().chat(heard) if self.counts["asked"] <= self.good else self.says


def stopped(folder: Path, mute: Mute, options: Sequence[str] = ()) -> tuple[Mapping[str, Any], int]:
    """A run that stops, then one of the endpoint as it should be: the map's account, and how many answers were kept."""
    with Server(endpoint=mute) as server:
        work = one(folder, server, "limits = {concurrency = 4}")
        code, out, errors = work.run()
        assert (code, out) == (2, "")
        assert errors.splitlines()[-1].startswith("shoe: one: ")
        assert "no usable answer" in errors
        assert not (folder / "map").exists()
        in_vain = kept(work)
        mute.good = 10**9
        work.built(*options)
        return server.stats(), in_vain


@pytest.mark.parametrize(("good", "most"), [(0, 20), (40, 50)])
@pytest.mark.parametrize("body", [b'{"choices": []}', b"", b"null"])
def test_what_says_nothing_stops_the_run_and_is_not_kept(body: bytes, good: int, most: int, tmp_path: Path) -> None:
    mute = Mute(Says(body), good)
    counted, in_vain = stopped(tmp_path, mute)
    assert in_vain == good
    assert mute.counts["asked"] - counted["requests"] <= most + 4
    assert set(counted["answers"]["m1"].values()) == {1}


def test_what_talks_past_the_question_stops_the_run_and_its_answers_can_be_asked_again(tmp_path: Path) -> None:
    counted, in_vain = stopped(tmp_path, Mute(says_json(USELESS), good=30), ["--ask-again", "unparsable"])
    assert 50 <= in_vain - 30 <= 58
    assert set(counted["answers"]["m1"].values()) == {1}


def test_a_batch_in_which_many_lines_hold_nothing_is_no_endpoint_that_says_nothing(tmp_path: Path) -> None:
    with Server(Plan(rates={"no choices": 0.4})) as server:
        Work(tmp_path, ONE.format(url=server.url, more="").replace('"openai"', '"openai-batch"')).built()
        assert len(server.stats()["unreadable"]["m1"]) > 50
