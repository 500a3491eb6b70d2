"""Reading a command line without typer: the same arguments as typer reads, or none."""

import functools
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from shoe.cli import score
from shoe.cli.app import app
from shoe.cli.start import declarations, parse_arguments

PLAIN = [
    "p.json --ground-truth t.json",
    "-g t.json p.json --bounds",
    "p.json --ground-truth=t.json --protocol qpic -p shoe --option=delta=0.25 -o cap=3",
    "p.json -g a.json -g b.json --json - --image-labels anno.mat --dataset hico-det",
]
OTHER = ["", "p.json", "--help", "p.json -g", "p.json q.json -g t.json", "p.json -gt.json", "p.json -g --bounds"]
OTHER += [f"p.json -g t.json {more}" for more in ("--nonsense 1", "--bounds=yes", "--json=")]


@pytest.mark.parametrize("words", PLAIN)
def test_plain_words_are_read_as_typer_reads_them(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = app("score")
    (command,) = whole.registered_commands
    assert command.callback is not None
    seen: dict[str, Any] = {}
    monkeypatch.setattr(command, "callback", functools.wraps(command.callback)(lambda **given: seen.update(given)))
    done = CliRunner().invoke(whole, ["score", *words.split()])
    assert done.exit_code == 0, done.output
    found = parse_arguments(score.score, words.split())
    assert found is not None
    defaults = dict(zip(list(declarations(score.score))[2:], score.score.__defaults__ or (), strict=True))
    assert defaults | found == seen


@pytest.mark.parametrize("words", OTHER)
def test_all_else_is_left_to_typer(words: str) -> None:
    assert parse_arguments(score.score, words.split()) is None


def test_every_type_is_one_that_is_converted() -> None:
    kinds = {kind for kind, _ in declarations(score.score).values()}
    assert kinds == {list[Path], Path, str, bool, list[str] | None, str | None, Path | None}
    assert typer.main.get_command(app("score")) is not None
