"""Runs: asked for, looked at, changed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Header, Path, Query
from msgspec.structs import replace
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse

from shoe.core.errors import OptionError
from shoe.service import runs, submissions, types
from shoe.service.callers import Anybody, App, AppState, Reader, Submitter
from shoe.service.contract import ConflictError, NotFoundError, body, contract, json_response, too_many
from shoe.service.runs import (
    check_closed,
    check_file,
    check_results,
    is_hidden,
    own_run,
    visible_run,
    with_results,
    without_hidden,
)
from shoe.service.security import FILE_POLICY, REPORT_POLICY
from shoe.service.tokens import Identity
from shoe.service.types import Run

router = APIRouter(tags=["runs"])
RunId = Annotated[str, Path(pattern="^r_[0-9a-f]{20}$", description="Of a run.")]


@router.post("/v1/runs", **contract(types.Run, types.NewRun))
def new_run(asked: Annotated[types.NewRun, body(types.NewRun)], identity: Submitter, app: App) -> Response:
    """Have predictions scored. Asked again for the same, it is the same run, and nothing is done twice."""
    if asked.truth is None and asked.board is None:
        raise OptionError("truth: found none, expected the name of a ground truth, or of a board")
    if asked.board is None:
        check_closed(app.folder, identity, str(asked.truth), whole=not asked.images_in_predictions)
    request = msgspec.convert(replace(asked, truth=asked.truth or ""), types.Request, from_attributes=True)
    run = submissions.submit(
        app.folder,
        str(identity.team),
        asked.name,
        asked.prediction,
        request,
        visibility=asked.visibility,
        board=asked.board,
        most_waiting=app.settings.queue_per_team,
    )
    return _response(app, identity, run)


@router.get("/v1/runs", **contract(types.RunList))
async def list_runs(
    identity: Reader,
    app: App,
    state: Annotated[types.State | None, Query(description="Only runs in this state.")] = None,
    after: Annotated[
        str | None, Query(pattern="^r_[0-9a-f]{20}$", description="The last run of the list before.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=200, description="Most runs.")] = 50,
) -> Response:
    """List your team's runs and public ones, the latest first."""
    if after:
        visible_run(app.folder, identity, after)
    team = None if identity.allows("admin") else identity.team
    found = runs.runs(app.folder, team, after, limit, state)
    last = found[-1].id if len(found) == limit else None
    return json_response(types.RunList(runs=[without_hidden(app.folder, identity, run) for run in found], after=last))


@router.get("/v1/runs/{id}", **contract(types.Run))
async def get_run(id: RunId, identity: Anybody, app: App) -> Response:  # noqa: A002 - of the path
    """How a run stands."""
    return _response(app, identity, visible_run(app.folder, identity, id))


@router.get("/v1/runs/{id}/log", **contract(types.Log))
def get_log(
    id: RunId,  # noqa: A002 - of the path
    identity: Anybody,
    app: App,
    after: Annotated[int, Query(ge=0, le=2**62, description="Number of the last line of the answer before.")] = 0,
) -> Response:
    """What a run's work has said, at most 1,000 lines."""
    of = visible_run(app.folder, identity, id)
    lines = [] if is_hidden(app.folder, identity, of) else runs.log(app.folder, of.id, after)
    return json_response(types.Log(lines=lines, after=lines[-1].number if lines else after))


@router.post("/v1/runs/{id}/cancel", **contract(types.Run))
def cancel_run(id: RunId, identity: Submitter, app: App) -> Response:  # noqa: A002 - of the path
    """Give a run up that waits or is under way."""
    return _response(app, identity, runs.cancel(app.folder, own_run(app.folder, identity, id).id))


@router.post("/v1/runs/{id}/retry", **contract(types.Run))
def retry_run(id: RunId, identity: Submitter, app: App) -> Response:  # noqa: A002 - of the path
    """Do a run again that failed or was cancelled."""
    of = own_run(app.folder, identity, id)
    return _response(app, identity, submissions.retry(app.folder, of.id, app.settings.queue_per_team))


@router.patch("/v1/runs/{id}", **contract(types.Run, types.Change))
def change_run(
    id: RunId,  # noqa: A002 - of the path
    asked: Annotated[types.Change, body(types.Change)],
    identity: Submitter,
    app: App,
) -> Response:
    """Call a run otherwise, or show it to others."""
    of = own_run(app.folder, identity, id)
    return _response(app, identity, runs.change(app.folder, of.id, asked.name, asked.visibility))


@router.delete("/v1/runs/{id}", **contract(status=204))
def delete_run(id: RunId, identity: Submitter, app: App) -> Response:  # noqa: A002 - of the path
    """Take a run away; gone once is gone."""
    runs.delete(app.folder, own_run(app.folder, identity, id).id)
    return Response(status_code=204)


@router.post("/v1/runs/{id}/diagnose", **contract(types.Run))
def diagnose_run(id: RunId, identity: Submitter, app: App) -> Response:  # noqa: A002 - of the path
    """Ask for a run's diagnosis, which each run that was scored gets by itself: it stands among its files."""
    of = own_run(app.folder, identity, id)
    if of.kind != "score":
        raise ConflictError(f"run {id}: found a run of kind {of.kind}, expected one that scores predictions")
    return _response(app, identity, of)


