"""From a diagnosis to the words on the screen and the JSON in the file."""

import re
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from shoe.benchmarks.truth import GroundTruth
from shoe.diagnosis.error_types import ERRORS, NAMES
from shoe.diagnosis.pairs import InteractionMap, NegativeAp, diagnose_pairs
from shoe.diagnosis.relations import Relation
from shoe.predictions.pair_predictions import pairs_of
from shoe.report.diagnosis import RELATIONS, Models, document, print_diagnoses, verdict
from shoe.scoring.entries import Means
from tests.diagnosis.by_hand import AWAY, O1, O2, P1, P2, diagnosed, image
from tests.diagnosis.meanings import write_hand_map
from tests.errors import says
from tests.oracles.model import Triplet
from tests.present import present
from tests.report.figures.models import NAMES as MODEL_NAMES, altered, diagnosed as demo, some
from tests.report.test_report import values

TRUTH = demo("free text").task.truth


def text_of(models: Models, width: int = 160, truth: GroundTruth = TRUTH, sweeps: bool = False) -> str:
    to = StringIO()
    print_diagnoses(models, truth, Console(width=width, file=to, highlight=False), sweeps=sweeps, verbose=True)
    return to.getvalue()


def test_json_has_the_keys_of_the_contract_and_no_null() -> None:
    model = demo("free text")
    data = document({"free text": model}, TRUTH, sweeps=True).to_dict()
    assert {"recall", "precision", "per_image", "rare", "non_rare"} <= set(data["pairs"])
    assert (data["map"], data["semantic"]["map"]) == (model.means.map, present(model.semantic).means.map)
    assert set(data["absent"]) == {"negative_ap", "interaction_map"}
    assert [curve["by"] for curve in data["sweeps"]] == ["nms", "score"]
    first = data["sweeps"][0]["points"][0]
    assert (first["recall"], first["map"]) == (data["pairs"]["recall"], data["map"])
    assert "negative_ap" not in data
    assert None not in values(data)
    # JSON of several models is a list.
    models = {name: demo(name) for name in ("free text", "detector")}
    data = document(models, TRUTH).to_dict()
    assert (set(data), [model["name"] for model in data["models"]]) == ({"dataset", "split", "models"}, list(models))
    alone = document({"free text": demo("free text")}, TRUTH).to_dict()
    assert {key: value for key, value in alone.items() if key not in data} == data["models"][0]
    assert set(RELATIONS) == {relation.label for relation in Relation}


def test_what_is_measured_of_interactions_is_told() -> None:
    interactions = InteractionMap(0.71, 0.61, None, np.zeros(0), np.zeros(0, np.int64))
    model = altered(demo("free text"), negative_ap=NegativeAp(0.91, 0.82, 9, 9), interaction_map=interactions)
    data = document({"a": model}, TRUTH).to_dict()
    measured = data["negative_ap"], data["negative_ap_diag"], data["interaction_map"], data["interaction_map_rare"]
    assert measured == (0.91, 0.82, 0.71, 0.61)
    assert "interaction_map_non_rare" not in data
    row = next(line for line in text_of({"a": model}).splitlines() if line.startswith(" all "))
    assert row.split()[-2:] == ["91.00", "71.00"]
    assert "not measured" not in text_of({"a": model})


def rows(text: str) -> dict[str, list[str]]:
    """Lines of tables by what they begin with, the first of each."""
    made: dict[str, list[str]] = {}
    for line in text.splitlines():
        cells = re.split(r"\s{2,}", line.strip())
        made.setdefault(cells[0], cells[1:])
    return made


def test_the_error_that_costs_most_stands_first_and_is_named() -> None:
    model = demo("free text")
    text = text_of({"a": model})
    worst = max(ERRORS, key=lambda error: model.deltas[error.name].map or 0.0).name
    assert worst == model.worst == "object_box"
    others = [error.label for error in ERRORS if error.name != worst]
    assert text.index("\n object box") < min(text.index(f"\n {label}") for label in others)
    gain = f"{100 * (model.deltas[worst].map or 0):+.2f}"
    assert says(text, "costs most: ", "object box", f": {gain} mAP")
    cells = rows(text)["object box"]
    figures = (*model.deltas[worst], present(model.semantic).deltas[worst].map)
    others_gain = [f"{100 * (each or 0):+.2f}" for each in figures[1:]]
    assert [cells[0], *cells[3:7]] == [f"{model.counts[worst]:,}", *others_gain, 14 * "█"]
    assert cells[1:3] == [gain, f"{100 * (model.spreads[worst].map or 0):.2f}"]


