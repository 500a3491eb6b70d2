"""Damaged files are read or refused in one line; nothing else comes out of a reader."""

from contextlib import suppress
from pathlib import Path

import pytest

from shoe.errors import ShoeError
from shoe.predictions import read_predictions
from tests.predictions import samples
from tests.predictions.damage import damaged, options, predictions

CASES = 40
CONTENT = predictions()


@pytest.mark.parametrize("name", samples.SAMPLES)
def test_damaged_predictions_are_read_or_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    for seed in range(CASES):
        path.write_bytes(damaged(name, CONTENT[name], seed))
        with suppress(ShoeError):
            read_predictions(path, **options(name, seed))
