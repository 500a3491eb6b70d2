"""What a map's ratings teach about pairs that it does not rate, in the terminal."""

from __future__ import annotations

from rich.table import Table

from shoe.maps.teach import MapLearned
from shoe.report.text import count, fixed, table


def learned_table(found: MapLearned) -> Table:
    """One line for each part of speech and what was held out: how well its ratings were predicted."""
    made = table("predicted", "held out", "pairs", "rho", "kappa (quadratic)", "off by", "bias", names=2)
    for part, of_part in (("verbs", found.verbs), ("objects", found.objects)):
        for what, figures in (("senses", of_part.by_sense), ("classes", of_part.by_class)):
            shown = map(fixed, (figures.rho, figures.kappa, figures.off_by, figures.bias))
            made.add_row(part, what, count(figures.pairs), *shown)
    return made
