"""``--ask-again``: which answers without a rating are made void."""

from typing import Annotated

import typer

from shoe.core.errors import unknown_name

_STATES = ("unparsable", "refused")
AskAgain = Annotated[
    str | None,
    typer.Option(metavar="STATES", help="Ask again what ended without a rating: unparsable, refused, or both."),
]


def states_of(given: str | None) -> list[str]:
    """Read the option; empty where it was not given.

    Raises:
        OptionError: for what is no such state.
    """
    states = [name.strip() for name in given.split(",")] if given is not None else []
    for name in states:
        if name not in _STATES:
            raise unknown_name("state", name, _STATES)
    return states
