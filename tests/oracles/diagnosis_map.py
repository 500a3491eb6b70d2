"""mAP after the oracles of Diag-HOI, and what each of them gains; decisions in ``diagnosis``."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypedDict

from shoe.benchmarks.classes import HoiClasses
from tests.oracles.average_precision import all_points, eleven_point, mean
from tests.oracles.diagnosis import ERROR_TYPES, Diagnosed, Variant
from tests.oracles.diagnosis_fixes import ORACLES, PROGRESSIVE, Choose, State, greedy, missed_truths, unfixed


class MapFigures(TypedDict):
    """None where there is nothing to measure; ``ap`` has one entry per class of the dataset."""

    map: float | None
    map_rare: float | None
    map_non_rare: float | None
    ap: list[float | None]


def oracle_map(
    images: Sequence[Diagnosed], classes: HoiClasses, oracle: str | None = None, choose: Choose = greedy
) -> MapFigures:
    """MAP after one oracle alone (Eq. 2's mAP_o); before any for None."""
    # ``choose`` does what the papers do at random; images are asked in order, predictions by rank.
    states = [unfixed(image) for image in images]
    if oracle is not None:
        for state in states:
            ORACLES[oracle](state, choose)
    return _figures(states, classes)


def progressive_maps(
    images: Sequence[Diagnosed], classes: HoiClasses, choose: Choose = greedy, order: Sequence[str] = PROGRESSIVE
) -> list[MapFigures]:
    """MAP after each of the oracles, each applied to what the ones before it left (Eq. 5); the last step of all is 1.

    ``missed_gt`` leaves out every truth still without a true positive (19), so it belongs at the end.
    """
    states = [unfixed(image) for image in images]
    found = []
    for name in order:
        for state in states:
            ORACLES["false_negative" if name == "missed_gt" else name](state, choose)
        found.append(_figures(states, classes))
    return found


def counts(images: Iterable[Diagnosed], choose: Choose = greedy) -> dict[str, int]:
    """Predictions of each type; missed truths; all false positives and negatives."""
    images = list(images)
    types = Counter(p.type for image in images for p in image.predictions)
    found: dict[str, int] = {kind: types[kind] for kind in ERROR_TYPES}
    found["missed_gt"] = len(missed_truths(images, choose))
    found["false_positive"] = sum(types.values()) - types["true_positive"]
    found["false_negative"] = sum(len(image.truth) for image in images) - types["true_positive"]
    return found


def variant_ap(hits: Sequence[int], truths: int, variant: Variant) -> float | None:
    """AP of a ranking, None where it is in no mean (17)."""
    if truths == 0:
        return None
    if variant == "paper":
        return all_points(hits, truths, epsilon=0)
    in_vain = len(hits) > 0 and not any(hits)
    return None if in_vain else eleven_point(hits, truths, "arange")


def _figures(states: Sequence[State], classes: HoiClasses) -> MapFigures:
    """Decision 17."""
    truths = [0] * len(classes)
    ranked: dict[int, list[tuple[float, int]]] = {}
    for state in states:
        for place, truth in enumerate(state.image.truth):
            if place not in state.left_out:
                truths[truth.hoi] += 1
        for entry in state.entries:
            ranked.setdefault(entry.hoi, []).append((entry.source.score, int(entry.type == "true_positive")))

    variant = states[0].image.variant if states else "paper"
    ap: list[float | None] = []
    parts: dict[bool, list[float | None]] = {True: [], False: []}
    for k, number in enumerate(truths):
        hits = [hit for _, hit in sorted(ranked.get(k, []), key=lambda each: -each[0])]
        ap.append(variant_ap(hits, number, variant))
        if hits or variant == "paper":
            parts[bool(classes.rare[k])].append(ap[k])
    return {"map": mean(ap), "map_rare": mean(parts[True]), "map_non_rare": mean(parts[False]), "ap": ap}
