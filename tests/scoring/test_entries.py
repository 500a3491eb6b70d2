"""Entries as a value: taking images, as often as wanted, is scoring a table that has these images under new names."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.benchmarks.hico_det import PROTOCOLS
from shoe.benchmarks.protocols import SEMANTIC
from shoe.benchmarks.scoring_options import StrictOptions, changed
from shoe.core.arrays import Indices
from shoe.scoring.average_precision import FixedRanking
from shoe.scoring.entries import AveragingRule, ClassScores, Entries, Means
from shoe.scoring.matching.task import Task
from shoe.scoring.scorer import Scorer
from shoe.scoring.strict import strict_entries
from tests.oracles.scenes import CLASSES, TOY, random_scenes
from tests.scoring import compare
from tests.scoring.compare import task_of, toy_similarities

seeds = st.integers(0, 1 << 32)


def some_images(seed: int, count: int = 5) -> tuple[Task, Indices, Task]:
    """Five images; so many of them, as often as drawn; and a table of those, each under a name of its own."""
    found = random_scenes(np.random.default_rng(seed), 5, n_predictions=9, decimals=1, open_words=True)
    index = np.random.default_rng(seed).integers(0, 5, count)
    again = [replace(found[i], name=f"HICO_test2015_{number + 1:08d}.jpg") for number, i in enumerate(index.tolist())]
    return task_of(found), index, task_of(again)


def semantic_entries(task: Task, options: Sequence[str]) -> Entries:
    chosen = changed(SEMANTIC["shoe"], options)
    scorer = Scorer(task, toy_similarities(task, *TOY, chosen.combine, chosen.weight), chosen)
    return scorer.entries(scorer.match(scorer.map_rows))


def close(a: Means, b: Means) -> bool:
    return all(compare.close(x, y) for x, y in zip(a, b, strict=True))


@given(seeds, st.sampled_from([name for name in PROTOCOLS if name != "thid"]))
def test_resampled_strict_entries_score_as_the_images_repeated_under_new_names(seed: int, protocol: str) -> None:
    task, index, renamed = some_images(seed)
    options = changed(PROTOCOLS[protocol], ["strict.known-object=boxes"] if "known" in protocol else [])
    taken, again = strict_entries(task, options).take_images(index), strict_entries(renamed, options)
    assert taken.truths.tolist() == again.truths.tolist()
    assert close(taken.means(), again.means())


@given(seeds, st.sampled_from(["ties=expected", "ties=input", "fp-scope=image", "classes=all"]))
def test_resampled_semantic_entries_score_as_the_images_repeated_under_new_names(seed: int, option: str) -> None:
    task, index, renamed = some_images(seed)
    taken = semantic_entries(task, [option]).take_images(index)
    assert close(taken.means(), semantic_entries(renamed, [option]).means())


@pytest.mark.parametrize("setting", ["strict.zero-tp=skip", "strict.unpredicted=full-only"])
@given(seeds)
def test_a_class_none_of_whose_ground_truths_was_drawn_has_no_entries(setting: str, seed: int) -> None:
    task, index, renamed = some_images(seed, 2)
    options = changed(PROTOCOLS["hico-det"], ["strict.truthless=zero", setting])
    taken = strict_entries(task, options).take_images(index).scores()
    again = strict_entries(renamed, options).scores()
    assert close(taken.means(CLASSES.rare, CLASSES.unseen), again.means(CLASSES.rare, CLASSES.unseen))
    assert taken.entries.tolist() == again.entries.tolist()


def test_images_without_entries_and_no_images_at_all() -> None:
    entries = strict_entries(some_images(1)[0], StrictOptions())
    nothing = entries.take_images(np.zeros(0, np.int64))
    assert (nothing.means(), len(nothing.category)) == (Means(None, None, None), 0)
    beyond = entries.take_images(np.array([10]))
    assert (len(beyond.category), len(beyond.truth_category)) == (0, 0)


@given(seeds, st.sampled_from(["zero", "skip"]), st.sampled_from(["zero", "full-only"]))
def test_a_fixed_ranking_scores_what_is_left_as_entries_of_their_own(seed: int, zero_tp: str, unpredicted: str) -> None:
    rng = np.random.default_rng(seed)
    p, classes = 40, 5
    category = rng.integers(-1, classes, p)
    score = rng.integers(0, 8, p) / 8
    kept, true = rng.random(p) < 0.7, np.flatnonzero(rng.random(p) < 0.2)
    of = rng.integers(0, classes, len(true))
    truth_category = np.concatenate([of, rng.integers(0, classes, 4)])
    settings = [f"strict.zero-tp={zero_tp}", f"strict.unpredicted={unpredicted}", "strict.unseen=apart"]
    options = changed(StrictOptions(), settings)
    rule, counted = AveragingRule.from_options(options), np.ones(classes, bool)
    rare, unseen = np.arange(classes) < 2, np.arange(classes) == 2
    kept[true] = False
    kept &= category >= 0
    entry = np.flatnonzero(kept | np.isin(np.arange(p), true))
    now = category.copy()
    now[true] = of
    entries = Entries(
        category=now[entry],
        image=np.zeros(len(entry), int),
        score=score[entry],
        credit=np.isin(entry, true).astype(float),
        truth_category=truth_category,
        truth_image=np.zeros(len(truth_category), int),
        counted=counted,
        rare=rare,
        unseen=unseen,
        rule=rule,
    )
    ranking = FixedRanking.from_ranks(category, np.argsort(-score, kind="stable"), classes)
    lists = ranking.lists(kept, true, of, entries.truths, options.ap)
    found = ClassScores.from_lists(lists, entries.truths, counted, rule, unseen)
    expected = entries.scores()
    np.testing.assert_allclose(found.ap, expected.ap, rtol=0, atol=1e-12)
    assert found.entries.tolist() == expected.entries.tolist()
    assert close(found.means(rare, unseen), expected.means(rare, unseen))
