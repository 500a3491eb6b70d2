"""``shoe map build`` as a user runs it: prices, budgets, kills, interruptions, and the map that comes out."""

import os
import pty
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from shoe.similarity import SimilarityMap
from tests.cli import run as cli
from tests.maps.standin import know_this_kind

pytestmark = pytest.mark.usefixtures("stand_in")

PROGRAM = [sys.executable, "-m", "tests.maps.standin"]
CHECKOUT = Path(__file__).parents[2]
FILES = ("map.json", "objects.tsv", "verbs.tsv")
PREDICTIONS = (
    '{"image": "HICO_test2015_00000001.jpg", "human_box": [1, 1, 50, 50], "object_box": [10, 10, 60, 60], '
    '"verb": "straddle", "object": "pony", "score": 0.5}\n'
)


def raters_file(folder: Path, *, count: int = 3, more: str = "", delay: float = 0.0, price: bool = False) -> Path:
    path = folder / "raters.toml"
    priced = "price = {input = 10, output = 20}\nsampling = {max_tokens = 20}\n" if price else ""
    raters = "".join(
        f'[[rater]]\nname = "r{seed}"\nkind = "standin"\nmodel = "m{seed}"\nseed = {seed}\ndelay = {delay}\n'
        f'log = "log"\n{priced}\n'
        for seed in range(1, count + 1)
    )
    path.write_text(f"[ensemble]\nsample = 20\n{raters}{more}", "utf-8")
    (folder / "words.jsonl").write_text(PREDICTIONS, "utf-8")
    return path


def arguments(folder: Path, *more: str, out: str = "map") -> list[str]:
    return [str(folder / out), "--raters", str(folder / "raters.toml"), "--for", str(folder / "words.jsonl"), *more]


def run(folder: Path, *more: str, out: str = "map") -> subprocess.CompletedProcess[str]:
    return cli.run("map", "build", *arguments(folder, *more, out=out))


@pytest.fixture(scope="module")
def stand_in() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        know_this_kind(patch.setitem)
        yield


def files(folder: Path, out: str = "map") -> list[bytes]:
    return [(folder / out / name).read_bytes() for name in FILES]


