"""``shoe dataset list``, ``info`` and ``stats``: which datasets there are, and what one, or a file of one, holds."""

from pathlib import Path
from typing import Annotated

import typer

from shoe.benchmarks import DEFAULT
from shoe.cli import options
from shoe.cli.output import put_json

_File = Annotated[
    Path, typer.Argument(help="instances_test2015.json, test_hico.json, anno_bbox.mat, or a native .npz.")
]
_Dataset = Annotated[str, typer.Option(help="The dataset whose class numbers the file uses.")]
_Split = Annotated[str | None, typer.Option(help="test2015 or train2015, if the file holds both (anno_bbox.mat).")]


def list_(json: options.Json = None) -> None:
    """List the datasets: what they are, how large, and which splits of their classes there are.

    Example: shoe dataset list. What is no dataset to score predictions on has a title and a licence alone.
    """
    from shoe.benchmarks.cards import dataset_list
    from shoe.report.cards import print_list
    from shoe.report.terminal import console

    found = dataset_list()
    if not put_json(found, json):
        print_list(found.datasets, console())


def info(
    what: Annotated[str, typer.Argument(help="A dataset's name, a split of its classes (rf-uc), or a file of it.")],
    dataset: _Dataset = DEFAULT,
    split: _Split = None,
    json: options.Json = None,
) -> None:
    """Print what a dataset is and where to get it, what a split of classes holds out, or what a file holds.

    Example: shoe dataset info hico-det; shoe dataset info rf-uc; shoe dataset info instances_test2015.json

    Of a dataset: papers, licence, published counts, splits of its classes, files and where to get them.

    Of a split of classes: its parts, verbs and objects that are wholly unseen, and the seen class most similar to each
    unseen one under the dataset's map.

    Of a file: images, triplets, box pairs, classes and likely duplicates, held to what was published.
    """
    from shoe.benchmarks import benchmark
    from shoe.benchmarks.cards import cards, dataset_card
    from shoe.core.errors import unknown_name
    from shoe.report.terminal import console

    if not Path(what).is_file() and what in cards():
        from shoe.report.cards import print_card

        card = dataset_card(what)
        if not put_json(card, json):
            print_card(card, console())
    elif not Path(what).is_file() and what in benchmark(dataset).class_splits:
        from shoe.report.class_splits import class_split_info, print_split

        described = class_split_info(benchmark(dataset), what)
        if not put_json(described, json):
            print_split(described, console())
    else:
        if not Path(what).exists() and not Path(what).suffix:
            raise unknown_name(
                "dataset, split of its classes or file", what, [*cards(), *benchmark(dataset).class_splits]
            )
        from shoe.benchmarks.summary import summary
        from shoe.predictions.truth import read_ground_truth
        from shoe.report.dataset import print_summary

        facts = summary(read_ground_truth(what, dataset, split=split))
        if not put_json({"file": what, **facts}, json):
            print_summary(what, facts, console())


def stats(file: _File, dataset: _Dataset = DEFAULT, split: _Split = None, json: options.Json = None) -> None:
    """Print how many triplets and images each object, verb and class has, the most frequent first.

    Example: shoe dataset stats instances_test2015.json --json counts.json.
    """
    from shoe.benchmarks.summary import statistics
    from shoe.predictions.truth import read_ground_truth
    from shoe.report.dataset import print_statistics
    from shoe.report.terminal import console

    counts = statistics(read_ground_truth(file, dataset, split=split))
    if not put_json({"file": str(file), **counts}, json):
        print_statistics(counts, console())
