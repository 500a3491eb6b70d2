"""``shoe study``: what people rated, and how far they agree."""

from pathlib import Path
from typing import Annotated

import typer

from shoe.cli.output import Json, put_json, spare

app = typer.Typer(
    help="Look into ratings that people gave.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def study() -> None:
    """Look into ratings that people gave."""


@app.command()
def report(
    file: Annotated[Path, typer.Argument(help="Table of answers, CSV or TSV: item, rater, rating 0 to 4.")],
    similarity: Annotated[
        str | None, typer.Option(help="Similarity map to hold against people: a shipped name or a folder.")
    ] = None,
    latex: Annotated[Path | None, typer.Option(help="Write a LaTeX table here.")] = None,
    json: Json = None,
) -> None:
    """Print how far raters agree with each other, with themselves, and with a map or another measure.

    The table has a line an answer: item (or verb_a, object_a, verb_b, object_b: WordNet names, which a map needs),
    rater, rating; and as far as there are: occasion (2 for a repeat), phase (words or picture), part (a stratum),
    reference (another measure, 0 to 1), gold (the expected rating), seconds.

    Example: shoe study report answers.csv --similarity hico-det --latex agreement.tex

    JSON keys: holes, rules, raters {rater {levels, kappas {rater}, ceiling, excluded}}, by_majority, all {items,
    raters, ratings, alpha {ordinal, interval, nominal}, kappa, ceiling, spread, standard_error, reference {items,
    spearman, agreement, fisher, bonett_wright, bootstrap, p}}; where they apply without_excluded and parts {part} as
    all, retest {answers, exact, kappa}, picture {answers, changed, size}. A figure is {value, interval [low, high]}.
    """
    from shoe.io.files import replacing
    from shoe.report.study import print_study, study_dict, study_latex
    from shoe.report.terminal import console
    from shoe.study.analysis import analyse
    from shoe.study.ratings import read_study
    from shoe.study.reference import with_map

    spare((file,), latex, json)
    ratings = read_study(file)
    found = analyse(ratings if similarity is None else with_map(ratings, similarity, file))
    if latex is not None:
        with replacing(latex) as stream:
            stream.write(study_latex(found).encode())
    if not put_json(study_dict(found), json):
        print_study(found, console())
