"""Rendering of the service's pages from templates, and common parts of their routes."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Coroutine, Mapping
from pathlib import Path
from typing import Annotated, Any, Protocol
from urllib.parse import parse_qs, quote

from fastapi import Depends
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

import shoe.report.page
from shoe.core.errors import ShoeError
from shoe.report.page.rendering import environment
from shoe.service.callers import identify
from shoe.service.contract import NotFoundError, Refused
from shoe.service.pages.views import View, Viewer
from shoe.service.security import COOKIE
from shoe.version import __version__

# Where pages lie: by address on a server, by relative path in a folder of files.


class Places(Protocol):
    """Links between pages."""

    @property
    def live(self) -> bool:
        """Whether a server answers."""
        ...

    def link(self, path: str) -> str:
        """Return the link to the page that a server has at ``path``; empty where there is no such page."""
        ...


class Served:
    """Links between pages of a server."""

    live = True

    def __init__(self, base: str = "") -> None:
        """Take the path below which a proxy serves; empty for none."""
        self.base = base.rstrip("/")

    def link(self, path: str) -> str:
        """See :class:`Places`."""
        return quote(self.base + path, safe="/?=&#:")


class Stored:
    """Links between pages in a folder, opened from disk or from any file server."""

    live = False

    def __init__(self, here: str, there: Collection[str]) -> None:
        """Take the path of the linking page, and the paths of all pages."""
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
    """
    found = environment(Path(__file__).parent / "templates").get_template(template)
    return found.render(values, link=places.link, live=places.live, version=__version__)


# What pages' routes share: who looks, pages as answers, refusals as pages, and forms.

_TITLES = {403: "Not allowed", 404: "There is no such page", 409: "Not now", 429: "Too many requests"}
NO_PAGE = "Nothing is at this address, or nothing that you may see."


class Page(APIRoute):
    """Route that answers refusals with pages, and offers the log-in form."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Handle a request and its errors."""
        handle = super().get_route_handler()

        async def shown(request: Request) -> Response:
            try:
                return await handle(request)
            except Refused as refused:
                if refused.status == 401:
                    return onward(request, f"/login?next={quote(request.url.path)}")
                return problem(request, refused.status, refused.message, refused.hint, refused.headers)
            except (NotFoundError, RequestValidationError):
                return problem(request, 404, NO_PAGE)
            except ShoeError as error:
                return problem(request, 409, str(error))

        return shown


def viewer_of(request: Request) -> Viewer:
    """Return the viewer of a request."""
    try:
        who = identify(request)
    except Refused:
        return Viewer()
    session = who.key is not None and COOKIE in request.cookies and who.team is not None
    return Viewer(who.team, who.allows("admin"), who.allows("read"), who.allows("submit"), session)


def answer(request: Request, view: View, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Render a page as an answer."""
    template, values = view
    about = {"here": request.url.path, "who": viewer_of(request), "address": address_of(request)}
    page = render(template, Served(request.scope.get("root_path", "")), about | values)
    return HTMLResponse(page.encode("utf-8", "replace"), status, headers)


def problem(
    request: Request, status: int, said: str, hint: str | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """Render a page that explains why there is no other."""
    values = {"title": _TITLES.get(status, "That did not work"), "problem": said, "hint": hint}
    return answer(request, ("problem.html", values), status, headers)


def address_of(request: Request) -> str:
    """Return the server's address, as the client reached it."""
    return str(request.base_url).rstrip("/")


def onward(request: Request, path: str) -> RedirectResponse:
    """Redirect to another page."""
    return RedirectResponse(request.scope.get("root_path", "") + path, 303)


async def _form(request: Request) -> dict[str, list[str]]:
    return parse_qs((await request.body()).decode("utf-8", "replace"), keep_blank_values=True)


Form = Annotated[dict[str, list[str]], Depends(_form)]
"""Fields of a form, by their names."""


def field(form: Mapping[str, list[str]], name: str) -> str:
    """Return the first value of a field; empty where there is none."""
    return form.get(name, [""])[0]
