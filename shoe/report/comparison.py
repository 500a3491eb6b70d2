"""Models beside each other: as JSON and CSV, in the terminal, as LaTeX and as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import msgspec
from rich.console import Console
from rich.text import Text

from shoe.comparison.classes import Apart, Moved, class_ap, truths_of
from shoe.comparison.compare import OF_PREDICTIONS, Cell, Comparison
from shoe.comparison.run import NO_CONFIDENCE, Run
from shoe.comparison.significance import Difference, Estimate
from shoe.comparison.sweeps import FIGURES, Choice, Point, Setting, Survival
from shoe.core.documents import Correlation, Count, Document, Fraction, Gain, Pair, Span
from shoe.core.errors import many, printable
from shoe.core.io.delimited import delimited_text
from shoe.report.comparison_sentences import legend, model_notes, named, sentences
from shoe.report.text import count, percent, points, say, short_names, table, words

# What sets models apart, by class, verb and object: in the terminal and as CSV.

LEAST = "of classes with 5 ground truths or more, of verbs and objects with 10, where there are such"
_MOST = 3
_FEWEST_TRUTHS = {"class": 5, "verb": 10, "object": 10}
"""Ground truths below which average precision is a matter of luck; what has fewer is shown only where all have."""


def print_apart(found: Comparison, made: Sequence[Apart], to: Console) -> None:
    """Of the two best models, the classes, verbs and objects that gain and lose most."""
    shown = False
    for name, models, lines in most_apart(found, made):
        rows: list[list[str | Text]] = [[kind, words(label), *cells] for kind, label, *cells in lines]
        to.print(table(f"most apart, {name}", "", "truths", *short_names(models, 24), "by", names=2, rows=rows))
        shown = True
    if shown:
        pair = sorted(_two_best(found), key=found.names.index)
        others = "; other pairs, and all classes: --json" if len(found.runs) > 2 else "; all classes: --json"
        say(to, f"apart      {' and '.join(pair)}: {LEAST}{others}")


def most_apart(
    found: Comparison, made: Sequence[Apart]
) -> Iterator[tuple[str, Sequence[str], list[tuple[str, str, str, str, str, str]]]]:
    """For each figure its name, the two best models, and what gains and loses most from one to the other.

    Each row says the kind, the class, verb or object, its truths, its two figures in percent, and their difference.
    """
    pair = _two_best(found)
    for each in made:
        if set(each.models) != pair:
            continue
        heading = next(column.heading for column in found.columns if column.figure == each.figure)
        rows = [
            (kind, one.name, count(one.truths), percent(one.before), percent(one.after), points(one.by))
            for kind, moved in (("class", each.classes), ("verb", each.verbs), ("object", each.objects))
            for one in _extremes(moved, _FEWEST_TRUTHS[kind])
        ]
        if rows:
            yield heading, each.models, rows


def _two_best(found: Comparison) -> set[str]:
    """The best model and the next one that is not the same with all its scores equal."""
    cells = found.cells(found.columns[0].figure)
    order = sorted(range(len(cells)), key=lambda i: (cells[i].rank or len(cells) + 1, i))
    first, *others = (found.names[i] for i in order)
    model = first.removesuffix(NO_CONFIDENCE)
    return {first, *[name for name in others if name.removesuffix(NO_CONFIDENCE) != model][:1]}


def _extremes(moved: Sequence[Moved], fewest: int) -> list[Moved]:
    moved = [one for one in moved if one.truths >= fewest] or moved
    gained = [one for one in moved[:_MOST] if one.by > 0]
    lost = [one for one in moved[-_MOST:] if one.by < 0]
    return gained + lost


def classes_csv(found: Comparison) -> str:
    """A line for each class: its name, its ground truths, whether it is rare, and average precision of every model."""
    figures = [
        figure for figure in dict.fromkeys(c.figure for c in found.columns) if figure.endswith((":full", ":map"))
    ]
    headings = [f"{name} {figure}" for figure in figures for name in found.names]
    rows: list[list[object]] = [["class", "rare", "ground truths", *headings]]
    columns = [class_ap(run, figure) for figure in figures for run in found.runs]
    classes, truths = found.runs[0].classes, truths_of(found.runs[0])
    for k, label in enumerate(classes.labels):
        values = ("" if ap[k] != ap[k] else f"{ap[k]:.6f}" for ap in columns)
        rows.append([label, "yes" if classes.rare[k] else "no", int(truths[k]), *values])
    return delimited_text(rows)


# Figures of models under other choices of the metric, in the terminal.

RATERS = "a rater is one of the map alone: shoe map info says who"
NAMES = {"strict": "mAP", "map": "SHOE-mAP", "mf1": "SHOE-mF1"}


def print_sweep(models: Sequence[str], points: Sequence[Point], survivals: Sequence[Survival], to: Console) -> None:
    """One table a figure, a row a setting and a column a model; then whether rankings survive."""
    for name, rows in sweep_tables(points):
        to.print(table(name, "value", *short_names(models, 24), names=2, rows=rows))
    if points:
        say(to, f"sweep      *: as asked for; weight is that of the verb: 0 objects alone, 1 verbs alone; {RATERS}")
    for survival in survivals:
        say(to, sentence(survival))


def sweep_tables(points: Sequence[Point]) -> Iterator[tuple[str, list[list[str]]]]:
    """For each figure its name, and a row a setting: the option, its value (* as asked for), percent of each model."""
    for figure in FIGURES:
        rows = [
            [point.setting.option, _value(point.setting), *map(percent, point.figures[figure])]
            for point in points
            if figure in point.figures
        ]
        if rows:
            yield NAMES[figure], rows


def sentence(survival: Survival) -> str:
    """Whether a ranking survives, in one sentence with its numbers."""
    figure, changed = NAMES[survival.figure], survival.changed
    if not changed:
        return f"ranking    by {figure} no two models change places under any of {survival.settings} other settings"
    named = ", ".join(f"{setting.option} {_value(setting)}" for setting in changed)
    least = f"; lowest Kendall's tau-b {survival.lowest_tau:.2f}" if survival.lowest_tau is not None else ""
    of = f"{len(changed)} of {survival.settings} other settings"
    return f"ranking    by {figure} models change places under {of}: {named}{least}"


def _value(setting: Choice) -> str:
    value = setting.value if isinstance(setting.value, str) else f"{setting.value:g}"
    return f"{value} *" if isinstance(setting, Setting) and setting.asked else value


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


# Models beside each other as a table: in the terminal, as LaTeX and as Markdown.

_DIGITS = str.maketrans("0123456789,", "⁰¹²³⁴⁵⁶⁷⁸⁹·")
_LATIN = 0x24F
"""The last letter that pdfLaTeX may know."""
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
"""What stands in text for what LaTeX reads as a command, or would join with its neighbour."""


def print_comparison(found: Comparison, to: Console) -> None:
    """Print the table, what it says in words, and the signature."""
    first = found.runs[0]
    say(to, " · ".join([first.facts["data"], first.facts["split"], many(len(first.images), "image")]), "bold")
    groups = {column.group for column in found.columns}
    headings = [
        column.marked if len(groups) < 3 or column.heading.startswith("SHOE") else f"{column.group}\n{column.marked}"
        for column in found.columns
    ]
    extra = ["gain"] if found.compared else []
    columns = [found.cells(column.figure) for column in found.columns]
    rows: list[list[str | Text]] = []
    names = short_names(found.names)
    for number, name in enumerate(names):
        gain = [points(found.gains[number])] if found.compared else []
        rows.append([Text(f"{number + 1} {name}"), *(_styled(cells[number]) for cells in columns), *gain])
        rows += [
            [Text(cell, style="dim") for cell in (f"  {below}", *cells, *[""][: len(extra)])]
            for below, cells in _beside(found, number).items()
        ]
    to.print(table("model", *headings, *extra, rows=rows))
    if found.raters:
        by_rater: list[list[str | Text]] = [
            [name, *(percent(of[i]) for of in found.raters.values())] for i, name in enumerate(names)
        ]
        to.print(table("SHOE-mAP by rater", *found.raters, rows=by_rater))
    for line in (*model_notes(found), *found.unlike, *sentences(found), f"table      {legend(found)}"):
        say(to, line)
    for line in _signatures(found, short=True):
        say(to, f"signature  {line}")


def _signatures(found: Comparison, *, short: bool = False) -> list[str]:
    """The signature of all models; where they differ each one, with its models and how their predictions were read."""
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


def _beside(found: Comparison, number: int) -> dict[str, list[str]]:
    """What stands below a model's figures: their intervals, and its ranks."""
    below = {}
    if found.statistics is not None:
        estimates = found.statistics.estimates[found.names[number]]
        of_columns = [estimates.get(column.figure) for column in found.columns]
        below["95 %"] = [f"{percent(of.low)}–{percent(of.high)}" if of else "" for of in of_columns]
    if found.compared and len(found.runs) > 1:
        ranks = {figure: str(found.cells(figure)[number].rank or "–") for figure in found.compared}
        below["rank"] = [ranks.get(column.figure, "") for column in found.columns]
    return below


