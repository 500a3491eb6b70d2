"""Comparison of models as JSON, CSV, LaTeX, Markdown and in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import msgspec
from rich.console import Console
from rich.text import Text

from shoe.benchmarks.signature import OF_PREDICTIONS
from shoe.comparison.columns import Cell
from shoe.comparison.compare import ClassDifference, Comparison, class_ap, truths_of
from shoe.comparison.run import NO_CONFIDENCE, Run
from shoe.comparison.significance import Difference
from shoe.comparison.sweeps import FIGURES, OptionValue, Point, RankStability, Setting
from shoe.core.documents import Correlation, Count, Document, Fraction, Gain, Pair, Span
from shoe.core.errors import pluralize, printable
from shoe.core.io.spreadsheets import delimited_text
from shoe.report.comparison_sentences import legend, model_notes, named, sentences
from shoe.report.text import count, percent, points, print_line, print_lines, print_more, short_names, table, words

LEAST = "only classes with at least 5 ground truths, and verbs and objects with at least 10, if there are any"
_MOST = 3
_FEWEST_TRUTHS = {"class": 5, "verb": 10, "object": 10}
"""Minimum number of ground truths for an AP difference to be shown, because AP with fewer is mostly chance."""


def print_largest_differences(found: Comparison, made: Sequence[ClassDifference], to: Console) -> None:
    """Print :func:`largest_differences`, if there are any."""
    differences = list(largest_differences(found, made))
    for name, models, lines in differences:
        rows: list[list[str | Text]] = [[kind, words(label), *cells] for kind, label, *cells in lines]
        columns = (f"largest differences, {name}", "", "truths", *short_names(models, 24), "change")
        to.print(table(*columns, names=2, rows=rows))
    if differences:
        pair = sorted(_two_best(found), key=found.names.index)
        others = "all pairs of models and all classes" if len(found.runs) > 2 else "all classes"
        print_line(to, f"largest    differences of {' and '.join(pair)}: {LEAST}; `--json` writes {others}")


def largest_differences(
    found: Comparison, made: Sequence[ClassDifference]
) -> Iterator[tuple[str, Sequence[str], list[tuple[str, str, str, str, str, str]]]]:
    """Yield, per metric, its name, the two best models, and rows with the largest AP gains and losses between them.

    ``made``: AP differences by class, verb and object. The models rank best by the first metric. A row has the kind
    ("class", "verb" or "object"), name, number of ground truths, AP of both models in percent, and the difference in
    points. There are at most three gains and three losses of each kind; see ``_FEWEST_TRUTHS``.
    """
    pair = _two_best(found)
    for each in made:
        if set(each.models) != pair:
            continue
        heading = next(column.heading for column in found.columns if column.figure == each.figure)
        rows = []
        for kind, moves in (("class", each.classes), ("verb", each.verbs), ("object", each.objects)):
            moves = [move for move in moves if move.truths >= _FEWEST_TRUTHS[kind]] or moves
            extremes = [m for m in moves[:_MOST] if m.by > 0] + [m for m in moves[-_MOST:] if m.by < 0]
            rows += [
                (kind, m.name, count(m.truths), percent(m.before), percent(m.after), points(m.by)) for m in extremes
            ]
        if rows:
            yield heading, each.models, rows


def _two_best(found: Comparison) -> set[str]:
    """Return the names of the two best models; of a model and its copy with constant scores, only the better counts."""
    ranks = [cell.rank or len(found.names) + 1 for cell in found.cells(found.columns[0].figure)]
    first, *others = (name for _, _, name in sorted(zip(ranks, range(len(ranks)), found.names, strict=True)))
    model = first.removesuffix(NO_CONFIDENCE)
    return {first, *[name for name in others if name.removesuffix(NO_CONFIDENCE) != model][:1]}


def classes_csv(found: Comparison) -> str:
    """Return a CSV table with a line per class: rare or not, ground truths, and AP (0..1) by metric and model."""
    figures = dict.fromkeys(c.figure for c in found.columns if c.figure.endswith((":full", ":map")))
    headings = [f"{name} {figure}" for figure in figures for name in found.names]
    rows: list[list[object]] = [["class", "rare", "ground truths", *headings]]
    columns = [class_ap(run, figure) for figure in figures for run in found.runs]
    classes, truths = found.runs[0].classes, truths_of(found.runs[0])
    for k, label in enumerate(classes.labels):
        values = ("" if ap[k] != ap[k] else f"{ap[k]:.6f}" for ap in columns)
        rows.append([label, "yes" if classes.rare[k] else "no", int(truths[k]), *values])
    return delimited_text(rows)


RATERS = "rater: similarity from the ratings of this rater alone (`shoe map info` lists the raters)"
NAMES = {"strict": "mAP", "map": "SHOE-mAP", "mf1": "SHOE-mF1"}


def print_sweep(
    models: Sequence[str], points: Sequence[Point], survivals: Sequence[RankStability], to: Console
) -> None:
    """Print a table per metric, a row per option value and a column per model, and which values change the ranking."""
    for name, rows in sweep_tables(points):
        to.print(table(name, "value", *short_names(models, 24), names=2, rows=rows))
    if points:
        weights = "weight: weight of the verb, from 0 (objects alone) to 1 (verbs alone)"
        print_line(to, f"sweep      *: requested value; {weights}; {RATERS}")
    print_lines(to, map(stability_sentence, survivals))


def sweep_tables(points: Sequence[Point]) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield, per metric, its name and rows [option, value, metric of each model in %]; "*" marks requested values."""
    for figure in FIGURES:
        known = [point for point in points if figure in point.figures]
        if known:
            yield (
                NAMES[figure],
                [[p.setting.option, _value(p.setting), *map(percent, p.figures[figure])] for p in known],
            )


