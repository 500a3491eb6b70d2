"""Lines, cells and tables of all terminal output; text from files cannot inject terminal commands or markup."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from textwrap import wrap
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from shoe.core.errors import printable

_NARROW = 10
_LONGEST = 2000


class StackedTable(Table):
    """Table that is split into blocks of columns, each with the row names, if it is too wide for the terminal."""

    names: int = 1
    """Number of leading columns that name the rows."""

    def add_column(self, header: RenderableType = "", *args: Any, **options: Any) -> None:
        """Add a column; the lines of a string header are printed literally, without markup or terminal commands."""
        super().add_column(_text(header), *args, **options)

    def add_row(self, *cells: RenderableType | None, **options: Any) -> None:
        """Add a row of cells; text is printed literally, as in :meth:`add_column`."""
        super().add_row(*map(_text, cells), **options)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render the whole table if it fits, else blocks of as many columns as fit."""
        fits = self._width(console, options) <= options.max_width or len(self.columns) <= self.names
        yield from super().__rich_console__(console, options) if fits else self._blocks(console, options)

    def _width(self, console: Console, options: ConsoleOptions) -> int:
        """Return the minimum width in characters; columns that may wrap count at most ``_NARROW`` characters."""

        def widest(cell: RenderableType) -> int:
            return Measurement.get(console, free, cell).maximum

        free = options.update(width=10_000)
        flexible = (max(map(widest, [column.header, *column.cells])) for column in self.columns if not column.no_wrap)
        return widest(self) - sum(max(width - _NARROW, 0) for width in flexible)

    def _blocks(self, console: Console, options: ConsoleOptions) -> Iterator[StackedTable]:
        first = list(range(self.names))
        chosen: list[int] = []
        for index in range(self.names, len(self.columns)):
            if chosen and self._part([*first, *chosen, index])._width(console, options) > options.max_width:
                yield self._part([*first, *chosen])
                chosen = []
            chosen.append(index)
        yield self._part([*first, *chosen])

    def _part(self, chosen: list[int]) -> StackedTable:
        part = StackedTable(box=self.box, pad_edge=self.pad_edge, padding=self.padding, show_header=self.show_header)
        part.names, columns = len(chosen), [self.columns[index] for index in chosen]
        for number, column in enumerate(columns):
            part.add_column(column.header, justify=column.justify, no_wrap=number >= self.names, overflow="fold")
        for row, cells in zip(self.rows, zip(*(column.cells for column in columns), strict=True), strict=True):
            part.add_row(*cells, end_section=row.end_section)
        return part


def _text(cell: Any) -> Any:
    if not isinstance(cell, str | Text):
        return cell
    if isinstance(cell, Text) and cell.plain.replace("\n", "").isprintable():
        return cell
    return Text("\n".join(printable(line, _LONGEST) for line in str(cell).split("\n")))


class _Console(Console):
    """Console that leaves the handling of a closed pipe to the command line."""

    def on_broken_pipe(self) -> None:
        raise


def console() -> Console:
    """Return a console for standard output, 160 characters wide if piped. A closed pipe raises BrokenPipeError."""
    made = _Console(highlight=False)
    return made if made.is_terminal else _Console(highlight=False, width=160)


_KEY = 11  # characters of the keyword before the text of most notes


def print_line(to: Console, line: str, style: str = "") -> None:
    """Print a line, cut to 2,000 characters; on a terminal, wrap it (100 columns at most) and indent later lines."""
    line = printable(line, _LONGEST)
    width = min(to.width, 100) if to.is_terminal else len(line) + 1
    indent = " " * (_KEY if width > 2 * _KEY else 2)
    for part in wrap(line, width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False) or [""]:
        to.print(Text(part, style=style), soft_wrap=True)


def print_lines(to: Console, lines: Iterable[str], style: str = "") -> None:
    """Print several lines, each as :func:`print_line` does."""
    for line in lines:
        print_line(to, line, style)


def print_more(to: Console) -> None:
    """Print the options that show the tables and notes left out of a brief report."""
    print_line(to, "More: `--verbose` (or `-v`) prints all tables, notes and signatures; `--json -` all values.", "dim")


