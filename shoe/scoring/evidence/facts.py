"""Facts about predictions, their words and unseen classes that explain metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import stdev

import msgspec
import numpy as np

from shoe.benchmarks.classes import SEEN, UNSEEN, ClassSplit, HoiClasses
from shoe.benchmarks.scoring_options import SemanticOptions, Ties
from shoe.core.arrays import Floats, Indices, Ints, Mask
from shoe.core.boxes import CommonCoordinates
from shoe.core.documents import Amount, Count, Document, Fraction
from shoe.core.interactions import Interactions
from shoe.lexicon.resolve import resolve
from shoe.lexicon.senses import Part
from shoe.lexicon.store import names_of
from shoe.scoring.hoi_similarity import HoiSimilarity, class_similarity
from shoe.scoring.matching.task import Boxes, Task
from shoe.scoring.score import Report
from shoe.scoring.scorer import Scorer, have_meaning
from shoe.scoring.semantic import semantic_score
from shoe.scoring.strict import strict_score
from shoe.similarity import Basis, Similarity, SimilarityMap, SimilarityTable
from shoe.similarity.ensemble import MISSING

_ORDERS = 10  # number of random orders of lines, images and ground truths that :func:`order_spans` tries


def order_spans(report: Report) -> dict[str, tuple[float, float]]:
    """Return {protocol: (lowest, highest) mAP} over the order in the files and ten random orders.

    Images, predictions and ground truths are shuffled. Protocols whose mAP (SHOE: SHOE-mAP) is the same in all orders
    are left out. Takes ten times as long as scoring.
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
    """Return the table with shuffled images and shuffled rows of each image, and the new order of the images."""
    images = rng.permutation(len(table.images))
    rows = np.lexsort((rng.random(len(table)), np.argsort(images)[table.image]))
    columns = {name: getattr(table, name)[rows] for name in ("human_boxes", "object_boxes", "verb", "object", "score")}
    return replace(
        table,
        images=tuple(table.images[i] for i in images.tolist()),
        sizes=table.sizes[images],
        coordinates=table.coordinates[images],
        offsets=np.concatenate([[0], np.cumsum(np.diff(table.offsets)[images])]),
        **columns,
    ), images


@dataclass(frozen=True, slots=True)
class Spread:
    """SHOE-mAP (0..1) under the ratings of each single rater of a similarity map, by rater name, in its order."""

    raters: dict[str, float]

    @property
    def low(self) -> float:
        """Lowest SHOE-mAP of the raters."""
        return min(self.raters.values())

    @property
    def high(self) -> float:
        """Highest SHOE-mAP of the raters."""
        return max(self.raters.values())

    @property
    def deviation(self) -> float:
        """Sample standard deviation of the raters' SHOE-mAP (ddof=1)."""
        return stdev(self.raters.values())


def spread(report: Report) -> Spread | None:
    """Return SHOE-mAP under each single rater of the similarity map; None without several raters, or without a value.

    Raters who share no rated pair with another rater are left out, because their SHOE-mAP would equal the SHOE-mAP of
    all raters together. Takes one to two times as long as scoring.
    """
    task, similarities = report.task, report.similarities
    if report.semantic is None or similarities is None or not isinstance(similarities.source, SimilarityMap):
        return None
    source, options = similarities.source, report.semantic.options
    shared = [table.ratings[(table.ratings != MISSING).sum(axis=1) > 1] for table in source.tables.values()]
    columns = np.flatnonzero(np.any([(ratings != MISSING).any(axis=0) for ratings in shared], axis=0))
    if len(columns) < 2:
        return None
    found, together = {}, Scorer(task, similarities, options, report.semantic.scorer.near)
    for column in columns.tolist():
        alone = HoiSimilarity.from_task(task, single_rater_map(source, column), options)
        found[source.raters[column].name] = together.under(alone).map()
    known = {name: value for name, value in found.items() if value is not None}
    return Spread(known) if known else None


def single_rater_map(similarity: SimilarityMap, column: int) -> SimilarityMap:
    """Return a similarity map with the ratings of one rater (``column``); pairs that this rater lacks keep all ratings.

    The scores of all raters therefore use the same pairs, and differ by disagreement, not by coverage.
    """
    tables = {}
    for part, table in similarity.tables.items():
        others = np.arange(table.ratings.shape[1]) != column
        ratings = table.ratings.copy()
        ratings[np.ix_(table.ratings[:, column] != MISSING, others)] = MISSING
        tables[part] = replace(table, ratings=ratings)
    return replace(similarity, tables=tables)


