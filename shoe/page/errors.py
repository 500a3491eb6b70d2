"""What each kind of error costs every model, as bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoe.diagnosis.diagnose import Diagnosis
from shoe.diagnosis.oracles import ERRORS
from shoe.page.markup import Markup, tag

_ROW, _BAR, _LEFT, _RIGHT, _WIDTH = 16, 12, 150, 150, 720


def error_bars(models: Sequence[Diagnosis]) -> Markup:
    """Draw, for each error, the mAP that fixing all of its kind would add to each model."""
    deltas = [{error.name: found.deltas[error.name].map or 0.0 for error in ERRORS} for found in models]
    return bars_of(deltas, [found.counts for found in models], [f"m{number % 8}" for number in range(len(models))])


def bars_of(
    deltas: Sequence[Mapping[str, float]], counts: Sequence[Mapping[str, int] | None], colours: Sequence[str]
) -> Markup:
    """Draw bars of errors.

    Args:
        deltas: fractions by the names of errors, in one mapping for each bar that an error has.
        counts: of errors, likewise; None where a bar has no count beside it.
        colours: classes of each bar, for the style sheet.
    """
    most = max(0.01, *(value for of in deltas for value in of.values()))
    order = sorted(ERRORS, key=lambda error: -max(of[error.name] for of in deltas))
    parts: list[Markup] = []
    y = 0
    for error in order:
        block = _ROW * len(deltas)
        parts.append(tag("text", error.label, x=_LEFT - 12, y=y + block / 2 + 4, class_="name"))
        for number, (of, counted, colour) in enumerate(zip(deltas, counts, colours, strict=True)):
            value, top = of[error.name], y + number * _ROW + (_ROW - _BAR) / 2
            width = max(value, 0) / most * (_WIDTH - _LEFT - _RIGHT)
            cases = f"{counted[error.name]:,}" if counted is not None else None
            title = tag("title", error.meaning + (f": {cases} cases" if cases else ""))
            parts.append(
                tag("rect", title, x=_LEFT, y=top, width=f"{max(width, 1):.1f}", height=_BAR, rx=2, class_=colour)
            )
            label = f"{round(100 * value, 2) + 0:+.2f}"
            parts.append(tag("text", label, x=f"{_LEFT + width + 8:.1f}", y=top + _BAR - 2))
            if cases is not None:
                parts.append(tag("text", cases, x=_WIDTH, y=top + _BAR - 2, class_="count"))
        y += block + 12
    label = "mAP that fixing each kind of error would add, in points, and how many errors there are"
    return tag("svg", *parts, viewBox=f"0 0 {_WIDTH} {y}", role="img", aria_label=label, class_="bars")
