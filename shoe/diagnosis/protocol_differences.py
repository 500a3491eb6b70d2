"""Why protocols give different figures: rules in which they differ, near duplicates, and unverified false positives.

A model that finds one of two near-duplicate annotations misses the other; one that predicts it twice is credited twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from math import factorial

import msgspec
import numpy as np
from msgspec.structs import asdict
from numpy.typing import NDArray

from shoe.benchmarks.base import ImageLabel
from shoe.benchmarks.protocol_options import STRICT_PREFIX, Interpolation, StrictOptions, settings
from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import Floats, Indices, Ints, Mask, first_of_each
from shoe.core.boxes import CommonCoordinates, Overlap, OverlapRule
from shoe.core.documents import Count, Document, Fraction, Gain, GainFields, MeanFields, narrowed
from shoe.core.interactions import Interactions
from shoe.scoring.average_precision import ranked_lists
from shoe.scoring.entries import ClassScores, Entries, Means, Rule
from shoe.scoring.matching.task import Boxes, Task, overlaps
from shoe.scoring.score import Report
from shoe.scoring.strict import strict_entries

THRESHOLDS = (0.9, 0.7, 0.5)
"""IoUs, continuous, from which two boxes, or both boxes of two triplets of a class, are one."""


class NearDuplicates(Document, frozen=True):
    """Near duplicates at one threshold; of each group one stays.

    Attributes:
        threshold: the IoU.
        humans: number of person boxes removed, per image.
        objects: the same for boxes of one object label.
        triplets: number of triplets removed, per image and class.
        images, classes: numbers of images and classes with such triplets.
        protocols: by protocol, mAP where each group of triplets became one, on the mean of its boxes.
    """

    threshold: Fraction
    humans: Count
    objects: Count
    triplets: Count
    images: Count
    classes: Count
    protocols: dict[str, MeanFields]


def near_duplicates(task: Task, protocols: Sequence[StrictOptions]) -> list[NearDuplicates]:
    """Merge near duplicates of the ground truth and score again, for each of ``THRESHOLDS``."""
    truth, table = task.truth, task.truth.interactions
    humans = _boxes(table, table.human_boxes, np.zeros(len(table), np.int64))
    objects = _boxes(table, table.object_boxes, table.object)
    found = []
    for threshold in THRESHOLDS:
        group = groups(table, truth.hoi, threshold)
        size = np.bincount(group)
        several = np.flatnonzero(size[group] > 1)
        changed = Task(task.predictions, merged(truth, group)) if len(several) else task
        found.append(
            NearDuplicates(
                threshold,
                humans=_that_go(*humans, threshold),
                objects=_that_go(*objects, threshold),
                triplets=len(group) - len(size),
                images=len(np.unique(table.image[several])),
                classes=len(np.unique(truth.hoi[several])),
                protocols={
                    options.protocol: MeanFields(**strict_entries(changed, options).means()._asdict())
                    for options in protocols
                },
            )
        )
    return found


def _boxes(table: Interactions, boxes: Floats, label: Indices | Ints) -> tuple[Interactions, Indices]:
    """Return each image's distinct boxes of a label, as triplets with that box twice; and their labels."""
    _, first = np.unique(np.column_stack([table.image, label, boxes]), axis=0, return_index=True)
    rows = np.sort(first)
    kept = table.select(rows)
    return replace(kept, human_boxes=boxes[rows], object_boxes=boxes[rows]), label[rows]


def _that_go(table: Interactions, label: Indices | Ints, threshold: float) -> int:
    return len(table) - len(np.unique(groups(table, label, threshold)))


