"""``shoe map build`` as a user runs it: prices, budgets, kills, interruptions, and the map that comes out."""

import os
import pty
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from shoe.similarity import SimilarityMap
from tests.cli import run as cli

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
    succeed(folder)
    return files(folder)


def succeed(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    done = run(folder, *more)
    assert done.returncode == 0, done.stderr
    return done


def account_of(folder: Path, *more: str) -> Any:
    return orjson.loads(succeed(folder, *more, "--json", "-").stdout)


def refuse(folder: Path, *more: str, says: Sequence[str]) -> None:
    """Assert that a run is refused in one line."""
    cli.refused(run(folder, *more), *says)


def built(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = SimilarityMap.load(folder / "map").about["built"]
    return found


def started(*words: str, **settings: Any) -> subprocess.Popen[str]:
    command = [*PROGRAM, *words]
    return subprocess.Popen(
        command, cwd=CHECKOUT, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **settings
    )


def test_a_map_is_built_and_scoring_can_read_it(tmp_path: Path) -> None:
    raters_file(tmp_path)
    done = succeed(tmp_path, "--json", "-")
    assert done.stderr.endswith("map: written\n")
    account = orjson.loads(done.stdout)
    assert [rater.name for rater in SimilarityMap.load(tmp_path / "map").raters] == ["r1", "r2", "r3"]
    assert account["complete"] is built(tmp_path)["complete"] is True
    outcomes = account["columns"][0]["verbs"]
    assert account["plan"]["verbs"]["questions"] == sum(outcomes[n] for n in ("rated", "refused", "unparsable"))
    assert account["prefilter"]["verbs"]["sample"] == 20
    assert account["run"]["requests"] == logged(tmp_path, "asked").total()
    before = files(tmp_path)
    again = succeed(tmp_path)
    assert (files(tmp_path), set(logged(tmp_path, "answered").values())) == (before, {1})
    assert "0.245 % to 1.318 %" in again.stdout


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, pytest.param(12, marks=pytest.mark.slow)])
def test_killed_runs_make_the_same_map_and_ask_nothing_twice(tmp_path: Path, clean: list[bytes], kills: int) -> None:
    draw, killed = np.random.default_rng(7), 0
    raters_file(tmp_path, delay=0.01)
    kept: set[str] = set()
    for _ in range(kills):
        before = logged(tmp_path, "asked")
        with started(*arguments(tmp_path)) as process:
            while process.poll() is None and logged(tmp_path, "asked") == before:
                time.sleep(0.02)
            time.sleep(float(draw.uniform(0.1, 1.5)) if kills > 1 else 0.1)
            process.kill()
            process.wait()
            killed += process.returncode == -signal.SIGKILL
        assert not kept & set(logged(tmp_path, "asked") - before), "what is in the ledger is not asked again"
        kept = in_ledgers(tmp_path)
        if process.returncode == 0:
            break
    assert killed >= min(kills, 2)
    before = logged(tmp_path, "asked")
    succeed(tmp_path)
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
    ledger = ("--ledger", str(tmp_path / "ledger"))
    outs = [arguments(tmp_path, *ledger, out=f"{name}/map") for name in ("one", "two")]
    processes = [started(*words, stdout=subprocess.DEVNULL) for words in outs]
    said = [process.communicate(timeout=120)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    assert "this ledger; waiting" in "".join(said)
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
        assert all(part in done.stderr for part in ("(1,000 requests)", "the same command", "incomplete"))
        about = built(tmp_path)
        assert about["complete"] is False
        assert about["plan"]["verbs"]["unanswered"] + about["plan"]["objects"]["unanswered"] > 0
    assert runs > 1
    assert (files(tmp_path), set(logged(tmp_path, "answered").values())) == (clean, {1})


def test_a_dry_run_writes_nothing_and_needs_no_place_to_write(tmp_path: Path) -> None:
    raters_file(tmp_path)
    done = cli.run("map", "build", "/proc/map", *arguments(tmp_path, "--parts", "verb", "--dry-run")[1:])
    assert done.returncode == 0, done.stderr
    assert "planned" in done.stdout


def test_money_is_asked_for_before_it_is_spent(tmp_path: Path) -> None:
    raters_file(tmp_path, price=True)
    refuse(tmp_path, says=["USD; add --yes"])
    assert not (tmp_path / "log").exists()
    assert not (tmp_path / "map").exists()
    done = run(tmp_path, "--max-cost", "0.1")  # a limit that holds is consent
    assert done.returncode == 3, done.stderr
    assert "(cost)" in done.stderr


def test_without_any_input_nobody_is_asked_and_nothing_is_spent(tmp_path: Path) -> None:
    raters_file(tmp_path, price=True)
    command = ["/bin/sh", "-c", 'exec "$@" <&-', "sh", *PROGRAM, *arguments(tmp_path)]
    cli.refused(subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=CHECKOUT), "--yes")


