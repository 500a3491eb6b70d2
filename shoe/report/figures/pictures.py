"""Example images of each error, one grid per error (Diag-HOI paper, first version, Figures 9 and 11).

Ground truth and prediction differ in colour, line width and label; human boxes have solid lines, object boxes dashed.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from shoe.core.errors import MissingExtraError
from shoe.core.io.files import atomic_write, make_folder
from shoe.diagnosis.error_gains import ErrorAnalysis, ErrorExample
from shoe.diagnosis.error_types import ERRORS
from shoe.report.figures.style import BLUE, GREY, INK, ORANGE, in_font

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont

WIDTH, HEIGHT = 480, 360
"""Size in pixels of one example in the grid."""
_GAP, _LINE, _HEAD = 12, 19, 62
_SMALL = 6000  # area in square pixels below which a label could hide a box


def draw_pictures(found: ErrorAnalysis, name: str, folder: Path, pictures: Path | None) -> list[Path]:
    """Write ERROR.png, at most six examples, for each error of the model ``name``; return the paths."""
    make_folder(folder)
    paths = []
    for error in ERRORS:
        if not (chosen := found.examples(error.name)):
            continue
        paths.append(folder / f"{error.name}.png")
        seed = f", truths by seed {found.seed}" if found.drawn else ""
        count = f"{len(chosen)} of {found.counts[error.name]:,}{seed}"
        with atomic_write(paths[-1]) as stream:
            grid(chosen, f"{error.label}: {error.meaning}", f"{count} · {name}", pictures).save(stream, format="PNG")
    return paths


def grid(cases: Sequence[ErrorExample], title: str, line: str, pictures: Path | None) -> Image:
    """Draw examples, three per row, below a title, a line of text and a legend; ``pictures`` is the image folder."""
    from PIL import Image, ImageDraw

    columns = min(3, len(cases))
    rows = -(-len(cases) // columns)
    cell = WIDTH + _GAP, HEIGHT + 3 * _LINE + 2 * _GAP
    width = max(2, columns) * cell[0] + _GAP
    image = Image.new("RGB", (width, _HEAD + rows * cell[1]), "white")
    draw = ImageDraw.Draw(image)
    draw.text((_GAP, 10), cut(title, font_of(18, bold=True), width - 2 * _GAP), INK, font_of(18, bold=True))
    end = _key(draw, width - _GAP)
    draw.text((_GAP, 36), cut(line, font_of(13), end - 2 * _GAP), INK, font_of(13))
    for k, case in enumerate(cases):
        left, top = _GAP + k % columns * cell[0], _HEAD + k // columns * cell[1]
        image.paste(draw_case(case, pictures), (left, top))
        for number, text in enumerate(_caption(case)):
            font = font_of(14, bold=number == 0)
            draw.text((left, top + HEIGHT + 4 + number * _LINE), cut(text, font, WIDTH), INK, font)
    return image


def _caption(case: ErrorExample) -> list[str]:
    lines = []
    if case.predicted is not None:
        lines.append(f"predicted: {case.predicted.verb} {case.predicted.noun} ({case.score:.2f})")
    if case.truth is not None:
        found = "" if case.found is None else f", found at {case.found:.2f}"
        lines.append(f"{'truth' if case.about else 'nearest truth'}: {case.truth.verb} {case.truth.noun}{found}")
    overlap = "" if case.overlap is None else "IoU human {:.2f}, object {:.2f} · ".format(*case.overlap)
    return [*lines, f"{overlap}{case.image}"]


def draw_case(case: ErrorExample, pictures: Path | None) -> Image:
    """Draw an example, 480 x 360 pixels: its image (grey if missing), and the boxes of ground truth and prediction."""
    from PIL import Image, ImageDraw

    pairs = [(pair, colour) for pair, colour in ((case.truth, BLUE), (case.predicted, ORANGE)) if pair is not None]
    picture, reason = read_picture(case.image, pictures)
    size = case.size
    if min(size) <= 0:  # unknown: use the size of the image, or one that contains all boxes
        corners = [box[2:4] for pair, _ in pairs for box in (pair.human, pair.object)]
        width, height = (max(1, *(int(edge) + 1 for edge in edges)) for edges in zip(*corners, strict=True))
        size = picture.size if picture else (width, height)
    scale = min(WIDTH / size[0], HEIGHT / size[1])
    scaled = max(1, round(size[0] * scale)), max(1, round(size[1] * scale))
    corner = (WIDTH - scaled[0]) // 2, (HEIGHT - scaled[1]) // 2
    cell = Image.new("RGB", (WIDTH, HEIGHT), "white")
    canvas = picture.resize(scaled, Image.Resampling.LANCZOS) if picture else Image.new("RGB", scaled, "#DDDDDD")
    cell.paste(canvas, corner)
    draw = ImageDraw.Draw(cell)
    placed = [([_placed(box, scale, corner) for box in (p.human, p.object)], p, colour) for p, colour in pairs]
    for boxes, _, colour in placed:
        _outline(draw, boxes[0], colour, dashed=False)
        _outline(draw, boxes[1], colour, dashed=True)
        middles = [((box.left + box.right) / 2, (box.top + box.bottom) / 2) for box in boxes]
        for width, fill in ((4 if colour == BLUE else 3, "white"), (2 if colour == BLUE else 1, colour)):
            draw.line(middles, fill, width)
        for x, y in middles:
            draw.ellipse((x - 4, y - 4, x + 4, y + 4), colour, "white")
    small = [box for boxes, _, _ in placed for box in boxes if box.overlap(box) < _SMALL]
    taken: list[Box] = []
    if picture is None:
        left, bottom = corner[0], corner[1] + scaled[1]
        taken.append(draw_tag(draw, Box(left, bottom - 18, left, bottom), reason, GREY, taken, []))
    for boxes, pair, colour in placed:
        word = "truth" if colour == BLUE else "predicted"
        for box, text in zip(boxes, (f"{word}: human", f"{word}: {pair.noun}"), strict=True):
            taken.append(draw_tag(draw, box, text, colour, taken, small))
    return cell


class Box(NamedTuple):
    """A box in pixels of the drawing of one example."""

    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: Box) -> float:
        """Return the area of the intersection with another box, in square pixels."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(width, 0) * max(height, 0)


