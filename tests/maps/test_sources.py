"""Maps from tables of people and other tools: what is read, and every line that is refused."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from shoe.core.errors import OptionError
from shoe.maps.sources import import_tables
from shoe.similarity import SimilarityMap
from tests.maps.samples import Pairs, content as content_of, refused_at

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
    assert [(rater.name, rater.model) for rater in found.raters] == [
        ("gpt", "table ratings.csv"),
        ("people", "table ratings.csv"),
    ]
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
