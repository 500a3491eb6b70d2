"""The packaged sample is what the script makes of the real annotations."""

import subprocess
import sys
from pathlib import Path

import pytest

from shoe.benchmarks.truth import GroundTruth
from shoe.demo import DATA
from tests.scripts.conftest import SCRIPTS


@pytest.mark.real_data
def test_the_sample_is_what_the_script_makes(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "hico_det" / "instances_test2015.json"
    subprocess.run([sys.executable, SCRIPTS / "make-demo-data", source, tmp_path], check=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in DATA.iterdir())
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (DATA / path.name).read_bytes(), path.name


def test_the_sample_shows_many_classes_rare_ones_and_an_image_without_any(sample: GroundTruth) -> None:
    assert len(sample.interactions.images) == 200
    shown = sample.triplets_per_class > 0
    assert shown.sum() > 300
    assert (shown & sample.classes.rare).sum() > 50
    assert (sample.interactions.offsets[1:] == sample.interactions.offsets[:-1]).any()
    assert sample.split == "test2015/part"
