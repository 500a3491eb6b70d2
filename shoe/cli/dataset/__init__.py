"""``shoe dataset``: describe, check and split datasets and their files."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from shoe.benchmarks import DEFAULT, benchmark
from shoe.cli import options
from shoe.cli.output import put_report, refuse_overwrite, show_progress
from shoe.core.errors import OptionError, unknown_name

_File = Annotated[
    Path, Argument(help="Annotation file: instances_test2015.json, test_hico.json, anno_bbox.mat, or a native .npz.")
]
_Dataset = Annotated[str, Option(help="Dataset that defines the class IDs of the file.")]


def list_(json: options.Json = None) -> None:
    """List the datasets with their size and class splits. Datasets that shoe cannot score have no sizes.

    Example: shoe dataset list
    """
    from shoe.benchmarks.summary import dataset_list
    from shoe.report.datasets import print_list

    found = dataset_list()
    put_report(found, json, lambda to: print_list(found.datasets, to))


def info(
    what: Annotated[str, Argument(help="Name of a dataset or class split (rf-uc), or path of an annotation file.")],
    dataset: _Dataset = DEFAULT,
    split: options.ImageSplit = None,
    json: options.Json = None,
) -> None:
    """Describe a dataset, a class split, or an annotation file.

    Example: shoe dataset info hico-det; shoe dataset info rf-uc; shoe dataset info instances_test2015.json

    For a dataset: papers, licence, published counts, class splits, files and download addresses.

    For a class split: its parts, the verbs and objects without any seen class, and the seen class most similar to each
    unseen class under the similarity map of the dataset.

    For a file: numbers of images, triplets, box pairs, classes and likely duplicates, compared with published numbers.
    """
    from shoe.benchmarks.summary import cards, dataset_card

    if not Path(what).is_file() and what in cards():
        from shoe.report.datasets import print_card

        card = dataset_card(what)
        put_report(card, json, lambda to: print_card(card, to))
    elif not Path(what).is_file() and what in benchmark(dataset).class_splits:
        from shoe.report.datasets import class_split_info, print_class_split

        described = class_split_info(benchmark(dataset), what)
        put_report(described, json, lambda to: print_class_split(described, to))
    else:
        if not Path(what).exists() and not Path(what).suffix:
            raise unknown_name("dataset, class split or file", what, [*cards(), *benchmark(dataset).class_splits])
        from shoe.benchmarks.summary import summary
        from shoe.predictions.truth import read_ground_truth
        from shoe.report.datasets import print_summary

        found = summary(what, read_ground_truth(what, dataset, split=split))
        put_report(found, json, lambda to: print_summary(found, to))


def stats(
    file: _File, dataset: _Dataset = DEFAULT, split: options.ImageSplit = None, json: options.Json = None
) -> None:
    """Print the numbers of triplets and images of each object, verb and class, the most frequent first.

    Example: shoe dataset stats instances_test2015.json --json counts.json
    """
    from shoe.benchmarks.summary import statistics
    from shoe.predictions.truth import read_ground_truth
    from shoe.report.datasets import print_statistics

    counts = statistics(str(file), read_ground_truth(file, dataset, split=split))
    put_report(counts, json, lambda to: print_statistics(counts, to))


def check(
    folder: Annotated[Path, Argument(help="Folder with the files of a dataset.")],
    dataset: Annotated[
        list[str] | None, Option(help="Dataset to check for. May be repeated. Default: all datasets found in FOLDER.")
    ] = None,
    json: options.Json = None,
) -> None:
    """List the files in a folder, the missing files with download addresses, and what can be scored.

    Files are identified by their content, not by their names, and compared with published numbers.

    Example: shoe dataset check ~/data/hico
    """
    from shoe.predictions.inventory import inventory
    from shoe.report.datasets import dataset_check, print_inventory

    wanted, found = [benchmark(name) for name in dataset or ()], inventory(folder)
    wanted = wanted or [benchmark(name) for name in found.datasets]
    checked = dataset_check(str(folder), found, wanted)
    put_report(checked, json, lambda to: print_inventory(checked, [each.name for each in wanted], to))


def split(
    dataset: Annotated[str, Argument(help="Dataset of the annotation files: hico-det or v-coco.")],
    train: Annotated[Path, Option(help="Annotation file of the training images.")],
    out: Annotated[Path, Option(help="Folder for the training set, the test set and split.json.")],
    test: Annotated[Path | None, Option(help="Annotation file of the test images.")] = None,
    kind: Annotated[str, Option(help="Kind of split; only 'systematic' is supported.")] = "systematic",
    seed: Annotated[int, Option(min=0, max=2**31, help="First random seed to try.")] = 0,
    ratio: Annotated[float, Option(help="Fraction of object-verb combinations for training, 0 to 1.")] = 0.9,
    verify: Annotated[
        str,
        Option(
            help="Minimum training combinations per object and verb: 'possible' (2, or 1 if only 1 exists), "
            "'paper' (2), 'released' (1, as in the released splits)."
        ),
    ] = "possible",
    draw: Annotated[
        str,
        Option(help="If a sampled combination must stay in training: skip it (skip), or try the next seed (uniform)."),
    ] = "skip",
    mixed: Annotated[
        str, Option(help="Images with both training and test combinations: drop, or cut (to their test triplets).")
    ] = "drop",
    empty: Annotated[str, Option(help="Images without triplets: test (add to test) or drop.")] = "test",
    min_similarity: Annotated[
        float, Option(help="Minimum similarity of a test combination to the most similar training combination.")
    ] = 0.0,
    max_similarity: Annotated[
        float, Option(help="Maximum similarity of a test combination to the most similar training combination.")
    ] = 1.0,
    similarity: Annotated[str | None, Option(help="Similarity map: name or folder. Default: dataset's map.")] = None,
    tries: Annotated[int, Option(help="Maximum number of seeds to try.")] = 1000,
    format: Annotated[str, Option("--format", help="Output format: json (PPDM, QPIC) or native (.npz).")] = "json",
    json: options.Json = None,
) -> None:
    """Split images so that the test part contains only combinations of object and verb that training does not show.

    Implements Algorithm 1 of the HICO-DET-SG and V-COCO-SG paper; docs/splits.md lists ambiguities of the paper.
    --draw uniform --verify released with seeds 368, 680 and 750 reproduces the held-out classes of HICO-DET-SG.

    Example: shoe dataset split hico-det --train hico-det-instance-level.tar.gz --test instances_test2015.json
    --seed 1 --out sg
    """
    from shoe.benchmarks.systematic import CARD, FORMATS, PARTS, SplitRules, split_files
    from shoe.predictions.truth import read_ground_truth
    from shoe.report.datasets import print_split
    from shoe.scoring.hoi_similarity import class_similarity
    from shoe.similarity import load_similarity

    if kind != "systematic":
        raise unknown_name("kind", kind, ["systematic"])
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
    with show_progress() as progress:
        progress(f"splitting {data.name}")
        card = split_files(read, rules, seed, out, format, similar)
    put_report(card, json, lambda to: print_split(str(out), card, to))


app = options.group("Describe, check and split datasets and their files.", list_, info, stats, check, split)
