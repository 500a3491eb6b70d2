"""What the words of predictions were taken to say, and what each wording earns and costs by its meaning."""

from __future__ import annotations

import numpy as np

from shoe.benchmarks.protocol_options import SemanticOptions
from shoe.core.documents import Amount, Count, Document, Fraction
from shoe.lexicon.expressions import Part
from shoe.lexicon.resolve import resolve
from shoe.lexicon.store import names_of
from shoe.scoring.score import Report
from shoe.similarity import Basis, SimilarityTable

_LEAST = 0.05
"""Ground truths that a wording has to lose, or earn, to be worth a line: less is shown as 0.0."""


class PartReading(Document, frozen=True):
    """How the verb, or the object, of a wording compares with that of a class.

    Attributes:
        word: as it was read.
        sense: WordNet 3.0 name of its sense that counts; "" where none does.
        found_by: how that sense was found; "" where there is none.
        similarity: 0..1.
        basis: name of the ``Basis`` in lower case.
    """

    word: str
    sense: str
    found_by: str
    similarity: Fraction
    basis: str


class Wording(Document, frozen=True):
    """All predictions with the same verb and object words.

    Attributes:
        phrases: up to three of the phrases that were read so; none where verb and object were given apart.
        verb, object: as read, beside those of ``compared_with``.
        count: predictions.
        matched: those matched with a ground truth by SHOE-mAP's matching.
        earned: credit of those matches beyond what equal labels earn: the sum of their similarities, in ground truths.
        lost: what these matches lack to full credit, in ground truths.
        nearest_class: the class that the words resemble most, "verb object".
        similarity: their similarity to it, 0..1.
        compared_with: the class of most of the ground truths that they were matched with, or the nearest.
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
    """List the distinct (verb, object) words of predictions, those that lost or earned most first; none without SHOE.

    All are listed; where ``most`` is given, at most so many, labels of classes left out: half are those that lost most,
    then come those that earned most of the others.

    Example:
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
    width = max(1, len(table.objects))
    keys, group_of, count = np.unique(
        table.verb.astype(np.int64) * width + table.object, return_inverse=True, return_counts=True
    )
    size = len(keys)
    truth = np.flatnonzero(result.matches.prediction >= 0)
    row, hoi, sigma = result.matches.prediction[truth], task.truth.hoi[truth], result.matches.sigma[truth]
    group = group_of[row]
    earned = np.zeros(size) + np.bincount(group, weights=np.where(task.hoi[row] == hoi, 0, sigma), minlength=size)
    lost = np.zeros(size) + np.bincount(group, weights=1 - sigma, minlength=size)
    matched = np.bincount(group, minlength=size)
    met, times = np.unique(group * len(classes) + hoi, return_counts=True)
    against = np.full(size, -1, np.int64)
    commonest = met[np.argsort(times, kind="stable")]  # of a group's classes the last one written stays
    against[commonest // len(classes)] = commonest % len(classes)
    nearest, similarity = similarities.nearest_class(keys // width, keys % width, np.arange(len(classes)))

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
        verb, object_ = divmod(int(keys[i]), width)
        words = table.verbs[verb], table.objects[object_]
        of = int(against[i] if against[i] >= 0 else nearest[i])
        cells = (int(similarities.verb_row[of]), verb), (int(similarities.object_row[of]), object_)
        listed.append(
            Wording(
                phrases=list(phrases.get(words, ())),
                verb=_reading(similarities.verbs, "verb", words[0], cells[0], result.options),
                object=_reading(similarities.objects, "object", words[1], cells[1], result.options),
                count=int(count[i]),
                matched=int(matched[i]),
                earned=float(earned[i]),
                lost=float(lost[i]),
                nearest_class=classes.labels[int(nearest[i])],
                similarity=float(similarity[i]),
                compared_with=classes.labels[of],
            )
        )
    return tuple(listed)


def _reading(
    table: SimilarityTable, part: Part, word: str, cell: tuple[int, int], options: SemanticOptions
) -> PartReading:
    """How a word compares with the class of a table's cell."""
    sense = int(table.sense[cell])
    candidates = resolve(word, part, options.object_words).candidates if sense >= 0 else ()
    return PartReading(
        word=word,
        sense=names_of([sense])[0],
        found_by=next((c.reason for c in candidates if c.synset == sense), ""),
        similarity=float(table.values[cell]),
        basis=Basis(int(table.basis[cell])).name.lower(),
    )
