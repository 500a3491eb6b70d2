"""Parameters of a command that has to start fast: typer takes longer to import than a small file takes to score.

What is plainly well formed is read here. All else - help, mistakes, what is written in another way - is for typer,
which gets the same declarations from ``shoe.cli.app``.
"""

from collections.abc import Callable, Sequence
from types import UnionType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints


class Argument(NamedTuple):
    """A parameter that is named by its position."""

    help: str


class Option(NamedTuple):
    """A parameter with a name of its own: ``--`` and that of the function's parameter, and further ones."""

    help: str
    further: tuple[str, ...] = ()


def declared(command: Callable[..., None]) -> dict[str, tuple[Any, Argument | Option]]:
    """Type and declaration of each parameter."""
    hints = get_type_hints(command, include_extras=True)
    return {name: (hint.__origin__, hint.__metadata__[0]) for name, hint in hints.items() if name != "return"}


def names_of(name: str, option: Option) -> tuple[str, ...]:
    """What an option is called on the command line."""
    return f"--{name.replace('_', '-')}", *option.further


def read(command: Callable[..., None], words: Sequence[str]) -> dict[str, Any] | None:
    """Read the words of a command line as a command's arguments; None for anything but the plain."""
    parameters = declared(command)
    options = {
        written: name
        for name, (_, how) in parameters.items()
        if isinstance(how, Option)
        for written in names_of(name, how)
    }
    positional = [name for name, (_, how) in parameters.items() if isinstance(how, Argument)]
    found: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        written, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        is_value = word == "-" or not word.startswith("-")
        name = options.get(written) or (positional.pop(0) if positional and is_value else None)
        if name is None:
            return None
        kind = parameters[name][0]
        if kind is bool:
            value = "" if equals else "yes"
        elif written not in options:
            value = word
        elif not equals:
            value = next(rest, "")
        if not value or (value.startswith("-") and value != "-"):
            return None
        _add(found, name, kind, value)
    required = len(parameters) - len(command.__defaults__ or ())
    return found if found.keys() >= set(list(parameters)[:required]) else None


def _add(found: dict[str, Any], name: str, kind: Any, value: str) -> None:
    """Convert a value to a parameter's type; of an option that is given twice the last counts, or all in a list."""
    kind = next(k for k in get_args(kind) if k is not type(None)) if isinstance(kind, UnionType) else kind
    if get_origin(kind) is list:
        found.setdefault(name, []).append(get_args(kind)[0](value))
    else:
        found[name] = kind(value)
