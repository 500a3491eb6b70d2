"""The start of every command: what is plain without typer, and every error that is the user's as one line."""

import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from io import TextIOWrapper
from itertools import pairwise
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from typer.models import ArgumentInfo, OptionInfo

from shoe.cli import score
from shoe.core.errors import ShoeError
from shoe.core.io.files import streams_kept
from shoe.lexicon import ENVIRONMENT

# A fast reader of plain command lines: typer needs longer to read one than a small file takes to score.
#
# Typer's own reader imports pydantic and makes a validator of each parameter. ``shoe score`` of the demo's detections
# took 1.75 s with this reader and 2.28 s with typer's (fastest of 20 runs each, in turn; medians of the processor time:
# 2.30 s and 2.72 s; typer 0.29.2, a busy machine with two cores). Help, mistakes and all that is written in another way
# are left to typer, which reads the same declarations.


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


_NOT_LOADED = ("failed to map segment", "annot allocate memory")
"""What the system's loader says of a compiled library for which there is no memory."""

_LEXICON = "--lexicon"
"""Before the command: the file of a compiled lexicon, instead of WordNet 3.0."""
_ASKS_FOR_OPTIONS = {("-o", "help"), ("--option", "help"), "--option=help"}


def start() -> None:
    """Run the command that the command line names; what the user can fix ends it with one line and exit code 2."""
    # One command a process: what reference counts do not free, its end does. Collecting costs a small run a tenth.
    gc.disable()
    # OpenBLAS takes memory for each thread when it is loaded, and hangs or crashes where a limit leaves it none.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A terminal that knows only ASCII gets \\u0394 for what it cannot show, not a traceback.
            stream.reconfigure(errors="backslashreplace")
    try:
        with streams_kept():
            _run(sys.argv[1:])
        print(end="", flush=True)  # which is nothing where standard output is closed
    except ShoeError as error:
        print(f"shoe: {error}", file=sys.stderr)
        sys.exit(2)
    except (MemoryError, ImportError) as error:
        if isinstance(error, ImportError) and not any(said in str(error) for said in _NOT_LOADED):
            raise
        print("shoe: there is not enough memory for what was given", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        # The reader of a pipe that has gone away is no news; a full disk is. Nothing more can be written either way.
        if not isinstance(error, BrokenPipeError):
            print(f"shoe: the output cannot be written: {error.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(2 if not isinstance(error, BrokenPipeError) else 0)


def _run(words: list[str]) -> None:
    if words[:1] == [_LEXICON] and len(words) > 1:
        _run_with(words[1], words[2:])
        return
    if len(words) > (words[:1] != ["demo"]) and not {"-h", "--help"} & set(words):
        _load_numpy()
    match words:
        # What is plain need not wait for typer, which takes as long to import as the demo takes.
        case ["demo"]:
            from shoe.cli.demo import demo

            demo()
        case ["--version"]:
            from shoe.version import __version__

            print(__version__)
        case ["score", *rest] if _ASKS_FOR_OPTIONS & {*rest, *pairwise(rest)}:
            score.print_options()
        case ["score", *rest] if (given := read(score.score, rest)) is not None:
            score.score(**given)
        case _:
            from shoe.cli.app import run

            run(words)


def _run_with(lexicon: str, words: list[str]) -> None:
    """Run a command with other words than WordNet's, which the processes that it starts have, too."""
    _load_numpy()
    from shoe.lexicon.store import load_lexicon, using

    os.environ[ENVIRONMENT] = os.path.abspath(lexicon)
    with using(load_lexicon(lexicon)):
        _run(words)


def _load_numpy() -> None:
    """Import NumPy without being interrupted: an exception in its C code becomes a "bad install", or a crash."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        return
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        import numpy  # noqa: F401 - it is loaded for all that imports it later
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
