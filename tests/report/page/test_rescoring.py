"""Models scored again in a page: the figures that the command computes, under any settings and options."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoe
import shoe.report.page
from shoe.benchmarks.truth import GroundTruth
from shoe.core.interactions import Interactions
from shoe.demo import PREDICTIONS, TRUTH
from shoe.report.page.rescoring import Rescoring, pack, rescoring
from shoe.scoring.evidence.facts import spread
from shoe.scoring.score import Report
from tests.present import present

STATIC = Path(shoe.report.page.__file__).parent / "static"
OPTIONS = {
    "combine": ["arithmetic", "arithmetic", "geometric", "minimum"], "sigma-ties": ["confidence", "iou", "index"],
    "min-sigma": ["none", "positive", "delta"], "missed": ["keep", "drop"], "delta-at": [">=", ">"],
    "f1-fp-scope": ["image", "dataset"], "f1-delta-at": [">", ">="], "classes": ["truth", "all"],
    "no-interaction": ["keep", "exclude"], "sense": ["likely", "max"], "unrated": ["learned", "zero", "drop"],
    "tau": ["0.5", "0.9"], "tau-by": ["dataset", "score"], "map-tau": ["none", "0.3"], "recall": ["fn", "truth"],
    "f1-classes": ["truth", "counted"], "prediction-misses": ["all", "charged"], "cap": ["none", "4"],
    "repeats": ["near", "near", "matched"],
}  # fmt: skip


@pytest.fixture(scope="module")
def tables() -> tuple[GroundTruth, list[Interactions]]:
    return shoe.read_ground_truth(TRUTH), [shoe.read_predictions(path) for path in PREDICTIONS.values()]


def in_page(found: Rescoring, settings: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Figures of each model under each of the settings, as the page computes them."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    models = [pack(model) for model in found.models]
    content = {"shared": pack(found.shared), "models": models, "settings": list(settings)}
    driver = Path(__file__).with_name("rescore.mjs")
    done = subprocess.run([node, driver, STATIC], input=json.dumps(content), text=True, capture_output=True, check=True)
    return [each["figures"] for each in json.loads(done.stdout)]


def agree(page: dict[str, Any], report: Report) -> None:
    for name in ("map", "mf1", "gt_miss_rate", "prediction_miss_rate"):
        assert page[name] == pytest.approx(getattr(report.semantic, name), abs=1e-9), name
    for name in ("ap", "f1"):
        np.testing.assert_allclose(np.array(page[name], float), getattr(report.semantic, name), rtol=0, atol=1e-9)


@pytest.mark.slow
def test_the_page_scores_the_demo_as_the_command_does(tables: tuple[GroundTruth, list[Interactions]]) -> None:
    truth, models = tables
    reports = [shoe.score(model, truth, protocols=["shoe"]) for model in models]
    found = rescoring(reports)
    assert isinstance(found, Rescoring)
    ensembles = [each["option"] for each in found.shared["ensembles"]]
    labels = [each["label"] for each in found.shared["ensembles"]]
    settings: list[dict[str, Any]] = [
        {"weight": 0.5, "delta": 0.5, "ensemble": 0},
        {"weight": 0.3, "delta": 0.7, "ensemble": ensembles.index("majority")},
        {"weight": 1, "delta": 0, "ensemble": ensembles.index("median")},
        *({"weight": 0.5, "delta": 0.5, "ensemble": number} for number, of in enumerate(ensembles) if of is None),
    ]
    for model, report, figures in zip(models, reports, in_page(found, settings), strict=True):
        for chosen, page in zip(settings[:3], figures, strict=False):
            options = [f"weight={chosen['weight']}", f"delta={chosen['delta']}"]
            options.append(f"ensemble={ensembles[int(chosen['ensemble'])]}")
            agree(page, shoe.score(model, truth, protocols=["shoe"], options=options))
        alone = present(spread(report))
        raters = dict(zip(labels[-len(figures[3:]) :], (page["map"] for page in figures[3:]), strict=True))
        assert raters == pytest.approx(alone.raters, abs=1e-9)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 10))])
def test_the_page_scores_any_scene_as_commands_do(tables: tuple[GroundTruth, list[Interactions]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, models = tables
    some = np.sort(rng.choice(len(truth.interactions.images), rng.integers(2, 60), replace=False))
    truth = replace(truth, interactions=truth.interactions.select_images(some))
    model = models[seed % 2]
    score = np.round(model.score, int(rng.integers(0, 4))) * rng.choice([0, 1, 1], len(model))
    model = replace(model, score=np.clip(score, 0, 1))
    options = [f"{name}={rng.choice(values)}" for name, values in OPTIONS.items()]
    found = rescoring([shoe.score(model, truth, protocols=["shoe"], options=options)])
    assert isinstance(found, Rescoring)
    weight, delta = round(float(rng.random()), 2), round(float(rng.random()), 2)
    changed = [*options, f"weight={weight}", f"delta={delta}", "ensemble=majority-mean"]
    number = [each["option"] for each in found.shared["ensembles"]].index("majority-mean")
    (((page,),)) = in_page(found, [{"weight": weight, "delta": delta, "ensemble": number}])
    agree(page, shoe.score(model, truth, protocols=["shoe"], options=changed))


def test_what_the_page_cannot_do_is_said(tables: tuple[GroundTruth, list[Interactions]]) -> None:
    truth, models = tables
    truth = truth.within(truth.interactions.images[:20])
    model = models[1].select_images(np.isin(models[1].images, truth.interactions.images))
    literal, strict, usual = (shoe.score(model, truth, protocols=[n]) for n in ("shoe-literal", "hico-det", "shoe"))
    other = shoe.score(model, truth, protocols=["shoe"], options=["delta=0.4"])
    for reports, said in (
        ([literal], "assign=best-first"),
        ([strict], "no SHOE scores"),
        ([usual, strict], "no SHOE scores"),
        ([usual, other], "different options"),
    ):
        assert said in str(rescoring(reports))
