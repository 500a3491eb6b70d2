"""Fixtures that all tests share."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Timing is the benchmark's business: a slow machine is no failure.
settings.register_profile("shoe", deadline=None)
settings.load_profile("shoe")

_ROOT = Path(__file__).resolve().parent.parent
_SHARED = _ROOT.parent / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real annotation files; tests that need it are left out, and named, where it is absent."""
    if not _SHARED.is_dir():
        pytest.skip("real annotation files are not beside the checkout")
    return _SHARED


@pytest.fixture(scope="session")
def reader() -> Any:
    """WordNet as nltk reads it; tests that need it are left out, and named, where it is absent."""
    nltk = pytest.importorskip("nltk")
    nltk.data.path.append(str(_ROOT / ".wordnet" / "nltk_data"))
    try:
        nltk.corpus.wordnet.ensure_loaded()
    except LookupError:
        pytest.skip("WordNet's files are not in place: scripts/setup-wordnet puts them there")
    return nltk.corpus.wordnet