class Profile(Document, frozen=True, kw_only=True):
    """Statistics of the predictions.

    Attributes:
        images: number of images with at least one prediction.
        covered: number of ground-truth images with at least one prediction.
        named: number of ground-truth images that the file lists, with or without predictions.
        unknown_images: number of images missing from the ground truth; their predictions are left out.
        constant_scores: whether there are several predictions, all with the same score.
        repeats: number of predictions that repeat another (same image, boxes and words); the original is not counted.
        outside_share: fraction of predictions with a box that extends more than a pixel beyond the image; None if no
            image size is known.
    """

    images: Count = msgspec.field(name="images_with_predictions")
    covered: Count = msgspec.field(name="covered_images")
    named: Count = msgspec.field(name="named_images")
    unknown_images: Count
    constant_scores: bool
    repeats: Count
    outside_share: Fraction | None = None


class Words(Document, frozen=True):
    """Resolution of the predicted words of one part of speech.

    Attributes:
        words: number of distinct words.
        labels: number of words that equal a label of the dataset, apart from case, separators and inflection.
        unresolved: words without a sense in the lexicon that are no labels; their similarity is 0 to all classes.
    """

    words: Count
    labels: Count = msgspec.field(name="dataset_labels")
    unresolved: list[str]


class Resolution(Document, frozen=True, kw_only=True):
    """Resolution of words, and basis of the similarities in matches: fractions of all verb and object comparisons.

    Attributes:
        verbs, objects: resolution of the predicted words.
        rated_share: fraction based on ratings, zeros included, or on identical senses.
        fallback_share: fraction based on equal spelling, or on WordNet's graph under ``unrated=wup``.
        learned_share: fraction based on predicted ratings; a predicted mean rating below 0.5 (of 4) counts as 0.
        unrated_share: fraction with similarity 0 because the pair is unrated or the word has no sense.
        basis: fraction by the origin of the similarity, such as "rated" or "same_word"; empty without a match.
    """

    verbs: Words
    objects: Words
    rated_share: Fraction | None = None
    fallback_share: Fraction | None = None
    learned_share: Fraction | None = None
    unrated_share: Fraction | None = None
    basis: dict[str, Fraction] = msgspec.field(default_factory=dict)


def profile(report: Report) -> Profile:
    """Return statistics of all predictions of a report."""
    task, predictions = report.task, report.task.predictions
    sizes = np.concatenate([task.truth.interactions.sizes, [[0, 0]]])[task.truth_image]
    known: Mask = np.logical_and.reduce(sizes > 0, axis=1)
    count, outside_share = np.diff(predictions.offsets), None
    if total := int(count[known].sum()):
        limits = [np.repeat(limit, count) for limit in np.where(known[:, None], sizes + 1, np.inf).T]
        boxes, outside = Boxes(predictions, CommonCoordinates.EDGES), np.zeros(len(predictions), np.bool_)
        for corners in (boxes.human(slice(None)), boxes.object(slice(None))):
            for k in range(2):
                outside |= (corners[:, k] < -1) | (corners[:, k + 2] > limits[k])
        outside_share = float((outside & np.repeat(known, count)).sum() / total)
    return Profile(
        images=int((np.diff(predictions.offsets) > 0).sum()),
        covered=int((task.image_rows[1] > 0).sum()),
        named=int((task.truth_image >= 0).sum()),
        unknown_images=len(task.unknown_images),
        constant_scores=report.has_equal_scores,
        repeats=report.repeats,
        outside_share=outside_share,
    )


def resolution(report: Report) -> Resolution | None:
    """Return how predicted words were resolved, and the basis of similarities in matches; None without SHOE results."""
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
    words = task.predictions
    return Resolution(
        verbs=_words(words.verbs, task.verb_label, similarities.verbs),
        objects=_words(words.objects, task.object_label, similarities.objects),
        basis=basis,
        **{share: sum(basis[name] for name in names) for share, names in shares.items() if basis},
    )


def _words(words: Sequence[str], label: Ints, table: SimilarityTable) -> Words:
    without = np.flatnonzero(~have_meaning(words, label, table)).tolist()
    return Words(len(words), int((label >= 0).sum()), [words[i] for i in without])


