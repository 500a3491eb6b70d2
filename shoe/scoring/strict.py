"""Mean average precision with exact labels, under each published protocol."""

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.base import ImageLabel
from shoe.benchmarks.scoring_options import StrictOptions, Ties
from shoe.core.arrays import Floats, Indices, argmax_per_run, best_of_each, expand, first_of_each, index_in_group, runs
from shoe.core.documents import Count, Document, Fraction, as_base_class
from shoe.scoring.entries import AveragingRule, Entries, PartMean, harmonic_mean, mean_over
from shoe.scoring.matching.repeats import pair_nms
from shoe.scoring.matching.task import Task


class Strict(Document, frozen=True, kw_only=True):
    """Metrics of one exact-label protocol.

    Attributes:
        protocol: name of the protocol.
        map, map_rare, map_non_rare: mean average precision over all, rare and non-rare classes.
        max_recall: mean over classes of the recall of all predictions.
        classes: number of classes in the mean over all.
        ranked: number of ranked predictions. Predictions on unknown or excluded images, beyond a cap, suppressed by
            NMS, or of a class outside the mean are not ranked.
        tied_share: fraction of ranked predictions whose score equals the score of another prediction of the class.
        parts: means over each part of the class split, by name.
        harmonic_mean: harmonic mean of the means over seen and unseen classes.
    """

    protocol: str
    map: Fraction | None = None
    map_rare: Fraction | None = None
    map_non_rare: Fraction | None = None
    max_recall: Fraction | None = None
    classes: Count
    ranked: Count = msgspec.field(name="ranked_predictions")
    tied_share: Fraction | None = None
    parts: dict[str, PartMean] = msgspec.field(default_factory=dict)
    harmonic_mean: Fraction | None = None


