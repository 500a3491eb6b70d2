"""How results show themselves where they are the last value of a cell or of a prompt: a few lines, never all rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from shoe.core.errors import printable

Rows = Mapping[str, Mapping[str, float | None]]
"""Fractions by row and column."""
_NOTES_SHOWN = 3
_LONGEST_NOTE = 240


def as_lines(title: str, rows: Rows, notes: Sequence[str] = ()) -> str:
    """A title, and under it a line for each row, figures in percent, and the first notes."""
    lines = (f"{name}: {', '.join(_cells(row))}" for name, row in rows.items())
    return "\n  ".join([title, *lines, *_first(notes)])


def as_table(title: str, rows: Rows, notes: Sequence[str] = ()) -> str:
    """The same as HTML, for notebooks."""
    lines = [
        f"<tr><th>{escape(name)}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in _cells(row))}</tr>"
        for name, row in rows.items()
    ]
    below = (f"<div>{escape(line)}</div>" for line in _first(notes))
    return f"<table><caption>{escape(title)}</caption>{''.join(lines)}</table>{''.join(below)}"


def _first(notes: Sequence[str]) -> list[str]:
    more = len(notes) - _NOTES_SHOWN
    return [
        *(printable(line, _LONGEST_NOTE) for line in notes[:_NOTES_SHOWN]),
        *([f"and {more} more: to_dict()['notes']"] if more > 0 else []),
    ]


def _cells(row: Mapping[str, float | None]) -> list[str]:
    return [f"{name} {100 * value:.2f}" for name, value in row.items() if value is not None]
