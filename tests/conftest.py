"""Fixtures that all tests share."""

from pathlib import Path

import pytest
from hypothesis import settings

# Timing is the benchmark's business: a slow machine is no failure.
settings.register_profile("shoe", deadline=None)
settings.load_profile("shoe")

_SHARED = Path(__file__).resolve().parent.parent.parent / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real annotation files; tests that need it are left out, and named, where it is absent."""
    if not _SHARED.is_dir():
        pytest.skip("real annotation files are not beside the checkout")
    return _SHARED
