"""The command line: one thin command per file, put together in ``app``."""

import gc
import os
import signal
import sys
from io import TextIOWrapper

from shoe.cli import parameters, score
from shoe.core.errors import ShoeError
from shoe.io.files import streams_kept


def main() -> None:
    """Run the command line. Exit codes: 0; 2 for your input; 130 when interrupted; 1 for a fault of ours."""
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
        sys.stdout.flush()
    except ShoeError as error:
        print(f"shoe: {error}", file=sys.stderr)
        sys.exit(2)
    except MemoryError:
        print("shoe: there is not enough memory for what was given", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        _leave_interrupted()
    except RuntimeError as error:
        # Python 3.11 wraps what interrupts the making of a class.
        if not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        _leave_interrupted()
    except OSError as error:
        # The reader of a pipe that has gone away is no news; a full disk is. Nothing more can be written either way.
        if not isinstance(error, BrokenPipeError):
            print(f"shoe: the output cannot be written: {error.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(2 if not isinstance(error, BrokenPipeError) else 0)


def _leave_interrupted() -> None:
    """End with an interruption's exit code; a second one ends the process at once, not Python's shutdown in two."""
    import signal

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    sys.exit(130)


def _run(words: list[str]) -> None:
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
        case ["score", *rest] if (given := parameters.read(score.score, rest)) is not None:
            score.score(**given)
        case _:
            from shoe.cli.app import run

            run(words)


def _load_numpy() -> None:
    """Import NumPy without being interrupted: an exception in its C code becomes a "bad install", or a crash."""
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        import numpy  # noqa: F401 - it is loaded for all that imports it later
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
