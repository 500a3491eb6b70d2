"""The spread of classes that few images show: by hand, and against test sets drawn anew."""

import numpy as np
import pytest

from shoe.comparison.by_class import ByClass
from shoe.comparison.ranked import Ranked
from shoe.comparison.resampling import drawn_images
from shoe.core.arrays import Floats, Mask
from shoe.protocols.options import Interpolation, Ties
from shoe.scoring.entries import Entries, Rule


def of(values: Floats, shown: Mask, images: list[int]) -> ByClass:
    return ByClass(values, (shown,), shown, np.array(images))


def test_deviations_are_stretched_by_hand() -> None:
    """Two images: sqrt(2). One image: a deviation of the one with two, times sqrt(2) again. Ten: sqrt(10 / 9)."""
    values = np.array([[0.2, 0.5, 0.4], [0.4, 0.5, 0.4], [0.9, 0.5, 0.7]])
    shown = np.array([[True, True, True], [True, False, True], [False, True, True]])
    found = of(values, shown, [2, 1, 10]).stretched()
    assert found[:2, 0] == pytest.approx([0.3 - 0.1 * 2**0.5, 0.3 + 0.1 * 2**0.5])
    assert np.abs(found[:, 1] - 0.5) == pytest.approx([0.2] * 3)
    assert found[:, 2] == pytest.approx(0.5 + np.array([-0.1, -0.1, 0.2]) * (10 / 9) ** 0.5)


def test_one_image_gives_the_mean_of_t_times_the_variance_and_models_borrow_alike() -> None:
    rng, images, everywhere = np.random.default_rng(0), [2, 5, 9, 1, 1], np.ones((2_000, 5), bool)
    values = 0.5 + rng.normal(0, [0.1, 0.05, 0.3, 0, 0], (2_000, 5))
    first = of(values, everywhere, images).stretched()
    expected = (2 * 2 * 0.1**2 + 5 * 5 / 4 * 0.05**2) / 2
    assert first[:, 3:].var(axis=0) == pytest.approx(expected, rel=0.1)
    apart = first[:, 3:] - first[:, 3:].mean(axis=0)
    assert abs((apart[:, 0] * apart[:, 1]).mean()) < 0.1 * expected
    other = of(values * 0.25 + 0.1, everywhere, images).stretched()
    assert other == pytest.approx(first * 0.25 + 0.1)


def population(rng: np.random.Generator, images: int, classes: int) -> Entries:
    """Images that show one class each, whose ground truth is found or not; some classes are harder than others."""
    category, image = rng.integers(0, classes, images), np.arange(images)
    return Entries(
        category=category,
        image=image,
        score=rng.permutation(images) / images,
        credit=np.where(rng.random(images) < (0.1 + 0.8 * np.arange(classes) / classes)[category], 1.0, 0.0),
        truth_category=category,
        truth_image=image,
        counted=np.ones(classes, bool),
        rare=np.arange(classes) % 2 == 0,
        rule=Rule(Interpolation.ALL_POINTS, Ties.INPUT),
    )


def test_a_resample_of_fewer_classes_deviates_by_less() -> None:
    """Two of four classes are drawn: the mean is over four in every test set, so the deviation counts half."""
    values, shown = (
        np.array([[0.2, 0.2, 0.8, 0.8], [0.2, 0.2, 0.8, 0.8]]),
        np.array([[True] * 4, [True] * 2 + [False] * 2]),
    )
    found = of(values, shown, [9, 9, 9, 9]).resampled()[:, 0]
    assert found == pytest.approx([0.35 + 0.15, 0.35 - 0.15 / 2])


@pytest.mark.slow
def test_resamples_spread_as_test_sets_do() -> None:
    rng, images, sets = np.random.default_rng(1), 100, 200
    everyone, weights = population(rng, 20_000, 50), drawn_images(images, 60, 0)
    values, plain, found = np.empty((3, sets))
    for number in range(sets):
        drawn = everyone.take_images(rng.choice(20_000, images, replace=False))
        of_classes = Ranked.of(images, drawn).by_class(weights)
        values[number] = drawn.means().map
        plain[number], found[number] = (each[:, 0].std() for each in (of_classes.means(), of_classes.resampled()))
    assert plain.mean() / values.std() < 0.87
    assert found.mean() / values.std() == pytest.approx(1, abs=0.1)
