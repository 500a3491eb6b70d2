"""What the terminal renderings of a diagnosis share: lines, cells and tables that no name from a file can steer."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from shoe.core.errors import printable

_LONGEST_LINE = 2000


def say(to: Console, line: str, style: str = "") -> None:
    """Print one line."""
    to.print(Text(printable(line, _LONGEST_LINE), style=style), soft_wrap=True)


def words(text: str, longest: int = 80) -> Text:
    """Words from a file as a cell."""
    return Text(printable(text, longest))


def table(first: str, *columns: str) -> Table:
    """A table of figures by name; figures and headings are never cut off."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    made.add_column(first, no_wrap=True)
    for column in columns:
        made.add_column(column, justify="right", no_wrap=True)
    return made


def table_of_models(first: str, *columns: str) -> Table:
    """A table with a row a model: columns stand close, and long names take several lines."""
    made = table(first, *columns)
    made.padding = (0, 0, 0, 0)
    made.columns[0].no_wrap = False
    made.columns[0].overflow = "fold"
    return made


def many(number: int, noun: str) -> str:
    """A count and what it counts."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def points(value: float | None, digits: int = 2) -> str:
    """A difference of fractions in points; a dash where there is nothing to measure."""
    return "–" if value is None else f"{100 * value:+z.{digits}f}"
