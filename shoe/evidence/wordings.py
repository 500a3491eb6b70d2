"""What the words of predictions were taken to say, and what each wording earns and costs by its meaning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoe.core.arrays import Floats, Indices, Mask
from shoe.lexicon.expressions import Part
from shoe.lexicon.names import names_of
from shoe.lexicon.resolve import resolve
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.score import Report
from shoe.similarity import Basis

_PHRASES = 3


@dataclass(frozen=True, slots=True)
class PartReading:
    """How the verb, or the object, of a wording compares with that of a class.

    Attributes:
        word: as it was read.
        sense: WordNet 3.0 name of its sense that counts; "" where none does.
        reason: how that sense was found; "" where there is none.
        similarity: 0..1.
        basis: name of the ``Basis`` in lower case.
    """

    word: str
    sense: str
    reason: str
    similarity: float
    basis: str


@dataclass(frozen=True, slots=True)
class Wording:
    """All predictions with the same verb and object words.

    Attributes:
        phrases: up to three of the phrases that were read so; none where verb and object were given apart.
        verb, object: as read, compared with the class.
        count: predictions.
        matched: those matched with a ground truth by SHOE-mAP's matching.
        earned: credit of those matches beyond what equal labels earn: the sum of their similarities, in ground truths.
        lost: what these matches lack to full credit, in ground truths.
        nearest: the class that the words resemble most, "verb object".
        similarity: their similarity to it, 0..1.
        against: the class of the ground truths that they were matched with most often; "" without a match.
    """

    phrases: tuple[str, ...]
    verb: PartReading
    object: PartReading
    count: int
    matched: int
    earned: float
    lost: float
    nearest: str
    similarity: float
    against: str

    @property
    def weight(self) -> float:
        """What is at stake, in ground truths: the larger of ``earned`` and ``lost``."""
        return max(self.earned, self.lost)


def wordings(report: Report, most: int | None = None) -> tuple[Wording, ...]:
    """List what predictions say in words that are no class of the dataset, and all others where ``most`` is absent.

    Args:
        report: of one evaluation.
        most: how many to list at most, those with most at stake: only wordings that are no class's labels.

    Returns:
        Those with most at stake first, then by words; none without the semantic part.

    Example:
        >>> import shoe, shoe.demo
        >>> report = shoe.score(shoe.read_predictions(shoe.demo.PREDICTIONS["free text"]),
        ...                     shoe.read_ground_truth(shoe.demo.TRUTH))
        >>> len(wordings(report, 5))
        5
    """
    if report.semantic is None or report.similarities is None:
        return ()
    stakes = _Stakes.of(report)
    order = np.lexsort((np.arange(len(stakes.pair)), -np.maximum(stakes.earned, stakes.lost)))
    if most is not None:
        order = order[~stakes.labelled[order] & (np.maximum(stakes.earned, stakes.lost)[order] > 0)][:most]
    return tuple(stakes.wording(row) for row in order.tolist())


@dataclass(frozen=True, slots=True, eq=False)
class _Stakes:
    """The distinct (verb, object) words of the predictions, and what is at stake for each; g of them."""

    report: Report
    similarities: HoiSimilarity
    pair: Indices
    """(g, 2) verb and object word."""
    count: Indices
    matched: Indices
    earned: Floats
    lost: Floats
    against: Indices
    """(g,) class matched most often, -1 without a match."""
    nearest: Indices
    similarity: Floats
    labelled: Mask
    """(g,) whether the words are the labels of a class."""

    @classmethod
    def of(cls, report: Report) -> _Stakes:
        assert report.semantic is not None
        assert report.similarities is not None
        task, classes = report.task, report.truth.classes
        table = task.predictions
        width = max(1, len(table.objects))
        words = table.verb.astype(np.int64) * width + table.object
        keys, group_of, count = np.unique(words, return_inverse=True, return_counts=True)
        pair = np.column_stack([keys // width, keys % width])
        hits = np.flatnonzero(report.semantic.matches.prediction >= 0)
        row = report.semantic.matches.prediction[hits]
        group, hoi, sigma = group_of[row], task.truth.hoi[hits], report.semantic.matches.sigma[hits]
        size, exact = len(keys), task.hoi[row] == hoi
        by_class = np.unique(group * len(classes) + hoi, return_counts=True)
        against = np.full(size, -1, np.int64)
        for index in np.argsort(by_class[1], kind="stable").tolist():
            against[by_class[0][index] // len(classes)] = by_class[0][index] % len(classes)
        nearest, similarity = report.similarities.nearest_class(pair[:, 0], pair[:, 1], np.arange(len(classes)))
        labelled = np.zeros(size, bool)
        labelled[group_of] = task.hoi >= 0
        return cls(
            report=report,
            similarities=report.similarities,
            pair=pair,
            count=count,
            matched=np.bincount(group, minlength=size),
            earned=np.bincount(group, weights=np.where(exact, 0, sigma), minlength=size),
            lost=np.bincount(group, weights=1 - sigma, minlength=size),
            against=against,
            nearest=nearest,
            similarity=similarity,
            labelled=labelled,
        )

    def wording(self, row: int) -> Wording:
        """Put one together."""
        table, notes = self.report.predictions, self.report.notes
        verb, object_ = self.pair[row].tolist()
        words = (table.verbs[verb], table.objects[object_])
        of = int(self.against[row]) if self.against[row] >= 0 else int(self.nearest[row])
        return Wording(
            phrases=tuple(notes.phrases.get(words, ())[:_PHRASES]) if notes else (),
            verb=self._part("verb", words[0], verb, of),
            object=self._part("object", words[1], object_, of),
            count=int(self.count[row]),
            matched=int(self.matched[row]),
            earned=float(self.earned[row]),
            lost=float(self.lost[row]),
            nearest=self._class(int(self.nearest[row])),
            similarity=float(self.similarity[row]),
            against=self._class(int(self.against[row])),
        )

    def _part(self, part: Part, word: str, column: int, hoi: int) -> PartReading:
        found = self.similarities
        table, of = (found.verbs, found.verb_row) if part == "verb" else (found.objects, found.object_row)
        sense = int(table.sense[of[hoi], column])
        reason = ""
        if sense >= 0:
            candidates = resolve(word, part, self.report.semantic.options.object_words).candidates
            reason = next((c.reason for c in candidates if c.synset == sense), "")
        return PartReading(
            word=word,
            sense=names_of([sense])[0],
            reason=reason,
            similarity=float(table.values[of[hoi], column]),
            basis=Basis(int(table.basis[of[hoi], column])).name.lower(),
        )

    def _class(self, hoi: int) -> str:
        classes = self.report.truth.classes
        return "" if hoi < 0 else f"{classes.verbs[classes.verb[hoi]]} {classes.objects[classes.object[hoi]]}"
