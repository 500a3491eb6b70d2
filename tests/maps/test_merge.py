"""Maps put side by side: all raters, all pairs, nothing lost, and never half of it on disk."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.core.errors import InputError, OptionError
from shoe.maps.sources import merge
from shoe.similarity import SimilarityMap
from shoe.similarity.whole_interactions import WholeRatings
from tests.maps.samples import files_of_at_most, made, refused_at, written
from tests.maps.test_sources import content

VERBS = ("ride.v.01", "straddle.v.01", "eat.v.01", "feed.v.01")
OTHER = {"ride.v.01 straddle.v.01": (4,), "ride.v.01 catch.v.01": (1,), "horse.n.01 pony.n.01": (None,)}


@pytest.fixture
def two(tmp_path: Path) -> tuple[str, str]:
    made(tmp_path / "a", provenance="by one model", licence="CC0", method=["read", "rate"])
    made(tmp_path / "b", OTHER, ["three"], provenance="by another")
    return str(tmp_path / "a"), str(tmp_path / "b")


def about(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "map.json").read_text())
    return found


def test_all_raters_and_all_pairs(tmp_path: Path, two: tuple[str, str]) -> None:
    found = merge(tmp_path / "m", two)
    names = ("one", "two", "three")
    assert [(rater.name, rater.model) for rater in found.raters] == [(name, f"model of {name}") for name in names]
    assert content(found) == {
        ("ride.v.01", "straddle.v.01"): [3, 2, 4],
        ("ride.v.01", "board.v.01"): [None, 1, None],
        ("ride.v.01", "eat.v.01"): [0, 0, None],
        ("ride.v.01", "catch.v.01"): [None, None, 1],
        ("feed.v.01", "ride.v.01"): [None, None, None],
        ("horse.n.01", "pony.n.01"): [4, 3, None],
        ("horse.n.01", "dog.n.01"): [1, None, None],
    }
    assert (found.name, found.dataset) == ("m", "hico-det")


def test_what_each_map_says_of_itself_is_kept(tmp_path: Path, two: tuple[str, str]) -> None:
    text = json.loads((tmp_path / "a" / "map.json").read_text())
    text["raters"][1] |= {"refused": 7}
    (tmp_path / "a" / "map.json").write_text(json.dumps(text))
    merge(tmp_path / "m", two)
    a, b = about(tmp_path / "m")["merged"]
    assert (a["name"], a["provenance"], a["licence"], a["method"]) == ("a", "by one model", "CC0", ["read", "rate"])
    assert a["raters"][1] == {"name": "two", "model": "model of two", "note": "", "refused": 7}
    assert (b["provenance"], b["digest"]) == ("by another", SimilarityMap.load(two[1]).digest)


def test_ratings_of_whole_interactions_stay(tmp_path: Path, two: tuple[str, str]) -> None:
    hug, sit = ("ride", "horse", "hug", "pony"), ("ride", "horse", "sit on", "horse")
    written(tmp_path / "c", {}, ["four", "five"], whole=WholeRatings([hug, sit], np.array([[1, -1], [4, 3]], np.int8)))
    written(tmp_path / "d", {}, ["six"], whole=WholeRatings([hug], np.array([[2]], np.int8)))
    found = merge(tmp_path / "m", [two[1], str(tmp_path / "c"), str(tmp_path / "d")]).whole_ratings
    assert found is not None
    assert dict(zip(found.rows, found.ratings.tolist(), strict=True)) == {hug: [-1, 1, -1, 2], sit: [-1, 4, 3, -1]}
    assert merge(tmp_path / "n", two).whole_ratings is None


def test_tables_are_raters_too(tmp_path: Path, two: tuple[str, str]) -> None:
    table = tmp_path / "people.csv"
    table.write_text("class_synset,synset,ann\nride.v.01,straddle.v.01,1\nhorse.n.01,zebra.n.01,2\n")
    found = merge(tmp_path / "m", [two[0], str(table)])
    assert content(found)["ride.v.01", "straddle.v.01"] == [3, 2, 1]
    assert content(found)["horse.n.01", "zebra.n.01"] == [None, None, 2]
    assert found.about["merged"][1]["table"] == "people.csv"


@pytest.mark.slow
@given(data=st.data())
def test_neither_order_nor_steps_matter(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("maps")
    pairs = st.tuples(st.sampled_from(VERBS), st.sampled_from(VERBS)).map(" ".join)
    sources = []
    for number in range(3):
        width, path = data.draw(st.integers(1, 2)), folder / str(number)
        ratings = st.lists(st.none() | st.integers(0, 4), min_size=width, max_size=width)
        rows = data.draw(st.dictionaries(pairs, ratings, max_size=6))
        ensemble = data.draw(st.sampled_from(["mean", "median"]))
        names = [f"rater {number}.{column}" for column in range(width)]
        made(path, rows, names, ensemble=ensemble, provenance=f"of {number}")
        sources.append(str(path))
    order = data.draw(st.permutations(sources))
    at_once = merge(folder / "m", sources)
    otherwise = merge(folder / "other" / "m", order)
    merge(folder / "two", order[1:])
    in_steps = merge(folder / "steps" / "m", [str(folder / "two"), order[0]])
    for other in (otherwise, in_steps):
        place = [[rater.name for rater in other.raters].index(rater.name) for rater in at_once.raters]
        assert {pair: [row[i] for i in place] for pair, row in content(other).items()} == content(at_once)
        assert (other.about["merged"], other.ensemble) == (at_once.about["merged"], at_once.ensemble)


def test_what_is_added_to_a_merged_map_is_kept_by_the_next_merge(tmp_path: Path, two: tuple[str, str]) -> None:
    merge(tmp_path / "m", two)
    (tmp_path / "m" / "map.json").write_text(json.dumps(about(tmp_path / "m") | {"licence": "mine"}))
    made(tmp_path / "c", OTHER, ["four"])
    again = merge(tmp_path / "again", [str(tmp_path / "m"), str(tmp_path / "c")]).about["merged"]
    assert sorted(entry["name"] for entry in again) == ["a", "b", "c", "m"]
    assert [entry["licence"] for entry in again if entry["name"] == "m"] == ["mine"]


def test_a_name_that_two_have_is_refused(tmp_path: Path, two: tuple[str, str]) -> None:
    made(tmp_path / "c", OTHER, ["two"])
    with refused_at("", "because a has", source="c") as caught:
        merge(tmp_path / "m", [*two, str(tmp_path / "c")])
    assert "the rater 'two'" in str(caught.value)
    with refused_at("", "the rater 'one'", source="a"):
        merge(tmp_path / "m", [two[0], two[0]])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c"]


def test_maps_of_different_datasets_and_what_is_no_map_are_refused(tmp_path: Path, two: tuple[str, str]) -> None:
    made(tmp_path / "c", OTHER, ["four"], dataset="v-coco")
    with refused_at("dataset", "'v-coco', expected 'hico-det'", source=str(tmp_path / "c")):
        merge(tmp_path / "m", [*two, str(tmp_path / "c")])
    with pytest.raises(OptionError, match=r"'hico-dat' .* mean hico-det"):
        merge(tmp_path / "m", [two[0], "hico-dat"])
    with refused_at("", "an existing file", source=str(tmp_path / "a")):
        merge(tmp_path / "a", two)


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    made(tmp_path / "b", OTHER, ["three"])
    with pytest.raises(InputError, match="File too large"), files_of_at_most(100_000):
        merge(tmp_path / "m", ["hico-det", str(tmp_path / "b")])
    assert [path.name for path in tmp_path.iterdir()] == ["b"]
