"""What all renderings of maps share: tables, numbers, and prose of any shape out of map.json."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich import box
from rich.table import Table

from shoe.core.errors import printable
from shoe.similarity import SimilarityMap

_LONGEST = 2000
_DEEPEST = 6
_MOST_ITEMS = 50


def table(*left: str, right: tuple[str, ...] = ()) -> Table:
    """A table whose first columns are names, and whose others are figures, none of them cut off."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for column in left:
        made.add_column(column, no_wrap=True)
    for column in right:
        made.add_column(column, justify="right", no_wrap=True)
    return made


def fixed(value: float | None, digits: int = 3) -> str:
    """A figure; a dash where there is nothing to measure."""
    return "–" if value is None else f"{value:.{digits}f}"


def count(value: int) -> str:
    """A count with its thousands apart."""
    return f"{value:,}"


def heading(similarity: SimilarityMap) -> str:
    """A map in one line: name, content, and how its raters are combined."""
    pairs = " and ".join(f"{len(table):,} {part} pairs" for part, table in similarity.tables.items())
    raters = "1 rater" if len(similarity.raters) == 1 else f"{len(similarity.raters)} raters"
    return f"{similarity.name} ({similarity.digest}) · classes of {similarity.dataset} · {pairs} · {raters}"


def present(values: dict[str, Any]) -> dict[str, Any]:
    """What is there: absent parts are absent, never null."""
    return {key: value for key, value in values.items() if value is not None}


def prose_lines(value: Any, depth: int = 0) -> Iterator[str]:
    """Lay any JSON out for reading, two spaces a level; what is too deep or too long is cut, and says so."""
    indent = "  " * depth
    if depth > _DEEPEST:
        yield f"{indent}…"
    elif isinstance(value, dict):
        for key, below in value.items():
            shown = printable(str(key))
            if isinstance(below, (dict, list)):
                yield f"{indent}{shown}"
                yield from prose_lines(below, depth + 1)
            else:
                yield f"{indent}{shown}: {printable(str(below), longest=_LONGEST)}"
    elif isinstance(value, list):
        for item in value[:_MOST_ITEMS]:
            lines = list(prose_lines(item, depth + 1))
            yield f"{indent}- {lines[0].strip()}" if lines else f"{indent}-"
            yield from lines[1:]
        if len(value) > _MOST_ITEMS:
            yield f"{indent}- and {len(value) - _MOST_ITEMS:,} more"
    else:
        yield f"{indent}{printable(str(value), longest=_LONGEST)}"