def words(text: str, longest: int = 80) -> Text:
    """Return text from a file as a table cell, cut to ``longest`` characters, without terminal commands."""
    return Text(printable(text, longest))


def table(*columns: str, names: int = 1, rows: Iterable[Iterable[str | Text]] = ()) -> Table:
    """Return a table with the first ``names`` columns aligned left, the others right; numbers are never cut off."""
    made = StackedTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    made.names = names
    for index, column in enumerate(columns):
        made.add_column(column, justify="left" if index < names else "right", no_wrap=True)
    for row in rows:
        made.add_row(*row)
    return made


def table_of_models(first: str, *columns: str) -> Table:
    """Return an empty table for one row per model; ``first`` is the heading of the model names, which may wrap."""
    made = table(first, *columns)
    made.padding = (0, 0, 0, 0)
    made.columns[0].no_wrap, made.columns[0].overflow = False, "fold"
    return made


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of cells as indented lines, with each column as wide as its longest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def percent(value: float | None, *, rounded: bool = False) -> str:
    """Return a fraction in percent without "%", or a dash for None; ``rounded``: at most six significant digits."""
    return "–" if value is None else f"{100 * value:{'.6g' if rounded else '.2f'}}"


def points(value: float | None, digits: int = 2, *, rounded: bool = False) -> str:
    """Return a difference of fractions in points with sign, or a dash for None; ``rounded`` as in :func:`percent`."""
    return "–" if value is None else f"{100 * value:{'+z.6g' if rounded else f'+z.{digits}f'}}"


def decimals(value: float | None, digits: int = 3) -> str:
    """Return a number with a fixed number of decimals, or a dash for None."""
    return "–" if value is None else f"{value:.{digits}f}"


def count(value: int) -> str:
    """Return a count with thousands separators."""
    return f"{value:,}"


def model_names(paths: Sequence[Path]) -> list[str]:
    """Return unique names of models: file stems or, if some are equal, file names, longer paths, or numbered names."""
    paths = [Path(os.fsencode(path).decode("utf-8", "replace")) for path in paths]  # JSON text must be valid Unicode
    depth = max((len(path.parts) for path in paths), default=0)
    longer = ([str(Path(*path.parts[-parts:])) for path in paths] for parts in range(1, depth + 1))
    for names in ([path.stem for path in paths], *longer):
        if len(set(names)) == len(names):
            return names
    return [f"{path.name} ({number})" for number, path in enumerate(paths, 1)]


def short_names(names: Sequence[str], longest: int = 40) -> list[str]:
    """Return names of at most ``longest`` characters: without parts of their common prefix, then without their middle.

    >>> short_names(["runs/may/large", "runs/may/small"], 12)
    ['…may/large', '…may/small']
    >>> short_names(["a_detector_of_may", "b"], 9)
    ['a_de…_may', 'b']
    """
    shown = [printable(name, max(map(len, names))) for name in names]
    if max(map(len, shown)) > longest and len(shown) > 1:
        shared = "".join(signs[0] for signs in takewhile(lambda s: len(set(s)) == 1, zip(*shown, strict=False)))
        cuts = [at + 1 for at, sign in enumerate(shared) if not sign.isalnum()]
        cut = next((at for at in cuts if max(map(len, shown)) - at < longest), max(cuts, default=0))
        shown = [f"…{name[cut:]}" for name in shown] if cut else shown
    half = (longest - 1) // 2
    shown = [name if len(name) <= longest else f"{name[: longest - 1 - half]}…{name[-half:]}" for name in shown]
    return [f"{name} ({number})" if shown.count(name) > 1 else name for number, name in enumerate(shown, 1)]


def all_notes(notes: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the distinct notes on all models; a note that not all models have starts with the names of its models."""
    names: dict[str, list[str]] = {}
    for name, lines in notes.items():
        for line in lines:
            names.setdefault(line, []).append(name)
    return [line if len(models) == len(notes) else f"{', '.join(models)}: {line}" for line, models in names.items()]
