"""What terminal renderings share: lines, cells, figures and tables that no name from a file can steer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from shoe.core.errors import printable
from shoe.report.stacked import StackedTable

_LONGEST_LINE = 2000
_READABLE = 100
"""Columns that lines take at most, where there are more."""
_KEY = 11
"""Columns before the text of most notes: what they are about."""


def say(to: Console, line: str, style: str = "") -> None:
    """Print a line; on a terminal over several lines, broken between words, those after the first set in."""
    line = printable(line, _LONGEST_LINE)
    width = min(to.width, _READABLE) if to.is_terminal else len(line) + 1
    indent = " " * (_KEY if width > 2 * _KEY else 2)
    for part in wrap(line, width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False) or [""]:
        to.print(Text(part, style=style), soft_wrap=True)


def words(text: str, longest: int = 80) -> Text:
    """Words from a file as a cell."""
    return Text(printable(text, longest))


def table(*columns: str, names: int = 1, rows: Iterable[Iterable[str | Text]] = ()) -> Table:
    """A table of figures by name; figures and headings are never cut off.

    Args:
        columns: their headings.
        names: how many of them, the first ones, are names; figures stand at the right.
        rows: a cell a column.
    """
    made = StackedTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    made.names = names
    for index, column in enumerate(columns):
        made.add_column(column, justify="left" if index < names else "right", no_wrap=True)
    for row in rows:
        made.add_row(*row)
    return made


def table_of_models(first: str, *columns: str) -> Table:
    """A table with a row a model: columns stand close, and long names take several lines."""
    made = table(first, *columns)
    made.padding = (0, 0, 0, 0)
    made.columns[0].no_wrap = False
    made.columns[0].overflow = "fold"
    return made


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells as lines, each column as wide as its longest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def percent(value: float | None) -> str:
    """A fraction as percent with two decimals; a dash where there is nothing to measure."""
    return "–" if value is None else f"{100 * value:.2f}"


def points(value: float | None, digits: int = 2) -> str:
    """A difference of fractions in points; a dash where there is nothing to measure."""
    return "–" if value is None else f"{100 * value:+z.{digits}f}"


def fixed(value: float | None, digits: int = 3) -> str:
    """A figure; a dash where there is nothing to measure."""
    return "–" if value is None else f"{value:.{digits}f}"


def count(value: int) -> str:
    """A count with its thousands apart."""
    return f"{value:,}"
