"""Raters without a language model: measures on WordNet's graph, and predictions of a map."""

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from shoe.core.errors import OptionError, ShoeError
from shoe.lexicon.senses import Part
from shoe.maps.prompts import Question
from shoe.maps.raters.baselines import Learned, Lexical
from tests.maps.asking import PROMPTS, Memory, in_groups, of_pairs, rated_pairs
from tests.maps.samples import made

VERBS = ["ride.v.01", "straddle.v.01", "feed.v.01", "hold.v.02", "be.v.01"]
OBJECTS = ["bicycle.n.01", "horse.n.01", "motorcycle.n.01", "animal.n.01", "water.n.01"]


def asked(part: Part) -> list[Question]:
    return of_pairs(part, combinations(sorted(VERBS if part == "verb" else OBJECTS), 2))


def config(measure: Any = "wup", **settings: Any) -> Lexical:
    return Lexical(name="w", measure=measure, **settings)


def rated(rater: Lexical, part: Part, size: int = 4) -> dict[tuple[str, str], int]:
    return rated_pairs(rater, asked(part), size)


@pytest.mark.parametrize("part", ["verb", "object"])
@pytest.mark.parametrize("measure", ["path", "wup"])
def test_ratings_are_nltks_values_in_steps(measure: str, part: Part, reader: Any) -> None:
    for (first, second), rating in rated(config(measure), part).items():
        a, b = reader.synset(first), reader.synset(second)
        value = a.path_similarity(b) if measure == "path" else a.wup_similarity(b)
        assert rating == int(4 * value + 0.5)


def test_thresholds_take_the_place_of_rounding() -> None:
    assert set(rated(config(thresholds=(0, 0, 0, 0)), "verb").values()) == {4}
    assert set(rated(config(thresholds=(2, 2, 2, 2)), "verb").values()) == {0}
    path = config("path", thresholds=(0.0, 0.2, 0.5, 1))
    assert rated(path, "object", size=1) == rated(path, "object", size=100)


def test_thresholds_that_do_not_rise_are_refused() -> None:
    with pytest.raises(ShoeError, match=r"0\.3, 0\.2.* in ascending order"):
        config(thresholds=(0.1, 0.3, 0.2, 0.4)).backend(PROMPTS)


def test_nothing_is_asked_past_a_budget_or_a_stop() -> None:
    backend = config().backend(PROMPTS)
    for memory in (Memory(most_requests=1), Memory(stop_after=1)):
        backend.rate(in_groups(asked("verb"), 2), memory)
        assert len(memory.answers) == 1


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
