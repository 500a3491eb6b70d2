"""Facts about predictions and their words that explain surprising figures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import stdev
from typing import get_args, get_type_hints

import msgspec
import numpy as np

from shoe.benchmarks.protocol_options import SemanticOptions, Ties
from shoe.core.arrays import Indices, Ints
from shoe.core.boxes import CommonCoordinates
from shoe.core.documents import Count, Document, Fraction
from shoe.core.interactions import Interactions
from shoe.predictions.boxes.check import BoxReport
from shoe.scoring.entries import F1Figures
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.matching.repeats import repeated
from shoe.scoring.matching.task import Boxes, Task
from shoe.scoring.score import Report
from shoe.scoring.scorer import Scorer
from shoe.scoring.semantic import semantic_score
from shoe.scoring.strict import strict_score
from shoe.similarity import Basis, SimilarityMap, SimilarityTable
from shoe.similarity.ensemble import MISSING

# How far figures move when a file lists the same lines, images and ground truths in another order.

_ORDERS = 10


def order_spans(report: Report) -> dict[str, tuple[float, float]]:
    """Find the lowest and highest mAP of each protocol that depends on order, over this order and ten drawn ones.

    A figure that no order moved is left out. Each order takes as long as scoring.

    Returns:
        By the name of the protocol; strict mAP or SHOE-mAP, fractions 0..1.
    """
    strict = [r.options for r in report.strict_results if r.tied_share and r.options.ties is not Ties.EXPECTED]
    semantic = report.semantic.options if report.semantic and not report.semantic.options.order_free else None
    figures = {r.options.protocol: [r.map] for r in report.strict_results if r.options in strict}
    if report.semantic and semantic:
        figures[semantic.protocol] = [report.semantic.map]
    for seed in range(_ORDERS if figures else 0):
        rng = np.random.default_rng(seed)
        predictions, (table, images) = _shuffled(report.predictions, rng)[0], _shuffled(report.truth.interactions, rng)
        labels = None if report.truth.image_labels is None else report.truth.image_labels[:, images]
        task = Task(predictions, replace(report.truth, interactions=table, image_labels=labels))
        for options in strict:
            figures[options.protocol].append(strict_score(task, options).map)
        if semantic and report.similarities:
            figures[semantic.protocol].append(semantic_score(task, report.similarities, semantic).map)
    known = {name: [value for value in values if value is not None] for name, values in figures.items()}
    return {name: (min(values), max(values)) for name, values in known.items() if len(set(values)) > 1}


def _shuffled(table: Interactions, rng: np.random.Generator) -> tuple[Interactions, Indices]:
    """The table with its images, and the rows of each, in another order; and which image stands where."""
    images = rng.permutation(len(table.images))
    index = np.empty(len(images), np.int64)
    index[images] = np.arange(len(images))
    rows = np.lexsort((rng.random(len(table)), index[table.image]))
    columns = {name: getattr(table, name)[rows] for name in ("human_boxes", "object_boxes", "verb", "object", "score")}
    return replace(
        table,
        images=tuple(table.images[i] for i in images.tolist()),
        sizes=table.sizes[images],
        coordinates=table.coordinates[images],
        offsets=np.concatenate([[0], np.cumsum(np.diff(table.offsets)[images])]),
        **columns,
    ), images


# How far a score depends on who rated: SHOE-mAP under each rater of a map alone.


@dataclass(frozen=True, slots=True)
class Spread:
    """SHOE-mAP by rater, fractions 0..1: at least two of a map's raters, in its order."""

    raters: dict[str, float]

    @property
    def low(self) -> float:
        """The lowest of them."""
        return min(self.raters.values())

    @property
    def high(self) -> float:
        """The highest of them."""
        return max(self.raters.values())

    @property
    def deviation(self) -> float:
        """Their standard deviation (n - 1)."""
        return stdev(self.raters.values())


def spread(report: Report) -> Spread | None:
    """Score under each rater of the map alone; None for what is no map of several raters, or cannot be measured.

    A rater who rated nothing that another one rated is left out: that figure would be the ensemble's. Takes one to
    two times as long as scoring.
    """
    task, similarities = report.task, report.similarities
    if report.semantic is None or similarities is None or not isinstance(similarities.source, SimilarityMap):
        return None
    source, options = similarities.source, report.semantic.options
    together = [table.ratings[(table.ratings != MISSING).sum(axis=1) > 1] for table in source.tables.values()]
    columns = np.flatnonzero(np.any([(ratings != MISSING).any(axis=0) for ratings in together], axis=0))
    if len(columns) < 2:
        return None
    found = {}
    for column in columns.tolist():
        alone = HoiSimilarity.of(task, rated_by(source, column), options)
        found[source.raters[column].name] = Scorer(task, alone, options).map()
    known = {name: value for name, value in found.items() if value is not None}
    return Spread(known) if known else None


def rated_by(similarity: SimilarityMap, column: int) -> SimilarityMap:
    """A map as one rater sees it; a pair that the rater has not rated keeps the value of all.

    So every rater's figure rests on the same pairs, and their spread is disagreement, not coverage.
    """
    tables = {}
    for part, table in similarity.tables.items():
        others = np.arange(table.ratings.shape[1]) != column
        ratings = table.ratings.copy()
        ratings[np.ix_(table.ratings[:, column] != MISSING, others)] = MISSING
        tables[part] = replace(table, ratings=ratings)
    return replace(similarity, tables=tables)


# What SHOE-mF1 and the miss rates would be, were tau read in another way (docs/protocols.md, A22).


def tau_readings(report: Report) -> dict[str, F1Figures]:
    """Measure by each reading of tau, those of the option ``tau-by``; nothing without the semantic part."""
    found: dict[str, F1Figures] = {}
    if report.semantic is None or report.similarities is None:
        return found
    result = report.semantic
    for by in get_args(get_type_hints(SemanticOptions)["tau_by"]):
        scorer = Scorer(report.task, report.similarities, replace(result.options, tau_by=by), result.near)
        found[by] = scorer.f1_entries(scorer.match(scorer.f1_rows)).figures()
    return found


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
