"""What stands on a figure once it is drawn: every text with its place."""

from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple
from unittest.mock import patch

from matplotlib import style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from shoe.report.figures.style import STYLE

TOUCHING = 0.5
"""Pixels that two boxes of text may share: letters do not reach to the edges of theirs."""


class Drawn(NamedTuple):
    """A text, the pixels that it takes, and whether it stands upright."""

    text: str
    box: Bbox
    upright: bool


def drawn(make: Callable[[], Figure]) -> tuple[Figure, list[Drawn]]:
    """Draw a figure as it is saved, and list the texts that were written on it."""
    found: list[Drawn] = []
    original = Text.draw

    def draw(self: Text, renderer: object) -> None:
        if self.get_visible() and self.get_text().strip():
            upright = self.get_rotation() % 90 == 0
            found.append(Drawn(self.get_text(), self.get_window_extent(), upright))
        original(self, renderer)  # type: ignore[arg-type]

    with style.context(["default", STYLE]), patch.object(Text, "draw", draw):
        figure = make()
        figure.draw_without_rendering()
        found.clear()  # making room for labels has written them more than once
        figure.set_layout_engine("none")
        FigureCanvasAgg(figure).draw()  # type: ignore[no-untyped-call]
    return figure, found


def assert_readable(make: Callable[[], Figure]) -> list[str]:
    """No text is cut off at the figure's edge, and none lies on another; the texts."""
    figure, texts = drawn(make)
    width, height = figure.get_size_inches() * figure.dpi
    for text, box, _ in texts:
        assert max(-box.x0, -box.y0, box.x1 - width, box.y1 - height) <= TOUCHING, (text, box, width, height)
    for one, other in combinations((each for each in texts if each.upright), 2):
        across = min(one.box.x1, other.box.x1) - max(one.box.x0, other.box.x0)
        along = min(one.box.y1, other.box.y1) - max(one.box.y0, other.box.y0)
        assert across <= TOUCHING or along <= TOUCHING, (one.text, other.text)
    return [text for text, _, _ in texts]
