"""Facts about predictions and their words that explain surprising figures."""

from __future__ import annotations

import msgspec
import numpy as np

from shoe.core.arrays import Ints
from shoe.core.coordinates import CommonCoordinates
from shoe.core.documents import Count, Document, Fraction
from shoe.matching.overlaps import Boxes
from shoe.matching.repeats import repeated
from shoe.predictions.box_check import BoxReport
from shoe.scoring.score import Report
from shoe.similarity import Basis, SimilarityTable


class Profile(Document, frozen=True, kw_only=True):
    """Facts about the predictions.

    Attributes:
        images: images with at least one prediction.
        covered: images of the ground truth with at least one prediction.
        named: images of the ground truth that the file names, with or without a prediction.
        unknown_images: images that the ground truth does not have; what is predicted there is left out.
        constant_scores: whether there are several predictions, all with one score.
        repeats: predictions with the image, boxes and words of another.
        outside_share: share of predictions with a box that leaves its image by more than a pixel; None where no size is
            known.
    """

    images: Count = msgspec.field(name="images_with_predictions")
    covered: Count = msgspec.field(name="covered_images")
    named: Count = msgspec.field(name="named_images")
    unknown_images: Count
    constant_scores: bool
    repeats: Count
    outside_share: Fraction | None = None


class Words(Document, frozen=True):
    """How the predicted words of one part of speech fared.

    Attributes:
        words: different ones.
        labels: those that are a name of the dataset (up to case, separators and inflection).
        unresolved: those without a sense in the lexicon, which match an equal word only.
    """

    words: Count
    labels: Count = msgspec.field(name="dataset_labels")
    unresolved: list[str]


class Resolution(Document, frozen=True, kw_only=True):
    """What the similarities of matches rest on, as shares of all verb and object comparisons.

    Attributes:
        verbs, objects: how the predicted words fared.
        rated_share: share that rests on ratings, zeros among them, or on identical senses.
        fallback_share: share that rests on equal spelling, or on WordNet's graph under ``unrated=wup``.
        learned_share: share that rests on predicted ratings; what is predicted nearer to 0 than to 1 counts 0.
        unrated_share: share that counted 0 because nobody rated the pair, or the word has no sense.
        basis: the same in detail; empty without a match.
    """

    verbs: Words
    objects: Words
    rated_share: Fraction | None = None
    fallback_share: Fraction | None = None
    learned_share: Fraction | None = None
    unrated_share: Fraction | None = None
    basis: dict[str, Fraction] = msgspec.field(default_factory=dict)


def profile(report: Report) -> Profile:
    """Look at all predictions of a report."""
    task, predictions = report.task, report.task.predictions
    sizes = np.concatenate([task.truth.interactions.sizes, [[0, 0]]])[task.truth_image]
    known = np.flatnonzero(np.repeat((sizes > 0).all(axis=1), np.diff(predictions.offsets)))
    outside_share = None
    if len(known):
        limit = np.repeat(sizes, np.diff(predictions.offsets), axis=0)[known] + 1
        boxes = Boxes(predictions, CommonCoordinates.EDGES)
        outside = np.zeros(len(known), bool)
        for corners in (boxes.human(known), boxes.object(known)):
            outside |= (corners[:, :2] < -1).any(axis=1) | (corners[:, 2:] > limit).any(axis=1)
        outside_share = float(outside.mean())
    score = predictions.score
    return Profile(
        images=int((np.diff(predictions.offsets) > 0).sum()),
        covered=int((task.image_rows[1] > 0).sum()),
        named=int((task.truth_image >= 0).sum()),
        unknown_images=len(task.unknown_images),
        constant_scores=len(score) > 1 and bool((score == score[0]).all()),
        repeats=len(repeated(predictions, np.arange(len(predictions)))),
        outside_share=outside_share,
    )


def box_check(report: Report) -> BoxReport:
    """See whether another box convention would fit the ground truth far better."""
    return report.box_check


def resolution(report: Report) -> Resolution | None:
    """Look at the words of all predictions, and at the comparisons behind the matches; None without SHOE."""
    task, result, similarities = report.task, report.semantic, report.similarities
    if result is None or similarities is None:
        return None
    matched = np.flatnonzero(result.matches.prediction >= 0)
    hoi, rows = task.truth.hoi[matched], result.matches.prediction[matched]
    verb_basis = similarities.verbs.basis[similarities.verb_row[hoi], task.predictions.verb[rows]]
    object_basis = similarities.objects.basis[similarities.object_row[hoi], task.predictions.object[rows]]
    counts = np.bincount(np.concatenate([verb_basis, object_basis]), minlength=len(Basis))
    basis = {b.name.lower(): float(counts[b] / counts.sum()) for b in Basis} if len(matched) else {}
    lexical = ["unrated"] if result.options.unrated == "wup" else []
    shares = {
        "rated_share": ["rated", "zero", "identical"],
        "fallback_share": ["same_word", *lexical],
        "learned_share": ["learned"],
        "unrated_share": ["unresolved", *([] if lexical else ["unrated"])],
    }
    return Resolution(
        verbs=_words(task.verb_label, similarities.verbs),
        objects=_words(task.object_label, similarities.objects),
        basis=basis,
        **{share: sum(basis[name] for name in names) for share, names in shares.items() if basis},
    )


def _words(label: Ints, table: SimilarityTable) -> Words:
    return Words(words=len(label), labels=int((label >= 0).sum()), unresolved=list(table.unresolved))
