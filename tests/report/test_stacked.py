"""Tables in narrow terminals: figures are never cut."""

from io import StringIO

import pytest
from hypothesis import given, strategies as st
from rich.console import Console
from rich.text import Text

from shoe.report.text import print_line, table
from tests.examples import examples


def printed(width: int, columns: int, name: str) -> str:
    """A table of distinct figures, as a terminal of some width shows it."""
    made = table("name", *(f"figure {k}" for k in range(columns)))
    made.add_row(name, *(f"{100 + k}.25" for k in range(columns)))
    to = Console(file=StringIO(), width=width, force_terminal=True, color_system=None)
    to.print(made)
    assert isinstance(to.file, StringIO)
    return to.file.getvalue()


@examples(0.5)
@given(width=st.integers(24, 120), columns=st.integers(1, 12), name=st.text("ab ", min_size=1, max_size=40))
def test_every_figure_and_heading_is_whole_and_fits(width: int, columns: int, name: str) -> None:
    text = printed(width, columns, name)
    assert "…" not in text
    assert all(len(line.rstrip()) <= width for line in text.splitlines())
    for k in range(columns):
        assert f"{100 + k}.25" in text
        assert f"figure {k}" in text


HOSTILE = "[bold red]m[/] \x1b[2J\u202e\x07"


@pytest.mark.parametrize("width", [160, 30])
def test_text_of_headings_and_cells_is_shown_and_never_obeyed(width: int) -> None:
    made = table(HOSTILE, f"group\n{HOSTILE}", HOSTILE, names=1)
    made.add_column(HOSTILE)
    made.add_row(HOSTILE, Text(HOSTILE, style="bold"), HOSTILE, HOSTILE)
    to = Console(file=StringIO(), width=width)
    to.print(made)
    assert isinstance(to.file, StringIO)
    shown = to.file.getvalue()
    assert shown.replace("\n", "").isprintable()
    assert "[bold red]m[/] \ufffd[2J\ufffd\ufffd" in shown
    assert "group" in shown


def test_lines_are_broken_between_words_and_a_table_that_fits_stays_one() -> None:
    line = "ties       " + "39.55 % of what shoe ranks shares its score with another of its class " * 2
    for terminal, most in ((True, 60), (False, len(line))):
        to = Console(file=StringIO(), width=60, force_terminal=terminal, color_system=None)
        print_line(to, line)
        assert isinstance(to.file, StringIO)
        lines = to.file.getvalue().splitlines()
        assert max(map(len, lines)) <= most
        assert " ".join(to.file.getvalue().split()) == " ".join(line.split())
        assert (len(lines) > 1) == terminal
        assert all(part.startswith(" " * 11) for part in lines[1:])
    assert printed(80, 4, "a").count("name") == 1
    assert printed(30, 4, "a").count("name") > 1
