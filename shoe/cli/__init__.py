"""The command line: one module per command, combined in ``app``."""

import _thread
import os
import signal
import sys
import time


def main() -> None:
    """Run the command line; exit codes: 0 success, 1 internal error, 2 wrong input, 3 budget spent, 130 interrupted."""
    sys.unraisablehook = _unraisable
    try:
        from shoe.cli.start import start  # inside the try block, because imports can be interrupted too

        start()
    except KeyboardInterrupt:
        _leave_interrupted()
    except RuntimeError as error:
        # Python 3.11 wraps an exception raised while a class is created in a RuntimeError.
        if not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        _leave_interrupted()


def _unraisable(lost: "sys.UnraisableHookArgs") -> None:
    """Interrupt the process again if Python dropped a KeyboardInterrupt in a destructor or an import callback."""
    if lost.exc_type is KeyboardInterrupt:
        _thread.start_new_thread(_interrupt_soon, ())
    else:
        sys.__unraisablehook__(lost)


def _interrupt_soon() -> None:
    time.sleep(0.01)  # long enough for the destructor to end
    os.kill(os.getpid(), signal.SIGINT)


def _leave_interrupted() -> None:
    """Exit with code 130; a second signal ends the process at once, without interrupting the shutdown of Python."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    sys.exit(130)
