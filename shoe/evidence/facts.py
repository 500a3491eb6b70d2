"""Facts about predictions and their words that explain surprising figures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoe.core.arrays import Ints
from shoe.core.coordinates import CommonCoordinates
from shoe.matching.overlaps import Boxes
from shoe.matching.repeats import repeated
from shoe.predictions.box_check import BoxReport
from shoe.scoring.score import Report
from shoe.similarity import Basis, SimilarityTable


@dataclass(frozen=True, slots=True)
class Profile:
    """Facts about all predictions."""

    images: int
    """Images with at least one prediction."""
    covered: int
    """Images of the ground truth with at least one prediction."""
    named: int
    """Images of the ground truth that the predictions name, with or without a prediction."""
    unknown_images: tuple[str, ...]
    constant_scores: bool
    """There are several predictions, and all have one and the same score."""
    repeats: int
    """Predictions that repeat another one exactly: the same words on the same boxes of the same image."""
    outside_share: float | None
    """Share of predictions with a box that leaves its image by more than a pixel; None where no size is known."""


@dataclass(frozen=True, slots=True)
class Words:
    """How the predicted words of one part of speech fared."""

    words: int
    labels: int
    """Words that are a name of the dataset (up to case, separators and inflection)."""
    unresolved: tuple[str, ...]
    """Words without a sense in the lexicon: they match an equal word only."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """What the similarities of the matched pairs rest on; shares of all verb and object comparisons of matches."""

    verbs: Words
    objects: Words
    basis: dict[str, float]
    """Share of each ``Basis``, by its name in lower case; empty without a match."""
    lexical: bool
    """Whether unrated pairs took a value from WordNet's graph (``unrated=wup``)."""

    @property
    def rated_share(self) -> float | None:
        """Share that rests on ratings, zeros among them, or on identical senses."""
        return self._share("rated", "zero", "identical")

    @property
    def fallback_share(self) -> float | None:
        """Share that rests on equal spelling, or on WordNet's graph where that was asked for."""
        return self._share("same_word", *(["unrated"] if self.lexical else []))

    @property
    def learned_share(self) -> float | None:
        """Share that rests on predicted ratings; what is predicted nearer to 0 than to 1 counts 0."""
        return self._share("learned")

    @property
    def unrated_share(self) -> float | None:
        """Share that counted 0 because nobody rated the pair, or the word has no sense."""
        return self._share("unresolved", *([] if self.lexical else ["unrated"]))

    def _share(self, *names: str) -> float | None:
        return sum(self.basis[name] for name in names) if self.basis else None


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
        unknown_images=task.unknown_images,
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
    return Resolution(
        verbs=_words(task.verb_label, similarities.verbs),
        objects=_words(task.object_label, similarities.objects),
        basis={b.name.lower(): float(counts[b] / counts.sum()) for b in Basis} if len(matched) else {},
        lexical=result.options.unrated == "wup",
    )


def _words(label: Ints, table: SimilarityTable) -> Words:
    return Words(words=len(label), labels=int((label >= 0).sum()), unresolved=table.unresolved)
