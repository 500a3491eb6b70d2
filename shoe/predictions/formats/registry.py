"""Registry of prediction formats: recognise, read and write each format, and describe files of other kinds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from shoe.benchmarks.base import Benchmark
from shoe.benchmarks.checks import benchmark_of_truth
from shoe.core.boxes import Coordinates
from shoe.core.errors import InputError, OptionError, flag, near, printable, quote, unknown_name
from shoe.core.interactions import Interactions
from shoe.core.io.files import seen
from shoe.core.rows import Rows
from shoe.predictions import vlm
from shoe.predictions.formats import class_numbers, flat_columns, matlab_cells, qpic, v_coco
from shoe.predictions.formats.flat_columns import COLUMNS
from shoe.predictions.source import Kind, Source
from shoe.predictions.vlm.keys import ANSWERS, USUAL, is_truth, role

BONGARD = "Bongard problems"
SWAPPED = "are PREDICTIONS and --ground-truth swapped?"
PROBLEMS = re.compile(rb"\s*(?:\[\s*){3}\{[^{}]*\"crop_bbox\"")
Writer = Callable[[Interactions, str | Path, Benchmark], None]


@dataclass(frozen=True, slots=True)
class Format:
    """One format of prediction files.

    Attributes:
        name: name for users.
        description: one line for users.
        kinds: kinds of files that can have this format.
        fits: returns whether an opened file has this format.
        read: reads an opened file of this format.
        write: writes predictions; None if the format can only be read.
        suffix: file name suffix that selects this format for writing, if any.
        boxes: name of the box convention.
    """

    name: str
    description: str
    kinds: tuple[Kind, ...]
    fits: Callable[[Source], bool]
    read: Callable[[Source], Rows]
    write: Writer | None = None
    suffix: str | None = None
    boxes: str = "xyxy"


_DOCUMENT: tuple[Kind, ...] = ("document",)

# Recognition tries the formats in this order.
FORMATS = {
    known.name: known
    for known in (
        Format("qpic", "QPIC, CDN, Diag-HOI: JSON, CDN's results.json, or a pickle", _DOCUMENT, qpic.is_qpic,
               qpic.read_qpic, qpic.write_qpic),
        Format("gen-vlkt", "GEN-VLKT: as qpic, with HOI classes and unlabelled boxes", _DOCUMENT, qpic.is_gen_vlkt,
               qpic.read_gen_vlkt),
        Format("ppdm", "PPDM's best_predictions.json", _DOCUMENT, qpic.is_ppdm, qpic.read_ppdm),
        Format("hoidet", "HOIDet: pickle or JSON with h_idx, o_idx, hoi_class", _DOCUMENT, class_numbers.is_hoidet,
               class_numbers.read_hoidet),
        Format("thid", "THID, INP-CC: preds.pkl", _DOCUMENT, class_numbers.is_thid, class_numbers.read_thid),
        Format("thid-images", "THID, INP-CC: {image: [[class, score, 8 numbers]]}, as their evaluators are given it",
               _DOCUMENT, class_numbers.is_thid_images, class_numbers.read_thid_images,
               class_numbers.write_thid_images),
        Format("mllms", "mllms-zs-hoi: JSON with hoi_id, sub_bbox, obj_bbox", _DOCUMENT, class_numbers.is_mllms,
               class_numbers.read_mllms, class_numbers.write_mllms),
        Format("v-coco", "V-COCO's official detections by person: a pickle", _DOCUMENT, v_coco.is_v_coco,
               v_coco.read_v_coco),
        Format("jsonl", "flat columns as JSON Lines", _DOCUMENT, flat_columns.is_flat_lines,
               flat_columns.read_flat_lines, flat_columns.write_flat_lines, ".jsonl"),
        Format("csv", "flat columns as CSV", ("text",), flat_columns.is_csv, flat_columns.read_csv,
               flat_columns.write_csv, ".csv"),
        Format("vlm", "free text of vision-language models: JSON Lines or JSON", ("document", "text"), vlm.is_vlm,
               vlm.read_vlm, vlm.write_vlm),
        Format("parquet", "flat columns as Parquet", ("parquet",), flat_columns.is_parquet, flat_columns.read_parquet,
               flat_columns.write_parquet, ".parquet"),
        Format("mat", "official Matlab cells: one file, or a folder (UPT, PViC)", ("matlab", "folder"),
               matlab_cells.is_cells, matlab_cells.read_cells, matlab_cells.write_cells, ".mat", "pixels-0"),
    )
}  # fmt: skip
NATIVE = "native"
_NATIVE_SUFFIX = ".npz"
_WRITTEN = sorted([NATIVE, *(known.name for known in FORMATS.values() if known.write is not None)])

_SEPARATORS = {";": "';'", "\t": "tabs", "|": "'|'"}
_VLM = ("image", "human_box", "object_box")
_MIN_SIMILARITY = 0.75
_MOST_SHOWN = 8
_LOOKED_AT = 100


def format_named(name: str) -> Format:
    """Return a format by name. Raises OptionError for an unknown name."""
    if name not in FORMATS:
        raise unknown_name("format", name, [*FORMATS, NATIVE])
    return FORMATS[name]


def writable(name: str) -> str:
    """Return the name of a format. Raises OptionError if the format is unknown or can only be read."""
    if name != NATIVE and format_named(name).write is None:
        raise OptionError(f"the format {name} is only read; written are: {', '.join(_WRITTEN)}")
    return name


def format_of_name(path: Path) -> str:
    """Return the format for writing that a file name suffix selects. Raises OptionError for other suffixes."""
    suffixes = {_NATIVE_SUFFIX: NATIVE, **{known.suffix: known.name for known in FORMATS.values() if known.suffix}}
    if path.suffix.lower() not in suffixes:
        problem = f"{path}: the ending {quote(path.suffix)} does not say which format to write"
        raise OptionError(f"{problem}; name it with --to: {', '.join(_WRITTEN)}")
    return suffixes[path.suffix.lower()]


def zero_based(table: Interactions) -> Interactions:
    """Return the table with pixel indices counted from 0 instead of 1; other coordinates stay as they are."""
    ones = (table.triplet_coordinates == Coordinates.PIXELS_1).astype(np.float64).reshape(-1, 1)
    if not ones.any():
        return table
    return replace(table, human_boxes=table.human_boxes - ones, object_boxes=table.object_boxes - ones)


def recognise(source: Source) -> Format:
    """Return the format of an opened file by its content. Raises InputError with a hint at the closest format."""
    refuse_others(source, "predictions")
    for known in FORMATS.values():
        if source.kind in known.kinds and known.fits(source):
            return known
    if not _image_hint(source.first) and any(is_truth(key, value) for key, value in source.first.items()):
        raise InputError(source.path, found="ground truth, not predictions", expected="predictions", hint=SWAPPED)
    expected = f"predictions, one of: {', '.join([*FORMATS, NATIVE])}"
    if source.kind == "document":
        hint = _keys_hint(list(source.first)) or _image_hint(source.first)
        raise InputError(source.path, found=_describe(source), expected=expected, hint=hint)
    if source.kind != "text":
        raise InputError(source.path, found=f"a {source.kind} without official detections", expected=expected)
    raise _table_error(source) or InputError(source.path, found=seen(source.data), expected=expected)


def refuse_others(source: Source, expected: str) -> None:
    """Raise InputError if a file is of another known kind than ``expected``, naming its kind and the command for it."""
    is_map = {
        "folder": (source.path / "map.json").is_file(),
        "text": b"class_synset" in source.data[:4096].split(b"\n", 1)[0],
        "npz": source.kind == "npz" and "verb_classes.npy" in source.members,
    }
    found = hint = None
    if is_map.get(source.kind):
        found, hint = "a similarity map", "a map is given with --similarity; shoe map import makes one of ratings"
    elif not {"action_to_object", "role_object_id"}.isdisjoint(source.first) and (
        truth := benchmark_of_truth(source.data, marked=True)
    ):
        found = f"{truth[1].name}, ground truth of {truth[0].name}"
        hint = f"give {flag('dataset', truth[0].name)}"
        if truth[0].name == source.benchmark.name:
            found, hint = found if expected == "predictions" else None, SWAPPED
    elif PROBLEMS.match(source.data):
        found, hint = BONGARD, "shoe bongard score answers them from predictions"
    if found:
        raise InputError(source.path, found=found, expected=expected, hint=hint)


def _describe(source: Source) -> str:
    keys = source.first
    if {"boxes", "labels", "scores"} <= set(keys) and "pairing" not in keys:  # UPT's detection files
        return "object detections (boxes, labels, scores) without interactions"
    if keys:
        return f"objects with the keys {', '.join(map(quote, list(keys)[:_MOST_SHOWN]))}"
    return f"a document that is {type(source.document).__name__}"


def _image_hint(keys: Mapping[str, object]) -> str | None:
    """Return a hint if a record has the key of an answer but none of an image, else None."""
    if not any(key in ANSWERS or key == "interactions" for key in keys) or any(role(key) == "image" for key in keys):
        return None
    return "an answer needs the file name of its image beside it, under the key 'image'"


def suggest_names(source: Source, known: Sequence[str]) -> str | None:
    """Return a suggestion of known keys for similar unread keys or columns; None if there are none."""
    records = (record for record in source.head[:_LOOKED_AT] if isinstance(record, dict))
    names = dict.fromkeys(name for record in records for name in record if isinstance(name, str) and role(name) is None)
    return _suggestion(list(source.notes.examples("columns_unread") or names), known)


def _keys_hint(keys: Sequence[object]) -> str | None:
    """Return what keys lack for flat columns or free text, if they are similar to those; else None."""
    names = [key for key in keys if isinstance(key, str)][:100]
    missing = [column for column in COLUMNS if column not in names]
    if 2 * len(missing) <= len(COLUMNS):
        return f"jsonl needs {', '.join(COLUMNS)}; not found: {', '.join(missing)}"
    if suggestion := _suggestion([name for name in names if role(name) is None], [*USUAL, *COLUMNS]):
        return suggestion
    roles = {role(name) for name in names}
    absent = [name for name in _VLM if name not in roles]
    if len(absent) == len(_VLM) or not absent:
        return None
    return f"vlm needs {', '.join(_VLM)} and words; not found: {', '.join(absent)}"


def _suggestion(names: Sequence[str], known: Sequence[str]) -> str | None:
    """Return a suggestion for suggest_names names, e.g. "did you mean human_box for 'humanbox'?", or None."""
    matches = [(name, near(printable(name.lower()), known, likeness=_MIN_SIMILARITY)) for name in names]
    parts = [f"{close[0]} for {quote(name)}" for name, close in matches if close]
    return f"did you mean {', '.join(parts[:3])}?" if parts else None


def _table_error(source: Source) -> InputError | None:
    """Return the error for a table with another separator or other columns; None if the text is not a table."""
    first = source.data[:4096].decode("utf-8", "replace").split("\n", 1)[0].strip()
    is_named_csv = source.path.suffix.lower() == ".csv"
    for separator, shown in _SEPARATORS.items():
        is_like_csv = set(_cells(first, separator)) & set(COLUMNS) or (is_named_csv and "," not in first)
        if separator in first and is_like_csv:
            found, hint = f"fields separated by {shown}", "write it with commas"
            return InputError(source.path, record="line 1", found=found, expected="CSV with commas", hint=hint)
    names = _cells(first, ",")
    if not (is_named_csv and len(names) > 1) and len(set(names) & set(COLUMNS)) < 2:
        return None
    missing = [column for column in COLUMNS if column not in names]
    found = f"the columns {', '.join(map(quote, names[:_MOST_SHOWN]))}"
    expected = f"CSV with {', '.join(COLUMNS)}; not found: {', '.join(missing)}"
    suggestion = _suggestion([name for name in names if name not in COLUMNS], missing)
    return InputError(source.path, record="line 1", found=found, expected=expected, hint=suggestion)


def _cells(line: str, separator: str) -> list[str]:
    return [cell.strip(' "\r').lower() for cell in line.split(separator)]
