"""``shoe serve``: a metric service, in thin commands."""

from __future__ import annotations

import gc
import logging
import re
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoe.benchmarks import DEFAULT
from shoe.cli import options

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shoe.service.folder import Folder

# What commands of a service share: its folder, and what may be missing.

FolderPath = Annotated[Path, typer.Argument(help="The service's folder.")]


@contextmanager
def serving() -> Iterator[None]:
    """Within it, the service's own libraries may be missing; what goes wrong in the background is one line each."""
    from shoe.core.errors import MissingExtraError

    gc.enable()  # other commands end before it pays
    logging.basicConfig(format="shoe: %(message)s", level=logging.WARNING)
    try:
        yield
    except ModuleNotFoundError as error:
        if str(error.name).split(".")[0] in ("fastapi", "uvicorn", "jinja2", "zstandard", "starlette", "h11"):
            raise MissingExtraError("shoe serve", "serve") from None
        raise


@contextmanager
def opened(
    folder: Path, action: str | None = None, object: str | None = None, create: bool = False
) -> Iterator[Folder]:
    """The folder of a service, which no mistyped name makes; what is done to it goes into its audit log."""
    with serving():
        from shoe.service import tokens
        from shoe.service.folder import Folder

        made = Folder.open(folder, create)
        try:
            yield made
            if action is not None:
                tokens.record(made, tokens.COMMAND_LINE, action, object)
        finally:
            made.close()


# ``shoe serve token``: who may read, submit, and run a service.

tokens_app = typer.Typer(
    help="Make, list and revoke tokens: who may read, submit, and run the service.",
)


@tokens_app.command("new")
def new_token(
    folder: FolderPath,
    name: Annotated[str, typer.Argument(help="What it is for, as ci.")],
    team: Annotated[str, typer.Option(help="Whose runs it sees and makes.")],
    scope: Annotated[list[str] | None, typer.Option(help="read, submit or admin; each allows those before it.")] = None,
    days: Annotated[float | None, typer.Option(help="Until it expires.")] = None,
) -> None:
    """Make a token and print it, this once.

    Example: shoe serve token new lab ci --team vision --days 90
    """
    with opened(folder, "token new", f"{name} of {team}") as place:
        from shoe.service.tokens import new_token as new

        print(new(place, name, team, scope or ("submit",), days))


@tokens_app.command("list")
def list_tokens(folder: FolderPath) -> None:
    """List tokens by how they begin; what they are is not known here.

    Example: shoe serve token list lab
    """
    from datetime import UTC, datetime

    from shoe.report.text import aligned

    def day(at: float | None) -> str:
        return "-" if at is None else f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}"

    with opened(folder) as place:
        from shoe.service.tokens import tokens

        rows: list[tuple[str, ...]] = [
            ("token", "name", "team", "scopes", "created", "expires", "last used", "revoked")
        ]
        for of in tokens(place):
            days = map(day, (of.created, of.expires, of.last_used, of.revoked))
            rows.append((f"{of.prefix}...", of.name, of.team, " ".join(of.scopes), *days))
        print("\n".join(aligned(rows)))


@tokens_app.command("revoke")
def revoke_token(
    folder: FolderPath, token: Annotated[str, typer.Argument(help="How it begins, as in the list.")]
) -> None:
    """Take a token back, and the logins made with it.

    Example: shoe serve token revoke lab shoe_Ab12C
    """
    with opened(folder, "token revoke", token) as place:
        from shoe.service.tokens import revoke

        taken = revoke(place, token.removesuffix("..."))
        print(f"{taken.prefix}...: revoked")


_START = "start"
"""The command that a folder stands for, as in ``shoe serve FOLDER``."""


class _Group(typer.core.TyperGroup):
    """A group whose first word may be the folder to serve."""

    def resolve_command(self, ctx, args):  # type: ignore[no-untyped-def]  # as click has it
        if args[0] not in self.commands:
            _refuse_misspelt_command(args[0], self.commands)
            args = [_START, *args]
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_Group,
    help="Run a metric service: predictions come in over HTTP, results are seen in a browser. "
    "shoe serve FOLDER starts one; options of that: shoe serve start --help.",
)
app.add_typer(tokens_app, name="token")

_Host = Annotated[str, typer.Option(help="Address to listen on; any but this machine's own demands tokens.")]
_Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")]
_PORT = 8017
_ENGINES = "processes (of this machine), ray (a cluster of RAY_ADDRESS, or one on this machine), ray:HOST:PORT, ray://HOST:PORT"