def as_latex(found: Comparison) -> str:
    """A booktabs table, with the document's commands for bold, underlined and raised text alone."""

    def cell(of: Cell) -> str:
        text = percent(of.value) if of.value is not None else "--"
        text = rf"\textbf{{{text}}}" if of.best else rf"\underline{{{text}}}" if of.second else text
        return text + (rf"\textsuperscript{{{','.join(map(str, of.above))}}}" if of.above else "")

    columns = found.columns
    spans, rules, at = [], [], 3
    for group, members in groupby(columns, key=lambda column: column.group):
        width = len(list(members))
        spans.append(rf"\multicolumn{{{width}}}{{c}}{{{escaped(group)}}}")
        rules.append(rf"\cmidrule(lr){{{at}-{at + width - 1}}}")
        at += width
    extra = ["gain"] if found.compared else []
    beyond = any(ord(sign) > _LATIN for name in found.names for sign in name)
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
    rows = [" & ".join(row) + r" \\" for row in _rows(found, cell, escaped, r"{{\scriptsize {}}}", "$-$")]
    note = escaped(legend(found))
    return "\n".join(
        [*lines, *rows, r"\bottomrule", r"\end{tabular}", rf"\par\smallskip{{\footnotesize {note}\par}}", ""]
    )


def as_markdown(found: Comparison) -> str:
    """A table as GitHub and MkDocs read it, with the sentences below."""

    def cell(of: Cell) -> str:
        text = percent(of.value)
        text = f"**{text}**" if of.best else f"<u>{text}</u>" if of.second else text
        return text + (f"<sup>{','.join(map(str, of.above))}</sup>" if of.above else "")

    several = len({column.group for column in found.columns}) > 2
    headings = [f"{column.group} {column.marked}" if several else column.marked for column in found.columns]
    header = ["", "Model", *map(_plain, headings), *(["gain"] if found.compared else [])]
    rows = [header, ["--:", ":--", *["--:"] * (len(header) - 2)], *_rows(found, cell, _plain, "<small>{}</small>", "−")]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    said = (*model_notes(found), *found.unlike, *sentences(found))
    below = [f"- {_plain(' '.join(line.split()))}" for line in said]
    signed = [f"`{line}`" for line in _signatures(found)]
    return "\n".join([*lines, "", legend(found), "", *below, "", "\n\n".join(signed), ""])


