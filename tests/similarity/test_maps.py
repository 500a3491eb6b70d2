"""Maps on disk: round trips, what changes a digest, and broken files."""

import errno
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.core.errors import InputError
from shoe.lexicon.store import lexicon
from shoe.similarity import Rater, SimilarityMap, load_similarity, write_map
from tests.errors import input_error, option_error
from tests.maps.samples import ROWS, Pairs, made
from tests.tables import pairs_by_name

RATERS = [Rater("one", "a model"), Rater("two", "another model", "with a note", {"refused": 2})]
VERBS: Pairs = {
    ("ride.v.01", "straddle.v.01"): (3, 2),
    ("ride.v.01", "board.v.01"): (None, 1),
    ("ride.v.01", "eat.v.01"): (0, 0),
    ("feed.v.01", "ride.v.01"): (None, None),
}
OBJECTS: Pairs = {("horse.n.01", "pony.n.01"): (4, 3)}


def write(folder: Path, verbs: Pairs = VERBS, raters: list[Rater] = RATERS, **options: Any) -> Path:
    objects = {names: (*ratings, *[None] * len(raters))[: len(raters)] for names, ratings in OBJECTS.items()}
    made, named = (pairs_by_name(pairs, len(raters)) for pairs in (verbs, objects))
    write_map(folder, dataset="hico-det", raters=raters, pairs={"verb": made, "object": named}, **options)
    return folder


def change_about(folder: Path, field: str, value: Any) -> None:
    (folder / "map.json").write_text(json.dumps(json.loads((folder / "map.json").read_text()) | {field: value}))


def forget_hashes(folder: Path) -> None:
    for part in ("verbs", "objects"):
        change_about(folder, part, {})


def values(similarity: SimilarityMap, class_synset: str, *synsets: str) -> list[float]:
    found: list[float] = similarity.between("verb", [class_synset], synsets)[0].tolist()
    return found


def test_values_of_a_map(tmp_path: Path) -> None:
    similarity = SimilarityMap.load(write(tmp_path))
    senses = ["straddle.v.01", "board.v.01", "eat.v.01", "ride.v.01"]
    assert values(similarity, "ride.v.01", *senses) == [0.625, 0.25, 0, 1]
    assert np.isnan(values(similarity, "ride.v.01", "kick.v.01")).all()
    # In the table, and yet rated by nobody.
    assert np.isnan(values(similarity, "feed.v.01", "ride.v.01")).all()
    assert np.isnan(values(similarity, "kick.v.01", "ride.v.01")).all()
    assert similarity.between("verb", ["ride.v.01"], []).shape == (1, 0)
    assert similarity.ratings("verb", "ride.v.01", "board.v.01") == {"one": None, "two": 1}
    assert similarity.ratings("verb", "board.v.01", "ride.v.01") is None
    assert similarity.raters == tuple(RATERS)
    assert [rater["name"] for rater in similarity.about["raters"]] == ["one", "two"]
    assert [rater.get("refused") for rater in similarity.about["raters"]] == [None, 2]
    assert similarity.about["verbs"] | {"sha256": ""} == {"class_synsets": 2, "pairs": 4, "non_zero": 2, "sha256": ""}
    in_order = dict(zip(similarity.tables["verb"].names(), similarity.pair_values("verb").tolist(), strict=True))
    assert np.isnan(in_order.pop(("feed.v.01", "ride.v.01")))
    assert in_order == {("ride.v.01", a): v for a, v in zip(senses[:3], (0.625, 0.25, 0), strict=True)}


def test_values_of_a_map_are_the_users_or_the_maps_ensemble(tmp_path: Path) -> None:
    write(tmp_path, ensemble="majority")
    assert values(SimilarityMap.load(tmp_path), "ride.v.01", "straddle.v.01") == [0.75]
    assert values(SimilarityMap.load(tmp_path, "mean"), "ride.v.01", "straddle.v.01") == [0.625]
    with option_error("'meen'", "mean?"):
        SimilarityMap.load(tmp_path, "meen")
    names = ["hico-det", "identity", "path", "wup"]
    assert [load_similarity(name).name for name in names] == names
    assert load_similarity(write(tmp_path)).name == load_similarity(str(tmp_path)).name == tmp_path.name
    # A sense that is asked for twice is answered twice.
    found = SimilarityMap.load("hico-det").between("verb", ["sit.v.01"], ["sit.v.01", "stand.v.01"] * 2)
    np.testing.assert_array_equal(found[:, :2], found[:, 2:])
    assert found[0, 0] == 1


