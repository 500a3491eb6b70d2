"""``shoe diagnose``: which kinds of errors reduce the mAP of a model."""

import sys
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from shoe.benchmarks import DEFAULT
from shoe.cli import options


def diagnose(
    predictions: Annotated[list[Path], Argument(help="Prediction files, one per model, of triplets or of pairs only.")],
    ground_truth: options.GroundTruth,
    dataset: options.Dataset = DEFAULT,
    variant: Annotated[str, Option(help="Error definitions: of the paper (paper) or its code (released).")] = "paper",
    choice: Annotated[
        str, Option(help="Rule that selects one fix if an error has several: seeded (random) or greedy.")
    ] = "seeded",
    seed: Annotated[int, Option(help="First of the random seeds of --choice seeded.")] = 0,
    seeds: Annotated[int, Option(help="Number of seeds whose mean and standard deviation are reported.")] = 20,
    similarity: Annotated[
        str,
        Option(
            help="Similarity map: a shipped name, a folder, 'dataset' for the dataset's default, or 'none' to skip the "
            "analysis by similarity."
        ),
    ] = "dataset",
    by: Annotated[str | None, Option(help="Unit of AP: class, or role (V-COCO). Default: by file format.")] = None,
    pairs: Annotated[
        list[Path] | None,
        Option(help="File of a model's pairs and verb scores. Repeat once per file of PREDICTIONS, in the same order."),
    ] = None,
    no_interaction: Annotated[str, Option(help="Treatment of no_interaction classes: exclude or keep.")] = "exclude",
    sweep: Annotated[bool, Option("--sweep", help="Also report results at several NMS and score thresholds.")] = False,
    figures: options.Figures = None,
    out: Annotated[Path | None, Option(help="Folder for example images of each error type.")] = None,
    images: Annotated[Path | None, Option(help="Folder of the dataset's images, for --out or --figures.")] = None,
    boxes: options.Boxes = None,
    scores: options.Scores = None,
    format: options.Format = None,
    bad_boxes: options.BadBoxes = "refuse",
    classes: options.Classes = None,
    images_in_predictions: options.ImagesInPredictions = False,
    split: options.Split = None,
    json: options.Json = None,
    verbose: options.Verbose = False,
) -> None:
    """Diagnose the errors of one or more models: mAP lost per error type, pair recall and verb classification.

    Each prediction is a true positive or has exactly one error type: human box, object box, both boxes, association,
    duplicate or interaction. A ground truth is missed if it belongs to no true positive and no error. The delta of an
    error type is the mAP gained by fixing only that type. With a class split (--split rf-uc), deltas are also given for
    each part of the split, such as unseen classes.

    Example: shoe diagnose predictions.json --ground-truth instances_test2015.json --figures figures
    """
    from shoe.cli.output import check_folder, put_json, refuse_overwrite
    from shoe.core.errors import OptionError
    from shoe.diagnosis.diagnose import Diagnosis, diagnose as diagnose_triplets
    from shoe.diagnosis.pairs import PairDiagnosis, diagnose_pairs
    from shoe.predictions.formats.qpic import read_action_scores
    from shoe.predictions.pair_predictions import Pairs, holds_pairs, read_pairs
    from shoe.report.diagnosis import document, print_diagnoses
    from shoe.report.text import console, model_names
    from shoe.scoring.file_options import ScoringOptions

    refuse_overwrite((*predictions, *(pairs or ()), ground_truth), json)
    if figures or out:
        from shoe.report.figures.style import check_plots

        check_plots()
    if images is not None and (out := out or figures) is None:
        raise OptionError("--images requires --out or --figures, the folder for the example images")
    check_folder(images, "the folder of the dataset's images")
    pair_files: list[Path | None] = [*pairs] if pairs else [None] * len(predictions)
    if len(pair_files) != len(predictions):
        expected = f"{len(predictions)}, one for each file of PREDICTIONS, in the same order"
        raise OptionError(f"--pairs: found {len(pair_files)} files, expected {expected}")
    if bad_boxes != "refuse" and (of_pairs := [path for path in predictions if holds_pairs(path)]):
        raise OptionError(f"--bad-boxes: found {of_pairs[0]}, a file of pairs, expected a file of triplets")
    scoring = ScoringOptions(
        ground_truth=ground_truth, dataset=dataset, classes=classes, split=split,
        boxes=boxes, scores=scores, format=format, bad_boxes=bad_boxes,
    )  # fmt: skip
    truth = scoring.truth()
    sizes = dict(zip(truth.interactions.images, map(tuple, truth.interactions.sizes.tolist()), strict=True))
    files = [
        read_pairs(path, boxes=boxes, dataset=dataset, sizes=sizes) if holds_pairs(path) else scoring.read(path, truth)
        for path in predictions
    ]
    if images_in_predictions:
        truth = truth.within(*((file.table if isinstance(file, Pairs) else file[0]).images for file in files))
    found: dict[str, Diagnosis | PairDiagnosis] = {}
    for name, path, file, pairs_path in zip(model_names(predictions), predictions, files, pair_files, strict=True):
        if isinstance(file, Pairs):
            found[name] = diagnose_pairs(file, truth, no_interaction=no_interaction)
            if out is not None:
                print(f"{path}: no example images: the file contains pairs, not triplets", file=sys.stderr)
            continue
        read, notes = file
        found[name] = diagnosis = diagnose_triplets(
            read, truth, variant=variant, choice=choice, seed=seed, seeds=seeds, no_interaction=no_interaction, by=by,
            similarity=None if similarity == "none" else similarity,
            pairs=read_pairs(pairs_path, dataset=dataset, sizes=sizes) if pairs_path else None,
            action_scores=read_action_scores(path, dataset=dataset, kept=notes.kept),
            notes=notes,
        )  # fmt: skip
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
        print_diagnoses(found, truth, console(), sweeps=sweep, verbose=verbose)


def _say(folder: Path, written: list[Path]) -> None:
    print(f"{folder}: {', '.join(path.name for path in written) or 'nothing to draw'}", file=sys.stderr)
