"""Sensitivity of the ranking of models to the options of the metric, changed one at a time."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, get_args, get_type_hints

from shoe.benchmarks.scoring_options import SemanticOptions
from shoe.comparison.significance import kendall
from shoe.core.documents import Correlation, Count, Document
from shoe.core.statistics import differences
from shoe.engines.base import SERIAL, Engine
from shoe.scoring.evidence.draws import figures_of
from shoe.scoring.evidence.facts import single_rater_map
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.score import Report
from shoe.scoring.scorer import Scorer
from shoe.scoring.strict import strict_score
from shoe.similarity import SimilarityMap

Option = Literal["weight", "delta", "threshold", "tau", "ensemble", "rater"]
VALUES: dict[Option, tuple[float, ...]] = {
    "weight": (0.0, 0.25, 0.5, 0.75, 1.0),
    "delta": (0.1, 0.3, 0.5, 0.7, 0.9),
    "threshold": (0.3, 0.4, 0.5, 0.6, 0.7),
    "tau": (0.1, 0.3, 0.5, 0.7, 0.9),
}
"""Numeric options, and the values that are tried in addition to the requested value."""
FIGURES = ("strict", "map", "mf1")


class OptionValue(Document, frozen=True):
    """Option of the metric with one of its values.

    Attributes:
        option: name of the option: a key of ``VALUES``, "ensemble", or "rater" for a map with only one of its raters.
        value: value of the option, or name of the rater.
    """

    option: Option
    value: float | str


class Setting(OptionValue, frozen=True):
    """One varied option with its value; ``asked`` is True if this is the value requested by the user."""

    asked: bool = False


class Point(NamedTuple):
    """Metrics of M models under one setting.

    Attributes:
        figures: one value per model for "map" (SHOE-mAP), "mf1" (SHOE-mF1) and, if the option is "threshold",
            "strict" (mAP). None if the value cannot be measured. Metrics that the option cannot change are absent.
    """

    setting: Setting
    figures: dict[str, tuple[float | None, ...]]


class RankStability(Document, frozen=True):
    """Stability of a ranking of models.

    Attributes:
        figure: metric that models are ranked by.
        settings: number of settings that can change the metric, not counting those that the user requested.
        changed: settings under which at least two models are ranked in the opposite order.
        lowest_tau: lowest Kendall's tau-b between the ranking under the requested settings and any other ranking.
    """

    figure: str
    settings: Count
    changed: tuple[OptionValue, ...]
    lowest_tau: Correlation | None = None


def settings_of(report: Report) -> list[Setting]:
    """Return the settings to try: for each option, the values in ``VALUES`` and the requested value, ascending.

    For a similarity map, the ensembles and its raters (if there are several) are settings, too. [] without SHOE.
    """
    if report.semantic is None or report.similarities is None:
        return []
    options, source = report.semantic.options, report.similarities.source
    tried = [
        Setting(name, value, value == getattr(options, name))
        for name, values in VALUES.items()
        for value in sorted({*values, float(getattr(options, name))})
        if name != "tau" or options.tau_by != "best"
    ]
    if isinstance(source, SimilarityMap):
        ensembles = get_args(get_type_hints(SemanticOptions)["ensemble"])
        tried += [Setting("ensemble", name, name == options.ensemble) for name in ensembles]
        tried += [Setting("rater", rater.name) for rater in source.raters] if len(source.raters) > 1 else []
    return tried


def sweep(
    reports: Sequence[Report], engine: Engine = SERIAL, progress: Callable[[str], None] = lambda _: None
) -> list[Point]:
    """Return the metrics of M models under every setting of :func:`settings_of`, each from a scoring of its own."""
    settings = settings_of(reports[0])
    keys = [(setting, model) for setting in settings for model in range(len(reports))]
    found = {}
    for number, (key, figures) in enumerate(engine.map(_figures, keys, reports), 1):
        progress(f"varying options: {number:,} of {len(keys):,} scorings")
        found[key] = figures
    of_models = {setting: [found[setting, model] for model in range(len(reports))] for setting in settings}
    return [Point(of, {name: tuple(each[name] for each in rows) for name in rows[0]}) for of, rows in of_models.items()]


def rank_stability(reports: Sequence[Report], points: Sequence[Point], figure: str) -> RankStability | None:
    """Return how stable the ranking by "strict", "map" or "mf1" is over the ``points`` of a sweep; None if unknown."""
    results = [report.strict if figure == "strict" else report.semantic for report in reports]
    key = "map" if figure == "strict" else figure
    requested = [0.0 if result is None else getattr(result, key) or 0.0 for result in results]
    moved = [point for point in points if figure in point.figures and not point.setting.asked]
    if len(reports) < 2 or not moved or any(value is None for point in moved for value in point.figures[figure]):
        return None
    rankings = [[value or 0.0 for value in point.figures[figure]] for point in moved]
    changed = tuple(
        point.setting
        for point, values in zip(moved, rankings, strict=True)
        if (differences(requested) * differences(values) < 0).any()
    )
    taus = [tau for tau in (kendall(requested, values) for values in rankings) if tau is not None]
    return RankStability(figure, len(moved), changed, min(taus, default=None))


def _figures(reports: Sequence[Report], key: tuple[Setting, int]) -> dict[str, float | None]:
    setting, report = key[0], reports[key[1]]
    result, similarities = report.semantic, report.similarities
    if result is None or similarities is None or similarities.source is None:
        return {}
    options, source = result.options, similarities.source
    # Near repeats depend on the meanings of words, and on the overlaps of boxes.
    near = None if setting.option in ("ensemble", "rater", "threshold") else result.scorer.near
    if isinstance(source, SimilarityMap) and setting.option == "rater":
        source = single_rater_map(source, [rater.name for rater in source.raters].index(str(setting.value)))
    elif isinstance(source, SimilarityMap) and setting.option == "ensemble":
        source = replace(source, ensemble=str(setting.value))
    else:
        changes: dict[str, Any] = {setting.option: setting.value}
        options = replace(options, **changes)
    scorer = Scorer(report.task, HoiSimilarity.from_task(report.task, source, options), options, near)
    found = dict(zip(("map", "mf1"), figures_of(scorer), strict=True))
    if setting.option == "tau":
        del found["map"]
    if setting.option == "threshold" and report.strict is not None:
        strict = replace(report.strict.options, threshold=float(setting.value))
        found["strict"] = strict_score(report.task, strict).map
    return found
