"""The way in which these tests call commands: like a process, without one."""

import gc
import os
from pathlib import Path

import pytest

from tests.cli import run as module
from tests.cli.run import process, refused, run


@pytest.mark.parametrize(
    "arguments",
    [("--version",), ("similarity", "ride.v.02", "sit.v.01"), ("resolve",), ("score", "absent", "-g", "absent")],
)
def test_a_call_gives_what_a_process_gives(arguments: tuple[str, ...]) -> None:
    called, ran = run(*arguments), process(*arguments, env=os.environ | {"COLUMNS": "80"})
    assert (called.returncode, called.stdout, called.stderr) == (ran.returncode, ran.stdout, ran.stderr)


def test_nothing_stays_changed(tmp_path: Path) -> None:
    before = Path.cwd(), dict(os.environ)
    refused(run("score", "absent", "-g", "absent", folder=tmp_path, environment={"SHOE_X": "1"}), "absent")
    assert (Path.cwd(), dict(os.environ), gc.isenabled()) == (*before, True)


def test_a_fault_of_ours_is_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "main", lambda: int("ours"))
    done = run("demo")
    assert (done.returncode, "ValueError: invalid" in done.stderr) == (1, True)
