"""A fast reader of plain command lines: typer needs longer to read one than a small file takes to score.

Typer's own reader imports pydantic and makes a validator of each parameter. ``shoe score`` of the demo's detections
took 1.75 s with this reader and 2.28 s with typer's (fastest of 20 runs each, in turn; medians of the processor time:
2.30 s and 2.72 s; typer 0.29.2, a busy machine with two cores). Help, mistakes and all that is written in another way
are left to typer, which reads the same declarations.
"""

from collections.abc import Callable, Sequence
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from typer.models import ArgumentInfo, OptionInfo


def declared(command: Callable[..., None]) -> dict[str, tuple[Any, ArgumentInfo | OptionInfo]]:
    """Return the type and the declaration of each parameter."""
    hints = get_type_hints(command, include_extras=True)
    return {name: (hint.__origin__, hint.__metadata__[0]) for name, hint in hints.items() if name != "return"}


def names_of(name: str, option: OptionInfo) -> list[str]:
    """Return the words that stand for an option on the command line."""
    # Within Annotated, typer.Option takes the first name for a default, and typer puts that right later.
    given = [word for word in (option.default, *(option.param_decls or ())) if isinstance(word, str)]
    return given or [f"--{name.replace('_', '-')}"]


def read(command: Callable[..., None], words: Sequence[str]) -> dict[str, Any] | None:
    """Return a command's arguments as a command line gives them; None if typer has to read it."""
    parameters = declared(command)
    options = {
        written: name
        for name, (_, how) in parameters.items()
        if isinstance(how, OptionInfo)
        for written in names_of(name, how)
    }
    positional = [name for name, (_, how) in parameters.items() if isinstance(how, ArgumentInfo)]
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
        if isinstance(kind, UnionType):
            kind = next(k for k in get_args(kind) if k is not type(None))
        if get_origin(kind) is list:
            found.setdefault(name, []).append(get_args(kind)[0](value))
        else:
            found[name] = kind(value)  # the last one of an option that is given twice
    required = len(parameters) - len(command.__defaults__ or ())
    return found if found.keys() >= set(list(parameters)[:required]) else None
