"""What can be asked of a service, each as a flow."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote as escaped

from msgspec.structs import replace

from shoe.client.flow import Call, Flow, Wait, asked, get, post
from shoe.client.upload import Told, opened, upload
from shoe.core.errors import OptionError, ServiceError
from shoe.service.types import ENDED, Change, NewComparison, NewRun, Run, RunList, Version
from shoe.version import __version__

API = 1
_FIRST_PATIENCE = 10.0
"""Seconds to wait for a server that nothing was heard of yet: it may start again, and its address may be wrong."""
_FIRST_LOOK, _LONGEST_LOOK = 0.1, 2.0
Seen = Callable[[Run], None]
"""Called with each state of a run that is waited for."""


def version() -> Flow[Version]:
    """Ask what the server is, and see that it can be spoken with."""
    try:
        found = (yield from asked(Call("GET", "/v1/version"), patience=_FIRST_PATIENCE)).read(Version)
    except ServiceError as error:
        if error.status in (404, 410):
            raise ServiceError(
                f"no shoe service with API v{API} is there (it may be of another version: this is shoe {__version__})",
                error.status,
            ) from None
        raise
    if API not in found.api:
        spoken = ", ".join(f"v{number}" for number in found.api)
        raise ServiceError(
            f"the server runs shoe {found.shoe} and speaks API {spoken}, this is shoe {__version__}, which speaks "
            f"v{API}: pip install 'shoe-eval[client]=={found.shoe}'"
        )
    return found


def submit(path: str | Path, wanted: NewRun, *, tell: Told, packed: bool) -> Flow[Run]:
    """Upload the file if needed and create a run.

    Args:
        path: of the prediction file.
        wanted: the run; its prediction is filled in, and its truth and name unless given.
        tell: progress callback.
        packed: whether the file is compressed for the transfer.
    """
    if wanted.truth is None and wanted.board is None:
        names = [str(each["name"]) for each in (yield from truths())]
        if len(names) != 1:
            known = ", ".join(names) or "none"
            raise OptionError(
                f"truth: found none named, expected one of the ground truths that the server has: {known}"
            )
        wanted = replace(wanted, truth=names[0])
    with opened(path) as file:
        wanted = replace(wanted, prediction=file.digest, name=wanted.name or Path(path).stem)
        try:  # the file is only sent if the server does not have it and accepts the request
            return (yield from post("/v1/runs", wanted)).read(Run)
        except ServiceError as error:
            if error.status != 404 or file.digest not in str(error):
                raise
        yield from upload(file, tell, packed=packed)
    return (yield from post("/v1/runs", wanted)).read(Run)


def run(of: str) -> Flow[Run]:
    """Ask for a run's state."""
    return (yield from get(_place(of))).read(Run)


def wait(of: str, seen: Seen, timeout: float | None) -> Flow[Run]:
    """Look at a run until it has ended, ever less often.

    Raises:
        ServiceError: if it has not ended in time.
    """
    began, pause = time.monotonic(), _FIRST_LOOK
    while True:
        state = yield from run(of)
        seen(state)
        if state.state in ENDED:
            return state
        if timeout is not None and time.monotonic() - began + pause > timeout:
            raise ServiceError(f"{state.id}: found {state.state} after {timeout:g} s, expected it to have ended")
        yield Wait(pause)
        pause = min(1.5 * pause, _LONGEST_LOOK)


def runs(state: str | None, after: str | None, limit: int) -> Flow[list[Run]]:
    """List runs, the latest first."""
    query: dict[str, str | int] = {"limit": limit}
    query |= {name: value for name, value in (("state", state), ("after", after)) if value is not None}
    return (yield from get("/v1/runs", **query)).read(RunList).runs


def act(of: str, what: str) -> Flow[Run]:
    """Cancel, retry or diagnose a run; one that is as it was to become, as after a lost answer, stays so."""
    answer = yield from asked(Call("POST", f"{_place(of)}/{what}"), 409)
    return answer.read(Run) if answer.status != 409 else (yield from run(of))


def change(of: str, what: Change) -> Flow[Run]:
    """Change the name or the visibility of a run."""
    return (yield from post(_place(of), what, "PATCH")).read(Run)


def delete(of: str) -> Flow[None]:
    """Take a run away; one that is gone already is no mistake."""
    yield from asked(Call("DELETE", _place(of)), 404)


def result(of: str) -> Flow[dict[str, Any]]:
    """The JSON of ``shoe score``, or of what else the run is."""
    return (yield from get(f"{_place(of)}/result")).read(dict[str, Any])


def file(of: str, name: str) -> Flow[bytes]:
    """A file that a run has made."""
    return (yield from get(f"{_place(of)}/files/{escaped(name, safe='')}")).content


def compare(wanted: NewComparison) -> Flow[Run]:
    """Have runs compared."""
    return (yield from post("/v1/compare", wanted)).read(Run)


def truths() -> Flow[list[dict[str, Any]]]:
    """Ground truths that are registered."""
    return (yield from get("/v1/truths")).read(dict[str, list[dict[str, Any]]])["truths"]


def boards() -> Flow[list[dict[str, Any]]]:
    """Leaderboards."""
    return (yield from get("/v1/boards")).read(dict[str, list[dict[str, Any]]])["boards"]


def board(name: str) -> Flow[dict[str, Any]]:
    """A leaderboard's standing."""
    return (yield from get(f"/v1/boards/{escaped(name, safe='')}")).read(dict[str, Any])


def _place(of: str) -> str:
    return f"/v1/runs/{escaped(of, safe='')}"
