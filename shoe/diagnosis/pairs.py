"""What predicted pairs say, whatever their interaction; and a file of pairs alone, diagnosed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from msgspec.structs import asdict

from shoe.benchmarks.protocol_options import changed
from shoe.benchmarks.protocols import DIAG
from shoe.benchmarks.signature import Signature, sign
from shoe.benchmarks.truth import GroundTruth
from shoe.core.errors import unknown_name
from shoe.core.interactions import Interactions
from shoe.diagnosis.analysis import ErrorAnalysis
from shoe.diagnosis.interactions import PAIRS_NEED, NegativeAp, negative_ap, why_absent
from shoe.diagnosis.localisation import Localised, PairFigures, PairRules, localise, pair_figures, part_of
from shoe.diagnosis.record import AllPairs, ModelFigures
from shoe.diagnosis.scope import Scope
from shoe.diagnosis.sweeps import Sweep, sweeps
from shoe.predictions.pair_predictions import Pairs
from shoe.scoring.score import coordinate_names

NO_INTERACTION_CHOICES = ("exclude", "keep")


class OfPairs:
    """What predicted pairs say before interactions are classified (IJCV paper 4); each part computed when asked for."""

    localised: Localised

    @cached_property
    def pairs(self) -> PairFigures:
        """Pair localisation: which pairs are found, whatever their interaction (IJCV paper 4.1)."""
        return pair_figures(self.localised)

    @cached_property
    def pairs_rare(self) -> PairFigures:
        """The same for the pairs of rare classes; all predictions stay."""
        return pair_figures(part_of(self.localised, self.localised.scope.task.truth.classes.rare))

    @cached_property
    def pairs_non_rare(self) -> PairFigures:
        """The same for the pairs of the other classes."""
        return pair_figures(part_of(self.localised, self.localised.scope.task.truth.classes.non_rare))

    @cached_property
    def negative_ap(self) -> NegativeAp | None:
        """How well pairs that do nothing are known (IJCV paper 4.2.1); None without scores of interaction."""
        return None if self.localised.pairs.interaction is None else negative_ap(self.localised)

    @cached_property
    def sweeps(self) -> tuple[Sweep, ...]:
        """Curves: what is left of the figures when pairs are thinned out, by overlap or by score (IJCV paper 5.3)."""
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
    """What a file of pairs alone says: no triplets, no verbs.

    Attributes:
        facts: what else is in the signature: how pairs were read.
    """

    localised: Localised
    facts: dict[str, str]
    interaction_map: ClassVar[None] = None
    semantic: ClassVar[None] = None
    warnings: ClassVar[tuple[str, ...]] = ()
    notes: ClassVar[tuple[str, ...]] = ()

    @property
    def table(self) -> Interactions:
        """What was diagnosed: a row per pair."""
        return self.localised.pairs.table

    @property
    def scope(self) -> Scope:
        """The pairs and ground truths that have a part."""
        return self.localised.scope

    @property
    def signature(self) -> Signature:
        """How the figures came about."""
        truth = self.scope.task.truth
        options = changed(DIAG, [f"strict.no-interaction={self.localised.no_interaction}"])
        return sign(truth.facts() | self.facts | {"diagnosis": "pairs"}, options, protocols=truth.benchmark.protocols)

    def __repr__(self) -> str:
        return f"<PairDiagnosis: {len(self.table):,} pairs, {self.scope.task.truth!r}>"

    def to_dict(self, *, sweeps: bool = False) -> dict[str, Any]:
        """All figures, in the keys of ``shoe diagnose --json``."""
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
        """For each part that cannot be measured, why."""
        return {"errors": "the file holds pairs, not triplets"} | why_absent(self.negative_ap, None, PAIRS_NEED)


def diagnose_pairs(
    pairs: Pairs, truth: GroundTruth, *, no_interaction: str = "exclude", rules: PairRules | None = None
) -> PairDiagnosis:
    """Diagnose what a file of pairs alone can say: pair localisation, and negative AP where pairs are scored.

    ``no_interaction`` is ``exclude`` or ``keep``; ``rules`` are the papers' toolbox's if absent.

    Raises:
        OptionError: for an unknown choice.
        InputError: when pairs and ground truth have no image in common.
    """
    if no_interaction not in NO_INTERACTION_CHOICES:
        raise unknown_name("choice for no_interaction", no_interaction, NO_INTERACTION_CHOICES)
    facts = {"coordinates": coordinate_names(pairs.table), "boxes": pairs.notes.boxes if pairs.notes else ""}
    return PairDiagnosis(localised=localise(pairs, truth, rules, no_interaction), facts=facts)