@given(data=st.data())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    names = st.integers(lexicon().nouns, len(lexicon()) - 1).map(lexicon().name)
    columns = data.draw(st.integers(1, 5))
    ratings = st.lists(st.none() | st.integers(0, 4), min_size=columns, max_size=columns)
    pairs: Pairs = data.draw(st.dictionaries(st.tuples(names, names), ratings, max_size=20))
    raters = [Rater(f"rater {number}", "m") for number in range(columns)]
    folder = write(tmp_path_factory.mktemp("map"), pairs, raters)
    similarity = SimilarityMap.load(folder)
    assert len(similarity.tables["verb"]) == len(pairs)
    for (class_synset, synset), given_ratings in pairs.items():
        assert list((similarity.ratings("verb", class_synset, synset) or {}).values()) == given_ratings
    # Without hashes everything is checked, and the same comes out.
    forget_hashes(folder)
    checked = SimilarityMap.load(folder)
    for column in ("class_sense", "sense", "ratings"):
        one, other = (getattr(each.tables["verb"], column) for each in (checked, similarity))
        np.testing.assert_array_equal(one, other)
    assert checked.digest == similarity.digest


def test_what_can_change_a_score_changes_the_digest(tmp_path: Path) -> None:
    digest = SimilarityMap.load(write(tmp_path / "a")).digest
    assert len(digest) == 8
    assert SimilarityMap.load(write(tmp_path / "b", prose={"provenance": "prose"})).digest == digest
    assert SimilarityMap.load(tmp_path / "a", "median").digest == digest
    other = dict(VERBS) | {("ride.v.01", "eat.v.01"): (0, 1)}
    for name, change in (("c", {"verbs": other}), ("d", {"raters": [Rater("uno", "a model"), RATERS[1]]})):
        assert SimilarityMap.load(write(tmp_path / name, **change)).digest != digest
    # Rows in any order, and line ends of Windows, are the same map.
    header, *rows = (tmp_path / "a" / "verbs.tsv").read_text().splitlines()
    (tmp_path / "a" / "verbs.tsv").write_bytes("\r\n".join([header, *reversed(rows)]).encode())
    assert SimilarityMap.load(tmp_path / "a").digest == digest


def test_changed_ratings_are_noticed(tmp_path: Path) -> None:
    table = write(tmp_path) / "verbs.tsv"
    table.write_text(table.read_text().replace("straddle.v.01\t3", "straddle.v.01\t4"))
    with input_error("ratings", "changed", "restore", source=str(table)):
        SimilarityMap.load(tmp_path)
    forget_hashes(tmp_path)
    assert values(SimilarityMap.load(tmp_path), "ride.v.01", "straddle.v.01") == [0.75]


BROKEN_FORM = [
    ("board.v.01\t\t1", "board.v.01\t\t5", r"verbs\.tsv: line 3: two: found '5', expected .* 0 to 4"),
    ("board.v.01\t\t1", "board.v.01\t\t/", r"line 3: two: found '/'"),
    ("board.v.01\t\t1", "board.v.01\t\t11", r"line 3: two: found '11'"),
    ("board.v.01\t\t1", "board.v.01\t\t-1", r"line 3: two: found '-1'"),
    ("board.v.01\t\t1", "board.v.01\t\t1.5", r"line 3: two: found '1\.5'"),
    ("board.v.01\t\t1", "board.v.01\t1", r"line 3: found 3 fields, expected 4"),
    ("board.v.01\t\t1", "board.v.01\t\t\t1", r"line 3: found 5 fields, expected 4"),
    ("board.v.01\t\t1\n", "\n", r"line 3: found 2 fields, expected 4"),
    ("board.v.01\t\t1", "boaré.v.01\t\t1", r"line 3: found byte 0xc3, expected ASCII"),
    ("\tone\t", "\teins\t", r"line 1: found 'class_synset.*eins.*expected class_synset synset one two"),
    ("class_synset", "class", r"line 1: found 'class\\tsynset"),
]
BROKEN_NAMES = [
    ("board.v.01\t\t1", "bored.v.01\t\t1", r"line 3: synset: found 'bored\.v\.01'"),
    ("board.v.01\t\t1", "mount.v.05\t\t1", r"line 3: synset: .* expected hop_on\.v\.01"),
    ("feed.v.01\tr", "feed\tr", r"line 2: class_synset: found 'feed'"),
    ("eat.v.01\t0", "board.v.01\t0", r"line 4: found .*ride\.v\.01 and board\.v\.01"),
]


def broken(folder: Path, old: str, new: str) -> bytes:
    table = write(folder) / "verbs.tsv"
    text = table.read_text()
    assert old in text
    table.write_text(text.replace(old, new), "utf-8")
    return table.read_bytes()


