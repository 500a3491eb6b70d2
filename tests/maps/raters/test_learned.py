"""Predictions of a map as a rater."""

from pathlib import Path

import pytest

from shoe.core.errors import OptionError
from shoe.maps.raters.baselines import Learned
from tests.maps.asking import PROMPTS, of_pairs, rated_pairs
from tests.maps.samples import made


def test_predictions_are_rounded_whichever_sense_is_the_class() -> None:
    pairs = [("frisbee.n.01", "horse.n.01"), ("horse.n.01", "mare.n.01"), ("camel.n.01", "thought.n.01")]
    questions = of_pairs("object", [*pairs, *((b, a) for a, b in pairs)])
    rater = Learned(name="predicted")
    ratings = list(rated_pairs(rater, questions, 6).values())
    assert ratings[:3] == ratings[3:]
    assert ratings[0] == ratings[2] == 0 < 2 <= ratings[1]
    assert len(rater.identity()["predictions"]) == 8


def test_a_map_without_predictions_is_refused(tmp_path: Path) -> None:
    made(tmp_path / "map")
    with pytest.raises(OptionError, match="`shoe map learn"):
        Learned(name="predicted", map=str(tmp_path / "map")).backend(PROMPTS)
