"""Children at work: the command line's bytes, limits that hold, and deaths that lose nothing."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from shoe.demo import PREDICTIONS, TRUTH
from shoe.service import process, runs, submissions
from shoe.service.folder import Folder
from shoe.service.process import CHILD, Child, Executor, Limits, Task
from shoe.service.truths import add_truth
from shoe.service.types import Run
from tests.cli import run as cli
from tests.service.calling import hostile_pickle, queued, working
from tests.service.processes import children_of, command_of, is_alive, waited

pytestmark = pytest.mark.slow
_SERVER = """
import sys, time
from shoe.service.folder import Folder
from shoe.service.worker import Worker
folder = Folder.open(sys.argv[1])
folder.lock()
Worker(folder).start()
time.sleep(600)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    opened = Folder.open(tmp_path / "service")
    add_truth(opened, "demo", TRUTH, shown=True)
    add_truth(opened, "hidden", TRUTH)
    yield opened
    opened.close()


def submitted(folder: Folder, path: Path, truth: str = "demo", **how: Any) -> str:
    return queued(folder, path.name, path.read_bytes(), truth=truth, **how).id


def until(folder: Folder, id_: str, holds: Callable[[Run], bool]) -> Run:
    return waited(lambda: run if holds(run := runs.run(folder, id_)) else None)


def ended(folder: Folder, id_: str) -> Run:
    return until(folder, id_, lambda run: run.state not in ("queued", "running"))


def child_at_work(server: int) -> int:
    return waited(
        lambda: next((pid for pid in children_of(server) if "shoe.service.job_process" in command_of(pid)), None)
    )


def content(folder: Folder, run: Run, name: str) -> bytes:
    return folder.files.path(run.outputs[name].sha256).read_bytes()


def test_files_are_the_command_lines(folder: Folder, tmp_path: Path) -> None:
    more = ["--protocol", "qpic", "--protocol", "shoe-robust", "--option", "weight=0.3"]
    path, names = PREDICTIONS["free text"], ("result.json", "words.csv", "classes.csv")
    made = [option for pair in zip(("--json", "--words", "--per-class"), names, strict=True) for option in pair]
    with working(folder):
        other = submitted(folder, path, protocols=("qpic", "shoe-robust"), options=("weight=0.3",))
        ids = [submitted(folder, path), other]
        hidden = submitted(folder, path, "hidden")
        for id_, words in zip(ids, ([], more), strict=True):
            assert cli.run("score", path, "-g", TRUTH, *words, *made, folder=tmp_path).returncode == 0
            run = ended(folder, id_)
            assert (run.reason, run.figures["semantic:map"] > 0.3) == (None, True)
            for name in names:
                assert content(folder, run, name) == (tmp_path / name).read_bytes()
        diagnosed = cli.run("diagnose", path, "-g", TRUTH, "--json", "-").stdout.encode()
        whole, bare = (
            until(folder, id_, lambda run: bool(run.further) and set(run.further.values()) == {"done"})
            for id_ in (ids[0], hidden)
        )
        assert content(folder, whole, "diagnosis.json") == diagnosed
        compared = ended(folder, submissions.compare(folder, "local", ids, allow_different=True, resamples=100).id)
    assert {"comparison.json", "comparison.html", "comparison.tex"} < set(compared.outputs)
    assert b'"examples"' in diagnosed
    diagnosis, result = (content(folder, bare, name) for name in ("diagnosis.json", "result.json"))
    assert not any(key in diagnosis for key in (b'"examples"', b'"confusions"', b'"commonest"'))
    assert b'"wordings"' not in result  # a wording that occurs once would tell a label
    assert "words.csv" not in bare.outputs
    assert b'id="data-examples"' in content(folder, whole, "report.html")
    assert {"report.html", "table.tex"}.isdisjoint(bare.outputs)
    assert all(value == round(value, 2) for value in bare.figures.values())  # 621 ground truths
    assert re.search(rb"semantic:map +0\.\d\d\n", content(folder, bare, "report.txt"))
    assert [line.line for line in runs.log(folder, ids[0])].count("finished") == 1


