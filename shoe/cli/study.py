"""``shoe study``: collect human ratings of interaction similarity, and analyse rater agreement."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import structs
from typer import Argument, Option

from shoe.benchmarks import DEFAULT, benchmark
from shoe.cli import options
from shoe.cli.output import check_folder, put_report, refuse_overwrite, show_progress
from shoe.cli.serve import open_service
from shoe.core.errors import OptionError, pluralize
from shoe.core.io.files import atomic_write, read_bytes, write_text

if TYPE_CHECKING:
    from shoe.study.folder import AnyStudy


def sheet(
    models: Annotated[list[Path], Argument(help="Prediction files to be rated.")],
    ground_truth: options.GroundTruth,
    out: options.Table,
    images: Annotated[int, Option(min=1, help="Number of images. All models are rated on the same images.")] = 50,
    most: Annotated[int, Option(min=1, help="Number of predictions per model and image, highest scores first.")] = 3,
    raters: Annotated[int, Option(min=1, max=1000, help="Number of human raters.")] = 3,
    seed: Annotated[int, Option(min=0, max=65535, help="Random seed of the sample.")] = 0,
    dataset: options.Dataset = DEFAULT,
    boxes: options.Boxes = None,
    format: options.Format = None,
) -> None:
    """Sample predictions for human rating: a table with one row per prediction and rater, and an empty rating column.

    The table does not name the model of a prediction. A prediction made by several models is listed once. Ratings range
    from 0 (wrong) to 4 (right); empty ratings are missing values. Show raters the images next to the table.

    Example: shoe study sheet a.json b.json -g instances_test2015.json --images 50 --raters 3 --out sheet.csv

    Then: shoe study metric sheet.csv a.json b.json -g instances_test2015.json
    """
    from shoe.cli.models import check_distinct_files
    from shoe.core.io.spreadsheets import delimited_text
    from shoe.scoring.file_options import ScoringOptions
    from shoe.scoring.matching.task import Task
    from shoe.study.metric.judgements import sheet as sample_sheet

    refuse_overwrite((ground_truth, *models), out)
    check_distinct_files(models)
    scoring = ScoringOptions(ground_truth=ground_truth, dataset=dataset, boxes=boxes, format=format)
    truth = scoring.truth()
    tasks = [Task(scoring.read(path, truth)[0], truth) for path in models]
    rows, number = sample_sheet(tasks, images, most, raters, seed)
    write_text(out, delimited_text(rows))
    print(f"{out}: {pluralize(number, 'prediction')} on {pluralize(images, 'image')}, {pluralize(raters, 'rater')}")


def metric(
    judgements: Annotated[Path, Argument(help="CSV or TSV table: image, prediction, rater, rating 0 to 4.")],
    models: Annotated[list[Path], Argument(help="Prediction files that were rated.")],
    ground_truth: options.GroundTruth,
    dataset: options.Dataset = DEFAULT,
    protocol: Annotated[
        list[str] | None,
        Option("--protocol", "-p", help="Name of a protocol. May be repeated. Default: protocols of the dataset."),
    ] = None,
    similarity: options.Similarity = "dataset",
    vary: Annotated[
        list[str] | None,
        Option(help="NAME=VALUE[,NAME=VALUE]: also compare the protocol with these options. May be repeated."),
    ] = None,
    boxes: options.Boxes = None,
    scores: options.Scores = None,
    format: options.Format = None,
    latex: options.Latex = None,
    figures: Annotated[Path | None, Option(help="Folder for the plot, as PDF and PNG.")] = None,
    json: options.Json = None,
) -> None:
    """Compare scoring methods with human ratings of predictions: which method ranks predictions as people do?

    The table has one row per rating. Columns: image; prediction (index of the prediction in that image, from 0) or verb
    and object (optionally human_box, object_box: four numbers each); model (file name without extension, if there are
    several models); rater; rating, 0 (wrong) to 4 (right).

    The measures are the protocols and, with --vary, protocols with changed options: combine=geometric, threshold=0.3,
    similarity=wup, protocol=shoe-robust, strict.threshold=0.3, or several separated by commas.

    Example: shoe study metric judged.csv a.json b.json -g instances_test2015.json --vary combine=minimum
    """
    from shoe.cli.models import check_distinct_files
    from shoe.report.study import against_latex, print_against
    from shoe.report.text import model_names
    from shoe.scoring.file_options import ScoringOptions
    from shoe.scoring.matching.task import Task
    from shoe.study.metric.judgements import read_judgements
    from shoe.study.metric.measures import ModelScoresCollector, measures_of

    refuse_overwrite((judgements, ground_truth, *models), latex, json)
    if figures is not None:
        from shoe.core.io.files import make_folder
        from shoe.report.figures.style import check_plots

        check_plots()
        make_folder(figures)
    names = model_names(models)
    check_distinct_files(models)
    table = read_judgements(judgements, names)
    scoring = ScoringOptions(ground_truth=ground_truth, dataset=dataset, boxes=boxes, scores=scores, format=format)
    with show_progress() as progress:
        progress(f"reading {ground_truth}")
        truth = scoring.truth()
        measures = measures_of(truth, protocol or (), similarity, vary or ())
        collector = ModelScoresCollector(table, measures, truth.interactions.images)
        for name, path in zip(names, models, strict=True):
            progress(f"scoring {name}")
            read, notes = scoring.read(path, truth)
            collector.add(name, Task(read, truth), notes)
        progress("comparing measures with human ratings")
        found = collector.against_people()
    if latex is not None:
        write_text(latex, against_latex(found))
    if figures is not None:
        from shoe.report.figures.studies import draw_against

        draw_against(found, figures)
    put_report(found, json, lambda to: print_against(found, len(names), to))


_StudyFolder = Annotated[Path, Argument(help="Folder of the study.")]


def publish(
    folder: _StudyFolder,
    service: Annotated[Path, Argument(help="Folder of a service, created if missing. The service may be running.")],
    address: Annotated[str, Option(help="URL at which raters reach the service.")] = "http://127.0.0.1:8017",
    again: Annotated[list[str] | None, Option(help="Rater whose old link is replaced. May be repeated.")] = None,
) -> None:
    """Publish a study in a service (shoe serve), and print one link per rater. Links are printed only once.

    A rater can continue with the link at any time, on any device. Run the command again to publish changed texts; it
    then prints links only for raters without a link.

    Example: shoe study publish study lab --address https://shoe.example.org

    Then: shoe serve lab --name shoe.example.org
    """
    from shoe.report.page.rendering import data_url as data_url
    from shoe.report.page.study import read_texts, shown_to_all
    from shoe.study.folder import PICTURES, load_study

    study = load_study(folder)
    texts = read_texts(folder, study)
    orders = {name: study.order(number) for number, name in enumerate(study.names)}
    pictures = {name: list(study.pictures(order)) for name, order in orders.items()}
    files = sorted(set().union(*pictures.values()))
    addresses = {file: data_url(read_bytes(folder / PICTURES / file)) for file in files}
    with open_service(service, "study publish", " ".join([study.id, *(again or ())]), create=True) as place:
        from shoe.service import studies

        raters = {name: studies.Rater(order, pictures[name]) for name, order in orders.items()}
        studies.publish(place, study.id, shown_to_all(study, texts), study.levels, raters, addresses)
        links = studies.invite(place, study.id, again or ())
        for name, token in links.items():
            print(f"{name}\t{address.rstrip('/')}/rate#{token}")
        print(f"{service}: study {study.id}, {pluralize(study.raters, 'rater')}, {pluralize(len(links), 'new link')}")


def fetch(
    folder: _StudyFolder, service: Annotated[Path, Argument(help="Folder of the service; the service may be running.")]
) -> None:
    """Write the answers of each rater from a service to FOLDER/answers/rater-1.json, in the format of a rater page.

    Example: shoe study fetch study lab

    Then: shoe study collect study study/answers/*.json --out answers.csv
    """
    from shoe.core.io.json import encode
    from shoe.study.folder import load_study

    study = load_study(folder)
    with open_service(service) as place:
        from shoe.service import studies

        found = studies.returned(place, study.id)
        with suppress(OSError):  # if the folder cannot be created, writing the first file reports why
            (folder / "answers").mkdir(exist_ok=True)
        for number, returned in enumerate(found):
            done = {(answer.item, answer.occasion, answer.phase) for answer in returned.answers}
            with atomic_write(folder / "answers" / f"{returned.rater}.json") as stream:
                stream.write(encode(returned))
            print(f"{returned.rater}: {len(done)} of {pluralize(len(study.order(number)), 'question')} answered")


_Folder = Annotated[Path, Argument(help="Folder to create for the study.")]
_Raters = Annotated[int, Option(min=1, max=1000, help="Number of raters; one page is written per rater.")]
_Seed = Annotated[int, Option(min=0, max=65535, help="Random seed of the sample.")]


def new(
    folder: _Folder,
    dataset: Annotated[str, Option(help="Dataset whose classes are rated.")] = DEFAULT,
    similarity: options.Similarity = "dataset",
    items: Annotated[int, Option(min=1, help="Number of pairs of interactions.")] = 500,
    raters: _Raters = 5,
    seed: _Seed = 0,
    predictions: Annotated[
        list[Path] | None,
        Option("--for", metavar="PREDICTIONS", help="Sample only pairs that affect this file's score. Repeatable."),
    ] = None,
    ground_truth: Annotated[
        Path | None, Option("--ground-truth", "-g", help="Annotation file, for --for and --images.")
    ] = None,
    images: Annotated[Path | None, Option(help="Folder of images, to rate each pair again with an image.")] = None,
) -> None:
    """Sample pairs of interactions, and write one HTML page per rater. The page saves a file that the rater sends back.

    The sample is stratified by what differs (verb, object or both) and by the similarity in the map. Each rater sees
    the pairs in a different order, a tenth of them twice, and some control pairs whose rating is known. With
    --ground-truth and --images each pair is shown again at the end with an image of its first interaction, and the
    rater keeps or changes the rating. To change consent.txt and the other texts, edit them and run the command again.

    With --for, a pair is a class and a prediction on a ground truth of this class; pairs are sampled by their influence
    on the SHOE-mAP of the predictions. Each sampled pair records how many pairs it represents.

    Example: shoe study new study --items 500 --raters 5

    Example: shoe study new study --for predictions.json -g instances_test2015.json

    Then: shoe study collect study *.json --out answers.csv, and shoe study report answers.csv
    """
    from shoe.maps.diff import scored
    from shoe.predictions.truth import read_ground_truth
    from shoe.report.page.study import with_pictures
    from shoe.report.study import print_plan
    from shoe.report.text import console
    from shoe.similarity import similarity_for
    from shoe.study.plan import new_study
    from shoe.study.sampling import influential

    if (ground_truth is None) != (images is None and not predictions):
        raise OptionError("--ground-truth must be given together with --for, --images or both")
    data = benchmark(dataset)
    source, influence = similarity_for(data, similarity, "mean"), None
    if ground_truth is not None and predictions:
        influence = influential([scored(p, ground_truth, similarity, dataset).task for p in predictions], source)
    study, strata = new_study(data, source, items, raters, seed, influence)
    pictures: dict[str, bytes] = {}
    if ground_truth is not None and images is not None:
        check_folder(images, "a folder with images")
        study, pictures = with_pictures(study, read_ground_truth(ground_truth, data), images)
    pages = _write(folder, study, pictures)
    print_plan(folder, study, strata, console())
    print(pages)


def bongard(
    folder: _Folder,
    problems: options.Problems,
    images: Annotated[Path, Option(help="Folder with the images.")],
    raters: _Raters = 3,
    testers: Annotated[int, Option(min=1, help="Number of raters who answer each problem.")] = 3,
    examples: Annotated[Path | None, Option(help="Problem file of examples to show first, with answers.")] = None,
    seed: _Seed = 0,
) -> None:
    """Create a study in which people solve Bongard problems: does each query image belong to side A or side B?

    Writes one page per rater, like shoe study new, with two problems per screen. The option --testers sets how many
    raters answer each problem. shoe study collect --kept drops problems that none of these raters solves.

    Example: shoe study bongard testers problems/*.json --images images/test2015 --raters 12

    Then: shoe study collect testers *.json --out answers.csv --kept kept, and shoe study report answers.csv
    """
    from shoe.report.page.study import problem_pictures
    from shoe.report.study import print_problem_plan
    from shoe.report.text import console
    from shoe.scoring.bongard.problems import read_problems
    from shoe.study.folder import write_problem_files
    from shoe.study.plan import new_problem_study

    read, solved = read_problems(*problems), read_problems(examples) if examples else None
    study = new_problem_study(read, problems, raters, testers, seed, solved)
    check_folder(images, "a folder with images")
    pictures = problem_pictures(read, images)
    if solved:
        pictures |= problem_pictures(solved, images, len(read.regions))
    largest = _write(folder, study, pictures)
    write_problem_files(folder, problems)
    print_problem_plan(folder, study, console())
    print(largest)


def _write(folder: Path, study: AnyStudy, pictures: dict[str, bytes]) -> str:
    """Write a study, its missing text files and one page per rater; return a line with the number and size of pages."""
    from shoe.report.page.rendering import data_url
    from shoe.report.page.study import default_texts, read_texts, shown_to_all, write_rater_page
    from shoe.study.folder import write_study

    write_study(folder, study, pictures)
    for name, text in default_texts(study).items():
        if not (folder / name).exists():
            write_text(folder / name, text)
    content = shown_to_all(study, read_texts(folder, study))
    largest = 0
    for number, name in enumerate(study.names):
        path, order = folder / f"{name}.html", study.order(number)
        write_rater_page(path, content, name, order, {file: data_url(pictures[file]) for file in study.pictures(order)})
        largest = max(largest, path.stat().st_size)
    return f"written    {pluralize(len(study.names), 'page')}, up to {max(1, round(largest / 1e3)):,} kB each"


def collect(
    folder: Annotated[Path, Argument(help="Folder of the study.")],
    files: Annotated[list[Path], Argument(help="Answer files that raters sent back.")],
    out: options.Table,
    kept: Annotated[Path | None, Option(help="Folder for Bongard problems that at least one tester solves.")] = None,
) -> None:
    """Merge the answer files of raters into one table for shoe study report.

    If a rater answered a question several times, the last answer counts. Duplicate files have no effect.

    Example: shoe study collect study rater-1.json rater-2.json --out answers.csv
    """
    from shoe.core.io.spreadsheets import delimited_text
    from shoe.study.folder import FILE, answers_of, kept_problems, load_study, table_of
    from shoe.study.plan import ProblemStudy

    refuse_overwrite((folder / FILE, *files), out)
    study = load_study(folder)
    if kept is not None and not isinstance(study, ProblemStudy):
        raise OptionError(f"--kept: found a study of pairs in {folder}, expected a study of Bongard problems")
    answers = answers_of(study, files)
    write_text(out, delimited_text(table_of(study, answers)))
    print(f"{out}: {pluralize(len(answers), 'answer')} of {pluralize(len({rater for rater, _ in answers}), 'rater')}")
    if kept is not None and isinstance(study, ProblemStudy):
        from shoe.scoring.bongard.problems import write_problems

        problems = kept_problems(folder, study, answers)
        for path in write_problems(problems, kept, "kept"):
            print(path)
        print(f"{kept}: {len(problems)} of {pluralize(len(study.problems), 'problem')} solved by at least one tester")


def report(
    file: Annotated[Path, Argument(help="CSV or TSV table of answers: item, rater, rating 0 to 4.")],
    similarity: Annotated[str | None, Option(help="Similarity map to compare with: shipped name or folder.")] = None,
    population: Annotated[
        bool, Option("--population", help="Weight items by the column 'weight', to estimate results for all pairs.")
    ] = False,
    latex: options.Latex = None,
    figures: options.Figures = None,
    html: Annotated[Path | None, Option(help="Write the results as an HTML page to this file.")] = None,
    json: options.Json = None,
) -> None:
    """Report the agreement between raters, between repeated answers of a rater, and with a map or another measure.

    The table has one row per answer. Columns: item (or verb_a, object_a, verb_b, object_b: WordNet names, required for
    a map), rater, rating. Optional columns: occasion (2 for a repeat), phase (words, or picture if the image was
    shown), part (group whose agreement is reported), reference (another measure, 0 to 1), gold (the expected rating),
    seconds, weight (number of pairs that the item represents), stratum (the sampling stratum).

    Example: shoe study report answers.csv --similarity hico-det --latex agreement.tex
    """
    from shoe.report.study import print_study, study_latex
    from shoe.study.analysis import analyse
    from shoe.study.raters_and_people import beside_people, with_map
    from shoe.study.ratings import read_study
    from shoe.study.testers import is_trials

    refuse_overwrite((file,), latex, html, json)
    if figures is not None:
        from shoe.report.figures.style import check_plots

        check_plots()
    if is_trials(file):
        if figures is not None or html is not None:
            raise OptionError(f"{file}: contains Bongard problems, for which --figures and --html are not supported")
        _report_testers(file, similarity, latex, json)
        return
    ratings = read_study(file)
    if population and ratings.weights is None:
        raise OptionError(f"--population requires a column named 'weight', which {file} does not have")
    counted = ratings if population else replace(ratings, weights=None)
    study, found = analyse(counted if similarity is None else with_map(counted, similarity, file))
    if latex is not None:
        write_text(latex, study_latex(found))
    if similarity is not None:
        found = structs.replace(found, beside=beside_people(study, similarity, file))
    if figures is not None:
        from shoe.report.figures.studies import draw_study

        draw_study(study, found, figures)
    if html is not None:
        from shoe.report.page.rendering import portable_command
        from shoe.report.page.study import write_people_page

        write_people_page(html, study, found, portable_command(["shoe", *sys.argv[1:]], Path.cwd()))
    as_drawn = ratings.weights is not None and not population
    put_report(found, json, lambda to: print_study(study, found, to, as_drawn=as_drawn))


def _report_testers(file: Path, similarity: str | None, latex: Path | None, json: str | None) -> None:
    from shoe.report.study import print_testers, testers_latex
    from shoe.study.testers import TestersReport, read_trials

    if similarity is not None:
        raise OptionError(f"{file}: contains Bongard problems, for which --similarity is not supported")
    found = TestersReport.from_trials(read_trials(file), file)
    if latex is not None:
        write_text(latex, testers_latex(found))
    put_report(found, json, lambda to: print_testers(found, to))


app = options.group(
    "Collect human ratings of interaction similarity, and analyse rater agreement.",
    *(new, bongard, collect, publish, fetch, report, sheet, metric),
)
