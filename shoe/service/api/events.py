"""What happens to a run, as it happens: server-sent events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Header
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from shoe.service import runs, types
from shoe.service.api.runs import RunId
from shoe.service.callers import Anybody, App, AppState
from shoe.service.contract import contract
from shoe.service.refusals import too_many
from shoe.service.run_access import is_hidden, visible_run
from shoe.service.tokens import Identity

router = APIRouter(tags=["runs"])
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
