"""How far scores are from shares of right predictions, in the terminal."""

from __future__ import annotations

from rich.console import Console

from shoe.evidence.calibration import CalibrationReport, ModelCalibration, calibration
from shoe.report.text import percent, say, table
from shoe.runs.run import Run


def calibrated(run: Run, bins: int) -> ModelCalibration:
    """Measure the calibration of a run under each of its protocols."""
    found = [calibration(one.entries, bins, one.options.protocol, str(one.signature)) for one in run.strict]
    if run.semantic is not None:
        protocol = run.semantic.options.protocol
        found.append(calibration(run.semantic.entries, bins, protocol, str(run.signature)))
    return ModelCalibration(run.name, found)


def print_calibration(found: CalibrationReport, to: Console) -> None:
    """A table of all files and protocols; of one file, the reliability of each bin of scores below."""
    say(to, "scores beside the share of right predictions; error: expected calibration error")
    rows = [
        [
            model.predictions,
            *(one.protocol, percent(one.map), percent(one.error), percent(one.tied_share)),
            percent(None) if one.ranked is None else f"{one.ranked:,}",
        ]
        for model in found.models
        for one in model.protocols
    ]
    to.print(table("predictions", "protocol", "mAP %", "error %", "tied %", "ranked", rows=rows))
    for one in found.models[0].protocols if len(found.models) == 1 else ():
        rows = [
            [f"{each.low:.2f} to {each.high:.2f}", f"{each.predictions:,}", percent(each.score), percent(each.right)]
            for each in one.bins
            if each.predictions
        ]
        if one.bins:
            to.print(table(f"scores, {one.protocol}", "predictions", "mean score %", "right %", rows=rows))
