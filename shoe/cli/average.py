"""``shoe average``: the figures of several splits, as papers give them."""

from pathlib import Path
from typing import Annotated

import typer

from shoe.cli import options
from shoe.cli.output import put_json


def average(
    reports: Annotated[list[Path], typer.Argument(help="What shoe score --json wrote for each split.")],
    beside: Annotated[
        Path | None, typer.Option(help="The report of another split, as the original one, to stand beside the mean.")
    ] = None,
    json: options.Json = None,
) -> None:
    """Average figures over splits: mean and standard deviation, strict and semantic.

    Each report is of another ground truth, as of the three test sets of HICO-DET-SG; in all else signatures are equal.

    Example: shoe average sg1.json sg2.json sg3.json --beside original.json
    """
    from shoe.cli.output import refuse_overwrite
    from shoe.report.average import average as averaged
    from shoe.report.average import print_average
    from shoe.report.terminal import console

    refuse_overwrite((*reports, beside), json)
    made = averaged(reports, beside)
    if not put_json(made, json):
        print_average(made, console())
