"""How far scores are from shares of right predictions, in the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Console

from shoe.evidence.calibration import Calibration, calibration
from shoe.report.text import percent, present, say, table
from shoe.runs.run import Run


class Calibrated(NamedTuple):
    """One file of predictions under one protocol.

    Attributes:
        protocol: its name.
        signature: how the figures came about.
        map: mean average precision; None where it cannot be measured.
        found: None without predictions, or where scores are no probabilities.
    """

    protocol: str
    signature: str
    map: float | None
    found: Calibration | None


def calibrated(run: Run, bins: int) -> list[Calibrated]:
    """Measure the calibration of a run under each of its protocols."""
    measured = [(one.options.protocol, str(one.signature), one.entries) for one in run.strict]
    if run.semantic is not None:
        measured.append((run.semantic.options.protocol, str(run.signature), run.semantic.entries))
    return [
        Calibrated(protocol, signature, entries.means().map, calibration(entries, bins))
        for protocol, signature, entries in measured
    ]


def print_calibration(models: Mapping[str, Sequence[Calibrated]], to: Console) -> None:
    """A table of all files and protocols; of one file, the reliability of each bin of scores below."""
    say(to, "scores beside the share of right predictions; error: expected calibration error")
    rows = [
        [name, one.protocol, percent(one.map), *_facts(one.found)] for name, found in models.items() for one in found
    ]
    to.print(table("predictions", "protocol", "mAP %", "error %", "tied %", "ranked", rows=rows))
    if len(models) > 1:
        return
    for one in next(iter(models.values())):
        if one.found is None:
            continue
        rows = [
            [
                f"{each.low:.2f} to {each.high:.2f}",
                f"{each.predictions:,}",
                percent(each.score),
                percent(each.right),
            ]
            for each in one.found.bins
            if each.predictions
        ]
        to.print(table(f"scores, {one.protocol}", "predictions", "mean score %", "right %", rows=rows))


def _facts(found: Calibration | None) -> list[str]:
    if found is None:
        return [percent(None)] * 3
    return [percent(found.error), percent(found.tied_share), f"{found.predictions:,}"]


def calibration_dict(models: Mapping[str, Sequence[Calibrated]]) -> dict[str, Any]:
    """The keys that ``shoe calibration --json`` has; fractions, and what is absent has no key."""
    listed = [
        {
            "predictions": name,
            "protocols": [
                present(
                    {
                        "protocol": one.protocol,
                        "signature": one.signature,
                        "map": one.map,
                        **({} if one.found is None else _as_dict(one.found)),
                    }
                )
                for one in found
            ],
        }
        for name, found in models.items()
    ]
    return {"models": listed}


def _as_dict(found: Calibration) -> dict[str, Any]:
    bins = [present(each._asdict()) for each in found.bins]
    return {
        "ranked_predictions": found.predictions,
        "expected_calibration_error": found.error,
        "tied_share": found.tied_share,
        "bins": bins,
    }
