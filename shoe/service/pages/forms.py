"""Routes of pages with forms, which work without JavaScript."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from shoe.core.errors import ShoeError
from shoe.service import runs, submissions, tokens
from shoe.service.api.runs import RunId
from shoe.service.api.service import set_session
from shoe.service.callers import Admin, App, Reader, Submitter, state_of, verify_token
from shoe.service.contract import NotFoundError, Refused
from shoe.service.pages.rendering import Form, Page, answer, field, redirect, viewer_of
from shoe.service.pages.views import View, rows
from shoe.service.security import COOKIE

router = APIRouter(route_class=Page, include_in_schema=False)


@router.get("/compare")
def choose(request: Request, _: Reader, run: Annotated[list[str], Query()] = []) -> Response:  # noqa: B006
    """Show the scored runs among the latest 200 finished runs; the runs with the IDs `run` are selected."""
    return _choose(request, run)


@router.post("/compare")
def compare(request: Request, form: Form, identity: Submitter, app: App) -> Response:
    """Submit a comparison of the selected runs, and redirect to its page; after an error, show form and message."""
    ids = form.get("run", [])
    try:
        resamples, seed = (min(int(field(form, name) or 0), 100_000) for name in ("resamples", "seed"))
        run = submissions.compare(
            app.folder,
            str(identity.team),
            runs.with_results(app.folder, identity, ids),
            resamples=resamples or None,
            seed=max(seed, 0),
            most_waiting=app.settings.queue_per_team,
        )
    except (ShoeError, ValueError) as error:
        return _choose(request, ids, str(error))
    return redirect(request, f"/runs/{run.id}")


def _choose(request: Request, chosen: list[str], problem: str | None = None) -> Response:
    folder, viewer = state_of(request).folder, viewer_of(request)
    found = runs.runs(folder, viewer.seen, limit=200, state="done")
    done = rows(viewer, folder, (run for run in found if run.kind == "score"))
    values = {"runs": done, "chosen": chosen, "problem": problem}
    return answer(request, View("compare.html", values), 409 if problem else 200)


@router.post("/runs/{id}/{action}")
def act(request: Request, id_: RunId, action: str, form: Form, identity: Submitter, app: App) -> Response:
    """Cancel, retry, change or delete a run; redirect to its page, or to the list of runs after a deletion."""
    run = runs.own_run(app.folder, identity, id_)
    if action == "delete":
        runs.delete(app.folder, run.id)
        return redirect(request, "/runs")
    if action == "change":
        visibility: Any = field(form, "visibility") if field(form, "visibility") in ("team", "public") else None
        runs.change(app.folder, run.id, field(form, "name") or None, visibility, field(form, "link").strip())
    elif action == "cancel":
        runs.cancel(app.folder, run.id)
    elif action == "retry":
        submissions.retry(app.folder, run.id, app.settings.queue_per_team)
    else:
        raise NotFoundError("no such page")
    return redirect(request, f"/runs/{run.id}")


@router.get("/login")
def login_page(request: Request, next: Annotated[str, Query()] = "/") -> Response:  # noqa: A002 - of the address
    """Show the login form."""
    return answer(request, View("login.html", {"wanted": next, "problem": None}))


@router.post("/login")
def login(request: Request, form: Form, app: App) -> Response:
    """Start a session with a token, and redirect to the page `next` of the form; show the form again if refused."""
    token, wanted = field(form, "token").strip(), field(form, "next")
    try:
        verify_token(request, token)
    except Refused as refused:
        return answer(request, View("login.html", {"wanted": wanted, "problem": refused.message}), refused.status)
    response = redirect(request, wanted if wanted.startswith("/") and wanted[1:2] not in ("/", "\\") else "/")
    set_session(app, request, response, token)
    return response


@router.post("/logout")
def logout(request: Request, app: App) -> Response:
    """End the session of the session cookie, and redirect to the front page."""
    tokens.log_out(app.folder, request.cookies.get(COOKIE, ""))
    response = redirect(request, "/")
    response.delete_cookie(COOKIE)
    return response


@router.get("/tokens")
def token_list(request: Request, _: Admin) -> Response:
    """Show all tokens, without their secrets."""
    return _tokens(request)


@router.post("/tokens")
def make_token(request: Request, form: Form, _: Admin, app: App) -> Response:
    """Create a token; show the list of tokens with the new token, which is not shown again, or with an error."""
    name, team, scopes = (field(form, key) for key in ("name", "team", "scopes"))
    try:
        days = float(field(form, "days")) if field(form, "days") else None
        made = tokens.new_token(app.folder, name, team, scopes.split(","), days)
    except (ShoeError, ValueError) as error:
        return _tokens(request, problem=str(error), status=422)
    return _tokens(request, new_token=made)


@router.post("/tokens/revoke")
def revoke_token(request: Request, form: Form, _: Admin, app: App) -> Response:
    """Revoke the token with the prefix in the form, and redirect to the list of tokens."""
    tokens.revoke(app.folder, field(form, "prefix"))
    return redirect(request, "/tokens")


def _tokens(request: Request, new_token: str | None = None, problem: str | None = None, status: int = 200) -> Response:
    values = {"tokens": tokens.tokens(state_of(request).folder), "made": new_token, "problem": problem}
    return answer(request, View("tokens.html", values), status)
