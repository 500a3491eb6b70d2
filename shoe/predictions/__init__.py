"""Prediction files in and out, one module per format."""

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
    misspelt,
    recognised,
    refuse_others,
    writable,
    zero_based,
)
from shoe.predictions.notes import ReadNotes
from shoe.predictions.source import Sizes, collection_paused, open_source
from shoe.predictions.table import check_scores_name, rescaled, to_table
from shoe.predictions.vlm.answers import alternatives, first_items, keys_unread, numbers_unread
from shoe.predictions.vlm.keys import USUAL

__all__ = ["ReadNotes", "read_predictions", "read_predictions_with_notes", "write_predictions"]

_FREE_KEYS = ("jsonl", "csv", "parquet", "vlm")
"""Formats whose records may have keys of their own."""
_KINDS = {"document": "JSON or a pickle", "matlab": "Matlab data", "npz": "a native table"}


def read_predictions(
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002 - the word that users know
    boxes: str | None = None,
    scores: str | None = None,
    dataset: str | Benchmark = DEFAULT,
    sizes: Sizes | None = None,
) -> Interactions:
    """Read predictions in any format of the field.

    >>> import shoe.demo
    >>> table = read_predictions(shoe.demo.PREDICTIONS["detector"])
    >>> table.human_boxes.shape == (len(table), 4)
    True

    Args:
        path: the file, compressed with gzip or not, or a folder of official Matlab files.
        format: a name in :data:`shoe.predictions.formats.registry.FORMATS`, or "native"; by default the content
        decides.
        boxes: box convention, if it is not the format's own; see :mod:`shoe.predictions.boxes.conventions`.
        scores: how to bring scores that are no confidences to 0..1: "sigmoid", "percent", "minmax" or "rank"; else
            as they are.
        dataset: the benchmark, or its name, whose image names and class numbers the file uses.
        sizes: (width, height) of images in pixels by name, for conventions that need them.

    Returns:
        Triplets in file order within each image; boxes in pixels as x1, y1, x2, y2. Notes on the reading travel with
        the table into reports.

    Raises:
        InputError: naming file, record, field, what was found and what was expected.
        OptionError: for an unknown format, convention or benchmark.
    """
    table, notes = read_predictions_with_notes(
        path, format=format, boxes=boxes, scores=scores, dataset=dataset, sizes=sizes
    )
    return replace(table, notes=notes)


def check_names(format: str | None, boxes: str | None, scores: str | None) -> Format | None:  # noqa: A002 - as below
    """See that reading knows the names that it is given, before there is a file; returns the format that is named.

    Raises:
        OptionError: for an unknown format, box convention, or way to take scores.
    """
    wanted = None if format in (None, NATIVE) else format_named(str(format))
    if boxes is not None:
        parse_convention(boxes)
    check_scores_name(scores)
    return wanted


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
    """Read predictions, and say what was assumed, fixed or could not be used; see :func:`read_predictions`.

    Args:
        path: the file or folder.
        format: name of the format; by default the content decides.
        boxes: box convention, if it is not the format's own.
        scores: how to bring scores to 0..1; as they are if absent.
        dataset: the benchmark, or its name.
        sizes: (width, height) of images in pixels by name.
        truth: annotated boxes of the same images: they have the sizes, unless given, and tell which convention fits
            where many boxes have no area under that applied.

    Raises:
        InputError: naming file, record, field, what was found and what was expected.
        OptionError: for an unknown format, convention or benchmark.
    """
    wanted = check_names(format, boxes, scores)
    with collection_paused():  # what was parsed is gone before collection resumes, which would visit all of it
        if truth is not None and sizes is None:
            sizes = dict(zip(truth.images, map(tuple, truth.sizes.tolist()), strict=True))
        source = open_source(path, benchmark(dataset), sizes)
        source.truth, source.notes.scores_as = truth, scores or ""
        found = _KINDS.get(source.kind, source.kind)
        if source.kind == "npz" and wanted is None:
            if boxes is not None:
                raise OptionError(f"{path}: a native table says itself what its boxes are; leave out {flag('boxes')}")
            refuse_others(source, "predictions")
            table = read_native(path, source.data)
            notes = ReadNotes.of_native(table, notes_of_native(path, source.data))
            if scores is not None:
                table, notes.scores_as = rescaled(table, scores, np.ones(len(table), bool)), scores
            return table, notes
        if format == NATIVE:
            raise InputError(path, found=found, expected="a native table (.npz)")
        wanted = wanted or recognised(source)
        if source.kind not in wanted.kinds:
            raise InputError(path, found=f"{found}, not a file of this kind", expected=f"the format {wanted.name}")
        source.notes.format = wanted.name
        try:
            table = to_table(wanted.read(source), source, parse_convention(wanted.boxes), boxes)
        except InputError as error:
            meant = misspelt(source, [*USUAL, *SCORE_NAMES]) if wanted.name in _FREE_KEYS else None
            raise error if meant is None else error.hinting(meant) from None
        notes, items, meant = source.notes, first_items(source) if wanted.name == "vlm" else [], ""
        if wanted.name in _FREE_KEYS and notes.scores_defaulted:
            meant = misspelt(source, SCORE_NAMES) or numbers_unread(items)
            notes.add("meant", first=meant)
        if items:
            notes.set_examples("columns_unread", [] if meant else keys_unread(items))
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
    """Write predictions; the file appears whole or not at all.

    Only the native format says what coordinates its boxes have. Any other gets the numbers as they are, except that
    pixels counted from 1 are counted from 0.

    Args:
        table: what to write.
        path: the file.
        format: a name in :data:`shoe.predictions.formats.registry.FORMATS`, or "native".
        dataset: the benchmark, or its name, whose class numbers to write where the format has numbers.
        notes: how the table was read, which the native format keeps, so that signatures and reports stay the same.

    Raises:
        InputError: naming what the format cannot hold.
        OptionError: for an unknown format, or one that is only read.
    """
    if table.roles is not None and not len(table):
        found, hint = "no triplet: the file names no object categories", "shoe score takes it as it is"
        raise InputError(path, found=found, expected="triplets to write", hint=hint)
    known = FORMATS.get(writable(format))
    if known is None or known.write is None:
        write_native(table, path, b"" if notes is None else notes.to_keep())
    else:
        known.write(zero_based(table), path, benchmark(dataset))
