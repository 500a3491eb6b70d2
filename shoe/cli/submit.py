"""``shoe submit``: score predictions at a metric service."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option, confirm

from shoe.cli import options
from shoe.cli.output import refuse_overwrite, show_progress, write_json
from shoe.core.errors import InputError, OptionError, ServiceError, printable

if TYPE_CHECKING:
    from shoe.service.types import Run

TOKEN = "SHOE_TOKEN"  # noqa: S105 - the name of the variable
_REPORT, _JSON, _RUN = "report.txt", "result.json", "run.shoe"


def submit(
    predictions: options.Predictions,
    server: Annotated[str, Option(envvar="SHOE_SERVER", help="Address of the service.")],
    truth: Annotated[str | None, Option("--truth", "-t", help="Ground truth, if the service has several.")] = None,
    protocol: options.Protocols = None,
    similarity: Annotated[str | None, Option(help="Name of a similarity map registered at the service.")] = None,
    option: options.ProtocolOptions = None,
    boxes: options.Boxes = None,
    scores: options.Scores = None,
    format: options.Format = None,
    subset: options.Subset = None,
    bad_boxes: options.BadBoxes = "refuse",
    name: Annotated[str | None, Option(help="Name of the run. Default: the file name of the predictions.")] = None,
    board: Annotated[str | None, Option(help="Leaderboard, which sets ground truth, protocols and options.")] = None,
    public: Annotated[bool, Option("--public", help="Make the run visible to everyone, not only the team.")] = False,
    token_file: Annotated[Path | None, Option(help=f"Token file. Default: environment variable {TOKEN}.")] = None,
    save: Annotated[Path | None, Option(help="Save the results to this file (NAME.shoe).")] = None,
    json: options.Json = None,
) -> None:
    """Score predictions at a service, and print the same report as shoe score.

    A file that the service already has is not uploaded again. Run the same command again to resume an interrupted
    submission: identical submissions share one run. Exit codes: 0 for results, 2 for a refused or failed run (with the
    reason), 130 if interrupted.

    Example: shoe submit predictions.json --server https://shoe.example.org --truth hico-det
    """
    from shoe.service.client import Client
    from shoe.version import __version__

    refuse_overwrite((predictions, token_file), save, json)
    if board is not None:
        print(f"shoe: leaderboard {board} shows name, team and scores of the run to its readers", file=sys.stderr)
        if sys.stdin.isatty() and not confirm("Submit?", err=True):
            raise OptionError("not submitted")
    with Client(server, token=_token(token_file)) as client:
        if client.version.shoe != __version__:
            theirs = printable(client.version.shoe)
            print(f"shoe: version mismatch: the service runs shoe {theirs}, this is {__version__}", file=sys.stderr)
        run: Run | None = None
        try:
            with show_progress() as progress:
                run = client.submit(
                    predictions, truth, name=name, board=board, visibility="public" if public else "team",
                    protocols=protocol or (), options=option or (), similarity=similarity, boxes=boxes, scores=scores,
                    format=format, subset=subset, bad_boxes=bad_boxes,
                    progress=lambda what, share: progress(f"{what}: {share:.0%}"),
                )  # fmt: skip
                run = client.wait(run, seen=lambda state: progress(_progress(state)))
        except KeyboardInterrupt:
            state = f"the run continues at {_page(server, run)}" if run else "run the same command to resume"
            print(f"shoe: interrupted; {state}", file=sys.stderr)
            raise
        if run.state != "done":
            raise ServiceError(f"run {run.id} {run.state}" + (f": {run.reason}" if run.reason else ""))
        if not run.outputs and save is None and json is None:
            print(f"done; results of the leaderboard {run.board} are hidden\nrun        {_page(server, run)}")
            return
        if save is not None:
            client.save(run, _RUN, save)
        if json is not None:
            write_json(client.file(run, _JSON), json)
        if json != "-":
            print(client.file(run, _REPORT).decode("utf-8"), end="")
            print(f"run        {_page(server, run)}")


def _page(server: str, run: Run) -> str:
    return f"{server.rstrip('/')}/runs/{run.id}"


def _token(file: Path | None) -> str | None:
    """Return the access token from a file or the environment; error messages never contain its value."""
    from shoe.core.io.files import read_bytes

    text = os.environ.get(TOKEN, "") if file is None else read_bytes(file).decode("utf-8", "replace")
    if file is None and not text:  # CI systems set the variable to an empty string if the secret is not available
        return None
    token = text.strip()
    if not token.isascii() or not token.isprintable() or " " in token or not token:
        if file is None:
            raise OptionError(f"{TOKEN}: found text that is not a token, expected an access token of the service")
        raise InputError(file, found="text that is not a token", expected="only an access token of the service")
    return token


def _progress(state: Run) -> str:
    if state.state == "queued":
        return f"queued, position {state.position}" if state.position else "queued"
    return (state.stage or state.state) + (f": {state.progress:.0%}" if state.progress is not None else "")
