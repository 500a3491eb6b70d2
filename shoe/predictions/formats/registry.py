"""Registry of prediction formats; recognition of the format of a file, and of files that are not predictions."""

import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np

from shoe.benchmarks.base import Benchmark
from shoe.benchmarks.checks import benchmark_of_truth
from shoe.core.boxes import Coordinates
from shoe.core.errors import InputError, OptionError, closest_names, flag, printable, quote, unknown_name
from shoe.core.interactions import Interactions, Rows
from shoe.core.io.files import describe_content
from shoe.predictions.field_names import ANSWERS, STANDARD_KEYS, is_truth, role
from shoe.predictions.formats import class_numbers, flat_columns, matlab_cells, qpic, v_coco
from shoe.predictions.formats.flat_columns import COLUMNS, columns_in
from shoe.predictions.source import Kind, Source
from shoe.predictions.vlm.images import image_of

BONGARD = "Bongard problems"
SWAPPED_HINT = "are PREDICTIONS and --ground-truth swapped?"
PROBLEMS = re.compile(rb"\s*(?:\[\s*){3}\{[^{}]*\"crop_bbox\"")
Writer = Callable[[Interactions, str | Path, Benchmark], None]


@dataclass(frozen=True, slots=True)
class Format:
    """One format of prediction files.

    Attributes:
        kinds, fits: kinds of files that can have this format, and a callback that returns whether a file has it.
        write: callback that writes predictions; None if the format can only be read.
        suffix: file name suffix that selects this format for writing, if any.
        boxes: name of the default box convention.
        scores: triplets that need a score: "none", "all" or "all or none" (a score for all triplets or for none).
    """

    name: str
    description: str
    kinds: tuple[Kind, ...]
    fits: Callable[[Source], bool]
    read: Callable[[Source], Rows]
    write: Writer | None = None
    suffix: str | None = None
    boxes: str = "xyxy"
    scores: Literal["none", "all", "all or none"] = "none"


_DOCUMENT: tuple[Kind, ...] = ("document",)


def _vlm(function: str) -> Callable[..., Any]:
    """Return a function of the format vlm; the first call imports it, which takes 0.2 s (regular expressions)."""
    return lambda *arguments: getattr(import_module("shoe.predictions.formats.vlm"), function)(*arguments)


# Recognition tries the formats in this order.
FORMATS = {
    known.name: known
    for known in (
        Format("qpic", "QPIC, CDN, Diag-HOI: JSON, CDN's results.json, or a pickle", _DOCUMENT, qpic.is_qpic,
               qpic.read_qpic, qpic.write_qpic, scores="all or none"),
        Format("gen-vlkt", "GEN-VLKT: like qpic, with HOI classes and boxes without label", _DOCUMENT, qpic.is_gen_vlkt,
               qpic.read_gen_vlkt),
        Format("ppdm", "PPDM's best_predictions.json", _DOCUMENT, qpic.is_ppdm, qpic.read_ppdm),
        Format("hoidet", "HOIDet: pickle or JSON with h_idx, o_idx, hoi_class", _DOCUMENT, class_numbers.is_hoidet,
               class_numbers.read_hoidet),
        Format("thid", "THID, INP-CC: preds.pkl", _DOCUMENT, class_numbers.is_thid, class_numbers.read_thid),
        Format("thid-images", "THID, INP-CC: input of their evaluators, {image: [[class, score, 8 numbers]]}",
               _DOCUMENT, class_numbers.is_thid_images, class_numbers.read_thid_images,
               class_numbers.write_thid_images, scores="all"),
        Format("mllms", "mllms-zs-hoi: JSON with hoi_id, sub_bbox, obj_bbox", _DOCUMENT, class_numbers.is_mllms,
               class_numbers.read_mllms, class_numbers.write_mllms, scores="all"),
        Format("v-coco", "V-COCO's official detections by person: a pickle (QPIC, UPT, PViC)", _DOCUMENT,
               v_coco.is_v_coco, v_coco.read_v_coco),
        Format("jsonl", "flat columns as JSON Lines", _DOCUMENT, flat_columns.is_flat_lines,
               flat_columns.read_flat_lines, flat_columns.write_flat_lines, ".jsonl"),
        Format("csv", "flat columns as CSV", ("text",), flat_columns.is_csv, flat_columns.read_csv,
               flat_columns.write_csv, ".csv"),
        Format("vlm", "text of vision-language models, and JSON of any other layout", ("document", "text"),
               _vlm("is_vlm"), _vlm("read_vlm"), _vlm("write_vlm")),
        Format("parquet", "flat columns as Parquet", ("parquet",), lambda source: source.kind == "parquet",
               flat_columns.read_parquet, flat_columns.write_parquet, ".parquet"),
        Format("mat", "official Matlab cells: one file, or a folder (UPT, PViC)", ("matlab", "folder"),
               matlab_cells.is_cells, matlab_cells.read_cells, matlab_cells.write_cells, ".mat", "pixels-0", "all"),
    )
}  # fmt: skip
NATIVE = "native"
_WRITTEN = sorted([NATIVE, *(known.name for known in FORMATS.values() if known.write is not None)])

