"""Children at work: the command line's bytes, limits that hold, and deaths that lose nothing."""

import contextlib
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from shoe.cli.diagnose import diagnose
from shoe.cli.score import score
from shoe.demo import PREDICTIONS, TRUTH
from shoe.service import runs, submissions
from shoe.service.folder import Folder
from shoe.service.process import CHILD, Limits
from shoe.service.truths import add_truth
from shoe.service.types import Request, Run
from shoe.service.worker import Worker
from tests.service.storm import children_of, is_alive

pytestmark = pytest.mark.slow
_LONGEST = 120.0
_SERVER = """
import sys, time
from shoe.service.folder import Folder
from shoe.service.process import Limits
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


@contextmanager
def working(folder: Folder, **limits: Any) -> Iterator[None]:
    worker = Worker(folder, limits=Limits(**limits))
    worker.start()
    try:
        yield
    finally:
        worker.stop()


def submitted(folder: Folder, path: Path, truth: str = "demo", **how: Any) -> str:
    stored = folder.files.put(path)
    runs.add_file(folder, "local", path.name, stored)
    return submissions.submit(folder, "local", None, stored.sha256, Request(truth=truth, **how)).id


def until(folder: Folder, id_: str, holds: Callable[[Run], bool]) -> Run:
    end = time.monotonic() + _LONGEST
    while time.monotonic() < end:
        if holds(run := runs.run(folder, id_)):
            return run
        time.sleep(0.02)
    raise AssertionError(run)


def ended(folder: Folder, id_: str) -> Run:
    return until(folder, id_, lambda run: run.state not in ("queued", "running"))


def child_at_work(server: int) -> int:
    """The child of a server, as soon as it runs its own program."""
    end = time.monotonic() + _LONGEST
    while time.monotonic() < end:
        for child in children_of(server):
            with suppress(OSError):
                if b"shoe.service.job_process" in Path(f"/proc/{child}/cmdline").read_bytes():
                    return child
        time.sleep(0.001)
    raise AssertionError(server)


def content(folder: Folder, run: Run, name: str) -> bytes:
    return folder.files.path(run.outputs[name].sha256).read_bytes()


def test_files_are_the_command_lines(folder: Folder, tmp_path: Path) -> None:
    asked: list[dict[str, Any]] = [{}, {"protocols": ("qpic", "shoe-robust"), "options": ("weight=0.3",)}]
    path, target = PREDICTIONS["free text"], tmp_path / "out.json"
    with working(folder), open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
        ids = [submitted(folder, path, **how) for how in asked]
        hidden = submitted(folder, path, "hidden")
        for id_, how in zip(ids, asked, strict=True):
            words, per_class = tmp_path / "words.csv", tmp_path / "classes.csv"
            protocols, options = list(how.get("protocols", ())), list(how.get("options", ()))
            score([path], TRUTH, protocol=protocols, option=options, json=str(target), words=words, per_class=per_class)
            run = ended(folder, id_)
            assert run.reason is None
            assert content(folder, run, "result.json") == target.read_bytes()
            assert content(folder, run, "words.csv") == words.read_bytes()
            assert content(folder, run, "classes.csv") == per_class.read_bytes()
            assert run.figures["semantic:map"] > 0.3
        diagnose([path], TRUTH, json=str(target))
        whole, bare = (
            until(folder, id_, lambda run: bool(run.further) and set(run.further.values()) == {"done"})
            for id_ in (ids[0], hidden)
        )
        assert content(folder, whole, "diagnosis.json") == target.read_bytes()
        compared = ended(folder, submissions.compare(folder, "local", ids, allow_different=True, resamples=100).id)
    assert {"comparison.json", "comparison.html", "comparison.tex"} < set(compared.outputs)
    assert b'"examples"' in target.read_bytes()
    diagnosis, result = (content(folder, bare, name) for name in ("diagnosis.json", "result.json"))
    assert not any(key in diagnosis for key in (b'"examples"', b'"confusions"', b'"commonest"'))
    assert b'"wordings"' not in result  # a wording that occurs once would tell a label
    assert "words.csv" not in bare.outputs
    assert b'id="data-examples"' in content(folder, whole, "report.html")
    assert {"report.html", "table.tex"}.isdisjoint(bare.outputs)
    assert all(value == round(value, 2) for value in bare.figures.values())  # 621 ground truths
    assert re.search(rb"semantic:map +0\.\d\d\n", content(folder, bare, "report.txt"))
    assert [line.line for line in runs.log(folder, ids[0])].count("finished") == 1


def test_limits_end_a_job_with_a_reason(folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # of which the last limit would leave halves
    large = tmp_path / "large.json"
    large.write_bytes(b"[" + b"[]," * 20_000_000 + b"[]]")
    for limits, path, reason in (
        ({"memory": 900_000_000}, large, "memory limit of 0.9 GB"),
        ({"cpu": 1}, PREDICTIONS["detector"], "CPU time limit of 1 s"),
        ({"wall": 0.3}, PREDICTIONS["detector"], "time limit of 0.3 s"),
        ({"file_size": 3000}, PREDICTIONS["detector"], "GB per output file exceeded"),
    ):
        with working(folder, **limits):
            id_ = submitted(folder, path, bounds=True)
            run = ended(folder, id_)
            assert run.state == "failed"
            assert reason in str(run.reason)
            runs.delete(folder, id_)


def test_what_users_can_fix_is_one_line_without_places_of_the_server(folder: Folder, tmp_path: Path) -> None:
    class Hostile:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.system, (f"touch {tmp_path / 'was here'}",)

    (tmp_path / "evil.pkl").write_bytes(pickle.dumps([Hostile()]))
    (tmp_path / "torn.json").write_text('[{"filename": "a"', "utf-8")
    with working(folder):
        for name in ("evil.pkl", "torn.json"):
            run = ended(folder, submitted(folder, tmp_path / name))
            assert run.state == "failed"
            assert str(run.reason).startswith(f"{name}: ")
            assert str(folder.path) not in str(run.reason)
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


def test_a_job_gives_way_to_the_server(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "job.json")  # which it waits for when its niceness is set
    words = [sys.executable, "-c", CHILD, str(tmp_path), str(os.getpid())]
    child = subprocess.Popen(words, start_new_session=True)
    session, end = Path(f"/proc/{child.pid}/autogroup"), time.monotonic() + _LONGEST
    try:
        while os.getpriority(os.PRIO_PROCESS, child.pid) < 5 and time.monotonic() < end:
            time.sleep(0.01)
        assert os.getpriority(os.PRIO_PROCESS, child.pid) >= 5
        if session.exists():  # else niceness compares all processes
            while not session.read_text().endswith("nice 5\n") and time.monotonic() < end:
                time.sleep(0.01)
            assert session.read_text().endswith("nice 5\n")
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
    end = time.monotonic() + 10
    while is_alive(child) and time.monotonic() < end:
        time.sleep(0.01)
    assert not is_alive(child)
    assert runs.run(folder, id_).state == "running"
    with working(folder):
        run = ended(folder, id_)
    lines = [line.line for line in runs.log(folder, id_)]
    assert (run.state, run.attempt, lines.count("finished")) == ("done", 2, 1)