def groups(table: Interactions, label: Indices | Ints, threshold: float) -> Indices:
    """Group near duplicates: triplets of one image and label both of whose boxes reach an IoU, and chains of such.

    ``label`` is (n,) equal within a group, and ``threshold`` a continuous IoU, 0..1.

    Returns:
        (n,) a number from 0 for each triplet, equal for those of a group.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    boxes, first = Boxes(table, CommonCoordinates.EDGES), table.offsets[:-1]
    pairs = overlaps(boxes, boxes, first, np.diff(table.offsets), OverlapRule(Overlap.CONTINUOUS, threshold, True))
    pairs = pairs.select(label[pairs.truth] == label[pairs.prediction])
    links = coo_array((np.ones(len(pairs)), (pairs.truth, pairs.prediction)), shape=(len(table), len(table)))
    group: Indices = connected_components(links, directed=False)[1]
    return group


def merged(truth: GroundTruth, group: Indices) -> GroundTruth:
    """Merge each group into one triplet, at the place of its first, on the mean of its boxes."""
    order = np.argsort(group, kind="stable")
    first = np.sort(order[first_of_each(group[order])])
    table, size = truth.interactions, np.bincount(group)

    def mean(boxes: Floats) -> Floats:
        return np.stack([np.bincount(group, weights=column) / size for column in boxes.T], axis=1)[group[first]]

    kept = replace(table.select(first), human_boxes=mean(table.human_boxes), object_boxes=mean(table.object_boxes))
    return replace(truth, interactions=kept)


# Of a detector's false positives, which did anybody look at? HICO's image labels tell (docs/protocols.md 1).
#
# For each image, annotators said yes, no or perhaps of some classes, and of most nothing. Protocols count a prediction
# without a match as wrong all the same, where nobody has ever looked for its class in its image, too.

VERDICTS = {
    "in_image": ImageLabel.YES,
    "verified_wrong": ImageLabel.NO,
    "ambiguous": ImageLabel.PERHAPS,
    "never_verified": ImageLabel.UNKNOWN,
}
"""Of a false positive: its class is in the image (so its boxes are wrong, or it is one too many), is not, may be, or
nobody was asked."""


class Verdicts(Document, frozen=True):
    """Number of false positives by the image label of their class."""

    in_image: Count
    verified_wrong: Count
    ambiguous: Count
    never_verified: Count


class FalsePositives(Document, frozen=True):
    """Unmatched predictions of one protocol by the image label of their class.

    Attributes:
        all: number by verdict.
        top: the same among each class's best predictions, as many as it has ground truths.
        without_unknown: mAP without predictions that nobody ever verified.
        verified_only: mAP without ambiguous ones, too.
    """

    all: Verdicts
    top: Verdicts
    without_unknown: MeanFields = msgspec.field(name="without_never_verified")
    verified_only: MeanFields


def false_positives(task: Task, protocols: Sequence[StrictOptions]) -> dict[str, FalsePositives]:
    """Split the false positives of each protocol; empty where the ground truth has no image labels."""
    labels, found = task.truth.image_labels, {}
    if labels is None:
        return {}
    for options in protocols:
        entries = strict_entries(task, options)
        label = labels[entries.category, entries.image]
        false = entries.credit == 0
        unknown, perhaps = false & (label == ImageLabel.UNKNOWN), false & (label == ImageLabel.PERHAPS)
        top = np.zeros(len(label), bool)
        top[_first(entries)] = True
        found[options.protocol] = FalsePositives(
            _verdicts(label, false),
            _verdicts(label, false & top),
            MeanFields(**entries.select(~unknown).means()._asdict()),
            MeanFields(**entries.select(~(unknown | perhaps)).means()._asdict()),
        )
    return found


def _first(entries: Entries) -> Indices:
    """Return the rows of each class's best entries, as many as it has ground truths."""
    truths = entries.truths
    order = np.lexsort((-entries.score, entries.category))
    ends = np.cumsum(np.bincount(entries.category, minlength=len(truths)))
    first = np.concatenate([[0], ends])[entries.category[order]]
    rows: Indices = order[np.arange(len(order)) - first < truths[entries.category[order]]]
    return rows


def _verdicts(label: NDArray[np.int8], rows: Mask) -> Verdicts:
    return Verdicts(**{name: int((label[rows] == verdict).sum()) for name, verdict in VERDICTS.items()})


# Why two exact-label protocols give different figures: one rule at a time is switched from one's to the other's.
#
# What a rule changes depends on those that were switched before it. Its share is the mean over all orders in which the
# rules can be switched: the Shapley value (Shapley 1953), the only attribution whose parts sum to the difference, that
# gives nothing to a rule that never matters, and the same to rules that do the same.

