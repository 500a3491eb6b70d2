"""Tables in narrow terminals: figures are never cut."""

from io import StringIO

import pytest
from hypothesis import given, strategies as st
from rich.console import Console
from rich.table import Table
from rich.text import Text

from shoe.report.text import print_line, table
from tests.examples import examples


def shown(what: Table | str, width: int, terminal: bool = True) -> str:
    """A table or line, as a terminal of some width shows it."""
    to = Console(file=StringIO(), width=width, force_terminal=terminal, color_system=None)
    print_line(to, what) if isinstance(what, str) else to.print(what)
    assert isinstance(to.file, StringIO)
    return to.file.getvalue()


def printed(width: int, columns: int, name: str) -> str:
    """A table of distinct figures."""
    row = [name, *(f"{100 + k}.25" for k in range(columns))]
    return shown(table("name", *(f"figure {k}" for k in range(columns)), rows=[row]), width)


@examples(0.5)
@given(width=st.integers(24, 120), columns=st.integers(1, 12), name=st.text("ab ", min_size=1, max_size=40))
def test_every_figure_and_heading_is_whole_and_fits(width: int, columns: int, name: str) -> None:
    text = printed(width, columns, name)
    assert "…" not in text
    assert all(len(line.rstrip()) <= width for line in text.splitlines())
    assert all(whole in text for k in range(columns) for whole in (f"{100 + k}.25", f"figure {k}"))


HOSTILE = "[bold red]m[/] \x1b[2J\u202e\x07"


@pytest.mark.parametrize("width", [160, 30])
def test_text_of_headings_and_cells_is_shown_and_never_obeyed(width: int) -> None:
    made = table(HOSTILE, f"group\n{HOSTILE}", HOSTILE, names=1)
    made.add_column(HOSTILE)
    made.add_row(HOSTILE, Text(HOSTILE, style="bold"), HOSTILE, HOSTILE)
    text = shown(made, width, terminal=False)
    assert text.replace("\n", "").isprintable()
    assert "[bold red]m[/] \ufffd[2J\ufffd\ufffd" in text
    assert "group" in text


def test_lines_are_broken_between_words_and_a_table_that_fits_stays_one() -> None:
    line = "ties       " + "39.55 % of what shoe ranks shares its score with another of its class " * 2
    for terminal, most in ((True, 60), (False, len(line))):
        lines = shown(line, 60, terminal).splitlines()
        assert max(map(len, lines)) <= most
        assert " ".join(" ".join(lines).split()) == " ".join(line.split())
        assert (len(lines) > 1) == terminal
        assert all(part.startswith(" " * 11) for part in lines[1:])
    assert printed(80, 4, "a").count("name") == 1
    assert printed(30, 4, "a").count("name") > 1
