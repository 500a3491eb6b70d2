"""Maps from tables and other maps: all raters and pairs, every line that is refused, and never half of it on disk."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.core.errors import InputError, OptionError
from shoe.maps.sources import import_tables, merge
from shoe.similarity import SimilarityMap
from shoe.similarity.whole_interactions import WholeRatings
from tests.maps.samples import Pairs, content as content_of, files_of_at_most, made, refused_at, written

HEADER = "class_synset,synset,gpt,people\n"
VERBS = HEADER + "ride.v.01,straddle.v.01,3,2\nride.v.01,eat.v.01,0,\n"


def table(folder: Path, text: str | bytes, name: str = "ratings.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def imported(folder: Path, *tables: Path, **options: Any) -> SimilarityMap:
    settings: dict[str, Any] = {"dataset": "hico-det", "models": {}, "prose": {}} | options
    return import_tables(folder / "map", tables, **settings)


def content(similarity: SimilarityMap) -> Pairs:
    return {pair: row for table in similarity.tables.values() for pair, row in content_of(table).items()}


def test_verbs_and_objects_are_told_apart(tmp_path: Path) -> None:
    found = imported(tmp_path, table(tmp_path, VERBS + "horse.n.01,pony.n.01,,4\n"), prose={"provenance": "by hand"})
    named = [(rater.name, rater.model) for rater in found.raters]
    assert named == [("gpt", "table ratings.csv"), ("people", "table ratings.csv")]
    assert (len(found.tables["verb"]), len(found.tables["object"])) == (2, 1)
    assert found.ratings("verb", "ride.v.01", "eat.v.01") == {"gpt": 0, "people": None}
    assert found.ratings("object", "horse.n.01", "pony.n.01") == {"gpt": None, "people": 4}
    assert (found.name, found.about["provenance"]) == ("map", "by hand")
    (origin,) = found.about["tables"]
    assert (origin["table"], origin["raters"], len(origin["sha256"])) == ("ratings.csv", ["gpt", "people"], 64)


@pytest.mark.parametrize(
    "text",
    [
        VERBS.replace(",", "\t").encode(),
        VERBS.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + VERBS.encode(),
        gzip.compress(VERBS.encode()),
        VERBS.replace("gpt", '"gpt"').replace("eat.v.01", '"eat.v.01"').encode(),
        ("part,class_synset,synset,value,gpt,people\n" + "verb,ride.v.01,straddle.v.01,0.625,3,2\n").encode()
        + b"verb,ride.v.01,eat.v.01,0.0,0,\n",
    ],
    ids=["tabs", "windows", "byte order mark", "gzip", "quotes", "exported"],
)
def test_forms_that_mean_the_same(tmp_path: Path, text: bytes) -> None:
    plain = imported(tmp_path / "a", table(tmp_path, VERBS, "plain.csv"))
    assert content(imported(tmp_path / "b", table(tmp_path, text))) == content(plain)


@pytest.mark.slow
@pytest.mark.real_data
def test_the_shipped_maps_tables_make_its_pairs(tmp_path: Path, shared_data: Path) -> None:
    """Weights of raters, and predictions, are not in the tables."""
    again = Path(__file__).resolve().parents[2] / "scripts" / "ratings"
    files = [
        folder / f"hico_det_{part}{readings}.tsv"
        for folder, kinds in ((shared_data / "ratings", ("", "_reading_c")), (again, ("_controls", "_suspects")))
        for readings in kinds
        for part in ("verbs", "objects")
    ]
    found = imported(tmp_path, *files, shared_data / "ratings" / "hico_det_verbs_reading_g.tsv")
    assert found.digests == SimilarityMap.load("hico-det").digests


def test_tables_may_bring_raters_and_pairs(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        table(tmp_path, "class_synset,synset,a\nride.v.01,straddle.v.01,3\n", "1.csv"),
        table(tmp_path, "class_synset,synset,b\nride.v.01,straddle.v.01,2\n", "2.csv"),
        table(tmp_path, "class_synset,synset,a,c\nride.v.01,eat.v.01,0,1\nride.v.01,straddle.v.01,,4\n", "3.csv"),
        models={"c": "model c"},
    )
    assert [rater.name for rater in found.raters] == ["a", "b", "c"]
    assert [rater.model for rater in found.raters] == ["table 1.csv", "table 2.csv", "model c"]
    assert content(found) == {("ride.v.01", "eat.v.01"): [0, None, 1], ("ride.v.01", "straddle.v.01"): [3, 2, 4]}


REFUSED = [
    ("ride.v.01,straddle.v.01,5,2", "line 2: gpt", "found '5', expected a rating 0 to 4"),
    ("ride.v.01,straddle.v.01,3,2.5", "line 2: people", "found '2.5'"),
    ("ride.v.01,straddle.v.01,3", "line 2", "3 fields, expected 4 fields"),
    ("", "", "found 1 lines"),
    ("ride.v.01,eat.v.01,1,1\n\nride.v.01,walk.v.01,1,1\n", "line 3", "0 fields, expected 4"),
    ("ride.v.01,ridden.v.01,3,2", "line 2: synset", "found 'ridden.v.01'"),
    ("ride,eat.v.01,3,2", "line 2: class_synset", "found 'ride'"),
    ("ride.v.01,eat.v.01,1,1\nride.v.01,pony.n.01,3,2", "line 3: synset", "'pony.n.01', expected a verb"),
    ("horse.n.01,eat.v.01,3,2", "line 2: synset", "'eat.v.01', expected a noun"),
    ("ride.v.01,eat.v.01,1,1\nride.v.01,eat.v.01,1,1", "line 3", "ride.v.01 and eat.v.01"),
    ('ride.v.01,"eat.v.01,1,1', "line 2", "quotes in pairs"),
    ("ride.v.01,eat\t.v.01,1,1", "line 2", "found a tab"),
    ("ride.v.01,eat.v.01\xe9,1,1", "line 2", "byte 0xc3, expected ASCII"),
]
HEADERS = [
    ("class_synset|synset|gpt", "line 1", "'class_synset|synset|gpt', expected class_synset synset RATER"),
    ("synset,class_synset,gpt", "line 1", "found 'synset class_synset gpt'"),
    ("class_synset,synset", "line 1", "found 'class_synset synset'"),
    ("class_synset,synset,a,", "line 1: column 4", "found ''"),
    ("class_synset,synset,a,a", "line 1: column 4", "found 'a'"),
    ("class_synset,synset,\x1b[31m", "line 1: column 3", r"found '\x1b"),
]


@pytest.mark.parametrize(
    ("text", "where", "said"),
    [(HEADER + rows, *refused) for rows, *refused in REFUSED]
    + [(f"{header}\n{'x,' * header.count(',')}x", *refused) for header, *refused in HEADERS]
    + [(b"\xff\xfec\0l\0", "", "not UTF-8")],
)
def test_broken_tables_are_refused_and_leave_nothing(tmp_path: Path, text: str | bytes, where: str, said: str) -> None:
    path = table(tmp_path, text)
    with refused_at(where, said, source=str(path)):
        imported(tmp_path, path)
    assert list(tmp_path.iterdir()) == [path]


def test_a_rater_rates_a_pair_once_in_all_tables(tmp_path: Path) -> None:
    again = table(tmp_path, "class_synset,synset,gpt\nride.v.01,catch.v.01,1\nride.v.01,straddle.v.01,3\n", "b.csv")
    with refused_at("line 3: gpt", "ride.v.01 and straddle.v.01", source=str(again)):
        imported(tmp_path, table(tmp_path, VERBS), again)


def test_a_model_needs_its_rater(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"'gtp': .* 'gpt', 'people'"):
        imported(tmp_path, table(tmp_path, VERBS), models={"gtp": "gpt-4.1"})


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    path = table(tmp_path, VERBS)
    before = imported(tmp_path, path).digest
    with refused_at("", "an existing file", source=str(tmp_path / "map")):
        imported(tmp_path, path)
    assert SimilarityMap.load(tmp_path / "map").digest == before


SOME_VERBS = ("ride.v.01", "straddle.v.01", "eat.v.01", "feed.v.01")
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
    pairs = st.tuples(st.sampled_from(SOME_VERBS), st.sampled_from(SOME_VERBS)).map(" ".join)
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


def test_a_full_disk_leaves_nothing(tmp_path: Path, two: tuple[str, str]) -> None:
    with pytest.raises(InputError, match="File too large"), files_of_at_most(200):
        merge(tmp_path / "m", two)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
