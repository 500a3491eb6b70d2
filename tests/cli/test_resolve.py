import pytest
import typer
from typer.testing import CliRunner, Result

from shoe.cli.resolve import resolve
from shoe.core.errors import OptionError

app = typer.Typer()
app.command()(resolve)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, catch_exceptions=False)


def test_both_parts_are_shown_with_reasons() -> None:
    result = run("riding")
    assert result.exit_code == 0
    assert "riding as verb" in result.stdout
    assert "riding as object" in result.stdout
    (line,) = [line for line in result.stdout.splitlines() if "ride.v.01" in line]
    assert 'base form of "riding"' in line


def test_one_part_is_shown_on_request() -> None:
    result = run("hot dogs", "mice", "--pos", "object")
    assert result.exit_code == 0
    assert "as verb" not in result.stdout
    assert "hotdog.n.02" in result.stdout
    assert "mouse.n.04" in result.stdout


def test_unresolved_words_are_said_plainly() -> None:
    result = run("blorft", "--pos", "verb")
    assert result.exit_code == 0
    assert result.stdout == "blorft as verb: unresolved, no sense in WordNet\n"


def test_hostile_words_are_shown_as_text() -> None:
    result = run("\x1b[31mhorse\u202e [bold]", "--pos", "verb")
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    assert "\u202e" not in result.stdout
    assert "[bold]" in result.stdout


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(OptionError, match=r"unknown part of speech 'verbs' \(did you mean verb"):
        run("dog", "--pos", "verbs")


def test_no_word_is_refused() -> None:
    assert run().exit_code == 2


@pytest.mark.usefixtures("definitions")
def test_glosses_are_wordnet_s_definitions() -> None:
    result = run("toothbrush", "--pos", "object", "--glosses")
    assert result.exit_code == 0
    assert "small brush; has long handle; used to clean teeth" in result.stdout
