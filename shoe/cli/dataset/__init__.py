"""``shoe dataset``: commands about datasets and their files."""

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
    from shoe.benchmarks.summary import dataset_list
    from shoe.report.datasets import print_list
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
    from shoe.benchmarks.summary import cards, dataset_card
    from shoe.core.errors import unknown_name
    from shoe.report.terminal import console

    if not Path(what).is_file() and what in cards():
        from shoe.report.datasets import print_card

        card = dataset_card(what)
        if not put_json(card, json):
            print_card(card, console())
    elif not Path(what).is_file() and what in benchmark(dataset).class_splits:
        from shoe.report.datasets import class_split_info, print_class_split

        described = class_split_info(benchmark(dataset), what)
        if not put_json(described, json):
            print_class_split(described, console())
    else:
        if not Path(what).exists() and not Path(what).suffix:
            raise unknown_name(
                "dataset, split of its classes or file", what, [*cards(), *benchmark(dataset).class_splits]
            )
        from shoe.benchmarks.summary import summary
        from shoe.predictions.truth import read_ground_truth
        from shoe.report.datasets import print_summary

        found = summary(what, read_ground_truth(what, dataset, split=split))
        if not put_json(found, json):
            print_summary(found, console())


def stats(file: _File, dataset: _Dataset = DEFAULT, split: _Split = None, json: options.Json = None) -> None:
    """Print how many triplets and images each object, verb and class has, the most frequent first.

    Example: shoe dataset stats instances_test2015.json --json counts.json.
    """
    from shoe.benchmarks.summary import statistics
    from shoe.predictions.truth import read_ground_truth
    from shoe.report.datasets import print_statistics
    from shoe.report.terminal import console

    counts = statistics(str(file), read_ground_truth(file, dataset, split=split))
    if not put_json(counts, json):
        print_statistics(counts, console())


def check(
    folder: Annotated[Path, typer.Argument(help="The folder that holds a dataset's files.")],
    dataset: Annotated[list[str] | None, typer.Option(help="Whose files are wanted; again for more.")] = None,
    json: options.Json = None,
) -> None:
    """Say what a folder has, what is missing, where to get that, and what can be scored with what is there.

    Every file is opened and held to what was published: names decide nothing.

    Example: shoe dataset check ~/data/hico
    """
    from shoe.benchmarks import benchmark
    from shoe.predictions.inventory import inventory
    from shoe.report.datasets import dataset_check, print_inventory
    from shoe.report.terminal import console

    wanted = [benchmark(name) for name in dataset or ()]
    found = inventory(folder)
    wanted = wanted or [benchmark(name) for name in found.datasets]
    checked = dataset_check(str(folder), found, wanted)
    if not put_json(checked, json):
        print_inventory(checked, [each.name for each in wanted], console())


KINDS = ("systematic",)


def split(
    dataset: Annotated[str, typer.Argument(help="Whose annotations the files are: hico-det, v-coco.")],
    train: Annotated[Path, typer.Option(help="Annotation file of the training images.")],
    out: Annotated[Path, typer.Option(help="Folder for train, test and split.json.")],
    test: Annotated[Path | None, typer.Option(help="Annotation file of the test images.")] = None,
    kind: Annotated[str, typer.Option(help="What test must show that training lacks: systematic.")] = "systematic",
    seed: Annotated[int, typer.Option(min=0, max=2**31, help="The first that is tried.")] = 0,
    ratio: Annotated[float, typer.Option(help="Share of the combinations that is for training.")] = 0.9,
    verify: Annotated[
        str,
        typer.Option(
            help="What objects and verbs keep in training: possible (several of each other, or their only one), paper "
            "(several), released (one, as drawn)."
        ),
    ] = "possible",
    draw: Annotated[
        str,
        typer.Option(help="skip: pass over combinations that cannot be spared. uniform: take the next seed instead."),
    ] = "skip",
    mixed: Annotated[
        str,
        typer.Option(help="Images with combinations of both: drop them, or cut them to those of test."),
    ] = "drop",
    empty: Annotated[str, typer.Option(help="Images without triplets: test, or drop.")] = "test",
    min_similarity: Annotated[
        float, typer.Option(help="Least similarity of a test combination to the nearest in training.")
    ] = 0.0,
    max_similarity: Annotated[
        float, typer.Option(help="Most similarity of a test combination to any in training.")
    ] = 1.0,
    similarity: Annotated[
        str | None, typer.Option(help="Similarity map: a shipped name or a folder. Default: the dataset's.")
    ] = None,
    tries: Annotated[int, typer.Option(help="How many seeds to try.")] = 1000,
    format: Annotated[str, typer.Option("--format", help="json (as PPDM and QPIC read it) or native (.npz).")] = "json",
    json: Annotated[
        str | None, typer.Option("--json", help="Write the card as JSON to this file, too; - is the output.")
    ] = None,
) -> None:
    """Split images so that test shows only combinations of object and verb that training lacks.

    By Algorithm 1 of the HICO-DET-SG and V-COCO-SG paper; docs/splits.md says what it leaves open. --draw uniform
    --verify released with seeds 368, 680 and 750 draws what HICO-DET-SG holds out.

    Example: shoe dataset split hico-det --train hico-det-instance-level.tar.gz --test instances_test2015.json
    --seed 1 --out sg
    """
    from shoe.benchmarks import benchmark
    from shoe.benchmarks.systematic import CARD, FORMATS, PARTS, SplitRules, split_files
    from shoe.cli.output import refuse_overwrite, telling
    from shoe.core.errors import OptionError, unknown_name
    from shoe.predictions.truth import read_ground_truth
    from shoe.report.datasets import print_split
    from shoe.report.terminal import console
    from shoe.scoring.hoi_similarity import class_similarity
    from shoe.similarity import load_similarity

    if kind not in KINDS:
        raise unknown_name("kind", kind, KINDS)
    if format not in FORMATS:
        raise unknown_name("format", format, FORMATS)
    data = benchmark(dataset)
    rules = SplitRules(ratio, verify, draw, mixed, empty, min_similarity, max_similarity, tries)
    if out.exists() and not out.is_dir():
        raise OptionError(f"--out: found the file {out}, expected a folder")
    inputs = {"train": train} | ({"test": test} if test is not None else {})
    made = [out / CARD, *(out / f"{part}{FORMATS[format]}" for part in PARTS)] if out.is_dir() else []
    refuse_overwrite(inputs.values(), *made, json)
    read = {part: (path, read_ground_truth(path, data)) for part, path in inputs.items()}
    found = load_similarity(similarity or data.similarity)
    similar = f"{found.name} {found.digest}", class_similarity(data.classes, found)
    with telling() as tell:
        tell(f"splitting {data.name}")
        card = split_files(read, rules, seed, out, format, similar)
    if not put_json(card, json):
        print_split(str(out), card, console())


app = typer.Typer(help="Look into datasets and their files, and split them.")
for _command in (list_, info, stats, check, split):
    app.command(_command.__name__.rstrip("_"))(_command)
