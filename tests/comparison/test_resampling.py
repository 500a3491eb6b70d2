"""Figures under weights of images are those of the images taken one by one, and what is equal stays equal."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.benchmarks.scoring_options import Interpolation, Ties
from shoe.comparison import resampling
from shoe.comparison.ranked import Ranked
from shoe.comparison.resampling import (
    Counted,
    Measured,
    Resampler,
    differences_when_swapped,
    drawn_images,
    random_swaps,
)
from shoe.comparison.run import Run
from shoe.core.arrays import Indices
from shoe.scoring.entries import AveragingRule, Entries
from tests.comparison.samples import OPTIONS, run_of, scenes_of
from tests.examples import examples
from tests.present import present


def of_images(run: Run, index: Indices) -> dict[str, float | None]:
    semantic = present(run.semantic)
    strict = tuple(replace(each, entries=each.entries.take_images(index)) for each in run.strict)
    parts = {name: getattr(semantic, name).take_images(index) for name in ("entries", "f1", "best")}
    return replace(run, strict=strict, semantic=replace(semantic, **parts)).figures()


def entries(rng: np.random.Generator, images: int, levels: int, rule: AveragingRule) -> Entries:
    """Entries of three classes; scores of so many levels, or none of them equal."""
    number, truths, classes = 30, 12, 3
    score = rng.integers(0, levels, number) / levels if levels else rng.permutation(number) / number
    credit = np.where(rng.random(number) < 0.4, rng.integers(1, 5, number) / 4, 0.0)
    truth_category = rng.integers(0, classes, truths)
    return Entries(
        category=rng.integers(0, classes, number), image=np.sort(rng.integers(0, images, number)), score=score,
        credit=credit, truth_category=truth_category, truth_image=rng.integers(0, images, truths),
        counted=np.ones(classes, bool), rare=np.arange(classes) == 1, rule=rule,
    )  # fmt: skip


def untied(run: Run) -> Run:
    """The same with no two scores equal, of SHOE only where it takes the order of the input, and with one tau."""

    def apart(entries: Entries) -> Entries:
        return replace(entries, score=entries.score + 1e-6 * np.arange(len(entries.score)))

    strict, semantic = run.strict[0], replace(present(run.semantic), tau=None)
    if semantic.options.ties is Ties.INPUT:
        semantic = replace(semantic, entries=apart(semantic.entries))
    return replace(run, strict=(replace(strict, entries=apart(strict.entries)),), semantic=semantic)


@pytest.mark.slow
@given(st.integers(0, 1 << 32), st.sampled_from(OPTIONS))
@examples(0.5)
def test_weights_of_images_give_what_the_images_give(seed: int, options: tuple[str, ...]) -> None:
    run = untied(run_of(scenes_of(seed, 6), options))
    weights = drawn_images(6, range(5), seed % 100)
    found = Resampler(run).under(weights).figures()
    for number in range(5):
        for key, value in of_images(run, np.repeat(np.arange(6), weights[:, number])).items():
            # Tied scores of SHOE: the mean over a few random orders, not over all of them.
            near = 0.1 if key == "semantic:map" and "ties=input" not in options else 1e-9
            assert found[key][number] == pytest.approx(np.nan if value is None else value, abs=near, nan_ok=True)


@pytest.mark.slow
@given(st.integers(0, 1 << 32), st.sampled_from(Interpolation), st.sampled_from(Ties), st.booleans(), st.booleans())
@examples(0.5)
def test_so_do_untied_lists_under_every_rule(
    seed: int, ap: Interpolation, ties: Ties, skipping: bool, truthless: bool
) -> None:
    rng = np.random.default_rng(seed)
    found = entries(rng, 5, 0, AveragingRule(ap, ties, 1e-8, truthless, skipping, skipping))
    weights = drawn_images(5, range(4), seed % 100)
    means = Ranked.from_entries(5, found).by_class(weights).means()
    slow = [found.take_images(np.repeat(np.arange(5), times)).means() for times in weights.T]
    assert means == pytest.approx(np.array(slow, float), abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("seed", range(5))
def test_own_values_are_those_where_all_other_images_stand_once(seed: int) -> None:
    run, weights = untied(run_of(scenes_of(seed, 6))), drawn_images(6, range(9), seed)
    strict, f1 = run.strict[0].entries, present(run.semantic).f1
    ranked, counted = Ranked.from_entries(6, strict), Counted.from_entries(6, f1)
    for category, image, by_class in (
        (strict.truth_category, strict.truth_image, ranked.by_class),
        (f1.truth_category, f1.truth_image, counted.f1),
    ):
        own = by_class(weights).own
        for k in np.unique(category).tolist():
            alone = by_class(np.where(np.isin(np.arange(6), image[category == k])[:, None], weights, 1))
            assert own[:, k] == pytest.approx(alone.values[:, k], abs=1e-12)


def test_tied_scores_have_the_mean_over_their_orders_nearly() -> None:
    tied = entries(np.random.default_rng(0), 5, 3, AveragingRule(Interpolation.ALL_POINTS, Ties.EXPECTED))
    found = Ranked.from_entries(5, tied).by_class(np.ones((5, 2000), np.int32)).means()[:, 0]
    assert found.mean() == pytest.approx(tied.means().map, abs=0.01)
    assert found.std() < 0.05


def test_miss_rates_deviate_in_units_of_their_standard_error_and_to_the_other_side() -> None:
    """Images with 1, 1 and 8 ground truths, of which the first is found; then the second is drawn twice."""
    missed, truths = np.array([0.0, 1.0, 8.0]), np.array([1.0, 1.0, 8.0])
    weights = np.array([[1, 1], [1, 2], [1, 0]], np.int32)
    weights = np.column_stack([weights, np.ones(3, np.int32)])  # the run itself, last
    rate, error = resampling._rate_and_error(resampling._terms(missed, truths) @ weights)
    assert rate == pytest.approx([9 / 10, 2 / 3])
    assert error == pytest.approx([1, ((4 / 9 + 2 / 9) ** 0.5 / 3) / ((0.81 + 0.01 + 0.64) ** 0.5 / 10)])
    key, centre = "semantic:gt_miss_rate", rate.mean()
    found = Measured([], *(np.stack([each] * 3, axis=1) for each in (rate, error)))
    assert found.resampled()[key] == pytest.approx(centre - (rate - centre) / error)
    assert found.figures()[key] == pytest.approx(rate)
    assert (resampling._rate_and_error(resampling._terms(truths, truths) @ weights)[1] == 1).all()


def test_draws_are_of_all_images_and_the_same_for_all() -> None:
    weights = drawn_images(50, range(400), 3)
    assert (weights.sum(axis=0) == 50).all()
    assert (weights.mean(axis=1), weights.var()) == (
        pytest.approx(np.ones(50), abs=0.25),
        pytest.approx(0.98, abs=0.05),
    )
    assert (drawn_images(50, range(9), 3) == weights[:, :9]).all()
    assert (drawn_images(50, range(9), 4) != weights[:, :9]).any()
    assert random_swaps(50, range(400), 3, 400).mean() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("options", OPTIONS)
def test_equal_models_swap_nothing(options: tuple[str, ...]) -> None:
    run = run_of(scenes_of(7, 6), options)
    found = differences_when_swapped(Resampler(run, replace(run, name="other")), random_swaps(6, range(20), 0, 20))
    assert all((values[~np.isnan(values)] == 0).all() for values in found.values())


def test_swaps_change_only_the_sign_whatever_the_scale_of_confidences() -> None:
    a, b = (run_of(scenes_of(seed, 6)) for seed in (7, 8))
    b = _of_truth_of(a, b)
    kept = random_swaps(6, range(30), 1, 30)
    kept[:, 0], kept[:, 1] = 1, 0
    there, back = differences_when_swapped(Resampler(a, b), kept), differences_when_swapped(Resampler(b, a), kept)
    mine, others = a.figures(), b.figures()
    for key, values in there.items():
        assert np.array_equal(values, -back[key], equal_nan=True)
        assert values[0] == -values[1]
        x, y = mine[key], others[key]
        if x is not None and y is not None and key != "semantic:map":
            assert values[0] == pytest.approx(x - y, abs=1e-12)
    # The scale of confidences moves nothing.
    strict = b.strict[0]
    squeezed = replace(strict, entries=replace(strict.entries, score=strict.entries.score / 100 + 0.001))
    again = differences_when_swapped(Resampler(a, replace(b, strict=(squeezed,))), kept)
    assert np.array_equal(there["strict:qpic:full"], again["strict:qpic:full"], equal_nan=True)


def _of_truth_of(a: Run, b: Run) -> Run:
    """A run that claims another's ground truth."""

    def of_truth(mine: Any, its: Any) -> Any:
        return replace(mine, truth_category=its.truth_category, truth_image=its.truth_image)

    mine, its = present(b.semantic), present(a.semantic)
    semantic = replace(mine, entries=of_truth(mine.entries, its.entries), f1=of_truth(mine.f1, its.f1))
    strict = replace(b.strict[0], entries=of_truth(b.strict[0].entries, a.strict[0].entries))
    return replace(b, strict=(strict,), semantic=semantic)
