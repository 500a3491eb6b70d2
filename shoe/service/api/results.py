"""What runs found: the same bytes as the command line writes."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from shoe.service.api.runs import RunId
from shoe.service.callers import Anybody, App, AppState
from shoe.service.contract import contract
from shoe.service.refusals import ConflictError, NotFoundError
from shoe.service.run_access import check_file, check_results, visible_run
from shoe.service.security import FILE_POLICY, REPORT_POLICY
from shoe.service.types import Run

router = APIRouter(tags=["results"])
_RESULTS = {"score": "result.json", "compare": "comparison.json", "diagnose": "diagnosis.json", "board": "ranking.json"}
_READ_IN_PLACE = frozenset({"application/json", "text/plain", "text/html"})
FileName = Annotated[str, Path(max_length=80, description="Of a file of the run, as its outputs name it.")]
_ANY = "*/*"
_SMALL = 2**18
"""Bytes that are read at once: opened, measured and read by threads, they would take ten times as long."""


@router.get("/v1/runs/{id}/result", **contract(media="application/json"))
async def get_result(id: RunId, request: Request, identity: Anybody, app: App) -> Response:  # noqa: A002 - of the path
    """The JSON of ``shoe score``, or of ``shoe compare`` for a comparison."""
    run = visible_run(app.folder, identity, id)
    check_results(app.folder, identity, run)
    return _file(app, run, _RESULTS.get(run.kind, "result.json"), request)


@router.get("/v1/runs/{id}/files/{name}", **contract(media=_ANY))
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
