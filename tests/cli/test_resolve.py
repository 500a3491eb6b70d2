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


@pytest.mark.parametrize(
    ("phrase", "says", "senses"),
    [
        (
            "a man wearing a helmet rides a brown horse",
            ["read as   rides · brown horse", "could be  wearing · helmet"],
            ["ride.v.01", "horse.n.01"],
        ),
        ("eating pizza with a fork", ["read as  eating · pizza / fork"], ["eat.v.01", "pizza.n.01", "fork.n.01"]),
        ("man on a horse", ["read as   being on · horse", "doubtful  "], ["be.v.01"]),
        ("riding and holding a horse", ["read as  riding · horse", "read as  holding · horse"], ["hold.v.02"]),
        ("a man is not riding a horse", ["denied  "], []),
        ("the \x1b white ship", ["not read  "], []),
    ],
)
def test_a_phrase_is_shown_as_it_is_split(phrase: str, says: list[str], senses: list[str]) -> None:
    done = run("--phrase", phrase)
    assert done.exit_code == 0
    head, *lines = done.stdout.split("\n\n")[0].strip().splitlines()
    assert head == phrase.replace("\x1b", "\ufffd")
    assert len(lines) == len(says)
    for line, said in zip(lines, says, strict=True):
        assert said in line
    assert all(sense in done.stdout for sense in senses)
    assert bool(senses) == ("as verb" in done.stdout)


def test_glosses_are_wordnet_s_definitions() -> None:
    result = run("toothbrush", "--pos", "object", "--glosses")
    assert result.exit_code == 0
    assert "small brush; has long handle; used to clean teeth" in result.stdout
