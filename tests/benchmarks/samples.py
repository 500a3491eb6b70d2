"""The committed samples of real annotations, parsed."""

from pathlib import Path
from typing import Any

import orjson

FOLDER = Path(__file__).resolve().parent.parent / "data" / "hico_det"
INSTANCES = FOLDER / "instances_test2015.json"
PPDM = FOLDER / "test_hico.json"
PPDM_MIXED = FOLDER / "test_hico_sg.json"


def parsed(path: Path) -> Any:
    """A fresh copy of a sample, to change as a test needs."""
    return orjson.loads(path.read_bytes())
