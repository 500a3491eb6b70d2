"""Common style of all plots, and functions that write plots atomically and reproducibly."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoe.core.errors import MissingExtraError, printable
from shoe.core.io.files import atomic_write, make_folder

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREY, INK = "#0072B2", "#D55E00", "#7A7A7A", "#222222"
"""Two colours that everybody can distinguish, also in grey (Okabe and Ito's palette), and two neutral colours."""
SERIES = (BLUE, ORANGE, "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999933")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
GRID: dict[str, Any] = {"color": "#E3E3E3", "linewidth": 0.6}
WIDTH = 7.2
"""Width in inches of the two columns of a paper."""
STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 8,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "axes.linewidth": 0.6,
    "text.parse_math": False,  # a name with dollar signs is no formula
    "pdf.fonttype": 42,  # so that text in a paper can be searched
    "savefig.dpi": 200,
}


def check_plots() -> None:
    """Raise a MissingExtraError if matplotlib is not installed."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise MissingExtraError("drawing", "plots") from None


def save(draw: Callable[[], Figure], folder: Path, name: str) -> list[Path]:
    """Draw a figure in the common style, write it as NAME.pdf and NAME.png, and return the paths."""
    from matplotlib import style

    make_folder(folder)
    paths = []
    with style.context(["default", STYLE]):
        figure = draw()
        for ending, facts in (("pdf", {"CreationDate": None}), ("png", {"Software": None})):
            paths.append(folder / f"{name}.{ending}")
            with atomic_write(paths[-1]) as stream:
                figure.savefig(stream, format=ending, metadata=facts)
    return paths


def series(number: int) -> dict[str, Any]:
    """Return the colour and the marker of a series, such as a model, by its number from 0."""
    return {"color": SERIES[number % len(SERIES)], "marker": MARKERS[number % len(MARKERS)]}


def new_figure(height: float, width: float = WIDTH) -> Figure:
    """Return an empty figure of a size in inches, with matplotlib's constrained layout."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def write_beside(axes: Axes, y: float, text: str, x: float = 1, **look: Any) -> None:
    """Write text to the right of ``x``, a fraction of the width of the axes, at the data coordinate ``y``."""
    coordinates = axes.get_yaxis_transform()
    axes.annotate(text, (x, y), (4, 0), xycoords=coordinates, textcoords="offset points", va="center", size=7, **look)


def file_name(name: str) -> str:
    """Return a file name for a model: "Qwen_7B" for "Qwen (7B)", at most 100 characters; "model" if this is empty."""
    return re.sub(r"[^\w.-]+", "_", name).strip("._")[:100] or "model"


def label(text: str, inches: float, lines: int = 3, *, bold: bool = False) -> str:
    """Return a text in at most ``lines`` lines of at most ``inches``, without its middle if it is too long."""
    clean = in_font(text).strip() or '""'
    wrapped, length = _wrapped(clean, inches, bold=bold), len(clean)
    while len(wrapped) > lines:
        length -= 1 + length // 40
        start, end = clean[: length - length // 2], clean[len(clean) - length // 2 :]
        wrapped = _wrapped(f"{start}…{end}", inches, bold=bold)
    return "\n".join(line.strip() for line in wrapped)


def in_font(text: str) -> str:
    """Return a text in one line of at most 1,000 characters, with "□" for characters that the font lacks."""
    return "".join(c if ord(c) in _characters() else "□" for c in printable(text, longest=1000))


def _wrapped(text: str, inches: float, *, bold: bool) -> list[str]:
    lines, used = [""], 0.0
    for word in re.findall(r"[^\s_/.-]*[\s_/.-]?", text):
        for part in [word] if width_of(word.rstrip(), bold) <= inches else word:
            if lines[-1] and used + width_of(part.rstrip(), bold) > inches:
                lines.append("")
                used = 0.0
            lines[-1] += part
            used += width_of(part, bold)
    return lines


def width_of(text: str, bold: bool = False) -> float:
    """Return the width of a text in inches, in the common font size."""
    return sum(_advance(character, bold) for character in text)


@lru_cache(4096)
def _advance(character: str, bold: bool) -> float:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    font = get_font(findfont(FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal")))
    font.set_size(STYLE["font.size"], 72)
    advance: float = font.load_char(ord(character)).linearHoriAdvance
    return advance / 65536 / 72


@cache
def _characters() -> frozenset[int]:
    from matplotlib.font_manager import findfont, get_font

    return frozenset(get_font(findfont("DejaVu Sans")).get_charmap())
