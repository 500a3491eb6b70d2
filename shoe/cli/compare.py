"""``shoe compare``: models beside each other, strict and semantic, with the statistics of a paper."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoe.benchmarks import DEFAULT
from shoe.cli import options
from shoe.cli.output import check_folder, put_json, refuse_overwrite, telling

if TYPE_CHECKING:
    from markupsafe import Markup

    from shoe.scoring.score import Report


def compare(
    context: typer.Context,
    models: Annotated[list[Path], typer.Argument(help="Prediction files, or runs (NAME.shoe) of score --save.")],
    ground_truth: Annotated[
        Path | None, typer.Option("--ground-truth", "-g", help="Annotation file; not needed for runs alone.")
    ] = None,
    dataset: options.Dataset = DEFAULT,
    protocol: options.Protocols = None,
    similarity: options.Similarity = "dataset",
    option: options.ProtocolOptions = None,
    boxes: options.Boxes = None,
    scores: options.Scores = None,
    format: options.Format = None,
    classes: options.Classes = None,
    subset: options.Subset = None,
    images_in_predictions: Annotated[bool, typer.Option(help="Score only the images that all files name.")] = False,
    split: options.Split = None,
    image_labels: options.ImageLabels = None,
    no_confidence: Annotated[
        bool, typer.Option("--no-confidence", help="Also score each file with all its scores equal.")
    ] = False,
    allow_different: Annotated[
        bool, typer.Option("--allow-different", help="Compare runs under unlike signatures, too.")
    ] = False,
    bounds: Annotated[bool, typer.Option("--bounds", help="Also say what the map leaves open; takes longer.")] = False,
    resamples: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="How often images are drawn; 0: no statistics. Default: 1000, or enough."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=16383, help="Of the draws.")] = 0,
    latex: Annotated[Path | None, typer.Option(help="Write the table as LaTeX (booktabs) to this file.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write it as Markdown to this file.")] = None,
    csv: Annotated[Path | None, typer.Option("--csv", help="Write a line for each model and figure as CSV.")] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write one page to this file: tables, curves, errors, examples, sliders.")
    ] = None,
    images: Annotated[Path | None, typer.Option(help="Folder of the dataset's images, for --html.")] = None,
    study: Annotated[
        Path | None, typer.Option(help="People's ratings (shoe study collect) to hold the map against, for --html.")
    ] = None,
    per_class: options.PerClass = None,
    sweep: Annotated[
        bool, typer.Option("--sweep", help="Also vary each choice of the metric: does the ranking survive?")
    ] = False,
    engine: Annotated[
        str,
        typer.Option(
            help="Who resamples and sweeps: serial, processes:N, ray (one here, or RAY_ADDRESS's), ray:ADDRESS."
        ),
    ] = "serial",
    json: options.Json = None,
) -> None:
    """Compare models: strict beside semantic figures, with intervals, paired tests, and whether rankings agree.

    Best in bold, second underlined; superscripts are the numbers of the models than which one is significantly better.
    Intervals are over images; figures by single raters of the map, and with --bounds of what it leaves unrated, stand
    apart.

    Example: shoe compare a.json b.json c.json -g instances_test2015.json -p qpic -p shoe --latex table.tex
    """
    from shoe.cli.models import refuse_for_runs, runs_of
    from shoe.comparison.classes import apart
    from shoe.comparison.compare import check_number
    from shoe.comparison.compare import compare as compared
    from shoe.comparison.sweeps import FIGURES, survival
    from shoe.comparison.sweeps import sweep as swept
    from shoe.core.errors import MissingExtraError, OptionError
    from shoe.engines import engine_of
    from shoe.report.comparison import (
        Compare,
        Sweep,
        as_latex,
        as_markdown,
        classes_csv,
        comparison_csv,
        print_apart,
        print_comparison,
        print_sweep,
        write,
    )
    from shoe.report.terminal import console
    from shoe.scoring.file_options import ScoringOptions

    if study is not None and html is None:
        raise OptionError("--study: found no --html, the page that shows it")
    by = engine_of(engine)
    refuse_overwrite((*models, ground_truth, classes, image_labels, study), latex, markdown, csv, html, per_class, json)
    if not no_confidence:
        check_number(len(models))
    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = {name for name, source in sources.items() if source is not None and source.name != "DEFAULT"}
    refuse_for_runs(models, given, ground_truth=ground_truth is not None)
    if images is not None and html is None:
        raise OptionError("--images: found no --html, the page that shows them")
    check_folder(images, "the folder of the dataset's images")
    if images is not None and find_spec("PIL") is None:
        raise MissingExtraError("pictures", "plots")
    scoring = ScoringOptions(
        ground_truth=ground_truth,
        dataset=dataset,
        protocols=protocol or (),
        similarity=similarity,
        options=option or (),
        boxes=boxes,
        scores=scores,
        format=format,
        classes=classes,
        subset=subset,
        images_in_predictions=images_in_predictions,
        split=split,
        image_labels=image_labels,
    )
    reports: dict[str, Report] | None = {} if html is not None or sweep else None
    with telling() as tell:
        runs = runs_of(models, scoring, no_confidence=no_confidence, bounds=bounds, reports=reports, tell=tell)
        tell(f"resampling images of {len(runs)} models")
        found = compared(runs, resamples=resamples, seed=seed, allow_different=allow_different, engine=by, tell=tell)
        scored = [(reports or {})[name] for name in found.names] if sweep else []
        points = swept(scored, by, tell) if sweep else []
    tables = (latex, as_latex), (markdown, as_markdown), (csv, comparison_csv), (per_class, classes_csv)
    for path, table in tables:
        if path is not None:
            text = table(found)
            write(text if isinstance(text, str) else text.decode(), str(path))
    made = apart(found)
    survivals = [one for figure in FIGURES if (one := survival(scored, points, figure)) is not None]
    if html is not None:
        from shoe.report.page.build import write_page
        from shoe.report.page.rendering import shown

        with telling() as tell:
            tell(f"writing {html}")
            typed = shown(["shoe", *sys.argv[1:]], Path.cwd())
            people = None if study is None else _people(study, dataset, similarity)
            write_page(html, found, reports or {}, typed, images, (points, survivals), people=people)
    of_sweep = Sweep.from_points(found.names, points, survivals) if sweep else None
    if not put_json(Compare.from_comparison(found, made, of_sweep), json):
        to = console()
        print_comparison(found, to)
        print_apart(found, made, to)
        print_sweep(found.names, points, survivals, to)


def _people(study: Path, dataset: str, similarity: str) -> Markup:
    """What a rating study says of the map."""
    from shoe.benchmarks import benchmark
    from shoe.report.page.study import people_part
    from shoe.similarity import OF_DATASET
    from shoe.study.analysis import analyse
    from shoe.study.raters_and_people import beside_people, with_map
    from shoe.study.ratings import read_study

    name = benchmark(dataset).similarity if similarity == OF_DATASET else similarity
    found = analyse(with_map(replace(read_study(study), weights=None), name, study))
    return people_part(found, beside_people(found.study, name, study))
