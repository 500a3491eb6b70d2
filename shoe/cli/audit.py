"""``shoe audit``: how much attacks on the predictions can raise a metric."""

from msgspec.structs import replace

from shoe.benchmarks import DEFAULT
from shoe.cli import options
from shoe.cli.output import progress_bar, put_report, refuse_overwrite


def audit(
    predictions: options.Predictions,
    ground_truth: options.GroundTruth,
    dataset: options.Dataset = DEFAULT,
    similarity: options.Similarity = "dataset",
    boxes: options.Boxes = None,
    scores: options.Scores = None,
    format: options.Format = None,
    images_in_predictions: options.ImagesInPredictions = False,
    json: options.Json = None,
) -> None:
    """Measure how much attacks (copies, vague words, stretched scores) raise the metrics of a prediction file.

    An attack changes the predictions without using the images. The changed predictions are scored under the default
    strict protocol, shoe, shoe-literal and shoe-robust. A metric that attacks can raise is a poor measure of a model.

    Example: shoe audit predictions.json --ground-truth instances_test2015.json
    """
    from shoe.report.evidence import print_audit
    from shoe.scoring.evidence.audit import audit as made
    from shoe.scoring.file_options import ScoringOptions

    refuse_overwrite((predictions, ground_truth), json)
    scoring = ScoringOptions(
        ground_truth=ground_truth, dataset=dataset, boxes=boxes, scores=scores, similarity=similarity, format=format,
        images_in_predictions=images_in_predictions,
    )  # fmt: skip
    report, _ = scoring.report(predictions)
    found = made(report.predictions, report.truth, similarity=similarity, watch=progress_bar("attacks"))
    found = replace(found, notes=report.remarks)
    put_report(found, json, lambda to: print_audit(found, to))
