"""``shoe dataset split``: new splits of a data set."""

from pathlib import Path
from typing import Annotated

import typer

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
    from shoe.benchmarks.systematic import Rules
    from shoe.benchmarks.systematic_files import CARD, FORMATS, PARTS, split_files
    from shoe.cli.output import put_json, refuse_overwrite, telling
    from shoe.core.errors import OptionError, unknown_name
    from shoe.predictions.truth import read_ground_truth
    from shoe.report.split import print_split
    from shoe.report.terminal import console
    from shoe.scoring.class_similarity import class_similarity
    from shoe.similarity import load_similarity

    if kind not in KINDS:
        raise unknown_name("kind", kind, KINDS)
    if format not in FORMATS:
        raise unknown_name("format", format, FORMATS)
    of = benchmark(dataset)
    rules = Rules(ratio, verify, draw, mixed, empty, min_similarity, max_similarity, tries)
    if out.exists() and not out.is_dir():
        raise OptionError(f"--out: found the file {out}, expected a folder")
    given = {"train": train} | ({"test": test} if test is not None else {})
    made = [out / CARD, *(out / f"{part}{FORMATS[format]}" for part in PARTS)] if out.is_dir() else []
    refuse_overwrite(given.values(), *made, json)
    read = {part: (path, read_ground_truth(path, of)) for part, path in given.items()}
    found = load_similarity(similarity or of.similarity)
    similar = f"{found.name} {found.digest}", class_similarity(of.classes, found)
    with telling() as tell:
        tell(f"splitting {of.name}")
        card = split_files(read, rules, seed, out, format, similar)
    if not put_json(card, json):
        print_split(str(out), card, console())
