from pathlib import Path

import pytest

from shoe.core.errors import ShoeError
from shoe.maps.raters.table import Table, read_ratings
from tests.maps.asking import PROMPTS, of_pairs, rated_pairs
from tests.maps.samples import refused_at

CSV = "class_synset,synset,people,rating\nride.v.01,straddle.v.01,3,1\nfeed.v.01,ride.v.01,0,\n"
PAIRS = [("feed.v.01", "ride.v.01"), ("feed.v.01", "straddle.v.01"), ("ride.v.01", "straddle.v.01")]


def written(folder: Path, text: str) -> Path:
    path = folder / "people.csv"
    path.write_bytes(text.encode())
    return path


def config(path: Path, column: str = "people") -> Table:
    return Table(name="p", model="5 people", file=path, column=column)


def rated(rater: Table) -> dict[tuple[str, str], int]:
    return rated_pairs(rater, of_pairs("verb", PAIRS))


@pytest.mark.parametrize("text", [CSV, CSV.replace(",", "\t"), CSV.replace("\n", "\r\n"), "\ufeff" + CSV, CSV + "\n"])
def test_pairs_of_the_table_are_rated_and_no_others(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    assert (rated(config(path)), rated(config(path, "rating"))) == ({PAIRS[0]: 0, PAIRS[2]: 3}, {PAIRS[2]: 1})


def test_where_both_ways_round_are_rated_the_alphabet_decides(tmp_path: Path) -> None:
    both = "class_synset,synset,rating\nstraddle.v.01,ride.v.01,4\nride.v.01,straddle.v.01,2\n"
    assert rated(config(written(tmp_path, both), "rating")) == {PAIRS[2]: 2}
    one = "class_synset,synset,rating\nstraddle.v.01,ride.v.01,4\n"
    assert rated(config(written(tmp_path, one), "rating")) == {PAIRS[2]: 4}


def test_any_name_of_a_synset_will_do(tmp_path: Path) -> None:
    path = written(tmp_path, "class_synset,synset,rating\nsit.v.03,ride.v.01,4\n")
    (pair,) = read_ratings(path, "rating")
    assert pair == ("sit.v.03", "ride.v.01") or "sit.v.03" not in pair


def test_the_content_is_in_the_identity_and_the_place_is_not(tmp_path: Path) -> None:
    here = written(tmp_path, CSV)
    there = tmp_path / "there"
    there.mkdir()
    assert config(here).identity() == config(written(there, CSV)).identity()
    assert config(here).identity() != config(written(there, CSV + "\n")).identity()


@pytest.mark.parametrize(
    ("columns", "rows", "where", "said"),
    [
        ("", [], "", "found 0 lines"),
        ("", ["ride.v.01,walk.v.01"], "line 1", "0 columns 'people'"),
        (",peeple", ["ride.v.01,walk.v.01,1"], "line 1", "mean 'peeple'?"),
        (",people,people", ["ride.v.01,walk.v.01,1,1"], "line 1", "2 columns 'people'"),
        (",people", ["ride.v.01"], "line 2", "1 fields, expected 3 fields"),
        (",people", ["ride.v.01,walk,3"], "line 2: synset", "found 'walk'"),
        (",people", ["ride.v.01,walk.v.01,5"], "line 2: people", "found '5', expected a rating 0 to 4"),
        (",people", ["ride.v.01,walk.v.01,2.5"], "line 2: people", "found '2.5'"),
        (",people", ["ride.v.01,walk.v.01,1", "ride.v.01,walk.v.01,2"], "line 3: people", "ride.v.01 and walk.v.01"),
        (",people", ['ride.v.01,"walk.v.01'], "line 2", "quotes in pairs"),
    ],
)
def test_a_broken_table_is_one_line(tmp_path: Path, columns: str, rows: list[str], where: str, said: str) -> None:
    path = written(tmp_path, "\n".join([f"class_synset,synset{columns}", *rows] if rows else []))
    with refused_at(where, said, source=str(path)):
        read_ratings(path, "people")


def test_a_table_answers_once(tmp_path: Path) -> None:
    twice = Table(name="p", repeats=2, file=written(tmp_path, CSV), column="people")
    with pytest.raises(ShoeError, match="repeats is 2"):
        twice.backend(PROMPTS)
