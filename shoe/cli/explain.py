"""``shoe explain``: why strict protocols give different values for the same predictions."""

from pathlib import Path
from typing import Annotated

from typer import Option

from shoe.benchmarks import DEFAULT, benchmark
from shoe.cli import options
from shoe.cli.output import progress_bar, put_report, refuse_overwrite


def explain(
    predictions: options.Predictions,
    ground_truth: options.GroundTruth,
    protocols: Annotated[
        list[str] | None,
        Option("--protocols", "--protocol", "-p", help="Strict protocols, comma-separated or repeated. Default: all."),
    ] = None,
    option: options.ProtocolOptions = None,
    dataset: options.Dataset = DEFAULT,
    image_labels: Annotated[
        Path | None, Option(help="Official file anno.mat, to count false positives by image label.")
    ] = None,
    boxes: options.Boxes = None,
    format: options.Format = None,
    images_in_predictions: options.ImagesInPredictions = False,
    classes: options.Classes = None,
    split: options.ImageSplit = None,
    json: options.Json = None,
    verbose: options.Verbose = False,
) -> None:
    """Explain why strict protocols give different mAP: the points that each rule of a protocol adds or removes.

    Rules are switched one at a time from the first protocol to each other protocol. The contribution of a rule is its
    mean effect over all orders of switching (its Shapley value), so contributions sum to the difference. Effects of the
    annotation are reported too: duplicates and, with --image-labels, false positives that no annotator verified.

    Example: shoe explain predictions.json -g instances_test2015.json --protocols hico-det,qpic,upt,diag
    """
    from shoe.benchmarks.protocols import SEMANTIC
    from shoe.core.errors import OptionError
    from shoe.diagnosis.protocol_differences import count_mixtures, explain as explained
    from shoe.report.evidence import print_explained
    from shoe.scoring.file_options import ScoringOptions

    refuse_overwrite((predictions, ground_truth, classes, image_labels), json)
    known = benchmark(dataset)
    names = [name for given in protocols or ["all"] for name in given.split(",")]
    names = [name for given in names for name in (known.protocols if given == "all" else [given])]
    semantic = next((name for name in names if name in SEMANTIC), None)
    if semantic is not None:
        expected = f"only strict protocols ({', '.join(known.protocols)})"
        raise OptionError(f"--protocols: found the semantic protocol {semantic}, expected {expected}")
    scoring = ScoringOptions(
        ground_truth=ground_truth, dataset=dataset, classes=classes, split=split, image_labels=image_labels,
        boxes=boxes, format=format, protocols=names, options=option or (), images_in_predictions=images_in_predictions,
    )  # fmt: skip
    report, _ = scoring.report(predictions)
    number = count_mixtures([result.options for result in report.strict_results])
    found = explained(report, progress_bar(f"{number} sets of rules"))
    put_report(found, json, lambda to: print_explained(report, found, to, verbose=verbose))
