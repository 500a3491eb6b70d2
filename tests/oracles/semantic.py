"""SHOE-mAP and SHOE-mF1 (Algorithms 1 and 2 of the SHOE supplement), loop by loop, with the options of 10.5.

Choices that the text leaves open:

- Images that the ground truth does not list are left out first; then no_interaction (a predicted verb equal to that
  word); then the cap; then tau. A share of tau (``image``, ``dataset``) is taken of what the cap left.
- Equal scores keep the order of the ground truth's images, then of an image's rows, in the cap, in
  ``assign=confidence`` and in ``ties=input``. A rank keeps what ties with the last that it keeps.
- Of equally similar classes the first in class order has the false positive.
- A repeat is told by the numbers and words of the file (one image has one kind), among what the cap and tau left.
- ``assign=best-first`` walks (sigma, confidence, pair IoU, or the last two the other way round, then words and boxes
  of the two); with ``sigma-ties=index`` (sigma, then prediction row, then truth row).
- A missed truth's (0, 0) ties with predictions that have score 0.
- Under ``fp-scope=dataset`` a class without ground truth can have false positives; with ``classes=truth`` they cost
  nothing.
- ``min-sigma=delta`` asks for more than delta, whatever ``delta-at`` is. ``overlap=+1`` is the official script's IoU.
- geometric = verb ** weight * object ** (1 - weight); minimum has no weight.
- ``repeats=near``: a copy of a better prediction of the image that is no copy itself; better by score, then verb,
  object, human box and object box from their last number on, then row.
- Predictions with a word that has no sense and is no label do not count for a share of tau, nor for ``tau-by=best``.
- ``tau-by=best`` keeps the fewest of equally good, and counts predictions that may match a truth, or are else false
  positives of a class that F1 is averaged over.
- Rates are fractions. The prediction miss rate is of the predictions after tau; repeats count as unmatched.
- ``f1-classes=counted``: classes with ground truth, or with a false positive.
"""

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, TypedDict

from shoe.benchmarks.classes import HoiClasses
from tests.oracles.assignment import Candidate, assigned
from tests.oracles.average_precision import EPSILON, Entry, average_precision, expected_ap, mean
from tests.oracles.boxes import Box, Compared, iou_continuous, iou_pixels, moved
from tests.oracles.meaning import SENSELESS, Meaning, Options, Similarity
from tests.oracles.model import ImageScene, Triplet, Truth, class_words

Pair = tuple[str, int, int]
"""Image, row of the truth in the scene, row of the prediction in the scene."""


class SemanticFigures(TypedDict):
    """None where there is nothing to measure.

    ``matched``, ``false_positives`` (image, prediction row, class) and ``sigma_total`` are of the mAP; ``matched_f1``
    and the rates of the mF1.
    """

    map: float | None
    mf1: float | None
    ap: list[float | None]
    f1: list[float | None]
    gt_miss_rate: float | None
    prediction_miss_rate: float | None
    no_overlap_rate: float | None
    mf1_best_tau: float | None
    matched: list[Pair]
    matched_f1: list[Pair]
    false_positives: list[Pair]
    sigma_total: float


@dataclass(frozen=True, slots=True)
class _Prediction:
    row: int
    verb: str
    noun: str
    score: float
    human: Box
    object: Box
    known: bool
    """Whether both words have a sense or are labels."""
    said: Triplet
    """The prediction without its score, in the numbers of its file."""


@dataclass(frozen=True, slots=True)
class _Image:
    name: str
    truth: list[Truth]
    predictions: list[_Prediction]


@dataclass(frozen=True, slots=True)
class _Outcome:
    """One image after matching: (truth, prediction or None, sigma) per truth, and (prediction, class or None)."""

    name: str
    truth: list[tuple[Truth, _Prediction | None, float]]
    unmatched: list[tuple[_Prediction, int | None]]


