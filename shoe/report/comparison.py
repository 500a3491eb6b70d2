"""Models beside each other as data: CSV and JSON."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from shoe.comparison.classes import Apart
from shoe.comparison.compare import Comparison
from shoe.comparison.significance import Difference, Estimate
from shoe.comparison.sweeps import Choice, Point, Survival
from shoe.core.documents import Correlation, Count, Document, Fraction, Gain, Pair, Span
from shoe.io.delimited import delimited_text
from shoe.report.comparison_sentences import model_notes, sentences


class Figure(Document, frozen=True):
    """One figure of one model, and its 95 % interval over images."""

    value: Fraction
    rank: Count
    interval: Span | None = None


class Compared(Document, frozen=True, kw_only=True):
    """One model.

    Attributes:
        name: what it is called.
        signature: how its figures came about.
        predictions, predictions_sha: number of predictions, and a digest of them.
        figures: "strict:PROTOCOL:full", ":rare" and ":non_rare"; "semantic:map", ":mf1", ":gt_miss_rate" and
            ":prediction_miss_rate".
        gain: SHOE-mAP less the strict mAP of the first protocol.
        raters: SHOE-mAP by each rater of the map alone.
        map_interval: with ``--bounds``, where SHOE-mAP would lie were all pairs rated.
        absent: for each part that could not be measured, why.
    """

    name: str
    signature: str
    predictions: str | None = None
    predictions_sha: str | None = None
    figures: dict[str, Figure]
    gain: Gain | None = None
    raters: dict[str, Fraction] | None = None
    map_interval: Span | None = None
    absent: dict[str, str] = msgspec.field(default_factory=dict)


class Ranking(Document, frozen=True, kw_only=True):
    """Whether strict and semantic mAP rank the models alike.

    Attributes:
        figures: the two that are compared.
        tau: Kendall's tau-b between the rankings.
        moved: pairs of models that change places.
    """

    figures: Pair
    tau: Correlation | None = None
    moved: list[Pair]


class SweptSetting(Choice, frozen=True):
    """One choice of the metric changed, and the figures of all models under it.

    Attributes:
        asked: whether it is what was asked for.
        figures: by the name of a figure, then by model.
    """

    asked: bool
    figures: dict[str, dict[str, Fraction]]


class Sweep(Document, frozen=True):
    """Every choice varied alone, and whether rankings survive."""

    points: list[SweptSetting]
    rankings: list[Survival]

    @classmethod
    def from_points(cls, models: Sequence[str], points: Sequence[Point], survivals: Sequence[Survival]) -> Sweep:
        """Name the models whose figures points hold; what cannot be measured is left out."""
        swept = []
        for point in points:
            figures = {
                figure: {name: value for name, value in zip(models, values, strict=True) if value is not None}
                for figure, values in point.figures.items()
            }
            swept.append(SweptSetting(point.setting.option, point.setting.value, point.setting.asked, figures))
        return cls(swept, list(survivals))


class Compare(Document, frozen=True, kw_only=True):
    """Models beside each other.

    Attributes:
        models: one for each file, in their order.
        resamples, seed: how often images were drawn, and the seed.
        differences: of every two models, for each figure that both have.
        ranking: whether strict and semantic mAP rank the models alike.
        unlike: what differs between signatures, and which protocols are left out.
        notes: what the table says in words.
        apart: what sets every two models apart, by class, verb and object.
        sweep: with ``--sweep``, the figures under other choices of the metric.
    """

    models: list[Compared]
    resamples: Count | None = None
    seed: Count | None = None
    differences: tuple[Difference, ...] = ()
    ranking: Ranking | None = None
    unlike: tuple[str, ...] = ()
    notes: list[str] = msgspec.field(default_factory=list)
    apart: list[Apart] | None = None
    sweep: Sweep | None = None

    @classmethod
    def from_comparison(
        cls, found: Comparison, apart: list[Apart] | None = None, sweep: Sweep | None = None
    ) -> Compare:
        """Put the figures of runs, their statistics and what they say beside what sets models apart."""
        made = found.statistics
        columns = {column.figure: found.cells(column.figure) for column in found.columns}
        models = []
        for number, (run, gain) in enumerate(zip(found.runs, found.gains, strict=True)):
            estimates = made.estimates[run.name] if made else {}
            cells = {figure: of[number] for figure, of in columns.items()}
            models.append(
                Compared(
                    name=run.name,
                    signature=str(run.signature),
                    predictions=run.facts.get("predictions"),
                    predictions_sha=run.facts.get("predictions-sha"),
                    figures={
                        figure: Figure(cell.value, cell.rank, _ends(estimates.get(figure)))
                        for figure, cell in cells.items()
                        if cell.value is not None and cell.rank is not None
                    },
                    gain=gain,
                    raters=run.spread.raters if run.spread else None,
                    map_interval=run.interval.map if run.interval else None,
                    absent={**(run.absent or {})},
                )
            )
        return cls(
            models=models,
            resamples=made.resamples if made else None,
            seed=made.seed if made else None,
            differences=made.differences if made else (),
            ranking=Ranking(figures=found.compared, tau=found.tau, moved=[*found.moved]) if found.compared else None,
            unlike=found.unlike,
            notes=[*model_notes(found), *sentences(found)],
            apart=apart,
            sweep=sweep,
        )


def _ends(estimate: Estimate | None) -> tuple[float, float] | None:
    return None if estimate is None else (estimate.low, estimate.high)


def comparison_csv(found: Comparison) -> bytes:
    """A line for each model and figure: model, figure, value, rank, and the ends of its interval."""
    rows: list[list[object]] = [["model", "figure", "value", "rank", "low", "high"]]
    for column in found.columns:
        for name, cell in zip(found.names, found.cells(column.figure), strict=True):
            if cell.value is None:
                continue
            estimate = found.statistics.estimates[name].get(column.figure) if found.statistics else None
            ends = [f"{estimate.low:.6f}", f"{estimate.high:.6f}"] if estimate else ["", ""]
            rows.append([name, column.figure, f"{cell.value:.6f}", cell.rank, *ends])
    return delimited_text(rows).encode()
