"""From findings to the words on the screen and the JSON in the file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from rich.console import Console

from shoe.benchmarks.truth import GroundTruth
from shoe.diagnosis.deltas import Means
from shoe.diagnosis.diagnosis import NAMES
from shoe.diagnosis.interactions import InteractionMap, NegativeAp
from shoe.diagnosis.nearness import Nearness
from shoe.diagnosis.semantic import diagnose_meaning
from shoe.predictions.pair_predictions import pairs_of
from shoe.report.diagnosis_json import as_dict, as_json
from shoe.report.diagnosis_meaning import NEARNESS
from shoe.report.diagnosis_terminal import print_findings, verdict
from shoe.report.findings import ERRORS, GROUPS, Findings, findings, findings_of_pairs
from tests.diagnosis.pictures import AWAY, O1, O2, P1, P2, diagnosed, image
from tests.oracles.model import Triplet
from tests.plots.models import NAMES as MODEL_NAMES
from tests.plots.models import diagnosed as demo
from tests.plots.models import found, some

TRUTH = demo("free text").task.truth


def text_of(models: Sequence[Findings], width: int = 160, truth: GroundTruth = TRUTH) -> str:
    to = StringIO()
    print_findings(models, truth, Console(width=width, file=to, highlight=False))
    return to.getvalue()


def values(tree: Any) -> Iterator[Any]:
    if isinstance(tree, dict | list):
        for child in tree.values() if isinstance(tree, dict) else tree:
            yield from values(child)
    else:
        yield tree


def test_every_error_is_worded() -> None:
    assert (*ERRORS, *GROUPS) == NAMES
    assert set(NEARNESS) == {nearness.label for nearness in Nearness}


def test_json_has_the_keys_of_the_contract_and_no_null() -> None:
    data = orjson.loads(as_json([found("free text")], TRUTH))
    assert set(data["errors"]) == set(NAMES)
    assert {"count", "delta_map"} <= set(data["errors"]["human_box"])
    assert {"recall", "precision", "per_image", "rare", "non_rare"} <= set(data["pairs"])
    assert data["map"] == demo("free text").means.map
    assert "negative_ap" not in data
    assert set(data["absent"]) == {"negative_ap", "interaction_map"}
    assert [curve["by"] for curve in data["sweeps"]] == ["nms", "score"]
    assert data["sweeps"][0]["points"][0]["recall"] == data["pairs"]["recall"]
    assert data["sweeps"][0]["points"][0]["map"] == data["map"]
    assert data["semantic"]["map"] == diagnose_meaning(demo("free text")).means.map
    assert None not in values(data)


def test_json_of_several_models_is_a_list() -> None:
    one, two = found("free text"), found("detector")
    data = as_dict([one, two], TRUTH)
    assert [set(data), [model["name"] for model in data["models"]]] == [
        {"dataset", "split", "models"},
        ["free text", "detector"],
    ]
    assert {key: value for key, value in as_dict([one], TRUTH).items() if key not in data} == data["models"][0]


def test_what_is_measured_of_interactions_is_told() -> None:
    nothing = np.zeros(0), np.zeros(0, np.int64)
    model = replace(
        found("free text"),
        negative_ap=NegativeAp(0.91, 0.82, 9, 9),
        interaction_map=InteractionMap(0.71, 0.61, None, *nothing),
        absent={},
    )
    data = as_dict([model], TRUTH)
    measured = data["negative_ap"], data["negative_ap_diag"], data["interaction_map"], data["interaction_map_rare"]
    assert measured == (0.91, 0.82, 0.71, 0.61)
    assert "interaction_map_non_rare" not in data
    row = next(line for line in text_of([model]).splitlines() if line.startswith(" all "))
    assert row.split()[-2:] == ["91.00", "71.00"]
    assert "not measured" not in text_of([model])


def rows(text: str) -> dict[str, list[str]]:
    """Lines of tables by what they begin with, the first of each."""
    made: dict[str, list[str]] = {}
    for line in text.splitlines():
        cells = re.split(r"\s{2,}", line.strip())
        made.setdefault(cells[0], cells[1:])
    return made


def test_the_error_that_costs_most_stands_first_and_is_named() -> None:
    model = found("free text")
    assert model.errors is not None
    text = text_of([model])
    worst = max(ERRORS, key=lambda name: demo("free text").deltas[name].map or 0.0)
    assert worst == "object_box"
    assert text.index("\n object box") < min(text.index(f"\n {ERRORS[name].label}") for name in ERRORS if name != worst)
    gain = f"{100 * (model.errors.deltas[worst].map or 0):+.2f}"
    assert f"costs most: object box (human box right, object box or its label wrong): {gain} mAP" in text
    cells = rows(text)["object box"]
    delta, semantic = model.errors.deltas[worst], model.semantic
    assert semantic is not None
    figures = (*delta, semantic.deltas[worst].map)
    assert cells[:5] == [f"{model.errors.counts[worst]:,}", *(f"{100 * (each or 0):+.2f}" for each in figures)]
    assert cells[5] == 20 * "█"


def test_the_progression_ends_at_all() -> None:
    text = text_of([found("detector")])
    assert rows(text)["+ missed GT"][:3] == ["100.00"] * 3


def test_nothing_costs_anything_where_all_is_right() -> None:
    truth = Triplet(P1, O1, "ride", "horse")
    result = diagnosed(image([truth], [truth]))
    model = findings("a", result, similarity=None)
    assert model.errors is not None
    assert verdict(model.errors) == ""
    text = text_of([model], truth=result.task.truth)
    assert "costs most" not in text
    assert "SHOE" not in text
    assert "+0.00*" not in text_of([model, model], truth=result.task.truth)


def test_nothing_to_measure_is_a_dash() -> None:
    result = diagnosed(image([], [Triplet(P1, O1, "ride", "horse", 0.5)]))
    model = findings("a", result)
    text = text_of([model], truth=result.task.truth)
    assert rows(text)["mAP –"] == ["rare –", "non-rare –"]
    assert "SHOE-mAP: not measured: no ground truth" in text
    data = as_dict([model], result.task.truth)
    assert "map" not in data
    assert None not in values(data)
    assert text_of([model, model], truth=result.task.truth).count("–") > 20


def test_scores_that_are_no_confidences_leave_meaning_out() -> None:
    result = diagnosed(image([Triplet(P1, O1, "ride", "horse")], [Triplet(P1, O1, "ride", "horse", 5.0)]))
    text = text_of([findings("a", result)], truth=result.task.truth)
    assert "SHOE-mAP: not measured: a score of 5.0: SHOE needs scores in 0..1" in text
    assert "Δ SHOE" not in text


def test_pairs_alone() -> None:
    truth, said = Triplet(P1, O1, "ride", "horse"), [Triplet(P1, O1, "x", "horse"), Triplet(AWAY, O2, "x", "horse")]
    task = diagnosed(image([truth, Triplet(P2, O2, "ride", "horse")], said)).task
    model = findings_of_pairs("a", pairs_of(task.predictions), task.truth, sweep=True)
    data = as_dict([model], task.truth)
    assert (data["pairs"]["recall"], data["pairs"]["precision"], data["predictions"]) == (0.5, 0.5, 2)
    assert "errors" not in data
    assert data["absent"]["errors"] == "the file holds pairs, not triplets"
    text = text_of([model], truth=task.truth)
    assert "a · 2 pairs" in text
    assert "errors: not measured: the file holds pairs, not triplets" in text
    assert rows(text_of([model, model], truth=task.truth))["a"][:3] == ["2.0", "50.00", "50.00"]


def test_what_could_not_be_measured_though_scores_are_there_has_its_reason() -> None:
    truth = Triplet(P1, O1, "ride", "horse")
    for said, absent in ((truth, {"negative_ap"}), (replace(truth, human_box=AWAY), {"interaction_map"})):
        result = diagnosed(image([truth], [said]))
        model = findings("a", result, similarity=None, action_scores=np.array([0.5]))
        assert set(model.absent) == absent
        assert not absent & set(as_dict([model], result.task.truth))


def test_several_models_are_rows_and_each_one_worst_error_is_marked() -> None:
    models = [found("free text"), found("detector")]
    text = text_of(models)
    found_so = [(demo(model.name).deltas, model.semantic.deltas) for model in models if model.semantic]
    worst = [max(each[name].map or 0.0 for name in ERRORS) for kind in zip(*found_so, strict=True) for each in kind]
    assert re.findall(r"(\S+)\*", text) == [f"{100 * gain:+.2f}" for gain in worst]
    lines = [line.split() for line in text.splitlines() if line.startswith(" detector ")]
    human, object_ = (found_so[1][0][name].map or 0.0 for name in ("human_box", "object_box"))
    assert lines[0][1:4] == ["70.10", f"{100 * human:+.2f}", f"{100 * object_:+.2f}"]


def test_what_all_models_have_in_common_is_said_once() -> None:
    one, two = (
        replace(found("free text"), name=name, remarks=remarks)
        for name, remarks in (
            ("one", ("both", "only one")),
            ("two", ("both",)),
        )
    )
    lines = text_of([one, two]).splitlines()
    assert [line for line in lines if line.endswith(("both", "only one"))] == ["both", "one: only one"]
    assert sum("negative AP: not measured" in line for line in lines) == 1


@pytest.mark.parametrize("width", [80, 100, 119, 140, 160])
@pytest.mark.parametrize("number", [1, 2, 8])
def test_no_figure_is_cut_off_at_any_width(width: int, number: int) -> None:
    models = [replace(model, name=model.name[:78]) for model in some(number)]
    wide = {token for token in re.findall(r"[+-]?\d[\d.,]*k?", text_of(models, 160)) if "." in token}
    narrow = text_of(models, width)
    assert all(len(line) <= width for line in narrow.splitlines() if "─" in line)
    tables = "\n".join(line for line in narrow.splitlines() if not re.match(r"\S", line))
    assert "…" not in tables
    if number == 1 and width >= 100:
        assert wide <= set(re.findall(r"[+-]?\d[\d.,]*k?", narrow))


def test_hostile_names_cannot_steer_the_terminal() -> None:
    text = text_of(some(len(MODEL_NAMES)), 80)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "[bold]" not in text_of([replace(model, name="[red]a[/red]") for model in some(2)])
    assert "[red]a[/red]" in text_of([replace(model, name="[red]a[/red]") for model in some(2)])


def test_the_choices_that_were_made_are_told() -> None:
    scene = image([Triplet(P1, O1, "ride", "horse")], [])
    for options, words in (
        ({}, "as Diag-HOI's paper, seed 0"),
        ({"seed": 7}, "as Diag-HOI's paper, seed 7"),
        ({"choice": "best"}, "as Diag-HOI's paper, best fixes"),
        ({"variant": "released"}, "as Diag-HOI's toolbox"),
    ):
        result = diagnosed(scene, **options)
        assert words in text_of([findings("a", result, similarity=None)], truth=result.task.truth)


def test_meaning_is_read_by_the_map_that_is_asked_for(tmp_path: Path) -> None:
    from tests.diagnosis.meanings import write_hand_map

    truth = Triplet(P1, O1, "ride", "horse")
    result = diagnosed(image([truth], [replace(truth, verb="straddle", score=0.5)]))
    model = findings("a", result, similarity=write_hand_map(tmp_path))
    assert model.semantic is not None
    assert model.semantic.similarity == "by-hand"
    assert model.semantic.verbs.words[0][:2] == ("ride", "straddle")
    text = text_of([model], truth=result.task.truth)
    assert "SHOE-mAP 39.06 under by-hand = 25.00 with equal words alone" in text
    assert "ride ← straddle" in text
    assert "1. a.jpg: ride horse ← straddle horse" in text


def test_means_without_a_class_are_absent() -> None:
    (model,) = some(1)
    assert model.errors is not None
    model = replace(model, errors=replace(model.errors, means=Means(0.5, None, 0.5)))
    assert "rare –" in text_of([model])
