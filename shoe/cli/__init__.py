"""The command line: one thin command per file, put together in ``app``."""

import _thread
import os
import signal
import sys
import time


def main() -> None:
    """Run the command line. Exit codes: 0; 2 for your input; 130 when interrupted; 1 for a fault of ours."""
    sys.unraisablehook = _unraisable
    try:
        from shoe.cli.start import start  # here, since imports can be interrupted too

        start()
    except KeyboardInterrupt:
        _leave_interrupted()
    except RuntimeError as error:
        # Python 3.11 wraps what interrupts the making of a class.
        if not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        _leave_interrupted()


def _unraisable(lost: "sys.UnraisableHookArgs") -> None:
    """Interrupt again where Python drops an interruption that falls into a destructor or a callback of an import."""
    if lost.exc_type is KeyboardInterrupt:
        _thread.start_new_thread(_interrupt_soon, ())
    else:
        sys.__unraisablehook__(lost)


def _interrupt_soon() -> None:
    time.sleep(0.01)  # the destructor is left by then
    os.kill(os.getpid(), signal.SIGINT)


def _leave_interrupted() -> None:
    """End with an interruption's exit code; a second one ends the process at once, not Python's shutdown in two."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    sys.exit(130)
