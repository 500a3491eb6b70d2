"""``shoe submit``: as ``shoe score``, done elsewhere."""

import os
import re
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


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.json"
    path.write_text("[]")
    return path


def test_the_table_of_the_service_is_printed_and_its_refusals_are_one_line(folder: Any, mine: Path) -> None:
    from shoe.service.tokens import new_token

    token = new_token(folder, "ci", "vision")
    file, saved = mine.with_name("token"), mine.with_name("mine.shoe")
    file.write_text(f"{token}\n")
    with served(folder, always_tokens=True) as server:
        asked: list[str | Path] = ["submit", mine, "--server", server]
        wrong = ("", "requires a token"), ("shoe_wrong", "not valid"), ("no token\n\n", "SHOE_TOKEN: found")
        for given, says in wrong:
            refused(run(*asked, environment={"SHOE_TOKEN": given}), says)
        gone = run("submit", mine.with_name("mien.json"), "-t", "small", "--server", server, "--token-file", file)
        refused(gone, "found no such file", "mean mine.json?")
        with worked_on(folder):
            done = run(*asked, "--token-file", file, "--save", saved)
            assert done.stdout.startswith("the table\nrun        ")
            assert (done.returncode, done.stderr) == (0, "")
            assert saved.read_bytes() == FILES["run.shoe"]
            refused(run(*asked, "-t", "samll", environment={"SHOE_TOKEN": token}), "mean small?")
        with worked_on(folder, reason="it holds no predictions"):
            failed = run(*asked, "-o", "tau=0.4", environment={"SHOE_TOKEN": token, "SHOE_SERVER": server})
            refused(failed, "failed: it holds no predictions")
        assert not any(token in each.stdout + each.stderr for each in (done, failed))


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
def test_an_interrupted_one_says_where_the_run_is(folder: Any, mine: Path) -> None:
    from shoe.service import runs

    with served(folder) as server:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        words = [*COMMAND, "submit", str(mine), "--server", server]
        process = subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True)
        while not runs.runs(folder):
            assert process.poll() is None
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    (made,) = runs.runs(folder)
    assert process.returncode == 130
    assert re.fullmatch(rf"shoe: interrupted; .* {server}/runs/{made.id}\n", said)


@pytest.mark.slow
def test_what_a_hidden_leaderboard_took_is_no_failure(folder: Any, mine: Path) -> None:
    from shoe.service.boards import add_board
    from shoe.service.tokens import new_token
    from shoe.service.types import Request

    add_board(folder, "main", Request(truth="small"), hidden=True)
    with served(folder, always_tokens=True) as server, worked_on(folder):
        asked: list[str | Path] = ["submit", mine, "--server", server, "--board", "main"]
        token = {"SHOE_TOKEN": new_token(folder, "ci", "vision")}
        done = run(*asked, environment=token)
        shows = done.stderr
        assert done.returncode == 0
        assert re.fullmatch("shoe: leaderboard main shows name, team and .*\n", shows)
        assert re.match(r"done; .*main.*hidden\nrun +http", done.stdout)
        failed = run(*asked, "--save", mine.with_name("mine.shoe"), environment=token)
        assert failed.stderr.startswith(shows)
        failed.stderr = failed.stderr.removeprefix(shows)
        refused(failed, "hidden for now")
