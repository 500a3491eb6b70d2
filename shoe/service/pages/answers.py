"""What pages' routes share: who looks, pages as answers, refusals as pages, and forms."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Annotated, Any
from urllib.parse import parse_qs, quote

from fastapi import Depends
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from shoe.core.errors import ShoeError
from shoe.service.callers import identify
from shoe.service.pages.rendering import Served, render
from shoe.service.pages.views import View, Viewer
from shoe.service.refusals import NotFoundError, Refused
from shoe.service.security import COOKIE

_TITLES = {403: "Not allowed", 404: "There is no such page", 409: "Not now", 429: "Too many requests"}
NO_PAGE = "Nothing is at this address, or nothing that you may see."


class Page(APIRoute):
    """A route whose refusals are pages; who could log in is asked to."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Handle a request, and what goes wrong with it."""
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
    """Who looks."""
    try:
        who = identify(request)
    except Refused:
        return Viewer()
    session = who.key is not None and COOKIE in request.cookies and who.team is not None
    return Viewer(who.team, who.allows("admin"), who.allows("read"), who.allows("submit"), session)


def answer(request: Request, view: View, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A page."""
    template, values = view
    about = {"here": request.url.path, "who": viewer_of(request), "address": address_of(request)}
    page = render(template, Served(request.scope.get("root_path", "")), about | values)
    return HTMLResponse(page.encode("utf-8", "replace"), status, headers)


def problem(
    request: Request, status: int, said: str, hint: str | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """A page that says why there is no other."""
    values = {"title": _TITLES.get(status, "That did not work"), "problem": said, "hint": hint}
    return answer(request, ("problem.html", values), status, headers)


def address_of(request: Request) -> str:
    """How the server is reached."""
    return str(request.base_url).rstrip("/")


def onward(request: Request, path: str) -> RedirectResponse:
    """Lead to another page."""
    return RedirectResponse(request.scope.get("root_path", "") + path, 303)


async def _form(request: Request) -> dict[str, list[str]]:
    return parse_qs((await request.body()).decode("utf-8", "replace"), keep_blank_values=True)


Form = Annotated[dict[str, list[str]], Depends(_form)]
"""Fields of a form, by their names."""


def field(form: Mapping[str, list[str]], name: str) -> str:
    """The first value of a field; empty where there is none."""
    return form.get(name, [""])[0]
