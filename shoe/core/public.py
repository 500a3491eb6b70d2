"""Checks of arguments and warnings of public functions, and short text and HTML displays of results."""

import types
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, wraps
from html import escape
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints
from warnings import warn

import numpy as np

from shoe.core.errors import InputWarning, OptionError, printable, quote

P = ParamSpec("P")
R = TypeVar("R")

_ACCEPTED: dict[Any, tuple[type, ...]] = {
    bool: (bool, np.bool_),
    int: (int, np.integer),
    float: (float, int, np.floating, np.integer),
    Path: (PathLike,),
}
"""Types of values that are accepted for an annotated type."""
_WORDS = {bool: "True or False", int: "a whole number", float: "a number", str: "text", Path: "a path"} | {
    np.ndarray: "an array",
    types.NoneType: "None",
}
_SOURCES = {"Interactions": "shoe.read_predictions(FILE)", "GroundTruth": "shoe.read_ground_truth(FILE)"}
"""Call that returns an object of each type, for messages."""
_EXAMPLES = {"protocols": "['qpic']", "options": "['tau=0.4']"}


def public_function(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that users call, so that it checks the types of arguments and issues warnings.

    An argument that does not fit its annotation raises OptionError. If the result has an attribute ``input_warnings``,
    its texts are issued as Python warnings.
    """
    parameters = signature(function)

    @cache
    def hints() -> dict[str, Any]:
        try:
            return get_type_hints(function)
        except NameError:  # a type that is imported only for type checkers
            return {}

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for name, value in parameters.bind(*args, **kwargs).arguments.items():
            hint = hints().get(name, Any)
            if not _fits(value, hint):
                expected = " or ".join(map(_words, _members(hint)))
                expected += f", such as {_EXAMPLES[name]}" if name in _EXAMPLES else ""
                plain = type(value).__module__ == "builtins" and not any(word in expected for word in _SOURCES)
                found = quote(value) if plain else type(value).__name__
                raise OptionError(f"{name}: found {found}, expected {expected}")
        result = function(*args, **kwargs)
        for line in getattr(result, "input_warnings", ()):
            warn(line, InputWarning, stacklevel=2)
        return result

    return call


def _members(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _fits(value: object, hint: Any) -> bool:
    for kind in _members(hint):
        origin = get_origin(kind) or kind
        if kind is Any or not isinstance(origin, type):  # Any, a type variable, a literal: checked by the function
            return True
        if not isinstance(value, _ACCEPTED.get(origin, (origin,))) or (isinstance(value, bool) and origin is not bool):
            continue
        if issubclass(origin, Mapping | np.ndarray) or not get_args(kind) or not isinstance(value, Collection):
            return True
        if not isinstance(value, str) and all(_fits(each, get_args(kind)[0]) for each in value):
            return True
    return False


def _words(kind: Any) -> str:
    origin = get_origin(kind) or kind
    if origin is tuple and ... not in get_args(kind):
        return f"({', '.join(map(_words, get_args(kind)))})"
    if origin is not np.ndarray and get_args(kind) and not issubclass(origin, Mapping):
        inner = get_args(kind)[0]
        return "a list of names" if inner is str else f"a list of {_words(inner)}"
    name: str = _WORDS.get(origin, origin.__name__)
    return f"{name}, as returned by {_SOURCES[name]}" if name in _SOURCES else name


# Displays of results in notebooks and at the Python prompt

Rows = Mapping[str, Mapping[str, float | None]]  # values 0 to 1 of a table: {name of row: {name of column: value}}
_NOTES_SHOWN = 3
_LONGEST_NOTE = 240


def as_lines(title: str, rows: Rows, notes: Sequence[str] = ()) -> str:
    """Return a text: title, a line of percentages per row (None is left out), 3 notes, and the number of more notes."""
    return "\n  ".join([title, *(f"{name}: {', '.join(_cells(row))}" for name, row in rows.items()), *_first(notes)])


def as_table(title: str, rows: Rows, notes: Sequence[str] = ()) -> str:
    """Return an HTML table: title, rows of percentages (None is left out), 3 notes, and the number of more notes."""
    lines = [
        f"<tr><th>{escape(name)}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in _cells(row))}</tr>"
        for name, row in rows.items()
    ]
    below = (f"<div>{escape(line)}</div>" for line in _first(notes))
    return f"<table><caption>{escape(title)}</caption>{''.join(lines)}</table>{''.join(below)}"


Drawn = tuple[str, Sequence[float], Sequence[float]]
"""Triplet to be drawn: its words, and the edges of its human box and object box in pixels of the annotated image."""
_PREDICTED, _TRUE = "#d55e00", "#000000"


def as_drawing(
    title: str, size: Sequence[float], predicted: Drawn, truth: Drawn | None, overlap: Sequence[float] | None
) -> str:
    """Return an HTML figure with the boxes of a prediction and of the nearest ground truth; object boxes are dashed.

    ``size`` is the image's width and height, (0, 0) if unknown; ``overlap`` is (human IoU, object IoU) for the caption.
    """
    pairs = [(predicted, _PREDICTED), *([(truth, _TRUE)] if truth else [])]
    ends = np.array([box[2:] for (_, *boxes), _ in pairs for box in boxes])
    width, height = size if min(size) > 0 else ends.max(axis=0).tolist()
    pen = max(width, height) / 120
    lines = [
        f'<rect x="{x1:.0f}" y="{y1:.0f}" width="{x2 - x1:.0f}" height="{y2 - y1:.0f}" stroke="{colour}"{dashes}/>'
        for (_, human, thing), colour in reversed(pairs)
        for (x1, y1, x2, y2), dashes in ((human, ""), (thing, f' stroke-dasharray="{3 * pen:.3g}"'))
    ]
    words = f'<span style="color:{_PREDICTED}">predicted: {escape(predicted[0])}</span>'
    words += f"<br>nearest ground truth: {escape(truth[0])}" if truth else ""
    words += f" (human IoU {overlap[0]:.2f}, object IoU {overlap[1]:.2f})" if overlap else ""
    return (
        f'<figure style="margin:8px 0"><svg viewBox="0 0 {width:g} {height:g}" width="320" role="img" '
        f'aria-label="{escape(title)}" style="background:#eee;max-height:320px" fill="none" stroke-width="{pen:.3g}">'
        f"{''.join(lines)}</svg><figcaption>{escape(title)}<br>{words}</figcaption></figure>"
    )


def _first(notes: Sequence[str]) -> list[str]:
    more = len(notes) - _NOTES_SHOWN
    return [
        *(printable(line, _LONGEST_NOTE) for line in notes[:_NOTES_SHOWN]),
        *([f"and {more} more notes: to_dict()['notes']"] if more > 0 else []),
    ]


def _cells(row: Mapping[str, float | None]) -> list[str]:
    return [f"{name} {100 * value:z.2f}" for name, value in row.items() if value is not None]
