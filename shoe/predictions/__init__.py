"""Read and write prediction files in all supported formats."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from shoe.benchmarks import DEFAULT, benchmark
from shoe.benchmarks.base import Benchmark
from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import Mask
from shoe.core.errors import InputError, OptionError, flag, pluralize, unknown_name
from shoe.core.interactions import Interactions, check_bad_boxes
from shoe.core.io.native import notes_of_native, read_native, write_native
from shoe.predictions.boxes.conventions import parse_convention
from shoe.predictions.field_names import SCORE_NAMES, STANDARD_KEYS
from shoe.predictions.formats.registry import (
    FORMATS,
    NATIVE,
    Format,
    format_named,
    recognise,
    refuse_others,
    suggest_names,
    unwrapped,
    writable_format,
    zero_based,
)
from shoe.predictions.notes import ReadNotes
from shoe.predictions.numbering import split_format, with_numberings
from shoe.predictions.roles import with_stated_roles, with_words_of_file
from shoe.predictions.source import Sizes, Source, collection_paused, open_source
from shoe.predictions.table import SCORES, convert_scores, to_table

__all__ = ["ReadNotes", "read_predictions", "read_predictions_with_notes", "write_predictions"]

_FREE_KEYS = ("jsonl", "csv", "parquet", "vlm")  # formats whose records may have additional keys
_KINDS = {"document": "JSON or a pickle", "matlab": "Matlab data", "npz": "a native table"}


def read_predictions(
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002 - the name of the command-line option
    boxes: str | None = None,
    scores: str | None = None,
    dataset: str | Benchmark = DEFAULT,
    sizes: Sizes | None = None,
    truth: GroundTruth | Interactions | None = None,
    bad_boxes: str = "refuse",
) -> Interactions:
    """Read a prediction file in any supported format.

    >>> import shoe.demo
    >>> table = read_predictions(shoe.demo.PREDICTIONS["detector"])
    >>> table.human_boxes.shape == (len(table), 4)
    True

    Args:
        path: the file, optionally compressed with gzip, or a folder of official Matlab files.
        format: a name in :data:`shoe.predictions.formats.registry.FORMATS`, or "native"; by default the format is
            recognised from the content. The name may be followed by the order of the class IDs, as in
            "qpic,verbs=alphabetical-1"; see :mod:`shoe.predictions.numbering`.
        boxes: box convention, such as "xywh" or "xywh,unit" (:mod:`shoe.predictions.boxes.conventions` lists all);
            by default that of the format.
        scores: conversion of scores to 0..1: "sigmoid", "percent", "minmax" or "rank"; by default no conversion.
        dataset: the benchmark, or its name, that defines the image names and class IDs of the file.
        sizes: (width, height) of images in pixels by name, for box conventions such as fractions of the image size.
        truth: ground truth with the same images, as ``read_ground_truth`` returns it. It provides the image sizes if
            ``sizes`` is not given. If many boxes have no area under the applied box convention, the error message names
            the convention that fits ``truth``.
        bad_boxes: what to do with triplets that have an invalid box or an infinite score: "refuse" raises an error,
            "drop" leaves them out, "count" keeps them: an invalid box matches nothing, an infinite score ranks last.

    Returns:
        Triplets in file order within each image, with boxes as x1, y1, x2, y2 in pixels. The table carries notes
            on what was assumed, repaired or left out, which reports show.

    Raises:
        InputError: naming the file, record and field, the value found and the value expected.
        OptionError: for an unknown format, convention, benchmark or value of ``bad_boxes``.
    """
    chosen = validate_names(format, boxes, scores)
    check_bad_boxes(bad_boxes)
    truth = truth.interactions if isinstance(truth, GroundTruth) else truth
    if truth is not None and sizes is None:
        sizes = dict(zip(truth.images, map(tuple, truth.sizes.tolist()), strict=True))
    # Parsed objects are freed before garbage collection resumes, which would traverse all of them.
    with collection_paused():
        source = open_source(path, benchmark(dataset), sizes)
        source.truth, source.bad_boxes, source.notes.scores_as = truth, bad_boxes, scores or ""
        source.numbering = {} if format is None else split_format(format)[1]
        if source.kind == "npz" and chosen is None:
            return _read_native(source, boxes, scores)
        found = _KINDS.get(source.kind, source.kind)
        if format == NATIVE:
            raise InputError(path, found=found, expected="a native table (.npz)")
        if chosen is not None and source.kind == "document" and not chosen.fits(source):
            unwrapped(source)
        chosen = chosen or recognise(source)
        if source.kind not in chosen.kinds:
            raise InputError(path, found=found, expected=f"a file in the format {chosen.name}")
        notes = source.notes
        notes.format = chosen.name
        try:
            table = to_table(chosen.read(source), source, parse_convention(chosen.boxes), boxes)
        except InputError as error:
            hint = suggest_names(source, [*STANDARD_KEYS, *SCORE_NAMES]) if chosen.name in _FREE_KEYS else None
            raise error if hint is None else error.hinting(hint) from None
        if unused := [part for part in source.numbering if part not in notes.numbering]:
            raise OptionError(f"{path}: the format {chosen.name} has no IDs of {', '.join(unused)}")
        notes.format = with_numberings(chosen.name, source.numbering)
        notes.chosen_numbering = with_numberings("", source.numbering)[1:]
        if chosen.name in _FREE_KEYS and notes.scores_defaulted:
            notes.add("suggestion", first=suggest_names(source, SCORE_NAMES) or "")
        del source
        return replace(table, notes=notes)


def _read_native(source: Source, boxes: str | None, scores: str | None) -> Interactions:
    if boxes is not None:
        raise OptionError(f"{source.path}: a native table states its own box convention; leave out {flag('boxes')}")
    refuse_others(source, "predictions")
    table = read_native(source.path, source.data, source.bad_boxes)
    notes = ReadNotes.from_native(table, notes_of_native(source.path, source.data))
    if source.benchmark.role_protocols:
        table = with_stated_roles(table, source.benchmark, notes)
    if scores is not None:
        table, notes.scores_as = convert_scores(table, scores, np.ones(len(table), bool)), scores
    return replace(table, notes=notes)


def read_predictions_with_notes(path: str | Path, **options: Any) -> tuple[Interactions, ReadNotes]:
    """Return the table of :func:`read_predictions` without notes, and its notes."""
    table = read_predictions(path, **options)
    return replace(table, notes=None), table.notes


def validate_names(format: str | None, boxes: str | None, scores: str | None) -> Format | None:  # noqa: A002
    """Return the format named ``format`` (None for "native" or None); OptionError if any of the names is unknown."""
    name = None if format is None else split_format(format)[0]
    chosen = None if name in (None, NATIVE) else format_named(str(name))
    if boxes is not None:
        parse_convention(boxes)
    if scores is not None and scores not in SCORES:
        raise unknown_name("score conversion", scores, SCORES)
    return chosen


def write_predictions(
    table: Interactions,
    path: str | Path,
    format: str,  # noqa: A002
    dataset: str | Benchmark = DEFAULT,
    notes: ReadNotes | None = None,
) -> None:
    """Write predictions to a file, atomically.

    Only the native format (.npz) stores the coordinate system of boxes. Other formats store the numbers unchanged,
    except that pixel indices counted from 1 become indices counted from 0.

    Args:
        table: predictions to write.
        format: a name in :data:`shoe.predictions.formats.registry.FORMATS`, or "native".
        dataset: the benchmark, or its name, that defines the class IDs of formats with class IDs.
        notes: notes from reading the table. The native format stores them, so that reports stay the same.
            With notes, the other formats write verbs with a role as they were read ("hold obj", not "hold"), and no
            score for triplets that were read without a score.

    Raises:
        InputError: naming the value that the format cannot store, such as a missing score.
        OptionError: for an unknown format, or a format that can only be read.
    """
    if table.roles is not None and not len(table):
        found, hint = "no triplet, because the file has no object categories", "use the file directly in `shoe score`"
        raise InputError(path, found=found, expected="triplets to write", hint=hint)
    table, known = with_words_of_file(table, notes), FORMATS.get(writable_format(format))
    if known is None or known.write is None:
        write_native(table, path, b"" if notes is None else notes.to_json())
    else:
        missing = _missing_scores(table, notes, path)
        if missing.any() and (known.scores == "all" or (known.scores == "all or none" and not missing.all())):
            found = f"no score for {int(missing.sum()):,} of {pluralize(len(table), 'triplet')} in the predictions"
            expected = f"a score for each triplet, because the format {known.name} cannot store missing scores"
            hint = "choose csv, jsonl, parquet, vlm or native with --to, or add scores to the predictions"
            raise InputError(path, field="score", found=found, expected=expected, hint=hint)
        scored = replace(table, score=np.where(missing, np.nan, table.score)) if missing.any() else table
        known.write(zero_based(scored), path, benchmark(dataset))


def _missing_scores(table: Interactions, notes: ReadNotes | None, path: str | Path) -> Mask:
    """Return an (n,) mask of the triplets whose file gave no score; they got the lowest score of the table."""
    count = min(notes.scores_defaulted, len(table)) if notes else 0
    missing: Mask = table.score == table.score.min(initial=np.inf) if count else np.zeros(len(table), bool)
    if int(missing.sum()) != count:
        found = f"{count:,} triplets without a score, which cannot be distinguished from triplets with score 0"
        expected, hint = "only scores other than 0, because scores are missing", "choose native with --to"
        raise InputError(path, field="score", found=found, expected=expected, hint=hint)
    return missing