@app.command(_START)
def start(
    folder: Annotated[Path, typer.Argument(help="The service's folder; made where there is none.")],
    host: _Host = "127.0.0.1",
    port: _Port = _PORT,
    name: Annotated[
        list[str] | None, typer.Option(help="Host name by which a proxy passes requests on; again for more.")
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1, max=256, help="Jobs at once, each a process of its own. Default: 1; on a cluster one for each core."
        ),
    ] = None,
    memory: Annotated[float, typer.Option(min=0.5, help="Gigabytes that a job may have.")] = 16.0,
    minutes: Annotated[float, typer.Option(min=0.1, help="Minutes that a job may take.")] = 60.0,
    tokens: Annotated[bool, typer.Option("--tokens", help="Demand tokens on this machine's own address, too.")] = False,
    engine: Annotated[str, typer.Option(help=f"Who does the jobs: {_ENGINES}.")] = "processes",
) -> None:
    """Start the service: shoe serve FOLDER. The first start prints a token for who runs it.

    Jobs that a stopped or killed server left are done when it starts again.

    Example: shoe serve lab --port 8017
    """
    with serving():
        from shoe.service.folder import Folder
        from shoe.service.process import Limits
        from shoe.service.server import serve
        from shoe.service.settings import Settings

        names = tuple(map(_host_name, name or ()))
        settings = Settings(host=host, port=port, names=names, always_tokens=tokens)
        limits = Limits(memory=int(memory * 1e9), cpu=int(minutes * 60), wall=minutes * 60)
        cluster = _cluster(engine)
        serve(
            Folder.open(folder),
            settings,
            children=jobs,
            limits=limits,
            cluster=cluster,
            tell=partial(print, flush=True),
        )


@app.command()
def demo(
    folder: Annotated[
        Path | None, typer.Argument(help="Where to keep it; a folder that is removed at the end unless given.")
    ] = None,
    host: _Host = "127.0.0.1",
    port: _Port = _PORT,
) -> None:
    """Start a service with the packaged sample: its ground truth, its runs, scored, and a leaderboard.

    Example: shoe serve demo
    """
    from tempfile import TemporaryDirectory

    with serving(), TemporaryDirectory(prefix="shoe-") as temporary:
        from shoe.cli.output import telling
        from shoe.service.demo import fill
        from shoe.service.folder import Folder
        from shoe.service.server import serve
        from shoe.service.settings import Settings

        place = Folder.open(folder or Path(temporary) / "demo")
        with telling() as tell:
            fill(place, tell)
        serve(place, Settings(host=host, port=port), tell=partial(print, flush=True))


@app.command("add-truth")
def add_truth(
    folder: FolderPath,
    name: Annotated[str, typer.Argument(help="That submissions name it by.")],
    file: Annotated[Path, typer.Argument(help="Annotation file; it is copied.")],
    dataset: options.Dataset = DEFAULT,
    split: Annotated[
        str | None, typer.Option(help="test2015 or train2015, if the file holds both (anno_bbox.mat).")
    ] = None,
    classes: options.Classes = None,
    image_labels: options.ImageLabels = None,
    shown: Annotated[
        bool, typer.Option("--shown", help="Let its boxes and labels be seen in reports; else they stay here.")
    ] = False,
) -> None:
    """Register a ground truth; makes the folder where there is none. The service may be running.

    Example: shoe serve add-truth lab hico-det instances_test2015.json
    """
    with opened(folder, "add-truth", name, create=True) as place:
        from shoe.service.truths import add_truth as add

        made = add(place, name, file, dataset, split=split, classes=classes, image_labels=image_labels, shown=shown)
        print(f"{made.name}: {', '.join(f'{key} {value}' for key, value in made.facts.items())}")


@app.command("add-map")
def add_map(
    folder: FolderPath,
    name: Annotated[str, typer.Argument(help="That submissions name it by.")],
    map: Annotated[Path, typer.Argument(help="Folder of the map; it is copied.")],
) -> None:
    """Register a similarity map beside those that shoe has. The service may be running.

    Example: shoe serve add-map lab our-map maps/our-map
    """
    with opened(folder, "add-map", name) as place:
        from shoe.service.truths import add_map as add

        made = add(place, name, map)
        print(f"{made.name}: {made.digest}")


@app.command("add-board")
def add_board(
    folder: FolderPath,
    name: Annotated[str, typer.Argument(help="That submissions name it by.")],
    truth: Annotated[str, typer.Option("--truth", "-t", help="Its ground truth.")],
    title: Annotated[str | None, typer.Option(help="What people read.")] = None,
    protocol: options.Protocols = None,
    similarity: Annotated[
        str, typer.Option(help="Similarity map: shoe's own, a registered one, or 'dataset': the dataset's own.")
    ] = "dataset",
    option: options.ProtocolOptions = None,
    figure: Annotated[str, typer.Option(help="That ranks, as strict:hico-det:full.")] = "semantic:map",
    quota: Annotated[
        int | None, typer.Option(min=1, help="Submissions of a team in a day; failed ones are free.")
    ] = None,
    hidden: Annotated[bool, typer.Option("--hidden", help="Keep its results back, until show-board.")] = False,
) -> None:
    """Open a leaderboard. Where it is hidden or has a quota, its ground truth is scored on for leaderboards alone.

    Example: shoe serve add-board lab challenge --truth hico-det --quota 5 --hidden
    """
    with opened(folder, "add-board", name) as place:
        from shoe.service.boards import add_board as add
        from shoe.service.types import Request

        asked = Request(
            truth=truth, protocols=tuple(protocol or ()), similarity=similarity, options=tuple(option or ())
        )
        made = add(place, name, asked, title=title, figure=figure, quota=quota, hidden=hidden)
        print(f"{made.name}: ranked by {made.figure} on {made.truth}")


