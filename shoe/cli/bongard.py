"""``shoe bongard``: build, answer and show Bongard problems of interactions."""

from pathlib import Path
from typing import Annotated, cast

from typer import Argument, Option

from shoe.benchmarks import DEFAULT, benchmark
from shoe.cli import options
from shoe.cli.output import check_folder, put_report, refuse_overwrite
from shoe.core.errors import OptionError, quote, unknown_name

_Dataset = Annotated[str, Option(help="Dataset that defines the classes and image names.")]


def build(
    ground_truth: Annotated[Path, Argument(help="Annotation file of the dataset.")],
    out: Annotated[Path, Option(help="Folder for the problem files, one per group.")],
    dataset: _Dataset = DEFAULT,
    split: Annotated[
        str | None,
        Option(help="Split of the images to use, or class split: its seen classes become the training concepts."),
    ] = None,
    similarity: options.Similarity = "dataset",
    name: Annotated[str | None, Option(help="Prefix of file names. Default: names of class table and split.")] = None,
    images: Annotated[str, Option(help="Folder path to put before the image names in the problem files.")] = "",
    seen: Annotated[
        list[Path] | None,
        Option(help="Problem file of a training set, whose actions and objects count as seen. May be repeated."),
    ] = None,
    hold_out: Annotated[
        float, Option(min=0.0, max=1.0, help="Fraction of the actions, and of the objects, not used for training.")
    ] = 0.0,
    train: Annotated[
        bool, Option("--train", help="Build training problems: from seen concepts only, with --overlap 3.")
    ] = False,
    seed: Annotated[int, Option(min=0, max=2**20, help="Random seed of hold-out and sampling.")] = 0,
    overlap: Annotated[
        int | None,
        Option(min=1, help="Reject a problem that shares this many images with another. Default: 2, or 3 for --train."),
    ] = None,
    most: Annotated[int, Option(min=1, help="Maximum number of problems per concept.")] = 100,
    rejections: Annotated[
        int, Option(min=1, help="Stop sampling problems of a concept after this many rejections in a row.")
    ] = 100,
    merge_at: Annotated[
        float, Option(min=0.0, help="Merge two actions on an object if their similarity is at least this value.")
    ] = 0.6,
    part_share: Annotated[
        float,
        Option(
            min=0.0, help="Fraction of the regions of concept A that must show concept B for B to count as a part of A."
        ),
    ] = 0.5,
    smallest: Annotated[float, Option(min=0.0, help="Minimum area of a box, in square pixels.")] = 32 * 32,
    json: options.Json = None,
) -> None:
    """Build problems from an annotated dataset: select concepts, divide them into seen and unseen, sample problems.

    Positive images share an action and an object. Negative images show the same object with another action, and do not
    show the concept anywhere. Prints how many regions each selection step keeps, and the number of problems per group.

    Example: shoe bongard build instances_test2015.json --out problems --hold-out 0.2
    """
    from shoe.benchmarks.classes import SEEN
    from shoe.predictions.truth import read_ground_truth
    from shoe.report.bongard import print_built
    from shoe.scoring.bongard import build as building
    from shoe.scoring.bongard.problems import GROUPS, read_problems, write_problems
    from shoe.similarity import similarity_for

    refuse_overwrite((ground_truth, *(seen or ())), json)
    truth = read_ground_truth(ground_truth, dataset, split=split)
    prefix = name or f"{truth.classes.name}_{truth.split.replace('/', '_')}"
    if Path(prefix).name != prefix:
        raise OptionError(f"--name: found {quote(prefix)}, expected a name without folders (--out sets the folder)")
    if out.is_dir():
        refuse_overwrite((ground_truth, *(seen or ())), *(out / f"{prefix}_{group}.json" for group in GROUPS))
    ways = [building.Seen.in_problems(read_problems(*seen))] if seen else []
    if hold_out:
        ways.append(building.Seen.holding_out(truth.classes, hold_out, seed))
    if SEEN in truth.class_parts and (split in truth.benchmark.class_splits or not ways):
        ways.append(building.Seen.in_classes(truth.classes, truth.class_parts[SEEN]))
    if len(ways) > 1:
        raise OptionError("--seen, --hold-out and a class --split are mutually exclusive: give only one")
    chosen = similarity_for(truth.benchmark, similarity, "mean")
    curation = building.Curation(merge_at=merge_at, part_share=part_share, smallest=smallest)
    limit = overlap or (building.TRAIN_OVERLAP if train else building.TEST_OVERLAP)
    sampling = building.Sampling(seed=seed, overlap=limit, most=most, rejections=rejections)
    way = ways[0] if ways else None
    built = building.build_problems(truth, chosen, curation, sampling, way, "train" if train else "test")
    files = [str(path) for path in write_problems(built.problems, out, prefix, images)]
    put_report(building.BongardBuild.from_built(built, files), json, lambda to: print_built(built, files, to))


