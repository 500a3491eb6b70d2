"""Why the figures of one file differ between protocols, and what the annotation has to do with them: all of it."""

from __future__ import annotations

import msgspec
from msgspec.structs import asdict

from shoe.attribution.near_duplicates import NearDuplicates, near_duplicates
from shoe.attribution.rules import Difference, Watch, differences
from shoe.attribution.verified import FalsePositives, false_positives
from shoe.core.documents import Document, MeanFields, narrowed
from shoe.scoring.score import Report


class SignedMeans(MeanFields, frozen=True):
    """A protocol's figures, with how they came about."""

    signature: str


class Explained(Document, frozen=True):
    """What explains the exact-label figures of a report.

    Attributes:
        protocols: the figures, by protocol.
        differences: between the first protocol and each other one.
        near_duplicates: what the ground truth has twice, at each threshold.
        false_positives: with image labels, what these say of the false positives of each protocol.
    """

    protocols: dict[str, SignedMeans]
    differences: list[Difference]
    near_duplicates: list[NearDuplicates]
    false_positives: dict[str, FalsePositives] = msgspec.field(default_factory=dict)


def explain(report: Report, watch: Watch = iter) -> Explained:
    """Explain why exact-label protocols give different figures for the same predictions.

    Args:
        report: of the protocols to compare, the first with each other one.
        watch: wraps the sets of rules that are scored, to show how far the work is; see
            :func:`shoe.attribution.rules.scorings` for their number.
    """
    task, protocols = report.task, [result.options for result in report.strict_results]
    signed = {
        r.protocol: SignedMeans(str(report.signature_of(r)), **asdict(narrowed(r, MeanFields)))
        for r in report.strict_results
    }
    return Explained(
        signed, differences(task, protocols, watch), near_duplicates(task, protocols), false_positives(task, protocols)
    )
