"""What every command has in common, run as a process."""

import os
import subprocess
import sys

import pytest

from shoe.demo import PREDICTIONS, TRUTH
from tests.cli.run import run

COMMAND = [sys.executable, "-c", "from shoe.cli import main; main()"]


def test_a_terminal_that_knows_only_ascii_gets_no_traceback() -> None:
    arguments = ["diagnose", str(PREDICTIONS["detector"]), "-g", str(TRUTH), "--similarity", "none"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\u0394 mAP" in done.stdout


def test_an_interruption_that_python_wraps_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped() -> None:
        raise RuntimeError("Error calling __set_name__ on 'Field' instance") from KeyboardInterrupt()

    monkeypatch.setattr("shoe.cli.demo.demo", stopped)
    done = run("demo")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
