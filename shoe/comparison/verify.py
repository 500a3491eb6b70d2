"""Check of whether a saved run is reproduced by scoring again, and why not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from shoe.benchmarks import benchmark
from shoe.benchmarks.protocols import SEMANTIC, Options
from shoe.comparison.run import Run
from shoe.core.documents import Document, Fraction
from shoe.core.errors import many

_ROUNDING = 1e-9
_WHY = {
    "predictions-sha": "other predictions",
    "predictions": "other predictions",
    "shoe": "another version of shoe",
    **dict.fromkeys(("boxes", "scores", "coordinates"), "the predictions were read in another way"),
    **dict.fromkeys(("data", "split", "images", "truths", "truth-sha"), "another ground truth"),
    **dict.fromkeys(("class-list", "class-list-sha"), "another class table"),
    **dict.fromkeys(("map", "map-sha"), "another similarity map"),
    "lexicon-sha": "another lexicon",
}
_OPTION = "another option"
_EDITED = "inputs, options and version are equal: the run was edited, or the computation differs"
_ROWS = {
    "ranked line": ("category", "image", "score", "credit", "sigma"),
    "unmatched prediction": ("unmatched_category", "unmatched_image"),
    "ground truth": ("truth_category", "truth_image"),
}
"""Columns of a part, by what a row of them is."""


_OF_TRIPLETS = {"semantic", "triplets"}
"""Parts that may be absent and that need predicted triplets."""


class VerifiedFigure(Document, frozen=True, kw_only=True):
    """A metric of a run, and its value when scored again."""

    run: Fraction | None = None
    now: Fraction | None = None
    equal: bool


class Mismatch(Document, frozen=True):
    """A fact, an option or a part that differs from the run.

    Attributes:
        name: name in signatures, or name of the part.
        run: value in the run; "nothing" if it has none.
        now: value when scored again.
        why: meaning of the difference, in words.
    """

    name: str
    run: str
    now: str
    why: str


class Verdict(Document, frozen=True, kw_only=True):
    """Result of scoring a run again.

    Attributes:
        equal: whether everything is the same.
        reasons: distinct reasons why metrics may differ; also a reason if inputs and options are the same.
        figures: each metric in the run and when scored again, by key.
        mismatches: other differences.
    """

    equal: bool
    reasons: tuple[str, ...] = ()
    figures: dict[str, VerifiedFigure]
    mismatches: tuple[Mismatch, ...] = ()


def options_of(run: Run) -> Options:
    """Return the protocols of a run, to score by them again, including those that could not be measured."""
    absent = run.absent or {}
    semantic = run.semantic.options if run.semantic else SEMANTIC["shoe"] if _OF_TRIPLETS & absent.keys() else None
    by_person = [each.options for each in run.by_person]
    if "roles" in absent:
        by_person += list(benchmark(run.facts["data"]).role_protocols.values())[:1]
    return Options(tuple(each.options for each in run.strict), semantic, tuple(by_person))


def verify(kept: Run, found: Run) -> Verdict:
    """Compare a run with the result of scoring again: facts and options, and if these are equal, all its content.

    Numbers are equal within 1e-9. Values of single raters and the interval are compared if the run has them.
    """
    of_run, now = ({**run.facts, **dict(run.signature.items)} for run in (kept, found))
    mismatches = [
        Mismatch(name, of_run.get(name, "nothing"), now.get(name, "nothing"), _WHY.get(name, _OPTION))
        for name in dict.fromkeys([*_WHY, *of_run, *now])
        if of_run.get(name) != now.get(name)
    ]
    mismatches = mismatches or list(_different_parts(kept, found))
    before, after = kept.figures(), found.figures()
    figures = {
        key: VerifiedFigure(run=a, now=b, equal=a is b if a is None or b is None else abs(a - b) <= _ROUNDING)
        for key, a, b in ((key, before.get(key), after.get(key)) for key in {**before, **after})
    }
    equal = all(each.equal for each in figures.values())
    reasons = tuple(dict.fromkeys(each.why for each in mismatches)) or (() if equal else (_EDITED,))
    return Verdict(equal=equal and not mismatches, reasons=reasons, figures=figures, mismatches=tuple(mismatches))


def _different_parts(kept: Run, found: Run) -> Iterator[Mismatch]:
    absent = [[f"{part}: {why}" for part, why in (run.absent or {}).items()] for run in (kept, found)]
    lists: list[tuple[str, str, Sequence[Any], Sequence[Any]]] = [
        ("image list", "image", kept.images, found.images),
        ("class table", "line", kept.classes.table.splitlines(), found.classes.table.splitlines()),
        ("notes", "note", kept.notes, found.notes),
        ("absent", "part", absent[0], absent[1]),
    ]
    for name, noun, before, after in lists:
        yield from _unlike(name, noun, [before], [after])
    parts = kept.all_parts, found.all_parts
    for name in dict.fromkeys([*parts[0], *parts[1]]):
        a, b = (each.get(name) for each in parts)
        for noun, fields in _ROWS.items():
            own = [field for field in fields if hasattr(a or b, field)]
            yield from _unlike(name, noun, *([getattr(part, field, ()) for field in own] for part in (a, b)))
    anew = _layers(found)
    for name, values in _layers(kept).items():
        pair = values, anew.get(name, {})
        yield from _unlike(name, "figure", *([[*each], np.array([*each.values()])] for each in pair))


def _layers(run: Run) -> dict[str, dict[str, float]]:
    # Values of single raters, and the ends of intervals.

    layers = {} if run.spread is None else {"raters": dict(run.spread.raters)}
    if run.interval is not None:
        for name, ends in (("interval of map", run.interval.map), ("interval of mf1", run.interval.mf1)):
            layers[name] = {} if ends is None else dict(zip(("low", "high"), ends, strict=True))
    return layers


def _unlike(name: str, noun: str, kept: Sequence[Any], found: Sequence[Any]) -> Iterator[Mismatch]:
    rows = [len(columns[0]) if columns else 0 for columns in (kept, found)]
    if rows[0] != rows[1]:
        yield Mismatch(name, many(rows[0], noun), many(rows[1], noun), _EDITED)
        return
    other = np.zeros(rows[0], bool)
    for a, b in zip(kept, found, strict=True):
        if not isinstance(a, np.ndarray):
            a, b = (np.array(values, object) for values in (a, b))
        other |= abs(a - b) > _ROUNDING if a.dtype.kind == "f" else a != b
    if other.any():
        yield Mismatch(name, many(rows[0], noun), f"{int(other.sum()):,} of them other", _EDITED)