def test_the_official_endpoint_without_a_price_is_not_taken_for_free(tmp_path: Path) -> None:
    raters_file(tmp_path)
    openai = '[[rater]]\nname = "a"\nkind = "openai"\nmodel = "m"\n'
    (tmp_path / "raters.toml").write_text(openai)
    for more in ((), ("--max-cost", "5")):
        done = run(tmp_path, *more)
        assert [part in done.stderr for part in ("unknown", "cost of a,", "--yes")] == [True] * 3
        assert done.returncode == 2
    found = cli.as_json("map", "build", *arguments(tmp_path, "--dry-run"))["estimate"]
    assert ("cost" in found, "cost" in found["raters"][0]) == (False, False)
    assert found["raters"][0]["requests"]["low"] > 0
    shown = run(tmp_path, "--dry-run")
    assert (shown.stdout.count("unknown"), shown.stderr.count("cost of a,")) == (1, 1)
    assert "(price = " in shown.stderr
    (tmp_path / "raters.toml").write_text(openai + "price = {}\n")
    free = cli.as_json("map", "build", *arguments(tmp_path, "--dry-run"))["estimate"]
    assert free["cost"]["high"] == 0


def test_a_plan_says_that_it_is_empty(tmp_path: Path) -> None:
    """Nothing is listening there: no request is made."""
    raters_file(tmp_path)
    url = "http://127.0.0.1:9/v1"
    (tmp_path / "raters.toml").write_text(f'[[rater]]\nname = "a"\nkind = "openai"\nmodel = "m"\nbase_url = "{url}"\n')
    (tmp_path / "words.jsonl").write_text(PREDICTIONS.replace("straddle", "xyzzyx"))
    assert "no pair to" in succeed(tmp_path, "--parts", "verb", "--max-cost", "5").stderr
    assert built(tmp_path)["plan"]["verbs"]["questions"] == 0


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
    assert (code, "Spend about" in said) == (0, True)
    assert answer(tmp_path, "\x04")[0] == 130
    assert not (tmp_path / "log").exists()
    code, said = answer(tmp_path, "y")
    assert (code, "pairs" in said) == (0, True), said
    assert (tmp_path / "map" / "map.json").exists()


def test_a_dry_run_asks_nobody_and_writes_nothing(tmp_path: Path) -> None:
    raters_file(tmp_path, price=True)
    estimate = account_of(tmp_path, "--dry-run")["estimate"]
    assert [rater["name"] for rater in estimate["raters"]] == ["r1", "r2", "r3"]
    assert estimate["cost"]["likely"] > 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["raters.toml", "words.jsonl"]
    succeed(tmp_path, "--yes")
    succeed(tmp_path)  # all is answered: there is nothing to spend
    after = account_of(tmp_path, "--dry-run")["estimate"]
    assert (after["cost"]["high"], after["raters"][0]["answered"]) == (0, sum(after["questions"].values()))


