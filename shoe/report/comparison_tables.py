"""Models beside each other as a table: in the terminal, as LaTeX and as Markdown."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

from rich.console import Console
from rich.text import Text

from shoe.comparison.compare import OF_PREDICTIONS, Cell, Comparison
from shoe.comparison.run import Run
from shoe.core.errors import many, printable
from shoe.report.comparison_sentences import legend, model_notes, named, sentences
from shoe.report.text import percent, points, say, short_names, table

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
