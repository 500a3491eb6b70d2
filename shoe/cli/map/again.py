"""What the commands that ask raters share: ``--ask-again``, and being told to end."""

import os
import signal
import threading

from shoe.core.errors import unknown_name

_STATES = ("unparsable", "refused")


def treat_sigterm_as_interrupt() -> None:
    """Have SIGTERM of a cluster and SIGHUP of a closed terminal interrupt: what is in flight is awaited and kept."""
    if threading.current_thread() is not threading.main_thread():
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    terminals = [stream for stream in (1, 2) if os.isatty(stream)]

    def hung_up(*_: object) -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the shell sends it, too
        for stream in terminals:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # which is what nohup does
        signal.signal(signal.SIGHUP, hung_up)


def states_of(given: str | None) -> list[str]:
    """Read the option; empty where it was not given.

    Raises:
        OptionError: for what is no such state.
    """
    states = [name.strip() for name in given.split(",")] if given is not None else []
    for name in states:
        if name not in _STATES:
            raise unknown_name("state", name, _STATES)
    return states