_SEPARATORS = {";": "';'", "\t": "tabs", "|": "'|'"}
_VLM = ("image", "human_box", "object_box")
_MIN_SIMILARITY, _MOST_SHOWN, _LOOKED_AT = 0.75, 8, 100


def format_named(name: str) -> Format:
    """Return a format by name. Raises OptionError for an unknown name."""
    if name not in FORMATS:
        known = [each for each in FORMATS.values() if name.lower() in re.findall(r"[\w-]+", each.description.lower())]
        if known and not closest_names(name.lower(), FORMATS):
            described = " or ".join(f"{each.name} ({each.description})" for each in known)
            raise OptionError(f"unknown format {quote(name)}; did you mean {described}?")
        raise unknown_name("format", name, [*FORMATS, NATIVE])
    return FORMATS[name]


def writable_format(name: str) -> str:
    """Return ``name``, the name of a format; raise OptionError if the format is unknown or can only be read."""
    if name != NATIVE and format_named(name).write is None:
        raise OptionError(f"the format {name} can only be read; formats that can be written: {', '.join(_WRITTEN)}")
    return name


def format_of_name(path: Path) -> str:
    """Return the name of the format to write, selected by the suffix of ``path``; OptionError for unknown suffixes."""
    suffixes = {".npz": NATIVE, **{known.suffix: known.name for known in FORMATS.values() if known.suffix}}
    if path.suffix.lower() not in suffixes:
        problem = f"{path}: no format has the extension {quote(path.suffix)}"
        raise OptionError(f"{problem}; choose a format with --to: {', '.join(_WRITTEN)}")
    return suffixes[path.suffix.lower()]


def zero_based(table: Interactions) -> Interactions:
    """Return the table with 1 subtracted from pixel indices that count from 1; other boxes are unchanged."""
    ones = (table.triplet_coordinates == Coordinates.PIXELS_1).astype(np.float64)[:, None]
    return replace(table, human_boxes=table.human_boxes - ones, object_boxes=table.object_boxes - ones)


def recognise(source: Source) -> Format:
    """Return the format of an opened file, by its content. Raises InputError for a file that is not predictions."""
    refuse_others(source, "predictions")
    for known in FORMATS.values():
        if known.name == "vlm" and (inner := unwrapped(source)):
            return inner
        if known.name == "vlm" and (error := _incomplete_table(source)):
            raise error
        if source.kind in known.kinds and known.fits(source):
            return known
    if not _image_hint(source.first) and any(is_truth(key, value) for key, value in source.first.items()):
        raise InputError(source.path, found="ground truth, not predictions", expected="predictions", hint=SWAPPED_HINT)
    expected = f"predictions, one of: {', '.join([*FORMATS, NATIVE])}"
    if source.kind == "document":
        hint = _image_hint(source.first) or _keys_hint(list(source.first)) or _ROWS_HINT
        keys = ", ".join(map(quote, list(source.first)[:_MOST_SHOWN]))
        found = f"objects with the keys {keys}" if keys else f"a document that is {type(source.document).__name__}"
        raise InputError(source.path, found=found, expected=expected, hint=hint)
    if source.kind != "text":
        raise InputError(source.path, found=f"a {source.kind} without official detections", expected=expected)
    raise _table_error(source) or InputError(
        source.path, found=describe_content(source.data), expected=expected, hint=_ROWS_HINT
    )