def test_nothing_costs_anything_where_all_is_right_or_nothing_is_measured() -> None:
    truth = Triplet(P1, O1, "ride", "horse")
    result = diagnosed(image([truth], [truth]), similarity=None)
    assert verdict(result) == ""
    text = text_of({"a": result}, truth=result.task.truth)
    assert ("costs most" in text, "SHOE" in text) == (False, False)
    assert "+0.00*" not in text_of({"a": result, "b": result}, truth=result.task.truth)
    # Nothing to measure is a dash.
    result = diagnosed(image([], [Triplet(P1, O1, "ride", "horse", 0.5)]), similarity="hico-det")
    text = text_of({"a": result}, truth=result.task.truth)
    assert rows(text)["mAP –"] == ["rare –", "non-rare –"]
    assert says(text, "SHOE-mAP: ", "no ground truth")
    data = document({"a": result}, result.task.truth).to_dict()
    assert not {"map"} & (set(data) | set(data["semantic"]))
    assert None not in values(data)
    assert text_of({"a": result, "b": result}, truth=result.task.truth).count("–") > 20
    assert "rare –" in text_of({"a": altered(demo("free text"), means=Means(0.5, None, 0.5))})
    # Scores that are no confidences leave meaning out.
    result = diagnosed(image([truth], [replace(truth, score=5.0)]), similarity="hico-det")
    text = text_of({"a": result}, truth=result.task.truth)
    assert says(text, "SHOE-mAP: ", "score of 5.0", "0..1")
    assert "Δ SHOE" not in text


def test_pairs_alone() -> None:
    truth, said = Triplet(P1, O1, "ride", "horse"), [Triplet(P1, O1, "x", "horse"), Triplet(AWAY, O2, "x", "horse")]
    task = diagnosed(image([truth, Triplet(P2, O2, "ride", "horse")], said)).task
    model = diagnose_pairs(pairs_of(task.predictions), task.truth)
    data = document({"a": model}, task.truth, sweeps=True).to_dict()
    assert (data["pairs"]["recall"], data["pairs"]["precision"], data["predictions"]) == (0.5, 0.5, 2)
    assert ("errors" in data, "pairs" in data["absent"]["errors"]) == (False, True)
    text = text_of({"a": model}, truth=task.truth, sweeps=True)
    assert all(said in text for said in ("a · 2 pairs", f"errors: not measured: {data['absent']['errors']}"))
    assert rows(text_of({"a": model, "b": model}, truth=task.truth))["a"][:3] == ["2.0", "50.00", "50.00"]


def test_what_could_not_be_measured_though_scores_are_there_has_its_reason() -> None:
    truth = Triplet(P1, O1, "ride", "horse")
    for predicted, absent in ((truth, {"negative_ap"}), (replace(truth, human_box=AWAY), {"interaction_map"})):
        result = diagnosed(image([truth], [predicted]), action_scores=np.array([0.5]))
        assert set(result.absent) == absent
        assert not absent & set(document({"a": result}, result.task.truth).to_dict())


def test_several_models_are_rows_and_each_one_worst_error_is_marked() -> None:
    models = {name: demo(name) for name in ("free text", "detector")}
    text = text_of(models)
    found_so = [(model.deltas, model.semantic.deltas) for model in models.values() if model.semantic]
    kinds = [each for kind in zip(*found_so, strict=True) for each in kind]
    worst = [max(each[error.name].map or 0.0 for error in ERRORS) for each in kinds]
    assert re.findall(r"(\S+)\*", text) == [f"{100 * gain:+.2f}" for gain in worst]
    lines = [line.split() for line in text.splitlines() if line.startswith(" detector ")]
    human, object_ = (found_so[1][0][name].map or 0.0 for name in ("human_box", "object_box"))
    assert lines[0][1:4] == ["70.10", f"{100 * human:+.2f}", f"{100 * object_:+.2f}"]
    assert rows(text_of({"detector": demo("detector")}))["+ missed GT"][:3] == ["100.00"] * 3


@pytest.mark.parametrize("width", [80, 100, 119, 140, 160])
@pytest.mark.parametrize("number", [1, 2, 8])
def test_no_figure_is_cut_off_at_any_width(width: int, number: int) -> None:
    models = {name[:78]: model for name, model in some(number).items()}
    wide = {token for token in re.findall(r"[+-]?\d[\d.,]*k?", text_of(models, 160)) if "." in token}
    narrow = text_of(models, width)
    assert all(len(line) <= width for line in narrow.splitlines() if "─" in line)
    tables = "\n".join(line for line in narrow.splitlines() if not re.match(r"\S", line))
    assert "…" not in tables
    if number == 1 and width >= 100:
        assert wide <= set(re.findall(r"[+-]?\d[\d.,]*k?", narrow))


