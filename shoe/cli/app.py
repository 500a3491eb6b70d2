"""The commands together; each is one thin file."""

import typer

from shoe.cli import convert, dataset, demo, diagnose, resolve, score, similarity
from shoe.cli.map import app as map_app

app = typer.Typer(
    help="Score human-object interaction predictions: strictly, semantically, and signed.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("score")(score.score)
app.command("diagnose")(diagnose.diagnose)
app.command("convert")(convert.convert)
app.command("resolve")(resolve.resolve)
app.command("similarity")(similarity.similarity)
app.command("demo")(demo.demo)
app.add_typer(dataset.app, name="dataset")
app.add_typer(map_app, name="map")


@app.callback(epilog="shoe --version prints the version.")
def _root() -> None:
    pass
