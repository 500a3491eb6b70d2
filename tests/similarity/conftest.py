"""The map of HICO-DET, loaded once."""

import pytest

from shoe.similarity import SimilarityMap


@pytest.fixture(scope="session")
def hico() -> SimilarityMap:
    return SimilarityMap.load("hico-det")
