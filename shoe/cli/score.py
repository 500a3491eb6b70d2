"""``shoe score``: the main job."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoe.benchmarks import DEFAULT
from shoe.cli import options

if TYPE_CHECKING:
    from shoe.scoring.file_options import ScoringOptions


def score(
    predictions: Annotated[
        list[Path],
        typer.Argument(readable=False, help="Prediction file, or several; formats are recognised by content."),
    ],
    ground_truth: options.GroundTruth,
    dataset: options.Dataset = DEFAULT,
    protocol: Annotated[
        list[str] | None,
        typer.Option(
            "--protocol",
            "-p",
            help="Protocol; again for more. 'all': every strict one and shoe. Default: hico-det, shoe.",
        ),
    ] = None,
    similarity: options.Similarity = "dataset",
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-o", help="NAME=VALUE: change one choice of a protocol; help: list all."),
    ] = None,
    boxes: options.Boxes = None,
    scores: Annotated[
        str | None,
        typer.Option(
            help="How to bring scores to 0..1 that are no confidences: sigmoid (of logits), percent, minmax or rank."
        ),
    ] = None,
    format: options.Format = None,
    classes: options.Classes = None,
    subset: options.Subset = None,
    images_in_predictions: Annotated[
        bool,
        typer.Option(
            "--images-in-predictions",
            help="Score only the images that PREDICTIONS names; the split's name then says so.",
        ),
    ] = False,
    split: options.Split = None,
    image_labels: options.ImageLabels = None,
    words: Annotated[
        Path | None,
        typer.Option(help="Write every wording, what it was taken to say, and what was not read to this CSV file."),
    ] = None,
    per_class: options.PerClass = None,
    save: Annotated[
        Path | None,
        typer.Option(help="Keep what was measured in this file (NAME.shoe), for shoe compare and shoe verify."),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(help="Score one or many files, and keep in this folder what --json writes for each of them."),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(help="With --results: score one part of the files, as 3/16, by a hash of their content."),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            help="With --results, who scores: serial, processes:N, ray (one here, or RAY_ADDRESS's), ray:ADDRESS."
        ),
    ] = "serial",
    bounds: Annotated[
        bool, typer.Option("--bounds", help="Also say what the map leaves open; takes several times as long.")
    ] = False,
    json: options.Json = None,
) -> None:
    """Score predictions: strict mAP beside SHOE-mAP, SHOE-mF1 and the miss rates, with a signature.

    Protocols: hico-det, hico-det-known-object, ppdm, qpic, gen-vlkt, upt, thid, diag; shoe, shoe-literal, shoe-robust;
    of V-COCO v-coco-agent, v-coco-s1, v-coco-s2; of SWIG-HOI swig-hoi, choir.
    The choices that --option changes, and the names of formats and box conventions, are listed in docs/reference and
    by shoe convert --help.

    Example: shoe score predictions.json --ground-truth instances_test2015.json --protocol all
    """
    from shoe.cli.output import refuse_overwrite, write_json
    from shoe.report.score_files import as_json, write_classes, write_wordings
    from shoe.report.terminal import console, print_report
    from shoe.scoring.evidence.collect import Evidence
    from shoe.scoring.evidence.facts import wordings
    from shoe.scoring.file_options import ScoringOptions

    refuse_overwrite((*predictions, ground_truth, classes, image_labels), words, per_class, save, json)
    scoring = ScoringOptions(
        ground_truth=ground_truth,
        dataset=dataset,
        protocols=protocol or (),
        similarity=similarity,
        options=option or (),
        boxes=boxes,
        scores=scores,
        format=format,
        classes=classes,
        subset=subset,
        images_in_predictions=images_in_predictions,
        split=split,
        image_labels=image_labels,
    )
    if results is not None or len(predictions) > 1 or shard is not None or engine != "serial":
        one = {"--words": words, "--per-class": per_class, "--save": save, "--json": json}
        _score_many(predictions, scoring, results, engine, shard, [name for name in one if one[name]], bounds=bounds)
        return
    (path,) = predictions
    report, notes = scoring.report(path)
    evidence = Evidence.of(report, bounds=bounds)
    if words is not None:
        write_wordings(wordings(report), notes.examples("unparsed"), words)
    if per_class is not None:
        write_classes(report, per_class)
    if save is not None:
        from shoe.comparison.run import Run
        from shoe.comparison.run_file import write_run

        write_run(Run.of(report, path.stem, evidence.spread, evidence.interval), save)
    if json is not None:
        write_json(as_json(report, evidence), json)
    if json != "-":
        print_report(report, console(), evidence)


def _score_many(
    files: list[Path],
    scoring: "ScoringOptions",
    folder: Path | None,
    engine: str,
    shard: str | None,
    of_one: list[str],
    *,
    bounds: bool,
) -> None:
    """Score many files into a folder of results, and print a table of all that is there."""
    import sys

    from shoe.cli.output import telling
    from shoe.core.errors import OptionError, many
    from shoe.engines import engine_of
    from shoe.engines.base import Shard
    from shoe.report.many_files import print_many, score_many
    from shoe.report.terminal import console

    if folder is None:
        raise OptionError("--results: found none, expected a folder for results (of several files, or with --shard)")
    if of_one:
        raise OptionError(f"{of_one[0]}: found --results, whose files hold one report each; expected one of the two")
    part = None if shard is None else Shard.parse(shard)
    with telling() as tell:
        found = score_many(files, scoring, folder, engine_of(engine), shard=part, bounds=bounds, tell=tell)
    for line in found.failed.values():
        print(f"shoe: {line}", file=sys.stderr)
    if part is None:
        print_many(found.results, console())
    of_others = f", {many(found.others, 'file')} of other parts not yet" if found.others else ""
    print(f"{many(len(found.results), 'result')} in {folder}, {found.scored:,} of them new{of_others}")
    if found.failed:
        sys.exit(2)


def print_options() -> None:
    """List every option of a protocol: what ``-o help`` says."""
    from shoe.benchmarks.protocol_options import describe
    from shoe.report.text import aligned

    print("\n".join(aligned([("option", "values", "default", "meaning"), *describe()])))
