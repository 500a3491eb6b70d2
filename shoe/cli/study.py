"""``shoe study``: have people rate how similar interactions are, and see how far they agree."""

from pathlib import Path
from typing import Annotated

import typer

from shoe.benchmarks import DEFAULT
from shoe.cli.output import Json, put_json, spare

app = typer.Typer(
    help="Have people rate how similar interactions are, and see how far they agree.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.command()
def new(
    folder: Annotated[Path, typer.Argument(help="Folder to make.")],
    dataset: Annotated[str, typer.Option(help="Whose classes are rated.")] = DEFAULT,
    similarity: Annotated[
        str, typer.Option(help="Map whose levels the strata are: a shipped name or a folder; dataset: its own.")
    ] = "dataset",
    items: Annotated[int, typer.Option(min=1, help="Pairs of interactions.")] = 500,
    raters: Annotated[int, typer.Option(min=1, max=1000, help="Pages to write.")] = 5,
    seed: Annotated[int, typer.Option(min=0, max=65535, help="From which all that is drawn follows.")] = 0,
) -> None:
    """Draw pairs of interactions, and write a page for each rater: one HTML file, which saves a file to send back.

    Pairs are drawn evenly over what differs (verb, object, both) and how similar the map says they are. Each rater sees
    them in an order of its own, a tenth a second time, and some whose rating is known. Edit consent.txt and
    instructions.txt, and run the command again: the pages take them over.

    Example: shoe study new study --items 500 --raters 5

    Then: shoe study collect study *.json --out answers.csv, and shoe study report answers.csv
    """
    from shoe.benchmarks import benchmark
    from shoe.io.files import replacing
    from shoe.page.study import TEXTS, shown_to_all, write_rater_page
    from shoe.report.study import print_plan
    from shoe.report.terminal import console
    from shoe.similarity import similarity_for
    from shoe.study.kept import write_study
    from shoe.study.plan import new_study

    of = benchmark(dataset)
    made, sample = new_study(of, similarity_for(of, similarity, "mean"), items, raters, seed)
    write_study(folder, made, {})
    texts = {}
    for name, text in TEXTS.items():
        if not (folder / name).exists():
            with replacing(folder / name) as stream:
                stream.write(text.format(minutes=max(1, round(len(made.items) * 1.1 * 8 / 60))).encode())
        texts[name] = (folder / name).read_text("utf-8", "replace")
    shown = shown_to_all(made, texts)
    for number, name in enumerate(made.names):
        write_rater_page(folder / f"{name}.html", shown, name, made.order(number))
    print_plan(folder, made, sample, console())


@app.command()
def collect(
    folder: Annotated[Path, typer.Argument(help="Folder of the study.")],
    files: Annotated[list[Path], typer.Argument(help="Files that raters sent back.")],
    out: Annotated[Path, typer.Option(help="Table to write, CSV.")],
) -> None:
    """Put the files that raters sent back into one table, which shoe study report reads.

    Of several answers of a rater to one question the last one counts; the same file twice changes nothing.

    Example: shoe study collect study rater-1.json rater-2.json --out answers.csv
    """
    from shoe.core.errors import many
    from shoe.io.delimited import delimited_text
    from shoe.io.files import replacing
    from shoe.study.collected import answers_of, table_of
    from shoe.study.kept import FILE, load_study

    spare((folder / FILE, *files), out)
    study = load_study(folder)
    answers = answers_of(study, files)
    with replacing(out) as stream:
        stream.write(delimited_text(table_of(study, answers)).encode())
    print(f"{out}: {many(len(answers), 'answer')} of {many(len({rater for rater, _ in answers}), 'rater')}")


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
    all, retest {answers, exact, kappa}, picture {answers, changed, size}, beside {items, raters [{name, person, bias,
    noise, rho}], ensembles [{raters, agreement, among_best}], left_out}. A figure is {value, interval [low,
    high]}.
    """
    from shoe.io.files import replacing
    from shoe.report.study import print_study, study_dict, study_latex
    from shoe.report.terminal import console
    from shoe.study.analysis import analyse
    from shoe.study.map_raters import beside_people
    from shoe.study.ratings import read_study
    from shoe.study.reference import with_map

    spare((file,), latex, json)
    ratings = read_study(file)
    found = analyse(ratings if similarity is None else with_map(ratings, similarity, file))
    if latex is not None:
        with replacing(latex) as stream:
            stream.write(study_latex(found).encode())
    beside = None if similarity is None else beside_people(found.study, similarity, file)
    if not put_json(study_dict(found, beside), json):
        print_study(found, beside, console())
