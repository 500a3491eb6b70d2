"""Settings of steps by name."""

from typing import Any

import pytest

from shoe.core.errors import ShoeError
from shoe.predict.backends import backend_of
from shoe.predict.pairs import PairRule
from shoe.predict.settings import configured, grouped
from shoe.predict.visual import Visual
from tests.errors import error_with

MODEL = backend_of("transformers")


def test_text_becomes_what_a_setting_is() -> None:
    given = grouped(
        ["pairs.gap=0.5", "pairs.persons=3", "pairs.person_objects=false", 'vlm.processor={"max_pixels": 99}'],
        ["pairs", "vlm"],
    )
    rule = configured(PairRule, "pairs", {"min_score": 0.2}, given["pairs"])
    assert rule == PairRule(gap=0.5, persons=3, person_objects=False, min_score=0.2)
    model: Any = configured(backend_of("transformers"), "vlm", {"model": "m"}, given["vlm"])
    assert model.processor == {"max_pixels": 99}
    assert configured(PairRule, "pairs", {"gap": 0.0}, {"gap": "null"}).gap is None


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        (PairRule, {"nms": "x"}, ("--set g.nms: ", "'x'", "float")),
        (PairRule, {"persons": "-1"}, ("--set g.persons: ", "'-1'", "int >= 0")),
        (Visual, {"coordinates": "pixel"}, ("--set g.coordinates: ", "'pixel'", "pixels or thousandths or fractions")),
        (MODEL, {"price": '{"inpt": 2}'}, ("--set g.price: ", "'{\"inpt\": 2}'", "unknown field inpt")),
        (Visual, {"marks": '["boxes"'}, ("--set g.marks: ", "line 1, column 9")),
        (PairRule, {"personss": "1"}, ("personss", "persons?")),
    ],
)
def test_what_it_cannot_be_is_one_line(kind: Any, given: dict[str, str], said: tuple[str, ...]) -> None:
    with error_with(ShoeError, *said):
        configured(kind, "g", {"model": "m"} if kind is MODEL else {}, given)
