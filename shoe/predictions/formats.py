"""The registry of prediction formats: how to recognise, read and write each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from shoe.benchmarks.classes import HoiClasses
from shoe.core.coordinates import Coordinates
from shoe.core.errors import OptionError, quote, unknown_name
from shoe.core.interactions import Interactions
from shoe.core.rows import Rows
from shoe.predictions import cells, flat, hoidet, mllms, qpic, thid, vlm
from shoe.predictions.qpic_writer import write_qpic
from shoe.predictions.source import Kind, Source
from shoe.predictions.vlm_writer import write_vlm

Writer = Callable[[Interactions, str | Path, HoiClasses], None]


@dataclass(frozen=True, slots=True)
class Format:
    """One form of prediction files.

    Attributes:
        name: what users call it.
        description: one line.
        kinds: the kinds of file it comes as.
        sniff: tells whether an opened file has this form.
        read: reads it.
        write: writes it; None where only reading is supported.
        suffix: the file ending that stands for this form where one is written, if there is one.
        boxes: name of its box convention.
    """

    name: str
    description: str
    kinds: tuple[Kind, ...]
    sniff: Callable[[Source], bool]
    read: Callable[[Source], Rows]
    write: Writer | None = None
    suffix: str | None = None
    boxes: str = "xyxy"


_DOCUMENT: tuple[Kind, ...] = ("document",)

# In the order in which they are tried.
FORMATS = {
    form.name: form
    for form in (
        Format("qpic", "QPIC, CDN, Diag-HOI: JSON, CDN's results.json, or a pickle", _DOCUMENT, qpic.is_qpic,
               qpic.read_qpic, write_qpic),
        Format("gen-vlkt", "GEN-VLKT: as qpic, with HOI classes and unlabelled boxes", _DOCUMENT, qpic.is_gen_vlkt,
               qpic.read_gen_vlkt),
        Format("ppdm", "PPDM's best_predictions.json", _DOCUMENT, qpic.is_ppdm, qpic.read_ppdm),
        Format("hoidet", "HOIDet: pickle or JSON with h_idx, o_idx, hoi_class", _DOCUMENT, hoidet.is_hoidet,
               hoidet.read_hoidet),
        Format("thid", "THID, INP-CC: preds.pkl", _DOCUMENT, thid.is_thid, thid.read_thid),
        Format("mllms", "mllms-zs-hoi: JSON with hoi_id, sub_bbox, obj_bbox", _DOCUMENT, mllms.is_mllms,
               mllms.read_mllms, mllms.write_mllms),
        Format("jsonl", "flat columns as JSON Lines", _DOCUMENT, flat.is_flat_lines, flat.read_flat_lines,
               flat.write_flat_lines, ".jsonl"),
        Format("vlm", "free text of vision-language models: JSON Lines or JSON", _DOCUMENT, vlm.is_vlm, vlm.read_vlm,
               write_vlm),
        Format("csv", "flat columns as CSV", ("text",), flat.is_csv, flat.read_csv, flat.write_csv, ".csv"),
        Format("parquet", "flat columns as Parquet", ("parquet",), flat.is_parquet, flat.read_parquet,
               flat.write_parquet, ".parquet"),
        Format("mat", "official Matlab cells: one file, or a folder (UPT, PViC)", ("matlab", "folder"),
               cells.is_cells, cells.read_cells, cells.write_cells, ".mat", "pixels-0"),
    )
}  # fmt: skip
NATIVE = "native"
NATIVE_SUFFIX = ".npz"


def format_named(name: str) -> Format:
    """Return a format by name.

    Raises:
        OptionError: for an unknown name.
    """
    if name not in FORMATS:
        raise unknown_name("format", name, [*FORMATS, NATIVE])
    return FORMATS[name]


def writable(name: str) -> str:
    """Return the name of a format if it can be written.

    Raises:
        OptionError: for an unknown format, or one that is only read.
    """
    if name != NATIVE and format_named(name).write is None:
        raise OptionError(f"the format {name} is only read; written are: {', '.join(_WRITTEN)}")
    return name


def format_of_name(path: Path) -> str:
    """Name the format that a file's ending stands for where one is written.

    Raises:
        OptionError: where the ending stands for none.
    """
    suffixes = {NATIVE_SUFFIX: NATIVE, **{form.suffix: form.name for form in FORMATS.values() if form.suffix}}
    if path.suffix.lower() not in suffixes:
        raise OptionError(
            f"{path}: the ending {quote(path.suffix)} does not say which format to write; name it with --to: "
            f"{', '.join(_WRITTEN)}"
        )
    return suffixes[path.suffix.lower()]


def zero_based(table: Interactions) -> Interactions:
    """Move boxes that count pixels from 1 so that they count from 0; all other numbers stay as they are."""
    ones = (table.triplet_coordinates == Coordinates.PIXELS_1).astype(np.float64).reshape(-1, 1)
    if not ones.any():
        return table
    return replace(table, human_boxes=table.human_boxes - ones, object_boxes=table.object_boxes - ones)


_WRITTEN = sorted([NATIVE, *(form.name for form in FORMATS.values() if form.write is not None)])
