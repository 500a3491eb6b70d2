"""The two sub-tasks of a detector in one call: finding pairs, and knowing what they do (IJCV paper 4).

What a file cannot support is absent, with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass

from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import Floats
from shoe.diagnosis.diagnosis import Diagnosis
from shoe.diagnosis.interactions import InteractionMap, NegativeAp, interaction_map, negative_ap
from shoe.diagnosis.pairs import Localised, PairFigures, PairRules, localise, pair_figures, part_of
from shoe.predictions.pair_predictions import Pairs, pairs_of, triplet_scores

_ONE_SCORE = "a triplet's score is that of its detection and its interaction together; this figure needs"
_ABSENT = {
    "negative_ap": f"{_ONE_SCORE} action_score in each triplet, or a file of pairs with hoi_score_inter or verb_scores",
    "interaction_map": f"{_ONE_SCORE} action_score in each triplet, or a file of pairs with verb_scores",
}
_ABSENT_OF_PAIRS = {
    "negative_ap": "the pairs have neither hoi_score_inter nor verb_scores",
    "interaction_map": "pairs alone do not say which triplets a model gives, and in which order",
}
_CUT = (
    "pairs are those of the triplets: pairs that lost all their triplets to a limit an image count neither against "
    "precision nor as known to do nothing"
)
_BEST_OF_TRIPLETS = (
    "a pair's interaction score is the highest of its triplets, which is that of all verbs if the file keeps the best "
    "triplets of an image, and too low if it leaves out verbs by another rule"
)


@dataclass(frozen=True, slots=True, eq=False)
class SubTasks:
    """Figures of both sub-tasks.

    Attributes:
        localised: the pairs over the ground truth, for curves (``sweeps``).
        pairs: pair localisation.
        pairs_rare, pairs_non_rare: the same for the pairs of rare and of other classes; all predictions stay.
        negative_ap, interaction_map: interaction classification; None where it cannot be measured.
        absent: for each of these that is None, why.
        notes: what a reader of the figures has to know, one line each.
    """

    localised: Localised
    pairs: PairFigures
    pairs_rare: PairFigures
    pairs_non_rare: PairFigures
    negative_ap: NegativeAp | None
    interaction_map: InteractionMap | None
    absent: dict[str, str]
    notes: tuple[str, ...]


def sub_tasks(
    diagnosis: Diagnosis,
    pairs: Pairs | None = None,
    action_scores: Floats | None = None,
    rules: PairRules | None = None,
) -> SubTasks:
    """Measure both sub-tasks of diagnosed triplets.

    Args:
        diagnosis: of n triplets; its variant and its choice about no_interaction hold here too.
        pairs: the model's pairs before classification (``read_pairs``); those of the triplets if absent.
        action_scores: (n,) interaction scores of the triplets (``read_action_scores``); those of ``pairs`` if absent.
        rules: how pairs are counted.

    Raises:
        InputError: when scores or pairs are not those of the triplets.
    """
    task = diagnosis.task
    notes: tuple[str, ...] = ()
    if pairs is None:
        pairs = pairs_of(task.predictions, action_scores)
        notes = (_CUT,) if action_scores is None else (_CUT, _BEST_OF_TRIPLETS)
    localised = localise(pairs, task.truth, rules, diagnosis.variant.strict.no_interaction)
    if action_scores is None and pairs.verb_scores is not None:
        action_scores = triplet_scores(pairs, task.predictions)
    absent = dict(_ABSENT)
    negative = named = None
    if pairs.interaction is not None:
        negative = negative_ap(localised)
        del absent["negative_ap"]
    elif pairs.triplets is None:
        absent["negative_ap"] = _ABSENT_OF_PAIRS["negative_ap"]
    if action_scores is not None:
        named = interaction_map(diagnosis, action_scores)
        del absent["interaction_map"]
    return SubTasks(localised, *_with_parts(localised), negative, named, absent, notes)


def sub_tasks_of_pairs(
    pairs: Pairs, truth: GroundTruth, rules: PairRules | None = None, no_interaction: str = "exclude"
) -> SubTasks:
    """Measure what a file of pairs alone can say: pair localisation, and negative AP where pairs are scored.

    Args:
        pairs: from ``read_pairs``.
        truth: what is so.
        rules: how pairs are counted.
        no_interaction: ``exclude`` or ``keep``.

    Raises:
        InputError: when pairs and ground truth have no image in common.
    """
    localised = localise(pairs, truth, rules, no_interaction)
    absent = dict(_ABSENT_OF_PAIRS)
    negative = None
    if pairs.interaction is not None:
        negative = negative_ap(localised)
        del absent["negative_ap"]
    return SubTasks(localised, *_with_parts(localised), negative, None, absent, ())


def _with_parts(localised: Localised) -> tuple[PairFigures, PairFigures, PairFigures]:
    """Figures of all, rare and non-rare classes."""
    rare = localised.scope.task.truth.classes.rare
    parts = localised, part_of(localised, rare), part_of(localised, ~rare)
    all_, rare_, non_rare = map(pair_figures, parts)
    return all_, rare_, non_rare
