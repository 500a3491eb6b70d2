"""Rendering of web pages from templates, and functions for all page routes: errors, forms, caller."""

import hashlib
import posixpath
import threading
from collections.abc import Callable, Collection, Coroutine, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qs, quote

import jinja2
import msgspec
from fastapi import Depends
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

import shoe.report.page
from shoe.core.errors import ShoeError
from shoe.report.page.rendering import environment
from shoe.service.callers import identify
from shoe.service.contract import Refused
from shoe.service.errors import NotFoundError
from shoe.service.http_guard import COOKIE
from shoe.service.pages.views import View
from shoe.service.tokens import Identity, Scope
from shoe.version import __version__


def server_link(base: str, path: str) -> str:
    """Return the link to the page with a path on the server; `base` is the path prefix that a proxy adds, or ""."""
    return quote(base.rstrip("/") + path, safe="/?=&#:")


def site_link(here: str, there: Collection[str], path: str) -> str:
    """Return the relative link to `path` on the page `here` of an exported site; "" if `path` is not in `there`."""
    path, mark, part = path.partition("#")
    if path not in there:
        return ""
    return quote(posixpath.relpath(file_of(path), posixpath.dirname(file_of(here)) or ".")) + mark + part


def file_of(path: str) -> str:
    """Return the path of a page or file within an exported site, given its path on the server.

    >>> [file_of(path) for path in ("/", "/runs/r_1", "/v1/runs/r_1/files/run.shoe", "/static/page.css")]
    ['index.html', 'runs/r_1.html', 'files/r_1/run.shoe', 'static/page.css']
    """
    if path.startswith("/v1/runs/"):
        _, _, _, run, _, name = path.split("/", 5)
        return f"files/{run}/{name}"
    if path.startswith("/static/"):
        return path[1:]
    return f"{path.strip('/') or 'index'}.html"


STATIC = {
    path.name: path
    for path in (
        Path(shoe.report.page.__file__).parent / "static" / "page.css",
        *filter(Path.is_file, (Path(__file__).parent / "static").iterdir()),
    )
}
"""Paths of style sheets, scripts and images by file name; ``page.css`` is shared with reports."""


def render(view: View, link: Callable[[str], str], about: Mapping[str, Any], *, live: bool = True) -> bytes:
    """Return the HTML of the page that a view (template and values) describes, as UTF-8.

    `link` returns the link to a page or file, given its path on the server. `about` has values that every page needs,
    such as the caller (:func:`who_is`). `live` is False for an exported site.
    """
    values = {**about, **view.values, **(view.derive() if view.derive else {})}
    page = _template(view.template).render(values, link=link, live=live, version=__version__)
    return page.encode("utf-8", "replace")


def compile_templates() -> None:
    """Compile the templates of all pages, which takes about 0.2 s: otherwise the first readers would wait for it."""
    for path in _TEMPLATES.iterdir():
        _template(path.name)


_TEMPLATES = Path(__file__).parent / "templates"
_compiling = threading.Lock()


def _template(name: str) -> jinja2.Template:
    with _compiling:  # else all threads that need a template at the same time would compile it
        return environment(_TEMPLATES).get_template(name)


_TITLES = {403: "Not allowed", 404: "Page not found", 409: "Not possible", 429: "Too many requests"}
NO_PAGE = "There is no page at this address, or you may not see it."


class Page(APIRoute):
    """Route of a page: errors are shown as pages, and a missing token redirects to the login form."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of requests, which shows errors as pages."""
        handle = super().get_route_handler()

        async def page(request: Request) -> Response:
            try:
                return await handle(request)
            except Refused as refused:
                if refused.status == 401:
                    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
                    return redirect(request, f"/login?next={quote(wanted)}")
                return problem(request, refused.status, refused.message, refused.hint, refused.headers)
            except (NotFoundError, RequestValidationError):
                return problem(request, 404, NO_PAGE)
            except ShoeError as error:
                return problem(request, 409, str(error))

        return page


def who_is(identity: Identity, *, session: bool = False) -> dict[str, Any]:
    """Return the values of the template variable `who`; `session` is whether the caller has logged in."""
    scopes: dict[str, Scope] = {"admin": "admin", "reader": "read", "submitter": "submit"}
    return {"team": identity.team, "session": session} | {name: identity.allows(scopes[name]) for name in scopes}


def answer(request: Request, view: View, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return the response with the page that a view (template and values) describes."""
    base, about = _frame(request)
    return HTMLResponse(render(view, partial(server_link, base), about), status, headers)


async def cached(request: Request, view: View) -> Response:
    """Return the response with the page of a view; a page that was rendered before is taken from a cache.

    The cache key is everything that the page shows, encoded with msgpack. A page is therefore never stale, and stays in
    the cache when other runs change or jobs report progress.
    """
    base, about = _frame(request)
    shown = msgspec.msgpack.encode((view.template, view.values, about, base))
    key = hashlib.sha256(shown).digest()
    page = _pages.pop(key, b"") or await run_in_threadpool(render, view, partial(server_link, base), about)
    _pages[key] = page  # the dict is ordered by the time of the last use
    if len(_pages) > _MOST_PAGES:
        del _pages[next(iter(_pages))]
    return HTMLResponse(page)


_pages: dict[bytes, bytes] = {}
_MOST_PAGES = 512


def _frame(request: Request) -> tuple[str, dict[str, Any]]:
    try:
        identity = identify(request)
    except Refused:  # a wrong token gives no permissions
        identity = Identity(None, frozenset(), "", None)
    session = identity.key is not None and COOKIE in request.cookies and identity.team is not None
    about = {"here": request.url.path, "who": who_is(identity, session=session), "address": address_of(request)}
    return request.scope.get("root_path", ""), about


def problem(
    request: Request, status: int, message: str, hint: str | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """Return the response with a page that shows an error."""
    values = {"title": _TITLES.get(status, "Error"), "problem": message, "hint": hint}
    return answer(request, View("problem.html", values), status, headers)


def address_of(request: Request) -> str:
    """Return the URL of the server that the client used, without a slash at the end: "https://example.org"."""
    return str(request.base_url).rstrip("/")


def redirect(request: Request, path: str) -> RedirectResponse:
    """Return the response (status 303) that redirects to the page with a path on the server."""
    return RedirectResponse(request.scope.get("root_path", "") + path, 303)


async def _form(request: Request) -> dict[str, list[str]]:
    return parse_qs((await request.body()).decode("utf-8", "replace"), keep_blank_values=True)


Form = Annotated[dict[str, list[str]], Depends(_form)]
"""Values of a submitted form, by field name."""


def field(form: Mapping[str, list[str]], name: str) -> str:
    """Return the first value of a form field; "" if the field is absent."""
    return form.get(name, [""])[0]
