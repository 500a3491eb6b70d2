"""Arguments of the wrong kind are one clear line before anything is computed, not an error from deep inside."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shoe
from shoe.demo import PREDICTIONS, TRUTH

FILE: Any = Path("detector.json")
NAME: Any = "truth.json"
NOTHING: Any = None
NUMBERS: Any = [3]
WORDS: Any = ["ride"]
TABLE: Any = shoe.read_predictions(PREDICTIONS["detector"])
GROUND_TRUTH: Any = shoe.read_ground_truth(TRUTH)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: shoe.score(FILE, GROUND_TRUTH),
            r"predictions: found \w*Path, expected Interactions, as returned by shoe.read_pred",
        ),
        (lambda: shoe.score(TABLE, NAME), "truth: found str, expected GroundTruth, as returned by shoe.read_gr"),
        (lambda: shoe.score(GROUND_TRUTH, TABLE), "predictions: found GroundTruth, expected Interactions"),
        (lambda: shoe.diagnose(GROUND_TRUTH, TABLE), "predictions: found GroundTruth, expected Interactions"),
        (lambda: shoe.Metric(NAME), "truth: found str, expected GroundTruth"),
        (lambda: shoe.Metric(GROUND_TRUTH).update(NOTHING), "predictions: found NoneType, expected Interactions"),
        (lambda: shoe.Metric(GROUND_TRUTH, protocols=["upx"]), "unknown protocol 'upx' \\(did you mean upt"),
        (
            lambda: shoe.score(TABLE, GROUND_TRUTH, protocols="qpic"),
            "protocols: found 'qpic', expected a list of names",
        ),
        (lambda: shoe.score(TABLE, GROUND_TRUTH, options="tau=0.3"), "options: found 'tau=0.3', expected a list"),
        (lambda: shoe.score(TABLE, GROUND_TRUTH, options=NUMBERS), r"options: found \[3\], expected a list of names"),
        (
            lambda: shoe.score(TABLE, GROUND_TRUTH, similarity=NOTHING),
            "similarity: found None, expected text or a path",
        ),
        (lambda: shoe.score(TABLE, GROUND_TRUTH, notes=NAME), "notes: found 'truth.json', expected ReadNotes or None"),
        (lambda: shoe.diagnose(TABLE, GROUND_TRUTH, seed=NAME), "seed: found 'truth.json', expected a whole number"),
        (lambda: shoe.diagnose(TABLE, GROUND_TRUTH, variant=NUMBERS), r"variant: found \[3\], expected text"),
        (lambda: shoe.diagnose(TABLE, GROUND_TRUTH, pairs=TABLE), "pairs: found Interactions, expected Pairs or None"),
        (
            lambda: shoe.diagnose(TABLE, GROUND_TRUTH, action_scores=NUMBERS),
            r"action_scores: found \[3\], expected an arr",
        ),
        (lambda: shoe.diagnose(TABLE, GROUND_TRUTH).examples("duplicates"), "unknown error 'duplicates' .*duplicate"),
        (lambda: shoe.read_predictions(NUMBERS), r"path: found \[3\], expected text or a path"),
        (lambda: shoe.read_predictions(FILE, boxes=NUMBERS), r"boxes: found \[3\], expected text or None"),
        (lambda: shoe.read_ground_truth(TRUTH, dataset=NOTHING), "dataset: found None, expected text or Benchmark"),
        (lambda: shoe.benchmark(NOTHING), "dataset: found NoneType, expected Benchmark"),
        (lambda: shoe.parse_phrase(NOTHING), "phrase: found None, expected text"),
        (
            lambda: shoe.load_similarity("path").between("verb", NAME, ["sit.v.01"]),
            "class_synsets: found 'truth.json', expected a list of names",
        ),
        (
            lambda: shoe.load_similarity("path").of_words("verb", WORDS, WORDS),
            r"found \['ride'\], expected a list of \(text, text\)",
        ),
        (
            lambda: shoe.write_predictions(NUMBERS, FILE, "qpic"),
            "table: found list, expected Interactions, as returned by shoe.read",
        ),
        (lambda: shoe.concatenate(TABLE), "parts: found Interactions, expected a list of Interactions"),
        (lambda: shoe.Metric(GROUND_TRUTH).merge(NOTHING), "other: found NoneType, expected Metric"),
    ],
)
def test_arguments_of_another_kind_are_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(shoe.OptionError, match=message):
        call()
