"""The command line: one thin command per file."""

import sys
from typing import Annotated

import typer

from shoe.cli import convert, dataset, demo, resolve, score, similarity
from shoe.errors import ShoeError
from shoe.version import __version__

app = typer.Typer(
    help="Score human-object interaction predictions: strictly, semantically, and signed.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("score")(score.score)
app.command("convert")(convert.convert)
app.command("resolve")(resolve.resolve)
app.command("similarity")(similarity.similarity)
app.command("demo")(demo.demo)
app.add_typer(dataset.app, name="dataset")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line. Exit codes: 0; 2 for your input; 130 when interrupted; 1 for a fault of ours."""
    try:
        app(standalone_mode=True)
    except ShoeError as error:
        print(f"shoe: {error}", file=sys.stderr)
        sys.exit(2)
