"""``shoe study``: have people rate how similar interactions are, and see how far they agree."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoe.benchmarks import DEFAULT
from shoe.cli import options
from shoe.cli.output import check_folder, put_json, refuse_overwrite, telling
from shoe.cli.serve import opened

if TYPE_CHECKING:
    from shoe.study.folder import AnyStudy

# ``shoe study sheet`` and ``metric``: have people judge predictions, and see which way to score ranks them alike.


def sheet(
    models: Annotated[list[Path], typer.Argument(help="Prediction files that are to be judged.")],
    ground_truth: options.GroundTruth,
    out: options.Table,
    images: Annotated[int, typer.Option(min=1, help="Images, the same ones for all models.")] = 50,
    most: Annotated[int, typer.Option(min=1, help="Predictions of a model on an image, best scores first.")] = 3,
    raters: Annotated[int, typer.Option(min=1, max=1000, help="People who judge them.")] = 3,
    seed: Annotated[int, typer.Option(min=0, max=65535, help="From which all that is drawn follows.")] = 0,
    dataset: options.Dataset = DEFAULT,
    boxes: options.Boxes = None,
    format: options.Format = None,
) -> None:
    """Draw predictions that people are to judge: a table with a line for each and rater, whose rating they fill in.

    It does not say whose a prediction is; what several models predicted alike is judged once. 0 is wrong, 4 right; a
    line that stays empty is a hole. Show the images beside it.

    Example: shoe study sheet a.json b.json -g instances_test2015.json --images 50 --raters 3 --out sheet.csv

    Then: shoe study metric sheet.csv a.json b.json -g instances_test2015.json
    """
    from shoe.cli.models import check_once
    from shoe.core.errors import many
    from shoe.core.io.delimited import delimited_text
    from shoe.core.io.files import write_text
    from shoe.scoring.file_options import ScoringOptions
    from shoe.scoring.matching.task import Task
    from shoe.study.metric.judgements import sheet as drawn

    refuse_overwrite((ground_truth, *models), out)
    check_once(models)
    scoring = ScoringOptions(ground_truth=ground_truth, dataset=dataset, boxes=boxes, format=format)
    truth = scoring.truth()
    tasks = [Task(scoring.read(path, truth)[0], truth) for path in models]
    rows, number = drawn(tasks, images, most, raters, seed)
    write_text(out, delimited_text(rows))
    print(f"{out}: {many(number, 'prediction')} on {many(images, 'image')}, {many(raters, 'rater')}")


def metric(
    judgements: Annotated[Path, typer.Argument(help="Table, CSV or TSV: image, prediction, rater, rating 0 to 4.")],
    models: Annotated[list[Path], typer.Argument(help="Prediction files that were judged.")],
    ground_truth: options.GroundTruth,
    dataset: options.Dataset = DEFAULT,
    protocol: Annotated[
        list[str] | None, typer.Option("--protocol", "-p", help="Protocol; again for more. Default: the dataset's.")
    ] = None,
    similarity: options.Similarity = "dataset",
    vary: Annotated[
        list[str] | None,
        typer.Option(help="NAME=VALUE[,NAME=VALUE]: a further measure, with other choices; again for more."),
    ] = None,
    boxes: options.Boxes = None,
    scores: options.Scores = None,
    format: options.Format = None,
    latex: options.Latex = None,
    figures: Annotated[Path | None, typer.Option(help="Folder for a figure, as PDF and PNG.")] = None,
    json: options.Json = None,
) -> None:
    """Hold ways to score predictions against what people say of these: which ranks as people do?

    The table has a line a judgement: image; prediction, its number among the file's on that image, from 0, or verb and
    object (and human_box, object_box: four numbers) where the table names predictions so; model, the file's name
    without ending, where there are several; rater; rating, 0 (wrong) to 4 (right).

    Measures are the protocols, and with --vary any choice of them: combine=geometric, threshold=0.3, similarity=wup,
    protocol=shoe-robust, strict.threshold=0.3, or several with commas.

    Example: shoe study metric judged.csv a.json b.json -g instances_test2015.json --vary combine=minimum
    """
    from shoe.cli.models import check_once
    from shoe.core.io.files import write_text
    from shoe.report.study import against_latex, print_against
    from shoe.report.terminal import console
    from shoe.report.text import model_names
    from shoe.scoring.file_options import ScoringOptions
    from shoe.scoring.matching.task import Task
    from shoe.study.metric.judgements import read_judgements
    from shoe.study.metric.measures import Gathered, measures_of

    refuse_overwrite((judgements, ground_truth, *models), latex, json)
    if figures is not None:
        from shoe.report.figures.style import check_plots, make_folder

        check_plots()
        make_folder(figures)
    names = model_names(models)
    check_once(models)
    table = read_judgements(judgements, names)
    scoring = ScoringOptions(ground_truth=ground_truth, dataset=dataset, boxes=boxes, scores=scores, format=format)
    with telling() as tell:
        tell(f"reading {ground_truth}")
        truth = scoring.truth()
        gathered = Gathered(
            table, measures_of(truth, protocol or (), similarity, vary or ()), truth.interactions.images
        )
        for name, path in zip(names, models, strict=True):
            tell(f"scoring {name}")
            read, notes = scoring.read(path, truth)
            gathered.add(name, Task(read, truth), notes)
        tell("holding measures against people")
        found = gathered.against_people()
    if latex is not None:
        write_text(latex, against_latex(found))
    if figures is not None:
        from shoe.report.figures.studies import draw_against

        draw_against(found, figures)
    if not put_json(found, json):
        print_against(found, len(names), console())


# ``shoe study publish`` and ``fetch``: a study in a service, whose raters answer by links.

_StudyFolder = Annotated[Path, typer.Argument(help="Folder of the study.")]


def publish(
    folder: _StudyFolder,
    service: Annotated[Path, typer.Argument(help="Folder of a service, made where there is none; it may be running.")],
    address: Annotated[str, typer.Option(help="Under which raters reach the service.")] = "http://127.0.0.1:8017",
    again: Annotated[
        list[str] | None, typer.Option(help="Rater who gets a new link, whose old one ends; again for more.")
    ] = None,
) -> None:
    """Have a service of shoe serve ask the raters, and print a link for each, this once.

    With the link a rater may go on at any time, on any device. The command again takes over changed texts, and makes
    links for who has none.

    Example: shoe study publish study lab --address https://shoe.example.org

    Then: shoe serve lab --name shoe.example.org
    """
    from shoe.core.errors import many
    from shoe.core.io.files import read_bytes
    from shoe.report.page.rendering import address as picture_address
    from shoe.report.page.study import read_texts, shown_to_all
    from shoe.study.folder import PICTURES, load_study

    study = load_study(folder)
    texts = read_texts(folder, study)
    orders = {name: study.order(number) for number, name in enumerate(study.names)}
    pictures = {name: list(study.pictures(order)) for name, order in orders.items()}
    addresses = {
        file: picture_address(read_bytes(folder / PICTURES / file)) for file in sorted(set().union(*pictures.values()))
    }
    with opened(service, "study publish", " ".join([study.id, *(again or ())]), create=True) as place:
        from shoe.service import studies

        raters = {name: studies.Rater(order, pictures[name]) for name, order in orders.items()}
        studies.publish(place, study.id, shown_to_all(study, texts), study.levels, raters, addresses)
        links = studies.invite(place, study.id, again or ())
        for name, token in links.items():
            print(f"{name}\t{address.rstrip('/')}/rate#{token}")
        print(f"{service}: study {study.id}, {many(study.raters, 'rater')}, {many(len(links), 'new link')}")


def fetch(
    folder: _StudyFolder,
    service: Annotated[Path, typer.Argument(help="Folder of the service, which may be running.")],
) -> None:
    """Write what raters have answered in a service, each as the file that a page saves: FOLDER/answers/rater-1.json.

    Example: shoe study fetch study lab

    Then: shoe study collect study study/answers/*.json --out answers.csv
    """
    from shoe.core.errors import many
    from shoe.core.io.files import replacing
    from shoe.core.io.json import encode
    from shoe.study.folder import load_study

    study = load_study(folder)
    with opened(service) as place:
        from shoe.service import studies

        found = studies.returned(place, study.id)
        with suppress(OSError):  # where it is not made, no file can be written into it, which is told
            (folder / "answers").mkdir(exist_ok=True)
        for number, returned in enumerate(found):
            done = {(answer.item, answer.occasion, answer.phase) for answer in returned.answers}
            with replacing(folder / "answers" / f"{returned.rater}.json") as stream:
                stream.write(encode(returned))
            print(f"{returned.rater}: {len(done)} of {many(len(study.order(number)), 'question')} answered")


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
    from shoe.predictions.truth import read_ground_truth
    from shoe.report.page.study import with_pictures
    from shoe.report.study import print_plan
    from shoe.report.terminal import console
    from shoe.similarity import similarity_for
    from shoe.study.plan import new_study
    from shoe.study.sampling import influential

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
    from shoe.report.page.study import problem_pictures
    from shoe.report.study import print_problem_plan
    from shoe.report.terminal import console
    from shoe.scoring.bongard.problems import read_problems
    from shoe.study.folder import write_problem_files
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
    from shoe.core.io.files import write_text
    from shoe.report.page.rendering import address
    from shoe.report.page.study import default_texts, read_texts, shown_to_all, write_rater_page
    from shoe.study.folder import write_study

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
    from shoe.core.io.delimited import delimited_text
    from shoe.core.io.files import write_text
    from shoe.study.folder import FILE, answers_of, kept_problems, load_study, table_of
    from shoe.study.problems import ProblemStudy

    refuse_overwrite((folder / FILE, *files), out)
    study = load_study(folder)
    if kept is not None and not isinstance(study, ProblemStudy):
        raise OptionError(f"--kept: found a study of pairs in {folder}, expected one of Bongard problems")
    answers = answers_of(study, files)
    write_text(out, delimited_text(table_of(study, answers)))
    print(f"{out}: {many(len(answers), 'answer')} of {many(len({rater for rater, _ in answers}), 'rater')}")
    if kept is not None and isinstance(study, ProblemStudy):
        from shoe.scoring.bongard.problems import write_problems

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
    from shoe.core.io.files import write_text
    from shoe.report.study import print_study, study_latex
    from shoe.report.terminal import console
    from shoe.study.analysis import StudyReport, analyse
    from shoe.study.raters_and_people import beside_people, with_map
    from shoe.study.ratings import read_study
    from shoe.study.testers import is_trials

    refuse_overwrite((file,), latex, html, json)
    if figures is not None:
        from shoe.report.figures.style import check_plots

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
        from shoe.report.figures.studies import draw_study

        draw_study(found, beside, figures)
    if html is not None:
        from shoe.report.page.rendering import shown
        from shoe.report.page.study import write_people_page

        write_people_page(html, found, beside, shown(["shoe", *sys.argv[1:]], Path.cwd()))
    if not put_json(StudyReport.from_analysis(found, beside), json):
        print_study(found, beside, console(), as_drawn=ratings.weights is not None and not population)


def _report_testers(file: Path, similarity: str | None, latex: Path | None, json: str | None) -> None:
    from shoe.core.errors import OptionError
    from shoe.core.io.files import write_text
    from shoe.report.study import print_testers, testers_latex
    from shoe.report.terminal import console
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