@pytest.mark.parametrize(("old", "new", "message"), BROKEN_FORM + BROKEN_NAMES)
@pytest.mark.parametrize("hashed", [True, False])
def test_broken_tables(tmp_path: Path, old: str, new: str, message: str, hashed: bool) -> None:
    broken(tmp_path, old, new)
    if not hashed:
        forget_hashes(tmp_path)
    with pytest.raises(InputError, match=message):
        SimilarityMap.load(tmp_path)


@pytest.mark.parametrize(("old", "new", "message"), BROKEN_FORM)
def test_a_hash_does_not_excuse_a_broken_form(tmp_path: Path, old: str, new: str, message: str) -> None:
    change_about(tmp_path, "verbs", {"sha256": hashlib.sha256(broken(tmp_path, old, new)).hexdigest()})
    with pytest.raises(InputError, match=message):
        SimilarityMap.load(tmp_path)


@pytest.mark.parametrize("text", [b"", b"\n", b"class_synset\tsynset\n", b"\xff\xfe", b"{}"])
def test_a_table_that_is_none(tmp_path: Path, text: bytes) -> None:
    (write(tmp_path) / "verbs.tsv").write_bytes(text)
    with input_error(source=str(tmp_path / "verbs.tsv"), record="line 1"):
        SimilarityMap.load(tmp_path)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("version", 2, "version: found 2, expected 1"),
        ("scale", [1, 5], r"scale: found \[1, 5\], expected \[0, 4\]"),
        ("name", "", "name: found ''"),
        ("name", "a\nb", "name: found 'a.*nb', expected .*printable"),
        ("dataset", 7, "dataset: found 7"),
        ("raters", [], "raters: found"),
        ("raters", [{"name": "one", "model": "m"}] * 2, "raters: found"),
        ("raters", [{"name": "one"}], "rater 1: model: found only keys 'name'"),
        ("raters", [{"name": "one", "model": 7}], "rater 1: model: found 7"),
        ("raters", "one", "raters: found 'one'"),
        ("verbs", {"sha256": 7}, "sha256: found 7"),
        ("verbs", None, "verbs: found None"),
        ("raters", [{"name": "o\tne", "model": "m"}, {"name": "two", "model": "m"}], "raters: found"),
    ],
)
def test_broken_map_json(tmp_path: Path, field: str, value: Any, message: str) -> None:
    change_about(write(tmp_path), field, value)
    with pytest.raises(InputError, match=rf"map\.json: {message}"):
        SimilarityMap.load(tmp_path)


def test_a_map_json_that_is_none_and_a_table_that_is_missing(tmp_path: Path) -> None:
    (write(tmp_path) / "objects.tsv").unlink()
    with input_error(os.strerror(errno.ENOENT), source=str(tmp_path / "objects.tsv")):
        SimilarityMap.load(tmp_path)
    for text in ("", "[]", "{", "1", "\x00"):
        (tmp_path / "map.json").write_text(text)
        with input_error("JSON", source=str(tmp_path / "map.json")):
            SimilarityMap.load(tmp_path)


def test_names_that_are_no_map(tmp_path: Path) -> None:
    with option_error("unknown similarity map 'hico-dett'", "hico-det?"):
        SimilarityMap.load("hico-dett")
    with option_error("unknown similarity 'pth'", "path?", ": hico-det, identity"):
        load_similarity("pth")
    for name in ("\x00", "a" * 5000):
        with option_error("unknown similarity"):
            load_similarity(name)
    with input_error("map.json", source=str(tmp_path)):
        load_similarity(tmp_path)
    with option_error("unknown ensemble 'mode'"):
        load_similarity("wup", "mode")


@pytest.mark.parametrize(("columns", "raters"), [([0], ["one"]), ([1], ["two"]), ([1, 0], ["two", "one"])])
def test_a_map_with_fewer_raters_is_theirs_alone(tmp_path: Path, columns: list[int], raters: list[str]) -> None:
    whole = made(tmp_path / "a")
    alone = made(tmp_path / "b", {pair: [row[c] for c in columns] for pair, row in ROWS.items()}, raters)
    fewer = whole.with_raters(columns)
    for part in whole.tables:
        np.testing.assert_array_equal(fewer.pair_values(part), alone.pair_values(part))
        np.testing.assert_array_equal(fewer.tables[part].ratings, alone.tables[part].ratings)
    assert fewer.ratings("verb", "ride.v.01", "board.v.01") == alone.ratings("verb", "ride.v.01", "board.v.01")
    assert [rater.name for rater in fewer.raters] == raters


def test_fewer_raters_have_another_digest() -> None:
    whole = SimilarityMap.load("hico-det")
    assert len({similarity.digest for similarity in (whole, *(whole.with_raters([c]) for c in range(3)))}) == 4