@pytest.mark.slow
@pytest.mark.parametrize("interruptions", [1, 2])
def test_an_interrupted_run_keeps_its_answers_and_writes_no_map(tmp_path: Path, interruptions: int) -> None:
    raters_file(tmp_path, delay=0.5 if interruptions == 1 else 30)
    with started(*arguments(tmp_path)) as process:
        while not logged(tmp_path, "asked"):
            time.sleep(0.05)
        for _ in range(interruptions):
            process.send_signal(signal.SIGINT)
            time.sleep(1)
        said = process.communicate()[1]
    assert process.returncode == 130
    assert all(part in said for part in ("interrupted: waiting", "(Ctrl-C again"))
    assert "Traceback" not in said
    assert not (tmp_path / "map").exists()
    if interruptions == 1:
        assert "the same command" in said
        assert logged(tmp_path, "asked") == logged(tmp_path, "answered")
        assert len(in_ledgers(tmp_path)) > 0


@pytest.mark.slow
def test_failures_leave_pairs_for_the_next_run(tmp_path: Path, clean: list[bytes]) -> None:
    path = raters_file(tmp_path)
    path.write_text(path.read_text().replace('log = "log"\n', 'log = "log"\ndown = "down"\n'))
    (tmp_path / "down").write_text("")
    done = succeed(tmp_path)
    assert "no answer yet" in done.stderr
    assert "failed attempts" in done.stdout
    assert SimilarityMap.load(tmp_path / "map").about["verbs"]["pairs"] == 0
    (tmp_path / "down").unlink()
    succeed(tmp_path)
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
    account = account_of(tmp_path, "--parts", "verb")
    similarity = SimilarityMap.load(tmp_path / "map")
    found = similarity.ratings("verb", "ride.v.01", "straddle.v.01")
    assert found is not None
    assert (found["t"], len(similarity.tables["object"])) == (3, 0)
    unrated = {column["name"]: column["verbs"]["unrated"] for column in account["columns"]}
    assert unrated["t"] > unrated["wup"] == 0


@pytest.mark.parametrize(
    ("more", "says"),
    [
        *((["--parts", "verbs"], ["speech 'verbs'", "mean verb?"]), (["--dataset", "hico"], ["hico-det"])),
        (["--steps", "2"], ["--steps and --for"]),
        (["--object-words", "hed"], ["object-words 'hed'", "mean head?"]),
        (["--prompts", "/nowhere"], ["/nowhere/verb.txt: found no such file"]),
        (["--raters", "/nowhere.toml"], ["/nowhere.toml: found no such file"]),
        (["--for", "/nowhere.json"], ["/nowhere.json"]),
    ],
)
def test_what_cannot_be_is_one_line(tmp_path: Path, more: list[str], says: list[str]) -> None:
    raters_file(tmp_path)
    refuse(tmp_path, *more, says=says)
    assert not (tmp_path / "map").exists()


def test_nothing_of_others_is_overwritten(tmp_path: Path) -> None:
    raters_file(tmp_path)
    (tmp_path / "map").mkdir()
    (tmp_path / "map" / "notes.txt").write_text("mine")
    refuse(tmp_path, says=[f"shoe: {tmp_path / 'map'}: "])
    assert not (tmp_path / "log").exists()


def test_a_damaged_ledger_is_one_line(tmp_path: Path) -> None:
    raters_file(tmp_path, count=1)
    succeed(tmp_path)
    (path,) = (tmp_path / "shoe-ledger").glob("*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:5], b"{nonsense\n", *lines[5:]]))
    refuse(tmp_path, says=[f"{path}: line 6: found"])


def test_a_dry_run_counts_the_answers_of_other_runs_and_merges_nothing(tmp_path: Path) -> None:
    def tree() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    raters_file(tmp_path, count=1)
    for shard in ("1/2", "2/2"):
        succeed(tmp_path, "--shard", shard)
    before = tree()
    done = succeed(tmp_path, "--dry-run", "--json", "-")
    assert "merged" not in done.stderr
    assert tree() == before
    rater = orjson.loads(done.stdout)["estimate"]["raters"][0]
    assert run(tmp_path, "--max-requests", "0").returncode in (0, 3)
    assert rater == account_of(tmp_path, "--dry-run")["estimate"]["raters"][0]
    assert rater["answered"] > 0
