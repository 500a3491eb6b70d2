"""``shoe average``: mean and standard deviation of metrics over several splits."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from shoe.cli import options
from shoe.cli.output import put_report, refuse_overwrite


def average(
    reports: Annotated[list[Path], Argument(help="Reports written by shoe score --json, one per split.")],
    beside: Annotated[Path | None, Option(help="Report to print next to the mean, e.g. of another split.")] = None,
    json: options.Json = None,
) -> None:
    """Average strict and semantic metrics over splits: mean and standard deviation.

    The reports must have different ground truths, e.g. the three test sets of HICO-DET-SG, and signatures that are
    equal except for the ground truth.

    Example: shoe average sg1.json sg2.json sg3.json --beside original.json
    """
    from shoe.report.average import average as averaged, print_average

    refuse_overwrite((*reports, beside), json)
    made = averaged(reports, beside)
    put_report(made, json, lambda to: print_average(made, to))
