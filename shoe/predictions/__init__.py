"""Read and write prediction files in all supported formats."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from shoe.benchmarks import DEFAULT, benchmark
from shoe.benchmarks.base import Benchmark
from shoe.core.errors import InputError, OptionError, flag
from shoe.core.interactions import Interactions
from shoe.core.io.native import notes_of_native, read_native, write_native
from shoe.predictions.boxes.conventions import parse_convention
from shoe.predictions.formats.flat_columns import SCORE_NAMES
from shoe.predictions.formats.registry import (
    FORMATS,
    NATIVE,
    Format,
    format_named,
    recognise,
    refuse_others,
    suggest_names,
    writable,
    zero_based,
)
from shoe.predictions.notes import ReadNotes
from shoe.predictions.source import Sizes, collection_paused, open_source
from shoe.predictions.table import check_scores_name, convert_scores, to_table
from shoe.predictions.vlm.answers import alternatives, first_items, keys_unread, numbers_unread
from shoe.predictions.vlm.keys import USUAL

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
) -> Interactions:
    """Read a prediction file in any supported format.

    >>> import shoe.demo
    >>> table = read_predictions(shoe.demo.PREDICTIONS["detector"])
    >>> table.human_boxes.shape == (len(table), 4)
    True

    Args:
        path: the file, optionally compressed with gzip, or a folder of official Matlab files.
        format: a name in :data:`shoe.predictions.formats.registry.FORMATS`, or "native"; by default the format is
            recognised from the content.
        boxes: box convention, if it differs from that of the format; see :mod:`shoe.predictions.boxes.conventions`.
        scores: how to convert scores to 0..1: "sigmoid", "percent", "minmax" or "rank"; by default scores stay as they
            are.
        dataset: the benchmark, or its name, that defines the image names and class numbers of the file.
        sizes: (width, height) of images in pixels by name, for conventions that need them.

    Returns:
        Triplets in file order within each image, with boxes as x1, y1, x2, y2 in pixels. The table carries the read
            notes, which reports show.

    Raises:
        InputError: naming the file, record and field, the value found and the value expected.
        OptionError: for an unknown format, convention or benchmark.
    """
    table, notes = read_predictions_with_notes(
        path, format=format, boxes=boxes, scores=scores, dataset=dataset, sizes=sizes
    )
    return replace(table, notes=notes)


def check_names(format: str | None, boxes: str | None, scores: str | None) -> Format | None:  # noqa: A002
    """Return the named format; raise OptionError if a format, box convention or score conversion is unknown."""
    chosen = None if format in (None, NATIVE) else format_named(str(format))
    if boxes is not None:
        parse_convention(boxes)
    check_scores_name(scores)
    return chosen


def read_predictions_with_notes(
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002
    boxes: str | None = None,
    scores: str | None = None,
    dataset: str | Benchmark = DEFAULT,
    sizes: Sizes | None = None,
    truth: Interactions | None = None,
) -> tuple[Interactions, ReadNotes]:
    """Read a prediction file; return the table and notes on what was assumed, repaired or left out.

    Arguments and errors are those of :func:`read_predictions`, and ``truth``: annotated boxes of the same images. They
    provide the image sizes if ``sizes`` is not given. If many boxes have no area under the applied box convention, the
    error message names the convention that fits ``truth``.
    """
    chosen = check_names(format, boxes, scores)
    # Parsed objects are freed before garbage collection resumes, which would traverse all of them.
    with collection_paused():
        if truth is not None and sizes is None:
            sizes = dict(zip(truth.images, map(tuple, truth.sizes.tolist()), strict=True))
        source = open_source(path, benchmark(dataset), sizes)
        source.truth, source.notes.scores_as = truth, scores or ""
        found = _KINDS.get(source.kind, source.kind)
        if source.kind == "npz" and chosen is None:
            if boxes is not None:
                raise OptionError(f"{path}: a native table says itself what its boxes are; leave out {flag('boxes')}")
            refuse_others(source, "predictions")
            table = read_native(path, source.data)
            notes = ReadNotes.of_native(table, notes_of_native(path, source.data))
            if scores is not None:
                table, notes.scores_as = convert_scores(table, scores, np.ones(len(table), bool)), scores
            return table, notes
        if format == NATIVE:
            raise InputError(path, found=found, expected="a native table (.npz)")
        chosen = chosen or recognise(source)
        if source.kind not in chosen.kinds:
            raise InputError(path, found=f"{found}, not a file of this kind", expected=f"the format {chosen.name}")
        source.notes.format = chosen.name
        try:
            table = to_table(chosen.read(source), source, parse_convention(chosen.boxes), boxes)
        except InputError as error:
            hint = suggest_names(source, [*USUAL, *SCORE_NAMES]) if chosen.name in _FREE_KEYS else None
            raise error if hint is None else error.hinting(hint) from None
        notes, items, hint = source.notes, first_items(source) if chosen.name == "vlm" else [], ""
        if chosen.name in _FREE_KEYS and notes.scores_defaulted:
            hint = suggest_names(source, SCORE_NAMES) or numbers_unread(items)
            notes.add("suggestion", first=hint)
        if items:
            notes.set_examples("columns_unread", [] if hint else keys_unread(items))
            notes.set_examples("alternatives", alternatives(items))
        del source
        return table, notes


def write_predictions(
    table: Interactions,
    path: str | Path,
    format: str,  # noqa: A002
    dataset: str | Benchmark = DEFAULT,
    notes: ReadNotes | None = None,
) -> None:
    """Write predictions to a file, atomically.

    Only the native format stores the coordinate system of boxes. Other formats store the numbers unchanged, except that
    pixel indices counted from 1 become indices counted from 0.

    Args:
        table: predictions to write.
        format: a name in :data:`shoe.predictions.formats.registry.FORMATS`, or "native".
        dataset: the benchmark, or its name, that defines the class numbers of formats with numbered classes.
        notes: read notes of the table. The native format stores them, so that signatures and reports stay the same.

    Raises:
        InputError: naming the value that the format cannot store.
        OptionError: for an unknown format, or a format that can only be read.
    """
    if table.roles is not None and not len(table):
        found, hint = "no triplet: the file names no object categories", "shoe score takes it as it is"
        raise InputError(path, found=found, expected="triplets to write", hint=hint)
    known = FORMATS.get(writable(format))
    if known is None or known.write is None:
        write_native(table, path, b"" if notes is None else notes.to_keep())
    else:
        known.write(zero_based(table), path, benchmark(dataset))
