"""``shoe study``: have people rate how similar interactions are, and see how far they agree."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoe.benchmarks import DEFAULT
from shoe.cli import options
from shoe.cli.output import check_folder, put_json, refuse_overwrite
from shoe.cli.study_metric import metric, sheet
from shoe.cli.study_service import fetch, publish

if TYPE_CHECKING:
    from shoe.study.kept import AnyStudy

app = typer.Typer(
    help="Have people rate how similar interactions are, and see how far they agree.",
)

_Folder = Annotated[Path, typer.Argument(help="Folder to make.")]
_Raters = Annotated[int, typer.Option(min=1, max=1000, help="Pages to write.")]
_Seed = Annotated[int, typer.Option(min=0, max=65535, help="From which all that is drawn follows.")]


@app.command()
def new(
    folder: _Folder,
    dataset: Annotated[str, typer.Option(help="Whose classes are rated.")] = DEFAULT,
    similarity: Annotated[
        str, typer.Option(help="Map whose levels the strata are: a shipped name or a folder; dataset: its own.")
    ] = "dataset",
    items: Annotated[int, typer.Option(min=1, help="Pairs of interactions.")] = 500,
    raters: _Raters = 5,
    seed: _Seed = 0,
    predictions: Annotated[
        list[Path] | None,
        typer.Option("--for", metavar="PREDICTIONS", help="Draw what this file's score depends on; again for more."),
    ] = None,
    ground_truth: Annotated[
        Path | None, typer.Option("--ground-truth", "-g", help="Annotation file, for --for and --images.")
    ] = None,
    images: Annotated[
        Path | None, typer.Option(help="Folder of its images: each pair is shown again with one of the first.")
    ] = None,
) -> None:
    """Draw pairs of interactions, and write a page for each rater: one HTML file, which saves a file to send back.

    Pairs are drawn evenly over what differs (verb, object, both) and how similar the map says they are. Each rater sees
    them in an order of its own, a tenth a second time, and some whose rating is known. With --ground-truth and --images
    each pair comes again at the end, with a picture of the first interaction: keep the rating, or change it. Edit
    consent.txt and the other texts, and run the command again: the pages take them over.

    With --for, pairs are a class and what was predicted where it is, drawn by how much the SHOE-mAP of the predictions
    depends on them. Each item of either study keeps how many pairs it stands for.

    Example: shoe study new study --items 500 --raters 5

    Example: shoe study new study --for predictions.json -g instances_test2015.json

    Then: shoe study collect study *.json --out answers.csv, and shoe study report answers.csv
    """
    from shoe.benchmarks import benchmark
    from shoe.core.errors import OptionError
    from shoe.maps.diff import scored
    from shoe.page.study_pictures import with_pictures
    from shoe.predictions.truth import read_ground_truth
    from shoe.report.study import print_plan
    from shoe.report.terminal import console
    from shoe.similarity import similarity_for
    from shoe.study.influential import influential
    from shoe.study.plan import new_study

    if (ground_truth is None) != (images is None and not predictions):
        raise OptionError("--ground-truth: expected with --for, --images or both, and neither of them without it")
    of = benchmark(dataset)
    by, of_score = similarity_for(of, similarity, "mean"), None
    if ground_truth is not None and predictions:
        tasks = [scored(path, ground_truth, similarity, dataset).task for path in predictions]
        of_score = influential(tasks, by)
    made, drawn = new_study(of, by, items, raters, seed, of_score)
    pictures: dict[str, bytes] = {}
    if ground_truth is not None and images is not None:
        check_folder(images, "a folder with images")
        made, pictures = with_pictures(made, read_ground_truth(ground_truth, of), images)
    largest = _write(folder, made, pictures)
    print_plan(folder, made, drawn, console())
    print(largest)


@app.command()
def bongard(
    folder: _Folder,
    problems: options.Problems,
    images: Annotated[Path, typer.Option(help="Folder with the images.")],
    raters: _Raters = 3,
    testers: Annotated[int, typer.Option(min=1, help="Raters who are asked each problem.")] = 3,
    examples: Annotated[
        Path | None, typer.Option(help="Problem file whose problems are shown first, with their answers.")
    ] = None,
    seed: _Seed = 0,
) -> None:
    """Have people answer Bongard problems: two problems a screen, and of each query, does it belong to side A or B?

    Writes a page for each rater, as shoe study new does. Each problem goes to three of them; those that none of the
    three solves are dropped by shoe study collect --kept.

    Example: shoe study bongard testers problems/*.json --images images/test2015 --raters 12

    Then: shoe study collect testers *.json --out answers.csv --kept kept, and shoe study report answers.csv
    """
    from shoe.bongard.files import read_problems
    from shoe.page.study_pictures import problem_pictures
    from shoe.report.terminal import console
    from shoe.report.testers import print_problem_plan
    from shoe.study.kept import write_problem_files
    from shoe.study.problems import new_problem_study

    read, solved = read_problems(*problems), read_problems(examples) if examples else None
    made = new_problem_study(read, problems, raters, testers, seed, solved)
    check_folder(images, "a folder with images")
    pictures = problem_pictures(read, images)
    if solved:
        pictures |= problem_pictures(solved, images, len(read.regions))
    largest = _write(folder, made, pictures)
    write_problem_files(folder, problems)
    print_problem_plan(folder, made, console())
    print(largest)


def _write(folder: Path, made: AnyStudy, pictures: dict[str, bytes]) -> str:
    """Write a study, what its pages say unless it is there, and a page for each rater; say how large those are."""
    from shoe.core.errors import many
    from shoe.io.files import write_text
    from shoe.page.pictures import address
    from shoe.page.study import default_texts, read_texts, shown_to_all, write_rater_page
    from shoe.study.kept import write_study

    write_study(folder, made, pictures)
    for name, text in default_texts(made).items():
        if not (folder / name).exists():
            write_text(folder / name, text)
    shown = shown_to_all(made, read_texts(folder, made))
    pages = [folder / f"{name}.html" for name in made.names]
    for number, path in enumerate(pages):
        order = made.order(number)
        embedded = {file: address(pictures[file]) for file in made.pictures(order)}
        write_rater_page(path, shown, made.names[number], order, embedded)
    largest = max(path.stat().st_size for path in pages)
    return f"written    {many(len(pages), 'page')}, up to {max(1, round(largest / 1e3)):,} kB each"


@app.command()
def collect(
    folder: Annotated[Path, typer.Argument(help="Folder of the study.")],
    files: Annotated[list[Path], typer.Argument(help="Files that raters sent back.")],
    out: options.Table,
    kept: Annotated[
        Path | None, typer.Option(help="Folder for the problems that at least one tester solves, of Bongard problems.")
    ] = None,
) -> None:
    """Put the files that raters sent back into one table, which shoe study report reads.

    Of several answers of a rater to one question the last one counts; the same file twice changes nothing.

    Example: shoe study collect study rater-1.json rater-2.json --out answers.csv
    """
    from shoe.core.errors import OptionError, many
    from shoe.io.delimited import delimited_text
    from shoe.io.files import write_text
    from shoe.study.collected import answers_of, kept_problems, table_of
    from shoe.study.kept import FILE, load_study
    from shoe.study.problems import ProblemStudy

    refuse_overwrite((folder / FILE, *files), out)
    study = load_study(folder)
    if kept is not None and not isinstance(study, ProblemStudy):
        raise OptionError(f"--kept: found a study of pairs in {folder}, expected one of Bongard problems")
    answers = answers_of(study, files)
    write_text(out, delimited_text(table_of(study, answers)))
    print(f"{out}: {many(len(answers), 'answer')} of {many(len({rater for rater, _ in answers}), 'rater')}")
    if kept is not None and isinstance(study, ProblemStudy):
        from shoe.bongard.files import write_problems

        problems = kept_problems(folder, study, answers)
        for path in write_problems(problems, kept, "kept"):
            print(f"{path}")
        print(f"{kept}: {many(len(problems), 'problem')} of {len(study.problems)} that a tester solves")


app.command()(publish)
app.command()(fetch)


@app.command()
def report(
    file: Annotated[Path, typer.Argument(help="Table of answers, CSV or TSV: item, rater, rating 0 to 4.")],
    similarity: Annotated[
        str | None, typer.Option(help="Similarity map to hold against people: a shipped name or a folder.")
    ] = None,
    population: Annotated[
        bool, typer.Option("--population", help="Count each item as the pairs that it stands for: column weight.")
    ] = False,
    latex: options.Latex = None,
    figures: options.Figures = None,
    html: Annotated[Path | None, typer.Option(help="Write one page to this file.")] = None,
    json: options.Json = None,
) -> None:
    """Print how far raters agree with each other, with themselves, and with a map or another measure.

    The table has a line an answer: item (or verb_a, object_a, verb_b, object_b: WordNet names, which a map needs),
    rater, rating; and as far as there are: occasion (2 for a repeat), phase (words or picture), part (a stratum),
    reference (another measure, 0 to 1), gold (the expected rating), seconds, weight (how many pairs of the population
    an item stands for), stratum (where it was drawn from).

    Example: shoe study report answers.csv --similarity hico-det --latex agreement.tex
    """
    from dataclasses import replace

    from shoe.core.errors import OptionError
    from shoe.io.files import write_text
    from shoe.report.study import print_study, study_latex
    from shoe.report.terminal import console
    from shoe.study.analysis import StudyReport, analyse
    from shoe.study.map_raters import beside_people
    from shoe.study.ratings import read_study
    from shoe.study.reference import with_map
    from shoe.study.testers import is_trials

    refuse_overwrite((file,), latex, html, json)
    if figures is not None:
        from shoe.plots.style import check_plots

        check_plots()
    if is_trials(file):
        if figures is not None or html is not None:
            raise OptionError(f"--figures, --html: {file} is of Bongard problems, which have none")
        _report_testers(file, similarity, latex, json)
        return
    ratings = read_study(file)
    if population and ratings.weights is None:
        raise OptionError(f"--population: found no column weight in {file}, expected one")
    counted = ratings if population else replace(ratings, weights=None)
    found = analyse(counted if similarity is None else with_map(counted, similarity, file))
    if latex is not None:
        write_text(latex, study_latex(found))
    beside = None if similarity is None else beside_people(found.study, similarity, file)
    if figures is not None:
        from shoe.plots.people import draw_study

        draw_study(found, beside, figures)
    if html is not None:
        from shoe.page.command import shown
        from shoe.page.people import write_people_page

        write_people_page(html, found, beside, shown(["shoe", *sys.argv[1:]], Path.cwd()))
    if not put_json(StudyReport.from_analysis(found, beside), json):
        print_study(found, beside, console(), as_drawn=ratings.weights is not None and not population)


def _report_testers(file: Path, similarity: str | None, latex: Path | None, json: str | None) -> None:
    from shoe.core.errors import OptionError
    from shoe.io.files import write_text
    from shoe.report.terminal import console
    from shoe.report.testers import print_testers, testers_latex
    from shoe.study.testers import TestersReport, read_trials

    if similarity is not None:
        raise OptionError(f"--similarity: {file} is of Bongard problems, which have none")
    found = TestersReport.from_trials(read_trials(file), file)
    if latex is not None:
        write_text(latex, testers_latex(found))
    if not put_json(found, json):
        print_testers(found, console())


app.command()(sheet)
app.command()(metric)
