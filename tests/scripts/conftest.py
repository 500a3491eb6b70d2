"""The scripts' modules, and a small ground truth for them."""

import sys
from pathlib import Path

import pytest

from shoe.benchmarks.truth import GroundTruth, read_truth_file
from shoe.demo import TRUTH

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))


@pytest.fixture(scope="session")
def sample() -> GroundTruth:
    return read_truth_file(TRUTH)
