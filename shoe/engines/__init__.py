"""Engines, which distribute work over processes or machines, and their names on the command line."""

import os
import re

from shoe.core.errors import OptionError, quote
from shoe.engines.base import SERIAL, Engine

HELP = "serial, processes[:N], ray (cluster at RAY_ADDRESS or a new local cluster), ray:HOST:PORT, ray://HOST:PORT."
_MOST = 1024


def engine_of(text: str) -> Engine:
    """Return the engine for a value of ``--engine``, such as "processes:4", without starting or checking the engine.

    "processes" without a number uses all available cores. Raise OptionError for other text, or over 1024 processes.
    """
    name, colon, argument = text.partition(":")
    if name == "serial" and not colon:
        return SERIAL
    if name == "processes" and (not colon or re.fullmatch("[0-9]{1,4}", argument, re.ASCII)):
        workers = int(argument) if colon else len(os.sched_getaffinity(0))
        if 1 <= workers <= _MOST:
            from shoe.engines.processes import Processes  # multiprocessing is loaded where it is used

            return Processes(workers)
    if name == "ray" and (not colon or argument):
        from shoe.engines.ray_cluster import Ray

        return Ray(text if argument.startswith("//") else argument)
    raise OptionError(f"--engine: found {quote(text)}, expected {HELP}")
