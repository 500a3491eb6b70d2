"""Predictions of a map as a rater."""

from pathlib import Path

import pytest

from shoe.core.errors import OptionError
from shoe.maps.prompts import Question, SenseText
from shoe.maps.raters.baselines import Learned
from tests.maps.asking import PROMPTS, Memory, in_groups
from tests.maps.samples import made


def test_predictions_are_rounded_whichever_sense_is_the_class() -> None:
    pairs = [("frisbee.n.01", "horse.n.01"), ("horse.n.01", "mare.n.01"), ("camel.n.01", "thought.n.01")]
    questions = [
        Question(f"{n:016d}".encode(), "object", SenseText(a, (), ""), SenseText(b, (), ""))
        for n, (a, b) in enumerate([*pairs, *((b, a) for a, b in pairs)])
    ]
    rater, memory = Learned(name="predicted"), Memory()
    backend = rater.backend(PROMPTS)
    backend.rate(in_groups(questions, 6), memory)
    ((group, raw),) = memory.answers
    ratings = backend.parse(group.about()["ids"], raw)
    assert ratings[:3] == ratings[3:]
    assert ratings[0] == ratings[2] == 0 < 2 <= ratings[1]
    assert len(rater.identity()["predictions"]) == 8


def test_a_map_without_predictions_is_refused(tmp_path: Path) -> None:
    made(tmp_path / "map")
    with pytest.raises(OptionError, match="map map has no predictions: run `shoe map learn"):
        Learned(name="predicted", map=str(tmp_path / "map")).backend(PROMPTS)
