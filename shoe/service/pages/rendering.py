"""Pages of the service, from templates."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

import shoe.report.page
from shoe.report.page.rendering import environment
from shoe.version import __version__

# Where pages lie: by address on a server, by relative path in a folder of files.


class Places(Protocol):
    """How one page leads to another."""

    @property
    def live(self) -> bool:
        """Whether there is a server that answers."""
        ...

    def link(self, path: str) -> str:
        """What leads to the page that a server has at ``path``; empty where there is no such page."""
        ...


class Served:
    """Pages of a server."""

    live = True

    def __init__(self, base: str = "") -> None:
        """Take the path below which a proxy has the server; empty for none."""
        self.base = base.rstrip("/")

    def link(self, path: str) -> str:
        """See :class:`Places`."""
        return quote(self.base + path, safe="/?=&#:")


class Stored:
    """Pages in a folder, opened from disk or served by anything that serves files."""

    live = False

    def __init__(self, here: str, there: Collection[str]) -> None:
        """Take the path of the page that leads to others, and the paths of all that there are."""
        self.here, self.there = file_of(here), there

    def link(self, path: str) -> str:
        """See :class:`Places`."""
        path, mark, part = path.partition("#")
        if path not in self.there:
            return ""
        return quote(posixpath.relpath(file_of(path), posixpath.dirname(self.here) or ".")) + mark + part


def file_of(path: str) -> str:
    """The file, below the folder, that holds the page of a path.

    >>> [file_of(path) for path in ("/", "/runs/r_1", "/v1/runs/r_1/files/run.shoe", "/static/page.css")]
    ['index.html', 'runs/r_1.html', 'files/r_1/run.shoe', 'static/page.css']
    """
    if path.startswith("/v1/runs/"):
        _, _, _, run, _, name = path.split("/", 5)
        return f"files/{run}/{name}"
    if path.startswith("/static/"):
        return path[1:]
    return f"{path.strip('/') or 'index'}.html"


# Styles, scripts and pictures of the pages, which lie in the package.

_OF_REPORTS = Path(shoe.report.page.__file__).parent / "static" / "page.css"
STATIC = {_OF_REPORTS.name: _OF_REPORTS} | {
    path.name: path for path in (Path(__file__).parent / "static").iterdir() if path.is_file()
}
"""Where each lies, by its name; reports and pages share a style sheet."""


def render(template: str, places: Places, values: Mapping[str, Any]) -> str:
    """Render a page.

    Args:
        template: file name below ``templates``.
        places: how it leads to other pages.
        values: values of the template.
    """
    found = environment(Path(__file__).parent / "templates").get_template(template)
    return found.render(values, link=places.link, live=places.live, version=__version__)
