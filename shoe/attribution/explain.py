"""Why the figures of one file differ between protocols, and what the annotation has to do with them: all of it."""

from __future__ import annotations

from dataclasses import dataclass

from shoe.attribution.near_duplicates import NearDuplicates, near_duplicates
from shoe.attribution.rules import Difference, Watch, differences
from shoe.attribution.verified import FalsePositives, false_positives
from shoe.scoring.score import Report


@dataclass(frozen=True, slots=True, eq=False)
class Explained:
    """What explains the exact-label figures of a report.

    Attributes:
        report: the figures.
        differences: of its first protocol and each other one.
        near_duplicates: what the ground truth has twice, at each threshold.
        false_positives: what the image labels say of them, one a protocol; empty without image labels.
    """

    report: Report
    differences: list[Difference]
    near_duplicates: list[NearDuplicates]
    false_positives: list[FalsePositives]


def explain(report: Report, watch: Watch = iter) -> Explained:
    """Explain why exact-label protocols give different figures for the same predictions.

    Args:
        report: of the protocols to compare, the first with each other one.
        watch: wraps the sets of rules that are scored, to show how far the work is; see
            :func:`shoe.attribution.rules.scorings` for their number.
    """
    task, protocols = report.task, [result.options for result in report.strict_results]
    return Explained(
        report,
        differences(task, protocols, watch),
        near_duplicates(task, protocols),
        false_positives(task, protocols),
    )