def unwrapped(source: Source) -> Format | None:
    """Return the format of the records in an object like {"results": [...]} or {image: record}; None for other files.

    If a format is found, the records replace the object as the document of ``source``.
    """
    if source.kind != "document" or not isinstance(document := source.document, dict):
        return None
    found = [value for value in document.values() if isinstance(value, list) and value and isinstance(value[0], dict)]
    if document and all(isinstance(record, dict) for record in document.values()):
        found = [[r if image_of(r) is not None else {"filename": name, **r} for name, r in document.items()]]
    inner = copy(source)
    for records in found if len(found) == 1 else ():
        inner.document, inner.__dict__["head"] = records, records
        for known in FORMATS.values():
            if known.kinds == _DOCUMENT and known.fits(inner):
                source.document, source.__dict__["head"] = records, records
                return known
    return None


def refuse_others(source: Source, expected: str) -> None:
    """Raise InputError if a file that should be ``expected`` is a known file of another kind (similarity map, ...)."""
    is_map = {
        "folder": (source.path / "map.json").is_file(),
        "text": b"class_synset" in source.data[:4096].split(b"\n", 1)[0],
        "npz": source.kind == "npz" and "verb_classes.npy" in source.members,
    }
    found = hint = None
    if is_map.get(source.kind):
        found, hint = "a similarity map", "use --similarity for a map; `shoe map import` makes a map from ratings"
    elif not {"action_to_object", "role_object_id"}.isdisjoint(source.first) and (
        truth := benchmark_of_truth(source.data, marked=True)
    ):
        found = f"{truth[1].name}, ground truth of {truth[0].name}"
        hint = f"give {flag('dataset', truth[0].name)}"
        if truth[0].name == source.benchmark.name:
            found, hint = found if expected == "predictions" else None, SWAPPED_HINT
    elif PROBLEMS.match(source.data):
        found, hint = BONGARD, "use `shoe bongard score` to score predictions on them"
    elif source.kind == "npz" and source.members and "header.npy" not in source.members:
        names = ", ".join(quote(name.removesuffix(".npy")) for name in source.members[:_MOST_SHOWN])
        found, hint = f"the arrays {names}, not a native table", _ROWS_HINT if expected == "predictions" else None
    else:
        found, hint = next(((what, hint) for what, hint, fits in _UNREAD if fits(source)), (None, None))
        hint = hint if expected == "predictions" else None
    if found:
        raise InputError(source.path, found=found, expected=expected, hint=hint)


_ROWS_HINT = f"write one row per triplet with the columns {', '.join(COLUMNS)} and score"
_LABELS_HINT = f"the file has class IDs but no labels; {_ROWS_HINT}"
_COCO = {"images", "annotations"}
_RLIP = {"labels", "boxes", "verb_scores"}
_DETECTIONS = {"boxes", "labels", "scores"}  # of UPT's detector


def _entry(source: Source) -> Mapping[str, Any]:
    """Return the first value of a document with one object per image; for other documents, the first record."""
    first = next(iter(source.first.values()), None) if len(source.head) == 1 else None
    return first if isinstance(first, dict) else source.first


def _is_coco(source: Source) -> bool:
    return source.first.keys() >= _COCO and b'"category_id"' in source.data  # else it may have words


# Files that are recognised but not read: what was found, a hint, and a callback that returns whether a file fits.
_UNREAD: tuple[tuple[str, str | None, Callable[[Source], bool]], ...] = (
    ("COCO's layout with scores", f"labels are needed, not class IDs: {_ROWS_HINT}",
     lambda source: _is_coco(source) and b'"score"' in source.data),
    ("COCO's layout without categories", _ROWS_HINT,
     lambda source: _is_coco(source) and "categories" not in source.first),
    ("an HDF5 file", _ROWS_HINT, lambda source: source.data.startswith(b"\x89HDF")),
    ("an empty object: {}", "a file without predictions is []", lambda source: source.head == [{}]),
    ("RLIP's results by image", _LABELS_HINT, lambda source: _entry(source).keys() >= _RLIP),
    ("relations with class IDs: rel_annotations", _LABELS_HINT, lambda source: "rel_annotations" in _entry(source)),
    ("object detections (boxes, labels, scores) without interactions", None,
     lambda source: _entry(source).keys() >= _DETECTIONS and "pairing" not in _entry(source)),
)  # fmt: skip


def _image_hint(keys: Mapping[str, object]) -> str | None:
    """Return a hint if a record has the key of an answer but no name of an image; else None."""
    if not any(key in ANSWERS or key == "interactions" for key in keys) or image_of(dict(keys)) is not None:
        return None
    return "each answer needs the key or column 'image' with the file name of its image"


