"""Pair localisation, negative pairs and interaction mAP of Diag-HOI; decisions in ``diagnosis``."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypedDict

from shoe.benchmarks.classes import HoiClasses
from tests.oracles.average_precision import all_points, interpolated, mean
from tests.oracles.boxes import Box, iou_pixels_strict
from tests.oracles.diagnosis import Variant, counted, diagnosed, is_counted
from tests.oracles.diagnosis_map import variant_ap
from tests.oracles.model import ImageScene, Triplet

PairsOption = Literal["index", "merged"]
RecallOption = Literal["any", "one-to-one"]
PrecisionOption = Literal["first-match", "one-to-one", "gt-count"]


@dataclass(frozen=True, slots=True)
class Pair:
    """A human, an object, and the scores of what the one may do with the other, without those of detection."""

    human_box: Box
    object_box: Box
    object: str
    verb_scores: Mapping[str, float] = field(default_factory=dict, compare=False)


class PairFigures(TypedDict):
    """None where there is nothing to measure. Counts are over all images."""

    recall: float | None
    precision: float | None
    per_image: float | None
    human_recall: float | None
    object_recall: float | None
    truths: int
    predictions: int


class NegativeAp(TypedDict):
    """AP of recognising pairs that do nothing: the ordinary one and the release's, which ends at 101/110."""

    all_points: float | None
    diag: float | None


class InteractionFigures(TypedDict):
    """Interaction mAP; ``ap`` has every verb that the ground truth has, None where it is skipped."""

    map: float | None
    ap: dict[str, float | None]


def pairs_of(scene: ImageScene) -> list[Pair]:
    """The pairs of an image's predicted triplets (22)."""
    return list(dict.fromkeys(_pair(p) for p in scene.predictions))


def pair_localisation(
    scenes: Iterable[ImageScene],
    predicted: Mapping[str, Sequence[Pair]] | None = None,
    pairs: PairsOption = "index",
    recall: RecallOption = "any",
    precision: PrecisionOption = "first-match",
    no_interaction: bool = False,
) -> PairFigures:
    """Recall, precision and number of pairs (8.7, S1 228-236), and recall of humans and objects alone (S1 378)."""
    # Pairs are those of the predicted triplets unless ``predicted`` has others by image name.
    truths = found = predictions = right = images = 0
    humans = humans_found = objects = objects_found = 0
    for scene in counted(scenes, no_interaction):
        mine = pairs_of(scene) if predicted is None else predicted.get(scene.name, [])
        triplets = [t for t in scene.truth if is_counted(t, no_interaction)]
        true = _distinct([_pair(t) for t in triplets], pairs)
        hits = [[j for j, p in enumerate(mine) if _same(p, t)] for t in true]
        own = _largest_one_to_one(hits)
        at_all = sum(len(each) > 0 for each in hits)

        images += 1
        truths += len(true)
        predictions += len(mine)
        found += at_all if recall == "any" else own
        if precision == "first-match":
            right += len({each[0] for each in hits if each})
        else:
            right += own if precision == "one-to-one" else at_all

        true_humans = _distinct([Pair(t.human_box, t.human_box, "person") for t in triplets], pairs)
        humans += len(true_humans)
        humans_found += sum(any(_on(p.human_box, t.human_box) for p in mine) for t in true_humans)
        true_objects = _distinct([Pair(t.object_box, t.object_box, t.object) for t in triplets], pairs)
        objects += len(true_objects)
        objects_found += sum(
            any(p.object == t.object and _on(p.object_box, t.object_box) for p in mine) for t in true_objects
        )
    return {
        "recall": _share(found, truths),
        "precision": _share(right, predictions),
        "per_image": _share(predictions, images),
        "human_recall": _share(humans_found, humans),
        "object_recall": _share(objects_found, objects),
        "truths": truths,
        "predictions": predictions,
    }


