"""How near unseen classes are to seen ones, by hand and by the slow way."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import orjson
import pytest

from shoe.benchmarks import benchmark
from shoe.benchmarks.classes import ClassSplit
from shoe.demo import PREDICTIONS, TRUTH
from shoe.scoring.evidence.facts import EDGES, nearest_seen
from shoe.similarity import load_similarity
from tests.cli.run import run

CLASSES = benchmark("hico-det").classes


def test_by_hand_with_exact_matches() -> None:
    """Under identity a class with the same verb or the same object has half, and others nothing."""
    labels = CLASSES.labels
    unseen = [labels.index(label) for label in ("ride horse", "hold bicycle", "park car")]
    split = ClassSplit.of_unseen("three", unseen, len(CLASSES), "made for this test")
    near = nearest_seen(split, CLASSES, load_similarity("identity"))
    assert near is not None
    assert near.unseen.tolist() == sorted(unseen)
    assert near.similarity.tolist() == [0.5, 0.5, 0.5]
    for one, other in zip(near.unseen, near.seen, strict=True):
        assert CLASSES.verb[one] == CLASSES.verb[other] or CLASSES.object[one] == CLASSES.object[other]
    ap = np.full(len(CLASSES), 0.1)
    ap[near.unseen] = 0.2, np.nan, 0.6
    ranges = near.by_similarity({"toy": ap})
    assert [(each.low, each.high) for each in ranges] == list(pairwise(EDGES))
    assert [(each.classes, each.map.get("toy")) for each in ranges] == [(2, pytest.approx(0.4)), *[(0, None)] * 3]
    parts = {"unseen": split.parts["unseen"]}
    assert nearest_seen(replace(split, parts=parts), CLASSES, load_similarity("identity")) is None


@pytest.mark.slow
def test_a_score_tells_unseen_classes_apart_by_distance(tmp_path: Path) -> None:
    words = ("score", PREDICTIONS["detector"], "-g", TRUTH, "--split", "rf-uc", "--per-class", tmp_path / "classes.csv")
    found = orjson.loads(run(*words, "--json", "-").stdout)
    ranges, unseen = found["by_nearest_seen"], found["strict"]["parts"]["unseen"]
    assert sum(each["classes"] for each in ranges) == unseen["classes"]
    for kind, name in (("strict", "hico-det"), ("semantic", "shoe")):
        total = sum(each["classes"] * each["map"].get(name, 0) for each in ranges)
        assert total / unseen["classes"] == pytest.approx(found[kind]["parts"]["unseen"]["map"])
    header, *rows = (line.split(",") for line in (tmp_path / "classes.csv").read_text().splitlines())
    told = {row[0]: row for row in rows if row[header.index("nearest_seen")]}
    assert len(told) == 120

    described = orjson.loads(run("dataset", "info", "rf-uc", "--json", "-").stdout)
    assert sum(each["classes"] for each in described["by_nearest_seen"]) == 120
    for each in described["nearest"]:
        row = told[each["class"]]
        assert row[header.index("nearest_seen")] == each["seen"]
        assert float(row[header.index("nearest_similarity")]) == pytest.approx(each["similarity"], abs=1e-6)
