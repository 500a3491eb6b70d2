"""What ``--for`` and ``--ground-truth`` mean to the commands for maps."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoe.scoring.score import Report


def evaluated(predictions: Path | None, ground_truth: Path | None, map_name: str, dataset: str) -> Report | None:
    """Score a prediction file under a map, and say on stderr how it was read; None where no file is given.

    Raises:
        OptionError: if only one of the two files is given.
        InputError: for a file that is broken.
    """
    from shoe.core.errors import OptionError
    from shoe.evidence.facts import box_check
    from shoe.maps.effect import scored

    if predictions is None and ground_truth is None:
        return None
    if predictions is None or ground_truth is None:
        given, other = ("--for", "--ground-truth") if predictions else ("--ground-truth", "--for")
        raise OptionError(f"{given}: found no {other}, expected both or none")
    report = scored(predictions, ground_truth, map_name, dataset)
    notes = report.notes
    lines = [f"{predictions}: {notes.summary()}", *notes.lines()] if notes else []
    for line in [*lines, *box_check(report).lines()]:
        print(line, file=sys.stderr)
    return report
