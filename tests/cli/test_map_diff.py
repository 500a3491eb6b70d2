"""``shoe map diff`` and ``shoe map ablate`` as a user runs them."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from shoe.benchmarks.signature import Signature
from shoe.demo import PREDICTIONS, TRUTH
from tests.cli.maps import as_json, run
from tests.cli.run import refused
from tests.maps.samples import made

FOR = ("--for", PREDICTIONS["free text"], "--ground-truth", TRUTH)


@pytest.fixture
def other(tmp_path: Path) -> Path:
    rows = {"ride.v.01 straddle.v.01": (4, 4), "horse.n.01 pony.n.01": (0, 1), "ride.v.01 breakfast.v.01": (1, None)}
    made(tmp_path / "other", rows)
    return tmp_path / "other"


def test_two_maps_and_their_scores(tmp_path: Path, other: Path) -> None:
    done = run("diff", "hico-det", other, *FOR, "--json", tmp_path / "diff.json")
    assert done.returncode == 0
    whole = orjson.loads((tmp_path / "diff.json").read_bytes())
    assert f"{FOR[1]}: 383 triplets" in done.stderr
    rows = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert any(row.startswith("verbs 1 122,453 1 – – 0.375") for row in rows)
    assert any(row.startswith("0.62 1.00 ride.v.01 (ride, sit)") for row in rows)
    score, classes = (next(n for n, row in enumerate(rows) if row.startswith(text)) for text in ("score", "classes"))
    found = whole["score"]
    a, b = found["a"], found["b"]
    expected = f"{100 * a['map']:.2f} {100 * b['map']:.2f} {100 * (b['map'] - a['map']):+.2f}"
    assert rows[score + 2] == f"SHOE-mAP {expected}"
    assert rows[classes + 2].startswith(found["classes"][0]["label"])
    signatures = [dict(Signature.parse(side["signature"]).items) for side in (a, b)]
    assert [signature["map"] for signature in signatures] == ["hico-det", "other"]
    moves = [abs(move["b"] - move["a"]) for move in found["classes"]]
    assert moves == sorted(moves, reverse=True)


def test_json_of_two_maps(other: Path) -> None:
    found = as_json("diff", "hico-det", other)
    assert "score" not in found
    assert found["verbs"] | {"largest": []} == {
        "shared": 1,
        "only_a": 122453,
        "only_b": 1,
        "mean_difference": 0.375,  # 2 and 2 by the lists, half each, and 3 by the fourth reading: 2.5 of 4
        "largest": [],
    }
    (largest,) = found["verbs"]["largest"]
    assert largest["lemmas"] == ["ride, sit", "straddle"]


@pytest.mark.slow
def test_subsets_scored_and_compared_with_people(tmp_path: Path) -> None:
    study = tmp_path / "study.csv"
    study.write_text("class_synset,synset,rating\nride.v.01,straddle.v.01,3\nride.v.01,eat.v.01,0\n")
    done = run("ablate", "hico-det", *FOR, "--human", study, "--json", tmp_path / "ablation.json")
    assert done.returncode == 0
    rows = [" ".join(line.split()) for line in done.stdout.splitlines()]
    found = orjson.loads((tmp_path / "ablation.json").read_bytes())
    whole: dict[str, Any] = found["subsets"][-1]
    raters = ["pass_a", "pass_b", "extension", "reading_c", "reading_d", "reading_e", "reading_f", "reading_g"]
    assert whole["raters"] == found["raters"] == raters
    assert whole["rated"] == {"verbs": 122454, "objects": 50543}
    figures = f"{100 * whole['map']:.2f} {100 * whole['mf1']:.2f}"
    assert f"8 {' + '.join(raters)} 122,454 50,543 {figures}" in rows
    assert "pass_a pass_b 39,445 0.941 16,515 0.965" in rows
    single = [subset["map"] for subset in found["subsets"] if len(subset["raters"]) == 1]
    assert found["sizes"][0]["map"]["lowest"] == min(single)
    assert found["sizes"][0]["map"]["highest"] == max(single)
    spread = f"{100 * (max(single) - min(single)):.2f}"
    assert any(row.startswith("SHOE-mAP: single raters") and spread in row for row in rows)
    assert found["human"] == {"verbs": {"pairs": 2, "ratings": 2}}
    assert whole["human"]["verbs"]["agreement"] == pytest.approx(1 - 0.125 / 2)


def test_mistakes_are_answered(tmp_path: Path, other: Path) -> None:
    refused(run("diff", "hico-det", "wup"), "unknown similarity map 'wup'")
    refused(run("diff", "hico-det", other, *FOR[:2]), "--for and --ground-truth")
    refused(run("ablate", "hico-det", *FOR[2:]), "--for and --ground-truth")
    scores = tmp_path / "scores.jsonl"
    record = (
        '{"image": "HICO_test2015_00000025.jpg", "human_box": [8, 166, 165, 472], "object_box": [134, 0, 406, 480],'
    )
    scores.write_text(record + ' "verb": "ride", "object": "horse", "score": 7}\n')
    refused(run("ablate", "hico-det", "--for", scores, *FOR[2:]), "scores.jsonl: found a score of 7.0, expected scores")
    eleven = {"ride.v.01 straddle.v.01": [1] * 11}
    made(tmp_path / "eleven", eleven, [f"r{n}" for n in range(11)])
    refused(run("ablate", tmp_path / "eleven"), "map ablate: found 11 raters")
    refused(run("ablate", "hico-det", "--human", TRUTH), f"{TRUTH}: found")
