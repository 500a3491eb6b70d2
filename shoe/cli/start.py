"""Start of every command: a fast parser for simple command lines, and one-line messages for user errors."""

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
from shoe.core.io.files import cached_streams
from shoe.lexicon import ENVIRONMENT

# A fast parser of simple command lines, because typer needs longer to parse one than scoring a small file takes.
#
# Typer's own reader imports pydantic and makes a validator of each parameter. ``shoe score`` of the demo's detections
# took 1.75 s with this reader and 2.28 s with typer's (fastest of 20 runs each, in turn; medians of the processor time:
# 2.30 s and 2.72 s; typer 0.29.2, a busy machine with two cores). Help, errors and all other forms of command lines are
# left to typer, which reads the same declarations.


def declarations(command: Callable[..., None]) -> dict[str, tuple[Any, ArgumentInfo | OptionInfo]]:
    """Return {parameter name: (type, typer declaration)} of a command."""
    hints = get_type_hints(command, include_extras=True)
    return {name: (hint.__origin__, hint.__metadata__[0]) for name, hint in hints.items() if name != "return"}


def option_names(name: str, option: OptionInfo) -> list[str]:
    """Return the spellings of an option on the command line, e.g. ["--option", "-o"]."""
    # Within Annotated, typer.Option stores the first name as the default value; typer corrects this later.
    given = [word for word in (option.default, *(option.param_decls or ())) if isinstance(word, str)]
    return given or [f"--{name.replace('_', '-')}"]


def parse_arguments(command: Callable[..., None], words: Sequence[str]) -> dict[str, Any] | None:
    """Return the arguments of ``command`` in a command line, by name; None for forms that only typer can parse."""
    parameters = declarations(command)
    options = {
        written: name
        for name, (_, how) in parameters.items()
        if isinstance(how, OptionInfo)
        for written in option_names(name, how)
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
            found[name] = kind(value)  # if an option is repeated, the last value counts, as in typer
    required = len(parameters) - len(command.__defaults__ or ())
    return found if found.keys() >= set(list(parameters)[:required]) else None


_NOT_LOADED = ("failed to map segment", "annot allocate memory")
"""Parts of the messages of the dynamic loader if memory is insufficient for a shared library."""
_LEXICON = "--lexicon"
"""Global option before the command: file of a compiled lexicon to use instead of WordNet 3.0."""
_ASKS_FOR_OPTIONS = {("-o", "help"), ("--option", "help"), "--option=help"}


def start() -> None:
    """Run the command of the command line; print user errors as one line and exit with code 2."""
    # A process runs one command, so garbage is freed at its end. Collection would cost a small run 10 % of its time.
    gc.disable()
    # OpenBLAS allocates memory per thread when loaded, and hangs or crashes if a memory limit prevents this.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # An ASCII terminal shows an escape such as \\u0394 for other characters, instead of a traceback.
            stream.reconfigure(errors="backslashreplace")
    try:
        with cached_streams():
            _run(sys.argv[1:])
        print(end="", flush=True)  # does nothing if standard output is closed
    except ShoeError as error:
        print(f"shoe: {error}", file=sys.stderr)
        sys.exit(2)
    except (MemoryError, ImportError) as error:
        if isinstance(error, ImportError) and not any(part in str(error) for part in _NOT_LOADED):
            raise
        print("shoe: not enough memory for this input", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        # A closed pipe (e.g. `| head`) is not an error; a full disk is. In both cases nothing more can be written.
        if not isinstance(error, BrokenPipeError):
            print(f"shoe: cannot write the output: {error.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(2 if not isinstance(error, BrokenPipeError) else 0)


def _run(words: list[str]) -> None:
    if words[:1] == [_LEXICON] and len(words) > 1:
        _run_with(words[1], words[2:])
        return
    if len(words) > (words[:1] != ["demo"]) and not {"-h", "--help"} & set(words):
        _load_numpy()
    match words:
        # These cases do not need typer, whose import takes as long as the demo.
        case ["demo"]:
            from shoe.cli.demo import demo

            demo()
        case ["--version"]:
            from shoe.version import __version__

            print(__version__)
        case ["score", *rest] if _ASKS_FOR_OPTIONS & {*rest, *pairwise(rest)}:
            score.print_options()
        case ["score", *rest] if (given := parse_arguments(score.score, rest)) is not None:
            score.score(**given)
        case _:
            from shoe.cli.app import run

            run(words)


def _run_with(lexicon: str, words: list[str]) -> None:
    """Run a command with a compiled lexicon; its child processes use the lexicon through an environment variable."""
    _load_numpy()
    from shoe.lexicon.store import load_lexicon, use_lexicon

    os.environ[ENVIRONMENT] = os.path.abspath(lexicon)
    with use_lexicon(load_lexicon(lexicon)):
        _run(words)


def _load_numpy() -> None:
    """Import NumPy with SIGINT blocked, because an interrupt in its C code crashes or reports a broken installation."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        return
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        import numpy  # noqa: F401 - loads it for later imports
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
