"""``shoe prompt``: what to ask a vision-language model, so that its answers can be scored as they are."""

from typing import Annotated

import typer


def prompt(
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of the answer, for structured output.")
    ] = False,
) -> None:
    """Print the recommended prompt; score its answers with --boxes thousand.

    Example: shoe prompt > prompt.txt
    """
    from shoe.core.io.files import shipped

    name = "detection.schema.json" if schema else "detection.txt"
    print((shipped("prompts") / name).read_text("utf-8"), end="")
