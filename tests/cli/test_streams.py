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
from shoe.report.terminal import console
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
def native(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("native") / "p.npz"
    assert run("convert", VLM, path).returncode == 0
    return path


@pytest.mark.parametrize("command", [("score", "-p", "qpic"), ("diagnose", "--similarity", "none")])
@pytest.mark.parametrize("kind", ["text", "gzip", "native"])
def test_predictions_from_a_pipe_are_those_of_the_file(command: tuple[str, ...], kind: str, native: Path) -> None:
    """The words that introduce a diagnosis are its file's name; figures are the same to the last digit."""
    path = native if kind == "native" else VLM
    content = gzip.compress(path.read_bytes()) if kind != "text" else path.read_bytes()
    with piped(content) as stream:
        by_pipe = run(command[0], stream, "--ground-truth", TRUTH, *command[1:])
    by_file = run(command[0], path, "--ground-truth", TRUTH, *command[1:])
    assert by_pipe.returncode == 0, by_pipe
    shown = by_pipe.stdout.replace(f"{Path(stream).stem} · ", f"{path.stem} · ")
    assert shown == by_file.stdout


@pytest.mark.parametrize("words", [("-", "-g", TRUTH), (VLM, "-g", "-")], ids=["predictions", "ground truth"])
def test_a_dash_is_standard_input(words: tuple[str | Path, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    content = (VLM if words[0] == "-" else TRUTH).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    done, usual = run("score", *words, "-p", "qpic"), run("score", VLM, "-g", TRUTH, "-p", "qpic")
    assert (done.returncode, done.stdout.splitlines()[1:]) == (0, usual.stdout.splitlines()[1:])


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
