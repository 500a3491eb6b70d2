"""Jinja2 environment of all pages: templates escape every value, and show control and bidi characters as U+FFFD."""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

from shoe.core.errors import pluralize, visible
from shoe.core.io.files import atomic_write
from shoe.report.figures.pictures import read_picture
from shoe.report.page.svg import Edges
from shoe.report.text import decimals, percent, points

if TYPE_CHECKING:
    from PIL.Image import Image


def portable_command(words: Sequence[str], folder: Path) -> str:
    """Return a command line without absolute paths: paths in ``folder`` become relative, others only file names.

    >>> portable_command(["shoe", "compare", "/data/a.json", "--html=/data/out/p.html", "../b c.json"], Path("/data"))
    "shoe compare a.json --html=out/p.html 'b c.json'"
    """
    shown = []
    for word in words:
        option, equals, value = word.partition("=") if word.startswith("-") else ("", "", word)
        path = Path(value)
        if path.is_absolute() or ".." in path.parts:
            value = str(path.relative_to(folder)) if path.is_relative_to(folder) else path.name
        shown.append(option + equals + value)
    return shlex.join(shown)


def image_url(name: str, folder: Path | None) -> str | None:
    """Return an image as a ``data:`` URL, at most 480 x 480 pixels; None without a folder or a readable file."""
    image, _ = read_picture(name, folder)
    return data_url(small(image)) if image else None


def crop_url(name: str, folder: Path | None, crop: Edges) -> tuple[str, Edges] | None:
    """Return a crop of an image as a ``data:`` URL, and its edges, clipped to the image; None if there is no image."""
    image, _ = read_picture(name, folder)
    clipped = image and cut_out(image, crop)
    return (data_url(small(clipped[0])), clipped[1]) if clipped else None


def cut_out(image: Image, crop: Edges) -> tuple[Image, Edges] | None:
    """Return (part of an image inside a crop, crop clipped to the image); None if the crop lies outside."""
    low, high = (max(round(edge), 0) for edge in crop[:2]), map(min, map(round, crop[2:]), image.size)
    left, top, right, bottom = *low, *high
    if left >= right or top >= bottom:
        return None
    return image.crop((left, top, right, bottom)), (left, top, right, bottom)


def small(image: Image, largest: int = 480) -> bytes:
    """Shrink an image in place to at most ``largest`` pixels of width and height, and return it as JPEG."""
    image.thumbnail((largest, largest))
    stream = BytesIO()
    image.save(stream, format="JPEG", quality=70, optimize=True)
    return stream.getvalue()


def data_url(jpeg: bytes) -> str:
    """Return a JPEG image as a ``data:`` URL."""
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"


_FOLDER = Path(__file__).parent
_MODULE_LINKS = re.compile(r"^import .*;\n|^export (?=class|const|function|async)", re.MULTILINE)


@cache
def environment(*folders: Path) -> jinja2.Environment:
    """Return the Jinja2 environment (cached) with the templates in ``folders`` and ``shoe/report/page/templates``."""

    def finalize(value: Any) -> Any:
        if value is None:
            return ""
        return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader([*folders, _FOLDER / "templates"]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )

    @jinja2.pass_context
    def in_percent(context: jinja2.runtime.Context, value: float | None, rounded: bool | None = None) -> str:
        return percent(value, rounded=context.get("rounded", False) if rounded is None else rounded)

    @jinja2.pass_context
    def in_points(context: jinja2.runtime.Context, value: float | None) -> str:
        return points(value, rounded=context.get("rounded", False))

    made.filters |= {
        "percent": in_percent,  # a template may have the variable `rounded`
        "points": in_points,
        "fixed": decimals,
        "count": lambda value: "–" if value is None else f"{int(value):,}",
        "many": pluralize,
        "size": format_size,
        "moment": format_time,
        "day": lambda seconds: format_time(seconds, "%-d %b %Y"),
        "lasting": format_duration,
        "lines": lambda text: Markup("\n").join(visible(line) for line in text.split("\n")),
    }
    return made


def render(template: str, /, **values: Any) -> Markup:
    """Return a rendered template of ``shoe/report/page/templates``, with all values escaped."""
    return Markup(environment().get_template(template).render(values))  # noqa: S704 - the template escapes


def document(
    template: str, title: str, styles: Sequence[str], modules: Sequence[str] = (), connect: str = "", **values: Any
) -> tuple[str, str]:
    """Return (HTML page without external files or network requests, its Content-Security-Policy).

    Args:
        template: template that extends ``document.html``, with the variables ``values``.
        styles, modules: names of style sheets and of JavaScript modules in ``static``, in the order of imports.
        connect: end of the Content-Security-Policy, such as "; connect-src 'self'".
    """
    style = Markup("".join((_FOLDER / "static" / name).read_text("utf-8") for name in styles))  # noqa: S704 - ours
    script = bundle(modules)
    allowed = f"script-src '{_digest(script)}' blob:; worker-src blob:; " if modules else ""
    sources = f"default-src 'none'; {allowed}style-src '{_digest(style)}'; img-src data:"
    policy = f"{sources}; base-uri 'none'; form-action 'none'{connect}"
    return str(render(template, title=title, policy=policy, style=style, script=script, **values)), policy


def bundle(modules: Sequence[str]) -> Markup:
    """Return JavaScript modules as one script, because a page opened from disk cannot import modules."""
    sources = ((_FOLDER / "static" / f"{name}.js").read_text("utf-8") for name in modules)
    return Markup("".join(_MODULE_LINKS.sub("", source) for source in sources))  # noqa: S704 - ours


def _digest(source: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}"


def write_document(path: str | Path, page: str) -> None:
    """Write a page as UTF-8, atomically; raise InputError if the file cannot be written."""
    with atomic_write(path) as stream:
        stream.write(page.encode("utf-8", "replace"))


def format_size(octets: int) -> str:
    """Return a file size in bytes as text.

    >>> [format_size(number) for number in (999, 17_009, 55_000_000)]
    ['999 B', '17 kB', '55 MB']
    """
    number, unit = float(octets), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if number < 1000:
            break
        number, unit = number / 1000, larger
    return f"{number:.0f} {unit}" if number >= 10 or unit == "B" else f"{number:.1f} {unit}"


def format_time(seconds: float | None, form: str = "%-d %b %Y, %H:%M UTC") -> Markup:
    """Return a Unix time as a ``time`` element in UTC, with a text in strftime's format ``form``; a dash for None."""
    if seconds is None:
        return Markup("–")
    at = datetime.fromtimestamp(seconds, UTC)
    exact = f"{at:%Y-%m-%dT%H:%M:%SZ}"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(exact, exact, at.strftime(form))


def format_duration(seconds: float) -> str:
    """Return a duration in seconds as text.

    >>> [format_duration(number) for number in (0.26, 14.2, 75, 7260)]
    ['0.3 s', '14 s', '1 min 15 s', '2 h 1 min']
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if minutes else f"{rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
