"""A run says what its report says, and the counts behind SHOE-mF1 are sums over images."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

import shoe
from shoe.comparison.run import SEMANTIC, Run, digest_of
from shoe.demo import PREDICTIONS, TRUTH
from shoe.scoring.score import Report
from tests.comparison.samples import OPTIONS, report_of, run_of, scenes_of
from tests.examples import examples
from tests.present import present


def figures_of(report: Report) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for each in report.strict_results:
        values = {"full": each.map, "rare": each.map_rare, "non_rare": each.map_non_rare}
        found |= {f"strict:{each.options.protocol}:{part}": value for part, value in values.items()}
    if (result := report.semantic) is not None:
        found |= {f"semantic:{name}": getattr(result, name) for name in SEMANTIC}
    return found


def test_its_figures_are_the_reports() -> None:
    truth = shoe.read_ground_truth(TRUTH)
    report = shoe.score(shoe.read_predictions(PREDICTIONS["free text"]), truth, protocols=["all"])
    run = Run.from_report(report, "free text")
    assert (run.figures(), run.signature) == (figures_of(report), report.signature)
    assert run.images == truth.interactions.images
    assert present(run.semantic).above_delta.figures() == present(report.semantic).above_delta
    assert list(run.figures())[:3] == ["strict:hico-det:full", "strict:hico-det:rare", "strict:hico-det:non_rare"]


@pytest.mark.slow
@given(st.integers(0, 1 << 32), st.sampled_from(OPTIONS))
@examples(0.3)
def test_so_they_are_under_any_options(seed: int, options: tuple[str, ...]) -> None:
    report = report_of(scenes_of(seed), options)
    assert Run.from_report(report, "model").figures() == figures_of(report)


@pytest.mark.slow
@given(st.integers(0, 1 << 32), st.sampled_from(OPTIONS[:3]))
@examples(0.3)
def test_counts_of_drawn_images_are_those_of_the_images_under_new_names(seed: int, options: tuple[str, ...]) -> None:
    found, options = scenes_of(seed), (*options, "tau-by=image")
    index = np.random.default_rng(seed).integers(0, len(found), len(found))
    named = [replace(found[i], name=f"HICO_test2015_{n + 1:08d}.jpg") for n, i in enumerate(index.tolist())]
    once, again = (present(run_of(scenes, options).semantic) for scenes in (found, named))
    assert once.f1.take_images(index).figures() == pytest.approx(again.f1.figures(), abs=1e-12)


@given(st.integers(0, 1 << 32))
@examples(0.1)
def test_images_split_and_put_together_in_any_order_are_the_whole(seed: int) -> None:
    whole = present(run_of(scenes_of(seed, 6), ["ties=input"]).semantic).f1
    order = np.random.default_rng(seed).permutation(6)
    assert whole.take_images(order).figures() == pytest.approx(whole.figures(), abs=1e-12)
    parts = [whole.take_images(part) for part in np.split(order, [2])]
    assert sum(len(part.category) for part in parts) == len(whole.category)
    assert sum(part.sigma.sum() for part in parts) == pytest.approx(whole.sigma.sum())
    assert sum(part.truths for part in parts).tolist() == whole.truths.tolist()  # type: ignore[union-attr]


def test_what_changes_a_score_changes_the_digest_of_predictions() -> None:
    table = shoe.read_predictions(PREDICTIONS["free text"])
    again = replace(table, score=table.score.copy())
    assert digest_of(again) == digest_of(table)
    again.score[3] -= 1e-9
    assert digest_of(again) != digest_of(table)
    assert digest_of(replace(table, verbs=(*table.verbs[:-1], "other"))) != digest_of(table)