class StrictResult(Strict, frozen=True, eq=False, kw_only=True):
    """Metrics of one exact-label protocol, and the values of each class."""

    options: StrictOptions
    # ap, recall: (K,) average precision and recall of all predictions, NaN for classes outside the mean over all
    ap: Floats
    recall: Floats
    ties_matter: bool  # whether the order of equal scores may change a metric

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.to_dict()}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the metrics, under the keys of ``shoe score --json``."""
        return as_base_class(self, Strict).to_dict()


def strict_score(task: Task, options: StrictOptions) -> StrictResult:
    """Return the metrics of a task under one exact-label protocol."""
    entries = strict_entries(task, options)
    scores = entries.scores()
    means = scores.means(entries.rare, entries.unseen)
    ranked, parts = len(entries.category), scores.part_means(entries.parts)
    return StrictResult(
        protocol=options.protocol,
        options=options,
        ap=np.where(scores.in_mean, scores.ap, np.nan),
        recall=np.where(scores.in_mean, scores.recall, np.nan),
        **means._asdict(),
        max_recall=mean_over(scores.recall, scores.in_mean),
        classes=int(scores.in_mean.sum()),
        ranked=ranked,
        tied_share=scores.tied / ranked if ranked else None,
        ties_matter=scores.ties_matter or (scores.tied > 0 and not options.cap is options.class_cap is None),
        parts=parts,
        harmonic_mean=harmonic_mean(parts),
    )


def strict_entries(task: Task, options: StrictOptions) -> Entries:
    """Return the ranked entries of a protocol: each prediction under its class, with credit 1 if a true positive."""
    truth, classes = task.truth, task.truth.classes
    rows, credit = strict_credits(task, options)
    return Entries(
        category=task.hoi[rows],
        image=task.image[rows],
        score=task.predictions.score[rows],
        credit=credit,
        truth_category=truth.hoi,
        truth_image=truth.interactions.image,
        counted=classes.evaluated(options.no_interaction),
        rare=classes.rare,
        unseen=classes.unseen,
        rule=AveragingRule.from_options(options),
        parts=truth.class_parts,
    )


def strict_credits(task: Task, options: StrictOptions) -> tuple[Indices, Floats]:
    """Return the (r,) rows of ranked predictions, and the (r,) credit of each: 1 for a true positive, else 0."""
    rows = ranked_rows(task, options)
    credit = np.zeros(len(rows))
    credit[true_positives(task, rows, options)] = 1.0
    return rows, credit


def ranked_rows(task: Task, options: StrictOptions) -> Indices:
    """Return the (r,) rows of the predictions that a protocol ranks, images in the order of the ground truth."""
    truths = np.where(task.truth.classes.evaluated(options.no_interaction), task.truth.triplets_per_class, 0)
    image = task.image
    rows = np.flatnonzero(image >= 0)
    if (np.diff(image[rows]) < 0).any():
        rows = rows[np.argsort(image[rows], kind="stable")]
    score = task.predictions.score
    if options.cap is not None:
        cut = best_with_first_copies if options.cap_ties == "first-copies" else best_of_each
        rows = rows[cut(image[rows], score[rows], options.cap)]
    if options.nms is not None:
        rows = pair_nms(task.predictions, rows, options.nms)
    hoi = task.hoi[rows]
    keep = (hoi >= 0) & (truths > 0)[hoi]
    truth, table = task.truth, task.truth.interactions
    if options.empty_images != "count":
        annotated = table.image[truths[truth.hoi] > 0]
        keep &= (np.bincount(annotated, minlength=len(table.images)) > 0)[image[rows]]
    if options.known_object != "no":
        present = np.zeros((len(truth.classes.objects), len(table.images)), bool)
        if options.known_object == "labels" and truth.image_labels is not None:
            np.logical_or.at(present, truth.classes.object, truth.image_labels == ImageLabel.YES)
        else:
            present[table.object, table.image] = True
        keep &= present[truth.classes.object[hoi], image[rows]]
    rows = rows[keep]
    if options.class_cap is not None:
        reverse = options.ties is Ties.REVERSED
        rows = rows[best_of_each(task.hoi[rows], score[rows], options.class_cap, reverse_ties=reverse)]
    return rows


def true_positives(task: Task, entries: Indices, options: StrictOptions) -> Indices:
    """Return the ascending indices into ``entries`` of the true positives.

    A prediction is assigned to the ground truth of its image and class with the largest pair IoU (the first if equal),
    if the boxes pass the overlap rule. Of the predictions assigned to a ground truth, the prediction with the highest
    score is the true positive; the others are false positives.

    ``entries`` are the (e,) rows of the competing predictions, in the order that decides between equal scores; a row
    may occur twice.
    """
    pairs = task.exact_overlaps(options.coordinates, options.rule)
    first, count = runs(pairs.prediction)
    run = np.full(len(task.predictions), -1, np.int32)
    run[pairs.prediction[first]] = np.arange(len(first))
    run = run[entries]
    entry = np.flatnonzero(run >= 0)
    run = run[entry]
    owner, pair = expand(first[run], count[run])
    entry, truth, pair_iou = entry[owner], pairs.truth[pair], pairs.iou[pair]

    best = argmax_per_run(entry, pair_iou)
    truth, entry = truth[best], entry[best]
    if options.ties is Ties.REVERSED:
        truth, entry = truth[::-1], entry[::-1]
    by_truth = np.argsort(truth, kind="stable")
    truth, entry = truth[by_truth], entry[by_truth]
    return np.sort(entry[argmax_per_run(truth, task.predictions.score[entries[entry]])])


def best_with_first_copies(image: NDArray[np.integer], score: Floats, most: int) -> Indices:
    """Return the indices of the ``most`` best rows per image, chosen as in GEN-VLKT (docs/protocols.md 2.3).

    A bug of its evaluator is reproduced: of several rows with equal scores on an image, the first is returned several
    times, and the others are lost. Indices are sorted by image, then from best to worst score.
    """
    order = np.lexsort((np.arange(len(image)), -score, image))
    new = first_of_each(image[order]) | first_of_each(score[order])
    first_copy = order[np.flatnonzero(new)[np.cumsum(new) - 1]] if len(order) else order
    return first_copy[index_in_group(np.bincount(image, minlength=1)) < most]
