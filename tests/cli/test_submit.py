"""``shoe submit``: as ``shoe score``, done elsewhere."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shoe.demo import PREDICTIONS, TRUTH as DEMO
from tests.cli.run import COMMAND, refused, run
from tests.service.client.serving import FILES, TRUTH, served, worked_on

pytest.importorskip("fastapi", reason="the service is not installed: pip install 'shoe-eval[serve]'")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Any]:
    from shoe.service.folder import Folder
    from shoe.service.truths import add_truth

    made = Folder.open(tmp_path / "lab")
    add_truth(made, "small", TRUTH, shown=True)
    yield made
    made.close()


def test_the_table_of_the_service_is_printed_and_its_refusals_are_one_line(folder: Any, tmp_path: Path) -> None:
    from shoe.service.tokens import new_token

    mine = tmp_path / "mine.json"
    mine.write_text("[]")
    token = new_token(folder, "ci", "vision")
    (tmp_path / "token").write_text(f"{token}\n")
    with served(folder, always_tokens=True) as server:
        asked: list[str | Path] = ["submit", mine, "--server", server]
        refused(run(*asked, environment={"SHOE_TOKEN": ""}), "this request requires a token")
        gone = run(
            "submit", tmp_path / "mien.json", "-t", "small", "--server", server, "--token-file", tmp_path / "token"
        )
        refused(gone, "found no such file, expected a file (did you mean mine.json?)")
        refused(run(*asked, environment={"SHOE_TOKEN": "shoe_wrong"}), "the token is not valid")
        refused(run(*asked, environment={"SHOE_TOKEN": "no token\n\n"}), "SHOE_TOKEN: found")
        with worked_on(folder):
            done = run(*asked, "--token-file", tmp_path / "token", "--save", tmp_path / "mine.shoe")
            assert done.stdout.startswith("the table\nrun        ")
            assert (done.returncode, done.stderr) == (0, "")
            assert (tmp_path / "mine.shoe").read_bytes() == FILES["run.shoe"]
            refused(run(*asked, "-t", "samll", environment={"SHOE_TOKEN": token}), "did you mean small?")
        with worked_on(folder, reason="it holds no predictions"):
            failed = run(*asked, "-o", "tau=0.4", environment={"SHOE_TOKEN": token, "SHOE_SERVER": server})
            refused(failed, "failed: it holds no predictions")
        for each in (done, failed):
            assert token not in each.stdout + each.stderr


@pytest.mark.slow
def test_a_real_service_says_what_the_command_line_says(folder: Any, tmp_path: Path) -> None:
    from shoe.service.truths import add_truth
    from shoe.service.worker import Worker

    add_truth(folder, "demo", DEMO, shown=True)  # else what wordings were matched with is left out
    folder.lock()
    worker = Worker(folder)
    worker.start()
    try:
        with served(folder) as server:
            for path in PREDICTIONS.values():
                how = ["-p", "qpic", "-p", "shoe", "-o", "tau=0.4", "--json"]
                done = run("submit", path, "--server", server, "-t", "demo", *how, tmp_path / "there.json")
                here = run("score", path, "-g", DEMO, *how, tmp_path / "here.json")
                table, _, place = done.stdout.rpartition("run        ")
                assert (table, done.returncode, done.stderr) == (here.stdout, 0, "")
                assert place.startswith(f"{server}/runs/r_")
                assert (tmp_path / "there.json").read_bytes() == (tmp_path / "here.json").read_bytes()
    finally:
        worker.stop()


@pytest.mark.slow
def test_an_interrupted_one_says_where_the_run_is(folder: Any, tmp_path: Path) -> None:
    from shoe.service import runs

    mine = tmp_path / "mine.json"
    mine.write_text("[]")
    with served(folder) as server:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        process = subprocess.Popen(
            [*COMMAND, "submit", str(mine), "--server", server], env=environment, stderr=subprocess.PIPE, text=True
        )
        while not runs.runs(folder):
            assert process.poll() is None
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    (made,) = runs.runs(folder)
    assert process.returncode == 130
    assert said == f"shoe: interrupted; the run continues at {server}/runs/{made.id}\n"


@pytest.mark.slow
def test_what_a_hidden_leaderboard_took_is_no_failure(folder: Any, tmp_path: Path) -> None:
    from shoe.service.boards import add_board
    from shoe.service.tokens import new_token
    from shoe.service.types import Request

    mine = tmp_path / "mine.json"
    mine.write_text("[]")
    add_board(folder, "main", Request(truth="small"), hidden=True)
    with served(folder, always_tokens=True) as server, worked_on(folder):
        asked: list[str | Path] = ["submit", mine, "--server", server, "--board", "main"]
        token = {"SHOE_TOKEN": new_token(folder, "ci", "vision")}
        done = run(*asked, environment=token)
        shows = "shoe: leaderboard main shows name, team and scores of the run to its readers\n"
        assert (done.returncode, done.stderr) == (0, shows)
        assert done.stdout.startswith("done; results of the leaderboard main are hidden\nrun        http")
        failed = run(*asked, "--save", tmp_path / "mine.shoe", environment=token)
        assert failed.stderr.startswith(shows)
        failed.stderr = failed.stderr.removeprefix(shows)
        refused(failed, "are hidden for now")
