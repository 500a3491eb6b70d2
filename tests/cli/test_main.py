"""What every command has in common, run as a process."""

import os
import resource
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import shoe
from shoe.demo import PREDICTIONS, TRUTH
from tests.cli.run import COMMAND, refused, run
from tests.predictions.samples import FOLDER


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


def test_an_interruption_while_modules_are_loaded_is_one() -> None:
    stops = "import sys; sys.meta_path.insert(0, type('', (), {'find_spec': _stop})); "
    stop = "def _stop(name, *_):\n    if name == 'shoe.cli.start': raise KeyboardInterrupt\n"
    done = subprocess.run([sys.executable, "-c", f"{stop}{stops}{COMMAND[2]}", "demo"], capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


@pytest.mark.slow
def test_numpy_is_loaded_without_being_interrupted() -> None:
    """An exception in its C code becomes a "bad install", or a crash: it holds interruptions back till it is there."""
    held = "signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())"
    look = f"def _look(name, *_):\n    if name in ('numpy.core', 'numpy.linalg', 'numpy.random'): print({held})\n"
    looks = "import signal, sys; sys.meta_path.insert(0, type('', (), {'find_spec': _look})); "
    command = [sys.executable, "-c", f"{look}{looks}{COMMAND[2]}", "score", "missing", "-g", "missing"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert set(done.stdout.split()) == {"True"}


@pytest.mark.parametrize("error", [MemoryError(), ImportError("libx.so.5: failed to map segment from shared object")])
def test_no_memory_is_one_line(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fails() -> None:
        raise error

    monkeypatch.setattr("shoe.cli.demo.demo", fails)
    refused(run("demo"), "not enough memory")


FILES = {"TRUTH": TRUTH, "VLM": PREDICTIONS["free text"], "DETECTOR": PREDICTIONS["detector"]}
MISTAKES = Path(__file__).parents[1].joinpath("data", "mistakes.tsv").read_text("utf-8").splitlines()[1:]


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_one_line_and_leaves_nothing(tmp_path: Path, line: str) -> None:
    (tmp_path / "file").write_text("")
    words, says = line.replace("SAMPLES", str(FOLDER)).split("\t")
    done = run(*(FILES.get(word, word) for word in shlex.split(words)), folder=tmp_path)
    refused(done, *says.split(" ¦ "))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("words", [(), ("score",), ("map",)], ids=" ".join)
def test_help_has_a_short_name_and_is_what_a_group_says_alone(words: tuple[str, ...]) -> None:
    long = run(*words, "--help").stdout
    assert long.startswith(" ".join(["Usage: shoe", *words, "[OPTIONS]"]))
    for more in (["-h"], []) if words != ("score",) else (["-h"],):
        done = run(*words, *more)
        assert (done.returncode, done.stdout, done.stderr) == (0, long, "")


def test_the_package_is_a_command_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["shoe", "--version"])
    runpy.run_module("shoe", run_name="__main__")
    assert capsys.readouterr().out.strip() == shoe.__version__


@pytest.mark.slow
def test_little_memory_is_enough() -> None:
    """With a buffer for each thread OpenBLAS, loaded with scipy, would hang."""
    limit = 300 << 20
    words = [*COMMAND, "diagnose", str(PREDICTIONS["free text"]), "--ground-truth", str(TRUTH)]
    done = subprocess.run(
        words,
        capture_output=True,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert done.returncode == 0, done.stderr.decode()[-300:]
    assert b"Traceback" not in done.stderr