LIMITS: dict[str, Any] = {"memory": 900_000_000, "wall": 0.3, "cpu": 1, "file_size": 3000}
WHY = {"memory": "memory limit of 0.9", "wall": "time limit of 0.3"}


def see_limits(folder: Folder, tmp_path: Path, executor: Executor | None, more: Mapping[str, str]) -> None:
    large = tmp_path / "large.json"
    large.write_bytes(b"[" + b"[]," * 20_000_000 + b"[]]")
    for limit, reason in {**WHY, **more}.items():
        with working(folder, executor, **{limit: LIMITS[limit]}):
            id_ = submitted(folder, large if limit == "memory" else PREDICTIONS["detector"], bounds=True)
            run = ended(folder, id_)
            assert (run.state, reason in str(run.reason)) == ("failed", True), run
            runs.delete(folder, id_)


def test_limits_end_a_job_with_a_reason(folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # of which the last limit would leave halves
    see_limits(folder, tmp_path, None, {"cpu": "CPU time limit of 1 s", "file_size": "GB per output"})


def test_what_users_can_fix_is_one_line_without_places_of_the_server(folder: Folder, tmp_path: Path) -> None:
    for name in ("evil.pkl", "mine.json"):
        (tmp_path / name).write_bytes(hostile_pickle(tmp_path / "was here"))
    (tmp_path / "torn.json").write_text('[{"filename": "a"', "utf-8")
    with working(folder):
        for name in ("evil.pkl", "mine.json", "torn.json"):
            run = ended(folder, submitted(folder, tmp_path / name))
            assert (run.state, str(run.reason).startswith(f"{name}: ")) == ("failed", True)
            assert str(tmp_path) not in str(run)
    assert not (tmp_path / "was here").exists()


def test_a_killed_child_is_tried_again_and_knows_no_secret(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "secret")
    with working(folder):
        id_ = submitted(folder, PREDICTIONS["detector"])
        child = child_at_work(os.getpid())
        assert b"secret" not in Path(f"/proc/{child}/environ").read_bytes()
        os.kill(child, signal.SIGKILL)
        run = ended(folder, id_)
    assert (run.state, run.attempt) == ("done", 2)
    assert any("signal 9" in line.line for line in runs.log(folder, id_))


@pytest.mark.parametrize(
    ("fault", "then"), [("OSError(28, 'No space left on device')", "requeue"), ("KeyError('ride horse')", "fail")]
)
def test_a_fault_of_the_server_is_not_told_and_a_full_disk_fails_no_run(tmp_path: Path, fault: str, then: str) -> None:
    with patch.object(process, "CHILD", f"raise {fault}"):
        child = Child(tmp_path / "job", Task("score", {}, "", "", Limits()))
    while not child.is_over:
        child.listen(1)
    child.close()
    assert child.end is not None
    assert (child.end.then, "ride" in child.end.reason) == (then, False)


def test_a_job_gives_way_to_the_server(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "job.json")  # which it waits for when its niceness is set
    words = [sys.executable, "-c", CHILD, str(tmp_path), str(os.getpid())]
    child = subprocess.Popen(words, start_new_session=True)
    session = Path(f"/proc/{child.pid}/autogroup")
    try:
        waited(lambda: os.getpriority(os.PRIO_PROCESS, child.pid) >= 5)
        if session.exists():  # else niceness compares all processes
            waited(lambda: session.read_text().endswith("nice 5\n"))
    finally:
        child.kill()
        child.wait()


def test_a_killed_server_takes_its_child_along_and_the_next_one_goes_on(folder: Folder) -> None:
    id_ = submitted(folder, PREDICTIONS["detector"])
    server = subprocess.Popen([sys.executable, "-P", "-c", _SERVER, str(folder.path)])
    try:
        child = child_at_work(server.pid)
    finally:
        server.kill()
        server.wait()
    waited(lambda: not is_alive(child), 10)
    assert runs.run(folder, id_).state == "running"
    with working(folder):
        run = ended(folder, id_)
    lines = [line.line for line in runs.log(folder, id_)]
    assert (run.state, run.attempt, lines.count("finished")) == ("done", 2, 1)
