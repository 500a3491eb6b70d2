"""Maps for other tools, for publication and in other lexicons."""

import csv
import re
import socket
from pathlib import Path

import numpy as np
import orjson
import pytest

from shoe.benchmarks.classes import class_table, parse_classes, read_classes
from shoe.core.errors import OptionError, ShoeError
from shoe.lexicon.building.build import build
from shoe.lexicon.building.compare import wordnet_numbers
from shoe.lexicon.building.read import Concept, Source
from shoe.lexicon.compiled import Lexicon
from shoe.lexicon.senses import Part
from shoe.lexicon.store import names_of, use_lexicon, wordnet
from shoe.maps.convert import CLASSES, ConvertedPairs, carry, export, publish
from shoe.maps.sources import import_tables
from shoe.similarity import RatedPairs, Rater, SimilarityMap, write_map
from shoe.similarity.whole_interactions import WholeRatings
from tests.cli import run as cli
from tests.maps.samples import Pairs, content, made, refused_at, written
from tests.maps.test_moves import OLD


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
        assert (arrays["interaction_ratings"].tolist(), arrays["interaction_values"].tolist()) == ([[1, 2]], [0.375])
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


LABELS = [("ride", "horse"), ("eat", "apple")]
OTHER = Source(
    "made",
    "Made 1",
    [
        Concept("M:ride", ("ride",), "v", links=("wn30:01956955-v",)),
        Concept("M:horse", ("horse", "pony"), links=("ili:i48054", "key:pony%1:05:02::")),
        Concept("M:none", ("unheard-of",)),
    ],
)


@pytest.mark.slow
def test_pairs_are_carried_lost_and_joined(tmp_path: Path) -> None:
    other = Lexicon(build(OTHER, "made")[0])
    rows = [f"{verb} {noun} {verb}ing {verb}.v.01 {noun}.n.01".split() for verb, noun in LABELS]
    classes = parse_classes(class_table([[*row, ""] for row in rows]), "hico-det")
    links = [list(concept.links) for concept in OTHER.concepts[:2]]
    ride, horse = names_of(np.array(wordnet_numbers(links), np.int32))
    assert (ride.split(".")[1], horse) == ("v", "horse.n.01")
    pairs: dict[Part, Pairs] = {
        "verb": {(ride, "eat.v.01"): [3, None], ("eat.v.01", ride): [1, 0]},
        "object": {
            ("horse.n.01", "apple.n.01"): [0, 1],
            ("apple.n.01", "horse.n.01"): [2, None],
            ("apple.n.01", "pony.n.01"): [1, 3],
        },
    }
    first = written(tmp_path / "first", pairs, ["a", "b"])
    with pytest.raises(ShoeError, match=r"Made 1 .* no sense"):
        carry(first, other, tmp_path / "second", classes)
    # Now with a second concept for what an apple is, and one for eating.
    more = [*OTHER.concepts, Concept("M:apple", ("apple",), links=("key:apple%1:13:00::", "wn30:07739125-n"))]
    wider = Lexicon(build(Source("made", "Made 2", more), "made2")[0])
    counts = carry(first, wider, tmp_path / "second", classes)
    assert counts["verb"] == ConvertedPairs(2, 0, 1, 1, 0, ("eat.v.01",))
    assert counts["object"] == ConvertedPairs(3, 2, 0, 0, 1, ())
    with refused_at("lexicon", "found made2 ") as caught:
        SimilarityMap.load(tmp_path / "second")
    assert re.search(r"wordnet-3\.0 .*--lexicon FILE", str(caught.value))
    with use_lexicon(wider):
        second = SimilarityMap.load(tmp_path / "second")
        objects = {("M:apple", "M:horse"): [2, 3], ("M:horse", "M:apple"): [0, 1]}
        assert {part: content(table) for part, table in second.tables.items()} == {"verb": {}, "object": objects}
        assert second.about["carried"]["verbs"]["without_class"] == 1
        with pytest.raises(ShoeError, match=r"'first' .*WordNet 3\.0, .* Made 2"):
            first.values("object", np.array([0], np.int32), np.array([1], np.int32))
        table = read_classes(tmp_path / "second" / CLASSES, classes)
        assert table.object_synsets == ("M:horse", "M:apple")
        with pytest.raises(ShoeError, match=r"'ride\.v\.01', .* Made 2"):
            _ = classes.verb_sense
    with pytest.raises(ShoeError, match="needs no conversion"):
        carry(first, wordnet(), tmp_path / "third", classes)