def semantic(
    scenes: Iterable[ImageScene],
    classes: HoiClasses,
    verb_similarity: Similarity,
    object_similarity: Similarity,
    options: Mapping[str, object] | None = None,
    senseless: Container[str] = SENSELESS,
) -> SemanticFigures:
    """Score scenes, in the order of the ground truth's images, by meaning."""
    chosen = replace(Options(), **{name.replace("-", "_"): value for name, value in (options or {}).items()})  # type: ignore[arg-type]
    words = class_words(classes)
    kept = [k for k, (verb, _) in enumerate(words) if chosen.no_interaction == "keep" or verb != "no_interaction"]
    numbers = {words[k]: k for k in kept}
    known = {word for pair in words for word in pair}

    def is_known(word: str) -> bool:
        return word in known or word not in senseless

    images = [_image(scene, numbers, chosen, is_known) for scene in scenes if scene.known]
    meaning = Meaning(verb_similarity, object_similarity, chosen, kept, len(words))

    ranked = images if chosen.map_tau is None else [_at_least(image, chosen.map_tau) for image in images]
    for_map = [_matched(image, meaning) for image in ranked]
    counts = [0] * len(words)
    for image in images:
        for truth in image.truth:
            counts[truth.hoi] += 1
    best = _best(images, counts, meaning)
    best_f1 = mean(_f1([_matched(image, meaning, f1=True) for image in best], counts, chosen))
    confident = best if chosen.tau_by == "best" else _confident(images, chosen)
    for_f1 = [_matched(image, meaning, f1=True) for image in confident]

    ap = _average_precisions(for_map, counts, kept, chosen)
    f1 = _f1(for_f1, counts, chosen)
    truths = missed = predictions = wrong = apart = 0
    for image, outcome in zip(confident, for_f1, strict=True):
        apart += sum(not any(_overlaps(t, p, chosen) for t in image.truth) for p in image.predictions)
        truths += len(outcome.truth)
        missed += sum(prediction is None for _, prediction, _ in outcome.truth)
        predictions += len(image.predictions)
        wrong += sum(hoi is not None or chosen.prediction_misses == "all" for _, hoi in outcome.unmatched)
    return {
        "map": mean(ap),
        "mf1": mean(f1),
        "ap": ap,
        "f1": f1,
        "gt_miss_rate": missed / truths if truths else None,
        "prediction_miss_rate": wrong / predictions if predictions else None,
        "no_overlap_rate": apart / predictions if predictions else None,
        "mf1_best_tau": best_f1,
        "matched": _pairs(for_map),
        "matched_f1": _pairs(for_f1),
        "false_positives": [(o.name, p.row, hoi) for o in for_map for p, hoi in o.unmatched if hoi is not None],
        "sigma_total": sum(sigma for outcome in for_map for _, _, sigma in outcome.truth),
    }


def _image(
    scene: ImageScene, numbers: dict[tuple[str, str], int], options: Options, is_known: Callable[[str], bool]
) -> _Image:
    coordinates: Compared = "indices" if options.overlap == "+1" else "edges"
    truth = []
    for row, t in enumerate(scene.truth):
        if (t.verb, t.object) in numbers:
            human, thing = (moved(box, scene.truth_coordinates, coordinates) for box in (t.human_box, t.object_box))
            truth.append(Truth(row, numbers[t.verb, t.object], t.verb, t.object, human, thing))
    predictions = []
    for row, p in enumerate(scene.predictions):
        if options.no_interaction == "keep" or p.verb != "no_interaction":
            frame = scene.prediction_coordinates
            human, thing = (moved(box, frame, coordinates) for box in (p.human_box, p.object_box))
            known = is_known(p.verb) and is_known(p.object)
            predictions.append(_Prediction(row, p.verb, p.object, p.score, human, thing, known, replace(p, score=0.0)))
    if options.cap is not None:
        best = sorted(predictions, key=lambda p: -p.score)[: options.cap]
        predictions = sorted(best, key=lambda p: p.row)
    return _Image(scene.name, truth, predictions)


def _at_least(image: _Image, score: float) -> _Image:
    return replace(image, predictions=[p for p in image.predictions if p.score >= score])


