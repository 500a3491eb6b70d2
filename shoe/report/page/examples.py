"""Example images of a page: ground truth, predictions of each model, and explanations of similarities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shoe.benchmarks.scoring_options import SemanticOptions
from shoe.core.arrays import Floats, Indices
from shoe.core.boxes import CommonCoordinates
from shoe.core.interactions import Interactions
from shoe.lexicon.resolve import resolve
from shoe.lexicon.senses import Part
from shoe.lexicon.store import names_of
from shoe.report.page.rendering import image_url
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.matching.task import Boxes
from shoe.scoring.score import Report
from shoe.scoring.semantic import SemanticResult
from shoe.similarity import Basis, SimilarityMap
from shoe.similarity.explain import reason_of

_OF_EACH_KIND = 8
_MOST_TRUTHS = 12  # ground truths of an example image at most, because more boxes are illegible
_MATCHED, _UNMATCHED = 12, 5
"""Most predictions of a model that are shown on an image: matched ones, and the most confident unmatched ones."""


def examples(names: Sequence[str], reports: Sequence[Report], images: Path | None = None) -> dict[str, Any] | None:
    """Return the contents of example images, with the keys that ``static/examples.js`` reads.

    There are at most eight images per topic, none with more than 12 ground truths. Return None if a model has no SHOE
    results, or if no image qualifies. ``reports`` has one report per model or none; ``images`` is the image folder.
    """
    words: list[dict[str, Any]] = []
    models = [
        _Model.from_report(report, report.semantic, report.similarities, words)
        for report in reports
        if report.semantic is not None and report.similarities is not None
    ]
    if not models or len(models) < len(names):
        return None
    legible = np.diff(reports[0].truth.interactions.offsets) <= _MOST_TRUTHS
    chosen: dict[int, str] = {}
    for kind, value in _kinds(models, [*names]):
        value = np.where(legible, value, 0)
        best = np.argsort(-value, kind="stable").tolist()
        fresh = [image for image in best if image not in chosen and value[image] > 0]
        chosen |= dict.fromkeys(fresh[:_OF_EACH_KIND], kind)
    made = [_image(image, kind, reports[0], models, images) for image, kind in chosen.items()]
    labels, options = reports[0].truth.classes.labels, models[0].options
    how = {"combine": options.combine, "weight": options.weight}
    return {"images": made, "labels": labels, "words": words, **how} if made else None


def _kinds(models: Sequence[_Model], names: Sequence[str]) -> Iterator[tuple[str, Floats]]:
    """Yield (title, value of each image) per group of examples; a group shows the images with the highest values."""
    credit = np.stack([model.credit for model in models])
    if len(models) > 1:
        yield "models differ", np.ptp(credit, axis=0)
    yield "right by meaning, other words than the label", np.stack([model.by_meaning for model in models]).max(axis=0)
    yield "missed by all", np.stack([model.missed for model in models]).min(axis=0)
    for name, model in zip(names, models, strict=True):
        yield f"confident and wrong: {name}", model.wrong


@dataclass(frozen=True, slots=True, eq=False)
class _Model:
    """Results of one model with n predictions on m images.

    Attributes:
        truth_of, false_of: (n,) index of the matched ground truth, and class in which the prediction is a false
            positive; -1 for none.
        credit: (m,) sum of the similarities of matches per image.
        by_meaning: (m,) number of matches per image with another class and a similarity of at least delta.
        missed, wrong: (m,) number of unmatched ground truths, and highest score of a false positive per image.
        words: explanations of the similarities of all models, with the keys that ``static/examples.js`` reads.
        known: index in ``words`` by "verb" or "object" and by row and column of the similarity table.
    """

    report: Report
    options: SemanticOptions
    similarities: HoiSimilarity
    truth_of: Indices
    false_of: Indices
    credit: Floats
    by_meaning: Floats
    missed: Floats
    wrong: Floats
    words: list[dict[str, Any]]
    known: dict[tuple[Part, int, int], int]

    @classmethod
    def from_report(
        cls, report: Report, result: SemanticResult, similarities: HoiSimilarity, words: list[dict[str, Any]]
    ) -> _Model:
        task, images, matches = report.task, len(report.truth.interactions.images), result.matches
        of_truth = report.truth.interactions.image
        truth_of, false_of = np.full((2, len(task.predictions)), -1, np.int64)
        matched = np.flatnonzero(matches.prediction >= 0)
        truth_of[matches.prediction[matched]] = matched
        false_of[matches.unmatched] = matches.false_positive_of
        other = task.hoi[matches.prediction[matched]] != report.truth.hoi[matched]
        near = matched[other & (matches.sigma[matched] >= result.options.delta)]
        wrong = np.zeros(images)
        false = matches.unmatched[matches.false_positive_of >= 0]
        np.maximum.at(wrong, task.image[false], task.predictions.score[false])
        return cls(
            report=report,
            options=result.options,
            similarities=similarities,
            truth_of=truth_of,
            false_of=false_of,
            credit=np.bincount(of_truth, matches.sigma, minlength=images).astype(np.float64),
            by_meaning=np.bincount(of_truth[near], minlength=images).astype(np.float64),
            missed=np.bincount(of_truth[matches.prediction < 0], minlength=images).astype(np.float64),
            wrong=wrong,
            words=words,
            known={},
        )

    def predictions(self, image: int) -> list[dict[str, Any]]:
        task = self.report.task
        first, count = (int(column[image]) for column in task.image_rows)
        rows = np.arange(first, first + count)
        rows = rows[np.argsort(-task.predictions.score[rows], kind="stable")]
        hit = self.truth_of[rows] >= 0
        rows = np.concatenate([rows[hit][:_MATCHED], rows[~hit][:_UNMATCHED]])
        return [self._prediction(row, int(task.truth.interactions.offsets[image])) for row in rows.tolist()]

    def _prediction(self, row: int, first: int) -> dict[str, Any]:
        table, truth = self.report.predictions, int(self.truth_of[row])
        hoi = int(self.report.truth.hoi[truth]) if truth >= 0 else int(self.false_of[row])
        verb, object_ = int(table.verb[row]), int(table.object[row])
        found: dict[str, Any] = {
            "verb": table.verbs[verb],
            "object": table.objects[object_],
            "score": float(f"{table.score[row]:.4g}"),
            "boxes": _boxes(table, row),
            "truth": truth - first if truth >= 0 else -1,
        }
        if hoi >= 0:
            sigma = self.similarities.sigma(np.array([hoi]), np.array([verb]), np.array([object_]))
            why = [self._explanation("verb", hoi, verb), self._explanation("object", hoi, object_)]
            found |= {"class": hoi, "sigma": round(float(sigma[0]), 4), "why": why}
        return found

    def _explanation(self, part: Part, hoi: int, column: int) -> int:
        """Return the index of the explanation of a label of class ``hoi`` and a predicted word; append it if needed."""
        classes, similarities, predictions = self.report.truth.classes, self.similarities, self.report.predictions
        if part == "verb":
            label, word = classes.verbs[classes.verb[hoi]], predictions.verbs[column]
            row, table, senses = int(similarities.verb_row[hoi]), similarities.verbs, similarities.verb_senses
        else:
            label, word = classes.objects[classes.object[hoi]], predictions.objects[column]
            row, table, senses = int(similarities.object_row[hoi]), similarities.objects, similarities.object_senses
        if (key := (part, row, column)) in self.known:
            return self.known[key]
        source = similarities.source
        wanted, found = names_of([int(senses[row]), int(table.sense[row, column])])
        ratings = source.ratings(part, wanted, found) if isinstance(source, SimilarityMap) and wanted and found else {}
        reasons = (
            reason_of(candidate, part, (label, wanted), word, self.options)
            for candidate in resolve(word, part, self.options.object_words).candidates
            if candidate.name == found
        )
        names = {"label": label, "sense": wanted, "word": word, "found": found, "reason": next(reasons, "")}
        value, basis = float(table.values[row, column]), Basis(table.basis[row, column]).name.lower()
        known = {rater: rating for rater, rating in (ratings or {}).items() if rating is not None}
        self.known[key] = len(self.words)
        self.words.append({**names, "value": round(value, 4), "basis": basis.replace("_", " "), "ratings": known})
        return self.known[key]


def _image(image: int, kind: str, report: Report, models: Sequence[_Model], folder: Path | None) -> dict[str, Any]:
    table = report.truth.interactions
    rows = range(int(table.offsets[image]), int(table.offsets[image + 1]))
    truths = [{"class": int(report.truth.hoi[row]), "boxes": _boxes(table, row)} for row in rows]
    of_models = [model.predictions(image) for model in models]
    width, height = table.sizes[image].tolist()
    if min(width, height) <= 0:  # unknown size: large enough for all boxes
        boxes = [box for each in (truths, *of_models) for triplet in each for box in triplet["boxes"]]
        width, height = (int(max([1.0, *(box[side] for box in boxes)])) + 1 for side in (2, 3))
    return {
        "name": table.images[image],
        "kind": kind,
        "size": [width, height],
        "truths": truths,
        "models": of_models,
        "picture": image_url(table.images[image], folder),
    }


def _boxes(table: Interactions, row: int) -> list[list[float]]:
    rows, boxes = np.array([row]), Boxes(table, CommonCoordinates.EDGES)
    return [np.round(side(rows)[0], 1).tolist() for side in (boxes.human, boxes.object)]
