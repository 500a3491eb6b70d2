"""``shoe serve``: run and administrate a metric service."""

from __future__ import annotations

import gc
import logging
import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option
from typer.core import TyperGroup

from shoe.benchmarks import DEFAULT
from shoe.cli import options
from shoe.core.errors import MissingExtraError, OptionError, did_you_mean, quote

if TYPE_CHECKING:
    from shoe.service.folder import Folder

FolderPath = Annotated[Path, Argument(help="Folder of the service.")]


@contextmanager
def service_context() -> Iterator[None]:
    """Print warnings as log lines; raise a ShoeError for a missing library or a database error."""
    gc.enable()  # disabled at the start of every command, as short commands do not profit from it
    logging.basicConfig(format="shoe: %(message)s", level=logging.WARNING)
    try:
        yield
    except ModuleNotFoundError as error:
        if str(error.name).split(".")[0] in ("fastapi", "uvicorn", "jinja2", "zstandard", "starlette", "h11"):
            raise MissingExtraError("shoe serve", "serve") from None
        raise
    except sqlite3.Error as error:
        raise OptionError(f"database of the service: {error}: run `shoe serve doctor` to check for damage") from None


@contextmanager
def open_service(
    folder: Path, action: str | None = None, object: str | None = None, create: bool = False
) -> Iterator[Folder]:
    """Yield the opened folder of a service; on success, record ``action`` on ``object``, if given, in the audit log.

    With ``create``, a missing folder is created; otherwise, InputError is raised, so that mistyped names are noticed.
    """
    with service_context():
        from shoe.service import tokens
        from shoe.service.folder import Folder

        made = Folder.open(folder, create)
        try:
            yield made
            if action is not None:
                tokens.record(made, tokens.COMMAND_LINE, action, object)
        finally:
            made.close()


def new(
    folder: FolderPath,
    name: Annotated[str, Argument(help="Name of the token, e.g. ci.")],
    team: Annotated[str, Option(help="Team whose runs the token can read and create.")],
    scope: Annotated[
        list[str] | None, Option(help="Scope: read, submit (includes read) or admin (includes both). Default: submit.")
    ] = None,
    days: Annotated[float | None, Option(help="Days until the token expires. Default: never.")] = None,
) -> None:
    """Create a token and print it. The token is printed only once.

    Example: shoe serve token new lab ci --team vision --days 90
    """
    with open_service(folder, "token new", f"{name} of {team}") as place:
        from shoe.service.tokens import new_token

        print(new_token(place, name, team, scope or ("submit",), days))


def list_(folder: FolderPath) -> None:
    """List tokens by their first characters. The service stores only hashes, so full tokens cannot be shown.

    Example: shoe serve token list lab
    """
    from shoe.report.text import aligned

    def day(at: float | None) -> str:
        return "-" if at is None else f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}"

    with open_service(folder) as place:
        from shoe.service.tokens import tokens

        rows = [["token", "name", "team", "scopes", "created", "expires", "last used", "revoked"]]
        for token in tokens(place):
            days = map(day, (token.created, token.expires, token.last_used, token.revoked))
            rows.append([f"{token.prefix}...", token.name, token.team, " ".join(token.scopes), *days])
        print("\n".join(aligned(rows)))


def revoke(
    folder: FolderPath, token: Annotated[str, Argument(help="First 10 characters of the token, or the whole token.")]
) -> None:
    """Revoke a token and all logins made with it.

    Example: shoe serve token revoke lab shoe_Ab12C
    """
    with open_service(folder, "token revoke", token.strip()[:10]) as place:  # the audit log has no whole tokens
        from shoe.service.tokens import revoke as revoke_token

        print(f"{revoke_token(place, token).prefix}...: revoked")


class _Group(TyperGroup):
    """Command group that also accepts a folder instead of a command name: ``shoe serve FOLDER`` runs ``start``."""

    def resolve_command(self, ctx, args):  # type: ignore[no-untyped-def]  # as click has it
        if args[0] not in self.commands:
            word = args[0]
            is_path = Path(word).exists() or "/" in word or word.startswith("-")
            if not is_path and (hint := did_you_mean(word, self.commands)):  # no folder of that name is created
                found, expected = quote(word), f"a command or a folder ({hint} for a folder: ./{word})"
                raise OptionError(f"serve: found {found}, expected {expected}")
            args = ["start", *args]
        return super().resolve_command(ctx, args)


_Host = Annotated[str, Option(help="Address to listen on. Tokens are required unless it is a loopback address.")]
_Port = Annotated[int, Option(min=0, max=65535, help="Port to listen on; 0 selects a free port.")]
_PORT = 8017
_ENGINES = "processes (local), ray (the cluster at RAY_ADDRESS, or a local one), ray:HOST:PORT, ray://HOST:PORT"


