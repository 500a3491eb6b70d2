"""What a map is said to hold."""

import json
from pathlib import Path

import numpy as np
import pytest

from shoe.core.errors import InputError
from shoe.lexicon.expressions import Part
from shoe.maps.info import describe
from shoe.similarity import SimilarityMap
from tests.maps.samples import made


def test_counts_of_a_small_map(tmp_path: Path) -> None:
    found = describe(made(tmp_path / "a", provenance="by hand", licence="CC0"))
    verbs = found.verbs
    assert (verbs.pairs, verbs.rated_pairs, verbs.class_senses) == (4, 3, 2)
    assert [rater.verbs.histogram for rater in found.raters] == [[1, 0, 0, 1, 0], [1, 1, 1, 0, 0]]
    assert [rater.objects.histogram for rater in found.raters] == [[0, 1, 0, 0, 1], [0, 0, 0, 1, 0]]
    assert found.provenance == {"provenance": "by hand", "licence": "CC0"}
    (agreement,) = verbs.agreement
    assert (agreement.pairs, agreement.exact) == (2, 0.5)


def test_coverage_and_warnings(tmp_path: Path) -> None:
    found = describe(made(tmp_path / "a", {"feed.v.02 eat.v.01": (None, None), "ride.v.01 sit.v.01": (1, None)}))
    coverage = found.parts["verb"].coverage
    assert coverage is not None
    assert (coverage["ride.v.01"], coverage["feed.v.02"], coverage["board.v.01"], len(coverage)) == (1, 0, 0, 119)
    assert {name for name in coverage if name not in (found.verbs.classes_without_ratings or ())} == {"ride.v.01"}
    absent, empty, idle, no_objects = found.warnings
    assert absent.startswith("verbs: 117 class senses of hico-det are not in the map at all; ")
    assert absent.endswith(" and 109 more")
    assert empty.startswith("verbs: 1 class senses of hico-det have pairs and no rating; ")
    assert empty.endswith(": feed.v.02")
    assert idle == "verbs: rater 'two' rated no pair"
    assert no_objects.startswith("objects: 80 class senses of hico-det are not in the map at all")


def test_an_unknown_dataset_has_no_coverage(tmp_path: Path) -> None:
    found = describe(made(tmp_path / "a", dataset="my-set"))
    assert found.parts["verb"].coverage is None
    assert found.verbs.classes_without_ratings is None
    assert found.warnings[0] == "verbs: coverage not measured: shoe does not know the dataset 'my-set'"


@pytest.mark.parametrize("part", ["verb", "object"])
def test_the_shipped_map_agrees_with_what_it_says_of_itself(part: Part) -> None:
    similarity = SimilarityMap.load("hico-det")
    found = describe(similarity)
    assert found.warnings == [f"objects: rater 'reading_{letter}' rated no pair" for letter in "dg"]
    said, measured = similarity.about["agreement"][f"{part}s"]["pass_a, pass_b"], found.parts[part].agreement[0]
    assert measured.pairs == said["pairs"]
    for name, figure in (("exact", measured.exact), ("quadratic_weighted_kappa", measured.quadratic_weighted_kappa)):
        assert figure == pytest.approx(said[name], abs=5e-4)
    assert measured.pearson == pytest.approx(said["pearson"], abs=5e-4)
    assert found.parts[part].rated_pairs == found.parts[part].pairs == similarity.about[f"{part}s"]["pairs"]
    rated = np.array(list((found.parts[part].coverage or {}).values()))
    assert rated.min() > 100


def test_what_map_json_says_of_raters_is_shown(tmp_path: Path) -> None:
    made(tmp_path / "a")
    about = json.loads((tmp_path / "a" / "map.json").read_text())
    about["raters"][0] |= {"refused": 3, "unparsable": 1}
    (tmp_path / "a" / "map.json").write_text(json.dumps(about))
    raters = describe(SimilarityMap.load(tmp_path / "a")).raters
    assert [rater.details for rater in raters] == [{"refused": 3, "unparsable": 1}, {}]


def test_prose_that_no_json_can_hold_is_refused(tmp_path: Path) -> None:
    made(tmp_path / "a")
    text = (tmp_path / "a" / "map.json").read_text().rstrip()
    (tmp_path / "a" / "map.json").write_text(text[:-1] + ', "deep": ' + "[" * 2000 + "]" * 2000 + "}")
    with pytest.raises(InputError, match=r"map\.json: found .* nested lists"):
        SimilarityMap.load(tmp_path / "a")
