"""What a file of no known form looks like, and what it misses where it comes near one."""

from __future__ import annotations

from collections.abc import Sequence

from shoe.core.errors import InputError, near, printable, quote
from shoe.predictions.flat import COLUMNS
from shoe.predictions.hoidet import is_detection_cache
from shoe.predictions.source import Source
from shoe.predictions.vlm_keys import ROLES, role

_SEPARATORS = {";": "';'", "\t": "tabs", "|": "'|'"}
_VLM = ("image", "human_box", "object_box")
_NEAR = 0.75
_MOST_SHOWN = 8


def unknown_form(source: Source, known: Sequence[str]) -> InputError:
    """The error for a file of none of the ``known`` forms."""
    expected = f"one of: {', '.join(known)}"
    if source.kind == "document":
        return InputError(source.path, found=_document(source), expected=expected, hint=_near_keys(list(source.first)))
    if source.kind == "text":
        return _flat_text(source) or InputError(source.path, found=_text(source), expected=expected)
    return InputError(source.path, found=f"a {source.kind} without official detections", expected=expected)


def _document(source: Source) -> str:
    keys = source.first
    if is_detection_cache(source):
        return "object detections (boxes, labels, scores) without interactions"
    if "annotation" in keys or "hoi_annotation" in keys:
        return "ground truth, not predictions"
    if keys:
        return f"objects with the keys {', '.join(map(quote, list(keys)[:_MOST_SHOWN]))}"
    return f"a document that is {type(source.document).__name__}"


def _text(source: Source) -> str:
    return f"text that begins with {quote(source.data[:24].decode('utf-8', 'replace'))}"


def _near_keys(keys: Sequence[object]) -> str | None:
    """What is wrong with the keys of a record that comes near flat columns or free text; None if it comes near none."""
    names = [key for key in keys if isinstance(key, str)][:100]
    missing = [column for column in COLUMNS if column not in names]
    if 2 * len(missing) <= len(COLUMNS):
        return f"jsonl needs {', '.join(COLUMNS)}; not found: {', '.join(missing)}"
    if meant := _meant([name for name in names if role(name) is None], [*ROLES, *COLUMNS]):
        return meant
    roles = {role(name) for name in names}
    absent = [name for name in _VLM if name not in roles]
    if len(absent) == len(_VLM) or not absent:
        return None
    return f"vlm needs {', '.join(_VLM)} and words; not found: {', '.join(absent)}"


def _meant(names: Sequence[str], known: Sequence[str]) -> str | None:
    """Name what the first names were meant to be, e.g. "did you mean human_box for 'humanbox'?"."""
    pairs = []
    for name in names:
        alike = near(printable(name.lower()), known, likeness=_NEAR)
        if alike:
            pairs.append(f"{alike[0]} for {quote(name)}")
    return f"did you mean {', '.join(pairs[:3])}?" if pairs else None


def _flat_text(source: Source) -> InputError | None:
    """The error for a table whose separator or columns are others; None if the text is not like one."""
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
    return InputError(
        source.path,
        record="line 1",
        found=f"the columns {', '.join(map(quote, names[:_MOST_SHOWN]))}",
        expected=f"CSV with {', '.join(COLUMNS)}; not found: {', '.join(missing)}",
        hint=_meant([name for name in names if name not in COLUMNS], missing),
    )


def _cells(line: str, separator: str) -> list[str]:
    return [cell.strip(' "\r').lower() for cell in line.split(separator)]
