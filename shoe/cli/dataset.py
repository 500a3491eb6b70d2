"""``shoe dataset``: what a ground truth file holds."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from shoe.benchmarks import DEFAULT

app = typer.Typer(
    help="Look into ground truth files.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

_File = Annotated[
    Path, typer.Argument(help="instances_test2015.json, test_hico.json, anno_bbox.mat, or a native .npz.")
]
_Dataset = Annotated[str, typer.Option(help="The dataset whose class numbers the file uses.")]
_Split = Annotated[str | None, typer.Option(help="test2015 or train2015, if the file holds both (anno_bbox.mat).")]
_Json = Annotated[str | None, typer.Option("--json", help="Write the numbers as JSON to this file; - is the output.")]

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
_COORDINATES = {
    "continuous": "continuous",
    "pixels_0": "pixel indices from 0",
    "pixels_1": "pixel indices from 1",
}


@app.command()
def info(file: _File, dataset: _Dataset = DEFAULT, split: _Split = None, json: _Json = None) -> None:
    """Print what a ground truth file holds, and whether that is what was published.

    Example: shoe dataset info instances_test2015.json. Counts images, triplets, box pairs, classes and likely
    duplicates. The JSON has the keys file, format, dataset, split, images, empty_images, triplets, classes,
    rare_classes, non_rare_classes, no_interaction_triplets, pairs {drawn, merged, merged_at}, repeated_triplets,
    overlapping_triplets, coordinates, and where they apply left_out_images and published
    {split, source, matches, differs}.
    """
    from shoe.benchmarks import read_ground_truth
    from shoe.benchmarks.summary import summary

    facts = summary(read_ground_truth(file, dataset, split=split))
    if _write_json({"file": str(file), **facts}, json):
        return
    rows = [(title, _shown(facts[key])) for key, title in _TITLES.items() if key in facts]
    pairs = facts["pairs"]
    rows += [
        ("box pairs as drawn", _shown(pairs["drawn"])),
        (f"  merged where both boxes overlap by {pairs['merged_at']}", _shown(pairs["merged"])),
    ]
    rows += [("boxes", f"{_COORDINATES[kind]} ({_shown(images)} images)") for kind, images in facts["coordinates"].items()]
    if "published" in facts:
        rows += _published(facts["published"])
    _print_table(["", ""], rows, title=str(file))


@app.command()
def stats(file: _File, dataset: _Dataset = DEFAULT, split: _Split = None, json: _Json = None) -> None:
    """Print how many triplets and images each object, verb and class has, the most frequent first.

    Example: shoe dataset stats instances_test2015.json --json counts.json. The JSON has the lists classes, verbs and
    objects of {name, triplets, images}; classes also say rare.
    """
    from shoe.benchmarks import read_ground_truth
    from shoe.benchmarks.summary import statistics

    counts = statistics(read_ground_truth(file, dataset, split=split))
    if _write_json({"file": str(file), **counts}, json):
        return
    for kind in ("objects", "verbs", "classes"):
        rows = [
            (row["name"], _shown(row["triplets"]), _shown(row["images"]), "rare" if row.get("rare") else "")
            for row in counts[kind]
        ]
        last = [""] if kind == "classes" else []
        header = [kind, "triplets", "images", *last]
        _print_table(header, [row[: len(header)] for row in rows])


def _published(published: Mapping[str, Any]) -> list[tuple[str, str]]:
    verdict = "matches" if published["matches"] else "differs"
    differs = [
        (f"  {_TITLES[name].strip()}", f"{_shown(pair['found'])}, published {_shown(pair['published'])}")
        for name, pair in published["differs"].items()
    ]
    return [(f"published counts of {published['split']}", verdict), *differs, ("  source", published["source"])]


def _shown(value: int | str) -> str:
    return f"{value:,}" if isinstance(value, int) else value


def _write_json(content: Mapping[str, Any], target: str | None) -> bool:
    """Write JSON where it is wanted; True if that takes up the output."""
    from shoe.cli.output import write_json
    from shoe.io.json import encode

    if target is not None:
        write_json(encode(content, readable=True), target)
    return target == "-"


def _print_table(header: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from shoe.core.errors import printable

    console = Console()
    if not console.is_terminal:
        console = Console(width=10_000)  # a pipe has no width, and cut columns are of no use to who reads it
    if title:
        console.print(Text(printable(title, longest=1000)))
    table = Table(box=box.SIMPLE, show_header=any(header))
    for name in header:
        table.add_column(name, justify="right" if name in ("triplets", "images") else "left")
    for row in rows:
        table.add_row(*(Text(printable(cell, longest=1000)) for cell in row))
    console.print(table)
