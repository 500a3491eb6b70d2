"""``shoe compare``: models beside each other, strict and semantic, with the statistics of a paper."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoe.benchmarks import DEFAULT
from shoe.cli.output import Json, put_json, telling

if TYPE_CHECKING:
    from markupsafe import Markup

    from shoe.scoring.score import Report


def compare(
    context: typer.Context,
    models: Annotated[list[Path], typer.Argument(help="Prediction files, or runs (NAME.shoe) of score --save.")],
    ground_truth: Annotated[
        Path | None, typer.Option("--ground-truth", "-g", help="Annotation file; not needed for runs alone.")
    ] = None,
    dataset: Annotated[str, typer.Option(help="Whose classes the ground truth has.")] = DEFAULT,
    protocol: Annotated[
        list[str] | None, typer.Option("--protocol", "-p", help="Protocol; again for more. Default: hico-det, shoe.")
    ] = None,
    similarity: Annotated[
        str, typer.Option(help="Similarity map: a shipped name or a folder; 'dataset': the dataset's own.")
    ] = "dataset",
    option: Annotated[
        list[str] | None, typer.Option("--option", "-o", help="NAME=VALUE: change one choice of a protocol.")
    ] = None,
    boxes: Annotated[
        str | None, typer.Option(help="Box convention of the predictions, where it is not their format's own.")
    ] = None,
    scores: Annotated[
        str | None, typer.Option(help="How to bring scores to 0..1: sigmoid (of logits), percent, minmax or rank.")
    ] = None,
    format: Annotated[str | None, typer.Option(help="Prediction format, if content is not to decide.")] = None,
    classes: Annotated[Path | None, typer.Option(help="Class table that replaces the packaged one.")] = None,
    subset: Annotated[
        str | None, typer.Option(help="Score on a named part of the images: single-hoi, single-pair.")
    ] = None,
    images_in_predictions: Annotated[bool, typer.Option(help="Score only the images that all files name.")] = False,
    split: Annotated[
        str | None,
        typer.Option(
            help="A split of the classes (rf-uc, or a file of unseen ones), or of anno_bbox.mat's images (train2015)."
        ),
    ] = None,
    image_labels: Annotated[
        Path | None, typer.Option(help="Official anno.mat: known-object setting by image-level labels.")
    ] = None,
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
    per_class: Annotated[Path | None, typer.Option(help="Write the figures of each class to this CSV file.")] = None,
    sweep: Annotated[
        bool, typer.Option("--sweep", help="Also vary each choice of the metric: does the ranking survive?")
    ] = False,
    engine: Annotated[
        str,
        typer.Option(
            help="Who resamples and sweeps: serial, processes:N, ray (one here, or RAY_ADDRESS's), ray:ADDRESS."
        ),
    ] = "serial",
    json: Json = None,
) -> None:
    """Compare models: strict beside semantic figures, with intervals, paired tests, and whether rankings agree.

    Best in bold, second underlined; superscripts are the numbers of the models than which one is significantly better.
    Intervals are over images; figures by single raters of the map, and with --bounds of what it leaves unrated, stand
    apart.

    Example: shoe compare a.json b.json c.json -g instances_test2015.json -p qpic -p shoe --latex table.tex

    JSON keys: models [{name, signature, predictions, predictions_sha; figures {figure {value, rank, interval}}; gain,
    raters, map_interval, absent}]; resamples, seed; differences [{models, figure, value, interval, bootstrap,
    randomisation {p, adjusted}, significant}]; ranking {figures, tau, moved}; apart [{models, figure; classes, verbs,
    objects [{name, classes, truths, before, after}]}]; unlike; notes; with --sweep sweep {points [{option, value,
    asked; figures {strict, map, mf1 {model}}}], rankings [{figure, settings, changed [{option, value}], lowest_tau}]}.
    Figures are called strict:PROTOCOL:full, :rare and :non_rare, semantic:map, :mf1, :gt_miss_rate and
    :prediction_miss_rate. Fractions 0..1; what cannot be measured is left out.
    """
    from shoe.cli.models import refuse_for_runs, runs_of
    from shoe.cli.output import spare
    from shoe.comparison.classes import apart
    from shoe.comparison.compare import check_number
    from shoe.comparison.compare import compare as compared
    from shoe.comparison.sweeps import FIGURES, survival
    from shoe.comparison.sweeps import sweep as swept
    from shoe.core.errors import OptionError
    from shoe.engines.choose import engine_of
    from shoe.report.apart import apart_dict, classes_csv, print_apart
    from shoe.report.comparison import comparison_csv, comparison_dict
    from shoe.report.comparison_tables import as_latex, as_markdown, print_comparison, write
    from shoe.report.sweeps import print_sweep, sweep_dict
    from shoe.report.terminal import console
    from shoe.scoring.asked import Asked

    if study is not None and html is None:
        raise OptionError("--study: found no --html, the page that shows it")
    by = engine_of(engine)
    spare((*models, ground_truth, classes, image_labels, study), latex, markdown, csv, html, per_class, json)
    if not no_confidence:
        check_number(len(models))
    refuse_for_runs(
        models, {name for name in context.params if _was_given(context, name)}, ground_truth=ground_truth is not None
    )
    if images is not None:
        _check_images(images, html)
    asked = Asked(
        ground_truth=ground_truth,
        dataset=dataset,
        protocols=tuple(protocol or ()),
        similarity=similarity,
        options=tuple(option or ()),
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
        runs = runs_of(models, asked, no_confidence=no_confidence, bounds=bounds, reports=reports, tell=tell)
        tell(f"resampling images of {len(runs)} models")
        how: Any = {"resamples": resamples, "seed": seed, "allow_different": allow_different}
        found = compared(runs, **how, engine=by, tell=tell)
        scored = [(reports or {})[name] for name in found.names] if sweep else []
        points = swept(scored, by, tell) if sweep else []
    for path, text in ((latex, as_latex), (markdown, as_markdown)):
        if path is not None:
            write(text(found), str(path))
    if csv is not None:
        write(comparison_csv(found).decode(), str(csv))
    if per_class is not None:
        write(classes_csv(found), str(per_class))
    made, told = apart(found), comparison_dict(found)
    survivals = [one for figure in FIGURES if (one := survival(scored, points, figure)) is not None]
    if html is not None:
        from shoe.page.build import write_page
        from shoe.page.command import shown

        with telling() as tell:
            tell(f"writing {html}")
            typed = shown(["shoe", *sys.argv[1:]], Path.cwd())
            people = None if study is None else _people(study, dataset, similarity)
            write_page(html, found, reports or {}, typed, images, (points, survivals), people=people)
    told |= {"apart": apart_dict(made)} | ({"sweep": sweep_dict(found.names, points, survivals)} if sweep else {})
    if not put_json(told, json):
        to = console()
        print_comparison(found, to)
        print_apart(found, made, to)
        print_sweep(found.names, points, survivals, to)


def _people(study: Path, dataset: str, similarity: str) -> Markup:
    """What a rating study says of the map."""
    from shoe.benchmarks import benchmark
    from shoe.page.people import people_part
    from shoe.similarity import OF_DATASET
    from shoe.study.analysis import analyse
    from shoe.study.map_raters import beside_people
    from shoe.study.ratings import read_study
    from shoe.study.reference import with_map

    name = benchmark(dataset).similarity if similarity == OF_DATASET else similarity
    found = analyse(with_map(replace(read_study(study), weights=None), name, study))
    return people_part(found, beside_people(found.study, name, study))


def _was_given(context: typer.Context, name: str) -> bool:
    """Whether an option was named, though it may be as its default is."""
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def _check_images(images: Path, html: Path | None) -> None:
    from shoe.core.errors import InputError, MissingExtraError, OptionError

    if html is None:
        raise OptionError("--images: found no --html, the page that shows them")
    if not images.is_dir():
        raise InputError(images, found="no such folder", expected="the folder of the dataset's images")
    if find_spec("PIL") is None:
        raise MissingExtraError("pictures", "plots")