_SAME = 5e-13
"""AP of a class that no rule moves differs by less, from the order of sums."""
Watch = Callable[[Sequence[StrictOptions]], Iterable[StrictOptions]]


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Figures under one set of rules; K classes.

    Attributes:
        means: mAP over all, rare and non-rare classes.
        ap: (K,) average precision; NaN for a class outside the mean.
    """

    means: Means
    ap: Floats


class RuleShare(GainFields, frozen=True):
    """One rule in which two protocols differ, and its share of the difference of the means.

    Attributes:
        name: name of the option, "strict.cap".
        before, after: its value under each protocol, as text.
    """

    name: str
    before: str
    after: str


class MovedClass(Document, frozen=True, rename={"name": "class"}):
    """A class with different AP under two protocols.

    Attributes:
        name: its verb and object.
        before, after: its AP under each.
        rules: share of each rule in the difference, the largest first.
    """

    name: str
    before: Fraction
    after: Fraction
    rules: dict[str, Gain]


class Difference(Document, frozen=True, kw_only=True):
    """Difference of the means of two protocols, and the rules that explain it.

    Attributes:
        before, after: the protocols.
        map, map_rare, map_non_rare: the differences of the means.
        rules: rules that differ, by falling share; the shares sum to the difference.
        classes: classes in both means with different AP, by the size of the difference.
        left_mean, entered_mean: number of classes in the mean of one protocol alone.
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


def scorings(protocols: Sequence[StrictOptions]) -> int:
    """Return the number of sets of rules that :func:`differences` scores."""
    return len({options for other in protocols[1:] for options in _mixtures(protocols[0], other)[1]})


def differences(task: Task, protocols: Sequence[StrictOptions], watch: Watch = iter) -> list[Difference]:
    """Explain the difference between the first protocol and each of the others.

    All mixtures of two protocols' rules are scored: 2 to the power of the number of rules that differ, each once.

    Returns:
        One for each protocol but the first.
    """
    plans = [(other, *_mixtures(protocols[0], other)) for other in protocols[1:]]
    wanted = dict.fromkeys(options for _, _, mixtures in plans for options in mixtures)
    found = _measure(task, list(wanted), watch)
    return [
        _difference(task, protocols[0], other, names, [found[options] for options in mixtures])
        for other, names, mixtures in plans
    ]


def _mixtures(before: StrictOptions, after: StrictOptions) -> tuple[list[str], list[StrictOptions]]:
    """Return the d fields that differ, and the 2^d mixtures; bit i of a mixture's index selects ``after``'s field i."""
    rules = [f.name for f in fields(before) if f.name != "protocol"]
    names = [name for name in rules if getattr(before, name) != getattr(after, name)]
    neutral = replace(before, protocol="")
    return names, [
        replace(neutral, **{name: getattr(after, name) for i, name in enumerate(names) if mask >> i & 1})
        for mask in range(2 ** len(names))
    ]


def _measure(task: Task, wanted: Sequence[StrictOptions], watch: Watch) -> dict[StrictOptions, Measured]:
    """Score under each set of rules; sets that rank the same entries are adjacent and share them."""
    found: dict[StrictOptions, Measured] = {}
    last, entries = None, None
    for options in watch(sorted(wanted, key=lambda options: repr(_early(options)))):
        early = _early(options)
        if entries is None or early != last:
            last, entries, ranked = early, strict_entries(task, options), {}
        rule, truths = Rule.of(options), entries.truths
        if rule.ap not in ranked:
            columns = entries.category, entries.score, entries.credit
            ranked[rule.ap] = ranked_lists(*columns, truths, rule.ap, rule.ties, rule.epsilon)
        scores = ClassScores.of(ranked[rule.ap], truths, entries.counted, rule, entries.unseen)
        found[options] = Measured(
            scores.means(entries.rare, entries.unseen), np.where(scores.in_mean, scores.ap, np.nan)
        )
    return found


def _early(options: StrictOptions) -> StrictOptions:
    """Return the options that entries depend on: not interpolation, nor which classes are in a mean."""
    return replace(
        options, ap=Interpolation.ELEVEN, zero_tp="zero", unpredicted="zero", truthless="absent", unseen="count"
    )