def test_hostile_names_cannot_steer_the_terminal_and_common_notes_are_said_once() -> None:
    assert set("\x1b\u202e").isdisjoint(text_of(some(len(MODEL_NAMES)), 80))
    text = text_of(dict(zip(("[red]a[/red]", "b"), some(2).values(), strict=True)))
    assert ("[bold]" in text, "[red]a[/red]" in text) == (False, True)
    # What all models have in common is said once.
    notes = {"one": ("both", "only one"), "two": ("both",)}
    models = {name: altered(demo("free text"), notes=lines) for name, lines in notes.items()}
    lines = text_of(models).splitlines()
    assert [line for line in lines if line.endswith(("both", "only one"))] == ["both", "one: only one"]
    assert sum("negative AP: not" in line for line in lines) == 1


def test_the_choices_that_were_made_are_told() -> None:
    scene = image([Triplet(P1, O1, "ride", "horse")], [])
    for options, words in (
        ({}, "as Diag-HOI's paper, mean ± sd over seeds 0 to 19"),
        ({"seed": 7, "seeds": 1}, "as Diag-HOI's paper, seed 7"),
        ({"choice": "greedy"}, "as Diag-HOI's paper, greedy fixes"),
        ({"variant": "released"}, "as Diag-HOI's toolbox"),
    ):
        result = diagnosed(scene, **options)
        text = text_of({"a": result}, truth=result.task.truth)
        assert words in text
        other = "paper" if result.variant.name == "released" else "released"
        assert all(name in text for name in ("this mAP: ", f"--variant {other}", "score --protocol diag"))


def test_meaning_is_read_by_the_map_that_is_asked_for(tmp_path: Path) -> None:
    truth = Triplet(P1, O1, "ride", "horse")
    scene = image([truth], [replace(truth, verb="straddle", score=0.5)])
    result = diagnosed(scene, similarity=write_hand_map(tmp_path))
    text = text_of({"a": result}, truth=result.task.truth)
    assert all(said in text for said in ("SHOE-mAP 39.06 under by-hand = 25.00 ", "ride ← straddle"))
    assert says(text, "1. a.jpg: ", "ride horse ← ", "straddle horse")


def test_json_of_errors_has_the_documented_keys() -> None:
    truths = [Triplet(P1, O1, "ride", "horse"), Triplet(P2, O2, "hold", "horse")]
    scene = image(truths, [Triplet(AWAY, O1, "ride", "horse", 0.5)])
    found = diagnosed(scene, similarity=None)
    record = document({"a": found}, found.task.truth).to_dict()
    assert list(record) == [
        *("dataset", "split", "name", "signature", "images", "ground_truths", "predictions", "map", "map_non_rare"),
        *("true_positives", "errors", "progression", "pairs", "absent", "notes"),
    ]
    assert list(record["errors"]) == list(NAMES)
    for error, delta in (("human_box", 0.5), ("missed_gt", 0.0)):
        deltas = {"delta_map": delta, "delta_map_non_rare": delta}
        assert record["errors"][error] == {"count": 1, **deltas, "sd_map": 0.0, "sd_map_non_rare": 0.0}
    assert record["errors"]["false_negative"] == {"count": 2}
    names = ("map", "map_non_rare", "delta_map", "delta_map_non_rare")
    assert record["progression"][0] == {"error": "human_box", **dict.fromkeys(names, 0.5)}


def test_json_of_the_semantic_part_has_the_documented_keys(tmp_path: Path) -> None:
    ride = Triplet(P1, O1, "ride", "horse")
    found = diagnosed(image([ride], [replace(ride, verb="gallop", score=0.9)]), similarity=write_hand_map(tmp_path))
    record = document({"a": found}, found.task.truth).to_dict()["semantic"]
    keys = ["signature", "map", "map_non_rare", "errors", "interaction", "object_class", "vocabulary_gap"]
    assert (list(record), list(record["errors"]), record["errors"]["false_negative"]) == (keys, list(NAMES), {})
    assert list(record["errors"]["interaction"]) == ["delta_map", "delta_map_non_rare"]
    commonest = [{"label": "ride", "predicted": "gallop", "times": 1}]
    relation = {"more_specific": {"count": 1, "share": 1.0, "similarity": 0.5, "commonest": commonest}}
    assert record["interaction"] == {"count": 1, "types": {"interaction": 1}, "relation": relation}
    assert record["object_class"] == {"count": 0, "types": {}, "relation": {}}
    (confusion,) = record["vocabulary_gap"]["confusions"]
    assert (confusion["word"]["predicted"], confusion["examples"][0]["human_box"]) == ("gallop", list(P1))