@app.command("show-board")
def show_board(
    folder: FolderPath,
    name: Annotated[str, typer.Argument(help="Of the leaderboard.")],
    hide: Annotated[bool, typer.Option("--hide", help="Keep its results back again.")] = False,
) -> None:
    """Let all see the results of a leaderboard that was hidden.

    Example: shoe serve show-board lab challenge
    """
    with opened(folder, "show-board", f"{name} hidden" if hide else name) as place:
        from shoe.service.boards import show_board as show

        made = show(place, name, hidden=hide)
        print(f"{made.name}: results are {'kept back' if made.hidden else 'shown'}")


@app.command()
def backup(folder: FolderPath, target: Annotated[Path, typer.Argument(help="A new folder; it appears whole.")]) -> None:
    """Copy the service's folder while it runs, every file checked on the way.

    Example: shoe serve backup lab backups/2026-11-22
    """
    with serving():
        from shoe.service.backup import backup as copy

        made = copy(folder, target)
        print(f"{target}: {made.files:,} files, {made.size / 1e6:,.1f} MB, and the database")


@app.command()
def restore(
    copy: Annotated[Path, typer.Argument(help="A folder that backup made.")],
    folder: Annotated[Path, typer.Argument(help="A new or empty folder.")],
) -> None:
    """Make a service's folder from a backup, every file of which is checked.

    Example: shoe serve restore backups/2026-11-22 lab
    """
    with serving():
        from shoe.service.backup import restore as put_back

        made = put_back(copy, folder)
        print(
            f"{folder}: {made.files:,} files, {made.size / 1e6:,.1f} MB, and the database; shoe serve {folder} starts"
        )


@app.command()
def export(
    folder: FolderPath, target: Annotated[Path, typer.Argument(help="A new folder, or a site to replace.")]
) -> None:
    """Write all that everybody may see as files: a site that works from disk, without the server.

    Example: shoe serve export lab site
    """
    with opened(folder) as place:
        from shoe.service.backup import export as write

        pages = write(place, target)
        print(f"{target / 'index.html'}: {pages:,} pages, with public runs, boards and maps")


@app.command()
def doctor(
    folder: FolderPath,
    clean: Annotated[bool, typer.Option("--clean", help="Remove files that nothing refers to.")] = False,
) -> None:
    """Look for what is wrong with a service's folder or a backup: exit code 2 where something is lost or broken.

    Example: shoe serve doctor lab
    """
    with serving():
        from shoe.service import backup as copies

        found = copies.doctor(folder)
        for each in found:
            print(f"{each.what}: {each.advice}")
        print(f"{folder}: {'in use by a server' if copies.is_in_use(folder) else 'not in use'}")
        if clean:
            print(f"removed {copies.clean(folder):,} files")
        if any(each.harmful for each in found):
            sys.exit(2)
        print("nothing is lost or broken")


def _refuse_misspelt_command(word: str, commands: Iterable[str]) -> None:
    """Raise an OptionError for a name that is nearly a command's, instead of making a folder of it."""
    from shoe.core.errors import OptionError, meant, quote

    hint = None if Path(word).exists() or "/" in word or word.startswith("-") else meant(word, commands)
    if hint is not None:
        raise OptionError(f"serve: found {quote(word)}, expected a command or a folder ({hint} a folder: ./{word})")


def _cluster(engine: str) -> str | None:
    """The address of a cluster, as ``ray.init`` has it; None for this machine's own processes."""
    from shoe.core.errors import OptionError, quote

    name, colon, more = engine.partition(":")
    if engine == "processes":
        return None
    if name != "ray" or (colon and not more):
        raise OptionError(f"--engine: found {quote(engine)}, expected {_ENGINES}")
    return engine if more.startswith("//") else more


def _host_name(said: str) -> str:
    """A name as requests have it in their Host header; an address has more."""
    from shoe.core.errors import OptionError, quote

    if not re.fullmatch(r"[\w.-]+", said, re.ASCII):
        raise OptionError(f"--name: found {quote(said)}, expected a host name alone, as shoe.example.org")
    return said.lower()
