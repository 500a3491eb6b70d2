"""``shoe compare``: strict and semantic metrics of several models, with intervals and significance tests."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import structs
from typer import Argument, Option

from shoe.benchmarks import DEFAULT, benchmark
from shoe.cli import options
from shoe.cli.output import check_folder, put_json, refuse_overwrite, show_progress

if TYPE_CHECKING:
    from markupsafe import Markup

    from shoe.scoring.score import Report


def compare(
    context: typer.Context,
    models: Annotated[list[Path], Argument(help="Prediction files, or runs (NAME.shoe) saved with score --save.")],
    ground_truth: Annotated[
        Path | None, Option("--ground-truth", "-g", help="Annotation file; not needed if all inputs are runs.")
    ] = None,
    dataset: options.Dataset = DEFAULT,
    protocol: options.Protocols = None,
    similarity: options.Similarity = "dataset",
    option: options.ProtocolOptions = None,
    boxes: options.Boxes = None,
    scores: options.Scores = None,
    format: options.Format = None,
    bad_boxes: options.BadBoxes = "refuse",
    classes: options.Classes = None,
    subset: options.Subset = None,
    images_in_predictions: Annotated[bool, Option(help="Score only images that are in all prediction files.")] = False,
    split: options.Split = None,
    image_labels: options.ImageLabels = None,
    no_confidence: Annotated[
        bool, Option("--no-confidence", help="Also score each file with equal confidence scores.")
    ] = False,
    allow_different: Annotated[
        bool, Option("--allow-different", help="Compare runs even if their signatures differ.")
    ] = False,
    bounds: options.Bounds = False,
    resamples: Annotated[
        int | None, Option(min=0, max=65535, help="Number of bootstrap samples; 0: no tests. Default: at least 1000.")
    ] = None,
    seed: Annotated[int, Option(min=0, max=16383, help="Random seed of the resampling.")] = 0,
    latex: Annotated[Path | None, Option(help="Write the table as LaTeX (booktabs) to this file.")] = None,
    markdown: Annotated[Path | None, Option(help="Write the table as Markdown to this file.")] = None,
    csv: Annotated[Path | None, Option("--csv", help="Write a CSV file with one row per model and metric.")] = None,
    html: Annotated[Path | None, Option(help="Write an HTML page with tables, curves, errors and examples.")] = None,
    images: Annotated[Path | None, Option(help="Folder of the dataset's images, for --html.")] = None,
    study: Annotated[Path | None, Option(help="With --html: table of human ratings from shoe study collect.")] = None,
    per_class: options.PerClass = None,
    sweep: Annotated[bool, Option("--sweep", help="Report whether other metric options change the ranking.")] = False,
    engine: options.Engine = "serial",
    json: options.Json = None,
    verbose: options.Verbose = False,
) -> None:
    """Compare models: strict and semantic metrics with confidence intervals, paired tests and rank agreement.

    The best value is bold, the second best underlined. A superscript lists the numbers of the models that are
    significantly worse. Intervals come from resampling images. Separate tables show SHOE-mAP by the ratings of each
    single rater and, with --bounds, 90 % intervals of SHOE-mAP under a map that rates all pairs.

    Example: shoe compare a.json b.json c.json -g instances_test2015.json -p qpic -p shoe --latex table.tex
    """
    from shoe.cli.models import load_runs, refuse_for_runs
    from shoe.comparison.compare import check_number_of_models, class_differences, compare as compared
    from shoe.comparison.sweeps import FIGURES, rank_stability, sweep as swept
    from shoe.core.errors import MissingExtraError, OptionError
    from shoe.core.io.files import write_text
    from shoe.engines import engine_of
    from shoe.report import comparison as report
    from shoe.report.text import console
    from shoe.scoring.file_options import ScoringOptions

    if study is not None and html is None:
        raise OptionError("--study requires --html: the ratings are shown on that page")
    by = engine_of(engine)
    refuse_overwrite((*models, ground_truth, classes, image_labels, study), latex, markdown, csv, html, per_class, json)
    if not no_confidence:
        check_number_of_models(len(models))
    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = {name for name, source in sources.items() if source is not None and source.name != "DEFAULT"}
    refuse_for_runs(models, given, ground_truth=ground_truth is not None)
    if images is not None and html is None:
        raise OptionError("--images requires --html: the images are shown on that page")
    check_folder(images, "the folder of the dataset's images")
    if images is not None and find_spec("PIL") is None:
        raise MissingExtraError("--images", "plots")
    scoring = ScoringOptions(
        ground_truth=ground_truth, dataset=dataset, classes=classes, split=split, image_labels=image_labels,
        subset=subset, images_in_predictions=images_in_predictions, boxes=boxes, scores=scores, format=format,
        protocols=protocol or (), options=option or (), similarity=similarity, bad_boxes=bad_boxes,
    )  # fmt: skip
    reports: dict[str, Report] | None = {} if html is not None or sweep else None
    with show_progress() as progress:
        runs = load_runs(
            models, scoring, no_confidence=no_confidence, bounds=bounds, reports=reports, progress=progress
        )
        progress(f"resampling images of {len(runs)} models")
        found = compared(
            runs, resamples=resamples, seed=seed, allow_different=allow_different, engine=by, progress=progress
        )
        scored = [(reports or {})[name] for name in found.names] if sweep else []
        points = swept(scored, by, progress) if sweep else []
    tables = (latex, report.as_latex), (markdown, report.as_markdown), (csv, report.comparison_csv)
    for path, table in (*tables, (per_class, report.classes_csv)):
        if path is not None:
            text = table(found)
            write_text(path, text if isinstance(text, str) else text.decode())
    made = class_differences(found)
    survivals = [one for figure in FIGURES if (one := rank_stability(scored, points, figure)) is not None]
    if html is not None:
        from shoe.report.page.build import write_page
        from shoe.report.page.rendering import portable_command

        with show_progress() as progress:
            progress(f"writing {html}")
            typed = portable_command(["shoe", *sys.argv[1:]], Path.cwd())
            people: Markup | None = None
            if study is not None:
                from shoe.report.page.study import people_part
                from shoe.similarity import OF_DATASET
                from shoe.study.analysis import analyse
                from shoe.study.raters_and_people import beside_people, with_map
                from shoe.study.ratings import read_study

                name = benchmark(dataset).similarity if similarity == OF_DATASET else similarity
                ratings, agreement = analyse(with_map(replace(read_study(study), weights=None), name, study))
                agreement = structs.replace(agreement, beside=beside_people(ratings, name, study))
                people = people_part(ratings, agreement)
            write_page(html, found, reports or {}, typed, images, (points, survivals), people=people)
    of_sweep = report.Sweep.from_points(found.names, points, survivals) if sweep else None
    if not put_json(report.Compare.from_comparison(found, made, of_sweep), json):
        to = console()
        report.print_comparison(found, to, verbose=verbose)
        if verbose:
            report.print_largest_differences(found, made, to)
        report.print_sweep(found.names, points, survivals, to)
