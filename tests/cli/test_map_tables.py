"""``shoe map import``, ``merge`` and ``export`` as a user runs them."""

from pathlib import Path

import numpy as np
import pytest

from shoe.similarity import SimilarityMap
from tests.cli.maps import run
from tests.cli.run import refused

VERBS = "class_synset,synset,gpt\nride.v.01,straddle.v.01,3\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "verbs.csv"
    path.write_text(VERBS)
    return path


@pytest.mark.slow
def test_from_a_table_to_a_map_to_a_merged_map_to_arrays(tmp_path: Path, table: Path) -> None:
    done = run(
        "import", tmp_path / "mine", table, "--model", "gpt=gpt-4.1", "--provenance", "asked", "--licence", "CC0"
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("mine (")
    assert "warning: objects: 80 class senses of hico-det are not in the map at all" in done.stderr
    mine = SimilarityMap.load(tmp_path / "mine")
    assert (mine.raters[0].model, mine.about["provenance"], mine.about["licence"]) == ("gpt-4.1", "asked", "CC0")

    done = run("merge", "hico-det", tmp_path / "mine", "--out", tmp_path / "both")
    assert (done.returncode, done.stdout) == (0, "")
    assert "122,454 verb pairs and 50,543 object pairs · 9 raters" in done.stderr
    both = SimilarityMap.load(tmp_path / "both")
    assert both.ratings("verb", "ride.v.01", "straddle.v.01") == {
        "pass_a": 2,
        "pass_b": 2,
        "extension": None,
        "reading_c": 3,
        "reading_d": None,
        "reading_e": None,
        "reading_f": None,
        "reading_g": None,
        "gpt": 3,
    }
    assert list(both.rater_weights.weights) == [0.5, 0.5, 1, 1, 1, 0.5, 0.5, 1, 1]

    done = run("export", tmp_path / "both", tmp_path / "both.npz")
    assert (done.returncode, done.stdout) == (0, "")
    with np.load(tmp_path / "both.npz", allow_pickle=False) as arrays:
        assert arrays["verb_ratings"].shape[2] == 9
        assert str(arrays["digest"]) == both.digest

    done = run("export", tmp_path / "mine", tmp_path / "mine.csv")
    assert done.returncode == 0
    done = run("import", tmp_path / "again", tmp_path / "mine.csv")
    assert done.returncode == 0
    assert SimilarityMap.load(tmp_path / "again").digest == mine.digest


def test_mistakes_are_answered_and_leave_nothing(tmp_path: Path, table: Path) -> None:
    out = tmp_path / "out"
    refused(run("import", out, tmp_path / "verbs.csw"), "verbs.csw: found no such file, expected a file (did you mean")
    refused(run("import", out, table, "--model", "gpt"), "--model: found 'gpt', expected RATER=MODEL")
    refused(run("import", out, table, "--model", "gtp=x"), "model of rater 'gtp': the tables have no such column")
    refused(run("import", out, table, "--dataset", "hico"), "unknown dataset 'hico' (did you mean hico-det?)")
    refused(run("import", out, table, "--provenance", "a\nb"), "provenance: found 'a\\nb', expected one line of text")
    refused(run("import", table, table), "verbs.csv: found an existing file or folder")
    refused(run("merge", "hico-det", "hico-det", "--out", out), "found the rater 'extension', expected another name")
    refused(run("merge", "hico-det", tmp_path / "nope", "--out", out), "unknown similarity map")
    refused(run("export", "hico-det", out), "OUT: found 'out', expected a name that ends in .npz, .csv or .tsv")
    assert list(tmp_path.iterdir()) == [table]