_LEAST = 0.05  # smallest credit, in ground truths, that a listed wording loses or gains; less would be shown as 0.0


class PartReading(Document, frozen=True):
    """Comparison of a predicted verb (or object) with the verb (or the object) of a class.

    Attributes:
        word: predicted word.
        sense: WordNet 3.0 name of the word's sense that gave the similarity; "" if no sense did.
        found_by: rule by which the word leads to this sense; "" if no sense did.
        similarity: similarity 0..1.
        basis: origin of the similarity, such as "rated" or "same_word".
    """

    word: str
    sense: str
    found_by: str
    similarity: Fraction
    basis: str


class Wording(Document, frozen=True):
    """Statistics of all predictions with the same verb and object words.

    Attributes:
        phrases: up to three phrases parsed into these words; empty if verb and object were given separately.
        verb, object: comparison with the verb and the object of ``compared_with``.
        count: number of predictions.
        matched: number of predictions matched with a ground truth for SHOE-mAP.
        earned: sum of similarity (credit gained) over those matches in which the words do not name the class itself.
        lost: sum of 1 - similarity (credit lost) over all ``matched`` predictions.
        nearest_class: most similar class, "verb object".
        similarity: similarity to ``nearest_class``, 0..1.
        compared_with: most frequent class of the matched ground truths, or ``nearest_class`` without a match.
    """

    phrases: list[str]
    verb: PartReading
    object: PartReading
    count: Count
    matched: Count
    earned: Amount
    lost: Amount
    nearest_class: str
    similarity: Fraction
    compared_with: str