def suggest_names(source: Source, known: Sequence[str]) -> str | None:
    """Return "did you mean ...?" if an ignored key or column of a file resembles a key in ``known``; else None."""
    records = (record for record in source.head[:_LOOKED_AT] if isinstance(record, dict))
    names = dict.fromkeys(name for record in records for name in record if isinstance(name, str) and role(name) is None)
    return _suggestion(list(source.notes.unread or names), known)


def _keys_hint(keys: Sequence[object]) -> str | None:
    """Return a hint that lists missing keys, if ``keys`` resemble the flat-column or free-text format; else None."""
    names = [key for key in keys if isinstance(key, str)][:100]
    missing = [column for column in COLUMNS if column not in names]
    if 2 * len(missing) <= len(COLUMNS):
        return f"jsonl needs {', '.join(COLUMNS)}; not found: {', '.join(missing)}"
    roles = {name: role(name) for name in names}
    if suggestion := _suggestion([name for name in names if roles[name] is None], [*STANDARD_KEYS, *COLUMNS]):
        return suggestion
    absent = [name for name in _VLM if name not in roles.values()]
    is_vlm = 0 < len(absent) < len(_VLM)
    return f"vlm needs {', '.join(_VLM)} and words; not found: {', '.join(absent)}" if is_vlm else None


def _suggestion(names: Sequence[str], known: Sequence[str]) -> str | None:
    """Return a suggestion for misspelt names: "did you mean human_box for 'humanbox'?"; None without a match."""
    matches = [(name, closest_names(printable(name.lower()), known, likeness=_MIN_SIMILARITY)) for name in names]
    parts = [f"{close[0]} for {quote(name)}" for name, close in matches if close]
    return f"did you mean {', '.join(parts[:3])}?" if parts else None


def _table_error(source: Source) -> InputError | None:
    """Return the error for answers without a column for images, or for another table without columns; else None."""
    line = _first_line(source)
    answers = _cells(line, "\t" if "\t" in line else ",")
    if len(answers) > 1 and (hint := _image_hint(dict.fromkeys(answers))):
        found = f"the columns {', '.join(map(quote, answers[:_MOST_SHOWN]))}"
        return InputError(source.path, record="line 1", found=found, expected="predictions", hint=hint)
    first, is_named_csv = line.strip(), source.path.suffix.lower() == ".csv"
    for separator, shown in _SEPARATORS.items():
        is_like_csv = set(_cells(first, separator)) & set(COLUMNS) or (is_named_csv and "," not in first)
        if separator in first and is_like_csv:
            found, hint = f"fields separated by {shown}", "separate the fields by commas"
            return InputError(source.path, record="line 1", found=found, expected="CSV with commas", hint=hint)
    names = _cells(first, ",")
    if not (is_named_csv and len(names) > 1) and len(set(names) & set(COLUMNS)) < 2:
        return None
    missing, suggestion = _missing_columns(names)
    found = f"the columns {', '.join(map(quote, names[:_MOST_SHOWN]))}"
    expected = f"CSV with {', '.join(COLUMNS)}; not found: {', '.join(missing)}"
    return InputError(source.path, record="line 1", found=found, expected=expected, hint=suggestion)


def _missing_columns(names: Sequence[str]) -> tuple[list[str], str | None]:
    """Return the required columns for which ``names`` has no name, and a suggestion for misspelt names, if any."""
    found = columns_in(names)[0]
    missing = [column for column in COLUMNS if column not in found]
    return missing, _suggestion([name for name in names if name not in found.values()], missing)


def _incomplete_table(source: Source) -> InputError | None:
    """Return the error for a table with most columns, which else would be read as answers; None for other files."""
    is_text, line = source.kind == "text", _first_line(source)
    separator = next((each for each in (",", *_SEPARATORS) if each in line), ",")
    names = _cells(line, separator) if is_text else [key for key in source.first if isinstance(key, str)]
    missing, suggestion = _missing_columns(names)
    if not 0 < 3 * len(missing) <= len(COLUMNS) or any(role(name) == "phrase" for name in names):
        return None
    if not (is_text or suggestion):
        return None
    hint = suggestion or f"columns found: {', '.join(map(quote, names[:_MOST_SHOWN]))}"
    expected = f"columns named {', '.join(COLUMNS)}"
    return InputError(source.path, found=f"no column {' or '.join(missing)}", expected=expected, hint=hint)


def _first_line(source: Source) -> str:
    return source.data[:4096].decode("utf-8", "replace").split("\n", 1)[0]


def _cells(line: str, separator: str) -> list[str]:
    return [cell.strip(' "\r').lower() for cell in line.split(separator)]
