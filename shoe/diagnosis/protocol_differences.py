"""Causes of score differences between protocols: differing rules, near duplicates, unverified false positives.

Near duplicates are annotations of one interaction with almost equal boxes. A model that predicts the interaction once
then misses a ground truth, whereas a model that predicts it twice has two true positives.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from math import factorial

import msgspec
import numpy as np
from msgspec.structs import asdict
from numpy.typing import NDArray

from shoe.benchmarks.base import ImageLabel
from shoe.benchmarks.scoring_options import STRICT_PREFIX, Interpolation, StrictOptions, settings
from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import Floats, Indices, Ints, Mask, first_of_each, index_in_group, mask_of
from shoe.core.boxes import CommonCoordinates, Overlap, OverlapRule
from shoe.core.documents import Count, Document, Fraction, Gain, GainFields, MeanFields, as_base_class
from shoe.core.interactions import Interactions
from shoe.scoring.average_precision import ranked_lists
from shoe.scoring.entries import AveragingRule, ClassScores, Means
from shoe.scoring.matching.task import Boxes, Task, overlaps
from shoe.scoring.score import Report
from shoe.scoring.strict import strict_entries

THRESHOLDS = (0.9, 0.7, 0.5)
"""Minimum continuous IoUs at which two boxes, or both boxes of two triplets of a class, are near duplicates."""


class NearDuplicates(Document, frozen=True):
    """Number of near duplicates in the ground truth at one IoU threshold, and mAP after merging them.

    Boxes or triplets that overlap at the threshold form groups. All but one of a group count as near duplicates.

    Attributes:
        threshold: IoU threshold.
        humans: number of near duplicates among the human boxes of the same image, over all images.
        objects: number of near duplicates among the object boxes of the same image and object label.
        triplets: number of near duplicates among the triplets of the same image and class.
        images, classes: number of images and classes with near-duplicate triplets.
        protocols: mAP by protocol after each group of triplets is merged into one triplet with the mean boxes.
    """

    threshold: Fraction
    humans: Count
    objects: Count
    triplets: Count
    images: Count
    classes: Count
    protocols: dict[str, MeanFields]


def near_duplicates(task: Task, protocols: Sequence[StrictOptions]) -> list[NearDuplicates]:
    """Return the number of near duplicates, and mAP after merging them, for each IoU threshold in ``THRESHOLDS``."""
    truth, table = task.truth, task.truth.interactions
    humans = _boxes(table, table.human_boxes, np.zeros(len(table), np.int64))
    objects = _boxes(table, table.object_boxes, table.object)
    found = []
    for threshold in THRESHOLDS:
        group = groups(table, truth.hoi, threshold)
        size = np.bincount(group)
        several = np.flatnonzero(size[group] > 1)
        changed = Task(task.predictions, merge_groups(truth, group)) if len(several) else task
        gone = _that_go(*humans, threshold), _that_go(*objects, threshold), len(group) - len(size)
        touched = len(np.unique(table.image[several])), len(np.unique(truth.hoi[several]))
        means = {each.protocol: MeanFields(**strict_entries(changed, each).means()._asdict()) for each in protocols}
        found.append(NearDuplicates(threshold, *gone, *touched, means))
    return found


def _boxes(table: Interactions, boxes: Floats, label: Indices | Ints) -> tuple[Interactions, Indices]:
    """Return a table with the distinct boxes per image and label, each as human and as object box, and the labels."""
    rows = np.sort(np.unique(np.column_stack([table.image, label, boxes]), axis=0, return_index=True)[1])
    return replace(table.select(rows), human_boxes=boxes[rows], object_boxes=boxes[rows]), label[rows]


def _that_go(table: Interactions, label: Indices | Ints, threshold: float) -> int:
    return len(table) - len(np.unique(groups(table, label, threshold)))


def groups(table: Interactions, label: Indices | Ints, threshold: float) -> Indices:
    """Return the (n,) group index, from 0, of each triplet. Near duplicates are in the same group.

    Near duplicates are triplets of one image and ``label`` whose human IoU and object IoU (continuous) are both at
    least ``threshold``. A group also contains triplets that are connected by a chain of near duplicates.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    boxes, first = Boxes(table, CommonCoordinates.EDGES), table.offsets[:-1]
    pairs = overlaps(boxes, boxes, first, np.diff(table.offsets), OverlapRule(Overlap.CONTINUOUS, threshold, True))
    pairs = pairs.select(label[pairs.truth] == label[pairs.prediction])
    links = coo_array((np.ones(len(pairs)), (pairs.truth, pairs.prediction)), shape=(len(table), len(table)))
    return np.asarray(connected_components(links, directed=False)[1])


