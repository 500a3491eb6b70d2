"""Error types of Diag-HOI, one prediction at a time, and every decision of its oracles.

Sources: S1 (001, the IJCV text; numbers are its lines), S0 (000, the first version), protocols.md section 8. The fixes
stand in ``diagnosis_fixes``, mAP and progressive deltas in ``diagnosis_map``, pairs and interactions in
``diagnosis_pairs``. What the texts leave open, or say twice, is decided so:

Data
 1. Left out first: images that the ground truth does not list; then, unless ``no_interaction``, truths and predictions
    whose verb is that word (8.1); then images without truth, with or without no_interaction (8.1, S1 372-376).
 2. A truth that leaves takes its boxes with it: they make no predicted box correct (8.1 "removed from ground truth").
 3. A prediction whose words are no class, or a class without truth, gets a type and can be fixed; until then it counts
    in no AP (8.1: the toolbox refuses such files). Words are equal as strings.
 4. Scores rank an image's predictions; equal scores keep the order of rows, and images that of the truth (``strict``).

Types (8.2, S1 103-129)
 5. IoU is 8.2's in both variants: raw numbers, +1, 0 without strict overlap, equal labels. ``paper`` wants > 0.5 for
    all tests (S1 56; S1 109 alone calls < 0.5 wrong, so exactly 0.5 is neither), ``released`` >= 0.5 (8.6.1).
 6. A true positive belongs to a ground-truth triplet, not to a pair (S1 62 against S0; 8.6.2); of several of its verb
    the best pair IoU, of ties the first, without fallback, in both variants (8.2; S1 62 is silent).
 7. A box is correct on any ground-truth box of its label: a human on a person who is an object, an object "person" on a
    human (8.2 "any ground-truth box of the image").

Fixes of ``released`` (8.4) are deterministic: ``choose`` is not asked. Fixes of ``paper`` (S1 147-169):
 8. Predictions are fixed by descending score. A fix ends on a truth, and what it may end on is a list of truths, not of
    words (S1 151 "search the ground truth triplets"): only a truth says which duplicates a fix makes.
 9. Truths that a prediction may end on: human box: its object box is on theirs; object box: its human box is on theirs;
    interaction: both are (S1 151, 153, 165). Truths that are taken stay possible: else no duplicates could be made.
10. Association (S1 157): one of the two boxes is on the truth's; of those that need the fewest changes, counting human
    box, object box (with its label) and verb; a pair at which a fix was aimed before, by this or an earlier oracle of
    the same run, is out, whatever became of that fix. As HICO-DET draws boxes anew for each verb (8.7), truths are one
    pair if both their boxes overlap as a prediction's must (5), and their objects have one label.
11. A box oracle names "the correct action category" (S1 151): where some possible truth has the prediction's own verb,
    that is correct, and the others are out. Several truths left, whatever the type: ``choose``.
12. A fix makes a true positive with the score and place of the prediction and the class of the truth; of it and the
    true positive that the truth had, the one lower in rank is removed. Nothing is matched anew.
13. An error with no possible truth is removed, as both-boxes errors are (S1 155), or Eq. 4 could not hold (S1 194);
    8.6.5 tells of such removals by the toolbox only.
14. ``greedy``: a free truth, else the one whose true positive scores least, of ties the first. Greedy, prediction
    by prediction.
15. Missed (S1 127, 169, S0 127, 8.2): a truth without a true positive after the four fixes, in the order of S1 3.2,
    with ``choose``; ``released``: neither a true positive nor a best-map entry, even where that entry is a duplicate.
    The oracle of ``released`` does not see images without predictions (8.5); their truths are missed all the same.
16. Grouped oracles (S1 177, 179) in both variants: all that is no true positive leaves; truths without one leave.

mAP and deltas
17. ``paper``: AP is the integral under the interpolated curve, at all points and without epsilon, and every class with
    truth is in every mean, as 0 if it was tried in vain or has no predictions (S1 74). ``released``: 11 points on the
    grid of arange; a class tried in vain is skipped, one without predictions is 0 in the full mean and absent from rare
    and non-rare (8.5, as ``strict`` has it). In both, a class without truth left is absent.
18. Rare: fewer than 10 training pairs (S1 347 against S0 189).
19. Progressive order: S1 3.2's own: human box, object box, both boxes, association, duplicate, interaction, missed GT
    (8.10: none is given). Its last step leaves out every truth still without a true positive, in both variants: the
    toolbox has no progressive deltas, and its own rule for missed GT would end below 100 (8.6.6).

Pairs and interactions
20. The threshold is >= 0.5 in 8.7 and 8.8, whatever the variant: papers name none for pairs.
21. ``pairs=index``: distinct (human box, object box, object), as exact numbers: tables have no box indices.
    ``merged``: in file order a pair joins the first kept one that it overlaps; the kept one stands for all (8.7).
22. Pairs of a triplet file: distinct (human box, object box, object) of all rows, in order of first appearance; rows
    of no_interaction and of words outside the dataset too, since pairs come before classification (8.7, S1 230).
23. An image that the pairs do not list has none, and counts (8.7: over all images; the script skips such images).
24. ``one-to-one``: the largest number of pairs that can each have a partner of their own. S1 234 counts one truth for a
    prediction, without saying which; the largest number needs no order. Recall and precision share it.
25. ``gt-count``: pairs found under ``any``, over predicted pairs; it may exceed 1 (8.7).
26. Human-only and object-only recall (S1 378): boxes of the data set found, over all; humans by predicted humans,
    objects by predicted objects of their label; ``any``. Distinct numbers under ``index``; under ``merged`` boxes
    merge among themselves as pairs do. S1's mean "of all object categories" is read as one recall over all objects.
27. Negative AP: pairs of ``pairs``, positive if on no truth; the score is 1 less the largest of the verbs but
    no_interaction, 1 where there is none; equal scores keep the order of images and pairs. All-points AP is the area
    under the envelope, without epsilon; ``diag`` the 110 thresholds of 8.8.
28. Interaction mAP: verbs of the ground truth; types 0, 5 and 6 by the full score, in both variants; equal interaction
    scores keep the order of full scores. ``paper`` counts only truths whose pair some prediction has; ``released``
    also all of images without predictions (8.9). AP, and a verb tried in vain: as in 17. One with nothing to rank is 0.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from shoe.benchmarks.classes import HoiClasses
from tests.oracles.boxes import iou_pixels_strict
from tests.oracles.model import ImageScene, Triplet, Truth, class_words

Variant = Literal["paper", "released"]
VARIANTS: tuple[Variant, ...] = ("paper", "released")

ErrorType = Literal["true_positive", "human_box", "object_box", "both_boxes", "association", "duplicate", "interaction"]
ERROR_TYPES: tuple[ErrorType, ...] = get_args(ErrorType)


@dataclass(frozen=True, slots=True)
class Typed:
    """A prediction with its type; ``hoi`` is -1 for words that are no class.

    Truths are named by their places in ``Diagnosed.truth``: ``truth`` is the one that it is the true positive of,
    ``humans`` those whose human box its human box is on, ``objects`` those whose object box its object box is on.
    """

    row: int
    hoi: int
    verb: str
    noun: str
    score: float
    type: ErrorType
    truth: int | None
    humans: tuple[int, ...]
    objects: tuple[int, ...]
    human_correct: bool
    object_correct: bool


@dataclass(frozen=True, slots=True)
class Diagnosed:
    """An image that counts; ``predictions`` by descending score."""

    name: str
    variant: Variant
    truth: list[Truth]
    predictions: list[Typed]


def diagnosed(
    scenes: Iterable[ImageScene], classes: HoiClasses, variant: Variant = "paper", no_interaction: bool = False
) -> list[Diagnosed]:
    """Type all predictions of the images that count."""
    numbers = {pair: k for k, pair in enumerate(class_words(classes))}
    images = []
    for scene in counted(scenes, no_interaction):
        truth = [
            Truth(row, numbers[t.verb, t.object], t.verb, t.object, t.human_box, t.object_box)
            for row, t in enumerate(scene.truth)
            if is_counted(t, no_interaction)
        ]
        predictions = _typed(scene, truth, numbers, variant, no_interaction)
        images.append(Diagnosed(scene.name, variant, truth, predictions))
    return images


def is_counted(triplet: Triplet, no_interaction: bool) -> bool:
    return no_interaction or triplet.verb != "no_interaction"


def counted(scenes: Iterable[ImageScene], no_interaction: bool) -> list[ImageScene]:
    """The images that the ground truth lists and that have a truth to count."""
    return [scene for scene in scenes if scene.known and any(is_counted(t, no_interaction) for t in scene.truth)]


def error_types(images: Iterable[Diagnosed]) -> dict[tuple[str, int], ErrorType]:
    return {(image.name, p.row): p.type for image in images for p in image.predictions}


def matches(images: Iterable[Diagnosed]) -> dict[tuple[str, int], int | None]:
    """Row of the true positive of each ground truth, by image name and row; None for an unmatched one."""
    return {
        (image.name, truth.row): next((p.row for p in image.predictions if p.truth == place), None)
        for image in images
        for place, truth in enumerate(image.truth)
    }


def reaches(iou: float, variant: Variant) -> bool:
    """S1 56 and 8.6.1."""
    return iou > 0.5 if variant == "paper" else iou >= 0.5


def _typed(
    scene: ImageScene, truth: list[Truth], numbers: dict[tuple[str, str], int], variant: Variant, no_interaction: bool
) -> list[Typed]:
    """Walk down the scores of an image (8.2, S1 Figure 2 and 129)."""
    rows = [row for row, p in enumerate(scene.predictions) if is_counted(p, no_interaction)]
    taken: set[int] = set()
    found = []
    for row in sorted(rows, key=lambda row: -scene.predictions[row].score):
        p = scene.predictions[row]
        humans: dict[int, float] = {}
        objects: dict[int, float] = {}
        human_correct = object_correct = False
        for place, t in enumerate(truth):
            human = iou_pixels_strict(p.human_box, t.human)
            if reaches(human, variant):
                humans[place] = human
            thing = iou_pixels_strict(p.object_box, t.object)
            if p.object == t.noun and reaches(thing, variant):
                objects[place] = thing
            if t.noun == "person" and reaches(iou_pixels_strict(p.human_box, t.object), variant):
                human_correct = True
            if p.object == "person" and reaches(iou_pixels_strict(p.object_box, t.human), variant):
                object_correct = True
        human_correct |= bool(humans)
        object_correct |= bool(objects)

        on_both = [place for place in humans if place in objects]
        owner, largest = None, 0.0
        for place in on_both:
            pair = min(humans[place], objects[place])
            if truth[place].verb == p.verb and pair > largest:
                owner, largest = place, pair

        kind: ErrorType
        if owner is not None:
            kind = "duplicate" if owner in taken else "true_positive"
        elif on_both:
            kind = "interaction"
        elif human_correct and object_correct:
            kind = "association"
        elif human_correct:
            kind = "object_box"
        elif object_correct:
            kind = "human_box"
        else:
            kind = "both_boxes"

        mine = owner if kind == "true_positive" else None
        if mine is not None:
            taken.add(mine)
        hoi = numbers.get((p.verb, p.object), -1)
        sides = tuple(humans), tuple(objects), human_correct, object_correct
        found.append(Typed(row, hoi, p.verb, p.object, p.score, kind, mine, *sides))
    return found