def _confident(images: list[_Image], options: Options) -> list[_Image]:
    """Algorithm 2, line 2: the predictions that tau keeps."""
    if options.tau_by == "score":
        return [_at_least(image, options.tau) for image in images]
    groups = [[(i, p) for p in image.predictions] for i, image in enumerate(images)]
    if options.tau_by == "dataset":
        groups = [[each for group in groups for each in group]]
    keep: set[tuple[int, int]] = set()
    for group in groups:
        falling = sorted((p.score for _, p in group if p.known), reverse=True)
        best = falling[: max(1, ceil((1 - options.tau) * len(falling) - 1e-9))]
        keep.update((i, p.row) for i, p in group if not best or p.score >= best[-1])
    kept = [[p for p in image.predictions if (i, p.row) in keep] for i, image in enumerate(images)]
    return [replace(image, predictions=predictions) for image, predictions in zip(images, kept, strict=True)]


def _best(images: list[_Image], counts: list[int], meaning: Meaning) -> list[_Image]:
    """The most confident predictions, of 1/8 to 8 times as many as there are truths, for which mF1 is highest."""
    telling = (p for image in images for p in _telling(image, counts, meaning))
    scores = sorted((p.score for p in telling if p.known), reverse=True)
    best, highest = images, -1.0
    for exponent in range(-6, 7):
        kept = min(ceil(sum(counts) * 2 ** (exponent / 2)), len(scores))
        if kept == 0:
            continue
        some = [_at_least(image, scores[kept - 1]) for image in images]
        mf1 = mean(_f1([_matched(image, meaning, f1=True) for image in some], counts, meaning.options)) or 0.0
        if mf1 > highest:
            best, highest = some, mf1
    return best


def _telling(image: _Image, counts: list[int], meaning: Meaning) -> list[_Prediction]:
    """The predictions that could move mF1."""
    may_match = {candidate.prediction for candidate in _candidates(image, meaning)}

    def is_charged(p: _Prediction) -> bool:
        hoi = _false_positive_of(p, image, meaning, f1=True)
        return hoi is not None and (counts[hoi] > 0 or meaning.options.f1_classes == "counted")

    return [p for j, p in enumerate(image.predictions) if j in may_match or is_charged(p)]


def _repeats(predictions: list[_Prediction]) -> set[int]:
    """Positions of predictions that say again what another one says: all copies but the best-scored, first one."""
    copies: dict[Triplet, list[int]] = {}
    for j, p in enumerate(predictions):
        copies.setdefault(p.said, []).append(j)
    counted = {max(same, key=lambda j: (predictions[j].score, -j)) for same in copies.values()}
    return set(range(len(predictions))) - counted


def _near_repeats(predictions: list[_Prediction], meaning: Meaning) -> set[int]:
    """Positions of predictions that say what a better one says, which is no repeat itself."""
    kept: list[_Prediction] = []
    repeats: set[int] = set()

    def is_copy(p: _Prediction, better: _Prediction) -> bool:
        """Whether both boxes overlap, and no class tells the words of the two apart."""
        same = _overlaps(better, p, meaning.options)
        return same and meaning.same(p.verb, better.verb, p.noun, better.noun)

    def rank(j: int) -> tuple[Any, ...]:
        p = predictions[j]
        return -p.score, p.verb, p.noun, p.human[::-1], p.object[::-1]

    for j in sorted(range(len(predictions)), key=rank):
        if any(is_copy(predictions[j], better) for better in kept):
            repeats.add(j)
        else:
            kept.append(predictions[j])
    return repeats


def _matched(image: _Image, meaning: Meaning, f1: bool = False) -> _Outcome:
    """Lines 8 to 30 of Algorithm 1, 8 to 28 of Algorithm 2."""
    options = meaning.options
    candidates = _candidates(image, meaning)
    partner = assigned(candidates, [p.score for p in image.predictions], options.assign, options.sigma_ties)
    truth: list[tuple[Truth, _Prediction | None, float]] = []
    for g, t in enumerate(image.truth):
        if g in partner:
            p = image.predictions[partner[g]]
            truth.append((t, p, meaning.sigma(t.hoi, p.verb, p.noun)))
        else:
            truth.append((t, None, 0.0))
    left = [p for j, p in enumerate(image.predictions) if j not in partner.values()]
    return _Outcome(image.name, truth, [(p, _false_positive_of(p, image, meaning, f1)) for p in left])


