"""The strict scorer against its slow twin, and on inputs at the edge."""

from functools import cache
from statistics import harmonic_mean as harmonic

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.benchmarks.hico_det import PROTOCOLS as STRICT
from shoe.scoring.entries import harmonic_mean
from shoe.scoring.strict import best_with_first_copies, strict_entries
from tests.oracles.model import ImageScene, Triplet
from tests.oracles.scenes import CLASSES, HUMAN, one_image, random_scenes, scenes
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


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_prediction_is_held_against_its_nearest_truth(protocol: Protocol) -> None:
    near, between, far = (Triplet(HUMAN, (x, 10, x + 39, 49), "ride", "horse", 1 - x / 64) for x in (0.0, 10.0, 20.0))
    agree([one_image([near, between], [near, far])], protocol, bugs=True)


@cache
def crowded(decimals: int | None) -> list[ImageScene]:
    """Images with more than 100 predictions each, so that caps cut."""
    return random_scenes(np.random.default_rng(7), 35, n_predictions=130, decimals=decimals, open_words=True)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("decimals", [None, 1])
def test_agrees_with_the_oracle_on_many_images(protocol: Protocol, decimals: int | None) -> None:
    for bugs in (True, False):
        agree(crowded(decimals), protocol, bugs)


rows = st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.1, 0.5, 0.9])), max_size=30)


@given(rows, st.integers(1, 5))
def test_first_copies_take_the_first_row_of_each_value(entries: list[tuple[int, float]], most: int) -> None:
    entries = sorted(entries, key=lambda entry: entry[0])
    image, score = np.array([i for i, _ in entries], np.int64), np.array([s for _, s in entries])
    expected = []
    for i in range(4):
        of_image = [k for k in range(len(image)) if image[k] == i]
        values = sorted((score[k] for k in of_image), reverse=True)[:most]
        expected += [next(k for k in of_image if score[k] == value) for value in values]
    assert best_with_first_copies(image, score, most).tolist() == expected
