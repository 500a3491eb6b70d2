"""What a ground truth holds, in the terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from shoe.core.errors import many
from shoe.report.text import say, words

# Keys of the summary, as they are called in the table.
_TITLES = {
    "format": "format",
    "dataset": "dataset",
    "split": "split",
    "images": "images",
    "empty_images": "  without triplets",
    "left_out_images": "  left out (triplets point to boxes that are missing)",
    "triplets": "triplets",
    "no_interaction_triplets": "  no_interaction",
    "repeated_triplets": "  exact repeats of an earlier one",
    "overlapping_triplets": "  overlapping an earlier one of their class",
    "classes": "classes with triplets",
    "rare_classes": "  rare",
    "non_rare_classes": "  non-rare",
}
_COORDINATES = {"continuous": "continuous", "pixels_0": "pixel indices from 0", "pixels_1": "pixel indices from 1"}
_LONGEST = 1000


def print_summary(title: str, facts: Mapping[str, Any], to: Console) -> None:
    """Print what :func:`shoe.benchmarks.summary.summary` counts."""
    pairs, coordinates = facts["pairs"], facts["coordinates"].items()
    rows = [(name, facts[key]) for key, name in _TITLES.items() if key in facts]
    rows += [
        ("box pairs as drawn", pairs["drawn"]),
        (f"  merged where both boxes overlap by {pairs['merged_at']}", pairs["merged"]),
        *(("boxes", f"{_COORDINATES[kind]} ({many(images, 'image')})") for kind, images in coordinates),
    ]
    if recounted := facts.get("rare_recounted"):
        verdict = "the class table's" if recounted["as_listed"] else "others than the class table's"
        rows.append(("rare by these triplets (fewer than 10)", f"{recounted['classes']}, {verdict}"))
    if published := facts.get("published"):
        verdict = "matches" if published["matches"] else "differs"
        rows.append((f"published counts of {published['split']}", verdict))
        for name, pair in published["differs"].items():
            rows.append((f"  {_TITLES[name].strip()}", f"{pair['found']:,}, published {pair['published']:,}"))
        rows.append(("  source", published["source"]))
    say(to, title)
    _print_table(["", ""], rows, to)


def print_statistics(counts: Mapping[str, Sequence[Mapping[str, Any]]], to: Console) -> None:
    """Print what :func:`shoe.benchmarks.summary.statistics` counts, a table each of objects, verbs and classes."""
    for kind in ("objects", "verbs", "classes"):
        header = [kind, "triplets", "images", *([""] if kind == "classes" else [])]
        rows = [(r["name"], r["triplets"], r["images"], "rare" if r.get("rare") else "") for r in counts[kind]]
        _print_table(header, [row[: len(header)] for row in rows], to)


def _print_table(header: Sequence[str], rows: Sequence[Sequence[str | int]], to: Console) -> None:
    table = Table(box=box.SIMPLE, show_header=any(header))
    for name in header:
        table.add_column(name, justify="right" if name in ("triplets", "images") else "left")
    for row in rows:
        table.add_row(*(words(f"{cell:,}" if isinstance(cell, int) else cell, _LONGEST) for cell in row))
    to.print(table)
