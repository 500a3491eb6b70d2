"""``shoe map info``, ``diff``, ``ablate``, ``import``, ``merge`` and ``export`` as a user runs them."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from shoe.benchmarks.signature import Signature
from shoe.demo import PREDICTIONS, TRUTH
from shoe.similarity import SimilarityMap
from tests.cli import run as cli
from tests.cli.run import as_json, output, refused
from tests.maps.samples import made

run = partial(cli.run, "map")
FOR = ("--for", PREDICTIONS["free text"], "--ground-truth", TRUTH)


@pytest.fixture
def other(tmp_path: Path) -> Path:
    rows = {"ride.v.01 straddle.v.01": (4, 4), "horse.n.01 pony.n.01": (0, 1), "ride.v.01 breakfast.v.01": (1, None)}
    made(tmp_path / "other", rows)
    return tmp_path / "other"


def lines_of(shown: str) -> list[str]:
    return [" ".join(line.split()) for line in shown.splitlines()]


def test_two_maps_and_their_scores(tmp_path: Path, other: Path) -> None:
    done = run("diff", "hico-det", other, *FOR, "--json", tmp_path / "diff.json")
    assert done.returncode == 0
    found = orjson.loads((tmp_path / "diff.json").read_bytes())["score"]
    assert f"{FOR[1]}: 383 triplets" in done.stderr
    rows = lines_of(done.stdout)
    assert any(row.startswith("verbs 1 122,453 1 – – 0.375") for row in rows)
    assert any(row.startswith("0.62 1.00 ride.v.01 (ride, sit)") for row in rows)
    score, classes = (next(n for n, row in enumerate(rows) if row.startswith(text)) for text in ("score", "classes"))
    a, b = found["a"], found["b"]
    expected = f"{100 * a['map']:.2f} {100 * b['map']:.2f} {100 * (b['map'] - a['map']):+.2f}"
    assert rows[score + 2] == f"SHOE-mAP {expected}"
    assert rows[classes + 2].startswith(found["classes"][0]["label"])
    assert [dict(Signature.parse(side["signature"]).items)["map"] for side in (a, b)] == ["hico-det", "other"]
    moves = [abs(move["b"] - move["a"]) for move in found["classes"]]
    assert moves == sorted(moves, reverse=True)


def test_json_of_two_maps(other: Path) -> None:
    found = as_json("map", "diff", "hico-det", other)
    (largest,) = found["verbs"].pop("largest")
    # 2 and 2 by the lists, half each, and 3 by the fourth reading: 2.5 of 4
    assert found["verbs"] == {"shared": 1, "only_a": 122453, "only_b": 1, "mean_difference": 0.375}
    assert largest["lemmas"] == ["ride, sit", "straddle"]
    assert "score" not in found


@pytest.mark.slow
def test_subsets_scored_and_compared_with_people(tmp_path: Path) -> None:
    study = tmp_path / "study.csv"
    study.write_text("class_synset,synset,rating\nride.v.01,straddle.v.01,3\nride.v.01,eat.v.01,0\n")
    done = run("ablate", "hico-det", *FOR, "--human", study, "--json", tmp_path / "ablation.json")
    assert done.returncode == 0
    rows = lines_of(done.stdout)
    found = orjson.loads((tmp_path / "ablation.json").read_bytes())
    whole: dict[str, Any] = found["subsets"][-1]
    raters = ["pass_a", "pass_b", "extension", "reading_c", "reading_d", "reading_e", "reading_f", "reading_g"]
    assert whole["raters"] == found["raters"] == raters
    assert whole["rated"] == {"verbs": 122454, "objects": 50543}
    figures = f"{100 * whole['map']:.2f} {100 * whole['mf1']:.2f}"
    assert f"8 {' + '.join(raters)} 122,454 50,543 {figures}" in rows
    assert "pass_a pass_b 39,445 0.941 16,515 0.965" in rows
    single = [subset["map"] for subset in found["subsets"] if len(subset["raters"]) == 1]
    of_one = found["sizes"][0]["map"]
    assert (of_one["lowest"], of_one["highest"]) == (min(single), max(single))
    spread = f"{100 * (max(single) - min(single)):.2f}"
    assert any(row.startswith("SHOE-mAP: single raters") and spread in row for row in rows)
    assert found["human"] == {"verbs": {"pairs": 2, "ratings": 2}}
    assert whole["human"]["verbs"]["agreement"] == pytest.approx(1 - 0.125 / 2)


def test_mistakes_about_two_maps_are_answered(tmp_path: Path, other: Path) -> None:
    scores, eleven = tmp_path / "scores.jsonl", tmp_path / "eleven"
    boxes = '"human_box": [8, 166, 165, 472], "object_box": [134, 0, 406, 480]'
    record = f'{{"image": "HICO_test2015_00000025.jpg", {boxes}, "verb": "ride", "object": "horse", "score": 7}}\n'
    scores.write_text(record)
    made(eleven, {"ride.v.01 straddle.v.01": [1] * 11}, [f"r{n}" for n in range(11)])
    for words, *says in (
        (("diff", "hico-det", "wup"), "similarity map 'wup'"),
        (("diff", "hico-det", other, *FOR[:2]), "--for and --ground-truth"),
        (("ablate", "hico-det", *FOR[2:]), "--for and --ground-truth"),
        (("ablate", "hico-det", "--for", scores, *FOR[2:]), "scores.jsonl: found", "7.0"),
        (("ablate", eleven), "map ablate: found 11 raters"),
        (("ablate", "hico-det", "--human", TRUTH), f"{TRUTH}: found"),
    ):
        refused(run(*words), *says)


def test_the_shipped_map_is_described() -> None:
    rows = lines_of(output("map", "info", "hico-det"))
    assert all(part in rows[0] for part in ("hico-det (ef142440)", "122,454 verb pairs", "50,543 object pairs"))
    for row in (
        "pass_a verbs 39,445 83,009 33,774 3,292 1,628 673 78 0.23",
        "pass_a pass_b verbs 39,445 95.6 0.941 0.941",
        "pass_a extension objects 0 – – –",
        "objects 50,543 50,543 80 80 of 80 271 423 6,638",
    ):
        assert row in rows
    heads = [row.split(": ")[0] for row in rows]
    assert {"provenance", "licence"} <= set(heads)
    warned = [row.split("'")[1] for row in rows if row.startswith("warning: objects: rater ")]
    assert (warned, heads.count("warning")) == (["reading_d", "reading_g"], 2)


def test_json_has_the_documented_keys(tmp_path: Path) -> None:
    assert "122,454 verb pairs" in run("info", "hico-det", "--json", tmp_path / "map.json").stdout
    found = json.loads((tmp_path / "map.json").read_text())
    assert (found, found["digest"]) == (as_json("map", "info", "hico-det"), "ef142440")
    assert found["raters"][0]["verbs"] == {"rated": 39445, "missing": 83009, "histogram": [33774, 3292, 1628, 673, 78]}
    assert len(found["verbs"]["coverage"]) == 119
    assert found["verbs"]["agreement"][1] == {"raters": ["pass_a", "extension"], "pairs": 0}
    assert [rater["weight"] for rater in found["raters"]] == [0.5, 0.5, 1, 1, 1, 0.5, 0.5, 1]
    assert [rater["omits"] for rater in found["raters"]] == [True, True, *[False] * 6]


def test_missing_classes_are_warned_of_and_mistakes_answered(tmp_path: Path) -> None:
    made(tmp_path / "a")
    assert "warning: verbs: 118 " in run("info", tmp_path / "a").stdout
    table = tmp_path / "a" / "objects.tsv"
    table.write_text(table.read_text().replace("\t4\t", "\t7\t"))
    refused(run("info", tmp_path / "a"), "objects.tsv: line 3: one: found '7'", "0 to 4")
    refused(run("info", "hico-dett"), "similarity map 'hico-dett'", "mean hico-det?")
    refused(run("info", "hico-det", "--json", tmp_path / "no" / "x.json"), "x.json: found")


def test_hostile_prose_is_shown_harmless(tmp_path: Path) -> None:
    made(tmp_path / "a", provenance="\x1b[31mred\u202e", notes={"[bold]k\x07": ["\x1b]0;title\x07"]})
    about = json.loads((tmp_path / "a" / "map.json").read_text())
    about["raters"][0] |= {"note": "\x1b[2J", "refused\x1b": "[red]5"}
    (tmp_path / "a" / "map.json").write_text(json.dumps(about))
    done = run("info", tmp_path / "a")
    assert done.returncode == 0
    assert all(character.isprintable() or character == "\n" for character in done.stdout)
    assert all(part in done.stdout for part in ("[red]5", "[bold]k"))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "verbs.csv"
    path.write_text("class_synset,synset,gpt\nride.v.01,straddle.v.01,3\n")
    return path


@pytest.mark.slow
def test_from_a_table_to_a_map_to_a_merged_map_to_arrays(tmp_path: Path, table: Path) -> None:
    def told(*words: str | Path) -> str:
        done = run(*words)
        assert (done.returncode, done.stdout) == (0, ""), done
        return done.stderr

    prose = ("--model", "gpt=gpt-4.1", "--provenance", "asked", "--licence", "CC0")
    said = told("import", tmp_path / "mine", table, *prose)
    assert said.startswith("mine (")
    assert "warning: objects: 80 " in said
    mine = SimilarityMap.load(tmp_path / "mine")
    assert (mine.raters[0].model, mine.about["provenance"], mine.about["licence"]) == ("gpt-4.1", "asked", "CC0")

    said = told("merge", "hico-det", tmp_path / "mine", "--out", tmp_path / "both")
    assert all(part in said for part in ("122,454 verb pairs", "50,543 object pairs", "9 raters"))
    both = SimilarityMap.load(tmp_path / "both")
    found = both.ratings("verb", "ride.v.01", "straddle.v.01")
    assert found is not None
    assert list(found) == [rater.name for rater in both.raters]
    assert list(found.values()) == [2, 2, None, 3, None, None, None, None, 3]
    assert list(both.rater_weights.weights) == [0.5, 0.5, 1, 1, 1, 0.5, 0.5, 1, 1]

    told("export", tmp_path / "both", tmp_path / "both.npz")
    with np.load(tmp_path / "both.npz", allow_pickle=False) as arrays:
        assert (arrays["verb_ratings"].shape[2], str(arrays["digest"])) == (9, both.digest)

    told("export", tmp_path / "mine", tmp_path / "mine.csv")
    told("import", tmp_path / "again", tmp_path / "mine.csv")
    assert SimilarityMap.load(tmp_path / "again").digest == mine.digest


def test_mistakes_are_answered_and_leave_nothing(tmp_path: Path, table: Path) -> None:
    out = tmp_path / "out"
    for words, *says in (
        (("import", out, tmp_path / "verbs.csw"), "verbs.csw: found no such file", "did you mean"),
        (("import", out, table, "--model", "gpt"), "--model: found 'gpt', expected RATER=MODEL"),
        (("import", out, table, "--model", "gtp=x"), "rater 'gtp'", "such column"),
        (("import", out, table, "--dataset", "hico"), "dataset 'hico'", "mean hico-det?"),
        (("import", out, table, "--provenance", "a\nb"), "provenance: found 'a\\nb'", "one line"),
        (("import", table, table), "verbs.csv: found an existing"),
        (("merge", "hico-det", "hico-det", "--out", out), "rater 'extension'", "another name"),
        (("merge", "hico-det", tmp_path / "nope", "--out", out), "similarity map", "nope"),
        (("export", "hico-det", out), "OUT: found 'out'", ".npz, .csv or .tsv"),
    ):
        refused(run(*words), *says)
    assert list(tmp_path.iterdir()) == [table]