def start(
    folder: Annotated[Path, Argument(help="Folder of the service; created if missing.")],
    host: _Host = "127.0.0.1",
    port: _Port = _PORT,
    name: Annotated[list[str] | None, Option(help="Host name of the service behind a proxy. May be repeated.")] = None,
    jobs: Annotated[
        int | None, Option(min=1, max=256, help="Maximum number of concurrent jobs. Default: 1 (on Ray: one per core).")
    ] = None,
    memory: Annotated[float, Option(min=0.5, help="Memory limit of a job, in gigabytes.")] = 16.0,
    minutes: Annotated[float, Option(min=0.1, help="Time limit of a job, in minutes.")] = 60.0,
    tokens: Annotated[bool, Option("--tokens", help="Require tokens on a loopback address, too.")] = False,
    engine: Annotated[str, Option(help=f"Where jobs run: {_ENGINES}.")] = "processes",
    images: Annotated[Path | None, Option(help="Folder of the images, for error examples.", file_okay=False)] = None,
) -> None:
    """Start the service. The first start prints an administrator token.

    Jobs that were unfinished when the server stopped or was killed run after the next start.

    Example: shoe serve lab --port 8017
    """
    with service_context():
        from shoe.service.folder import Folder
        from shoe.service.process import Limits
        from shoe.service.server import serve
        from shoe.service.settings import Settings

        for each in name or ():
            if not re.fullmatch(r"[\w.-]+", each, re.ASCII):
                raise OptionError(f"--name: found {quote(each)}, expected a host name such as shoe.example.org")
        names = tuple(map(str.lower, name or ()))  # as compared with Host headers
        settings = Settings(host=host, port=port, names=names, always_tokens=tokens, images=images)
        limits = Limits(memory=int(memory * 1e9), cpu=int(minutes * 60), wall=minutes * 60)
        cluster, place, progress = _cluster(engine), Folder.open(folder), partial(print, flush=True)
        serve(place, settings, children=jobs, limits=limits, cluster=cluster, progress=progress)


def demo(
    folder: Annotated[Path | None, Argument(help="Folder for the service. Default: a temporary folder.")] = None,
    host: _Host = "127.0.0.1",
    port: _Port = _PORT,
) -> None:
    """Start a service with the packaged sample: a ground truth, scored runs and a leaderboard.

    Example: shoe serve demo
    """
    with service_context(), TemporaryDirectory(prefix="shoe-") as temporary:
        from shoe.cli.output import show_progress
        from shoe.service.demo import fill
        from shoe.service.folder import Folder
        from shoe.service.server import serve
        from shoe.service.settings import Settings

        place = Folder.open(folder or Path(temporary) / "demo")
        with show_progress() as progress:
            fill(place, progress)
        serve(place, Settings(host=host, port=port), progress=partial(print, flush=True))


def add_truth(
    folder: FolderPath,
    name: Annotated[str, Argument(help="Name of the ground truth in submissions.")],
    file: Annotated[Path, Argument(help="Annotation file; the service keeps a copy.")],
    dataset: options.Dataset = DEFAULT,
    split: options.ImageSplit = None,
    classes: options.Classes = None,
    image_labels: options.ImageLabels = None,
    shown: Annotated[
        bool, Option("--shown", help="Do not hide the ground truth: show its boxes and labels in reports.")
    ] = False,
) -> None:
    """Register a ground truth. The folder is created if missing; the service may be running.

    Example: shoe serve add-truth lab hico-det instances_test2015.json
    """
    with open_service(folder, "add-truth", name, create=True) as place:
        from shoe.service.truths import add_truth as add

        made = add(place, name, file, dataset, split=split, classes=classes, image_labels=image_labels, shown=shown)
        print(f"{made.name}: {', '.join(f'{key} {value}' for key, value in made.facts.items())}")


def add_map(
    folder: FolderPath,
    name: Annotated[str, Argument(help="Name of the map in submissions.")],
    map: Annotated[Path, Argument(help="Folder of the map; the service keeps a copy.")],
) -> None:
    """Register a similarity map in addition to the shipped maps. The service may be running.

    Example: shoe serve add-map lab our-map maps/our-map
    """
    with open_service(folder, "add-map", name) as place:
        from shoe.service.truths import add_map as add

        made = add(place, name, map)
        print(f"{made.name}: {made.digest}")


