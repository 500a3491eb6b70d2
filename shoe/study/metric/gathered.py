"""Models scored one after the other, and all measures held against people."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoe.comparison.resampling import drawn_images
from shoe.core.arrays import Floats, Indices
from shoe.core.errors import InputError
from shoe.matching.task import Task
from shoe.predictions.notes import ReadNotes
from shoe.similarity.ensemble import MISSING
from shoe.study.agreement import mean_ceiling
from shoe.study.intervals import figure_of
from shoe.study.metric.judgements import Judgements
from shoe.study.metric.measures import Measure, ModelScores, measured
from shoe.study.metric.result import Against, Level
from shoe.study.metric.systems import Scores, opposite_pairs, scores_of, statistics_of
from shoe.study.metric.units import FIGURES, Judged, figures_of_units

CREDIT = "mean credit"
"""Of the judged predictions of a model, over its images."""
RESAMPLES = 1_000


class Gathered:
    """Takes one model after the other; of each only judged predictions and figures are kept."""

    def __init__(self, judgements: Judgements, measures: Sequence[Measure], images: Sequence[str]) -> None:
        """Prepare.

        Args:
            judgements: what people said.
            measures: ways to score.
            images: of the ground truth.

        Raises:
            InputError: for an image that the ground truth has not.
        """
        self.judgements, self.measures = judgements, measures
        self._image = judgements.images(images)
        self._weights = drawn_images(len(images), range(RESAMPLES), 0)
        self._items: dict[str, Indices] = {}
        self._credits: list[Floats] = []
        self._measured: list[list[ModelScores]] = []

    def add(self, model: str, task: Task, notes: ReadNotes | None = None) -> None:
        """Score a model by all measures.

        Raises:
            InputError: for a judged prediction that it has not.
            OptionError: where a protocol cannot score it.
        """
        rows = self.judgements.rows_of(model, task)
        item = np.flatnonzero(rows >= 0)
        found = [measured(measure, task, notes, self._weights) for measure in self.measures]
        self._items[model] = item
        self._credits.append(np.column_stack([each.credit[rows[item]] for each in found]))
        self._measured.append(found)

    def against_people(self) -> Against:
        """Hold all measures against people.

        Raises:
            InputError: for a prediction that no model has.
        """
        ratings, names = self.judgements.ratings, [measure.name for measure in self.measures]
        item = np.concatenate(list(self._items.values()))
        missing = np.setdiff1d(np.arange(len(ratings.items)), item)
        if len(missing):
            record, expected = self.judgements.name(int(missing[0])), "a prediction of one of the files given"
            raise InputError(self.judgements.source, record=record, found="no such prediction", expected=expected)
        model = np.repeat(np.arange(len(self._items)), list(map(len, self._items.values())))
        images, image = np.unique(self._image[item], return_inverse=True)
        judged = Judged(item, image, model, np.concatenate(self._credits), ratings.first)
        levels = {}
        for level, (number, of) in figures_of_units(judged).items():
            rows = {name: {figure: of[figure, k] for figure in FIGURES} for k, name in enumerate(names)}
            levels[level] = Level.of(number, rows)
        by_images, people, of_measures = scores_of(judged, len(self._items), self._weights[images])
        scores, mean = self._scores(of_measures), self._by_model(people.values)
        models = np.flatnonzero(~np.isnan(people.values))
        ranked = {row: each.of_models(models) for row, each in scores.items()}
        ranked = {row: each for row, each in ranked.items() if not np.isnan(each.values).any()}
        people, by_images = people.of_models(models), by_images.of_models(models)
        if len(models) > 1:
            found = {r: statistics_of(people, by_images, each, len(ratings.raters)) for r, each in ranked.items()}
            levels["model"] = Level.of(len(models), found)
        called = [list(self._items)[m] for m in models]
        conflicts = {row: opposite_pairs(people, each) for row, each in ranked.items()}
        table = ratings.first
        return Against(
            images=len(images),
            raters=len(ratings.raters),
            ratings=int((table != MISSING).sum()),
            holes=ratings.holes,
            people=figure_of(lambda i, j: mean_ceiling(table[np.ix_(i, j)]), table.shape, "correlation"),
            models=mean,
            scores={row: self._by_model(each.values) for row, each in scores.items()},
            measures={name: each.signature for name, each in zip(names, self._measured[0], strict=True)},
            levels=levels,
            opposite={row: [[called[a], called[b]] for a, b in pairs] for row, pairs in conflicts.items()},
        )

    def _scores(self, credit: Sequence[Scores]) -> dict[str, Scores]:
        """What every measure says of the models: mean credit of what was judged, then its figures of all images."""
        found = {}
        for k, (measure, of) in enumerate(zip(self.measures, credit, strict=True)):
            found[f"{measure.name}: {CREDIT}"] = of
            each = [measured[k] for measured in self._measured]
            for heading in each[0].figures:
                values = np.array([one.figures[heading] for one in each], np.float64)
                found[f"{measure.name}: {heading}"] = Scores.of(
                    values, np.column_stack([one.resampled[heading] for one in each])
                )
        return found

    def _by_model(self, values: Floats) -> dict[str, float]:
        return {name: v for name, v in zip(self._items, values.tolist(), strict=True) if not np.isnan(v)}
