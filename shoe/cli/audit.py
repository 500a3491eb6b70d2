"""``shoe audit``: what predictions could earn by tricks."""

from __future__ import annotations

from shoe.benchmarks import DEFAULT
from shoe.cli import options
from shoe.cli.output import progress_bar, put_json, refuse_overwrite


def audit(
    predictions: options.Predictions,
    ground_truth: options.GroundTruth,
    dataset: options.Dataset = DEFAULT,
    similarity: options.Similarity = "dataset",
    boxes: options.Boxes = None,
    scores: options.Scores = None,
    json: options.Json = None,
) -> None:
    """Attack the metric with a file's own predictions: what would copies, vague words or stretched scores add?

    Each attack changes the predictions without knowing more of any image, and is scored under the default strict
    protocol, shoe, shoe-literal and shoe-robust. A figure that many attacks lift says little of a model.

    Example: shoe audit predictions.json --ground-truth instances_test2015.json
    """
    from shoe.report.evidence import print_audit
    from shoe.report.terminal import console
    from shoe.scoring.evidence.audit import audit as made
    from shoe.scoring.file_options import ScoringOptions

    refuse_overwrite((predictions, ground_truth), json)
    scoring = ScoringOptions(ground_truth=ground_truth, dataset=dataset, boxes=boxes, scores=scores)
    truth = scoring.truth()
    table, _ = scoring.read(predictions, truth)
    found = made(table, truth, similarity=similarity, watch=progress_bar("attacks"))
    if not put_json(found, json):
        print_audit(found, console())
