"""API routes of runs: submit, list, change, compare, results and events."""

from collections.abc import AsyncIterator
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Header, Path, Query
from msgspec.structs import replace
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse

from shoe.core.errors import OptionError
from shoe.service import access, runs, submissions, types
from shoe.service.callers import Anybody, App, AppState, Reader, Submitter
from shoe.service.contract import body, contract, json_response, known_parameters, too_many
from shoe.service.errors import ConflictError, NotFoundError
from shoe.service.http_guard import FILE_POLICY, REPORT_POLICY
from shoe.service.tokens import Identity
from shoe.service.types import Run

router = APIRouter(dependencies=[Depends(known_parameters)])
RunId = Annotated[str, Path(alias="id", pattern="^r_[0-9a-f]{20}$", description="ID of the run.")]


@router.post("/v1/runs", tags=["runs"], **contract(types.Run, types.NewRun))
def new_run(document: Annotated[types.NewRun, body(types.NewRun)], identity: Submitter, app: App) -> Response:
    """Submit predictions for scoring. If your team has an equal run, not cancelled or deleted, that run is returned."""
    if document.truth is None and document.board is None:
        raise OptionError("truth: found none, expected the name of a ground truth (or board: name of a leaderboard)")
    request = msgspec.convert(replace(document, truth=document.truth or ""), types.Request, from_attributes=True)
    if document.board is None:
        access.check_closed(app.folder, identity, request)
    team, most = str(identity.team), app.settings.queue_per_team
    run = submissions.submit(
        app.folder, team, document.name, document.prediction, request, document.visibility, document.board, most
    )
    return _response(app, identity, run)


