"""The strict scorer against its slow twin, and on inputs at the edge."""

from functools import cache
from statistics import harmonic_mean as harmonic

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.benchmarks.hico_det import PROTOCOLS as STRICT
from shoe.scoring.entries import harmonic_mean
from shoe.scoring.strict import strict_entries
from tests.oracles.model import ImageScene
from tests.oracles.scenes import CLASSES, random_scenes, scenes
from tests.oracles.strict import PROTOCOLS, Protocol, strict
from tests.scoring.compare import STRICT_FIGURES, close, fast_strict, same_figures, task_of

WITHOUT_BUGS = {
    "qpic": ["strict.empty-images=count"],
    "gen-vlkt": ["strict.cap-ties=input"],
    "diag": ["strict.zero-tp=zero"],
}


def agree(found: list[ImageScene], protocol: Protocol, bugs: bool) -> None:
    task = task_of(found)
    fast = fast_strict(task, protocol, [] if bugs else WITHOUT_BUGS.get(protocol, []))
    slow = strict(found, CLASSES, protocol, bugs)
    same_figures(fast, slow, STRICT_FIGURES)
    # Parts of a class split are averaged as rare and other classes are: GEN-VLKT prints the mean of unseen as "rare".
    parts = strict_entries(task, fast.options).scores().part_means({"unseen": CLASSES.rare, "seen": ~CLASSES.rare})
    assert close(parts["unseen"].map, slow["map_rare"])
    assert close(parts["seen"].map, slow["map_non_rare"])
    both = [value for value in (slow["map_rare"], slow["map_non_rare"]) if value is not None]
    assert close(harmonic_mean(parts), harmonic(both) if len(both) == 2 else None)


def test_every_protocol_has_an_oracle() -> None:
    assert set(PROTOCOLS) == set(STRICT)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(found=scenes(), bugs=st.booleans())
def test_agrees_with_the_oracle_on_small_scenes(protocol: Protocol, found: list[ImageScene], bugs: bool) -> None:
    agree(found, protocol, bugs)


@cache
def crowded(decimals: int | None) -> list[ImageScene]:
    """Images with more than 100 predictions each, so that caps cut."""
    return random_scenes(np.random.default_rng(7), 35, n_predictions=130, decimals=decimals, open_words=True)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("decimals", [None, 1])
def test_agrees_with_the_oracle_on_many_images(protocol: Protocol, decimals: int | None) -> None:
    """With and without ties."""
    for bugs in (True, False):
        agree(crowded(decimals), protocol, bugs)
