"""Public names, and the names of their arguments."""

import ast
import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import shoe
from shoe.demo import PREDICTIONS, TRUTH


def imported_for_type_checkers() -> dict[str, str]:
    """Name and module of every import that only a type checker sees."""
    branch = next(node for node in ast.parse(inspect.getsource(shoe)).body if isinstance(node, ast.If))
    imports = [node for node in branch.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def test_every_public_name_is_listed_and_loads_what_type_checkers_see() -> None:
    homes = imported_for_type_checkers()
    assert dir(shoe) == sorted(shoe.__all__) == sorted({*homes, "__version__"})
    for name, module in homes.items():
        assert inspect.unwrap(getattr(shoe, name)) is inspect.unwrap(getattr(import_module(module), name))


def test_other_names_do_not_exist() -> None:
    with pytest.raises(AttributeError, match=r"'shoe' .* 'scroe'"):
        shoe.scroe  # noqa: B018


FILE: Any = Path("detector.json")
NAME: Any = "truth.json"
NOTHING: Any = None
NUMBERS: Any = [3]
WORDS: Any = ["ride"]
TABLE: Any = shoe.read_predictions(PREDICTIONS["detector"])
GROUND_TRUTH: Any = shoe.read_ground_truth(TRUTH)
PATH = shoe.load_similarity("path")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: shoe.score(FILE, GROUND_TRUTH), r"predictions: .*Path.* Interactions.* shoe.read_predictions"),
        (lambda: shoe.score(TABLE, NAME), "truth: .*str.* GroundTruth.* shoe.read_ground_truth"),
        (lambda: shoe.score(GROUND_TRUTH, TABLE), "predictions: .*GroundTruth.* Interactions"),
        (lambda: shoe.diagnose(GROUND_TRUTH, TABLE), "predictions: .*GroundTruth.* Interactions"),
        (lambda: shoe.Metric(NAME), "truth: .*str.* GroundTruth"),
        (lambda: shoe.Metric(GROUND_TRUTH).update(NOTHING), "predictions: .*NoneType.* Interactions"),
        (lambda: shoe.Metric(GROUND_TRUTH, protocols=["upx"]), "protocol 'upx' .* upt"),
        (lambda: shoe.score(TABLE, GROUND_TRUTH, protocols="qpic"), "protocols: .*'qpic'.* list of names"),
        (lambda: shoe.score(TABLE, GROUND_TRUTH, options="tau=0.3"), "options: .*'tau=0.3'.* list"),
        (lambda: shoe.score(TABLE, GROUND_TRUTH, options=NUMBERS), r"options: .*\[3\].* list of names"),
        (lambda: shoe.score(TABLE, GROUND_TRUTH, similarity=NOTHING), "similarity: .*None.* text .*path"),
        (lambda: shoe.score(TABLE, GROUND_TRUTH, notes=NAME), "notes: .*'truth.json'.* ReadNotes .*None"),
        (lambda: shoe.diagnose(TABLE, GROUND_TRUTH, seed=NAME), "seed: .*'truth.json'.* whole number"),
        (lambda: shoe.diagnose(TABLE, GROUND_TRUTH, variant=NUMBERS), r"variant: .*\[3\].* text"),
        (lambda: shoe.diagnose(TABLE, GROUND_TRUTH, pairs=TABLE), "pairs: .*Interactions.* Pairs .*None"),
        (lambda: shoe.diagnose(TABLE, GROUND_TRUTH, action_scores=NUMBERS), r"action_scores: .*\[3\].* arr"),
        (lambda: shoe.diagnose(TABLE, GROUND_TRUTH).examples("duplicates"), "error 'duplicates' .*duplicate"),
        (lambda: shoe.read_predictions(NUMBERS), r"path: .*\[3\].* text .*path"),
        (lambda: shoe.read_predictions(FILE, boxes=NUMBERS), r"boxes: .*\[3\].* text .*None"),
        (lambda: shoe.read_ground_truth(TRUTH, dataset=NOTHING), "dataset: .*None.* text .*Benchmark"),
        (lambda: shoe.benchmark(NOTHING), "dataset: .*NoneType.* Benchmark"),
        (lambda: shoe.parse_phrase(NOTHING), "phrase: .*None.* text"),
        (lambda: PATH.between("verb", NAME, ["sit.v.01"]), "class_synsets: .*'truth.json'.* list of names"),
        (lambda: PATH.of_words("verb", WORDS, WORDS), r"\['ride'\].* \(text, text\)"),
        (lambda: shoe.write_predictions(NUMBERS, FILE, "qpic"), "table: .*list.* Interactions.* shoe.read_predictions"),
        (lambda: shoe.concatenate(TABLE), "parts: .*Interactions.* list of Interactions"),
        (lambda: shoe.Metric(GROUND_TRUTH).merge(NOTHING), "other: .*NoneType.* Metric"),
    ],
)
def test_arguments_of_another_kind_are_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(shoe.OptionError, match=message):
        call()
