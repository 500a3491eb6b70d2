"""The rater model on simulated raters, and ensembles of a map's raters beside people."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from shoe.similarity import SimilarityMap, load_similarity
from shoe.study.raters_and_people import beside_people, ensembles_of, rater_model, similarity_of_items
from shoe.study.ratings import read_study
from tests.present import present


def test_bias_and_noise_are_found_again() -> None:
    rng = np.random.default_rng(4)
    true = rng.normal(2, 1, 3_000)
    bias, noise = np.array([0.3, -0.3, 0.0, 0.8]), np.array([0.3, 0.6, 1.0, 0.5])
    values = true[:, None] + bias + noise * rng.standard_normal((3_000, 4))
    values[rng.random(values.shape) < 0.2] = np.nan
    found = rater_model(values, anchors=3)
    twice = rater_model(np.concatenate([values, values[:, 3:]], axis=1), anchors=3)  # raters of a map that say the same
    assert twice.noise == pytest.approx([*found.noise, found.noise[3]])
    assert [*found.bias, *found.noise] == pytest.approx([*bias, *noise], abs=0.05)
    assert np.corrcoef(found.item[~np.isnan(found.item)], true[~np.isnan(found.item)])[0, 1] > 0.92
    # Two raters that differ by a constant.
    values = np.array([[0.0, 1], [1, 2], [2, 3], [3, 4]])
    found = rater_model(values, anchors=2)
    assert [*found.bias, *found.noise] == pytest.approx([-0.5, 0.5, 0.05, 0.05], abs=1e-6)


def test_the_ensemble_that_people_were_made_from_is_found(tmp_path: Path) -> None:
    similarity = load_similarity("hico-det")
    assert isinstance(similarity, SimilarityMap)
    verbs = [f"{name}.v.01" for name in ("ride", "eat", "drive", "wash", "carry", "kick", "kiss", "feed")]
    pairs = product(product(verbs, [f"{name}.n.01" for name in ("horse", "dog", "pizza", "bus")]), repeat=2)
    lines = [f"{a},{x},{b},{y}" for (a, x), (b, y) in pairs if (a, x) < (b, y)]
    header = "verb_a,object_a,verb_b,object_b,rater,rating\n"
    path = tmp_path / "made.csv"
    path.write_text(header + "".join(f"{line},p,0\n" for line in lines))
    first = similarity_of_items(read_study(path), similarity.with_raters((0,)), path)
    known = [(line, value) for line, value in zip(lines, first, strict=True) if not np.isnan(value)]
    assert len(known) > 50
    path.write_text(header + "".join(f"{line},{p},{round(4 * value)}\n" for line, value in known for p in "pq"))
    found = present(beside_people(read_study(path), "hico-det", path))
    assert found.ensembles[0].raters == (similarity.raters[0].name,)
    assert found.ensembles[0].among_best
    assert [rater.person for rater in found.raters[:3]] == [True, True, False]
    assert {*found.left_out, *(rater.name for rater in found.raters)} >= {rater.name for rater in similarity.raters}
    assert beside_people(read_study(path), "wup", path) is None


def test_ensembles_that_the_study_can_tell_from_the_best_are_out() -> None:
    rng = np.random.default_rng(0)
    people = rng.random(200)
    near, alike, far = (np.clip(people + scale * rng.standard_normal(200), 0, 1) for scale in (0.05, 0.05, 0.4))
    found = ensembles_of(["near", "alike", "far"], [(0,), (1,), (2,)], np.stack([near, alike, far], axis=1), people)
    assert {each.raters[0]: each.among_best for each in found} == {"near": True, "alike": True, "far": False}
    assert found[0].agreement == pytest.approx(max(1 - np.abs(x - people).mean() for x in (near, alike)))
