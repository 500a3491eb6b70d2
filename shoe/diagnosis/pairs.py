"""Diagnosis of pairs: interaction classification apart from detection (IJCV paper 4.2), and files of pairs alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from msgspec.structs import asdict

from shoe.benchmarks.checks import triplet_name
from shoe.benchmarks.protocol_options import Interpolation, Ties, changed
from shoe.benchmarks.protocols import DIAG, Signature, sign
from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import Floats, Indices
from shoe.core.errors import InputError, unknown_name
from shoe.core.interactions import Interactions
from shoe.diagnosis.analysis import ErrorAnalysis
from shoe.diagnosis.error_types import ErrorType
from shoe.diagnosis.localisation import Localised, PairFigures, PairRules, localise, pair_figures, part_of
from shoe.diagnosis.record import AllPairs, ModelFigures
from shoe.diagnosis.scope import Scope
from shoe.diagnosis.sweeps import Sweep, sweeps
from shoe.predictions.pair_predictions import Pairs
from shoe.scoring.average_precision import average_precision
from shoe.scoring.entries import Entries, Rule, mean_over
from shoe.scoring.score import coordinate_names

# Interaction classification apart from detection: which pairs do nothing, and what the others do (IJCV paper 4.2).
#
# Both figures need scores of interaction alone, without those of detection. A file of pairs has them as ``verb_scores``
# or ``hoi_score_inter`` (``shoe.predictions.pair_predictions``), triplets as ``action_score``; most files have neither.

_CAPPED_GRID = np.arange(110) * 0.01
"""The toolbox's thresholds of recall run from 0 to 1.09; nothing reaches the nine above 1."""
_ON_TRUE_PAIRS = (ErrorType.TRUE_POSITIVE, ErrorType.INTERACTION, ErrorType.DUPLICATE)
"""The types of predictions whose two boxes are those of one ground truth."""

_ONE_SCORE = "a triplet's score is that of its detection and its interaction together; this figure needs"
NEEDS = {
    "negative_ap": f"{_ONE_SCORE} action_score in each triplet, or a file of pairs with hoi_score_inter or verb_scores",
    "interaction_map": f"{_ONE_SCORE} action_score in each triplet, or a file of pairs with verb_scores",
}
PAIRS_NEED = {
    "negative_ap": "the pairs have neither hoi_score_inter nor verb_scores",
    "interaction_map": "pairs alone do not say which triplets a model gives, and in which order",
}


@dataclass(frozen=True, slots=True)
class NegativeAp:
    """Classification of pairs without an interaction; figures are None where there are none.

    Attributes:
        all_points: area under the envelope of the precision-recall curve.
        diag: the toolbox's figure; a perfect ranking has 101/110 of it (protocols.md 8.8).
    """

    all_points: float | None
    diag: float | None
    pairs: int
    negatives: int


@dataclass(frozen=True, slots=True, eq=False)
class InteractionMap:
    """Interaction classification of localised pairs; V verbs of the dataset.

    Attributes:
        map: mean over verbs; None where there is none to average.
        map_rare, map_non_rare: means over rare and non-rare HOI classes, ranked by themselves, since verbs are neither
            (first version, Table 4; the toolbox has no such figure).
        ap: (V,) of each verb; NaN for verbs out of the mean.
        truths: (V,) ground truths of each verb whose pair some prediction has.
    """

    map: float | None
    map_rare: float | None
    map_non_rare: float | None
    ap: Floats
    truths: Indices


def negative_ap(localised: Localised) -> NegativeAp:
    """Measure how well 1 less the highest interaction score detects pairs that are not in the ground truth.

    All pairs on images with ground truth form one ranking; equal scores keep the order of images and of the file
    (IJCV paper 4.2.1, protocols.md 8.8).

    Raises:
        InputError: for pairs without interaction scores.
    """
    interaction, hits, rows = localised.pairs.interaction, localised.overlaps, localised.scope.prediction
    if interaction is None:
        found, expected = "pairs without scores of interaction", "hoi_score_inter or verb_scores of each pair"
        raise InputError("pairs", found=found, expected=expected)
    negative = np.ones(len(rows), bool)
    negative[hits.prediction[hits.pair]] = False
    score = 1 - interaction[rows]
    ranked = negative[np.argsort(-score, kind="stable")]
    rank = (np.flatnonzero(ranked) + 1).astype(np.float64)
    if len(rank) == 0:
        return NegativeAp(None, None, len(rows), 0)
    found_so_far = np.arange(1, len(rank) + 1)
    truths = found_so_far[-1:]
    area = average_precision(rank[None], np.ones((1, len(rank))), truths, Interpolation.ALL_POINTS, 0.0)[0]
    envelope = np.maximum.accumulate((found_so_far / rank)[::-1])[::-1]
    reached = np.searchsorted(found_so_far / len(rank), _CAPPED_GRID)
    return NegativeAp(float(area), float(np.append(envelope, 0.0)[reached].mean()), len(rows), len(rank))


