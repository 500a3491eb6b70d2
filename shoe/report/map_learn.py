"""What a map's ratings teach about pairs that it does not rate, in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from shoe.report.text import count, fixed, table


def learned_table(found: Mapping[str, Any]) -> Table:
    """One line for each part of speech and what was held out: how well its ratings were predicted."""
    made = table("predicted", "held out", "pairs", "rho", "kappa (quadratic)", "off by", "bias", names=2)
    for part, of_part in found.items():
        for key, what in (("by_sense", "senses"), ("by_class", "classes")):
            figures = of_part[key]
            shown = (fixed(figures[name]) for name in ("rho", "kappa", "off_by", "bias"))
            made.add_row(part, what, count(figures["pairs"]), *shown)
    return made