def merge_groups(truth: GroundTruth, group: Indices) -> GroundTruth:
    """Return the ground truth in which each group of triplets is replaced by its first triplet, with mean boxes.

    ``group`` is the (n,) group index of each triplet, from :func:`groups`.
    """
    order = np.argsort(group, kind="stable")
    first = np.sort(order[first_of_each(group[order])])
    table, size = truth.interactions, np.bincount(group)

    def mean(boxes: Floats) -> Floats:
        return np.stack([np.bincount(group, weights=column) / size for column in boxes.T], axis=1)[group[first]]

    kept = replace(table.select(first), human_boxes=mean(table.human_boxes), object_boxes=mean(table.object_boxes))
    return replace(truth, interactions=kept)


# Which false positives were verified by annotators? HICO's image labels show it (docs/protocols.md 1).
#
# Annotators labelled some classes of an image as yes, no or ambiguous, and did not label most classes. Protocols count
# an unmatched prediction as wrong even if no annotator checked whether its class is in the image.


class Verdicts(Document, frozen=True):
    """Number of false positives by the image label of their class: yes, no, ambiguous, or not labelled."""

    in_image: Count
    verified_wrong: Count
    ambiguous: Count
    never_verified: Count


class FalsePositives(Document, frozen=True):
    """False positives under one protocol, by the image label that annotators gave to the predicted class.

    Attributes:
        all: numbers of false positives by image label.
        top: numbers among the n best-scored predictions of each class with n ground truths.
        without_unknown: mAP without the false positives whose class was never annotated in the image.
        verified_only: mAP without the false positives whose class was never annotated, or is ambiguous, in the image.
    """

    all: Verdicts
    top: Verdicts
    without_unknown: MeanFields = msgspec.field(name="without_never_verified")
    verified_only: MeanFields


def false_positives(task: Task, protocols: Sequence[StrictOptions]) -> dict[str, FalsePositives]:
    """Return {protocol: false positives by image label, and mAP without unverified ones}; {} without image labels."""
    labels, found = task.truth.image_labels, {}
    if labels is None:
        return {}
    for options in protocols:
        entries = strict_entries(task, options)
        label, false = labels[entries.category, entries.image], entries.credit == 0
        unknown, perhaps = false & (label == ImageLabel.UNKNOWN), false & (label == ImageLabel.PERHAPS)
        order = np.lexsort((-entries.score, entries.category))
        place = index_in_group(np.bincount(entries.category))
        top = mask_of(order[place < entries.truths[entries.category[order]]], len(label))
        found[options.protocol] = FalsePositives(
            _verdicts(label, false),
            _verdicts(label, false & top),
            MeanFields(**entries.select(~unknown).means()._asdict()),
            MeanFields(**entries.select(~(unknown | perhaps)).means()._asdict()),
        )
    return found


def _verdicts(label: NDArray[np.int8], rows: Mask) -> Verdicts:
    # A false positive whose class is in the image has wrong boxes, or is a duplicate.
    verdicts = (ImageLabel.YES, ImageLabel.NO, ImageLabel.PERHAPS, ImageLabel.UNKNOWN)
    return Verdicts(*(int((label[rows] == verdict).sum()) for verdict in verdicts))


# Rules are switched one by one from the first to the second protocol. The effect of a rule depends on the rules that
# were switched before. The share of a rule is its mean effect over all orders, the Shapley value (Shapley 1953): the
# only shares that sum to the difference, are 0 for a rule without effect, and equal for rules with equal effects.

_SAME = 5e-13  # tolerance for AP differences that come only from the order of floating-point sums
Watch = Callable[[Sequence[StrictOptions]], Iterable[StrictOptions]]


Measured = tuple[Means, Floats]
"""Scores under one set of rules: means, and (K,) average precision of the classes; NaN for a class outside the mean."""


