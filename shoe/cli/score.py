"""``shoe score``: the main job."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from shoe.benchmarks import DEFAULT
from shoe.cli.parameters import Argument, Option

if TYPE_CHECKING:
    from shoe.scoring.asked import Asked


def score(
    predictions: Annotated[list[Path], Argument("Prediction file, or several; formats are recognised by content.")],
    ground_truth: Annotated[Path, Option("Annotation file of the dataset.", ("-g",))],
    dataset: Annotated[str, Option("Whose classes the ground truth has.")] = DEFAULT,
    protocol: Annotated[
        list[str] | None,
        Option("Protocol; again for more. 'all': every strict one and shoe. Default: hico-det, shoe.", ("-p",)),
    ] = None,
    similarity: Annotated[
        str, Option("Similarity map: a shipped name or a folder; 'dataset': the dataset's own.")
    ] = "dataset",
    option: Annotated[
        list[str] | None, Option("NAME=VALUE: change one choice of a protocol; help: list all.", ("-o",))
    ] = None,
    boxes: Annotated[
        str | None, Option("Box convention of the predictions, where it is not their format's own.")
    ] = None,
    scores: Annotated[
        str | None,
        Option("How to bring scores to 0..1 that are no confidences: sigmoid (of logits), percent, minmax or rank."),
    ] = None,
    format: Annotated[str | None, Option("Prediction format, if content is not to decide.")] = None,
    classes: Annotated[Path | None, Option("Class table that replaces the packaged one.")] = None,
    subset: Annotated[str | None, Option("Score on a named part of the images: single-hoi, single-pair.")] = None,
    images_in_predictions: Annotated[
        bool, Option("Score only the images that PREDICTIONS names; the split's name then says so.")
    ] = False,
    split: Annotated[
        str | None,
        Option("A split of the classes (rf-uc, or a file of unseen ones), or of anno_bbox.mat's images (train2015)."),
    ] = None,
    image_labels: Annotated[
        Path | None, Option("Official anno.mat: known-object setting by image-level labels.")
    ] = None,
    words: Annotated[
        Path | None, Option("Write every wording, what it was taken to say, and what was not read to this CSV file.")
    ] = None,
    per_class: Annotated[Path | None, Option("Write the figures of each class to this CSV file.")] = None,
    save: Annotated[
        Path | None, Option("Keep what was measured in this file (NAME.shoe), for shoe compare and shoe verify.")
    ] = None,
    results: Annotated[
        Path | None, Option("Score one or many files, and keep in this folder what --json writes for each of them.")
    ] = None,
    shard: Annotated[
        str | None, Option("With --results: score one part of the files, as 3/16, by a hash of their content.")
    ] = None,
    engine: Annotated[
        str, Option("With --results, who scores: serial, processes:N, ray (one here, or RAY_ADDRESS's), ray:ADDRESS.")
    ] = "serial",
    bounds: Annotated[bool, Option("Also say what the map leaves open; takes several times as long.")] = False,
    json: Annotated[str | None, Option("Write JSON to this file; '-': standard output.")] = None,
) -> None:
    """Score predictions: strict mAP beside SHOE-mAP, SHOE-mF1 and the miss rates, with a signature.

    Protocols: hico-det, hico-det-known-object, ppdm, qpic, gen-vlkt, upt, thid, diag; shoe, shoe-literal, shoe-robust;
    of V-COCO v-coco-agent, v-coco-s1, v-coco-s2; of SWIG-HOI swig-hoi, choir.
    The choices that --option changes, and the names of formats and box conventions, are listed in docs/reference and
    by shoe convert --help.

    Example: shoe score predictions.json --ground-truth instances_test2015.json --protocol all

    JSON keys: signature, dataset, split, images, ground_truths, predictions; strict {protocol, map, map_rare,
    map_non_rare, max_recall, classes, ranked_predictions, tied_share, parts, harmonic_mean}; protocols [{signature,
    ...strict}] where several are asked for; roles [{signature, protocol, map, entries, left_out, map_without_left_out,
    ranked_predictions, actions}]; semantic {protocol, map, map_without_no_interaction, map_standard_error, mf1,
    gt_miss_rate, prediction_miss_rate; above_delta {mf1, gt_miss_rate,
    prediction_miss_rate}; tau_readings, classes, tied_share, components_share, map_interval, mf1_interval,
    unrated_pairs, raters, parts, harmonic_mean}; resolution {verbs, objects {words, dataset_labels, unresolved},
    rated_share, fallback_share, learned_share, unrated_share, basis}; profile {images_with_predictions,
    covered_images, named_images, unknown_images, constant_scores, repeats, outside_share}; by_nearest_seen [{from,
    to, classes, map}]; order_spans; absent; wordings [{verb, object {word, sense, found_by, similarity, basis};
    phrases, count, matched, earned, lost, nearest_class, similarity, compared_with}]; notes.
    Fractions 0..1; what cannot be measured is left out.
    Order spans, intervals, unrated pairs and raters are there with --bounds; with a split of the classes parts (each
    with map, mf1 and classes), the harmonic mean of seen and unseen, and means over unseen classes by their similarity
    to the nearest seen one.
    """
    from shoe.cli.output import spare, write_json
    from shoe.evidence.wordings import wordings
    from shoe.report.classes import write_classes
    from shoe.report.json import as_json
    from shoe.report.notes import Evidence
    from shoe.report.terminal import console, print_report
    from shoe.report.wordings import write_wordings
    from shoe.scoring.asked import Asked

    spare((*predictions, ground_truth, classes, image_labels), words, per_class, save, json)
    asked = Asked(
        ground_truth=ground_truth,
        dataset=dataset,
        protocols=tuple(protocol or ()),
        similarity=similarity,
        options=tuple(option or ()),
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
        _score_many(predictions, asked, results, engine, shard, [name for name in one if one[name]], bounds=bounds)
        return
    (path,) = predictions
    report, notes = asked.report(path)
    evidence = Evidence.of(report, bounds=bounds)
    if words is not None:
        write_wordings(wordings(report), notes.examples("unparsed"), words)
    if per_class is not None:
        write_classes(report, per_class)
    if save is not None:
        from shoe.runs.file import write_run
        from shoe.runs.run import Run

        write_run(Run.of(report, path.stem, evidence.spread, evidence.interval), save)
    if json is not None:
        write_json(as_json(report, evidence), json)
    if json != "-":
        print_report(report, console(), evidence)


def _score_many(
    files: list[Path],
    asked: "Asked",
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
    from shoe.engines.choose import engine_of
    from shoe.engines.shard import Shard
    from shoe.report.many import print_many, score_many
    from shoe.report.terminal import console

    if folder is None:
        raise OptionError("--results: found none, expected a folder for results (of several files, or with --shard)")
    if of_one:
        raise OptionError(f"{of_one[0]}: found --results, whose files hold one report each; expected one of the two")
    part = None if shard is None else Shard.parse(shard)
    with telling() as tell:
        found = score_many(files, asked, folder, engine_of(engine), shard=part, bounds=bounds, tell=tell)
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
    from shoe.protocols.options import describe
    from shoe.report.text import aligned

    print("\n".join(aligned([("option", "values", "default", "meaning"), *describe()])))
