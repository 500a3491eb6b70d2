"""``shoe prompt``: the recommended detection prompt for vision-language models."""

from typing import Annotated

from typer import Option


def prompt(
    schema: Annotated[bool, Option("--schema", help="Print the answers' JSON schema, for structured output.")] = False,
) -> None:
    """Print the recommended prompt. Score the answers with `shoe score --boxes thousand`.

    Example: shoe prompt > prompt.txt
    """
    from shoe.core.io.files import data_folder

    name = "detection.schema.json" if schema else "detection.txt"
    print((data_folder("prompts") / name).read_text("utf-8"), end="")