def stability_sentence(survival: RankStability) -> str:
    """Return a sentence on the settings that change the ranking of models."""
    figure, changed = NAMES[survival.figure], survival.changed
    if not changed:
        return f"ranking    by {figure} no two models change places under any of {survival.settings} other settings"
    names = ", ".join(f"{setting.option} {_value(setting)}" for setting in changed)
    least = f"; lowest Kendall's tau-b {survival.lowest_tau:.2f}" if survival.lowest_tau is not None else ""
    number = f"{len(changed)} of {survival.settings} other settings"
    return f"ranking    by {figure} models change places under {number}: {names}{least}"


def _value(setting: OptionValue) -> str:
    value = setting.value if isinstance(setting.value, str) else f"{setting.value:g}"
    return f"{value} *" if isinstance(setting, Setting) and setting.asked else value


class Figure(Document, frozen=True):
    """Value of one metric of one model, its rank among the models, and its 95 % interval over images."""

    value: Fraction
    rank: Count
    interval: Span | None = None


class Compared(Document, frozen=True, kw_only=True):
    """Metrics of one model.

    Attributes:
        name: name of the model.
        signature: settings that produced the metrics.
        predictions, predictions_sha: number of predictions, as text, and a digest of them.
        figures: metrics with a value, by key: "strict:PROTOCOL:full", ":rare" and ":non_rare"; "semantic:map", ":mf1",
            ":gt_miss_rate" and ":prediction_miss_rate"; and others (:meth:`shoe.comparison.run.Run.figures`).
        gain: SHOE-mAP minus the strict mAP of the first protocol.
        raters: SHOE-mAP with the ratings of each rater of the similarity map alone.
        map_interval: with ``--bounds``, 90 % predictive interval of SHOE-mAP if all pairs of senses were rated.
        absent: reasons why metrics could not be measured, by group of metrics, such as "semantic".
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
    """Agreement of the rankings of models by strict and by semantic mAP.

    Attributes:
        figures: keys of the two metrics.
        tau: Kendall's tau-b between the rankings.
        moved: pairs of models that the two metrics rank in opposite order.
    """

    figures: Pair
    tau: Correlation | None = None
    moved: list[Pair]


class SweptSetting(OptionValue, frozen=True):
    """Metrics of all models with one option set to one value.

    Attributes:
        asked: whether the comparison itself uses this value.
        figures: metrics in the form {metric: {model: value}}.
    """

    asked: bool
    figures: dict[str, dict[str, Fraction]]


class Sweep(Document, frozen=True):
    """Metrics under changed options, one option at a time, and whether the ranking of models stays the same."""

    points: list[SweptSetting]
    rankings: list[RankStability]

    @classmethod
    def from_points(cls, models: Sequence[str], points: Sequence[Point], survivals: Sequence[RankStability]) -> Sweep:
        """Build the JSON document from ``points``, whose values are in the order of ``models``."""
        swept = []
        for point in points:
            pairs = {figure: zip(models, values, strict=True) for figure, values in point.figures.items()}
            figures = {figure: {m: value for m, value in each if value is not None} for figure, each in pairs.items()}
            swept.append(SweptSetting(point.setting.option, point.setting.value, point.setting.asked, figures))
        return cls(swept, list(survivals))


class Compare(Document, frozen=True, kw_only=True):
    """Comparison of models.

    Attributes:
        models: metrics of each model, in the order of the files.
        resamples, seed: number of resamples of the images, and the random seed.
        differences: differences of every two models, for each metric that both have; empty without resamples.
        ranking: agreement of the rankings by strict and by semantic mAP.
        unlike: a line for each setting in which a model differs from the first, and each protocol that not all have.
        notes: results and remarks in sentences.
        apart: differences of every two models by class, verb and object.
        sweep: with ``--sweep``, the metrics under other options.
    """

    models: list[Compared]
    resamples: Count | None = None
    seed: Count | None = None
    differences: tuple[Difference, ...] = ()
    ranking: Ranking | None = None
    unlike: tuple[str, ...] = ()
    notes: list[str] = msgspec.field(default_factory=list)
    apart: list[ClassDifference] | None = None
    sweep: Sweep | None = None

    @classmethod
    def from_comparison(
        cls, found: Comparison, apart: list[ClassDifference] | None = None, sweep: Sweep | None = None
    ) -> Compare:
        """Build the JSON document from a comparison, differences by class (``apart``) and a sweep of options."""
        made, ranking = found.statistics, None
        if found.compared:
            ranking = Ranking(figures=found.compared, tau=found.tau, moved=[*found.discordant_pairs])
        figures: list[dict[str, Figure]] = [{} for _ in found.runs]
        for column in found.columns:
            for run, of_run, cell in zip(found.runs, figures, found.cells(column.figure), strict=True):
                if cell.value is not None and cell.rank is not None:
                    estimate = made.estimates[run.name].get(column.figure) if made else None
                    ends = (estimate.low, estimate.high) if estimate else None
                    of_run[column.figure] = Figure(cell.value, cell.rank, ends)
        models = [
            Compared(
                name=run.name,
                signature=str(run.signature),
                predictions=run.facts.get("predictions"),
                predictions_sha=run.facts.get("predictions-sha"),
                figures=of_run,
                gain=gain,
                raters=run.spread.raters if run.spread else None,
                map_interval=run.interval.map if run.interval else None,
                absent={**(run.absent or {})},
            )
            for run, of_run, gain in zip(found.runs, figures, found.gains, strict=True)
        ]
        tests = {name: getattr(made, name) for name in ("resamples", "seed", "differences")} if made else {}
        return cls(
            models=models,
            **tests,
            ranking=ranking,
            unlike=found.unlike,
            notes=[*model_notes(found), *sentences(found)],
            apart=apart,
            sweep=sweep,
        )


def comparison_csv(found: Comparison) -> bytes:
    """Return a UTF-8 CSV table with a line per measured metric of a model: model, metric key, value, rank, interval."""
    rows: list[list[object]] = [["model", "figure", "value", "rank", "low", "high"]]
    for column in found.columns:
        for name, cell in zip(found.names, found.cells(column.figure), strict=True):
            if cell.value is None:
                continue
            estimate = found.statistics.estimates[name].get(column.figure) if found.statistics else None
            ends = [f"{estimate.low:.6f}", f"{estimate.high:.6f}"] if estimate else ["", ""]
            rows.append([name, column.figure, f"{cell.value:.6f}", cell.rank, *ends])
    return delimited_text(rows).encode()


_DIGITS = str.maketrans("0123456789,", "⁰¹²³⁴⁵⁶⁷⁸⁹·")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "–": r"\textendash{}",
    "↓": r"$\downarrow$",
}
"""Replacements of characters that LaTeX would read as commands or join with their neighbours."""


def print_comparison(found: Comparison, to: Console, *, verbose: bool = False) -> None:
    """Print metrics, main results and notes; with ``verbose`` also ranks, metrics by rater, all results and signatures.

    Without ``verbose``, intervals are left out for more than three models, so that the report fits on one screen.
    """
    facts, images = found.runs[0].facts, pluralize(len(found.runs[0].images), "image")
    print_line(to, f"{facts['data']} · {facts['split']} · {images}", "bold")
    several = len({column.group for column in found.columns}) > 2
    headings = [f"{c.group}\n{c.marked}" if several else c.marked.replace(" ", "\n", 1) for c in found.columns]
    extra = ["gain"] if found.compared else []
    columns = [found.cells(column.figure) for column in found.columns]
    made, names = table("model", *headings, *extra), short_names(found.names)
    for number, name in enumerate(names):
        gain = [points(found.gains[number])] if found.compared else []
        made.add_row(Text(f"{number + 1} {name}"), *(_styled(cells[number]) for cells in columns), *gain)
        for below, cells in _detail_rows(found, number).items():
            if verbose or (below != "rank" and len(names) <= _MOST):
                made.add_row(*(Text(cell, style="dim") for cell in (f"  {below}", *cells, *[""][: len(extra)])))
    to.print(made)
    if found.raters and verbose:
        by_rater = zip(names, *(map(percent, values) for values in found.raters.values()), strict=True)
        to.print(table("SHOE-mAP by rater", *found.raters, rows=by_rater))
    results = sentences(found, brief=not verbose)
    print_lines(to, (*model_notes(found), *found.unlike, *results, f"table      {legend(found)}"))
    if not verbose:
        if found.statistics is not None and found.statistics.has_intervals:
            tests = "p: larger p-value of two paired tests, corrected for all pairs of models"
            print_line(to, f"95 %       interval over resampled images; {tests}")
        print_more(to)
    print_lines(to, (f"signature  {line}" for line in _signatures(found, short=True)) if verbose else ())


def _signatures(found: Comparison, *, short: bool = False) -> list[str]:
    models: dict[tuple[tuple[str, str], ...], list[Run]] = {}
    for run in found.runs:
        models.setdefault(run.signature.items, []).append(run)
    lines = []
    for items, runs in models.items():
        line = runs[0].signature.short() if short else str(runs[0].signature)
        read = ", ".join(f"{name} {value}" for name, value in items if name in OF_PREDICTIONS) if short else ""
        names = named([run.name for run in runs], found)
        lines.append(f"{names}: {line}{f' (read as {read})' if read else ''}" if len(models) > 1 else line)
    return lines


def _detail_rows(found: Comparison, number: int) -> dict[str, list[str]]:
    below = {}
    if found.statistics is not None:
        estimates = found.statistics.estimates[found.names[number]]
        columns = [estimates.get(column.figure) for column in found.columns]
        below["95 %"] = [f"{percent(each.low)}–{percent(each.high)}" if each else "" for each in columns]
    if found.compared and len(found.runs) > 1:
        ranks = {figure: str(found.cells(figure)[number].rank or "–") for figure in found.compared}
        below["rank"] = [ranks.get(column.figure, "") for column in found.columns]
    return below


def as_latex(found: Comparison) -> str:
    """Return a LaTeX table for the booktabs package and its legend; signatures and notes are LaTeX comments."""

    def write_cell(cell: Cell) -> str:
        text = percent(cell.value) if cell.value is not None else "--"
        text = rf"\textbf{{{text}}}" if cell.best else rf"\underline{{{text}}}" if cell.second else text
        return text + (rf"\textsuperscript{{{','.join(map(str, cell.above))}}}" if cell.above else "")

    columns = found.columns
    spans, rules, at = [], [], 3
    for group, members in groupby(columns, key=lambda column: column.group):
        start, at = at, at + len(list(members))
        spans.append(rf"\multicolumn{{{at - start}}}{{c}}{{{escaped(group)}}}")
        rules.append(rf"\cmidrule(lr){{{start}-{at - 1}}}")
    extra = ["gain"] if found.compared else []
    beyond = max(map(ord, "".join(found.names)), default=0) > 0x24F  # pdfLaTeX prints Latin Extended-B
    lines = [
        "% needs \\usepackage{booktabs}" + (", and XeLaTeX or LuaLaTeX for names beyond Latin" if beyond else ""),
        *(f"% {' '.join(line.split())}" for line in (*_signatures(found), *found.unlike, *model_notes(found))),
        rf"\begin{{tabular}}{{rl{'r' * (len(columns) + len(extra))}}}",
        r"\toprule",
        " & ".join(["", "", *spans, *[""][: len(extra)]]) + r" \\",
        "".join(rules),
        " & ".join(["", "Model", *(escaped(column.marked) for column in columns), *extra]) + r" \\",
        r"\midrule",
    ]
    rows = [" & ".join(row) + r" \\" for row in _rows(found, write_cell, escaped, r"{{\scriptsize {}}}", "$-$")]
    note = rf"\par\smallskip{{\footnotesize {escaped(legend(found))}\par}}"
    return "\n".join([*lines, *rows, r"\bottomrule", r"\end{tabular}", note, ""])


def as_markdown(found: Comparison) -> str:
    """Return a Markdown table for GitHub and MkDocs; the legend, the results in sentences and signatures follow."""

    def write_cell(cell: Cell) -> str:
        text = percent(cell.value)
        text = f"**{text}**" if cell.best else f"<u>{text}</u>" if cell.second else text
        return text + (f"<sup>{','.join(map(str, cell.above))}</sup>" if cell.above else "")

    several = len({column.group for column in found.columns}) > 2
    headings = [f"{column.group} {column.marked}" if several else column.marked for column in found.columns]
    header = ["", "Model", *map(_plain, headings), *(["gain"] if found.compared else [])]
    alignment = ["--:", ":--", *["--:"] * (len(header) - 2)]
    rows = [header, alignment, *_rows(found, write_cell, _plain, "<small>{}</small>", "−")]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    notes = [f"- {_plain(' '.join(s.split()))}" for s in (*model_notes(found), *found.unlike, *sentences(found))]
    signatures = "\n\n".join(f"`{line}`" for line in _signatures(found))
    return "\n".join([*lines, "", legend(found), "", *notes, "", signatures, ""])


def _rows(
    found: Comparison, cell: Callable[[Cell], str], name: Callable[[str], str], small: str, minus: str
) -> list[list[str]]:
    columns = [found.cells(column.figure) for column in found.columns]
    rows = []
    for number, run in enumerate(found.runs):
        gain = [points(found.gains[number]).replace("-", minus)] if found.compared else []
        rows.append([str(number + 1), name(run.name), *(cell(cells[number]) for cells in columns), *gain])
        for below, cells in _detail_rows(found, number).items():
            texts = (small.format(name(text)) if text else "" for text in (below, *cells))
            rows.append(["", *texts, *[""][: len(gain)]])
    return rows


def escaped(text: str) -> str:
    """Return a text, cut to 200 characters, with LaTeX's special characters escaped."""
    return "".join(_LATEX.get(sign, sign) for sign in printable(text, 200)).replace("--", "-{}-")


def _plain(text: str) -> str:
    return "".join(f"\\{sign}" if sign in "\\`*_{}[]<>#|~$" else sign for sign in printable(text, 2000))


def _styled(cell: Cell) -> Text:
    text = Text(percent(cell.value), style="bold" if cell.best else "underline" if cell.second else "")
    return text.append(",".join(map(str, cell.above)).translate(_DIGITS), style="not bold not underline")
