"""Runs: asked for, looked at, changed."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from shoe.core.errors import OptionError
from shoe.service import runs, submissions
from shoe.service.api import models
from shoe.service.api.answers import run_answer
from shoe.service.callers import Anybody, Desk, Reader, Submitter, TheDesk
from shoe.service.contract import contract
from shoe.service.errors import ConflictError
from shoe.service.kept import unchanging
from shoe.service.reading import body
from shoe.service.refusals import json_response
from shoe.service.tokens import Identity
from shoe.service.visible import check_closed, is_hidden, own_run, visible_run, with_results, without_hidden

router = APIRouter(tags=["runs"])
RunId = Annotated[str, Path(pattern="^r_[0-9a-f]{20}$", description="Of a run.")]
_NOT_OF_REQUEST = {"prediction", "board", "name", "visibility"}


@router.post("/v1/runs", **contract(models.Run, models.NewRun))
def new_run(asked: Annotated[models.NewRun, body(models.NewRun)], identity: Submitter, desk: TheDesk) -> Response:
    """Have predictions scored. Asked again for the same, it is the same run, and nothing is done twice."""
    if asked.truth is None and asked.board is None:
        raise OptionError("truth: found none, expected the name of a ground truth, or of a board")
    if asked.board is None:
        check_closed(desk, identity, str(asked.truth), whole=not asked.images_in_predictions)
    given: dict[str, Any] = {
        name: getattr(asked, name) for name in asked.__struct_fields__ if name not in _NOT_OF_REQUEST
    }
    given |= {name: tuple(given[name]) for name in ("protocols", "options")}
    request = runs.Request(**{**given, "truth": asked.truth or ""})
    run = submissions.submit(
        desk.folder,
        str(identity.team),
        asked.name,
        asked.prediction,
        request,
        visibility=asked.visibility,
        board=asked.board,
        most_waiting=desk.settings.queue_per_team,
    )
    return _said(desk, identity, run)


@router.get("/v1/runs", **contract(models.RunList))
@unchanging
async def list_runs(
    identity: Reader,
    desk: TheDesk,
    state: Annotated[models.State | None, Query(description="Only runs in this state.")] = None,
    after: Annotated[
        str | None, Query(pattern="^r_[0-9a-f]{20}$", description="The last run of the list before.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=200, description="Most runs.")] = 50,
) -> Response:
    """List your team's runs and public ones, the latest first."""
    number = visible_run(desk, identity, after).number if after else None
    team = None if identity.allows("admin") else identity.team
    found = runs.runs(desk.folder, team, number, limit, state)
    last = found[-1].id if len(found) == limit else None
    return json_response(
        models.RunList(runs=[run_answer(without_hidden(desk, identity, run)) for run in found], after=last)
    )


@router.get("/v1/runs/{id}", **contract(models.Run))
@unchanging
async def get_run(id: RunId, identity: Anybody, desk: TheDesk) -> Response:  # noqa: A002 - of the path
    """How a run stands."""
    return _said(desk, identity, visible_run(desk, identity, id))


@router.get("/v1/runs/{id}/log", **contract(models.Log))
def get_log(
    id: RunId,  # noqa: A002 - of the path
    identity: Anybody,
    desk: TheDesk,
    after: Annotated[int, Query(ge=0, le=2**62, description="Number of the last line of the answer before.")] = 0,
) -> Response:
    """What a run's work has said, at most 1,000 lines."""
    of = visible_run(desk, identity, id)
    lines = [] if is_hidden(desk, identity, of) else runs.log(desk.folder, of.id, after)
    said = [models.Line(number=each.number, at=each.at, attempt=each.attempt, line=each.line) for each in lines]
    return json_response(models.Log(lines=said, after=said[-1].number if said else after))


@router.post("/v1/runs/{id}/cancel", **contract(models.Run))
def cancel_run(id: RunId, identity: Submitter, desk: TheDesk) -> Response:  # noqa: A002 - of the path
    """Give a run up that waits or is under way."""
    return _said(desk, identity, runs.cancel(desk.folder, own_run(desk, identity, id).id))


@router.post("/v1/runs/{id}/retry", **contract(models.Run))
def retry_run(id: RunId, identity: Submitter, desk: TheDesk) -> Response:  # noqa: A002 - of the path
    """Do a run again that failed or was cancelled."""
    return _said(
        desk, identity, submissions.retry(desk.folder, own_run(desk, identity, id).id, desk.settings.queue_per_team)
    )


@router.patch("/v1/runs/{id}", **contract(models.Run, models.Change))
def change_run(
    id: RunId,  # noqa: A002 - of the path
    asked: Annotated[models.Change, body(models.Change)],
    identity: Submitter,
    desk: TheDesk,
) -> Response:
    """Call a run otherwise, or show it to others."""
    of = own_run(desk, identity, id)
    return _said(desk, identity, runs.change(desk.folder, of.id, asked.name, asked.visibility))


@router.delete("/v1/runs/{id}", **contract(status=204))
def delete_run(id: RunId, identity: Submitter, desk: TheDesk) -> Response:  # noqa: A002 - of the path
    """Take a run away; gone once is gone."""
    runs.delete(desk.folder, own_run(desk, identity, id).id)
    return Response(status_code=204)


@router.post("/v1/runs/{id}/diagnose", **contract(models.Run))
def diagnose_run(id: RunId, identity: Submitter, desk: TheDesk) -> Response:  # noqa: A002 - of the path
    """Ask for a run's diagnosis, which each run that was scored gets by itself: it stands among its files."""
    of = own_run(desk, identity, id)
    if of.kind != "score":
        raise ConflictError(f"run {id}: found a run of kind {of.kind}, expected one that scores predictions")
    return _said(desk, identity, of)


@router.post("/v1/compare", **contract(models.Run, models.NewComparison))
def compare_runs(
    asked: Annotated[models.NewComparison, body(models.NewComparison)], identity: Submitter, desk: TheDesk
) -> Response:
    """Have 2 to 20 finished runs compared: paired differences with intervals, what changed, how to tell it."""
    run = submissions.compare(
        desk.folder,
        str(identity.team),
        with_results(desk, identity, asked.runs),
        resamples=asked.resamples,
        seed=asked.seed,
        allow_different=asked.allow_different,
        visibility=asked.visibility,
        most_waiting=desk.settings.queue_per_team,
    )
    return _said(desk, identity, run)


def _said(desk: Desk, identity: Identity, run: runs.Run) -> Response:
    """A run, without what is hidden from who asks."""
    return json_response(run_answer(without_hidden(desk, identity, run)))
