"""Runs: asked for, looked at, changed."""

from __future__ import annotations

from typing import Annotated

import msgspec
from fastapi import APIRouter, Path, Query
from msgspec.structs import replace
from starlette.responses import Response

from shoe.core.errors import OptionError
from shoe.service import runs, submissions, types
from shoe.service.callers import Anybody, App, AppState, Reader, Submitter
from shoe.service.contract import contract
from shoe.service.refusals import ConflictError, body, json_response
from shoe.service.run_access import check_closed, is_hidden, own_run, visible_run, with_results, without_hidden
from shoe.service.tokens import Identity

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