@router.get("/v1/runs", tags=["runs"], **contract(types.RunList))
async def list_runs(
    identity: Reader,
    app: App,
    state: Annotated[types.State | None, Query(description="List only runs in this state.")] = None,
    after: Annotated[
        str | None, Query(pattern="^r_[0-9a-f]{20}$", description="ID of the last run of the previous page.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=200, description="Maximum number of runs.")] = 50,
) -> Response:
    """List runs of your team and public runs (for administrators: all runs), the latest first."""
    found = access.visible_runs(app.folder, identity, after, limit, state)
    return json_response(types.RunList(runs=found, after=found[-1].id if len(found) == limit else None))


@router.get("/v1/runs/{id}", tags=["runs"], **contract(types.Run))
async def get_run(id_: RunId, identity: Anybody, app: App) -> Response:
    """Return the current state of a run, without metrics and output files that are hidden from the caller."""
    return _response(app, identity, access.visible_run(app.folder, identity, id_))


@router.get("/v1/runs/{id}/log", tags=["runs"], **contract(types.Log))
def get_log(
    id_: RunId,
    identity: Anybody,
    app: App,
    after: Annotated[int, Query(ge=0, le=2**62, description="Number of the last line that the client has.")] = 0,
) -> Response:
    """Return at most 1,000 log lines of a run after the line with a given number, and the number of the last line.

    No lines are returned if the results of the run are hidden from the caller.
    """
    run = access.visible_run(app.folder, identity, id_)
    lines = access.visible_log(app.folder, identity, run, after)
    return json_response(types.Log(lines=lines, after=lines[-1].number if lines else after))


@router.post("/v1/runs/{id}/cancel", tags=["runs"], **contract(types.Run))
def cancel_run(id_: RunId, identity: Submitter, app: App) -> Response:
    """Cancel a queued or running run, and return the run; the status is 409 if the run has ended."""
    return _response(app, identity, runs.cancel(app.folder, access.own_run(app.folder, identity, id_).id))


@router.post("/v1/runs/{id}/retry", tags=["runs"], **contract(types.Run))
def retry_run(id_: RunId, identity: Submitter, app: App) -> Response:
    """Repeat a failed or cancelled run, and return it; status 409 for another state, or if an equal run exists."""
    run = access.own_run(app.folder, identity, id_)
    return _response(app, identity, submissions.retry(app.folder, run.id, app.settings.queue_per_team))


@router.patch("/v1/runs/{id}", tags=["runs"], **contract(types.Run, types.Change))
def change_run(
    id_: RunId, document: Annotated[types.Change, body(types.Change)], identity: Submitter, app: App
) -> Response:
    """Change name, visibility or link (to paper or code) of a run; absent fields stay the same. Return the run."""
    run = access.own_run(app.folder, identity, id_)
    return _response(app, identity, runs.change(app.folder, run.id, document.name, document.visibility, document.link))


@router.delete("/v1/runs/{id}", tags=["runs"], **contract(status=204))
def delete_run(id_: RunId, identity: Submitter, app: App) -> Response:
    """Delete a run of the caller's team, or any run as an administrator; this cannot be undone."""
    runs.delete(app.folder, access.own_run(app.folder, identity, id_).id)
    return Response(status_code=204)


@router.post("/v1/runs/{id}/diagnose", tags=["runs"], **contract(types.Run))
def diagnose_run(id_: RunId, identity: Submitter, app: App) -> Response:
    """Return a run with the state of its diagnosis, which every scoring starts; status 409 for a comparison."""
    run = access.own_run(app.folder, identity, id_)
    if run.kind != "score":
        raise ConflictError(f"run {id_} is of kind {run.kind}: only runs of kind score have a diagnosis")
    return _response(app, identity, run)


@router.post("/v1/compare", tags=["runs"], **contract(types.Run, types.NewComparison))
def compare_runs(
    document: Annotated[types.NewComparison, body(types.NewComparison)], identity: Submitter, app: App
) -> Response:
    """Compare 2 to 20 finished runs. If your team has an equal run, not cancelled or deleted, that run is returned."""
    options = msgspec.structs.asdict(document)
    ids, most = access.with_results(app.folder, identity, options.pop("runs")), app.settings.queue_per_team
    run = submissions.compare(app.folder, str(identity.team), ids, **options, most_waiting=most)
    return _response(app, identity, run)


def _response(app: AppState, identity: Identity, run: types.Run) -> Response:
    return json_response(access.without_hidden(app.folder, identity, [run])[0])


_ALIVE_EVERY = 15.0
LastId = Annotated[
    str | None, Header(alias="Last-Event-ID", pattern="^[0-9]{1,18}$", description="ID of the last event received.")
]


@router.get("/v1/runs/{id}/events", tags=["runs"], **contract(media="text/event-stream"))
async def events(id_: RunId, identity: Anybody, app: App, last: LastId = None) -> Response:
    """Stream the progress of a run: events ``run`` (state of the run) and ``log`` (one line), and finally ``end``."""
    await run_in_threadpool(access.visible_run, app.folder, identity, id_)
    caller = identity.key or str(identity.team)
    if app.streams[caller] >= app.settings.events_per_caller:
        raise too_many("too many event streams are open", 10)
    stream = _events(app, identity, id_, int(last or 0), caller)
    return StreamingResponse(stream, headers={"X-Accel-Buffering": "no"}, media_type="text/event-stream")


async def _events(app: AppState, identity: Identity, id_: str, after: int, caller: str) -> AsyncIterator[bytes]:
    def read() -> tuple[types.Run, list[types.Line]]:
        run = access.visible_run(app.folder, identity, id_)
        return run, access.visible_log(app.folder, identity, run, after)

    latest = None
    app.streams[caller] += 1
    try:
        while not app.changes.stopping:
            run, lines = await run_in_threadpool(read)
            for line in lines:
                after = line.number
                yield _event("log", line, after)
            answer = msgspec.json.encode(run)
            if answer != latest:
                latest = answer
                yield _event("run", msgspec.Raw(answer))
            if run.state in types.ENDED and all(state in types.ENDED for state in run.further.values()):
                yield _event("end", types.ResponseBody())
                return
            while not await app.changes.wait(_ALIVE_EVERY):
                yield b": alive\n\n"
    finally:
        app.streams[caller] -= 1
        if not app.streams[caller]:
            del app.streams[caller]


def _event(kind: str, data: Any, number: int | None = None) -> bytes:
    mark = b"" if number is None else b"id: %d\n" % number
    return mark + b"event: " + kind.encode() + b"\ndata: " + msgspec.json.encode(data) + b"\n\n"


_READ_IN_PLACE = frozenset({"application/json", "text/plain", "text/html"})
FileName = Annotated[str, Path(max_length=80, description="Name of an output file of the run.")]
_ANY = "*/*"
_SMALL = 2**18
"""Size in bytes up to which a file is read at once; FileResponse, which uses threads, takes ten times as long."""


@router.get("/v1/runs/{id}/result", tags=["results"], **contract(media="application/json"))
async def get_result(id_: RunId, request: Request, identity: Anybody, app: App) -> Response:
    """Return the result of a run as JSON, as ``shoe score`` or, for a comparison, ``shoe compare`` writes it."""
    run = access.visible_run(app.folder, identity, id_)
    return _file(app, identity, run, "comparison.json" if run.kind == "compare" else "result.json", request)


@router.get("/v1/runs/{id}/files/{name}", tags=["results"], **contract(media=_ANY))
async def get_file(id_: RunId, name: FileName, request: Request, identity: Anybody, app: App) -> Response:
    """Return an output file of a run: status 403 if the file is hidden, 409 before the run is done, 404 if missing."""
    return _file(app, identity, access.visible_run(app.folder, identity, id_), name, request)


def _file(app: AppState, identity: Identity, run: Run, name: str, request: Request) -> Response:
    access.check_results(app.folder, identity, run)
    access.check_file(app.folder, identity, run, name)
    output = run.outputs.get(name)
    if output is None:
        if run.state != "done":
            raise ConflictError(f"run {run.id} is {run.state}: a run has output files only when it is done")
        known = ", ".join(run.outputs) or "none"
        pending = [kind for kind, state in run.further.items() if state in ("queued", "running")]
        later = f" (files of these jobs follow: {', '.join(pending)})" if pending else ""
        raise NotFoundError(f"run {run.id} has no file of this name; files of the run: {known}{later}")
    media = output.media.partition(";")[0]
    headers = {
        "ETag": f'"{output.sha256}"',
        "Cache-Control": "private, no-cache",
        "Content-Disposition": f'{"inline" if media in _READ_IN_PLACE else "attachment"}; filename="{run.id}-{name}"',
        "Content-Security-Policy": REPORT_POLICY if media == "text/html" else FILE_POLICY,
    }
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    path = app.folder.files.path(output.sha256)
    if output.size <= _SMALL and "range" not in request.headers:
        return Response(path.read_bytes(), headers=headers, media_type=output.media)
    return FileResponse(path, headers=headers, media_type=output.media)
