"""Routes of pages; pages with forms work without JavaScript."""

import hashlib
from collections.abc import Mapping
from functools import cache, reduce
from operator import getitem
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response

from shoe.benchmarks import DEFAULT, benchmark, scoring_options
from shoe.benchmarks.protocols import ABOUT
from shoe.core.boxes import CommonCoordinates
from shoe.core.errors import ShoeError
from shoe.predictions.table import SCORES
from shoe.service import access, boards, runs, submissions, tokens
from shoe.service.api.runs import RunId
from shoe.service.api.service import set_session
from shoe.service.callers import Admin, Anybody, App, Reader, Submitter, require_scope, verify_token
from shoe.service.contract import Refused, describe, known_parameters
from shoe.service.errors import NotFoundError
from shoe.service.http_guard import COOKIE
from shoe.service.pages import playground, views
from shoe.service.pages.rendering import STATIC, Form, Page, address_of, answer, cached, field, redirect
from shoe.service.pages.views import View
from shoe.service.tokens import Identity
from shoe.service.truths import own_similarities, truths

_GROUPS = {
    "Predictions": ("predictions",),
    "Runs": ("runs", "results"),
    "Leaderboards": ("boards",),
    "Words": ("words",),
    "Studies": ("studies",),
    "Ground truths and maps": ("catalog",),
    "The server": ("about", "admin"),
}
"""Tags of API calls in the OpenAPI schema, by heading on the page."""

CURL = """\
FILE=predictions.json
HASH=$(sha256sum "$FILE" | cut -c1-64)
curl -T "$FILE" "{address}/v1/predictions?name=$(basename "$FILE")" -H "Authorization: Bearer $SHOE_TOKEN"
RUN="{{\\"prediction\\": \\"$HASH\\", \\"{field}\\": \\"{name}\\"}}"
curl "{address}/v1/runs" -H "Authorization: Bearer $SHOE_TOKEN" --json "$RUN"
curl "{address}/v1/runs/ID/result" -H "Authorization: Bearer $SHOE_TOKEN"
"""


