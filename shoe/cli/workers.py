"""What the commands share whose work can be divided: ``--shard``."""

from typing import Annotated

import typer

ShardText = Annotated[
    str | None,
    typer.Option("--shard", metavar="I/N", help="Do one part of N, and write no OUT: without it, all are merged."),
]
