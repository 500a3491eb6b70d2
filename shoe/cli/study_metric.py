"""``shoe study metric``: which way to score predictions ranks them as people do."""

from pathlib import Path
from typing import Annotated

import typer

from shoe.benchmarks import DEFAULT
from shoe.cli.output import Json, put_json, spare, telling


def metric(
    judgements: Annotated[Path, typer.Argument(help="Table, CSV or TSV: image, prediction, rater, rating 0 to 4.")],
    models: Annotated[list[Path], typer.Argument(help="Prediction files that were judged.")],
    ground_truth: Annotated[Path, typer.Option("--ground-truth", "-g", help="Annotation file of the dataset.")],
    dataset: Annotated[str, typer.Option(help="Whose classes the ground truth has.")] = DEFAULT,
    protocol: Annotated[
        list[str] | None, typer.Option("--protocol", "-p", help="Protocol; again for more. Default: the dataset's.")
    ] = None,
    similarity: Annotated[
        str, typer.Option(help="Similarity map: a shipped name or a folder; 'dataset': the dataset's own.")
    ] = "dataset",
    vary: Annotated[
        list[str] | None,
        typer.Option(help="NAME=VALUE[,NAME=VALUE]: a further measure, with other choices; again for more."),
    ] = None,
    boxes: Annotated[
        str | None, typer.Option(help="Box convention of the predictions, where it is not their format's own.")
    ] = None,
    scores: Annotated[
        str | None, typer.Option(help="How to bring scores to 0..1: sigmoid (of logits), percent, minmax or rank.")
    ] = None,
    format: Annotated[str | None, typer.Option(help="Prediction format, if content is not to decide.")] = None,
    latex: Annotated[Path | None, typer.Option(help="Write a LaTeX table here.")] = None,
    figures: Annotated[Path | None, typer.Option(help="Folder for a figure, as PDF and PNG.")] = None,
    json: Json = None,
) -> None:
    """Hold ways to score predictions against what people say of these: which ranks as people do?

    The table has a line a judgement: image; prediction, its number among the file's on that image, from 0, or verb and
    object (and human_box, object_box: four numbers) where the table names predictions so; model, the file's name
    without ending, where there are several; rater; rating, 0 (wrong) to 4 (right).

    Measures are the protocols, and with --vary any choice of them: combine=geometric, threshold=0.3, similarity=wup,
    protocol=shoe-robust, strict.threshold=0.3, or several with commas.

    Example: shoe study metric judged.csv a.json b.json -g instances_test2015.json --vary combine=minimum

    JSON keys: images, raters, ratings, holes, people, models {model}, measures {measure}, scores {row {model}}, levels
    {prediction, image, model {number, figures {measure {figure {value, interval}}}, differences [{figure, first,
    second, value, interval, p, adjusted, significant}], nearest {figure {measure, not_told_apart}}}}, opposite {row
    [[better, worse]]}. What is undefined has no key.
    """
    from shoe.cli.models import check_once, model_names
    from shoe.io.files import replacing
    from shoe.matching.task import Task
    from shoe.predictions import read_predictions_with_notes
    from shoe.predictions.truth import read_ground_truth
    from shoe.report.study_metric import against_dict, against_latex, print_against
    from shoe.report.terminal import console
    from shoe.study.metric.gathered import Gathered
    from shoe.study.metric.judgements import read_judgements
    from shoe.study.metric.measures import measures_of

    spare((judgements, ground_truth, *models), latex, json)
    if figures is not None:
        from shoe.plots.style import check_plots, make_folder

        check_plots()
        make_folder(figures)
    names = model_names(models)
    check_once(models)
    table = read_judgements(judgements, names)
    with telling() as tell:
        tell(f"reading {ground_truth}")
        truth = read_ground_truth(ground_truth, dataset)
        gathered = Gathered(
            table, measures_of(truth, protocol or (), similarity, vary or ()), truth.interactions.images
        )
        for name, path in zip(names, models, strict=True):
            tell(f"scoring {name}")
            read, notes = read_predictions_with_notes(
                path, format=format, boxes=boxes, scores=scores, dataset=dataset, truth=truth.interactions
            )
            gathered.add(name, Task(read, truth), notes)
        tell("holding measures against people")
        found = gathered.against_people()
    if latex is not None:
        with replacing(latex) as stream:
            stream.write(against_latex(found).encode())
    if figures is not None:
        from shoe.plots.ranking import draw_against

        draw_against(found, figures)
    if not put_json(against_dict(found), json):
        print_against(found, console())