def _rows(
    found: Comparison, cell: Callable[[Cell], str], name: Callable[[str], str], small: str, minus: str
) -> list[list[str]]:
    """A row of figures for each model, then one of its intervals and one of its ranks, in small type."""
    columns = [found.cells(column.figure) for column in found.columns]
    rows = []
    for number, run in enumerate(found.runs):
        gain = [points(found.gains[number]).replace("-", minus)] if found.compared else []
        rows.append([str(number + 1), name(run.name), *(cell(cells[number]) for cells in columns), *gain])
        for below, cells in _beside(found, number).items():
            shown = (small.format(name(of)) if of else "" for of in (below, *cells))
            rows.append(["", *shown, *[""][: len(gain)]])
    return rows


def escaped(text: str) -> str:
    """Text as LaTeX prints it."""
    return "".join(_LATEX.get(sign, sign) for sign in printable(text, 200)).replace("--", "-{}-")


def _plain(text: str) -> str:
    """Text as Markdown prints it."""
    return "".join(f"\\{sign}" if sign in "\\`*_{}[]<>#|~$" else sign for sign in printable(text, 2000))


def _styled(of: Cell) -> Text:
    shown = Text(percent(of.value), style="bold" if of.best else "underline" if of.second else "")
    return shown.append(",".join(map(str, of.above)).translate(_DIGITS), style="not bold not underline")


def write(text: str, path: str) -> None:
    """Write a table; the file appears whole or not at all."""
    from shoe.core.io.files import replacing

    with replacing(path) as stream:
        stream.write(text.encode())
