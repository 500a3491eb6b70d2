"""Work that engines are given in tests: functions of a module, as workers import them."""

import os
import signal
from pathlib import Path

import numpy as np

from shoe.core.errors import InputError
from shoe.demo import TRUTH
from shoe.lexicon.store import lexicon
from shoe.scoring.file_options import ScoringOptions

ASKED = ScoringOptions(ground_truth=TRUTH, dataset="hico-det", similarity="dataset")


def rows(shared: np.ndarray, key: int) -> tuple[int, float]:
    return os.getpid(), float(shared[key % len(shared)].sum())


def write(shared: np.ndarray, key: int) -> None:
    shared[0] = key


def refuse(shared: str, key: int) -> int:
    if key == 3:
        raise InputError(shared, record=key, found="three", expected="another number")
    return key


def die_once(marks: str, key: int) -> int:
    """Be killed the first time that some keys are done."""
    mark = Path(marks) / str(key)
    if key % 5 == 0 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return -key


def die(shared: None, key: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return key


def divide(shared: int, key: int) -> float:
    return key / shared


def lexicon_in_use(shared: None, key: int) -> str:
    return lexicon().digest
