"""What the commands that ask raters share: ``--ask-again``, and being told to end."""

import signal
import threading
from typing import Annotated

import typer

from shoe.core.errors import unknown_name

_STATES = ("unparsable", "refused")
AskAgain = Annotated[
    str | None,
    typer.Option(metavar="STATES", help="Ask again what ended without a rating: unparsable, refused, or both."),
]


def end_by_sigterm_as_by_ctrl_c() -> None:
    """Have SIGTERM, by which clusters and services end a process, interrupt: what is in flight is awaited and kept."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)


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
