from pathlib import Path

import pytest

from shoe.core.errors import ShoeError
from shoe.maps.prompts import Question, SenseText
from shoe.maps.raters.table import Table, read_ratings
from tests.maps.asking import PROMPTS, Memory, in_groups

CSV = "class_synset,synset,people,rating\nride.v.01,straddle.v.01,3,1\nfeed.v.01,ride.v.01,0,\n"
PAIRS = [("feed.v.01", "ride.v.01"), ("feed.v.01", "straddle.v.01"), ("ride.v.01", "straddle.v.01")]


def written(folder: Path, text: str) -> Path:
    path = folder / "people.csv"
    path.write_bytes(text.encode())
    return path


def config(path: Path, column: str = "people") -> Table:
    return Table(name="p", model="5 people", file=path, column=column)


def rated(rater: Table) -> dict[tuple[str, str], int]:
    questions = [
        Question(f"{n:016d}".encode(), "verb", SenseText(a, (), ""), SenseText(b, (), ""))
        for n, (a, b) in enumerate(PAIRS)
    ]
    backend, memory = rater.backend(PROMPTS), Memory()
    backend.rate(in_groups(questions, len(questions)), memory)
    return {
        pair: rating
        for group, raw in memory.answers
        for pair, rating in zip(group.about()["pairs"], backend.parse(group.about()["ids"], raw), strict=True)
    }


@pytest.mark.parametrize("text", [CSV, CSV.replace(",", "\t"), CSV.replace("\n", "\r\n"), "\ufeff" + CSV, CSV + "\n"])
def test_pairs_of_the_table_are_rated_and_no_others(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    assert rated(config(path)) == {PAIRS[0]: 0, PAIRS[2]: 3}
    assert rated(config(path, "rating")) == {PAIRS[2]: 1}


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
    ("text", "said"),
    [
        ("", "found 0 lines"),
        ("class_synset,synset\nride.v.01,walk.v.01\n", "line 1: found 0 columns 'people'"),
        ("class_synset,synset,peeple\nride.v.01,walk.v.01,1\n", "did you mean 'peeple'?"),
        ("class_synset,synset,people,people\nride.v.01,walk.v.01,1,1\n", "found 2 columns 'people'"),
        ("class_synset,synset,people\nride.v.01\n", "line 2: found 1 fields, expected 3 fields, as in line 1"),
        ("class_synset,synset,people\nride.v.01,walk,3\n", "line 2: synset: found 'walk', expected a synset"),
        ("class_synset,synset,people\nride.v.01,walk.v.01,5\n", "line 2: people: found '5', expected a rating 0 to 4"),
        ("class_synset,synset,people\nride.v.01,walk.v.01,2.5\n", "line 2: people: found '2.5'"),
        (
            "class_synset,synset,people\nride.v.01,walk.v.01,1\nride.v.01,walk.v.01,2\n",
            "line 3: people: found a second",
        ),
        ('class_synset,synset,people\nride.v.01,"walk.v.01', "line 2: "),
    ],
)
def test_a_broken_table_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ShoeError) as caught:
        read_ratings(written(tmp_path, text), "people")
    assert said in str(caught.value)


def test_a_table_answers_once(tmp_path: Path) -> None:
    twice = Table(name="p", repeats=2, file=written(tmp_path, CSV), column="people")
    with pytest.raises(ShoeError, match="repeats is 2, expected 1"):
        twice.backend(PROMPTS)
