"""The two readings of Diag-HOI, as data: what its papers say, and what its released toolbox does.

Papers: "Diagnosing Human-object Interaction Detectors", first version (S0) and journal version (S1). Their differences
from the code are listed in protocols.md 8.6; item by item, what the variants do:

1. IoU: ``paper`` more than 0.5 everywhere (S1 2.3), ``released`` at least 0.5.
2. One true positive a ground-truth *triplet* (S1 2.3, code) in both; S0's "pair" is not followed.
3. Target of a fix: ``paper`` one of the possible ground truths, at random with a seed (S1 3.2.1) or greedily, and where
   one has the prediction's verb, of those ("the correct action category"); ``released`` what the toolbox's one map
   says, whatever the choice.
4. Possible targets: ``paper`` the ground truths that share what was right; for an association error those of them with
   the fewest changes, each pair only once (S1 3.2.1). ``released``: any that shares the human box, or, where that is
   correct nowhere, the object box.
5. In both every error of the fixed type is gone afterwards: it has become a true positive or is removed. In ``paper``
   it is removed as the lower-scored duplicate of the true positive of its target, or because it has no target.
6. ``paper``: an oracle looks at the errors of its type alone. ``released``: the map gives each ground truth at most one
   prediction, of any type; where that is of another type, an error of the type at hand is removed, not fixed.
7. False-positive, false-negative and progressive figures are the papers' definitions in both: the release has none.
8. V-COCO only.
9. Rare: fewer than 10 training pairs in both (S1); S0's "in the test set" is an error.
10. Pair recall and negative AP: elsewhere.
11. A step of the progression is mAP after it minus mAP before it (S1 Eq. 5), which holds whatever the sentence says.
12. About a table, not a rule.

Beyond that list:

- mAP: ``paper`` integrates under the precision-recall curve and averages over all classes with ground truth (S1 2.3);
  ``released`` uses 11 points and leaves classes out as in 8.5. In both a class without any ground truth left is out.
- A prediction is about its best ground truth and has no second choice, in both: the papers do not speak of one (8.2).
- Words that are no class get a type, as the flow asks of every prediction, but are in no ranking, in both: the toolbox
  refuses such files (8.1).
- Missed ground truth: ``paper`` what is without a true positive after all fixes (S1 3.2.3); ``released`` what has
  neither a true positive nor an entry in the map, and its oracle sees only images with predictions (8.5). The last step
  of the progression drops all that is without a true positive, in both, or it would not end at 100.
- Without no_interaction, in both: such ground truths leave with their boxes, images that lose all leave, and so do
  predictions of the verb no_interaction (8.1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from shoe.protocols.named import DIAG
from shoe.protocols.options import Interpolation, StrictOptions


@dataclass(frozen=True, slots=True)
class Variant:
    """The choices of one reading.

    Attributes:
        name: ``paper`` or ``released``.
        strict: how boxes are compared, how mAP is made, and whether no_interaction takes part.
        shared_map: whether fixes follow the toolbox's one map, not each error's own targets.
        by: what a class is: ``class`` of the class table, or ``role`` (:mod:`shoe.diagnosis.by_role`).
    """

    name: str
    strict: StrictOptions
    shared_map: bool
    by: str = "class"


_BY_TEXT = replace(DIAG, threshold_at=">", ap=Interpolation.ALL_POINTS, zero_tp="zero", unpredicted="zero")
VARIANTS = {
    variant.name: variant
    for variant in (Variant("paper", _BY_TEXT, shared_map=False), Variant("released", DIAG, shared_map=True))
}
"""By name."""
