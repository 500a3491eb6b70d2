"""The committed samples of real annotations, parsed."""

from pathlib import Path
from typing import Any

import orjson

from shoe.benchmarks.truth import GroundTruth, read_truth_file

FOLDER = Path(__file__).resolve().parent.parent / "data" / "hico_det"
INSTANCES = FOLDER / "instances_test2015.json"
PPDM = FOLDER / "test_hico.json"
PPDM_MIXED = FOLDER / "test_hico_sg.json"


def parsed(path: Path) -> Any:
    """A fresh copy of a sample, to change as a test needs."""
    return orjson.loads(path.read_bytes())


def training() -> dict[str, Any]:
    """The sample as if its images were training images."""
    document: dict[str, Any] = parsed(INSTANCES)
    return document | {"filenames": [name.replace("test", "train") for name in document["filenames"]]}


def read(folder: Path, content: Any, name: str = "truth.json") -> GroundTruth:
    """Write JSON, and read it as ground truth."""
    (folder / name).write_bytes(orjson.dumps(content))
    return read_truth_file(folder / name)
