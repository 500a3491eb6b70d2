"""Prediction files in and out, one file per format."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from shoe.benchmarks import benchmark
from shoe.core.errors import InputError, OptionError
from shoe.core.interactions import Interactions
from shoe.io.native import read_native, write_native
from shoe.predictions.boxes import Convention, parse_convention
from shoe.predictions.formats import FORMATS, NATIVE, Format, format_named, writable, zero_based
from shoe.predictions.notes import ReadNotes
from shoe.predictions.rows import to_table
from shoe.predictions.source import Source, collection_paused, open_source
from shoe.predictions.unknown import unknown_form

__all__ = ["ReadNotes", "read_predictions", "read_predictions_with_notes", "write_predictions"]

Sizes = Mapping[str, tuple[int, int]]
_KINDS = {"document": "JSON or a pickle", "text": "text", "matlab": "Matlab data", "npz": "a native table"}


def read_predictions(
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002 - the word that users know
    boxes: str | None = None,
    dataset: str = "hico-det",
    sizes: Sizes | None = None,
) -> Interactions:
    """Read predictions in any form of the field; the form is seen from the content.

    Args:
        path: the file, or a folder of official Matlab files.
        format: name of the form, if content is not to decide; see :data:`shoe.predictions.formats.FORMATS`.
        boxes: name of the box convention, if it is not the format's own; see :mod:`shoe.predictions.boxes`.
        dataset: whose class numbers the file uses.
        sizes: width and height of images by name, for conventions that need them.

    Raises:
        InputError: naming file, record, field, what was found and what was expected.
        OptionError: for an unknown format, convention or dataset.
    """
    return read_predictions_with_notes(path, format=format, boxes=boxes, dataset=dataset, sizes=sizes)[0]


def read_predictions_with_notes(
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002
    boxes: str | None = None,
    dataset: str = "hico-det",
    sizes: Sizes | None = None,
) -> tuple[Interactions, ReadNotes]:
    """Read predictions as :func:`read_predictions`, and say what was taken for granted, mended or not usable."""
    wanted = None if format in (None, NATIVE) else format_named(str(format))
    convention = None if boxes is None else parse_convention(boxes)
    with collection_paused():  # what was parsed is gone before collection resumes, which would visit all of it
        return _read(path, wanted, convention, is_native=format == NATIVE, dataset=dataset, sizes=sizes)


def write_predictions(table: Interactions, path: str | Path, format: str, dataset: str = "hico-det") -> None:  # noqa: A002
    """Write predictions; the file appears whole or not at all.

    Only the native form says which frame its boxes are in. Any other gets the numbers as they are, except that pixels
    counted from 1 are counted from 0.

    Args:
        table: what to write.
        path: the file.
        format: name of the form.
        dataset: whose class numbers to write, where the form has numbers.

    Raises:
        InputError: naming what the form cannot hold.
        OptionError: for an unknown format, or one that is only read.
    """
    form = FORMATS.get(writable(format))
    if form is None or form.write is None:
        write_native(table, path)
    else:
        form.write(zero_based(table), path, benchmark(dataset).classes)


def _read(
    path: str | Path,
    wanted: Format | None,
    convention: Convention | None,
    *,
    is_native: bool,
    dataset: str,
    sizes: Sizes | None,
) -> tuple[Interactions, ReadNotes]:
    source = open_source(path, benchmark(dataset).classes, sizes)
    if source.kind == "npz" and wanted is None:
        return _read_native(source, convention)
    if is_native:
        raise InputError(path, found=_KINDS.get(source.kind, source.kind), expected="a native table (.npz)")
    form = _recognised(source) if wanted is None else wanted
    if source.kind not in form.kinds:
        found = f"{_KINDS.get(source.kind, source.kind)}, not a file of this kind"
        raise InputError(path, found=found, expected=f"the format {form.name}")
    source.notes.format = form.name
    table = to_table(form.read(source), source, convention or parse_convention(form.boxes))
    return table, source.notes


def _read_native(source: Source, convention: Convention | None) -> tuple[Interactions, ReadNotes]:
    if convention is not None:
        raise OptionError(f"{source.path}: a native table says itself what its boxes are; leave out --boxes")
    table = read_native(source.path)
    return table, ReadNotes(NATIVE, "the table says", images=len(table.images), triplets=len(table))


def _recognised(source: Source) -> Format:
    if source.kind == "document" and source.document == []:
        return FORMATS["qpic"]
    for form in FORMATS.values():
        if source.kind in form.kinds and form.sniff(source):
            return form
    raise unknown_form(source, [*FORMATS, NATIVE])
