"""``shoe calibration``: compare prediction scores with the fraction of correct predictions."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from shoe.benchmarks import DEFAULT
from shoe.cli import options
from shoe.cli.output import put_report, refuse_overwrite, show_progress


def calibration(
    predictions: Annotated[list[Path], Argument(help="Prediction files, or runs saved with shoe score --save.")],
    ground_truth: Annotated[
        Path | None, Option("--ground-truth", "-g", help="Annotation file of the dataset; not needed for saved runs.")
    ] = None,
    dataset: options.Dataset = DEFAULT,
    protocol: options.Protocols = None,
    similarity: options.Similarity = "dataset",
    option: options.ProtocolOptions = None,
    boxes: options.Boxes = None,
    scores: options.Scores = None,
    format: options.Format = None,
    images_in_predictions: options.ImagesInPredictions = False,
    bins: Annotated[int, Option(help="Number of score bins of equal width.", min=1, max=1000)] = 15,
    figures: Annotated[Path | None, Option(help="Folder for the reliability diagrams, as PDF and PNG.")] = None,
    json: options.Json = None,
) -> None:
    """Compare scores with the fraction of correct predictions: calibration error, ties and mAP.

    If scores are calibrated, 80 % of the predictions with score 0.8 are correct. The expected calibration error is the
    mean, over predictions, of the absolute difference between the mean score and the fraction of correct predictions
    in their bin. With the protocol shoe, a prediction is correct in part, by its credit of 0 to 1. Give several files
    to compare different confidence rules for the answers of one model.

    Example: shoe calibration mean.jsonl product.jsonl --ground-truth instances_test2015.json
    """
    from shoe.cli.models import load_runs
    from shoe.report.evidence import calibrated, print_calibration
    from shoe.report.figures.style import check_plots
    from shoe.scoring.evidence.collect import CalibrationReport
    from shoe.scoring.file_options import ScoringOptions

    refuse_overwrite((*predictions, ground_truth), json)
    if figures is not None:
        check_plots()
    scoring = ScoringOptions(
        ground_truth=ground_truth, dataset=dataset, boxes=boxes, scores=scores, format=format, similarity=similarity,
        protocols=protocol or (), options=option or (), images_in_predictions=images_in_predictions,
    )  # fmt: skip
    with show_progress() as progress:
        runs = load_runs(predictions, scoring, progress=progress)
    found = CalibrationReport([calibrated(run, bins) for run in runs])
    if figures is not None:
        from shoe.report.figures.diagnosis import draw_reliability

        draw_reliability(found, figures)
    put_report(found, json, lambda to: print_calibration(found, to))
