"""Measures, which are ways to score predictions: a protocol with certain options and a certain similarity map."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from shoe.benchmarks.protocols import SEMANTIC, Options, choose
from shoe.benchmarks.scoring_options import STRICT_PREFIX
from shoe.benchmarks.truth import GroundTruth
from shoe.comparison.ranked import Counts
from shoe.comparison.resampling import Resampler, drawn_images
from shoe.comparison.run import Run
from shoe.core.arrays import Floats, Indices
from shoe.core.errors import InputError, OptionError, quote
from shoe.predictions.notes import ReadNotes
from shoe.scoring.matching.task import Task
from shoe.scoring.score import score_by
from shoe.scoring.strict import strict_credits
from shoe.similarity.ensemble import MISSING
from shoe.study.agreement import figure_of, mean_ceiling
from shoe.study.metric import rankings
from shoe.study.metric.judgements import Judgements
from shoe.study.metric.rankings import FIGURES, Judged, Level, MeasureComparison, Scores

_FIGURES = {"full": "mAP", "map": "SHOE-mAP", "mf1": "SHOE-mF1"}  # names of metrics by the last part of their key
_APART = ("similarity=", "protocol=")  # settings other than options of a protocol


class Measure(NamedTuple):
    """A way to score predictions: options of one protocol, and a similarity map."""

    name: str
    options: Options
    similarity: str


class ModelScores(NamedTuple):
    """Scores of one model's n predictions by one measure.

    Attributes:
        credit: (n,) credit of each prediction: 1 for a true positive by exact labels; similarity of its match by SHOE.
        figures, resampled: value of each metric, None if undefined, and (B,) values in B bootstrap samples of images.
    """

    signature: str
    credit: Floats
    figures: dict[str, float | None]
    resampled: dict[str, Floats]


def measures_of(truth: GroundTruth, protocols: Sequence[str], similarity: str, varied: Sequence[str]) -> list[Measure]:
    """Return the measures selected on the command line: ``protocols``, or else the benchmark's usual protocols.

    Each text in ``varied`` adds a measure: options ``NAME=VALUE``, separated by spaces or commas, for the first
    selected protocol with such options. ``protocol=NAME`` sets another protocol, ``similarity=NAME`` another map. Raise
    OptionError for an unknown name or value, or a protocol that scores the actions of persons instead of triplets.
    """
    of, labels = truth.benchmark, truth.image_labels is not None
    every, usual = [*of.protocols, "shoe"], [name for name in of.usual_protocols if name not in of.role_protocols]
    if not of.protocols.keys() & set(usual):  # V-COCO's own protocols score persons
        usual = [*list(of.protocols)[:1], *usual]
    asked = [one for name in protocols or usual for one in (every if name == "all" else [name])]
    made: dict[str, Measure] = {}

    def add(protocol: str, settings: Sequence[str], source: str, changes: Sequence[str]) -> None:
        options = choose([protocol], settings, of.protocols, of.role_protocols, image_labels=labels)
        if options.roles:
            expected = "a protocol that scores triplets, not agent AP or role AP"
            raise OptionError(f"protocol: found {protocol}, expected {expected}")
        name = " ".join([protocol, *changes])
        made[name] = Measure(name, options, source)

    for protocol in asked:
        add(protocol, (), similarity, ())
    for text in varied:
        words = text.replace(",", " ").split()
        apart = dict(word.split("=", 1) for word in words if word.startswith(_APART))
        settings = [word for word in words if not word.startswith(_APART)]
        strict = bool(settings) and all(word.startswith(STRICT_PREFIX) for word in settings)
        family: Collection[str] = of.protocols if strict else SEMANTIC
        changed = apart.get("protocol") or next((name for name in asked if name in family), None)
        if not words or changed is None:
            kind = "strict" if strict else "semantic"
            expected = f"a {kind} --protocol to which it applies" if words else "NAME=VALUE"
            raise OptionError(f"--vary: found {quote(text)}, expected {expected}")
        changes = [word for word in words if not word.startswith("protocol=")]
        add(changed, settings, apart.get("similarity", similarity), changes)
    return list(made.values())


def score_predictions(measure: Measure, task: Task, notes: ReadNotes | None, weights: Counts) -> ModelScores:
    """Return the scores, also in samples of images by (m, B) ``weights``; OptionError for unsuitable predictions."""
    report = score_by(measure.options, task, measure.similarity, notes)
    if report.absent:
        raise OptionError("; ".join(f"{measure.name}: {why}" for why in report.absent.values()))
    run = Run.from_report(report, measure.name)
    drawn, found = Resampler(run).under(weights).resampled(), run.figures()
    credit = np.zeros(len(report.predictions))
    if report.semantic is not None:
        matches = report.semantic.matches
        matched = matches.prediction >= 0
        credit[matches.prediction[matched]] = matches.sigma[matched]
    else:
        for each in report.strict_results:
            np.maximum.at(credit, *strict_credits(report.task, each.options))
    keys = {name: key for key in found if (name := _FIGURES.get(key.split(":")[-1])) is not None}
    figures, resampled = {name: found[key] for name, key in keys.items()}, {n: drawn[k] for n, k in keys.items()}
    return ModelScores(str(report.signature), credit, figures, resampled)


CREDIT = "mean credit"
"""Mean credit of the judged predictions of a model, averaged over images."""
RESAMPLES = 1_000


class ModelScoresCollector:
    """Scores of all models, added one by one, of which only judged predictions and metrics stay in memory."""

    def __init__(self, judgements: Judgements, measures: Sequence[Measure], images: Sequence[str]) -> None:
        """Create a collector; ``images`` are those of the ground truth. Raise InputError for another judged image."""
        self.judgements, self.measures = judgements, measures
        self._image = judgements.images(images)
        self._weights = drawn_images(len(images), range(RESAMPLES), 0)
        self._items: dict[str, Indices] = {}
        self._credits: list[Floats] = []
        self._measured: list[list[ModelScores]] = []

    def add(self, model: str, task: Task, notes: ReadNotes | None = None) -> None:
        """Score a model's predictions by all measures; OptionError if a protocol cannot score them.

        Raise InputError if a rated prediction of the model is not exactly one prediction of ``task``.
        """
        rows = self.judgements.rows_of(model, task)
        found = [score_predictions(measure, task, notes, self._weights) for measure in self.measures]
        self._items[model] = item = np.flatnonzero(rows >= 0)
        self._credits.append(np.column_stack([each.credit[rows[item]] for each in found]))
        self._measured.append(found)

    def against_people(self) -> MeasureComparison:
        """Return the comparison of all measures with people. Models without a judged prediction are not ranked.

        Raise InputError if a judged prediction was not found in the predictions of any model.
        """
        ratings, names = self.judgements.ratings, [measure.name for measure in self.measures]
        raters = len(ratings.raters)
        item = np.concatenate(list(self._items.values()))
        missing = np.setdiff1d(np.arange(len(ratings.items)), item)
        if len(missing):
            record, found = self.judgements.name(int(missing[0])), "a rating of a prediction that no file contains"
            expected = "a prediction of one of the files given"
            raise InputError(self.judgements.source, record=record, found=found, expected=expected)
        model = np.repeat(np.arange(len(self._items)), list(map(len, self._items.values())))
        images, image = np.unique(self._image[item], return_inverse=True)
        judged = Judged(item, image, model, np.concatenate(self._credits), ratings.first)
        levels = {}
        for level, (number, of) in rankings.figures_of_units(judged).items():
            rows = {name: {figure: of[figure, k] for figure in FIGURES} for k, name in enumerate(names)}
            levels[level] = Level.from_rankings(number, rows)
        by_images, people, of_measures = rankings.scores_of(judged, len(self._items), self._weights[images])
        scores, mean = self._scores(of_measures), self._by_model(people.values)
        models = np.flatnonzero(~np.isnan(people.values))
        ranked = {row: each.of_models(models) for row, each in scores.items()}
        ranked = {row: each for row, each in ranked.items() if not np.isnan(each.values).any()}
        people, by_images = people.of_models(models), by_images.of_models(models)
        if len(models) > 1:
            agreement = {row: rankings.statistics_of(people, by_images, of, raters) for row, of in ranked.items()}
            levels["model"] = Level.from_rankings(len(models), agreement)
        called, table = [list(self._items)[m] for m in models], ratings.first
        opposite = {row: rankings.opposite_pairs(people, of) for row, of in ranked.items()}
        return MeasureComparison(
            images=len(images),
            raters=raters,
            ratings=int((table != MISSING).sum()),
            holes=ratings.holes,
            people=figure_of(lambda i, j: mean_ceiling(table[np.ix_(i, j)]), table.shape, "correlation"),
            models=mean,
            scores={row: self._by_model(each.values) for row, each in scores.items()},
            measures={name: each.signature for name, each in zip(names, self._measured[0], strict=True)},
            levels=levels,
            opposite={row: [[called[a], called[b]] for a, b in pairs] for row, pairs in opposite.items()},
        )

    def _scores(self, credit: Sequence[Scores]) -> dict[str, Scores]:
        found = {}  # mean credit of the judged predictions, then metrics over all images
        for k, (measure, of) in enumerate(zip(self.measures, credit, strict=True)):
            found[f"{measure.name}: {CREDIT}"] = of
            each = [measured[k] for measured in self._measured]
            for heading in each[0].figures:
                values = np.array([one.figures[heading] for one in each], np.float64)
                resampled = np.column_stack([one.resampled[heading] for one in each])
                found[f"{measure.name}: {heading}"] = Scores.from_draws(values, resampled)
        return found

    def _by_model(self, values: Floats) -> dict[str, float]:
        return {name: v for name, v in zip(self._items, values.tolist(), strict=True) if not np.isnan(v)}
