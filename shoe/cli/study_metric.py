"""``shoe study sheet`` and ``metric``: have people judge predictions, and see which way to score ranks them alike."""

from pathlib import Path
from typing import Annotated

import typer

from shoe.benchmarks import DEFAULT
from shoe.cli import options
from shoe.cli.output import put_json, refuse_overwrite, telling


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
    from shoe.io.delimited import delimited_text
    from shoe.io.files import write_text
    from shoe.matching.task import Task
    from shoe.scoring.options import ScoringOptions
    from shoe.study.metric.sheet import sheet as drawn

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
    from shoe.io.files import write_text
    from shoe.matching.task import Task
    from shoe.report.names import model_names
    from shoe.report.study_metric import against_latex, print_against
    from shoe.report.terminal import console
    from shoe.scoring.options import ScoringOptions
    from shoe.study.metric.gathered import Gathered
    from shoe.study.metric.judgements import read_judgements
    from shoe.study.metric.measures import measures_of

    refuse_overwrite((judgements, ground_truth, *models), latex, json)
    if figures is not None:
        from shoe.plots.style import check_plots, make_folder

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
        from shoe.plots.ranking import draw_against

        draw_against(found, figures)
    if not put_json(found, json):
        print_against(found, len(names), console())
