"""The threshold of SHOE-mF1 under resampled images: against matching anew at the threshold that each resample has."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from msgspec.structs import astuple

from shoe.comparison.resampling import Resampler, differences_when_swapped, drawn_images
from shoe.comparison.run import SEMANTIC
from shoe.comparison.tau import LEVELS, OWN, TauLevels
from shoe.scoring.f1 import F1Figures
from shoe.scoring.scorer import Scorer
from tests.comparison.samples import report_of, run_of, scenes_of
from tests.examples import examples
from tests.present import present


def scorer_of(seed: int, images: int) -> Scorer:
    report = report_of(scenes_of(seed, images))
    return Scorer(report.task, present(report.similarities), present(report.semantic).options)


def by_hand(scorer: Scorer, levels: TauLevels, times: list[int]) -> F1Figures:
    """Metrics of images that are drawn so many times, at the first threshold that keeps half of their predictions."""
    image, score = scorer.task.image, scorer.task.predictions.score
    rows = scorer.rows[scorer.counts_for_tau[scorer.rows]].tolist()
    falling = sorted((score[row] for row in rows), reverse=True)
    wanted = sum(times[image[row]] for row in rows) / 2
    for fraction in levels.fraction.tolist():
        least = falling[min(len(rows), max(1, int(np.ceil(fraction * len(rows) - 1e-9)))) - 1]
        if sum(times[image[row]] for row in rows if score[row] >= least) >= wanted:
            break
    found = scorer.f1_entries(scorer.match(scorer.rows[score[scorer.rows] >= least]))
    return found.take_images(np.repeat(np.arange(len(times)), times)).figures()


@pytest.mark.slow
@given(st.integers(0, 1 << 32))
@examples(0.3)
def test_a_resample_has_the_matches_at_its_own_threshold(seed: int) -> None:
    scorer = scorer_of(seed, 7)
    run, levels = run_of(scenes_of(seed, 7)), TauLevels.from_scorer(scorer)
    weights = drawn_images(7, range(20), seed % 100)
    found = Resampler(run).under(weights).figures()
    for number, times in enumerate(weights.T.tolist()):
        drawn = present(run.semantic).f1.take_images(np.repeat(np.arange(7), times))
        expected = by_hand(scorer, levels, times) if levels else drawn.figures()
        for key, value in zip(("mf1", *SEMANTIC[3:]), astuple(expected), strict=True):
            value = np.nan if value is None else value
            assert found[f"semantic:{key}"][number] == pytest.approx(value, abs=1e-12, nan_ok=True)


def test_thresholds_differ_between_resamples_but_not_for_the_images_themselves() -> None:
    run = run_of(scenes_of(3, 40))
    once = Resampler(run).under(np.ones((40, 1), np.int32)).figures()
    own = run.figures()
    keys = [key for key in once if "mf1" in key or "miss" in key]
    assert {key: once[key][0] for key in keys} == pytest.approx({key: own[key] for key in keys}, abs=1e-12)
    semantic = present(run.semantic)
    weights = drawn_images(40, range(200), 0)
    fixed = Resampler(replace(run, semantic=replace(semantic, tau=None))).under(weights).figures()
    moving = Resampler(run).under(weights).figures()
    assert (moving["semantic:mf1"] != fixed["semantic:mf1"]).mean() > 0.1
    assert np.array_equal(moving["semantic:map"], fixed["semantic:map"])
    # Scores of the second model are a tenth of the first one's: the swap of equal models changes nothing.
    found = differences_when_swapped(Resampler(run, run), drawn_images(40, range(9), 1).clip(max=1))
    assert all((values[~np.isnan(values)] == 0).all() for values in found.values())


def test_only_predictions_that_count_choose_the_threshold() -> None:
    scorer = scorer_of(5, 30)
    scorer.counts_for_tau = np.arange(len(scorer.task.predictions)) % 3 > 0
    levels = present(TauLevels.from_scorer(scorer))
    rows = scorer.rows[scorer.counts_for_tau[scorer.rows]]
    score = np.sort(scorer.task.predictions.score[rows])[::-1]
    assert levels.total.sum() == len(rows)
    least = score[int(np.ceil(len(rows) / 2)) - 1]
    assert (levels.kept[OWN].sum(), len(levels.fraction)) == ((score >= least).sum(), LEVELS)
    assert (np.diff(levels.kept, axis=0) >= 0).all()


@pytest.mark.parametrize("options", ["tau-by=image", "tau-by=score", "tau-by=best", "tau=0"])
def test_other_thresholds_are_the_same_for_all_images(options: str) -> None:
    assert present(run_of(scenes_of(3, 10), [options]).semantic).tau is None