def logged(folder: Path, what: str) -> Counter[str]:
    log = folder / "log"
    lines = log.read_text().splitlines() if log.exists() else []
    return Counter(line.removeprefix(f"{what} ") for line in lines if line.startswith(what))


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory, stand_in: None) -> list[bytes]:
    """The map of a run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("clean")
    raters_file(folder)
    done = run(folder)
    assert done.returncode == 0, done.stderr
    return files(folder)


def test_a_map_is_built_and_scoring_can_read_it(tmp_path: Path) -> None:
    raters_file(tmp_path)
    done = run(tmp_path, "--json", "-")
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith("map: written\n")
    account = orjson.loads(done.stdout)
    similarity = SimilarityMap.load(tmp_path / "map")
    assert [rater.name for rater in similarity.raters] == ["r1", "r2", "r3"]
    assert account["complete"] is similarity.about["built"]["complete"] is True
    assert account["plan"]["verbs"]["questions"] == account["columns"][0]["verbs"]["rated"] + sum(
        account["columns"][0]["verbs"][name] for name in ("refused", "unparsable")
    )
    assert account["prefilter"]["verbs"]["sample"] == 20
    assert account["run"]["requests"] == logged(tmp_path, "asked").total()
    assert set(logged(tmp_path, "answered").values()) == {1}
    before = files(tmp_path)
    again = run(tmp_path)
    assert again.returncode == 0
    assert files(tmp_path) == before
    assert set(logged(tmp_path, "answered").values()) == {1}
    assert "0.245 % to 1.318 %" in again.stdout


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, pytest.param(12, marks=pytest.mark.slow)])
def test_a_run_that_is_killed_again_and_again_makes_the_same_map_and_asks_nothing_twice(
    tmp_path: Path, clean: list[bytes], kills: int
) -> None:
    draw, killed = np.random.default_rng(7), 0
    raters_file(tmp_path, delay=0.01)
    command = [*PROGRAM, *arguments(tmp_path)]
    kept: set[str] = set()
    for _ in range(kills):
        before = logged(tmp_path, "asked")
        with subprocess.Popen(command, cwd=CHECKOUT, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            while process.poll() is None and logged(tmp_path, "asked") == before:
                time.sleep(0.02)
            time.sleep(float(draw.uniform(0.1, 1.5)) if kills > 1 else 0.1)
            process.kill()
            process.wait()
            killed += process.returncode == -signal.SIGKILL
        new = logged(tmp_path, "asked") - before
        assert not kept & set(new), "what is in the ledger is not asked again"
        kept = in_ledgers(tmp_path)
        if process.returncode == 0:
            break
    assert killed >= min(kills, 2)
    before = logged(tmp_path, "asked")
    assert run(tmp_path).returncode == 0
    assert not kept & set(logged(tmp_path, "asked") - before)
    assert files(tmp_path) == clean
    twice = [count - 1 for count in logged(tmp_path, "answered").values() if count > 1]
    assert sum(twice) <= killed * 9, "only what was in flight: three raters, three requests each"


def in_ledgers(folder: Path) -> set[str]:
    """The questions that the ledgers hold an answer with a rating or refusal to, in any asking."""
    kept: set[str] = set()
    for path in (folder / "shoe-ledger").glob("*.jsonl"):
        for line in path.read_bytes().split(b"\n")[1:-1]:
            entry = orjson.loads(line)
            message = entry.get("answer", {}).get("choices", [{}])[0].get("message", {})
            if message.get("content") != "no idea":
                kept.update(f"{key} {asking}" for key in entry["keys"] for asking in (1, 2) if "answer" in entry)
    return kept


@pytest.mark.slow
def test_two_processes_share_the_work(tmp_path: Path, clean: list[bytes]) -> None:
    raters_file(tmp_path, delay=0.01)
    processes = [
        subprocess.Popen(
            [*PROGRAM, *arguments(tmp_path, "--ledger", str(tmp_path / "ledger"), out=f"{name}/map")],
            cwd=CHECKOUT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("one", "two")
    ]
    said = [process.communicate(timeout=120)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    assert "another process or rater is writing this ledger; waiting" in "".join(said)
    assert files(tmp_path, "one/map") == files(tmp_path, "two/map") == clean
    assert set(logged(tmp_path, "answered").values()) == {1}


@pytest.mark.slow
def test_a_budget_ends_a_run_and_the_next_one_goes_on(tmp_path: Path, clean: list[bytes]) -> None:
    raters_file(tmp_path)
    runs = 0
    while True:
        done = run(tmp_path, "--max-requests", "1000")
        runs += 1
        assert logged(tmp_path, "asked").total() <= 1000 * runs
        if done.returncode == 0:
            break
        assert done.returncode == 3, done.stderr
        assert "(1,000 requests); run the same command" in done.stderr
        assert "incomplete" in done.stderr
        about = SimilarityMap.load(tmp_path / "map").about["built"]
        assert about["complete"] is False
        assert about["plan"]["verbs"]["unanswered"] + about["plan"]["objects"]["unanswered"] > 0
    assert runs > 1
    assert files(tmp_path) == clean
    assert set(logged(tmp_path, "answered").values()) == {1}


def test_a_dry_run_writes_nothing_and_needs_no_place_to_write(tmp_path: Path) -> None:
    raters_file(tmp_path)
    done = cli.run("map", "build", "/proc/map", *arguments(tmp_path, "--parts", "verb", "--dry-run")[1:])
    assert done.returncode == 0, done.stderr
    assert "planned" in done.stdout


def test_money_is_asked_for_before_it_is_spent(tmp_path: Path) -> None:
    raters_file(tmp_path, price=True)
    done = run(tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "--yes" in done.stderr
    assert "USD: add --yes" in done.stderr
    assert not (tmp_path / "log").exists()
    assert not (tmp_path / "map").exists()
    done = run(tmp_path, "--max-cost", "0.1")  # a limit that holds is consent
    assert done.returncode == 3, done.stderr
    assert "(cost)" in done.stderr


def test_without_any_input_nobody_is_asked_and_nothing_is_spent(tmp_path: Path) -> None:
    raters_file(tmp_path, price=True)
    command = ["/bin/sh", "-c", 'exec "$@" <&-', "sh", *PROGRAM, *arguments(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=CHECKOUT)
    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_official_endpoint_without_a_price_is_not_taken_for_free(tmp_path: Path) -> None:
    raters_file(tmp_path)
    (tmp_path / "raters.toml").write_text('[[rater]]\nname = "a"\nkind = "openai"\nmodel = "m"\n')
    for more in ((), ("--max-cost", "5")):
        done = run(tmp_path, *more)
        assert done.returncode == 2
        assert "the unknown cost of a" in done.stderr
        assert "--yes" in done.stderr
    found = cli.as_json("map", "build", *arguments(tmp_path, "--dry-run"))["estimate"]
    assert "cost" not in found
    assert "cost" not in found["raters"][0]
    assert found["raters"][0]["requests"]["low"] > 0
    shown = run(tmp_path, "--dry-run")
    assert shown.stdout.count("unknown") == 1
    assert shown.stderr.count("the unknown cost of a, which has no price (price = ") == 1
    (tmp_path / "raters.toml").write_text('[[rater]]\nname = "a"\nkind = "openai"\nmodel = "m"\nprice = {}\n')
    free = cli.as_json("map", "build", *arguments(tmp_path, "--dry-run"))["estimate"]
    assert free["cost"]["high"] == 0


def test_a_budget_in_money_says_what_it_does_not_bound_and_a_plan_that_it_is_empty(tmp_path: Path) -> None:
    """Nothing is listening there: no request is made."""
    raters_file(tmp_path)
    (tmp_path / "raters.toml").write_text(
        '[[rater]]\nname = "a"\nkind = "openai"\nmodel = "m"\nbase_url = "http://127.0.0.1:9/v1"\n'
    )
    (tmp_path / "words.jsonl").write_text(PREDICTIONS.replace("straddle", "xyzzyx"))
    done = run(tmp_path, "--parts", "verb", "--max-cost", "5")
    assert done.returncode == 0, done.stderr
    assert "no pair to rate" in done.stderr
    assert SimilarityMap.load(tmp_path / "map").about["built"]["plan"]["verbs"]["questions"] == 0


def answer(folder: Path, *typed: str) -> tuple[int, str]:
    """Run on a terminal, typing lines."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(CHECKOUT)
        os.execv(sys.executable, [*PROGRAM, *arguments(folder)])
    os.write(terminal, "".join(f"{line}\n" for line in typed).encode())
    said = b""
    while True:
        try:
            said += os.read(terminal, 1 << 16)
        except OSError:
            break
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), said.decode()


