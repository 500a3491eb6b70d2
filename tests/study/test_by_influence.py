"""A study drawn by influence on a score: from predictions to a table with weights, and what goes wrong."""

from pathlib import Path

import numpy as np
import pytest

import shoe.demo
from shoe.maps.diff import scored
from shoe.similarity import load_similarity
from shoe.study.folder import load_study
from shoe.study.plan import Study
from shoe.study.sampling import influential
from tests.cli.run import run

DATA = Path(shoe.demo.__file__).parent / "data"
TRUTH, MODELS = DATA / "truth.json", (DATA / "vlm.jsonl", DATA / "detector.json")
pytestmark = pytest.mark.slow


def test_influence_is_of_pairs_that_may_match_and_adds_up() -> None:
    tasks = [scored(path, TRUTH, "hico-det", "hico-det").task for path in MODELS]
    similarity = load_similarity("hico-det")
    alone = [influential([task], similarity) for task in tasks]
    both = influential(tasks, similarity)
    assert set(both.senses) == {senses for each in alone for senses in each.senses}
    assert both.influence.sum() == pytest.approx(np.mean([each.influence.sum() for each in alone]))
    assert all(a != b or x != y for a, x, b, y in both.senses)
    # Of one prediction file, most of what SHOE-mAP would leave open rests on pairs that have senses.
    assert all(0.2 < each.influence.sum() <= 1 for each in alone)
    assert (both.influence >= 0).all()


def test_a_study_by_influence(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    done = run("study", "new", folder, "--items", "40", "--raters", "1", "--for", MODELS[0], "-g", TRUTH)
    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0)
    assert "% of the influence" in done.stdout
    made = load_study(folder)
    assert isinstance(made, Study)
    measured = [item for item in made.items if item.gold is None]
    assert all(isinstance(item.weight, float) and item.weight > 1 for item in measured)
    assert {item.part for item in measured} <= {"verb", "object", "both"}
    alone = run("study", "new", tmp_path / "other", "--for", MODELS[0])
    assert (alone.returncode, alone.stderr.count("\n")) == (2, 1)


def test_a_stratified_study_keeps_what_items_stand_for(tmp_path: Path) -> None:
    assert run("study", "new", tmp_path, "--items", "60", "--raters", "1").returncode == 0
    made = load_study(tmp_path)
    assert isinstance(made, Study)
    weights = {(item.stratum, item.weight) for item in made.items if item.gold is None}
    assert len(weights) == len({stratum for stratum, _ in weights})  # the same for all of a stratum
    assert not any(item.weight for item in made.items if item.gold is not None)