def interaction_map(analysis: ErrorAnalysis, scores: Floats) -> InteractionMap:
    """Compute average precision of verbs, not classes, on localised pairs, ranked by interaction scores alone.

    Predictions on no true pair are left out, and so are ground truths whose pair no prediction has. True positives and
    duplicates are decided by the whole scores, as in the diagnosis; equal interaction scores keep that order.
    Interpolation, and whether a verb without a true positive counts, are the variant's; ``released`` also keeps the
    ground truths of images without predictions (IJCV paper 4.2.2, protocols.md 8.9).

    Args:
        scores: (n,) interaction scores; NaN only for predictions that are left out.

    Raises:
        InputError: if there are not n scores, or naming the first prediction that lacks one.
    """
    scope, options, task = analysis.scope, analysis.variant.strict, analysis.task
    if len(scores) != len(task.predictions):
        found, expected = f"{len(scores):,} values", f"{len(task.predictions):,}, one per triplet"
        raise InputError("interaction scores", found=found, expected=expected)
    classes, overlaps = task.truth.classes, analysis.overlaps
    counted = np.zeros(len(scope.truth), bool)
    counted[overlaps.truth[overlaps.pair]] = True
    if analysis.variant.name == "released":
        counted |= (np.bincount(scope.image, minlength=scope.images) == 0)[scope.truth_image]
    verbs = np.bincount(scope.truth_verb[counted], minlength=len(classes.verbs))

    types = analysis.assigned.types
    in_question = np.isin(types, _ON_TRUE_PAIRS) & np.append(verbs > 0, False)[scope.verb]
    entries = np.flatnonzero(in_question)
    entries = entries[np.lexsort((-scope.score[entries], scope.image[entries]))]
    rows = scope.prediction[entries]
    lacking = rows[np.isnan(scores[rows])]
    if len(lacking):
        table = task.predictions
        record = triplet_name((table.images, table.image.astype(np.int64)), int(lacking[0]))
        found = f"no score of interaction, as in {len(lacking):,} triplets"
        expected = "one for each: pairs with exactly its boxes, its object and its verb"
        raise InputError("interaction scores", record=record, found=found, expected=expected)

    hits = types[entries] == ErrorType.TRUE_POSITIVE
    every, image = np.ones(len(classes.verbs), bool), scope.image[entries]
    rule = Rule.of(replace(options, ties=Ties.INPUT))
    by_verb = Entries(
        category=scope.verb[entries],
        image=image,
        score=scores[rows],
        credit=hits.astype(np.float64),
        truth_category=scope.truth_verb[counted],
        truth_image=scope.truth_image[counted],
        counted=every,
        rare=~every,
        rule=rule,
    ).scores()
    known = scope.hoi[entries] >= 0
    of_classes = Entries(
        category=scope.hoi[entries][known],
        image=image[known],
        score=scores[rows][known],
        credit=hits[known].astype(np.float64),
        truth_category=scope.truth_hoi[counted],
        truth_image=scope.truth_image[counted],
        counted=np.ones(len(classes), bool),
        rare=classes.rare,
        unseen=classes.unseen,
        rule=rule,
    ).means()
    return InteractionMap(
        map=mean_over(by_verb.ap, by_verb.in_mean),
        map_rare=of_classes.map_rare,
        map_non_rare=of_classes.map_non_rare,
        ap=np.where(by_verb.in_mean, by_verb.ap, np.nan),
        truths=verbs,
    )


def why_absent(negative: NegativeAp | None, named: InteractionMap | None, needs: Mapping[str, str]) -> dict[str, str]:
    """Return why figures are missing: no scores, or nothing to measure.

    Both figures are None without scores; ``needs`` is ``NEEDS`` or ``PAIRS_NEED``.
    """
    absent = {}
    if negative is None or negative.all_points is None:
        absent["negative_ap"] = needs["negative_ap"] if negative is None else "no predicted pair does nothing"
    if named is None or named.map is None:
        nothing = "no ground truth has a pair that some prediction has"
        absent["interaction_map"] = needs["interaction_map"] if named is None else nothing
    return absent


