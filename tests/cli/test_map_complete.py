"""``shoe map complete`` as a user runs it: rounds, what it saves, budgets, refusals, and what it does not touch."""

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import orjson
import pytest
from typer import Exit

from shoe.cli.map.build import complete
from shoe.core.errors import OptionError
from shoe.demo import PREDICTIONS, TRUTH
from shoe.predictions import read_predictions, write_predictions
from shoe.similarity import SimilarityMap
from tests.cli import run as cli
from tests.errors import input_error

pytestmark = pytest.mark.usefixtures("stand_in")

WORDS = ["map", "complete", "hico-det", "--for", "said.jsonl", "-g", str(TRUTH), "--raters", "raters.toml"]
LEXICAL = '[[rater]]\nname = "path"\nkind = "lexical"\nmeasure = "path"\n'
STAND_IN = (
    '[[rater]]\nname = "r1"\nkind = "standin"\nmodel = "m1"\nseed = 1\nlog = "log"\nsampling = {max_tokens = 20}\n'
    "price = {input = 10, output = 20}\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A few predictions, raters.toml, and room for the map."""
    table = read_predictions(PREDICTIONS["free text"])
    write_predictions(table.select(np.arange(0, len(table), 5)), tmp_path / "said.jsonl", "vlm")
    (tmp_path / "raters.toml").write_text(LEXICAL)
    return tmp_path


def run(folder: Path, **more: Any) -> dict[str, Any]:
    options: dict[str, Any] = {"out": folder / "out", "tolerance": 0.001, "json": str(folder / "found.json")} | more
    predictions, raters = folder / "said.jsonl", folder / "raters.toml"
    code = 0
    try:
        complete("hico-det", predictions=predictions, ground_truth=TRUTH, raters=raters, **options)
    except Exit as budget_is_used_up:
        code = budget_is_used_up.exit_code
    found: dict[str, Any] = orjson.loads((folder / "found.json").read_bytes()) if options["json"] else {}
    assert not found or code == (3 if found.get("why") == "over" else 0)
    return found


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_it_shows_every_round_and_what_was_saved(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run(folder)
    shown, said = capsys.readouterr()
    pairs = found["pairs"]
    assert found["why"] == "tolerance"
    assert found["map_interval"][1] - found["map_interval"][0] <= 0.001
    assert pairs["rated"] * 20 < pairs["looked_up"] < pairs["whole_build"]
    for state in found["rounds"]:
        low, high = (f"{100 * bound:.2f}" for bound in state["map_interval"])
        assert f"between {low} and {high}" in said
        assert all(part in shown for part in (f" {low}", f" {high}"))
    assert "tolerance (0.10 points)" in shown
    assert f"a factor of {pairs['whole_build'] / pairs['rated']:,.1f}" in shown
    raters = [rater.name for rater in SimilarityMap.load(folder / "out").raters]
    assert raters == [*(rater.name for rater in SimilarityMap.load("hico-det").raters), "path"]


@pytest.mark.slow
def test_the_same_command_goes_on_and_has_nothing_left_to_do(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = run(folder, tolerance=0.03)
    files = contents(folder / "out")
    again = run(folder, tolerance=0.03)
    assert (again["pairs"], len(again["rounds"])) == (first["pairs"], 1)
    assert contents(folder / "out") == files
    further = run(folder, tolerance=0.0)
    assert further["pairs"]["rated"] > first["pairs"]["rated"]
    assert further["rounds"][0]["map"] == first["map"]
    assert "no pair had" not in capsys.readouterr().out


def test_where_nothing_is_open_nothing_is_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run(folder, tolerance=1.0)
    assert (found["pairs"]["rated"], "out" in found, (folder / "out").exists()) == (0, False, False)
    assert "no pair had" in capsys.readouterr().out


@pytest.mark.slow
def test_a_budget_ends_it_and_refusals_stay_open(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "raters.toml").write_text('[[rater]]\nname = "a"\nkind = "openai"\nmodel = "m"\n')
    for limit in (None, 5.0):
        with pytest.raises(OptionError, match=r"cost of a,.*--yes"):
            run(folder, max_cost=limit)
    (folder / "raters.toml").write_text(STAND_IN)
    with pytest.raises(OptionError, match=r"--max-cost.*--yes"):
        run(folder)
    before = run(folder, dry_run=True)
    assert before["estimate"]["cost"]["low"] > 0
    assert not (folder / "out").exists()
    assert not (folder / "log").exists()
    found = run(folder, max_cost=0.1)
    assert (found["rounds"][0]["map_interval"], found["why"]) == (before["map_interval"], "over")
    assert 0 < found["spent"]["cost"] <= 0.1
    assert 0 < found["pairs"]["rated"] < found["spent"]["requests"]
    few = run(folder, yes=True, max_requests=7)
    assert (few["why"], few["spent"]["requests"]) == ("over", 7)
    asked = (folder / "log").read_text().splitlines()
    (folder / "log").write_text("")
    everything = run(folder, yes=True, tolerance=0.0)
    assert everything["why"] == "nothing_left"
    assert everything["pairs"]["unanswered"] > 0
    assert "no valid answer" in capsys.readouterr().out
    again = {line for line in (folder / "log").read_text().splitlines() if line.startswith("answered")}
    assert not set(asked) & again  # an attempt that failed at the end of a budget is made again
    account = SimilarityMap.load(folder / "out").about["completed"][-1]
    assert sum(map(len, account["unanswered"].values())) == everything["pairs"]["unanswered"]
    assert account["for"]["predictions"] == "said.jsonl"


@pytest.mark.slow
def test_no_pair_stays_with_the_rating_of_one_rater_alone(folder: Path) -> None:
    """A budget that ends between the raters leaves the pair to the next run, where the first answer costs nothing."""
    second = STAND_IN.replace("r1", "r2").replace("m1", "m2").replace("seed = 1", "seed = 2")
    (folder / "raters.toml").write_text(STAND_IN + second)
    for limit in (70, 90, None):
        run(folder, yes=True, tolerance=0.01, max_requests=limit, cache="off")
        found = SimilarityMap.load(folder / "out")
        columns = [[rater.name for rater in found.raters].index(name) for name in ("r1", "r2")]
        first, other = found.tables["verb"].ratings[:, columns].T
        alone, both = int(((first > 0) & (other < 0)).sum()), int(((first > 0) & (other >= 0)).sum())
        if limit:
            assert alone == 0
    assert both > 3 * alone > 0  # what the second has no valid answer to


@pytest.mark.slow
def test_only_what_has_no_rating_is_asked_again_on_request(folder: Path) -> None:
    (folder / "raters.toml").write_text(STAND_IN)
    first = run(folder, yes=True, tolerance=0.0)
    (ledger,) = (folder / "shoe-ledger").iterdir()
    answers = [entry for line in ledger.read_bytes().splitlines() if "answer" in (entry := orjson.loads(line))]
    refused = {entry["keys"][0] for entry in answers if "refusal" in entry["answer"]["choices"][0]["message"]}
    silent = Counter(entry["keys"][0] for entry in answers if "no idea" in str(entry["answer"]))
    unparsable = {key for key, times in silent.items() if times == 2}
    assert len(refused) + len(unparsable) == first["pairs"]["unanswered"]
    still = refused
    for words, void in (("unparsable", unparsable), ("refused", refused)):
        (folder / "log").write_text("")
        again = run(folder, yes=True, tolerance=0.0, ask_again=words)
        asked = {line.split()[1] for line in (folder / "log").read_text().splitlines()}
        assert set() != asked <= void
        still = (still - void) | asked
        assert (again["pairs"]["unanswered"], again["pairs"]["rated"]) == (len(still), first["pairs"]["rated"])


def test_a_part_that_is_interrupted_says_so_and_keeps_its_answers(folder: Path) -> None:
    (folder / "raters.toml").write_text(f"{STAND_IN}delay = 0.05\n")
    program = "from tests.maps.standin import know_this_kind; know_this_kind(); from shoe.cli import main; main()"
    words = [sys.executable, "-c", program, *WORDS, "--yes", "--out", "out", "--shard", "1/2"]
    at = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=folder, env=at) as process:
        while not (folder / "log").exists() and process.poll() is None:
            sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    last = errors.splitlines()[-1]
    assert last.startswith("shoe: interrupted: ")
    assert "the same command" in last
    assert list((folder / "shoe-ledger").rglob("*.jsonl"))


def test_a_dry_run_merges_no_ledger_and_names_an_unknown_cost(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "raters.toml").write_text(STAND_IN.partition("price")[0])
    run(folder, yes=True, max_requests=20, json=None, shard="1/2")  # a part has no result file
    before = contents(folder / "shoe-ledger")
    assert run(folder, dry_run=True)["estimate"]["raters"][0]["answered"] > 0
    assert contents(folder / "shoe-ledger") == before != {}
    capsys.readouterr()
    run(folder, dry_run=True, json=None)
    shown, said = capsys.readouterr()
    assert "unknown" in shown
    assert all(part in said for part in ("cost of r1,", "(price = "))


def test_what_is_no_map_to_go_on_with_is_left_alone(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "notes.txt").write_text("mine")
    with input_error(source=str(folder / "out")):
        run(folder)
    assert [path.name for path in (folder / "out").iterdir()] == ["notes.txt"]


def test_as_a_program(folder: Path) -> None:
    words = (*WORDS, "--tolerance", "0.2")
    done = cli.run(*words, folder=folder)
    assert done.returncode == 0, done.stderr
    assert ("between" in done.stderr, "between" in done.stdout) == (True, False)
    assert "later bounds can lie slightly outside earlier bounds" in " ".join(
        cli.run(*WORDS[:2], "--help").stdout.split()
    )
    bad = cli.run(*words, "--out", "said.jsonl", folder=folder)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr.splitlines()[-1].startswith("shoe: said.jsonl: ")
