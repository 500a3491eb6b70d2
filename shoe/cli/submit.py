"""``shoe submit``: the main job, done by a metric service."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoe.cli import options
from shoe.cli.output import telling

if TYPE_CHECKING:
    from shoe.service.types import Run

TOKEN = "SHOE_TOKEN"  # noqa: S105 - the name of the variable
_REPORT, _JSON, _RUN = "report.txt", "result.json", "run.shoe"


def submit(
    predictions: options.Predictions,
    server: Annotated[str, typer.Option(envvar="SHOE_SERVER", help="Address of the service.")],
    truth: Annotated[
        str | None, typer.Option("--truth", "-t", help="Name of the ground truth there, where it has several.")
    ] = None,
    protocol: options.Protocols = None,
    similarity: Annotated[str | None, typer.Option(help="Name of a similarity map at the service.")] = None,
    option: options.ProtocolOptions = None,
    boxes: options.Boxes = None,
    scores: options.Scores = None,
    format: options.Format = None,
    subset: options.Subset = None,
    name: Annotated[str | None, typer.Option(help="What the predictions are called; else as their file.")] = None,
    board: Annotated[
        str | None, typer.Option(help="Leaderboard to stand in; it says truth, protocols and options.")
    ] = None,
    public: Annotated[bool, typer.Option("--public", help="Let all see the run, not only the team.")] = False,
    token_file: Annotated[
        Path | None, typer.Option(help=f"File with the token that the service gave; or set {TOKEN}.")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Keep what was measured in this file (NAME.shoe).")] = None,
    json: options.Json = None,
) -> None:
    """Have predictions scored by a service, and print what shoe score prints. A file that it has is not sent again.

    What is interrupted goes on where it was when the same is asked again: equal work is one run. Exit codes: 0 for
    results, 2 for a refusal or a run that failed, with its reason, 130 when interrupted.

    Example: shoe submit predictions.json --server https://shoe.example.org --truth hico-det
    """
    from shoe.cli.output import refuse_overwrite, write_json
    from shoe.core.errors import ServiceError, printable
    from shoe.service.client.client import Client
    from shoe.version import __version__

    refuse_overwrite((predictions, token_file), save, json)
    with Client(server, token=_token(token_file)) as client:
        if client.version.shoe != __version__:
            theirs = printable(client.version.shoe)
            print(f"shoe: the service scores as shoe {theirs} does, this is {__version__}", file=sys.stderr)
        run: Run | None = None
        try:
            with telling() as tell:
                run = client.submit(
                    predictions,
                    truth,
                    name=name,
                    protocols=protocol or (),
                    options=option or (),
                    similarity=similarity,
                    boxes=boxes,
                    scores=scores,
                    format=format,
                    subset=subset,
                    visibility="public" if public else "team",
                    board=board,
                    tell=lambda what, share: tell(f"{what}: {share:.0%}"),
                )
                run = client.wait(run, seen=lambda state: tell(_progress(state)))
        except KeyboardInterrupt:
            kept = f"the run goes on, see {_page(server, run)}" if run else "asked again, it goes on where it was"
            print(f"shoe: interrupted; {kept}", file=sys.stderr)
            raise
        if run.state != "done":
            raise ServiceError(f"run {run.id} {run.state}" + (f": {run.reason}" if run.reason else ""))
        if not run.outputs and save is None and json is None:
            print(f"done; results of the leaderboard {run.board} are hidden for now\nrun        {_page(server, run)}")
            return
        if save is not None:
            client.save(run, _RUN, save)
        if json is not None:
            write_json(client.file(run, _JSON), json)
        if json != "-":
            print(client.file(run, _REPORT).decode("utf-8"), end="")
            print(f"run        {_page(server, run)}")


def _page(server: str, run: Run) -> str:
    """Where people look at a run."""
    return f"{server.rstrip('/')}/runs/{run.id}"


def _token(file: Path | None) -> str | None:
    """The token that is to be sent, which no message ever shows."""
    from shoe.core.errors import InputError, OptionError
    from shoe.core.io.files import read_bytes

    said = os.environ.get(TOKEN, "") if file is None else read_bytes(file).decode("utf-8", "replace")
    if file is None and not said:  # pipelines set it to nothing where they have no such secret
        return None
    token = said.strip()
    if not token.isascii() or not token.isprintable() or " " in token or not token:
        if file is None:
            raise OptionError(f"{TOKEN}: found something else, expected a token of the service")
        raise InputError(file, found="something else", expected="a token of the service, alone")
    return token


def _progress(state: Run) -> str:
    if state.state == "queued":
        return f"queued, {state.position}. in line" if state.position else "queued"
    share = f": {state.progress:.0%}" if state.progress is not None else ""
    return f"{state.stage or state.state}{share}"
