"""Start of every command: work before NumPy and typer are imported, and one-line messages for user errors."""

import gc
import os
import signal
import sys
from io import TextIOWrapper
from itertools import pairwise

from shoe.core.errors import ShoeError
from shoe.core.io.files import cached_streams
from shoe.lexicon import ENVIRONMENT

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
        _load_numpy()
        from shoe.lexicon.store import load_lexicon, use_lexicon

        os.environ[ENVIRONMENT] = os.path.abspath(words[1])  # for child processes
        with use_lexicon(load_lexicon(words[1])):
            _run(words[2:])
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
            from shoe.cli.score import print_options

            print_options()
        case _:
            from shoe.cli.app import run

            run(words)


def _load_numpy() -> None:
    """Import NumPy with SIGINT blocked, because an interrupt in its C code crashes or reports a broken installation."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        return
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        import numpy  # noqa: F401 - loads it for later imports
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