NO_INTERACTION_CHOICES = ("exclude", "keep")


class OfPairs:
    """Figures of predicted pairs before interactions are classified (IJCV paper 4); each is computed on first use."""

    localised: Localised

    @cached_property
    def pairs(self) -> PairFigures:
        """Pair localisation over all pairs (IJCV paper 4.1)."""
        return pair_figures(self.localised)

    @cached_property
    def pairs_rare(self) -> PairFigures:
        """Pair localisation over pairs of rare classes; all predictions stay."""
        return pair_figures(part_of(self.localised, self.localised.scope.task.truth.classes.rare))

    @cached_property
    def pairs_non_rare(self) -> PairFigures:
        """Pair localisation over pairs of the other classes; all predictions stay."""
        return pair_figures(part_of(self.localised, self.localised.scope.task.truth.classes.non_rare))

    @cached_property
    def negative_ap(self) -> NegativeAp | None:
        """Classification of pairs without an interaction (IJCV paper 4.2.1); None without interaction scores."""
        return None if self.localised.pairs.interaction is None else negative_ap(self.localised)

    @cached_property
    def sweeps(self) -> tuple[Sweep, ...]:
        """Curves of the figures as pairs are thinned out, by overlap or by score (IJCV paper 5.3)."""
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
class PairDiagnosis(OfPairs):
    """Diagnosis of a file of pairs alone, without triplets and verbs.

    Attributes:
        facts: further entries of the signature: how pairs were read.
    """

    localised: Localised
    facts: dict[str, str]
    interaction_map: ClassVar[None] = None
    semantic: ClassVar[None] = None
    warnings: ClassVar[tuple[str, ...]] = ()
    notes: ClassVar[tuple[str, ...]] = ()

    @property
    def table(self) -> Interactions:
        """Diagnosed table: a row per pair."""
        return self.localised.pairs.table

    @property
    def scope(self) -> Scope:
        """Pairs and ground truths that take part."""
        return self.localised.scope

    @property
    def signature(self) -> Signature:
        """Signature of the figures."""
        truth = self.scope.task.truth
        options = changed(DIAG, [f"strict.no-interaction={self.localised.no_interaction}"])
        return sign(truth.facts() | self.facts | {"diagnosis": "pairs"}, options, protocols=truth.benchmark.protocols)

    def __repr__(self) -> str:
        return f"<PairDiagnosis: {len(self.table):,} pairs, {self.scope.task.truth!r}>"

    def to_dict(self, *, sweeps: bool = False) -> dict[str, Any]:
        """Return all figures, with the keys of ``shoe diagnose --json``."""
        return self.figures(sweeps=sweeps).to_dict()

    def figures(self, *, sweeps: bool = False) -> ModelFigures:
        """All figures, as ``shoe diagnose --json`` has them."""
        return ModelFigures(
            signature=str(self.signature),
            ground_truths=len(self.scope.truth),
            predictions=len(self.table),
            absent=self.absent,
            **self._figures(sweeps=sweeps),
        )

    @property
    def absent(self) -> dict[str, str]:
        """For each part that cannot be measured, the reason."""
        return {"errors": "the file holds pairs, not triplets"} | why_absent(self.negative_ap, None, PAIRS_NEED)


def diagnose_pairs(
    pairs: Pairs, truth: GroundTruth, *, no_interaction: str = "exclude", rules: PairRules | None = None
) -> PairDiagnosis:
    """Diagnose a file of pairs alone: pair localisation, and negative AP where pairs have scores.

    ``no_interaction`` is ``exclude`` or ``keep``; ``rules`` are the toolbox's if absent.

    Raises:
        OptionError: for an unknown choice.
        InputError: when pairs and ground truth have no image in common.
    """
    if no_interaction not in NO_INTERACTION_CHOICES:
        raise unknown_name("choice for no_interaction", no_interaction, NO_INTERACTION_CHOICES)
    facts = {"coordinates": coordinate_names(pairs.table), "boxes": pairs.notes.boxes if pairs.notes else ""}
    return PairDiagnosis(localised=localise(pairs, truth, rules, no_interaction), facts=facts)
