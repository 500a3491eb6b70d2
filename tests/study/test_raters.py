"""People beside a map's raters: as a rater of a map, in the rater model, and beside ensembles."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from shoe.lexicon.store import names_of
from shoe.maps.ablate import ablate
from shoe.maps.config import identity_of
from shoe.maps.human_ratings import read_human_ratings
from shoe.maps.prompts import Interaction, Question, SenseText
from shoe.similarity import SimilarityMap, load_similarity
from shoe.study.raters_and_people import (
    People,
    beside_people,
    ensembles_of,
    rater_model,
    read_people,
    similarity_of_items,
)
from shoe.study.ratings import read_study
from tests.errors import input_error
from tests.maps.asking import PROMPTS, Memory, in_groups
from tests.present import present
from tests.study.made import written

HEADER = "verb_a,object_a,verb_b,object_b,rater,rating,occasion,gold"
RIDE = "ride.v.02,horse.n.01,straddle.v.01,horse.n.01"
EAT = "eat.v.01,pizza.n.01,eat.v.01,hamburger.n.01"


def study(folder: Path) -> Path:
    answers = [f"{RIDE},ann,3,1,", f"{RIDE},ann,0,2,", f"{RIDE},bob,4,1,", f"{EAT},bob,1,1,", f"{EAT},ann,,1,"]
    return written(folder, HEADER, *answers, "ride.v.02,horse.n.01,ride.v.02,horse.n.01,bob,4,1,4")


def rated(rater: People, *questions: Question) -> list[int]:
    backend, memory = rater.backend(PROMPTS), Memory()
    backend.rate(in_groups(questions, len(questions)), memory)
    return [rating for group, raw in memory.answers for rating in backend.parse(group.about()["ids"], raw)]


def interactions(*rows: str) -> list[Question]:
    found = []
    for number, row in enumerate(rows):
        a, x, b, y = (SenseText(name, (), "") for name in row.split(","))
        pair = Interaction.from_senses(a, x), Interaction.from_senses(b, y)
        found.append(Question(f"{number:016d}".encode(), "interaction", *pair))
    return found


def test_people_answer_about_interactions_and_senses_that_they_rated(tmp_path: Path) -> None:
    path = study(tmp_path)
    asked = interactions(RIDE, EAT, "ride.v.02,horse.n.01,ride.v.02,horse.n.01")
    assert rated(People(name="all", file=path), *asked) == [4, 1]  # 3.5 is rounded up; gold items are no ratings
    assert rated(People(name="ann", file=path, person="ann"), *asked) == [3]
    with input_error("'eve'", "ann, bob", field="person"):
        People(name="eve", file=path, person="eve").backend(PROMPTS)
    # Pairs of senses.
    path = written(tmp_path, "item,rater,rating", "ride.v.02 straddle.v.01,ann,2", "ride.v.02 straddle.v.01,bob,1")
    pair = SenseText("straddle.v.01", (), ""), SenseText("ride.v.02", (), "")
    assert rated(People(name="p", file=path), Question(b"0" * 16, "verb", *pair)) == [2]
    broken = written(tmp_path, "item,rater,rating", "riding,ann,2")
    with input_error("not senses", record="item 'riding'"):
        People(name="p", file=broken).backend(PROMPTS)


def test_who_rated_is_in_the_identity_and_where_the_table_lies_is_not(tmp_path: Path) -> None:
    path, there = study(tmp_path), tmp_path / "there"
    there.mkdir()
    moved = there / "moved.csv"
    moved.write_bytes(path.read_bytes())
    of_all = identity_of(People(name="all", file=path))
    assert (of_all, of_all["settings"]["people"]) == (identity_of(People(name="all", file=moved)), 2)
    assert of_all != identity_of(People(name="all", file=path, person="ann"))
    moved.write_text(path.read_text().replace("ann,3", "ann,2"))
    assert of_all != identity_of(People(name="all", file=moved))


def test_a_studys_table_is_read_as_people(tmp_path: Path) -> None:
    (found,) = read_people(study(tmp_path))
    assert (found.kind, found.lines, found.values.tolist()) == ("interactions", 3, [0.875, 0.25])
    plain = written(tmp_path, "verb_a,object_a,verb_b,object_b,rating", f"{RIDE},4", f"{RIDE},3", f"{EAT},1")
    (same,) = read_people(plain)
    assert same.values.tolist() == found.values.tolist()
    assert all((same.pairs[part] == found.pairs[part]).all() for part in same.pairs)
    assert read_human_ratings(plain)[0].lines == 3
    path = written(tmp_path, "item,rater,rating,gold", "a,x,1,1", "b,x,3,3")
    with input_error("gold items only", source=str(path)):
        read_people(path)


@pytest.mark.slow
def test_the_rater_that_people_are_copies_of_is_among_the_nearest(tmp_path: Path) -> None:
    similarity = load_similarity("hico-det")
    assert isinstance(similarity, SimilarityMap)
    table = similarity.tables["verb"]
    first, other = table.ratings[:, 0], table.ratings[:, 3]
    rows = np.flatnonzero((first >= 0) & (other >= 0) & ((first != other) | (np.arange(len(first)) % 3 == 0)))[:300]
    names = zip(names_of(table.class_sense[rows]), names_of(table.sense[rows]), table.ratings[rows, 0], strict=True)
    path = written(tmp_path, "class_synset,synset,rating", *(f"{a},{b},{rating}" for a, b, rating in names))
    found = ablate(similarity.with_raters((0, 3, 6)), human=read_people(path))
    best = [(subset.human or {})["verbs"].among_best for subset in found.subsets[:3]]
    assert best[:2] == [True, False]
    assert best[2] is None  # it rated too few of them


def test_bias_and_noise_are_found_again() -> None:
    rng = np.random.default_rng(4)
    true = rng.normal(2, 1, 1_500)
    bias, noise = np.array([0.3, -0.3, 0.0, 0.8]), np.array([0.3, 0.6, 1.0, 0.5])
    values = true[:, None] + bias + noise * rng.standard_normal((1_500, 4))
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