@pytest.mark.slow
def test_on_a_terminal_the_user_decides(tmp_path: Path) -> None:
    raters_file(tmp_path, count=1, price=True)
    code, said = answer(tmp_path, "n")
    assert code == 0
    assert "Spend about" in said
    code, said = answer(tmp_path, "\x04")
    assert code == 130
    assert not (tmp_path / "log").exists()
    code, said = answer(tmp_path, "y")
    assert code == 0, said
    assert "pairs" in said
    assert (tmp_path / "map" / "map.json").exists()


def test_a_dry_run_asks_nobody_and_writes_nothing(tmp_path: Path) -> None:
    raters_file(tmp_path, price=True)
    done = run(tmp_path, "--dry-run", "--json", "-")
    assert done.returncode == 0, done.stderr
    estimate = orjson.loads(done.stdout)["estimate"]
    assert [rater["name"] for rater in estimate["raters"]] == ["r1", "r2", "r3"]
    assert estimate["cost"]["likely"] > 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["raters.toml", "words.jsonl"]
    assert run(tmp_path, "--yes").returncode == 0
    assert run(tmp_path).returncode == 0, "all is answered: there is nothing to spend"
    after = orjson.loads(run(tmp_path, "--dry-run", "--json", "-").stdout)["estimate"]
    assert after["cost"]["high"] == 0
    assert after["raters"][0]["answered"] == sum(after["questions"].values())


