"""``shoe bongard``: problems of interactions, made, scored and shown."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoe.benchmarks import DEFAULT
from shoe.cli import options
from shoe.cli.output import check_folder, put_json, refuse_overwrite

app = typer.Typer(
    help="Bongard problems: six pictures show a concept, six show its object otherwise; does a query show it?",
)

_Dataset = Annotated[str, typer.Option(help="Whose classes and image names the file has.")]
_Similarity = Annotated[str, typer.Option(help="Similarity map: a shipped name or a folder; dataset: its own.")]


@app.command()
def build(
    ground_truth: Annotated[Path, typer.Argument(help="Annotation file of the dataset.")],
    out: Annotated[Path, typer.Option(help="Folder to write to, a file for each group.")],
    dataset: _Dataset = DEFAULT,
    split: Annotated[
        str | None, typer.Option(help="A split of images or of classes; of the latter, training shows the seen ones.")
    ] = None,
    similarity: _Similarity = "dataset",
    name: Annotated[str | None, typer.Option(help="How file names begin; by default, the ground truth's name.")] = None,
    images: Annotated[str, typer.Option(help="Folder to write before the names of images.")] = "",
    seen: Annotated[
        list[Path] | None, typer.Option(help="Problem file of a training set, whose actions and objects are seen.")
    ] = None,
    hold_out: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of actions, and of objects, that training does not see.")
    ] = 0.0,
    train: Annotated[
        bool, typer.Option("--train", help="Make training problems: seen concepts only, overlap limit 3.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, max=2**20, help="Of what is held out and of the sampling.")] = 0,
    overlap: Annotated[
        int | None, typer.Option(min=1, help="Images in common that reject a problem; 2, in training 3.")
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="Problems of a concept at most.")] = 100,
    rejections: Annotated[int, typer.Option(min=1, help="Rejections in a row that end a concept.")] = 100,
    merge_at: Annotated[
        float, typer.Option(min=0.0, help="Similarity from which two actions of an object are one; above 1: never.")
    ] = 0.6,
    part_share: Annotated[
        float, typer.Option(min=0.0, help="Share of a concept's regions that show another one, which then is its part.")
    ] = 0.5,
    smallest: Annotated[float, typer.Option(min=0.0, help="Least area of a box, in square pixels.")] = 32 * 32,
    json: options.Json = None,
) -> None:
    """Make problems of an annotated dataset: curate, group by what training shows, sample.

    Positives share an action and an object; negatives show the same object with another action, in images that show the
    concept nowhere. Prints what each step of the curation left, and the problems by group.

    Example: shoe bongard build instances_test2015.json --out problems --hold-out 0.2
    """
    from shoe.benchmarks.classes import SEEN
    from shoe.core.errors import OptionError, quote
    from shoe.predictions.truth import read_ground_truth
    from shoe.report.bongard import print_built
    from shoe.report.terminal import console
    from shoe.scoring.bongard.build import (
        TEST_OVERLAP,
        TRAIN_OVERLAP,
        BongardBuild,
        Curation,
        Sampling,
        Seen,
        build_problems,
    )
    from shoe.scoring.bongard.problems import GROUPS, read_problems, write_problems
    from shoe.similarity import similarity_for

    refuse_overwrite((ground_truth, *(seen or ())), json)
    truth = read_ground_truth(ground_truth, dataset, split=split)
    begins = name or f"{truth.classes.name}_{truth.split.replace('/', '_')}"
    if Path(begins).name != begins:
        raise OptionError(f"--name: found {quote(begins)}, expected a name without folders; --out is the folder")
    if out.is_dir():
        refuse_overwrite((ground_truth, *(seen or ())), *(out / f"{begins}_{group}.json" for group in GROUPS))
    ways = [Seen.in_problems(read_problems(*seen))] if seen else []
    if hold_out:
        ways.append(Seen.holding_out(truth.classes, hold_out, seed))
    if SEEN in truth.class_parts and (split in truth.benchmark.class_splits or not ways):
        ways.append(Seen.in_classes(truth.classes, truth.class_parts[SEEN]))
    if len(ways) > 1:
        raise OptionError("--seen, --hold-out, --split of classes: found several, expected one that says what is seen")
    built = build_problems(
        truth,
        similarity_for(truth.benchmark, similarity, "mean"),
        Curation(merge_at=merge_at, part_share=part_share, smallest=smallest),
        Sampling(
            seed=seed,
            overlap=overlap or (TRAIN_OVERLAP if train else TEST_OVERLAP),
            most=most,
            rejections=rejections,
        ),
        ways[0] if ways else None,
        "train" if train else "test",
    )
    files = [str(path) for path in write_problems(built.problems, out, begins, images)]
    if not put_json(BongardBuild.from_built(built, files), json):
        print_built(built, files, console())


@app.command()
def score(
    predictions: Annotated[Path, typer.Argument(help="Prediction file for whole images, in any format.")],
    problems: options.Problems,
    dataset: Annotated[str, typer.Option(help="Whose class numbers and image names the predictions have.")] = DEFAULT,
    similarity: _Similarity = "dataset",
    region: Annotated[str, typer.Option(help="Predictions that count: crop, those in it; image, all.")] = "crop",
    top: Annotated[int, typer.Option(min=1, help="The best so many of a picture count, and ties of the last.")] = 10,
    min_score: Annotated[float, typer.Option(help="Only predictions with at least this score count.")] = 0.0,
    votes: Annotated[str, typer.Option(help="Who votes: image or detection.")] = "image",
    images_in_predictions: Annotated[
        bool,
        typer.Option(
            "--images-in-predictions", help="Leave out problems of which PREDICTIONS does not name all images."
        ),
    ] = False,
    format: options.Format = None,
    boxes: options.Boxes = None,
    json: options.Json = None,
) -> None:
    """Answer problems from a detector's predictions: what only the positives show, by majority, is the concept.

    The oracle is the paper's; the soft one votes by meaning. Images are found by name. Accuracy is by group, with 95 %
    intervals over resampled concepts; the average is the plain mean of the groups.

    Example: shoe bongard score predictions.json val_clean_*.json.gz
    """
    from typing import cast

    from shoe.benchmarks import benchmark
    from shoe.core.errors import unknown_name
    from shoe.predictions import read_predictions
    from shoe.report.bongard import print_score
    from shoe.report.terminal import console
    from shoe.scoring.bongard.problems import read_problems
    from shoe.scoring.bongard.score import REGIONS, VOTES, BongardScore, Counting, Region, Votes, score_problems
    from shoe.similarity import similarity_for

    for what, given, known in (("region", region, REGIONS), ("votes", votes, VOTES)):
        if given not in known:
            raise unknown_name(what, given, known)
    refuse_overwrite((predictions, *problems), json)
    of = benchmark(dataset)
    counting = Counting(region=cast(Region, region), top=top, min_score=min_score)
    report = score_problems(
        read_predictions(predictions, format=format, boxes=boxes, dataset=of),
        read_problems(*problems),
        of.classes,
        similarity_for(of, similarity, "mean"),
        counting,
        cast(Votes, votes),
        images_in_predictions,
    )
    if not put_json(BongardScore.from_report(report), json):
        print_score(report, console())


@app.command()
def show(
    problems: options.Problems,
    html: Annotated[Path, typer.Option(help="The page to write.")],
    images: Annotated[
        Path | None, typer.Option(help="Folder with the images; without it, boxes stand on blank crops.")
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Problems to sample, of each group.")] = 5,
    seed: Annotated[int, typer.Option(min=0, max=2**20, help="Of the sample.")] = 0,
) -> None:
    """Write one HTML page of sampled problems with their boxes; it asks for nothing from any network.

    Example: shoe bongard show problems/*.json --html problems.html --images images/test2015
    """
    from shoe.report.bongard import print_counts, write_problem_page
    from shoe.report.terminal import console
    from shoe.scoring.bongard.problems import read_problems

    refuse_overwrite(problems, html)
    check_folder(images, "a folder with images")
    read = read_problems(*problems)
    write_problem_page(html, read, images, count, seed)
    print_counts(read, console())
    print(f"written    {html}")
