"""A small run in a file, for all tests of files of runs."""

from pathlib import Path

import pytest

from shoe.comparison.run_file import write_run
from tests.comparison.samples import run_of, scenes_of


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "run.shoe"
    write_run(run_of(scenes_of(3, images=3)), path)
    return path