PRIVATE = [
    *("http://10.1.2.3:8000/v1", "https://llm.uni.example/v1?x=1", "gpu-17:8000", "192.168.0.7"),
    *("anna@gpu17.uni.example", "node3.cluster.local", "localhost", "/home/anna/llms", "~/ratings/a.csv"),
    *("../secret/file.csv", r"C:\Users\anna\map", r"\\server\anna", "AZURE_OPENAI_API_KEY"),
]
PUBLIC = ["Qwen/Qwen3-32B", "llama3:70b", "3/4 of the pairs", "and/or", "qwen3-32b@r1", "WordNet 3.0", "a: 12 pairs"]


@pytest.mark.parametrize("text", PRIVATE)
def test_private_texts_are_removed_wherever_they_stand(text: str, tmp_path: Path) -> None:
    similarity = made(tmp_path / "a", provenance=f"from {text}, ours", sources=[{"x": text}])
    lines = publish(str(tmp_path / "a"), similarity, tmp_path / "b")
    about = orjson.loads((tmp_path / "b" / "map.json").read_bytes())
    assert (about["provenance"], about["sources"]) == ("from [removed], ours", [{"x": "[removed]"}])
    assert len([line for line in lines if repr(text)[1:-1] in line]) == 2


@pytest.mark.parametrize("text", PUBLIC)
def test_other_texts_are_kept_and_shown_but_for_the_name_of_this_machine(text: str, tmp_path: Path) -> None:
    similarity = made(tmp_path / "a", provenance=text, note=f"on {socket.gethostname()}, late")
    lines = publish(str(tmp_path / "a"), similarity, tmp_path / "b")
    about = orjson.loads((tmp_path / "b" / "map.json").read_bytes())
    assert (about["provenance"], about["note"]) == (text, "on [removed], late")
    assert [line for line in lines if text in line]


def test_models_and_revisions_stay_and_addresses_of_an_old_map_go(tmp_path: Path) -> None:
    done = cli.run("map", "export", str(OLD / "old-map"), "new", "--publish", folder=tmp_path)
    assert done.returncode == 0
    assert "base_url" in done.stderr
    assert "http://127.0.0.1:35437/v1" in done.stderr
    text = (tmp_path / "new" / "map.json").read_text()
    assert "127.0.0.1" not in text
    first = orjson.loads(text)["raters"][0]
    assert (first["model"], first["revision"], first["sampling"]["max_tokens"]) == ("qwen3-32b", "r1", 20)
    old, new = SimilarityMap.load(OLD / "old-map"), SimilarityMap.load(tmp_path / "new")
    assert (new.digest, new.name) == (old.digest, "new")


def test_the_model_of_a_local_rater_keeps_its_name_and_all_files_are_there(tmp_path: Path) -> None:
    settings = {"gguf_file": "SmolLM2-135M.Q4_1.gguf"}  # its name is no name of an environment variable
    write_map(
        tmp_path / "a",
        dataset="hico-det",
        raters=[Rater("r", "/data/llms/SmolLM2-135M", details={"revision": "/x/y", "settings": settings})],
        pairs=dict.fromkeys(("verb", "object"), RatedPairs.empty(1)),
        whole=WholeRatings([("ride.v.01", "horse.n.01", "sit on", "pony")], np.zeros((1, 1), np.int8)),
    )
    lines = publish(str(tmp_path / "a"), SimilarityMap.load(tmp_path / "a"), tmp_path / "b")
    published = SimilarityMap.load(tmp_path / "b")
    assert (published.raters[0].model, published.raters[0].details["settings"]) == ("SmolLM2-135M", settings)
    assert published.whole_ratings is not None
    assert "raters.0.model: '/data/llms/SmolLM2-135M' -> SmolLM2-135M" in lines
