"""The commands together; each is one thin file, and only the one that is asked for is loaded."""

from collections.abc import Callable
from importlib import import_module
from types import FunctionType
from typing import Annotated, Any

import typer

from shoe.cli.parameters import Option, declared, names_of

COMMANDS = ("score", "diagnose", "convert", "resolve", "similarity", "prompt", "demo", "dataset", "map")


def app(*names: str) -> typer.Typer:
    """Put some commands together; all of them where none is named."""
    made = typer.Typer(
        help="Score human-object interaction predictions: strictly, semantically, and signed.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    for name in names or COMMANDS:
        module = import_module(f"shoe.cli.{name}")
        if name in ("dataset", "map"):
            made.add_typer(module.app, name=name)
        else:
            made.command(name)(_typed(getattr(module, name)))
    made.callback(epilog="shoe --version prints the version.")(_root)
    return made


def _root() -> None:
    pass


def _typed(command: Callable[..., None]) -> Callable[..., None]:
    """Say to typer what a command declares without it; other commands are as they are."""
    if "typer" in command.__globals__ or not command.__annotations__.keys() - {"return"}:
        return command
    copy = FunctionType(command.__code__, command.__globals__, command.__name__, command.__defaults__)
    copy.__doc__ = command.__doc__
    for name, (kind, how) in declared(command).items():
        said: Any = typer.Argument(help=how.help)
        if isinstance(how, Option):
            said = typer.Option(*names_of(name, how), help=how.help)
        copy.__annotations__[name] = Annotated[kind, said]
    return copy
