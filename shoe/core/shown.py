"""How results show themselves where they are the last value of a cell or of a prompt: a few lines, never all rows."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

Rows = Mapping[str, Mapping[str, float | None]]
"""Fractions by row and column."""


def as_lines(title: str, rows: Rows) -> str:
    """A title, and under it a line for each row, figures in percent."""
    return "\n".join([title, *(f"  {name}: {', '.join(_cells(row))}" for name, row in rows.items())])


def as_table(title: str, rows: Rows) -> str:
    """The same as HTML, for notebooks."""
    lines = [
        f"<tr><th>{escape(name)}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in _cells(row))}</tr>"
        for name, row in rows.items()
    ]
    return f"<table><caption>{escape(title)}</caption>{''.join(lines)}</table>"


def _cells(row: Mapping[str, float | None]) -> list[str]:
    return [f"{name} {100 * value:.2f}" for name, value in row.items() if value is not None]


def present(values: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what is None: no key of a record has null."""
    return {key: value for key, value in values.items() if value is not None}