def add_board(
    folder: FolderPath,
    name: Annotated[str, Argument(help="Name of the leaderboard in submissions.")],
    truth: Annotated[str, Option("--truth", "-t", help="Name of a registered ground truth.")],
    title: Annotated[str | None, Option(help="Title on the page. Default: NAME.")] = None,
    protocol: options.Protocols = None,
    similarity: Annotated[
        str, Option(help="Similarity map: a shipped or registered map, or 'dataset' for the dataset's default.")
    ] = "dataset",
    option: options.ProtocolOptions = None,
    figure: Annotated[str, Option(help="Metric that ranks submissions, e.g. strict:hico-det:full.")] = "semantic:map",
    quota: Annotated[int | None, Option(min=1, help="Submissions per team in 24 h; failed runs do not count.")] = None,
    hidden: Annotated[bool, Option("--hidden", help="Hide the results until `shoe serve show-board` is run.")] = False,
    ends: Annotated[datetime | None, Option(formats=["%Y-%m-%d"], help="Last day of submissions (UTC).")] = None,
) -> None:
    """Create a leaderboard.

    If the leaderboard is hidden or has a quota, its ground truth can only be used by submissions to leaderboards.

    Example: shoe serve add-board lab challenge --truth hico-det --quota 5 --hidden
    """
    with open_service(folder, "add-board", name) as place:
        from shoe.service.boards import add_board as add
        from shoe.service.types import Request

        protocols, settings = tuple(protocol or ()), tuple(option or ())
        request = Request(truth=truth, protocols=protocols, similarity=similarity, options=settings)
        end = ends.replace(tzinfo=UTC).timestamp() + 86_400 if ends else None
        made = add(place, name, request, title=title, figure=figure, quota=quota, hidden=hidden, ends=end)
        print(f"{made.name}: ranked by {made.figure} on {made.truth}")


def show_board(
    folder: FolderPath,
    name: Annotated[str, Argument(help="Name of the leaderboard.")],
    hide: Annotated[bool, Option("--hide", help="Hide the results again.")] = False,
) -> None:
    """Show the results of a hidden leaderboard to everyone.

    Example: shoe serve show-board lab challenge
    """
    with open_service(folder, "show-board", f"{name} hidden" if hide else name) as place:
        from shoe.service.boards import show_board as show

        made = show(place, name, hidden=hide)
        print(f"{made.name}: results are {'hidden' if made.hidden else 'shown'}")


def backup(folder: FolderPath, target: Annotated[Path, Argument(help="New folder for the backup.")]) -> None:
    """Back up the folder of a service, which may be running. Every file is verified while copying.

    Example: shoe serve backup lab backups/2026-11-22
    """
    with service_context():
        from shoe.service.backup import backup as copy

        files, size = copy(folder, target)
        print(f"{target}: {files:,} files, {size / 1e6:,.1f} MB, and the database")


def restore(
    copy: Annotated[Path, Argument(help="Backup created by `shoe serve backup`.")],
    folder: Annotated[Path, Argument(help="New or empty folder for the service.")],
) -> None:
    """Restore the folder of a service from a backup. Every file is verified.

    Example: shoe serve restore backups/2026-11-22 lab
    """
    with service_context():
        from shoe.service.backup import restore as put_back

        files, size = put_back(copy, folder)
        copied = f"{files:,} files, {size / 1e6:,.1f} MB"
        print(f"{folder}: {copied}, and the database; start the service with `shoe serve {folder}`")


def export(
    folder: FolderPath, target: Annotated[Path, Argument(help="New folder, or an exported site to replace.")]
) -> None:
    """Export everything that is public as a static site, which works from disk without the server.

    Example: shoe serve export lab site
    """
    with open_service(folder) as place:
        from shoe.service.backup import export as write

        pages = write(place, target)
        print(f"{target / 'index.html'}: {pages:,} pages, with public runs, boards and maps")


def doctor(
    folder: FolderPath,
    clean: Annotated[bool, Option("--clean", help="Remove stored files that have no entry in the database.")] = False,
) -> None:
    """Check the folder of a service or a backup for problems. Exit code 2 if files are missing or damaged.

    Example: shoe serve doctor lab
    """
    with service_context():
        from shoe.service import backup as copies

        found = copies.doctor(folder)
        for each in found:
            print(f"{each.what}: {each.advice}")
        print(f"{folder}: {'in use by a server' if copies.is_in_use(folder) else 'not in use'}")
        if clean:
            print(f"removed {copies.clean(folder):,} files")
        if any(each.harmful for each in found):
            sys.exit(2)
        print("no missing or damaged files")


def _cluster(engine: str) -> str | None:
    """Return the address of a Ray cluster in the form of ``ray.init``, or None for local processes."""
    name, colon, more = engine.partition(":")
    if engine == "processes":
        return None
    if name != "ray" or (colon and not more):
        raise OptionError(f"--engine: found {quote(engine)}, expected {_ENGINES}")
    return engine if more.startswith("//") else more


app = options.group(
    "Run a metric service: submit predictions over HTTP, view results in a browser. "
    "`shoe serve FOLDER` starts a service; `shoe serve start --help` lists its options.",
    *(start, demo, add_truth, add_map, add_board, show_board, backup, restore, export, doctor),
    cls=_Group,
)
app.add_typer(
    options.group("Create, list and revoke access tokens: to read, to submit and to administrate.", new, list_, revoke),
    name="token",
)