@router.post("/v1/compare", **contract(types.Run, types.NewComparison))
def compare_runs(
    asked: Annotated[types.NewComparison, body(types.NewComparison)], identity: Submitter, app: App
) -> Response:
    """Have 2 to 20 finished runs compared: paired differences with intervals, what changed, how to tell it."""
    run = submissions.compare(
        app.folder,
        str(identity.team),
        with_results(app.folder, identity, asked.runs),
        resamples=asked.resamples,
        seed=asked.seed,
        allow_different=asked.allow_different,
        visibility=asked.visibility,
        most_waiting=app.settings.queue_per_team,
    )
    return _response(app, identity, run)


def _response(app: AppState, identity: Identity, run: types.Run) -> Response:
    """Answer with a run, without results that are hidden from the caller."""
    return json_response(without_hidden(app.folder, identity, run))


# What runs found: the same bytes as the command line writes.

results_router = APIRouter(tags=["results"])
_RESULTS = {"score": "result.json", "compare": "comparison.json", "diagnose": "diagnosis.json", "board": "ranking.json"}
_READ_IN_PLACE = frozenset({"application/json", "text/plain", "text/html"})
FileName = Annotated[str, Path(max_length=80, description="Of a file of the run, as its outputs name it.")]
_ANY = "*/*"
_SMALL = 2**18
"""Bytes that are read at once: opened, measured and read by threads, they would take ten times as long."""


@results_router.get("/v1/runs/{id}/result", **contract(media="application/json"))
async def get_result(id: RunId, request: Request, identity: Anybody, app: App) -> Response:  # noqa: A002 - of the path
    """The JSON of ``shoe score``, or of ``shoe compare`` for a comparison."""
    run = visible_run(app.folder, identity, id)
    check_results(app.folder, identity, run)
    return _file(app, run, _RESULTS.get(run.kind, "result.json"), request)


@results_router.get("/v1/runs/{id}/files/{name}", **contract(media=_ANY))
async def get_file(id: RunId, name: FileName, request: Request, identity: Anybody, app: App) -> Response:  # noqa: A002
    """A file that a run has made."""
    run = visible_run(app.folder, identity, id)
    check_results(app.folder, identity, run)
    check_file(app.folder, identity, run, name)
    return _file(app, run, name, request)


def _file(app: AppState, run: Run, name: str, request: Request) -> Response:
    of = run.outputs.get(name)
    if of is None:
        if run.state != "done":
            raise ConflictError(f"run {run.id}: found it {run.state}, expected one that is done")
        known = ", ".join(run.outputs) or "none"
        coming = [kind for kind, state in run.further.items() if state in ("queued", "running")]
        later = f", and more when it is done with: {', '.join(coming)}" if coming else ""
        raise NotFoundError(f"run {run.id} has no file of this name; it has {known}{later}")
    media = of.media.partition(";")[0]
    headers = {
        "ETag": f'"{of.sha256}"',
        "Cache-Control": "private, no-cache",
        "Content-Disposition": f'{"inline" if media in _READ_IN_PLACE else "attachment"}; filename="{run.id}-{name}"',
        "Content-Security-Policy": REPORT_POLICY if media == "text/html" else FILE_POLICY,
    }
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    path = app.folder.files.path(of.sha256)
    if of.size <= _SMALL and "range" not in request.headers:
        return Response(path.read_bytes(), headers=headers, media_type=of.media)
    return FileResponse(path, headers=headers, media_type=of.media)


# What happens to a run, as it happens: server-sent events.

_ALIVE_EVERY = 15.0
LastId = Annotated[
    str | None, Header(alias="Last-Event-ID", pattern="^[0-9]{1,18}$", description="The last event that arrived.")
]


@router.get("/v1/runs/{id}/events", **contract(media="text/event-stream"))
async def events(id: RunId, identity: Anybody, app: App, last: LastId = None) -> Response:  # noqa: A002
    """Events ``run`` (as GET gives it) and ``log`` (one line), from the first second to the last; then ``end``."""
    await run_in_threadpool(visible_run, app.folder, identity, id)
    who = identity.key or str(identity.team)
    if app.streams[who] >= app.settings.events_per_caller:
        raise too_many("too many streams of events are open", 10)
    headers = {"X-Accel-Buffering": "no"}
    return StreamingResponse(
        _events(app, identity, id, int(last or 0), who), headers=headers, media_type="text/event-stream"
    )


async def _events(app: AppState, identity: Identity, id_: str, after: int, who: str) -> AsyncIterator[bytes]:
    def look() -> tuple[types.Run, list[types.Line]]:
        of = visible_run(app.folder, identity, id_)
        return of, [] if is_hidden(app.folder, identity, of) else runs.log(app.folder, id_, after)

    said = None
    app.streams[who] += 1
    try:
        while not app.changes.stopping:
            run, lines = await run_in_threadpool(look)
            for line in lines:
                after = line.number
                yield _event("log", line, after)
            answer = msgspec.json.encode(run)
            if answer != said:
                said = answer
                yield _event("run", msgspec.Raw(answer))
            if run.state in types.ENDED and all(state in types.ENDED for state in run.further.values()):
                yield _event("end", types.Says())
                return
            while not await app.changes.wait(_ALIVE_EVERY):
                yield b": alive\n\n"
    finally:
        app.streams[who] -= 1
        if not app.streams[who]:
            del app.streams[who]


def _event(kind: str, data: Any, number: int | None = None) -> bytes:
    mark = b"" if number is None else b"id: %d\n" % number
    return mark + b"event: " + kind.encode() + b"\ndata: " + msgspec.json.encode(data) + b"\n\n"
