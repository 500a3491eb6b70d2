"""Tables that never cut a figure, and whose text is text: what has no room stands below, with the names again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from shoe.core.errors import printable

_ANY_WIDTH = 10_000
_NARROW = 10
_LONGEST = 2000


class StackedTable(Table):
    """A table whose first ``names`` columns say what its rows are of."""

    names: int = 1

    def add_column(self, header: RenderableType = "", *args: Any, **options: Any) -> None:
        """Add a column; text is a heading of one or more lines, never markup or a terminal's commands."""
        super().add_column(_text(header), *args, **options)

    def add_row(self, *cells: RenderableType | None, **options: Any) -> None:
        """Add a row of cells; text is taken as in headings."""
        super().add_row(*map(_text, cells), **options)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render it whole where there is room, else in blocks of as many columns as fit."""
        if self._width(console, options) <= options.max_width or len(self.columns) <= self.names:
            yield from super().__rich_console__(console, options)
            return
        yield from self._blocks(console, options)

    def _width(self, console: Console, options: ConsoleOptions) -> int:
        """What it needs: columns that may take several lines need no more than a few characters of each."""

        def widest(cell: RenderableType) -> int:
            return Measurement.get(console, free, cell).maximum

        free = options.update(width=_ANY_WIDTH)
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
        """Some of the columns; names take several lines rather than room from figures."""
        part = StackedTable(box=self.box, pad_edge=self.pad_edge, padding=self.padding, show_header=self.show_header)
        part.names = len(chosen)
        columns = [self.columns[index] for index in chosen]
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
