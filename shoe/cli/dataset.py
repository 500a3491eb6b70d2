"""``shoe dataset``: what ground truth files hold, and new splits of them."""

from pathlib import Path
from typing import Annotated

import typer

from shoe.benchmarks import DEFAULT
from shoe.cli.output import put_json
from shoe.cli.split import split

app = typer.Typer(
    help="Look into ground truth files, and split them.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.command()(split)

_File = Annotated[
    Path, typer.Argument(help="instances_test2015.json, test_hico.json, anno_bbox.mat, or a native .npz.")
]
_Dataset = Annotated[str, typer.Option(help="The dataset whose class numbers the file uses.")]
_Part = Annotated[str | None, typer.Option(help="test2015 or train2015, if the file holds both (anno_bbox.mat).")]
_Json = Annotated[str | None, typer.Option("--json", help="Write the numbers as JSON to this file; - is the output.")]


@app.command()
def info(file: _File, dataset: _Dataset = DEFAULT, split: _Part = None, json: _Json = None) -> None:
    """Print what a ground truth file holds, and whether that is what was published.

    Example: shoe dataset info instances_test2015.json. Counts images, triplets, box pairs, classes and likely
    duplicates. The JSON has the keys file, format, dataset, split, images, empty_images, triplets, classes,
    rare_classes, non_rare_classes, no_interaction_triplets, pairs {drawn, merged, merged_at}, repeated_triplets,
    overlapping_triplets, coordinates, and where they apply left_out_images, rare_recounted {classes, as_listed} and
    published {split, source, matches, differs}.
    """
    from shoe.benchmarks.summary import summary
    from shoe.predictions.truth import read_ground_truth
    from shoe.report.dataset import print_summary
    from shoe.report.terminal import console

    facts = summary(read_ground_truth(file, dataset, split=split))
    if not put_json({"file": str(file), **facts}, json):
        print_summary(str(file), facts, console())


@app.command()
def stats(file: _File, dataset: _Dataset = DEFAULT, split: _Part = None, json: _Json = None) -> None:
    """Print how many triplets and images each object, verb and class has, the most frequent first.

    Example: shoe dataset stats instances_test2015.json --json counts.json. The JSON has the lists classes, verbs and
    objects of {name, triplets, images}; classes also say rare.
    """
    from shoe.benchmarks.summary import statistics
    from shoe.predictions.truth import read_ground_truth
    from shoe.report.dataset import print_statistics
    from shoe.report.terminal import console

    counts = statistics(read_ground_truth(file, dataset, split=split))
    if not put_json({"file": str(file), **counts}, json):
        print_statistics(counts, console())
