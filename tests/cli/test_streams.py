"""What can be read only once - a pipe, standard input - is read once; an output that nobody reads ends a command."""

import gzip
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shoe.demo import PREDICTIONS, TRUTH
from shoe.report.text import console
from tests.cli.run import COMMAND, run

VLM = PREDICTIONS["free text"]


@contextmanager
def piped(content: bytes) -> Iterator[str]:
    """The path of a pipe that holds some content, as a shell's ``<(...)`` gives it."""
    reader, writer = os.pipe()
    assert os.write(writer, content) == len(content)
    os.close(writer)
    yield f"/dev/fd/{reader}"
    os.close(reader)


@pytest.fixture(scope="module")
def usual() -> str:
    """What scoring the file itself says."""
    return run("score", VLM, "-g", TRUTH, "-p", "qpic").stdout


@pytest.mark.parametrize("kind", ["gzip", "native", pytest.param("text", marks=pytest.mark.slow)])
def test_predictions_from_a_pipe_are_those_of_the_file(kind: str, tmp_path: Path, usual: str) -> None:
    content = gzip.compress(VLM.read_bytes()) if kind == "gzip" else VLM.read_bytes()
    if kind == "native":
        assert run("convert", VLM, tmp_path / "p.npz").returncode == 0
        content = (tmp_path / "p.npz").read_bytes()
    with piped(content) as stream:
        done = run("score", stream, "-g", TRUTH, "-p", "qpic")
    assert (done.returncode, figures(done.stdout)) == (0, figures(usual)), done


def test_a_command_that_looks_at_a_file_several_times_reads_a_pipe_once() -> None:
    with piped(VLM.read_bytes()) as stream:
        by_pipe = run("diagnose", stream, "-g", TRUTH, "--similarity", "none")
    by_file = run("diagnose", VLM, "-g", TRUTH, "--similarity", "none")
    assert by_pipe.returncode == 0, by_pipe
    assert by_pipe.stdout.replace(f"{Path(stream).stem} · ", f"{VLM.stem} · ") == by_file.stdout


@pytest.mark.parametrize("words", [("-", "-g", TRUTH), (VLM, "-g", "-")], ids=["predictions", "ground truth"])
def test_a_dash_is_standard_input(words: tuple[str | Path, ...], usual: str, monkeypatch: pytest.MonkeyPatch) -> None:
    content = (VLM if words[0] == "-" else TRUTH).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    done = run("score", *words, "-p", "qpic")
    assert (done.returncode, figures(done.stdout)) == (0, figures(usual)), done


def figures(shown: str) -> list[str]:
    """The rows of figures that a report shows."""
    return [line for line in shown.splitlines() if line.lstrip().startswith(("qpic ", "ties "))]


@pytest.fixture
def unread() -> Iterator[int]:
    """A pipe that nobody reads any more."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


def test_an_output_that_nobody_reads_ends_a_command_quietly(unread: int) -> None:
    done = subprocess.run([*COMMAND, "prompt"], stdout=unread, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_tables_too_leave_that_to_the_command_line(unread: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with os.fdopen(os.dup(unread), "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        with pytest.raises(BrokenPipeError):
            console().print("figures")
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
