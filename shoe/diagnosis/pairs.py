"""Diagnosis of pairs: interaction classification without detection (IJCV paper 4.2), and files with pairs only."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from msgspec.structs import asdict

from shoe.benchmarks.checks import triplet_name
from shoe.benchmarks.protocols import DIAG
from shoe.benchmarks.scoring_options import Interpolation, Ties, changed
from shoe.benchmarks.signature import Signature, sign
from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import Floats, Indices, Ints, Mask, mask_of
from shoe.core.errors import InputError, unknown_name
from shoe.core.interactions import Interactions
from shoe.diagnosis.error_gains import ErrorAnalysis
from shoe.diagnosis.error_types import ErrorType
from shoe.diagnosis.localisation import Localised, PairFigures, PairRules, Sweep, localise, pair_figures, sweeps
from shoe.diagnosis.record import AllPairs, ModelFigures
from shoe.diagnosis.scope import Scope
from shoe.predictions.pair_predictions import Pairs
from shoe.scoring.average_precision import average_precision
from shoe.scoring.entries import AveragingRule, Entries, mean_over
from shoe.scoring.score import coordinate_names

# Both metrics of interaction classification need interaction scores that do not include detection scores. These are
# ``verb_scores`` or ``hoi_score_inter`` in a file of pairs, and ``action_score`` in triplets.

_CAPPED_GRID = np.arange(110) * 0.01
"""Recall thresholds of the toolbox, 0 to 1.09. No recall reaches the nine thresholds above 1."""
_ON_TRUE_PAIRS = (ErrorType.TRUE_POSITIVE, ErrorType.INTERACTION, ErrorType.DUPLICATE)
"""Types of predictions whose two boxes both match the same ground truth."""

_ONE_SCORE = "the score of a triplet combines detection and interaction; this metric needs"
NEEDS = {
    "negative_ap": f"{_ONE_SCORE} action_score in each triplet, or a file of pairs with hoi_score_inter or verb_scores",
    "interaction_map": f"{_ONE_SCORE} action_score in each triplet, or a file of pairs with verb_scores",
}
PAIRS_NEED = {
    "negative_ap": "the pairs have neither hoi_score_inter nor verb_scores",
    "interaction_map": "the file contains pairs, and this metric needs ranked triplets",
}


@dataclass(frozen=True, slots=True)
class NegativeAp:
    """Average precision (AP) of the detection of negative pairs: predicted pairs that match no ground-truth pair."""

    # area under the envelope of the precision-recall curve; it and ``diag`` are None without negatives
    all_points: float | None
    # AP as in the toolbox, whose recall grid ends above 1, so that AP is at most 101/110 (protocols.md 8.8)
    diag: float | None
    # pairs, negatives: number of predicted pairs, and of negative pairs among them
    pairs: int
    negatives: int


@dataclass(frozen=True, slots=True, eq=False)
class InteractionMap:
    """Average precision (AP) of classifying the V verbs of predictions that match a ground-truth pair."""

    map: float | None  # mean AP over verbs; None if the mean contains no verb
    # map_rare, map_non_rare: mean AP over rare and over non-rare HOI classes (not verbs), with one ranking per class
    # (first version, Table 4; the toolbox has no such metric)
    map_rare: float | None
    map_non_rare: float | None
    ap: Floats  # (V,) AP of each verb; NaN for verbs that are not in the mean
    truths: Indices  # (V,) number of ground truths per verb, without those that :func:`interaction_map` excludes


def negative_ap(localised: Localised) -> NegativeAp:
    """Return the AP of detecting negative pairs, which match no ground-truth pair (IJCV paper 4.2.1, protocols.md 8.8).

    All predicted pairs on images with ground truth form one ranking. The score of a pair is 1 minus its highest
    interaction score. Pairs with equal scores keep the order of images, and their order in the file. Raise InputError
    if the pairs have no interaction scores.
    """
    interaction, hits, rows = localised.pairs.interaction, localised.overlaps, localised.scope.prediction
    if interaction is None:
        found, expected = "pairs without interaction scores", "hoi_score_inter or verb_scores for each pair"
        raise InputError("pairs", found=found, expected=expected)
    negative = np.ones(len(rows), bool)
    negative[hits.prediction[hits.pair]] = False
    rank = (np.flatnonzero(negative[np.argsort(interaction[rows] - 1, kind="stable")]) + 1).astype(np.float64)
    if len(rank) == 0:
        return NegativeAp(None, None, len(rows), 0)
    found_so_far, ones = np.arange(1, len(rank) + 1), np.ones((1, len(rank)))
    area = average_precision(rank[None], ones, found_so_far[-1:], Interpolation.ALL_POINTS, 0.0)[0]
    envelope = np.maximum.accumulate((found_so_far / rank)[::-1])[::-1]
    reached = np.searchsorted(found_so_far / len(rank), _CAPPED_GRID)
    return NegativeAp(float(area), float(np.append(envelope, 0.0)[reached].mean()), len(rows), len(rank))


def interaction_map(analysis: ErrorAnalysis, scores: Floats) -> InteractionMap:
    """Return the AP of each verb over predictions that match a ground-truth pair, ranked by their interaction scores.

    This is IJCV paper 4.2.2. All other predictions are excluded, and so are ground truths whose pair is not matched.
    The variant ``released`` includes the ground truths of images without predictions (protocols.md 8.9). Triplet scores
    decide which predictions are true positives, and rank predictions with equal interaction scores. The variant of the
    analysis determines the interpolation, and whether a verb without a true positive counts.

    ``scores`` are the (n,) interaction scores of the predictions; NaN is allowed for excluded predictions.

    Raises InputError if the number of scores is not n, or if a prediction that counts has the score NaN.
    """
    scope, options, task = analysis.scope, analysis.variant.strict, analysis.task
    if len(scores) != len(task.predictions):
        found, expected = f"{len(scores):,} values", f"{len(task.predictions):,}, one per triplet"
        raise InputError("interaction scores", found=found, expected=expected)
    classes, overlaps = task.truth.classes, analysis.overlaps
    counted = mask_of(overlaps.truth[overlaps.pair], len(scope.truth))
    if analysis.variant.name == "released":
        counted |= (np.bincount(scope.image, minlength=scope.images) == 0)[scope.truth_image]
    verbs, types = np.bincount(scope.truth_verb[counted], minlength=len(classes.verbs)), analysis.assigned.types
    entries = np.flatnonzero(np.isin(types, _ON_TRUE_PAIRS) & np.append(verbs > 0, False)[scope.verb])
    entries = entries[np.lexsort((-scope.score[entries], scope.image[entries]))]
    rows = scope.prediction[entries]
    lacking = rows[np.isnan(scores[rows])]
    if len(lacking):
        table = task.predictions
        record = triplet_name((table.images, table.image.astype(np.int64)), int(lacking[0]))
        found = f"no interaction score, as in {len(lacking):,} triplets"
        expected = "a score for each triplet: a pair with exactly the same boxes, object and verb"
        raise InputError("interaction scores", record=record, found=found, expected=expected)
    credit = (types[entries] == ErrorType.TRUE_POSITIVE).astype(np.float64)

    def ranked(label: Ints, truth_label: Ints, rare: Mask, unseen: Mask) -> Entries:
        known = label[entries] >= 0
        return Entries(
            category=label[entries][known],
            image=scope.image[entries][known],
            score=scores[rows][known],
            credit=credit[known],
            truth_category=truth_label[counted],
            truth_image=scope.truth_image[counted],
            counted=np.ones(len(rare), bool),
            rare=rare,
            unseen=unseen,
            rule=AveragingRule.from_options(replace(options, ties=Ties.INPUT)),
        )

    none = np.zeros(len(classes.verbs), bool)
    by_verb = ranked(scope.verb, scope.truth_verb, none, none).scores()
    of_classes = ranked(scope.hoi, scope.truth_hoi, classes.rare, classes.unseen).means()
    mean, ap = mean_over(by_verb.ap, by_verb.in_mean), np.where(by_verb.in_mean, by_verb.ap, np.nan)
    return InteractionMap(mean, of_classes.map_rare, of_classes.map_non_rare, ap, verbs)


def why_absent(
    negative: NegativeAp | None, interaction: InteractionMap | None, needs: Mapping[str, str]
) -> dict[str, str]:
    """Return why "negative_ap" and "interaction_map" are missing, by these names; {} if both are measured.

    A result is None without the scores that it needs; ``needs`` has the reasons for this case, by name.
    """
    absent = {}
    if negative is None or negative.all_points is None:
        nothing = "every predicted pair is in the ground truth"
        absent["negative_ap"] = needs["negative_ap"] if negative is None else nothing
    if interaction is None or interaction.map is None:
        nothing = "no predicted pair matches a pair of the ground truth"
        absent["interaction_map"] = needs["interaction_map"] if interaction is None else nothing
    return absent


NO_INTERACTION_CHOICES = ("exclude", "keep")


class PairResults:
    """Metrics of predicted pairs, regardless of their verbs (section 4 of the IJCV paper), computed on first use."""

    localised: Localised

    @cached_property
    def pairs(self) -> PairFigures:
        """Pair localisation over all pairs (IJCV paper 4.1)."""
        return pair_figures(self.localised)

    @cached_property
    def pairs_rare(self) -> PairFigures:
        """Pair localisation with only the ground-truth pairs of rare classes, and all predicted pairs."""
        return pair_figures(replace(self.localised, classes=self.localised.scope.task.truth.classes.rare))

    @cached_property
    def pairs_non_rare(self) -> PairFigures:
        """Pair localisation with only the ground-truth pairs of non-rare classes, and all predicted pairs."""
        return pair_figures(replace(self.localised, classes=self.localised.scope.task.truth.classes.non_rare))

    @cached_property
    def negative_ap(self) -> NegativeAp | None:
        """AP of the detection of negative pairs (IJCV paper 4.2.1); None without interaction scores."""
        return None if self.localised.pairs.interaction is None else negative_ap(self.localised)

    @cached_property
    def sweeps(self) -> tuple[Sweep, ...]:
        """Curves of the metrics when pairs are removed by overlap or by score (IJCV paper 5.3)."""
        return sweeps(self.localised, self if isinstance(self, ErrorAnalysis) else None)

    def _figures(self, *, sweeps: bool) -> dict[str, Any]:
        negative = self.negative_ap
        return {
            "images": self.pairs.images,
            "pairs": AllPairs(**asdict(self.pairs), rare=self.pairs_rare, non_rare=self.pairs_non_rare),
            "negative_ap": negative and negative.all_points,
            "negative_ap_diag": negative and negative.diag,
            "sweeps": self.sweeps if sweeps else None,
        }


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PairDiagnosis(PairResults):
    """Diagnosis of a file of human-object pairs, without verbs and thus without triplets."""

    localised: Localised
    facts: dict[str, str]  # entries of :attr:`signature` that state how the pairs were read
    interaction_map: ClassVar[None] = None
    semantic: ClassVar[None] = None
    warnings: ClassVar[tuple[str, ...]] = ()
    notes: ClassVar[tuple[str, ...]] = ()

    @property
    def table(self) -> Interactions:
        """Pairs that are diagnosed, one row per pair."""
        return self.localised.pairs.table

    @property
    def scope(self) -> Scope:
        """Predicted pairs and ground truths that take part in the diagnosis."""
        return self.localised.scope

    @property
    def signature(self) -> Signature:
        """Signature of the results, which names data, options and version of shoe."""
        truth = self.scope.task.truth
        options = changed(DIAG, [f"strict.no-interaction={self.localised.no_interaction}"])
        facts = truth.signature_fields() | self.facts | {"diagnosis": "pairs"}
        return sign(facts, options, protocols=truth.benchmark.protocols)

    def __repr__(self) -> str:
        return f"<PairDiagnosis: {len(self.table):,} pairs, {self.scope.task.truth!r}>"

    def to_dict(self, *, sweeps: bool = False) -> dict[str, Any]:
        """Return all results as a dict with the keys of ``shoe diagnose --json``; ``sweeps`` adds threshold sweeps."""
        return self.figures(sweeps=sweeps).to_dict()

    def figures(self, *, sweeps: bool = False) -> ModelFigures:
        """Return the results of ``shoe diagnose --json`` without dataset, split and name; ``sweeps`` adds sweeps."""
        return ModelFigures(
            signature=str(self.signature),
            ground_truths=len(self.scope.truth),
            predictions=len(self.table),
            absent=self.absent,
            **self._figures(sweeps=sweeps),
        )

    @property
    def absent(self) -> dict[str, str]:
        """Reason for each part of the diagnosis that cannot be measured, by name of the part."""
        return {"errors": "the file contains pairs, not triplets"} | why_absent(self.negative_ap, None, PAIRS_NEED)


def diagnose_pairs(
    pairs: Pairs, truth: GroundTruth, *, no_interaction: str = "exclude", rules: PairRules | None = None
) -> PairDiagnosis:
    """Return the diagnosis of pairs: localisation and, with interaction scores, negative AP (:class:`NegativeAp`).

    ``no_interaction`` is ``exclude`` or ``keep``, for ground-truth pairs whose only class is no_interaction. Raise
    OptionError for another value, and InputError if pairs and ground truth have no image in common.
    """
    if no_interaction not in NO_INTERACTION_CHOICES:
        raise unknown_name("choice for no_interaction", no_interaction, NO_INTERACTION_CHOICES)
    facts = {"coordinates": coordinate_names(pairs.table), "boxes": pairs.notes.boxes if pairs.notes else ""}
    return PairDiagnosis(localised=localise(pairs, truth, rules, no_interaction), facts=facts)
