"""Models beside each other as a table: in the terminal, as LaTeX and as Markdown."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

from rich.console import Console
from rich.text import Text

from shoe.comparison.compare import Cell, Comparison
from shoe.core.errors import printable
from shoe.report.comparison import sentences
from shoe.report.notes import percent
from shoe.report.text import points, say, table, words

_DIGITS = str.maketrans("0123456789,", "⁰¹²³⁴⁵⁶⁷⁸⁹·")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}
"""What stands in text for what LaTeX reads as a command, or would join with its neighbour."""
_CAPTION = "Best in bold, second underlined; superscripts name the models than which one is significantly better."


def print_comparison(found: Comparison, to: Console) -> None:
    """Print the table, what it says in words, and the signature."""
    first = found.runs[0]
    say(to, " · ".join([first.facts["data"], first.facts["split"], f"{len(first.images):,} images"]), "bold")
    groups = {column.group for column in found.columns}
    headings = [
        column.heading if len(groups) < 3 or column.heading.startswith("SHOE") else f"{column.group}\n{column.heading}"
        for column in found.columns
    ]
    extra = ["gain"] if found.compared else []
    columns = [found.cells(column.figure) for column in found.columns]
    rows: list[list[str | Text]] = []
    for number, run in enumerate(found.runs):
        gain = [points(found.gains[number])] if found.compared else []
        rows.append(
            [Text(f"{number + 1} {printable(run.name)}"), *(_styled(cells[number]) for cells in columns), *gain]
        )
        rows += [
            [Text(cell, style="dim") for cell in (f"  {name}", *cells, *[""][: len(extra)])]
            for name, cells in _beside(found, number).items()
        ]
    to.print(table("model", *headings, *extra, rows=rows))
    if found.raters:
        by_rater: list[list[str | Text]] = [
            [words(name), *(percent(of[i]) for of in found.raters.values())] for i, name in enumerate(found.names)
        ]
        to.print(table("SHOE-mAP by rater", *found.raters, rows=by_rater))
    for line in (*found.unlike, *sentences(found)):
        say(to, line)
    for run in found.runs if found.unlike else found.runs[:1]:
        say(to, f"signature  {run.signature.short()}")


def _beside(found: Comparison, number: int) -> dict[str, list[str]]:
    """What stands below a model's figures: their intervals, and its ranks."""
    below = {}
    if found.statistics is not None:
        estimates = found.statistics.estimates[found.names[number]]
        of_columns = [estimates.get(column.figure) for column in found.columns]
        below["95 %"] = [f"{percent(of.low)}–{percent(of.high)}" if of else "" for of in of_columns]
    if found.compared:
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
    lines = [
        "% needs \\usepackage{booktabs}",
        f"% {found.runs[0].signature}".replace("\n", " "),
        rf"\begin{{tabular}}{{rl{'r' * (len(columns) + len(extra))}}}",
        r"\toprule",
        " & ".join(["", "", *spans, *[""][: len(extra)]]) + r" \\",
        "".join(rules),
        " & ".join(["", "Model", *(escaped(column.heading) for column in columns), *extra]) + r" \\",
        r"\midrule",
    ]
    rows = [" & ".join(row) + r" \\" for row in _rows(found, cell, escaped, "$-$")]
    return "\n".join([*lines, *rows, r"\bottomrule", r"\end{tabular}", f"% {_CAPTION}", ""])


def as_markdown(found: Comparison) -> str:
    """A table as GitHub and MkDocs read it, with the sentences below."""

    def cell(of: Cell) -> str:
        text = percent(of.value)
        text = f"**{text}**" if of.best else f"<u>{text}</u>" if of.second else text
        return text + (f"<sup>{','.join(map(str, of.above))}</sup>" if of.above else "")

    several = len({column.group for column in found.columns}) > 2
    headings = [f"{column.group} {column.heading}" if several else column.heading for column in found.columns]
    header = ["", "Model", *headings, *(["gain"] if found.compared else [])]
    rows = [header, ["--:", ":--", *["--:"] * (len(header) - 2)], *_rows(found, cell, _plain, "−")]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    below = [f"- {_plain(' '.join(line.split()))}" for line in sentences(found)]
    return "\n".join([*lines, "", _CAPTION, "", *below, "", f"`{found.runs[0].signature}`", ""])


def _rows(found: Comparison, cell: Callable[[Cell], str], name: Callable[[str], str], minus: str) -> list[list[str]]:
    columns = [found.cells(column.figure) for column in found.columns]
    rows = []
    for number, run in enumerate(found.runs):
        gain = [points(found.gains[number]).replace("-", minus)] if found.compared else []
        rows.append([str(number + 1), name(run.name), *(cell(cells[number]) for cells in columns), *gain])
    return rows


def escaped(text: str) -> str:
    """Text as LaTeX prints it."""
    return "".join(_LATEX.get(sign, sign) for sign in printable(text, 200)).replace("--", "-{}-")


def _plain(text: str) -> str:
    """Text as Markdown prints it."""
    return "".join(f"\\{sign}" if sign in "\\`*_{}[]<>#|~" else sign for sign in printable(text, 2000))


def _styled(of: Cell) -> Text:
    shown = Text(percent(of.value), style="bold" if of.best else "underline" if of.second else "")
    return shown.append(",".join(map(str, of.above)).translate(_DIGITS), style="not bold not underline")


def write(text: str, path: str) -> None:
    """Write a table; the file appears whole or not at all."""
    from shoe.io.files import replacing

    with replacing(path) as stream:
        stream.write(text.encode())