def _placed(box: Sequence[float], scale: float, corner: tuple[int, int]) -> Box:
    """Return a box in the drawing of an example, clipped to the edges of the drawing."""
    return Box(*(min(max(v * scale + corner[k % 2], 1), (WIDTH, HEIGHT)[k % 2] - 2) for k, v in enumerate(box)))


def read_picture(name: str, folder: Path | None) -> tuple[Image | None, str]:
    """Return an RGB image of a folder and "", or None and the reason why it cannot be read."""
    if folder is None:
        return None, "no image folder given"
    try:
        from PIL import Image
    except ImportError:
        raise MissingExtraError("reading images", "plots") from None

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(folder / Path(name).name, formats=("JPEG", "PNG", "WEBP", "BMP")) as picture:
                return picture.convert("RGB"), ""
    except FileNotFoundError:
        return None, "no such image"
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombWarning, Image.DecompressionBombError):
        return None, "image not readable"


def _outline(draw: ImageDraw, box: Box, colour: str, *, dashed: bool) -> None:
    """Draw a box with a white rim, so that it stands out from any image; ground truth has wider lines."""
    width = 5 if colour == BLUE else 2
    corners = [(box.left, box.top), (box.right, box.top), (box.right, box.bottom), (box.left, box.bottom)]
    for line_width, fill in ((width + 2, "white"), (width, colour)):
        for start, end in zip(corners, [*corners[1:], corners[0]], strict=True):
            for a, b in _dashes(start, end) if dashed else [(start, end)]:
                draw.line([a, b], fill, line_width)


def _dashes(start: tuple[float, float], end: tuple[float, float]) -> list[tuple[tuple[float, float], ...]]:
    on, off = 11.0, 7.0
    length = max(abs(end[0] - start[0]), abs(end[1] - start[1]))
    direction = [(b - a) / length if length else 0.0 for a, b in zip(start, end, strict=True)]
    ends = [((on + off) * k, min((on + off) * k + on, length)) for k in range(ceil(length / (on + off)))]
    return [tuple((start[0] + t * direction[0], start[1] + t * direction[1]) for t in pair) for pair in ends]


def draw_tag(draw: ImageDraw, box: Box, text: str, colour: str, taken: Sequence[Box], small: Sequence[Box]) -> Box:
    """Draw a label near a box, if possible beside other labels (``taken``) and ``small`` boxes, and return its box."""
    font = font_of(12, bold=True)
    text = cut(text, font, WIDTH // 2)
    width, height = font.getlength(text) + 6, 17.0
    rows, columns = (box.top - height, box.top, box.bottom, box.bottom - height), (box.left, box.right - width)
    corners = [(x, y) for y in rows for x in columns]
    anywhere = [(float(x), float(y)) for y in range(0, HEIGHT - 16, 6) for x in range(0, WIDTH, 12)]
    anywhere.sort(key=lambda at: abs(at[0] - box.left) + abs(at[1] - box.top))
    spots = [
        Box(x, y, x + width, y + height)
        for x, y in (*corners, *anywhere)
        if x >= 0 and y >= 0 and x + width <= WIDTH and y + height <= HEIGHT
    ]
    spot = min(spots, key=lambda spot: (sum(map(spot.overlap, taken)), sum(map(spot.overlap, small))))
    draw.rectangle(spot, colour)
    draw.text((spot.left + 3, spot.top + 1), text, "white", font)
    return spot


def _key(draw: ImageDraw, right: float) -> float:
    font, x = font_of(13), right
    for text, colour in {"object": INK, "human": INK, "prediction": ORANGE, "ground truth": BLUE}.items():
        x -= font.getlength(text)
        draw.text((x, 36), text, INK, font)
        x -= 36
        for a, b in _dashes((x, 44), (x + 29, 44)) if text == "object" else [((x, 44), (x + 29, 44))]:
            draw.line([a, b], colour, 5 if colour == BLUE else 2)
        x -= 16
    return x


def cut(text: str, font: FreeTypeFont, width: float) -> str:
    """Return a text cut to a width in pixels, with "…" if it is cut, and "□" for characters that the font lacks."""
    text = shown = in_font(text)
    while text and font.getlength(shown) > width:
        text = text[:-1]
        shown = f"{text}…"
    return shown


@cache
def font_of(size: int, *, bold: bool = False) -> FreeTypeFont:
    """Return matplotlib's DejaVu Sans (cached), so that text looks the same everywhere; ``size`` is in pixels."""
    from matplotlib import get_data_path
    from PIL import ImageFont

    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ImageFont.truetype(Path(get_data_path(), "fonts", "ttf", name), size, layout_engine=ImageFont.Layout.BASIC)