def score(
    predictions: Annotated[Path, Argument(help="Prediction file for the uncropped images, any format.")],
    problems: options.Problems,
    dataset: Annotated[str, Option(help="Dataset that defines the class IDs and image names.")] = DEFAULT,
    similarity: options.Similarity = "dataset",
    region: Annotated[
        str, Option(help="Predictions to use: those in the crop of the problem (crop), or all (image).")
    ] = "crop",
    top: Annotated[
        int, Option(min=1, help="Number of predictions to use per image, highest scores first; ties are included.")
    ] = 10,
    min_score: Annotated[float, Option(help="Minimum score of the predictions to use.")] = 0.0,
    votes: Annotated[str, Option(help="What counts as one vote of the oracle: an 'image' or a 'detection'.")] = "image",
    images_in_predictions: Annotated[
        bool, Option("--images-in-predictions", help="Skip problems with images that do not occur in PREDICTIONS.")
    ] = False,
    format: options.Format = None,
    boxes: options.Boxes = None,
    json: options.Json = None,
) -> None:
    """Answer problems with predictions: the concept is the interaction of most positive and of no negative images.

    Two methods answer: the oracle of the paper, and a soft oracle, for which interactions of similar meaning count in
    part. Images are matched by name. The accuracy is given per group, with 95 % intervals from resampled concepts; the
    average is the unweighted mean over the groups.

    Example: shoe bongard score predictions.json val_clean_*.json.gz
    """
    from shoe.predictions import read_predictions
    from shoe.report.bongard import print_score
    from shoe.scoring.bongard.problems import read_problems
    from shoe.scoring.bongard.score import REGIONS, VOTES, BongardScore, Counting, Region, Votes, score_problems
    from shoe.similarity import similarity_for

    for what, given, known in (("region", region, REGIONS), ("votes", votes, VOTES)):
        if given not in known:
            raise unknown_name(what, given, known)
    refuse_overwrite((predictions, *problems), json)
    data = benchmark(dataset)
    table, read = read_predictions(predictions, format=format, boxes=boxes, dataset=data), read_problems(*problems)
    chosen = similarity_for(data, similarity, "mean")
    counting = Counting(region=cast(Region, region), top=top, min_score=min_score)
    unit = cast(Votes, votes)
    report = score_problems(table, read, data.classes, chosen, counting, unit, images_in_predictions)
    put_report(BongardScore.from_report(report), json, lambda to: print_score(report, to))


def show(
    problems: options.Problems,
    html: Annotated[Path, Option(help="HTML file to write.")],
    images: Annotated[Path | None, Option(help="Folder with the images. Without it, crops are blank.")] = None,
    count: Annotated[int, Option(min=1, help="Number of problems to sample per group.")] = 5,
    seed: Annotated[int, Option(min=0, max=2**20, help="Random seed of the sample.")] = 0,
) -> None:
    """Write an HTML page with sampled problems and their boxes. The page works offline.

    Example: shoe bongard show problems/*.json --html problems.html --images images/test2015
    """
    from shoe.report.bongard import print_counts, problem_page
    from shoe.report.page.rendering import write_document
    from shoe.report.text import console
    from shoe.scoring.bongard.problems import read_problems

    refuse_overwrite(problems, html)
    check_folder(images, "a folder with images")
    read = read_problems(*problems)
    write_document(html, problem_page(read, images, count, seed))
    print_counts(read, console())
    print(f"written    {html}")


app = options.group(
    "Bongard problems: six images show a concept (an action on an object), six show the object with another action. "
    "Does a query image show the concept?",
    *(build, score, show),
)
