"""Signatures: generated, complete, and readable back."""

from dataclasses import fields, replace
from enum import StrEnum

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.benchmarks.hico_det import ABOUT as STRICT_ABOUT, PROTOCOLS as STRICT
from shoe.benchmarks.protocols import ABOUT, SEMANTIC
from shoe.benchmarks.scoring_options import SemanticOptions, StrictOptions, changed, describe, settings
from shoe.benchmarks.signature import Signature, sign
from shoe.benchmarks.truth import GroundTruth
from shoe.core.errors import OptionError
from tests.mentions import mentions
from tests.oracles.model import ImageScene, Triplet, to_tables
from tests.oracles.scenes import small_classes

BOX, THING = (1.0, 1.0, 20.0, 30.0), (5.0, 5.0, 25.0, 25.0)


def truth(verb: str = "ride", box: tuple[float, float, float, float] = BOX) -> GroundTruth:
    scene = ImageScene("HICO_test2015_00000001.jpg", truth=[Triplet(box, THING, verb, "horse")])
    return to_tables([scene], small_classes())[0]


def other_values(values: str, default: str) -> list[str]:
    """Every value of an option but its default, as text; of a range, one that all ranges have, and none."""
    if " to " in values:
        return ["1", *(["none"] if values.endswith("none") and default != "none" else [])]
    return [value for value in values.split(" | ") if value != default]


ALL_CHANGES = [f"{name}={value}" for name, values, default, _ in describe() for value in other_values(values, default)]


def test_changing_any_option_changes_the_signature() -> None:
    facts = truth().signature_fields()
    options = [changed_whole(assignments) for assignments in ([], *([change] for change in ALL_CHANGES))]
    signatures = [str(sign(facts, strict, semantic)) for semantic, strict in options]
    assert len(ALL_CHANGES) > len(fields(SemanticOptions)) + len(fields(StrictOptions))
    assert len(set(signatures)) == len(signatures)


def test_every_field_is_in_the_signature() -> None:
    names = [name for name, _ in sign({"map": "m"}, STRICT["qpic"], SEMANTIC["shoe"]).items]
    own = [("", f) for f in fields(SemanticOptions)] + [("strict.", f) for f in fields(StrictOptions)]
    every = [prefix + f.name.replace("_", "-") for prefix, f in own]
    assert sorted([*names, "strict.unseen"]) == sorted([*every, "shoe", "map"])  # unseen is younger than signatures
    assert dict(sign({}, replace(STRICT["qpic"], unseen="apart")).items)["strict.unseen"] == "apart"


def test_no_two_protocols_share_a_signature() -> None:
    names = {str(sign({}, strict=o)) for o in STRICT.values()} | {str(sign({}, semantic=o)) for o in SEMANTIC.values()}
    assert len(names) == len(STRICT) + len(SEMANTIC)


@given(st.lists(st.tuples(st.text(min_size=1, max_size=5), st.text(max_size=5)), min_size=1, max_size=4))
def test_a_signature_reads_back(items: list[tuple[str, str]]) -> None:
    signature = Signature(tuple(items))
    assert Signature.parse(str(signature)) == signature
    assert str(signature).count("|") == len(items) - 1
    assert "\n" not in str(signature)


def test_truth_and_class_table_change_the_signature() -> None:
    whole, others = truth(), (truth(verb="hold"), truth(box=(2.0, 1.0, 20.0, 30.0)))
    labels = replace(whole, image_labels=np.ones((600, 1), np.int8))
    classes = replace(whole, classes=replace(whole.classes, digest="00000000"))
    signatures = [str(sign(t.signature_fields())) for t in (whole, *others, labels, classes, truth())]
    assert len(set(signatures)) == 5
    assert signatures[0] == signatures[-1]


def test_the_short_form_names_what_differs_from_the_protocol() -> None:
    options = changed(SEMANTIC["shoe"], ["delta=0.25"])
    short = sign(truth().signature_fields() | {"map": "hico-det"}, STRICT["qpic"], options, STRICT).short()
    assert {"strict.protocol:qpic", "protocol:shoe", "delta:0.25", "map:hico-det"} <= set(short.split("|"))
    assert "threshold" not in short


@pytest.mark.parametrize("text", ["", "shoe", "shoe:1|broken"])
def test_what_is_no_signature_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="name:value"):
        Signature.parse(text)


@pytest.mark.parametrize(
    ("assignment", "values"),
    [
        ("delta", "option 'delta': … NAME=VALUE"),
        ("detla=0.5", "option 'detla' … delta, delta-at"),
        ("delta=2", "option delta: … '2' … 0 to 1"),
        ("delta=nan", "option delta: … 'nan' … 0 to 1"),
        ("cap=some", "option cap: … 'some' … 1 to 1000000000 | none"),
        ("assign=best", "'best' … greedy-gt | best-first | hungarian | confidence"),
        ("strict.coordinates=pixels", "'pixels' … raw | indices | edges"),
    ],
)
def test_wrong_settings_are_one_clear_line(assignment: str, values: str) -> None:
    with pytest.raises(OptionError, match=mentions(values)):
        changed_whole([assignment])


def changed_whole(assignments: list[str]) -> tuple[SemanticOptions, StrictOptions]:
    return changed(SEMANTIC["shoe"], assignments), changed(STRICT["hico-det"], assignments)


def test_options_of_the_other_kind_are_left_alone_and_enumerations_stay_enumerations() -> None:
    assert changed(SEMANTIC["shoe"], ["strict.cap=100"]) == SEMANTIC["shoe"]
    assert changed(STRICT["qpic"], ["cap=3"]) == STRICT["qpic"]
    options = changed(STRICT["hico-det"], ["strict.coordinates=raw", "strict.ties=expected"])
    assert isinstance(options.coordinates, StrEnum)
    assert settings(options)["strict.coordinates"] == "raw"


def test_every_option_and_protocol_is_described() -> None:
    assert all(all(column for column in row) for row in describe())
    assert set(ABOUT) == set(SEMANTIC)
    assert set(STRICT_ABOUT) == set(STRICT)
