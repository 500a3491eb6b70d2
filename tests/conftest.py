"""Fixtures that all tests share."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from shoe.errors import MissingExtraError
from shoe.lexicon.wordnet import wordnet

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


@pytest.fixture(scope="session")
def reader() -> Any:
    """WordNet as nltk reads it; tests that need it are left out, and named, where it is absent."""
    try:
        return wordnet("this test")
    except MissingExtraError as missing:
        pytest.skip(str(missing))
