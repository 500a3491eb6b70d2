"""What every command has in common, run as a process."""

import os
import subprocess
import sys

from shoe.demo import PREDICTIONS, TRUTH

COMMAND = [sys.executable, "-c", "from shoe.cli import main; main()"]


def test_a_terminal_that_knows_only_ascii_gets_no_traceback() -> None:
    arguments = ["diagnose", str(PREDICTIONS["detector"]), "-g", str(TRUTH), "--similarity", "none"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\u0394 mAP" in done.stdout
