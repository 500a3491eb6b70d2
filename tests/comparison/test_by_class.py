"""The spread of classes that few images show: by hand, and against test sets drawn anew."""

import numpy as np
import pytest

from shoe.benchmarks.scoring_options import Interpolation, Ties
from shoe.comparison.ranked import ByClass, Ranked
from shoe.comparison.resampling import drawn_images
from shoe.core.arrays import Floats, Indices
from shoe.scoring.entries import AveragingRule, Entries


def of(values: Floats, drawn: Indices, images: list[int], own: Floats | None = None) -> ByClass:
    return ByClass(values, (drawn > 0,), drawn, np.array(images), values if own is None else own)


def test_deviations_are_stretched_by_hand() -> None:
    """By sqrt(t* / (t - 1)); what one image shows borrows of what two show, times sqrt(2); 7 / 6 is of dropping out."""
    values = np.array([[0.2, 0.5, 0.4], [0.4, 0.5, 0.4], [0.9, 0.5, 0.7]])
    found = of(values, np.array([[2, 1, 10], [1, 0, 5], [0, 1, 15]]), [2, 1, 10]).scaled_deviations()
    assert found[:2, 0] == pytest.approx([0.3 - 0.1 * (2 * 7 / 6) ** 0.5, 0.3 + 0.1 * (7 / 6) ** 0.5])
    borrowed = np.array([0.2, 0.1 * 2**0.5]) * (7 / 6) ** 0.5
    assert (np.abs(np.abs(found[:, 1:2] - 0.5) - borrowed) < 1e-12).any(axis=1).all()
    assert found[:, 2] == pytest.approx(0.5 + np.array([-0.1, -0.1, 0.2]) * (np.array([10, 5, 15]) / 9) ** 0.5)
    # What other images do is not stretched.
    own, others = np.array([[0.1], [-0.1], [0.1], [-0.1]]), np.array([[0.05], [0.05], [-0.05], [-0.05]])
    found = of(0.5 + own + others, np.full((4, 1), 2), [2], 0.6 + own).scaled_deviations()
    assert found == pytest.approx(0.5 + own * 2**0.5 + others)


def test_one_image_gives_the_mean_of_t_times_the_variance_and_models_borrow_alike() -> None:
    rng, images = np.random.default_rng(0), [2, 5, 9, 1, 1]
    everywhere = np.tile(images, (2_000, 1))
    values = 0.5 + rng.normal(0, [0.1, 0.05, 0.3, 0, 0], (2_000, 5))
    first = of(values, everywhere, images).scaled_deviations()
    expected = (2 * 2 * 0.1**2 + 5 * 5 / 4 * 0.05**2) / 2
    assert first[:, 3:].var(axis=0) == pytest.approx(expected, rel=0.1)
    apart = first[:, 3:] - first[:, 3:].mean(axis=0)
    assert abs((apart[:, 0] * apart[:, 1]).mean()) < 0.1 * expected
    assert of(values * 0.25 + 0.1, everywhere, images).scaled_deviations() == pytest.approx(first * 0.25 + 0.1)


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
        rule=AveragingRule(Interpolation.ALL_POINTS, Ties.INPUT),
    )


def test_a_resample_of_fewer_classes_deviates_by_less_and_a_rare_class_counts_more() -> None:
    """Two of four classes are drawn: the mean is over four in every test set, so the deviation counts half."""
    values, drawn = np.array([[0.2, 0.2, 0.8, 0.8]] * 2), np.array([[9, 9, 9, 9], [9, 9, 0, 0]])
    found = of(values, drawn, [9, 9, 9, 9]).resampled()[:, 0]
    assert found == pytest.approx([0.35 + 0.15, 0.35 - 0.15 / 2])
    # A class at 1 beside three at 0, in one of two resamples: sqrt(1.6) times as far from the mean, 0.125.
    values, drawn = np.array([[0.0, 0.0, 0.0, 1.0]] * 2), np.array([[9, 9, 9, 1], [9, 9, 9, 0]])
    found = of(values, drawn, [9, 9, 9, 1]).resampled()[:, 0]
    with_it = 0.25 + (1.6**0.5 - 1) * (1 - 0.125) / 4
    assert found == pytest.approx([with_it, with_it / 2 * (1 - 3 / 4)])


@pytest.mark.slow
def test_resamples_spread_as_test_sets_do() -> None:
    rng, images, sets = np.random.default_rng(1), 100, 200
    everyone, weights = population(rng, 20_000, 50), drawn_images(images, range(60), 0)
    values, plain, found = np.empty((3, sets))
    for number in range(sets):
        drawn = everyone.take_images(rng.choice(20_000, images, replace=False))
        of_classes = Ranked.from_entries(images, drawn).by_class(weights)
        values[number] = drawn.means().map
        plain[number], found[number] = (each[:, 0].std() for each in (of_classes.means(), of_classes.resampled()))
    assert plain.mean() / values.std() < 0.87
    assert found.mean() / values.std() == pytest.approx(1, abs=0.1)
