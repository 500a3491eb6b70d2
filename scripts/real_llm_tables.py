"""What `scripts/real-llm` prints: the work of each rater, and how far it agrees with the shipped ratings."""

import sys
from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
import rating_sample
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table

from shoe.core.arrays import Floats
from shoe.core.statistics import pearson, spearman
from shoe.lexicon.senses import Part
from shoe.llm.ledger import State, States
from shoe.llm.recorder import Tally
from shoe.maps.config import RaterConfig
from shoe.maps.job import Outcome
from shoe.report.maps import failure_lines
from shoe.similarity.ensemble import HIGHEST

Number = TypeVar("Number", bound=np.generic)
PARTS: tuple[Part, ...] = ("verb", "object")


def show_work(work: Sequence[tuple[RaterConfig, Outcome, float]]) -> None:
    """Print what each rater did in this run."""
    table = made("rater", "kind", right=("answers", "seconds", "s/pair", "requests", "failures", "tokens in", "out"))
    for config, outcome, seconds in work:
        (tally,) = outcome.tallies
        table.add_row(config.name, config.kind, *work_cells(tally, seconds))
        for line in failure_lines(outcome):
            print(line)
    print("\nwork of this run (raters one after the other; seconds include loading; answers of earlier runs are kept)")
    show(table)


def work_cells(tally: Tally, seconds: float) -> list[str]:
    """Figures of one rater's work."""
    per_pair = f"{seconds / tally.done:.3f}" if tally.done else ""
    counts = (tally.requests, tally.failures.total(), tally.input_tokens, tally.output_tokens)
    return [f"{tally.done:,}", f"{seconds:.1f}", per_pair, *(f"{count:,}" for count in counts)]


def show_agreement(columns: dict[str, dict[Part, States]], means: dict[Part, Floats]) -> None:
    """Print how far each rater agrees with the shipped ratings."""
    table = made("rater", "part", right=("pairs", "no rating", "exact", "kappa", "Pearson", "Spearman"))
    for name, states in columns.items():
        parts = [(str(part), states[part], means[part]) for part in PARTS]
        parts.append(("both", joined(states), joined(means)))
        for part, given, theirs in parts:
            found = rating_sample.agreement(given, theirs)
            missing = f"{1 - found.rated / found.asked:.1%}"
            figures = (found.kappa, found.pearson, found.spearman)
            exact = "" if found.exact is None else f"{found.exact:.1%}"
            cells = ["" if figure is None else f"{figure:.3f}" for figure in figures]
            table.add_row(name, part, f"{found.asked:,}", missing, exact, *cells)
    print("agreement with the shipped ratings (kappa: quadratic weighted)")
    show(table)


def show_confusion(name: str, states: dict[Part, States], means: dict[Part, Floats]) -> None:
    """Print what a rater gave, by the shipped rating."""
    given = [*map(str, range(HIGHEST + 1)), *(state.name.lower() for state in (State.REFUSED, State.UNPARSABLE))]
    table = made("shipped", right=(*given, "no answer"))
    counts = rating_sample.confusion(joined(states), joined(means))
    for rating, row in enumerate(counts):
        table.add_row(str(rating), *map(str, row))
    print(f"what {name} gave, by the shipped rating")
    show(table)


def show_unrounded(values: Mapping[Part, Floats], means: Mapping[Part, Floats]) -> None:
    """Print what the local model's mean ratings say before rounding makes whole numbers of them."""
    print("local, mean of the probabilities before it is rounded (a map holds whole ratings)")
    table = made("part", right=("lowest", "mean", "highest", "Pearson", "Spearman"))
    parts = [(str(part), values[part], means[part]) for part in PARTS]
    for part, ours, theirs in [*parts, ("both", joined(values), joined(means))]:
        figures = (ours.min(), ours.mean(), ours.max(), pearson(ours, theirs), spearman(ours, theirs))
        table.add_row(part, *("" if figure is None else f"{figure:.3f}" for figure in figures))
    show(table)


def joined(of_parts: Mapping[Part, NDArray[Number]]) -> NDArray[Number]:
    """Both parts' values, verbs first."""
    return np.concatenate([of_parts[part] for part in PARTS])


def made(*left: str, right: Sequence[str]) -> Table:
    """An empty table."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in left:
        table.add_column(column)
    for column in right:
        table.add_column(column, justify="right")
    return table


def show(table: Table) -> None:
    """Print a table, as wide as it needs where nobody watches."""
    Console(highlight=False, width=None if sys.stdout.isatty() else 120).print(table)
