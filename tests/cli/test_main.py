"""What every command has in common, run as a process."""

import os
import runpy
import subprocess
import sys

import pytest

import shoe
from shoe.demo import PREDICTIONS, TRUTH
from tests.cli.run import refused, run

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


def test_an_interruption_while_modules_are_loaded_is_one() -> None:
    stops = "import sys; sys.meta_path.insert(0, type('', (), {'find_spec': _stop})); "
    stop = "def _stop(name, *_):\n    if name == 'shoe.cli.start': raise KeyboardInterrupt\n"
    done = subprocess.run(
        [sys.executable, "-c", f"{stop}{stops}{COMMAND[2]}", "demo"], capture_output=True, check=False
    )
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


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["score"], "missing argument 'predictions' (see shoe score --help)"),
        (["score", "p.json", "--nonsense", "1"], "no such option: --nonsense (see shoe score --help)"),
        (
            ["score", "p.json", "--groundtruth", "1"],
            "--groundtruth (did you mean --ground-truth?) (see shoe score --help)",
        ),
        (["score", "p" * 300, "-g", str(TRUTH)], ": found File name too long, expected a file that can be read"),
        (["diagnose", "p.json", "-g", "t.json", "--seed", "x"], "--seed"),
        (
            ["score", "p.json", "--html", "1"],
            "no such option: --html (it is an option of shoe compare) (see shoe score",
        ),
        (["score", "p.json", "--tau", "1"], "no such option: --tau (did you mean --option tau=VALUE?)"),
        (["demo", "--tau", "1"], "no such option: --tau (see shoe demo --help)"),
        (["score", "p.json", "--json"], "requires an argument (see shoe score --help)"),
        (["similarity", "ride", "sit", "--map", "hico-det"], "no such option: --map"),
        (["convert", "in.json", "out.csv", "--from", "qpic"], "no such option: --from"),
        (["map", "complete", "hico-det", "--budget", "1"], "no such option: --budget"),
        (["scores"], "no such command 'scores'"),
        (["map", "bild"], "no such command 'bild'"),
        (["demo", "more"], "(see shoe demo --help)"),
    ],
)
def test_a_command_line_that_is_none_gets_one_line(words: list[str], says: str) -> None:
    refused(run(*words), says)


@pytest.mark.parametrize("words", [(), ("score",), ("map",)], ids=" ".join)
def test_help_has_a_short_name_and_is_what_a_group_says_alone(words: tuple[str, ...]) -> None:
    long, short = run(*words, "--help"), run(*words, "-h")
    assert long.stdout.startswith(" ".join(["Usage: shoe", *words, "[OPTIONS]"]))
    assert (short.returncode, short.stdout, short.stderr) == (0, long.stdout, "")
    if words in ((), ("map",)):
        alone = run(*words)
        assert (alone.returncode, alone.stdout, alone.stderr) == (0, long.stdout, "")


def test_the_package_is_a_command_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["shoe", "--version"])
    runpy.run_module("shoe", run_name="__main__")
    assert capsys.readouterr().out.strip() == shoe.__version__
