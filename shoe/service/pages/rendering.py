"""Templates into pages: everything is escaped, and no control or bidi character acts on what stands around it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from shoe.core.errors import many, visible
from shoe.page.markup import Markup as Tagged
from shoe.report.text import fixed, percent, points
from shoe.service.pages.places import Places
from shoe.version import __version__

FOLDER = Path(__file__).parent


def render(template: str, places: Places, values: Mapping[str, Any]) -> str:
    """Make a page.

    Args:
        template: file name below ``templates``.
        places: how it leads to other pages.
        values: what it says.
    """
    return _environment().get_template(template).render(values, link=places.link, live=places.live, version=__version__)


@cache
def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {
        "percent": percent,
        "points": points,
        "fixed": fixed,
        "count": lambda value: "–" if value is None else f"{int(value):,}",
        "many": many,
        "size": size,
        "moment": moment,
        "lasting": lasting,
        "lines": lambda text: Markup("\n").join(visible(line) for line in text.split("\n")),
        "drawn": lambda value: Markup(value) if isinstance(value, Tagged) else value,  # noqa: S704 - made of escaped parts
    }
    return made


def _shown(value: Any) -> Any:
    if value is None:
        return ""
    return visible(value) if type(value) is str else value


def size(octets: int) -> str:
    """A file's size for reading.

    >>> [size(number) for number in (999, 17_009, 55_000_000)]
    ['999 B', '17 kB', '55 MB']
    """
    number, unit = float(octets), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if number < 1000:
            break
        number, unit = number / 1000, larger
    return f"{number:.0f} {unit}" if number >= 10 or unit == "B" else f"{number:.1f} {unit}"


def moment(seconds: float | None) -> Markup:
    """A point in time: what people read, in an element that says it to programs."""
    if seconds is None:
        return Markup("–")
    at = datetime.fromtimestamp(seconds, UTC)
    return Markup('<time datetime="{}">{}</time>').format(f"{at:%Y-%m-%dT%H:%M:%SZ}", f"{at:%-d %b %Y, %H:%M} UTC")


def lasting(seconds: float) -> str:
    """How long something takes.

    >>> [lasting(number) for number in (0.26, 14.2, 75, 7260)]
    ['0.3 s', '14 s', '1 min 15 s', '2 h 1 min']
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if minutes else f"{rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