def wordings(report: Report, most: int | None = None) -> tuple[Wording, ...]:
    """Return the distinct (verb, object) words of predictions, descending by the larger of lost and gained credit.

    With ``most``, return up to ``most``: first those with most credit lost, at most half (rounded up), then those with
    most credit gained. Words that name a class, or whose credit is below 0.05, are left out. Return () without SHOE.

    >>> import shoe, shoe.demo
    >>> report = shoe.score(shoe.read_predictions(shoe.demo.PREDICTIONS["free text"]),
    ...                     shoe.read_ground_truth(shoe.demo.TRUTH))
    >>> len(wordings(report, 5))
    5
    """
    result, similarities = report.semantic, report.similarities
    if result is None or similarities is None:
        return ()
    task, table, classes = report.task, report.predictions, report.truth.classes
    verb, object_, group_of = task.word_pairs
    size, count = len(verb), np.bincount(group_of)
    truth = np.flatnonzero(result.matches.prediction >= 0)
    row, hoi, sigma = result.matches.prediction[truth], task.truth.hoi[truth], result.matches.sigma[truth]
    group = group_of[row]
    earned = np.zeros(size) + np.bincount(group, weights=np.where(task.hoi[row] == hoi, 0, sigma), minlength=size)
    lost = np.zeros(size) + np.bincount(group, weights=1 - sigma, minlength=size)
    matched = np.bincount(group, minlength=size)
    class_of_group, times = np.unique(group * len(classes) + hoi, return_counts=True)
    against = np.full(size, -1, np.int64)
    commonest = class_of_group[np.argsort(times, kind="stable")]  # the last assignment per group is kept
    against[commonest // len(classes)] = commonest % len(classes)
    nearest, similarity = similarities.nearest_class(verb, object_, np.arange(len(classes)))

    order = np.argsort(-np.maximum(earned, lost), kind="stable")
    if most is not None:
        costs, earns = lost.copy(), earned.copy()
        costs[group_of[task.hoi >= 0]] = earns[group_of[task.hoi >= 0]] = 0
        dearest = np.argsort(-costs, kind="stable")[: (most + 1) // 2]
        dearest = dearest[costs[dearest] >= _LEAST]
        earns[dearest] = 0
        best = np.argsort(-earns, kind="stable")[: most - len(dearest)]
        order = np.append(dearest, best[earns[best] >= _LEAST])
    phrases = report.notes.phrases if report.notes else {}
    listed = []
    for i in order.tolist():
        words = table.verbs[verb[i]], table.objects[object_[i]]
        class_ = int(against[i] if against[i] >= 0 else nearest[i])
        verb_cell = similarities.verb_row[class_], verb[i]
        object_cell = similarities.object_row[class_], object_[i]
        listed.append(
            Wording(
                phrases=list(phrases.get(words, ())),
                verb=_part_reading(similarities.verbs, "verb", words[0], verb_cell, result.options),
                object=_part_reading(similarities.objects, "object", words[1], object_cell, result.options),
                count=int(count[i]),
                matched=int(matched[i]),
                earned=float(earned[i]),
                lost=float(lost[i]),
                nearest_class=classes.labels[int(nearest[i])],
                similarity=float(similarity[i]),
                compared_with=classes.labels[class_],
            )
        )
    return tuple(listed)


def _part_reading(
    table: SimilarityTable, part: Part, word: str, cell: tuple[int, int], options: SemanticOptions
) -> PartReading:
    sense = int(table.sense[cell])
    candidates = resolve(word, part, options.object_words).candidates if sense >= 0 else ()
    return PartReading(
        word=word,
        sense=names_of([sense])[0],
        found_by=next((c.reason for c in candidates if c.synset == sense), ""),
        similarity=float(table.values[cell]),
        basis=Basis(int(table.basis[cell])).name.lower(),
    )


# An unseen class with a near synonym among the seen classes is easier than an unseen class without one.

EDGES = (0.0, 0.6, 0.7, 0.8, 1.0)
"""Bounds of the ranges of similarity; only the last range includes its upper bound. A class with the same object and
another verb has a similarity of at least 0.5, if verb and object similarity are averaged."""
_CELLS = 1 << 20  # number of similarities computed at once (8 MB)


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """Most similar seen class of each of u unseen classes."""

    # unseen, seen: (u,) unseen classes, and the seen class most similar to each (the first if equally similar)
    unseen: Indices
    seen: Indices
    # (u,) similarity 0..1 of the two classes; see :func:`~shoe.scoring.hoi_similarity.class_similarity`
    similarity: Floats

    def by_similarity(self, ap: Mapping[str, Floats]) -> list[Range]:
        """Return the mean AP of the unseen classes in each range of ``EDGES``, by similarity to the nearest seen class.

        ``ap`` contains the (K,) AP of the classes for each protocol, by its name; NaN is left out of the mean.
        A protocol without a value in a range is missing in its ``map``; a range may have no class.
        """
        ranges = []
        for low, high in pairwise(EDGES):
            inside = (self.similarity >= low) & ((self.similarity < high) | (high == EDGES[-1]))
            classes = self.unseen[inside]
            known = {name: values[classes][~np.isnan(values[classes])] for name, values in ap.items()}
            means = {name: float(values.mean()) for name, values in known.items() if len(values)}
            ranges.append(Range(low, high, max(map(len, known.values()), default=len(classes)), means))
        return ranges


class Range(Document, frozen=True, rename={"low": "from", "high": "to"}):
    """Unseen classes whose nearest seen class has a similarity in a range.

    Attributes:
        low, high: bounds of the similarity; only the last range includes the upper bound.
        classes: number of classes in the mean; the largest number if protocols differ.
        map: mean average precision by protocol.
    """

    low: Fraction
    high: Fraction
    classes: Count
    map: dict[str, Fraction]


def nearest_seen(
    split: ClassSplit, classes: HoiClasses, similarity: Similarity, options: SemanticOptions | None = None
) -> Nearest | None:
    """Return the most similar seen class of each unseen class, among the classes that are scored.

    Return None for a split without seen and unseen classes, or if no seen or no unseen class is scored.
    """
    if not {SEEN, UNSEEN} <= split.parts.keys():
        return None
    unseen, seen = (np.flatnonzero(split.parts[part] & classes.scored) for part in (UNSEEN, SEEN))
    if not len(unseen) or not len(seen):
        return None
    similar = class_similarity(classes, similarity, options)
    nearest, most = np.empty(len(unseen), np.int64), np.empty(len(unseen))
    step = max(1, _CELLS // len(seen))
    for start in range(0, len(unseen), step):
        both = similar(unseen[start : start + step], seen)
        best = both.argmax(axis=1)
        nearest[start : start + step] = seen[best]
        most[start : start + step] = both[np.arange(len(both)), best]
    return Nearest(unseen, nearest, most)


def nearest_seen_of_report(report: Report) -> Nearest | None:
    """Return the nearest seen class of each scored unseen class; None without SHOE or a seen/unseen split."""
    split, semantic, tables = report.truth.class_split, report.semantic, report.similarities
    if split is None or semantic is None or tables is None or tables.source is None:
        return None
    return nearest_seen(split, report.truth.classes, tables.source, semantic.options)