class RuleShare(GainFields, frozen=True):
    """Rule in which two protocols differ, with its share of the difference in mAP.

    Attributes:
        name: name of the option, such as "strict.cap".
        before, after: value of the option under the first and under the second protocol, as text.
    """

    name: str
    before: str
    after: str


class MovedClass(Document, frozen=True, rename={"name": "class"}):
    """Class with different average precision (AP) under two protocols.

    Attributes:
        name: verb and object of the class.
        before, after: AP under the first and under the second protocol.
        rules: share of each rule in the difference of AP, by name of the option, largest absolute share first.
    """

    name: str
    before: Fraction
    after: Fraction
    rules: dict[str, Gain]


class Difference(Document, frozen=True, kw_only=True):
    """Difference in mAP between two protocols, and the rules that cause it.

    Attributes:
        before, after: names of the first and of the second protocol.
        map, map_rare, map_non_rare: differences of mAP (after - before) over all, rare and non-rare classes.
        rules: differing rules, largest absolute share first. The sum of their shares is the difference.
        classes: classes that are in both means and differ in AP, largest absolute difference first.
        left_mean, entered_mean: number of classes that are only in the mean of the first protocol, and only in the mean
            of the second protocol.
    """

    before: str
    after: str
    map: Gain | None = None
    map_rare: Gain | None = None
    map_non_rare: Gain | None = None
    rules: list[RuleShare]
    classes: list[MovedClass]
    left_mean: Count
    entered_mean: Count


def count_mixtures(protocols: Sequence[StrictOptions]) -> int:
    """Return the number of sets of options that :func:`differences` scores, for the length of a progress bar."""
    return len({options for other in protocols[1:] for options in _mixtures(protocols[0], other)[1]})


def differences(task: Task, protocols: Sequence[StrictOptions], watch: Watch = iter) -> list[Difference]:
    """Return the difference in mAP between the first and each other protocol, and the share of each differing option.

    The shares are Shapley values: if two protocols differ in d options, all 2^d mixtures of their options are scored.
    ``watch``, a function like ``tqdm``, wraps the sequence of these mixtures to show progress.
    """
    plans = [(other, *_mixtures(protocols[0], other)) for other in protocols[1:]]
    wanted = dict.fromkeys(options for _, _, mixtures in plans for options in mixtures)
    found: dict[StrictOptions, Measured] = {}
    last = entries = None
    for options in watch(sorted(wanted, key=lambda options: repr(_entry_options(options)))):
        early = _entry_options(options)
        if entries is None or early != last:  # options with equal entries follow each other and share the entries
            last, entries, ranked = early, strict_entries(task, options), {}
        rule, truths = AveragingRule.from_options(options), entries.truths
        if rule.ap not in ranked:
            columns = entries.category, entries.score, entries.credit
            ranked[rule.ap] = ranked_lists(*columns, truths, rule.ap, rule.ties, rule.epsilon)
        scores = ClassScores.from_lists(ranked[rule.ap], truths, entries.counted, rule, entries.unseen)
        found[options] = scores.means(entries.rare, entries.unseen), np.where(scores.in_mean, scores.ap, np.nan)
    return [
        _difference(task, protocols[0], other, names, [found[options] for options in mixtures])
        for other, names, mixtures in plans
    ]


def _mixtures(before: StrictOptions, after: StrictOptions) -> tuple[list[str], list[StrictOptions]]:
    """Return the names of the d options that differ, and the 2^d mixtures of the two protocols.

    If bit i of the index of a mixture is set, its option i is that of ``after``, otherwise that of ``before``.
    """
    rules = [f.name for f in fields(before) if f.name != "protocol"]
    names = [name for name in rules if getattr(before, name) != getattr(after, name)]
    neutral = replace(before, protocol="")
    return names, [
        replace(neutral, **{name: getattr(after, name) for i, name in enumerate(names) if mask >> i & 1})
        for mask in range(2 ** len(names))
    ]


def _entry_options(options: StrictOptions) -> StrictOptions:
    """Return a copy with fixed values of the options that do not change entries: interpolation and averaging."""
    return replace(
        options, ap=Interpolation.ELEVEN, zero_tp="zero", unpredicted="zero", truthless="absent", unseen="count"
    )


