"""Maps for other tools: arrays that need no pickle, tables that can be read again."""

import csv
from pathlib import Path

import numpy as np
import pytest

from shoe.core.errors import OptionError
from shoe.lexicon.senses import Part
from shoe.maps.convert import export
from shoe.maps.sources import import_tables
from shoe.similarity import SimilarityMap
from shoe.similarity.whole_interactions import WholeRatings
from tests.maps.samples import made, refused_at, written


def test_dense_arrays(tmp_path: Path) -> None:
    export(made(tmp_path / "a"), tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as arrays:
        found = {name: arrays[name] for name in arrays.files}
    assert found["raters"].tolist() == ["one", "two"]
    assert [str(found[name]) for name in ("name", "dataset", "ensemble")] == ["a", "hico-det", "mean"]
    assert found["verb_classes"].tolist() == ["feed.v.01", "ride.v.01"]
    assert found["verb_synsets"].tolist() == ["board.v.01", "eat.v.01", "feed.v.01", "ride.v.01", "straddle.v.01"]
    nan = np.nan
    np.testing.assert_array_equal(found["verb_values"], [[nan, nan, 1, nan, nan], [0.25, 0, nan, 1, 0.625]])
    assert found["verb_ratings"].dtype == np.int8
    assert found["verb_ratings"][1].tolist() == [[-1, 1], [0, 0], [-1, -1], [-1, -1], [3, 2]]
    assert found["object_values"].tolist() == [[0.25, 1, 0.875]]


@pytest.mark.slow
@pytest.mark.parametrize("part", ["verb", "object"])
def test_the_shipped_map_is_what_scoring_looks_up(tmp_path: Path, part: Part) -> None:
    similarity = SimilarityMap.load("hico-det")
    export(similarity, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as arrays:
        classes, synsets = arrays[f"{part}_classes"].tolist(), arrays[f"{part}_synsets"].tolist()
        values, ratings = arrays[f"{part}_values"], arrays[f"{part}_ratings"]
    assert (ratings >= 0).any(axis=2).sum() == len(similarity.tables[part])
    expected = similarity.between(part, classes, synsets)
    np.testing.assert_array_equal(values, expected)
    row = classes.index(similarity.tables[part].names()[0][0])
    assert np.isfinite(values[row]).sum() >= (ratings[row] >= 0).any(axis=1).sum()


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_a_table_can_be_imported_again(tmp_path: Path, ending: str) -> None:
    similarity = made(tmp_path / "a", raters=["one, and only", 'the "other"'])
    path = tmp_path / f"a.{ending}"
    export(similarity, path)
    lines = path.read_text().splitlines()
    rows = list(csv.reader(lines)) if ending == "csv" else [line.split("\t") for line in lines]
    assert rows[0] == ["part", "class_synset", "synset", "value", "one, and only", 'the "other"']
    assert ["verb", "ride.v.01", "board.v.01", "0.25", "", "1"] in rows
    assert ["verb", "feed.v.01", "ride.v.01", "", "", ""] in rows
    assert ["object", "horse.n.01", "dog.n.01", "0.25", "1", ""] in rows
    again = import_tables(tmp_path / "again", [path], dataset="hico-det", models={}, prose={})
    assert again.digest == similarity.digest


def test_ratings_of_whole_interactions_are_written_or_refused(tmp_path: Path) -> None:
    row = ("ride", "horse", "hug", "pony")
    similarity = written(tmp_path / "a", {}, ["one", "two"], whole=WholeRatings([row], np.array([[1, 2]], np.int8)))
    export(similarity, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as arrays:
        assert arrays["interaction_rows"].tolist() == [list(row)]
        assert arrays["interaction_ratings"].tolist() == [[1, 2]]
        assert arrays["interaction_values"].tolist() == [0.375]
    with pytest.raises(OptionError, match=r"\.npz.* whole interactions"):
        export(similarity, tmp_path / "a.csv")
    with refused_at("line 1", "expected class_synset synset RATER", source=str(tmp_path / "a" / "interactions.tsv")):
        import_tables(tmp_path / "b", [tmp_path / "a" / "interactions.tsv"], dataset="hico-det", models={}, prose={})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "a.npz"]


def test_other_endings_and_places_are_refused(tmp_path: Path) -> None:
    similarity = made(tmp_path / "a")
    with pytest.raises(OptionError, match=r"'a\.xlsx', .*\.npz, \.csv.*\.tsv"):
        export(similarity, tmp_path / "a.xlsx")
    with refused_at("", "No such file", source=str(tmp_path / "nowhere" / "a.npz")):
        export(similarity, tmp_path / "nowhere" / "a.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