@pytest.mark.slow
@pytest.mark.parametrize("interruptions", [1, 2])
def test_an_interrupted_run_keeps_its_answers_and_writes_no_map(tmp_path: Path, interruptions: int) -> None:
    raters_file(tmp_path, delay=0.5 if interruptions == 1 else 30)
    with subprocess.Popen(
        [*PROGRAM, *arguments(tmp_path)], cwd=CHECKOUT, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        while not logged(tmp_path, "asked"):
            time.sleep(0.05)
        for _ in range(interruptions):
            process.send_signal(signal.SIGINT)
            time.sleep(1)
        said = process.communicate()[1]
    assert process.returncode == 130
    assert "interrupted: waiting for running requests to save their answers (Ctrl-C again: quit now)" in said
    assert "Traceback" not in said
    assert not (tmp_path / "map").exists()
    if interruptions == 1:
        assert "run the same command" in said
        assert logged(tmp_path, "asked") == logged(tmp_path, "answered")
        assert len(in_ledgers(tmp_path)) > 0


@pytest.mark.slow
def test_failures_leave_pairs_for_the_next_run(tmp_path: Path, clean: list[bytes]) -> None:
    path = raters_file(tmp_path)
    path.write_text(path.read_text().replace('log = "log"\n', 'log = "log"\ndown = "down"\n'))
    (tmp_path / "down").write_text("")
    done = run(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "questions have no answer yet" in done.stderr
    assert "failed attempts" in done.stdout
    assert SimilarityMap.load(tmp_path / "map").about["verbs"]["pairs"] == 0
    (tmp_path / "down").unlink()
    assert run(tmp_path).returncode == 0
    assert files(tmp_path) == clean


MORE = """
[[rater]]
name = "wup"
kind = "lexical"
measure = "wup"
[[rater]]
name = "t"
kind = "table"
file = "t.csv"
"""


def test_local_raters_take_part(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("class_synset,synset,rating\nride.v.01,straddle.v.01,3\n")
    path = raters_file(tmp_path, more=MORE, count=1)
    path.write_text(path.read_text().replace("sample = 20", "prefilter = []"))
    done = run(tmp_path, "--parts", "verb", "--json", "-")
    assert done.returncode == 0, done.stderr
    similarity = SimilarityMap.load(tmp_path / "map")
    found = similarity.ratings("verb", "ride.v.01", "straddle.v.01")
    assert found is not None
    assert found["t"] == 3
    assert len(similarity.tables["object"]) == 0
    columns = {column["name"]: column["verbs"] for column in orjson.loads(done.stdout)["columns"]}
    assert columns["t"]["unrated"] > 0
    assert columns["wup"]["unrated"] == 0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--parts", "verbs"], "unknown part of speech 'verbs' (did you mean verb?)"),
        (["--dataset", "hico"], "hico-det"),
        (["--steps", "2"], "--steps and --for"),
        (["--object-words", "hed"], "unknown object-words 'hed' (did you mean head?)"),
        (["--prompts", "/nowhere"], "/nowhere/verb.txt: found no such file"),
        (["--raters", "/nowhere.toml"], "/nowhere.toml: found no such file"),
        (["--for", "/nowhere.json"], "/nowhere.json"),
    ],
)
def test_what_cannot_be_is_one_line(tmp_path: Path, more: list[str], said: str) -> None:
    raters_file(tmp_path)
    done = run(tmp_path, *more)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "map").exists()


def test_nothing_of_others_is_overwritten(tmp_path: Path) -> None:
    raters_file(tmp_path)
    (tmp_path / "map").mkdir()
    (tmp_path / "map" / "notes.txt").write_text("mine")
    done = run(tmp_path)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"shoe: {tmp_path / 'map'}: ")
    assert not (tmp_path / "log").exists()


def test_a_damaged_ledger_is_one_line(tmp_path: Path) -> None:
    raters_file(tmp_path, count=1)
    assert run(tmp_path).returncode == 0
    (path,) = (tmp_path / "shoe-ledger").glob("*.jsonl")
    lines: list[Any] = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:5], b"{nonsense\n", *lines[5:]]))
    done = run(tmp_path)
    assert done.returncode == 2
    assert f"{path}: line 6: found" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_dry_run_counts_the_answers_of_other_runs_and_merges_nothing(tmp_path: Path) -> None:
    def tree() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    raters_file(tmp_path, count=1)
    for shard in ("1/2", "2/2"):
        assert run(tmp_path, "--shard", shard).returncode == 0
    before = tree()
    done = run(tmp_path, "--dry-run", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert "merged" not in done.stderr
    assert tree() == before
    rater = orjson.loads(done.stdout)["estimate"]["raters"][0]
    assert run(tmp_path, "--max-requests", "0").returncode in (0, 3)
    assert rater == orjson.loads(run(tmp_path, "--dry-run", "--json", "-").stdout)["estimate"]["raters"][0]
    assert rater["answered"] > 0