def _difference(
    task: Task, before: StrictOptions, after: StrictOptions, names: Sequence[str], measured: Sequence[Measured]
) -> Difference:
    values = np.array([[np.nan if mean is None else mean for mean in one.means] for one in measured])
    texts = settings(before, quiet=True), settings(after, quiet=True)
    public = [f"{STRICT_PREFIX}{name.replace('_', '-')}" for name in names]
    shares = zip(public, shapley(values), shapley(np.array([one.ap for one in measured])), strict=True)
    found = [(RuleShare(name, texts[0][name], texts[1][name], **_means(of)._asdict()), ap) for name, of, ap in shares]
    found.sort(key=lambda of: -abs(of[0].map or 0))
    first, last = measured[0], measured[-1]
    by = np.nan_to_num(last.ap - first.ap)
    classes = []
    for k in np.argsort(-np.abs(by), kind="stable").tolist():
        if abs(by[k]) <= _SAME:
            break
        of_class = sorted(((rule.name, float(ap[k])) for rule, ap in found), key=lambda share: -abs(share[1]))
        moving = {name: share for name, share in of_class if abs(share) > _SAME}
        classes.append(MovedClass(task.truth.classes.labels[k], float(first.ap[k]), float(last.ap[k]), moving))
    in_first, in_last = ~np.isnan(first.ap), ~np.isnan(last.ap)
    return Difference(
        before=before.protocol,
        after=after.protocol,
        **last.means.minus(first.means)._asdict(),
        rules=[rule for rule, _ in found],
        classes=classes,
        left_mean=int((in_first & ~in_last).sum()),
        entered_mean=int((in_last & ~in_first).sum()),
    )


def _means(values: Floats) -> Means:
    return Means(*(None if np.isnan(value) else float(value) for value in values))


def shapley(values: Floats) -> Floats:
    """Attribute a difference to d switches, given the results of all 2^d combinations.

    >>> shapley(np.array([[0.0], [1.0], [2.0], [4.0]])).ravel().tolist()
    [1.5, 2.5]

    Args:
        values: (2^d, M) M figures of each combination; bit i of its index is switch i.

    Returns:
        (d, M) shares; their sum over switches is the last row less the first.
    """
    masks = np.arange(len(values))
    number = len(values).bit_length() - 1
    on = np.array([mask.bit_count() for mask in range(len(values))], np.int64)
    orders = [factorial(k) * factorial(number - k - 1) / factorial(number) for k in range(number)]
    shares = np.zeros((number, values.shape[1]))
    for switch in range(number):
        off = masks[masks >> switch & 1 == 0]
        weight = np.array(orders)[on[off]]
        shares[switch] = weight @ (values[off | 1 << switch] - values[off])
    return shares


# Why the figures of one file differ between protocols, and what the annotation has to do with them: all of it.


class SignedMeans(MeanFields, frozen=True):
    """A protocol's figures and signature."""

    signature: str


class Explained(Document, frozen=True):
    """Explanation of a report's exact-label figures.

    Attributes:
        protocols: the figures, by protocol.
        differences: between the first protocol and each other one.
        near_duplicates: near duplicates of the ground truth, at each threshold.
        false_positives: false positives of each protocol by image label, where the ground truth has image labels.
    """

    protocols: dict[str, SignedMeans]
    differences: list[Difference]
    near_duplicates: list[NearDuplicates]
    false_positives: dict[str, FalsePositives] = msgspec.field(default_factory=dict)


def explain(report: Report, watch: Watch = iter) -> Explained:
    """Explain why exact-label protocols give different figures for the same predictions.

    Args:
        report: report of the protocols to compare, the first with each other one.
        watch: wraps the iteration over the sets of rules, to show progress; see
            :func:`shoe.diagnosis.protocol_differences.scorings` for their number.
    """
    task, protocols = report.task, [result.options for result in report.strict_results]
    signed = {
        r.protocol: SignedMeans(str(report.signature_of(r)), **asdict(narrowed(r, MeanFields)))
        for r in report.strict_results
    }
    return Explained(
        signed, differences(task, protocols, watch), near_duplicates(task, protocols), false_positives(task, protocols)
    )
