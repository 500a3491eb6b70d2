"""The command line: one thin command per file, put together in ``app``."""


def main() -> None:
    """Run the command line. Exit codes: 0; 2 for your input; 130 when interrupted; 1 for a fault of ours."""
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


def _leave_interrupted() -> None:
    """End with an interruption's exit code; a second one ends the process at once, not Python's shutdown in two."""
    import signal
    import sys

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    sys.exit(130)
