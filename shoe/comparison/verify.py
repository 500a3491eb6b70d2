"""Comparison of a saved run with the result of scoring its predictions again."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from shoe.benchmarks import benchmark
from shoe.benchmarks.protocols import SEMANTIC, Options
from shoe.benchmarks.signature import OF_PREDICTIONS
from shoe.comparison.run import Run
from shoe.core.documents import Document, Fraction
from shoe.core.errors import pluralize

_ROUNDING = 1e-9
_WHY = {
    "predictions-sha": "other predictions",
    "predictions": "other predictions",
    "shoe": "another version of shoe",
    **dict.fromkeys(OF_PREDICTIONS, "the predictions were read in another way"),
    **dict.fromkeys(("data", "split", "images", "truths", "truth-sha"), "another ground truth"),
    **dict.fromkeys(("class-list", "class-list-sha"), "another class table"),
    **dict.fromkeys(("map", "map-sha"), "another similarity map"),
    "lexicon-sha": "another lexicon",
}
_OPTION = "another option"
_EDITED = "inputs, options and version are equal: the run was edited, or the computation differs"
_ROWS = {
    "ranked line": ("category", "image", "score", "credit", "sigma"),
    "unmatched prediction": ("unmatched_category", "unmatched_image", "unmatched_overlaps"),
    "ground truth": ("truth_category", "truth_image"),
}
"""Columns of a part of a run, by the name for a row."""
_OF_TRIPLETS = {"semantic", "triplets"}
"""Parts that need predicted triplets, and are absent without them."""


class VerifiedFigure(Document, frozen=True, kw_only=True):
    """Value of a metric in the run, and its value when scored again (now)."""

    run: Fraction | None = None
    now: Fraction | None = None
    equal: bool


class Mismatch(Document, frozen=True):
    """Difference between a run and the result of scoring again, in one metadata item, option or part of the content.

    Attributes:
        name: name of the metadata item or option in signatures, or name of the part.
        run: value in the run; "nothing" if the value is missing.
        now: value when scored again; "nothing" if the value is missing.
        why: cause of the difference, as text.
    """

    name: str
    run: str
    now: str
    why: str


class Verdict(Document, frozen=True, kw_only=True):
    """Result of scoring a run again.

    Attributes:
        equal: whether metadata, options, metrics and content are all equal.
        reasons: distinct causes of the differences; empty if there are no differences.
        figures: value of each metric in the run and when scored again, by key.
        mismatches: differences in metadata and options or, if these are equal, in the content.
    """

    equal: bool
    reasons: tuple[str, ...] = ()
    figures: dict[str, VerifiedFigure]
    mismatches: tuple[Mismatch, ...] = ()


def protocol_options(run: Run) -> Options:
    """Return the options of the protocols of a run; SHOE or V-COCO protocols that were not measurable have defaults."""
    absent = run.absent or {}
    semantic = run.semantic.options if run.semantic else SEMANTIC["shoe"] if _OF_TRIPLETS & absent.keys() else None
    by_person = [each.options for each in run.by_person]
    if "roles" in absent:
        by_person += list(benchmark(run.facts["data"]).role_protocols.values())[:1]
    return Options(tuple(each.options for each in run.strict), semantic, tuple(by_person))


def verify(saved: Run, found: Run) -> Verdict:
    """Return the result of comparing a saved run (``saved``) with the run from scoring again (``found``).

    Content is compared if metadata and options are equal. Numbers that differ by at most 1e-9 are equal.
    """
    of_run, now = ({**run.facts, **dict(run.signature.items)} for run in (saved, found))
    mismatches = [
        Mismatch(name, of_run.get(name, "nothing"), now.get(name, "nothing"), _WHY.get(name, _OPTION))
        for name in dict.fromkeys([*_WHY, *of_run, *now])
        if of_run.get(name) != now.get(name)
    ]
    mismatches = mismatches or list(_different_parts(saved, found))
    before, after = saved.figures(), found.figures()
    figures = {
        key: VerifiedFigure(run=a, now=b, equal=a is b if a is None or b is None else abs(a - b) <= _ROUNDING)
        for key, a, b in ((key, before.get(key), after.get(key)) for key in {**before, **after})
    }
    equal = all(each.equal for each in figures.values())
    reasons = tuple(dict.fromkeys(each.why for each in mismatches)) or (() if equal else (_EDITED,))
    return Verdict(equal=equal and not mismatches, reasons=reasons, figures=figures, mismatches=tuple(mismatches))


def _different_parts(saved: Run, found: Run) -> Iterator[Mismatch]:
    absent = [[f"{part}: {why}" for part, why in (run.absent or {}).items()] for run in (saved, found)]
    yield from _unlike("image list", "image", [saved.images], [found.images])
    yield from _unlike("class table", "line", *([run.classes.table.splitlines()] for run in (saved, found)))
    yield from _unlike("notes", "note", [saved.notes], [found.notes])
    yield from _unlike("absent", "part", absent[:1], absent[1:])
    parts = saved.all_parts, found.all_parts
    for name in dict.fromkeys([*parts[0], *parts[1]]):
        a, b = (each.get(name) for each in parts)
        for noun, fields in _ROWS.items():
            own = [field for field in fields if hasattr(a or b, field)]
            yield from _unlike(name, noun, *([getattr(part, field, ()) for field in own] for part in (a, b)))
    for name, values in _layers(saved).items():
        pair = values, _layers(found).get(name, {})
        yield from _unlike(name, "figure", *([[*each], np.array([*each.values()])] for each in pair))


def _layers(run: Run) -> dict[str, dict[str, float]]:
    layers = {} if run.spread is None else {"raters": dict(run.spread.raters)}
    if run.interval is not None:
        for name, ends in (("interval of map", run.interval.map), ("interval of mf1", run.interval.mf1)):
            layers[name] = {} if ends is None else dict(zip(("low", "high"), ends, strict=True))
    return layers


def _unlike(name: str, noun: str, saved: Sequence[Any], found: Sequence[Any]) -> Iterator[Mismatch]:
    rows = [len(columns[0]) if columns else 0 for columns in (saved, found)]
    if rows[0] != rows[1]:
        yield Mismatch(name, pluralize(rows[0], noun), pluralize(rows[1], noun), _EDITED)
        return
    other = np.zeros(rows[0], bool)
    for a, b in zip(saved, found, strict=True):
        if not isinstance(a, np.ndarray):
            a, b = (np.array(values, object) for values in (a, b))
        other |= abs(a - b) > _ROUNDING if a.dtype.kind == "f" else a != b
    if other.any():
        yield Mismatch(name, pluralize(rows[0], noun), f"{int(other.sum()):,} of them different", _EDITED)