def negative_ap(
    scenes: Iterable[ImageScene], predicted: Mapping[str, Sequence[Pair]], no_interaction: bool = False
) -> NegativeAp:
    """AP of recognising pairs that are no ground truth's by 1 - max p (8.8, S1 254)."""
    entries = []
    for scene in counted(scenes, no_interaction):
        triplets = [t for t in scene.truth if is_counted(t, no_interaction)]
        for p in predicted.get(scene.name, []):
            actual = [score for verb, score in p.verb_scores.items() if verb != "no_interaction"]
            negative = not any(_same(p, _pair(t)) for t in triplets)
            entries.append((1 - max(actual, default=0.0), int(negative)))
    labels = [label for _, label in sorted(entries, key=lambda entry: -entry[0])]
    positives = sum(labels)
    if positives == 0:
        return {"all_points": None, "diag": None}
    capped = interpolated(labels, positives, [i * 0.01 for i in range(110)])
    return {"all_points": all_points(labels, positives, epsilon=0), "diag": capped}


def action_scores(scene: ImageScene, predicted: Sequence[Pair]) -> list[float]:
    """Score of each predicted triplet's verb alone: that of the first pair with exactly its boxes and object."""
    scores: dict[tuple[Pair, str], float] = {}
    for pair in predicted:
        for verb, score in pair.verb_scores.items():
            scores.setdefault((pair, verb), score)
    return [scores[_pair(p), p.verb] for p in scene.predictions]


def interaction_map(
    scenes: Sequence[ImageScene],
    classes: HoiClasses,
    scores: Mapping[str, Sequence[float]],
    variant: Variant = "paper",
    no_interaction: bool = False,
) -> InteractionFigures:
    """MAP of verbs on correctly localised pairs, ranked by interaction scores alone (8.9, S1 258)."""
    # ``scores`` are by image name, one for each row of its predictions (``action_scores``).
    truths: dict[str, int] = {}
    ranked: dict[str, list[tuple[float, int]]] = {}
    for image in diagnosed(scenes, classes, variant, no_interaction):
        unseen = variant == "released" and not image.predictions
        for place, truth in enumerate(image.truth):
            localised = any(place in p.humans and place in p.objects for p in image.predictions)
            truths[truth.verb] = truths.get(truth.verb, 0) + int(localised or unseen)
        for p in image.predictions:
            if p.type in ("true_positive", "interaction", "duplicate"):
                ranked.setdefault(p.verb, []).append((scores[image.name][p.row], int(p.type == "true_positive")))
    ap: dict[str, float | None] = {}
    for verb, number in truths.items():
        hits = [hit for _, hit in sorted(ranked.get(verb, []), key=lambda entry: -entry[0])]
        ap[verb] = variant_ap(hits, number, variant)
    return {"map": mean(ap.values()), "ap": ap}


def _pair(triplet: Triplet) -> Pair:
    return Pair(triplet.human_box, triplet.object_box, triplet.object)


def _on(a: Box, b: Box) -> bool:
    return iou_pixels_strict(a, b) >= 0.5


def _same(a: Pair, b: Pair) -> bool:
    return a.object == b.object and _on(a.human_box, b.human_box) and _on(a.object_box, b.object_box)


def _distinct(found: Sequence[Pair], option: PairsOption) -> list[Pair]:
    """Decision 21."""
    kept: list[Pair] = []
    for pair in found:
        if not any(pair == each if option == "index" else _same(pair, each) for each in kept):
            kept.append(pair)
    return kept


def _largest_one_to_one(options: Sequence[Sequence[int]]) -> int:
    """How many can have a partner of their own: each newcomer may send the others elsewhere, one after the other."""
    partner_of: dict[int, int] = {}

    def seated(who: int, asked: set[int]) -> bool:
        for option in options[who]:
            if option not in asked:
                asked.add(option)
                if option not in partner_of or seated(partner_of[option], asked):
                    partner_of[option] = who
                    return True
        return False

    return sum(seated(who, set()) for who in range(len(options)))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