def _difference(
    task: Task, before: StrictOptions, after: StrictOptions, names: Sequence[str], measured: Sequence[Measured]
) -> Difference:
    values = np.array([[np.nan if mean is None else mean for mean in means] for means, _ in measured])
    texts = settings(before, quiet=True), settings(after, quiet=True)
    public = [f"{STRICT_PREFIX}{name.replace('_', '-')}" for name in names]
    found = []
    for name, own, ap in zip(public, shapley(values), shapley(np.array([ap for _, ap in measured])), strict=True):
        means = Means(*(None if np.isnan(value) else float(value) for value in own))
        found.append((RuleShare(name, texts[0][name], texts[1][name], **means._asdict()), ap))
    found.sort(key=lambda share: -abs(share[0].map or 0))
    (first, ap_before), (last, ap_after) = measured[0], measured[-1]
    by = np.nan_to_num(ap_after - ap_before)
    classes = []
    for k in np.argsort(-np.abs(by), kind="stable").tolist():
        if abs(by[k]) <= _SAME:
            break
        of_class = sorted(((rule.name, float(ap[k])) for rule, ap in found), key=lambda share: -abs(share[1]))
        moving = {name: share for name, share in of_class if abs(share) > _SAME}
        classes.append(MovedClass(task.truth.classes.labels[k], float(ap_before[k]), float(ap_after[k]), moving))
    in_first, in_last = ~np.isnan(ap_before), ~np.isnan(ap_after)
    return Difference(
        before=before.protocol,
        after=after.protocol,
        **last.minus(first)._asdict(),
        rules=[rule for rule, _ in found],
        classes=classes,
        left_mean=int((in_first & ~in_last).sum()),
        entered_mean=int((in_last & ~in_first).sum()),
    )


def shapley(values: Floats) -> Floats:
    """Return the (d, M) Shapley values of d switches: the share of each switch in the difference of each of M metrics.

    ``values`` is (2^d, M): the metrics for each on/off combination of the switches. Switch i is on if bit i of the
    index of the combination is 1. The sum of the shares is the last row of ``values`` minus the first row.

    >>> shapley(np.array([[0.0], [1.0], [2.0], [4.0]])).ravel().tolist()
    [1.5, 2.5]
    """
    masks, number = np.arange(len(values)), len(values).bit_length() - 1
    on = np.array([mask.bit_count() for mask in range(len(values))], np.int64)
    orders = [factorial(k) * factorial(number - k - 1) / factorial(number) for k in range(number)]
    shares = np.zeros((number, values.shape[1]))
    for switch in range(number):
        off = masks[masks >> switch & 1 == 0]
        shares[switch] = np.array(orders)[on[off]] @ (values[off | 1 << switch] - values[off])
    return shares


# All causes of different scores of one file under different protocols, including those in the annotation.


class SignedMeans(MeanFields, frozen=True):
    """mAP under one protocol over all, rare and non-rare classes, with its signature."""

    signature: str


class Explained(Document, frozen=True):
    """Explanation of different mAP values under the exact-label protocols of a report.

    Attributes:
        protocols: mAP under each protocol, by name.
        differences: differences between the first protocol and each other protocol.
        near_duplicates: near duplicates in the ground truth, for each IoU threshold.
        false_positives: counts of false positives under each protocol, by the image label of their class (yes, no,
            ...), and mAP without unverified ones; empty if the ground truth has no image labels.
        notes: warnings and notes on the predictions.
    """

    protocols: dict[str, SignedMeans]
    differences: list[Difference]
    near_duplicates: list[NearDuplicates]
    false_positives: dict[str, FalsePositives] = msgspec.field(default_factory=dict)
    notes: list[str] = msgspec.field(default_factory=list)


def explain(report: Report, watch: Watch = iter) -> Explained:
    """Return an explanation of the different mAP values of the same predictions under exact-label protocols.

    ``watch`` is a function like ``tqdm`` that wraps the iterable of steps; :func:`count_mixtures` returns its length.
    """
    task, protocols = report.task, [result.options for result in report.strict_results]
    signed = {
        r.protocol: SignedMeans(str(report.signature_of(r)), **asdict(as_base_class(r, MeanFields)))
        for r in report.strict_results
    }
    found = differences(task, protocols, watch), near_duplicates(task, protocols), false_positives(task, protocols)
    return Explained(signed, *found, report.remarks)