def interface_values(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the groups of API calls in an OpenAPI schema, each a dict of "name" and "calls", for ``api.html``."""
    calls = [
        (call.get("tags", ["about"])[0], _call(path, method, call, schema))
        for path, methods in schema["paths"].items()
        for method, call in methods.items()
    ]
    return [{"name": name, "calls": [call for tag, call in calls if tag in tags]} for name, tags in _GROUPS.items()]


def _call(path: str, method: str, call: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    takes = [
        (each["name"], each["in"], _kind(each.get("schema", {}), schema), each.get("description", ""), each["required"])
        for each in call.get("parameters", ())
    ]
    for media, content in call.get("requestBody", {}).get("content", {}).items():
        body = _resolved(content.get("schema", {}), schema)
        required = body.get("required", ())
        takes += [
            (name, "body", _kind(each, schema), each.get("description", ""), name in required)
            for name, each in body.get("properties", {}).items()
        ] or [(media, "body", "bytes", "", True)]
    first, *rest = [" ".join(each.split()) for each in call.get("description", "").replace("``", "").split("\n\n")]
    return {
        "method": method.upper(),
        "path": path,
        "summary": first,
        "description": rest,
        "takes": takes,
        "answers": [(code, response.get("description", "")) for code, response in call["responses"].items()],
    }


def _resolved(node: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the node to which a node of the OpenAPI schema refers; a node without a reference is returned itself."""
    while "$ref" in node:
        node = reduce(getitem, node["$ref"].removeprefix("#/").split("/"), schema)
    return node


def _kind(node: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    node = _resolved(node, schema)
    if "enum" in node:
        return " or ".join(str(each) for each in node["enum"])
    kinds = node.get("anyOf") or node.get("oneOf")
    if kinds:
        return " or ".join(_kind(each, schema) for each in kinds if each.get("type") != "null")
    if node.get("type") == "array":
        return f"list of {_kind(node.get('items', {}), schema) or 'values'}"
    return str(node.get("type", "object" if "properties" in node else "any"))


_MEDIA = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_IMAGES = (".jpg", ".jpeg", ".png", ".webp")
Text = Annotated[str, Query(max_length=300)]

router = APIRouter(dependencies=[Depends(known_parameters)], route_class=Page, include_in_schema=False)


@router.get("/static/{name}")
async def static(name: str, request: Request) -> Response:
    """Return a style sheet, script or image."""
    path = STATIC.get(name)
    if path is None:
        raise NotFoundError("no file of this name")
    content, tag = _content(path)
    headers = {"Cache-Control": "no-cache", "ETag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=_MEDIA[path.suffix])


@cache
def _content(path: Path) -> tuple[bytes, str]:
    content = path.read_bytes()
    return content, f'"{hashlib.sha256(content).hexdigest()[:32]}"'


@router.get("/")
async def front(request: Request, identity: Anybody, app: App) -> Response:
    """Show the front page."""
    with app.folder.database.read():
        view = views.front(app.folder, identity)
    return await cached(request, view)


@router.get("/runs")
async def run_list(
    request: Request, identity: Reader, app: App, name: Text = "", state: Text = "", truth: Text = "", after: Text = ""
) -> Response:
    """Show 50 runs (older than the run `after`, if given), filtered by part of the name, state and ground truth."""
    asked = {"name": name, "state": state, "truth": truth}
    with app.folder.database.read():
        view = views.run_list(app.folder, identity, asked, after or None)
    return await cached(request, view)


@router.get("/runs/{id}")
async def run_page(request: Request, id_: RunId, identity: Anybody, app: App) -> Response:
    """Show a run."""
    with app.folder.database.read():
        run = access.visible_run(app.folder, identity, id_)
        view = views.run_page(app.folder, identity, run, images=app.settings.images is not None)
    return await cached(request, view)


@router.get("/runs/{id}/images/{number}")
def example_image(id_: RunId, number: int, identity: Anybody, app: App) -> Response:
    """Return the image of example `number` on the page of a run, from the server's image folder."""
    run = access.visible_run(app.folder, identity, id_)
    access.check_file(app.folder, identity, run, "examples.json")
    cases = views.read_output(app.folder, run, "examples.json") or []
    if app.settings.images is None or not 0 <= number < len(cases):
        raise NotFoundError("the run has no example image with this number")
    path = app.settings.images / Path(cases[number]["image"]).name
    if path.suffix.lower() not in _IMAGES or not path.is_file():
        raise NotFoundError("the server does not have this image")
    return FileResponse(path, headers={"Cache-Control": "private, max-age=3600"})


@router.get("/runs/{id}/classes")
def classes_page(request: Request, id_: RunId, identity: Anybody, app: App) -> Response:
    """Show the metrics of a run by class."""
    view = views.classes_page(app.folder, access.visible_run(app.folder, identity, id_))
    if view is None:
        raise NotFoundError(f"run {id_} has no metrics by class")
    return answer(request, view)


@router.get("/runs/{id}/report")
def report(request: Request, id_: RunId, identity: Anybody, app: App) -> Response:
    """Show the interactive report of a run in a frame, which isolates the report from the session."""
    run = access.visible_run(app.folder, identity, id_)
    name = "comparison.html" if run.kind == "compare" else "report.html"
    if name not in run.outputs:
        raise NotFoundError(f"run {id_} has no interactive report")
    return answer(request, View("report.html", {"run": run, "file": f"/v1/runs/{id_}/files/{name}"}))


@router.get("/submit")
def submit(request: Request, identity: Reader, app: App, board: Text = "") -> Response:
    """Show the form for submitting predictions; the leaderboard `board` is selected."""
    dataset, closed = benchmark(DEFAULT), access.closed_truths(app.folder)
    usable = [each for each in truths(app.folder) if identity.allows("admin") or each.name not in closed]
    with app.folder.database.read() as db:
        quotas = {each.name: submissions.quota_of(db, identity.team or "", None, each.name) for each in usable}
    values = {
        "truths": usable,
        "quotas": quotas,
        "maps": list(dict.fromkeys([*playground.places(app.folder), *own_similarities()])),
        "protocols": [*dataset.protocols, "shoe"],
        "usual": dataset.default_protocols,
        "box_conventions": list(CommonCoordinates),
        "score_kinds": list(SCORES),
        "options": scoring_options.describe(),
        "about": {**dataset.about, **ABOUT},
        "boards": views.open_boards(app.folder, identity),
        "wanted_board": board,
        "may_submit": identity.allows("submit"),
        "largest": app.settings.largest_upload,
    }
    return answer(request, View("submit.html", values))


@router.get("/boards")
async def board_list(request: Request, identity: Anybody, app: App) -> Response:
    """Show the leaderboards; hidden leaderboards are not listed for anonymous users."""
    return await cached(request, View("boards.html", {"boards": views.open_boards(app.folder, identity)}))


@router.get("/boards/{name}")
async def board_page(
    request: Request, name: str, identity: Anybody, app: App, best: Annotated[bool, Query()] = False
) -> Response:
    """Show a leaderboard, with `best` only the best run of each team; a hidden one needs the permission "read"."""
    with app.folder.database.read():
        board = boards.board(app.folder, name)
        if board.hidden:
            require_scope(identity, "read")
        view = views.board_page(app.folder, identity, board, best=best)
    return await cached(request, view)


@router.get("/playground")
def ask(request: Request, _: Reader, app: App, said: Text = "", truth: Text = "", similarity: Text = "") -> Response:
    """Show how the phrase `said` is interpreted and scored, and its similarity to the class `truth`."""
    places = playground.places(app.folder)
    name = similarity if similarity in places else next(iter(places))
    values: dict[str, Any] = {
        "asked": {"said": said, "truth": truth, "map": name},
        "maps": list(places),
        "problem": None,
        "examples": playground.EXAMPLES,
        "labels": playground.labels_of(places[name]),
    }
    nothing = {"compared": None, "whole": None, "reading": None, "senses": None, "counted": None}
    try:
        found = playground.answer(places[name], said, truth) if said.strip() else nothing
    except ShoeError as error:
        values["problem"] = str(error)
        found = playground.answer(places[name], said, "")
    return answer(request, View("playground.html", values | found))


@router.get("/maps")
def map_list(request: Request, _: Reader, app: App) -> Response:
    """Show the built-in and the registered similarity maps."""
    return answer(request, views.map_list(app.folder))


@router.get("/maps/{name}")
def map_page(request: Request, name: str, _: Reader, app: App) -> Response:
    """Show a similarity map."""
    place = playground.places(app.folder).get(name)
    if place is None:
        raise NotFoundError("no similarity map of this name")
    return answer(request, View("map.html", views.map_values(name, place)))


@router.get("/truths")
async def truth_list(request: Request, _: Reader, app: App) -> Response:
    """Show the metadata of all ground truths, without boxes and labels."""
    return answer(request, View("truths.html", {"truths": truths(app.folder)}))


@router.get("/api")
def interface(request: Request, identity: Anybody, app: App) -> Response:
    """Show the documentation of the API, made from its OpenAPI schema."""
    closed = access.closed_truths(app.folder)
    names = [each.name for each in truths(app.folder)] if identity.allows("read") else ["TRUTH"]
    usable = [("truth", name) for name in names if name not in closed]
    usable += [("board", board) for boards_of in closed.values() for board in boards_of if identity.allows("read")]
    field, name = (usable or [("truth", "TRUTH")])[0]
    curl = CURL.format(address=address_of(request), field=field, name=name)
    return answer(request, View("api.html", {"groups": interface_values(describe(request.app)), "curl": curl}))


@router.get("/rate")
async def rate(_: Anybody) -> Response:
    """Show the rating page. The token follows # in the link, because browsers send no part after # to a server."""
    page, allowed = _rater_page()
    return HTMLResponse(page, headers={"Content-Security-Policy": f"{allowed}; frame-ancestors 'none'"})


@cache
def _rater_page() -> tuple[str, str]:
    from shoe.report.page.study import served_page

    return served_page()


@router.get("/compare")
def choose(request: Request, identity: Reader, app: App, run: Annotated[list[str], Query()] = []) -> Response:  # noqa: B006
    """Show a form to select runs to compare, out of the latest 200 finished runs; the runs `run` are selected."""
    return _choose(request, identity, app, run)


@router.post("/compare")
def compare(request: Request, form: Form, identity: Submitter, app: App) -> Response:
    """Submit a comparison of the selected runs, and redirect to its page; after an error, show form and message."""
    ids = form.get("run", [])
    try:
        resamples, seed = (min(int(field(form, name) or 0), 100_000) for name in ("resamples", "seed"))
        run = submissions.compare(
            app.folder,
            str(identity.team),
            access.with_results(app.folder, identity, ids),
            resamples=resamples or None,
            seed=max(seed, 0),
            most_waiting=app.settings.queue_per_team,
        )
    except (ShoeError, ValueError) as error:
        return _choose(request, identity, app, ids, str(error))
    return redirect(request, f"/runs/{run.id}")


def _choose(request: Request, identity: Identity, app: App, chosen: list[str], problem: str | None = None) -> Response:
    rows = views.rows(app.folder, access.visible_runs(app.folder, identity, limit=200, state="done"))
    values = {"runs": [row for row in rows if row["comparable"]], "chosen": chosen, "problem": problem}
    return answer(request, View("compare.html", values), 409 if problem else 200)


@router.post("/runs/{id}/{action}")
def act(request: Request, id_: RunId, action: str, form: Form, identity: Submitter, app: App) -> Response:
    """Cancel, retry, change or delete a run; redirect to its page, or to the list of runs after a deletion."""
    run = access.own_run(app.folder, identity, id_)
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
    """Start a session with a token, and redirect to the page `next`; for a wrong token, show the form again."""
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
def token_list(request: Request, _: Admin, app: App) -> Response:
    """Show all tokens, without their secrets."""
    return _tokens(request, app)


@router.post("/tokens")
def make_token(request: Request, form: Form, _: Admin, app: App) -> Response:
    """Create a token; show the list of tokens with the new token, which is not shown again, or with an error."""
    name, team, scopes = (field(form, key) for key in ("name", "team", "scopes"))
    try:
        days = float(field(form, "days")) if field(form, "days") else None
        made = tokens.new_token(app.folder, name, team, scopes.split(","), days)
    except (ShoeError, ValueError) as error:
        return _tokens(request, app, problem=str(error))
    return _tokens(request, app, new_token=made)


@router.post("/tokens/revoke")
def revoke_token(request: Request, form: Form, _: Admin, app: App) -> Response:
    """Revoke the token with the prefix in the form, and redirect to the list of tokens."""
    tokens.revoke(app.folder, field(form, "prefix"))
    return redirect(request, "/tokens")


def _tokens(request: Request, app: App, new_token: str | None = None, problem: str | None = None) -> Response:
    values = {"tokens": tokens.tokens(app.folder), "made": new_token, "problem": problem}
    return answer(request, View("tokens.html", values), 422 if problem else 200)
