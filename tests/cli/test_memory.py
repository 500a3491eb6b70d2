"""Commands under a limit on memory."""

import resource
import subprocess
import sys

import pytest

from shoe.demo import PREDICTIONS, TRUTH

MAIN = "import sys; sys.argv[0] = 'shoe'; from shoe.cli import main; main()"


@pytest.mark.slow
def test_little_memory_is_enough() -> None:
    """With a buffer for each thread OpenBLAS, loaded with scipy, would hang."""
    limit = 300 << 20
    command = ["diagnose", str(PREDICTIONS["free text"]), "--ground-truth", str(TRUTH)]
    done = subprocess.run(
        [sys.executable, "-c", MAIN, *command],
        capture_output=True,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert done.returncode == 0, done.stderr.decode()[-300:]
    assert b"Traceback" not in done.stderr
