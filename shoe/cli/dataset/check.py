"""``shoe dataset check``: what a folder has of which dataset, and what is missing for what."""

from pathlib import Path
from typing import Annotated

import typer

from shoe.cli import options
from shoe.cli.output import put_json


def check(
    folder: Annotated[Path, typer.Argument(help="The folder that holds a dataset's files.")],
    dataset: Annotated[list[str] | None, typer.Option(help="Whose files are wanted; again for more.")] = None,
    json: options.Json = None,
) -> None:
    """Say what a folder has, what is missing, where to get that, and what can be scored with what is there.

    Every file is opened and held to what was published: names decide nothing.

    Example: shoe dataset check ~/data/hico
    """
    from shoe.benchmarks import benchmark
    from shoe.predictions.inventory import inventory
    from shoe.report.inventory import inventory_dict, print_inventory
    from shoe.report.terminal import console

    wanted = [benchmark(name) for name in dataset or ()]
    found = inventory(folder)
    wanted = wanted or [benchmark(name) for name in found.datasets]
    if not put_json(inventory_dict(str(folder), found, wanted), json):
        print_inventory(str(folder), found, wanted, console())
