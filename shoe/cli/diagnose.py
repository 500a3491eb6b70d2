"""``shoe diagnose``: which errors cost a detector its mAP."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from shoe.benchmarks import DEFAULT
from shoe.cli import options


def diagnose(
    predictions: Annotated[list[Path], typer.Argument(help="Prediction files, one per model; or of pairs alone.")],
    ground_truth: options.GroundTruth,
    dataset: options.Dataset = DEFAULT,
    variant: Annotated[str, typer.Option(help="paper, or released: as the papers' toolbox decides.")] = "paper",
    choice: Annotated[
        str, typer.Option(help="Which of several possible fixes an error gets: seeded (a random one) or greedy.")
    ] = "seeded",
    seed: Annotated[int, typer.Option(help="First seed of what is random.")] = 0,
    seeds: Annotated[int, typer.Option(help="How many seeds; figures are means over them, with their spread.")] = 20,
    similarity: Annotated[
        str,
        typer.Option(help="Similarity map: a shipped name or a folder; 'dataset': its own; 'none': leave meaning out."),
    ] = "dataset",
    by: Annotated[
        str | None,
        typer.Option(
            help="class: of the class table; role: action and role, as V-COCO scores persons. Default: what is said."
        ),
    ] = None,
    pairs: Annotated[
        list[Path] | None,
        typer.Option(help="File of a model's pairs and their verb scores; again for each of PREDICTIONS, in order."),
    ] = None,
    no_interaction: Annotated[
        str, typer.Option(help="exclude or keep the classes that say a person does nothing.")
    ] = "exclude",
    sweep: Annotated[bool, typer.Option("--sweep", help="Also thin out pairs at several thresholds.")] = False,
    figures: options.Figures = None,
    out: Annotated[Path | None, typer.Option(help="Folder for pictures of each error type.")] = None,
    images: Annotated[Path | None, typer.Option(help="Folder of the dataset's images, for --out.")] = None,
    boxes: options.Boxes = None,
    scores: options.Scores = None,
    format: options.Format = None,
    classes: options.Classes = None,
    images_in_predictions: Annotated[
        bool, typer.Option("--images-in-predictions", help="Diagnose only the images that all PREDICTIONS name.")
    ] = False,
    split: options.Split = None,
    json: options.Json = None,
) -> None:
    """Diagnose predictions: which errors cost mAP, how well pairs are found and verbs named; several models at once.

    Each prediction is a true positive or has one error: human box, object box, both boxes, association, duplicate,
    interaction; ground truth that nothing is about is missed. A delta is the mAP that fixing one kind alone would add;
    with a split of the classes (--split rf-uc) also to that of each of its parts.

    Example: shoe diagnose predictions.json --ground-truth instances_test2015.json --figures figures
    """
    from shoe.cli.output import check_folder, put_json, refuse_overwrite
    from shoe.core.errors import OptionError
    from shoe.diagnosis.diagnose import Diagnosis
    from shoe.diagnosis.diagnose import diagnose as diagnose_triplets
    from shoe.diagnosis.pairs import PairDiagnosis, diagnose_pairs
    from shoe.predictions.formats.qpic import read_action_scores
    from shoe.predictions.pair_predictions import Pairs, holds_pairs, read_pairs
    from shoe.report.diagnosis import document, print_diagnoses
    from shoe.report.terminal import console
    from shoe.report.text import model_names
    from shoe.scoring.file_options import ScoringOptions

    refuse_overwrite((*predictions, *(pairs or ()), ground_truth), json)
    if figures or out:
        from shoe.report.figures.style import check_plots

        check_plots()
    if images is not None and out is None:
        raise OptionError("--images: found no --out, the folder that pictures are drawn to")
    check_folder(images, "the folder of the dataset's images")
    of_pairs: list[Path | None] = [*pairs] if pairs else [None] * len(predictions)
    if len(of_pairs) != len(predictions):
        expected = f"{len(predictions)}, one for each of PREDICTIONS, in their order"
        raise OptionError(f"--pairs: found {len(of_pairs)} files, expected {expected}")

    scoring = ScoringOptions(
        ground_truth=ground_truth,
        dataset=dataset,
        boxes=boxes,
        scores=scores,
        format=format,
        classes=classes,
        split=split,
    )
    truth = scoring.truth()
    sizes = dict(zip(truth.interactions.images, map(tuple, truth.interactions.sizes.tolist()), strict=True))
    files = [
        read_pairs(path, boxes=boxes, dataset=dataset, sizes=sizes) if holds_pairs(path) else scoring.read(path, truth)
        for path in predictions
    ]
    if images_in_predictions:
        truth = truth.within(*((file.table if isinstance(file, Pairs) else file[0]).images for file in files))
    found: dict[str, Diagnosis | PairDiagnosis] = {}
    for name, path, file, pairs_path in zip(model_names(predictions), predictions, files, of_pairs, strict=True):
        if isinstance(file, Pairs):
            found[name] = diagnose_pairs(file, truth, no_interaction=no_interaction)
            if out is not None:
                print(f"{path}: no pictures: the file holds pairs, not triplets", file=sys.stderr)
            continue
        read, notes = file
        found[name] = diagnosis = diagnose_triplets(
            read,
            truth,
            variant=variant,
            choice=choice,
            seed=seed,
            seeds=seeds,
            no_interaction=no_interaction,
            similarity=None if similarity == "none" else similarity,
            by=by,
            pairs=read_pairs(pairs_path, dataset=dataset, sizes=sizes) if pairs_path else None,
            action_scores=read_action_scores(path, dataset=dataset),
            notes=notes,
        )
        if out is not None:
            from shoe.report.figures.pictures import draw_pictures
            from shoe.report.figures.style import file_name

            to = out if len(predictions) == 1 else out / file_name(name)
            _say(to, draw_pictures(diagnosis, name, to, images))
    if figures is not None:
        from shoe.report.figures.diagnosis import draw_figures

        _say(figures, draw_figures(found, figures, sweeps=sweep))
    if json is not None:
        put_json(document(found, truth, sweeps=sweep), json)
    if json != "-":
        print_diagnoses(found, truth, console(), sweeps=sweep)


def _say(folder: Path, written: list[Path]) -> None:
    print(f"{folder}: {', '.join(path.name for path in written) or 'nothing to draw'}", file=sys.stderr)
