"""``shoe map``: similarity maps, one thin command per file."""

import typer

from shoe.cli.map import ablate, build, complete, diff, export, import_, info, merge

app = typer.Typer(
    help="Look into similarity maps, and make new ones from them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("build")(build.build)
app.command("complete")(complete.complete)
app.command("import")(import_.import_)
app.command("merge")(merge.merge)
app.command("info")(info.info)
app.command("diff")(diff.diff)
app.command("ablate")(ablate.ablate)
app.command("export")(export.export)
