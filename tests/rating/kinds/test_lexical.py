from itertools import product
from typing import Any

import pytest

from shoe.core.errors import ShoeError
from shoe.lexicon.expressions import Part
from shoe.rating.config import RaterConfig
from shoe.rating.kinds import kind_of
from shoe.rating.prompts import Prompts, ids_of
from shoe.rating.questions import Question, Sense
from tests.rating.asking import Memory, in_groups

VERBS = ["ride.v.01", "straddle.v.01", "feed.v.01", "hold.v.02", "be.v.01"]
OBJECTS = ["bicycle.n.01", "horse.n.01", "motorcycle.n.01", "animal.n.01", "water.n.01"]


def asked(part: Part) -> list[Question]:
    names = VERBS if part == "verb" else OBJECTS
    pairs = [(a, b) for a, b in product(sorted(names), repeat=2) if a < b]
    return [
        Question(f"{number:016d}".encode(), part, Sense(a, (), ""), Sense(b, (), ""))
        for number, (a, b) in enumerate(pairs)
    ]


def config(measure: str = "wup", **settings: Any) -> RaterConfig:
    kind = kind_of("lexical")
    defaults = {name: setting.default for name, setting in kind.settings.items()}
    return RaterConfig("w", "lexical", "WordNet 3.0", settings=defaults | {"measure": measure} | settings)


def rated(rater: RaterConfig, part: Part, size: int = 4) -> dict[tuple[str, str], int]:
    backend, memory = kind_of("lexical").backend(rater, Prompts.read()), Memory()
    backend.rate(in_groups(asked(part), size), memory)
    return {
        (question.first.name, question.second.name): rating
        for group, raw in memory.answers
        for question, rating in zip(
            group, backend.parse(part, ids_of([question.key for question in group]), raw), strict=True
        )
    }


@pytest.mark.parametrize("part", ["verb", "object"])
@pytest.mark.parametrize("measure", ["path", "wup"])
def test_ratings_are_nltks_values_in_steps(measure: str, part: Part, reader: Any) -> None:
    for (first, second), rating in rated(config(measure), part).items():
        a, b = reader.synset(first), reader.synset(second)
        value = a.path_similarity(b) if measure == "path" else a.wup_similarity(b)
        assert rating == int(4 * value + 0.5)


def test_thresholds_take_the_place_of_rounding() -> None:
    assert set(rated(config(thresholds=[0, 0, 0, 0]), "verb").values()) == {4}
    assert set(rated(config(thresholds=[2, 2, 2, 2]), "verb").values()) == {0}
    assert rated(config("path", thresholds=[0.0, 0.2, 0.5, 1]), "object", size=1) == rated(
        config("path", thresholds=[0.0, 0.2, 0.5, 1]), "object", size=100
    )


@pytest.mark.parametrize("thresholds", [[], [1, 2, 3], [0.1, 0.3, 0.2, 0.4], [0.1, "a", 0.3, 0.4], [True, 1, 2, 3]])
def test_other_thresholds_are_refused(thresholds: list[Any]) -> None:
    with pytest.raises(ShoeError, match="expected 4 rising numbers"):
        kind_of("lexical").backend(config(thresholds=thresholds), Prompts.read())


def test_nothing_is_asked_past_a_budget_or_a_stop() -> None:
    backend = kind_of("lexical").backend(config(), Prompts.read())
    for memory in (Memory(most_requests=1), Memory(stop_after=1)):
        backend.rate(in_groups(asked("verb"), 2), memory)
        assert len(memory.answers) == 1
