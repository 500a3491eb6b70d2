"""``shoe study report`` from a table to figures: what is read, what is refused, and what it says."""

import json
from pathlib import Path

import numpy as np
import pytest

from shoe.core.errors import InputError
from shoe.similarity import load_similarity
from shoe.study.raters_and_people import with_map
from shoe.study.ratings import read_study
from tests.cli.run import run
from tests.errors import input_error, says
from tests.study.made import written

HEADER = "item,rater,rating"


def test_a_table_with_all_columns(tmp_path: Path) -> None:
    study = read_study(
        written(
            tmp_path,
            "rater,item,occasion,phase,rating,part,reference,gold,seconds,comment",
            "ann,a,1,words,3,verb,0.5,,2.5,fine",
            "bob,a,1,words,,verb,,,,",
            "ann,a,2,words,2,verb,,,,",
            "ann,a,1,picture,4,,,,,",
            "bob,b,,,0,object,,4,1.0,",
        )
    )
    assert (study.items, study.raters, study.part) == (("a", "b"), ("ann", "bob"), ("verb", "object"))
    assert study.first.tolist() == [[3, -1], [-1, 0]]
    assert (study.again[0, 0], study.picture[0, 0], study.holes) == (2, 4, 1)
    assert (study.seconds[0, 0], study.gold.tolist(), study.measured.tolist()) == (2.5, [-1, 4], [True, False])
    np.testing.assert_array_equal(study.reference, [0.5, np.nan])


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ((HEADER, "a,x,5"), r"line 2: rating: found '5', expected .* 0 to 4"),
        ((HEADER, "a,x,2.5"), r"line 2: rating: found '2.5', expected a whole"),
        ((HEADER, "a,x,1", "b,x,1", "a,x,2"), r"line 4: .* 'x' .* line 2"),
        ((HEADER, "a,,1"), r"line 2: rater: found ''"),
        ((HEADER, "a,x,"), r"found no rating, expected .* 0 to 4"),
        (("item,rating", "a,1"), r"line 1: rater: found 'item rating'"),
        ((f"{HEADER},reference", "a,x,1,0.2", "a,y,1,0.3"), r"line 3: reference: found '0.3', .* '0.2' .* line 2"),
        ((f"{HEADER},reference", "a,x,1,nan"), r"line 2: reference: found 'nan', expected .* 0 to 1"),
        ((f"{HEADER},phase", "a,x,1,film"), r"line 2: phase: found 'film', .* words or picture"),
        ((f"{HEADER},seconds", "a,x,1,-3"), r"line 2: seconds: found '-3'"),
        ((HEADER, "a,x,1,9"), r"line 2: found 4 fields, expected 3"),
    ],
)
def test_what_is_refused(tmp_path: Path, lines: tuple[str, ...], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_study(written(tmp_path, *lines))


def test_a_map_is_the_reference(tmp_path: Path) -> None:
    lines = ["verb_a,object_a,verb_b,object_b,rater,rating"]
    lines += ["ride.v.02,horse.n.01,straddle.v.01,horse.n.01,x,3", "eat.v.01,pizza.n.01,eat.v.01,pizza.n.01,x,4"]
    path = written(tmp_path, *lines)
    study = with_map(read_study(path), "hico-det", path)
    verb = load_similarity("hico-det").between("verb", ["ride.v.02"], ["straddle.v.01"])[0, 0]
    assert study.reference == pytest.approx([(verb + 1) / 2, 1], nan_ok=True)
    with input_error("not senses", record="item 'a'"):
        with_map(read_study(written(tmp_path, HEADER, "a,x,1")), "hico-det", path)


@pytest.mark.slow
def test_the_report_of_a_study(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    true = rng.integers(0, 5, 40)
    lines = [f"{HEADER},part,reference,gold,occasion,phase"]
    for rater in "abc":
        ratings = np.clip(true + rng.integers(-1, 2, 40), 0, 4)
        lines += [f"i{i},{rater},{r},p{i % 2},{true[i] / 4},,1,words" for i, r in enumerate(ratings)]
        lines += [f"i{i},{rater},{ratings[i]},p{i % 2},,,2,words" for i in range(4)]
        lines += [f"i{i},{rater},{(ratings[i] + (i == 0)) % 5},,,,1,picture" for i in range(10)]
    lines += [f"i{i},lazy,2,,,,1,words" for i in range(40)]
    lines += [f"g,{rater},4,,,4,1,words" for rater in "abc"] + ["g,lazy,2,,,4,1,words"]
    path = written(tmp_path, *lines)
    done = run("study", "report", path, "--json", "-", "--latex", tmp_path / "table.tex")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert (found["all"]["items"], list(found["parts"])) == (40, ["p0", "p1"])
    assert (found["raters"]["lazy"]["levels"], len(found["raters"]["lazy"]["excluded"])) == ([0, 0, 40, 0, 0], 2)
    assert found["retest"] == {"answers": 12, "exact": 1, "kappa": 1}
    assert found["picture"]["changed"]["value"] == pytest.approx(0.1)
    assert 0 <= found["picture"]["changed"]["interval"][0] < found["picture"]["changed"]["interval"][1] <= 1
    kept, everyone = found["without_excluded"], found["all"]
    assert kept["alpha"]["ordinal"]["value"] > everyone["alpha"]["ordinal"]["value"]
    low, high = kept["reference"]["spearman"]["interval"]
    assert low < kept["reference"]["spearman"]["value"] < high
    assert r"\toprule" in (tmp_path / "table.tex").read_text()
    assert says(run("study", "report", path).stdout, "excluded   lazy: ", "75%", "gold")


def test_one_rater_and_constant_data_are_undefined(tmp_path: Path) -> None:
    one = run("study", "report", written(tmp_path, HEADER, "a,x,1", "b,x,4"))
    assert (one.returncode, one.stdout.count("undefined")) == (0, 7)
    constant = run("study", "report", written(tmp_path, HEADER, *(f"{i},{r},2" for i in range(5) for r in "xy")))
    assert (constant.returncode, constant.stdout.count("undefined")) == (0, 5)
    wrong = run("study", "report", written(tmp_path, HEADER, "a,x,9"))
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
