"""What each kind of error costs every model, as bars."""

from __future__ import annotations

from collections.abc import Sequence

from shoe.diagnosis.diagnose import Diagnosis
from shoe.diagnosis.oracles import ERRORS
from shoe.page.markup import Markup, tag

_ROW, _BAR, _LEFT, _RIGHT, _WIDTH = 16, 12, 150, 150, 720


def error_bars(models: Sequence[Diagnosis]) -> Markup:
    """Draw, for each error, the mAP that fixing all of its kind would add to each model."""
    deltas = [{error.name: found.deltas[error.name].map or 0.0 for error in ERRORS} for found in models]
    most = max(0.01, *(value for of in deltas for value in of.values()))
    order = sorted(ERRORS, key=lambda error: -max(of[error.name] for of in deltas))
    parts: list[Markup] = []
    y = 0
    for error in order:
        block = _ROW * len(models)
        parts.append(tag("text", error.label, x=_LEFT - 12, y=y + block / 2 + 4, class_="name"))
        for number, (found, of) in enumerate(zip(models, deltas, strict=True)):
            value, top = of[error.name], y + number * _ROW + (_ROW - _BAR) / 2
            width = max(value, 0) / most * (_WIDTH - _LEFT - _RIGHT)
            title = tag("title", f"{error.meaning}: {found.counts[error.name]:,} cases")
            parts.append(
                tag(
                    "rect",
                    title,
                    x=_LEFT,
                    y=top,
                    width=f"{max(width, 1):.1f}",
                    height=_BAR,
                    rx=2,
                    class_=f"m{number % 8}",
                )
            )
            label = f"{round(100 * value, 2) + 0:+.2f}"
            parts.append(tag("text", label, x=f"{_LEFT + width + 8:.1f}", y=top + _BAR - 2))
            count = f"{found.counts[error.name]:,}"
            parts.append(tag("text", count, x=_WIDTH, y=top + _BAR - 2, class_="count"))
        y += block + 12
    label = "mAP that fixing each kind of error would add, in points, and how many errors there are"
    return tag("svg", *parts, viewBox=f"0 0 {_WIDTH} {y}", role="img", aria_label=label, class_="bars")
