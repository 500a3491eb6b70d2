"""The map by hand and the real test set."""

from pathlib import Path

import pytest

import shoe
from shoe.benchmarks.truth import GroundTruth
from tests.diagnosis.meanings import write_hand_map


@pytest.fixture(scope="session")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_hand_map(tmp_path_factory.mktemp("map"))


@pytest.fixture(scope="session")
def hico_det(shared_data: Path) -> GroundTruth:
    return shoe.read_ground_truth(shared_data / "hico_det" / "instances_test2015.json", dataset="hico-det")