def _false_positive_of(p: _Prediction, image: _Image, meaning: Meaning, f1: bool) -> int | None:
    """The class that a prediction counts for if it is not matched, in mAP or in mF1."""
    options = meaning.options
    scope, at = (options.f1_fp_scope, options.f1_delta_at) if f1 else (options.fp_scope, options.delta_at)
    if scope == "image":
        hoi, sigma = meaning.best_of(sorted({t.hoi for t in image.truth}), p.verb, p.noun)
    else:
        hoi, sigma = meaning.best_of_dataset(p.verb, p.noun)
    return hoi if hoi is not None and meaning.reaches_delta(sigma, at) else None


def _candidates(image: _Image, meaning: Meaning) -> list[Candidate]:
    """All (truth, prediction) pairs that may match: both boxes overlap enough and sigma is high enough."""
    options = meaning.options
    barred = _repeats(image.predictions) if options.repeats == "charged" else set()
    if options.repeats == "near":
        barred = _near_repeats(image.predictions, meaning)
    found = []
    for g, t in enumerate(image.truth):
        for j, p in enumerate(image.predictions):
            if j in barred or not _overlaps(t, p, options):
                continue
            sigma = meaning.sigma(t.hoi, p.verb, p.noun)
            if options.min_sigma == "positive" and not sigma > 0:
                continue
            if options.min_sigma == "delta" and not sigma > options.delta:
                continue
            pair = _pair_iou(t, p, options)
            content = (t.verb, t.noun, t.object, t.human, p.verb, p.noun, p.object, p.human)
            found.append(Candidate(g, j, sigma, pair, content))
    return found


def _pair_iou(one: Truth | _Prediction, other: _Prediction, options: Options) -> float:
    iou = iou_pixels if options.overlap == "+1" else iou_continuous
    return min(iou(one.human, other.human), iou(one.object, other.object))


def _overlaps(one: Truth | _Prediction, other: _Prediction, options: Options) -> bool:
    pair = _pair_iou(one, other, options)
    return pair > options.threshold if options.threshold_at == ">" else pair >= options.threshold


def _average_precisions(
    outcomes: list[_Outcome], counts: list[int], kept: list[int], options: Options
) -> list[float | None]:
    """Lines 32 to 40 of Algorithm 1: AP of each class."""
    lists: dict[int, list[Entry]] = {}
    for outcome in outcomes:
        for t, p, sigma in outcome.truth:
            if p is not None:
                lists.setdefault(t.hoi, []).append((p.score, sigma))
            elif options.missed == "keep":
                lists.setdefault(t.hoi, []).append((0.0, 0.0))
        for p, hoi in outcome.unmatched:
            if hoi is not None:
                lists.setdefault(hoi, []).append((p.score, 0.0))
    ap: list[float | None] = [None] * len(counts)
    for k in kept:
        if counts[k] == 0:
            if options.classes == "all":
                ap[k] = 0.0
            continue
        entries = lists.get(k, [])
        if options.ties == "input":
            labels = [label for _, label in sorted(entries, key=lambda entry: -entry[0])]
            ap[k] = average_precision(labels, counts[k], options.ap)
        else:
            ap[k] = expected_ap(entries, counts[k], options.ap)
    return ap


def _f1(outcomes: list[_Outcome], counts: list[int], options: Options) -> list[float | None]:
    """Lines 15 to 35 of Algorithm 2: F1 of each class."""
    tp, fp, fn = ([0.0] * len(counts) for _ in range(3))
    with_false_positive = set()
    for outcome in outcomes:
        for t, p, sigma in outcome.truth:
            if p is not None:
                tp[t.hoi] += sigma
                fp[t.hoi] += 1 - sigma
            else:
                fn[t.hoi] += 1
        for _, hoi in outcome.unmatched:
            if hoi is not None:
                fp[hoi] += 1
                with_false_positive.add(hoi)
    f1: list[float | None] = [None] * len(counts)
    for k, count in enumerate(counts):
        if count > 0 or (options.f1_classes == "counted" and k in with_false_positive):
            precision = tp[k] / (tp[k] + fp[k] + EPSILON)
            recall = tp[k] / ((count if options.recall == "truth" else tp[k] + fn[k]) + EPSILON)
            f1[k] = 2 * precision * recall / (precision + recall + EPSILON)
    return f1


def _pairs(outcomes: list[_Outcome]) -> list[Pair]:
    return [(o.name, t.row, p.row) for o in outcomes for t, p, _ in o.truth if p is not None]
