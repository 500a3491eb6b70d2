"""What can be asked of a service, each as a flow."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote as escaped

import msgspec

from shoe.client.flow import Call, Flow, Wait, asked, get, post
from shoe.client.states import ENDED, RunState, Version
from shoe.client.upload import Told, opened, upload
from shoe.core.errors import OptionError, ServiceError
from shoe.version import __version__

API = 1
_FIRST_PATIENCE = 10.0
"""Seconds to wait for a server that nothing was heard of yet: it may start again, and its address may be wrong."""
_FIRST_LOOK, _LONGEST_LOOK = 0.1, 2.0
Seen = Callable[[RunState], None]
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


def submit(
    path: str | Path,
    truth: str | None,
    *,
    name: str | None,
    wanted: Mapping[str, Any],
    visibility: str,
    board: str | None,
    tell: Told,
    packed: bool,
) -> Flow[RunState]:
    """Bring predictions to the server, unless it has them, and have them scored, unless they are."""
    if truth is None and board is None:
        names = [str(each["name"]) for each in (yield from truths())]
        if len(names) != 1:
            known = ", ".join(names) or "none"
            raise OptionError(
                f"truth: found none named, expected one of the ground truths that the server has: {known}"
            )
        truth = names[0]
    with opened(path) as file:
        body = {"prediction": file.digest, "truth": truth, "name": name or Path(path).stem, "visibility": visibility}
        body = _given(body | {"board": board, **wanted})
        try:  # a file that the server has is not sent, and none for a request that it refuses
            return (yield from post("/v1/runs", body)).read(RunState)
        except ServiceError as error:
            if error.status != 404 or file.digest not in str(error):
                raise
        yield from upload(file, tell, packed=packed)
    return (yield from post("/v1/runs", body)).read(RunState)


def run(of: str) -> Flow[RunState]:
    """Ask for a run's state."""
    return (yield from get(_place(of))).read(RunState)


def wait(of: str, seen: Seen, timeout: float | None) -> Flow[RunState]:
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


class _Page(msgspec.Struct):
    runs: list[RunState]


def runs(state: str | None, after: str | None, limit: int) -> Flow[list[RunState]]:
    """List runs, the latest first."""
    query = _given({"state": state, "after": after, "limit": limit})
    return (yield from get("/v1/runs", **query)).read(_Page).runs


def act(of: str, what: str) -> Flow[RunState]:
    """Cancel, retry or diagnose a run; one that is as it was to become, as after a lost answer, stays so."""
    answer = yield from asked(Call("POST", f"{_place(of)}/{what}"), 409)
    return answer.read(RunState) if answer.status != 409 else (yield from run(of))


def change(of: str, what: Mapping[str, str | None]) -> Flow[RunState]:
    """Give a run another name or visibility."""
    return (yield from post(_place(of), _given(what), "PATCH")).read(RunState)


def delete(of: str) -> Flow[None]:
    """Take a run away; one that is gone already is no mistake."""
    yield from asked(Call("DELETE", _place(of)), 404)


def result(of: str) -> Flow[dict[str, Any]]:
    """The JSON of ``shoe score``, or of what else the run is."""
    return (yield from get(f"{_place(of)}/result")).read(dict[str, Any])


def file(of: str, name: str) -> Flow[bytes]:
    """A file that a run has made."""
    return (yield from get(f"{_place(of)}/files/{escaped(name, safe='')}")).content


def compare(ids: Sequence[str], resamples: int | None, seed: int) -> Flow[RunState]:
    """Have runs compared."""
    wanted = _given({"runs": list(ids), "seed": seed, "resamples": resamples})
    return (yield from post("/v1/compare", wanted)).read(RunState)


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


def _given(what: Mapping[str, Any]) -> dict[str, Any]:
    """Only what was said."""
    return {key: value for key, value in what.items() if value is not None and value != []}
