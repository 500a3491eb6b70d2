"""Both oracles: the paper's cases by hand, what it leaves open, and the same with plain sets."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.benchmarks.classes import parse_classes
from shoe.core.arrays import Floats, Ints
from shoe.core.errors import OptionError
from shoe.lexicon.senses import Part
from shoe.lexicon.store import ids_of
from shoe.scoring.bongard import score as bongard
from shoe.scoring.bongard.problems import Problems
from shoe.scoring.bongard.score import Answers, Counting, Detections, Outcome, Votes, detections, oracle, score_problems
from shoe.similarity import load_similarity
from shoe.similarity.table import Similarity
from tests.errors import input_error
from tests.examples import examples
from tests.oracles import bongard as literal
from tests.oracles.boxes import Box
from tests.oracles.model import Triplet
from tests.oracles.scenes import predictions_of
from tests.scoring.bongard.made import BOX, CROP, Word, predicted, problems_of

RIDE, HOLD, FEED, EAT = ("ride", "horse"), ("hold", "horse"), ("feed", "horse"), ("eat", "apple")
HEADER = "verb\tobject\tgerund\tverb_synset\tobject_synset\trare\n"
SENSES = {"ride": "ride.v.02", "straddle": "straddle.v.01", "feed": "feed.v.01"}
CLASSES = parse_classes(
    HEADER + "".join(f"{verb}\thorse\t{verb}ing\t{sense}\thorse.n.01\t\n" for verb, sense in SENSES.items()), "toy"
)
RIGHT, NONE, LEFT, MISSED, FALSE = (outcome.name for outcome in Outcome)


def pictures(
    positives: list[list[Word]], negatives: list[list[Word]], queries: tuple[list[Word], list[Word]]
) -> list[list[Word]]:
    """What is seen in the fourteen pictures of a problem; sides of fewer than six pictures end with empty ones."""
    full = [side + [[]] * (6 - len(side)) for side in (positives, negatives)]
    return [*full[0], queries[0], *full[1], queries[1]]


@pytest.mark.parametrize(
    ("positives", "negatives", "queries", "outcomes"),
    [
        pytest.param([[RIDE]] * 6, [[FEED]] * 6, ([RIDE], [FEED]), (RIGHT, RIGHT), id="plain"),
        pytest.param([[RIDE, HOLD]] * 6, [[HOLD]], ([HOLD], [HOLD]), (MISSED, RIGHT), id="what negatives show is out"),
        pytest.param([[RIDE, HOLD]] * 3, [[FEED]], ([HOLD], [RIDE]), (RIGHT, FALSE), id="of several one is enough"),
        pytest.param([[RIDE, HOLD], [RIDE]], [], ([HOLD], [HOLD]), (MISSED, RIGHT), id="the majority is the concept"),
        pytest.param([], [[FEED]], ([RIDE], [FEED]), (NONE, NONE), id="nothing in positives is wrong"),
        pytest.param([], [], ([RIDE], []), (NONE, NONE), id="even where a negative query is empty"),
        pytest.param([[RIDE]], [], ([RIDE], [FEED]), (RIGHT, RIGHT), id="nothing in negatives is fine"),
        pytest.param([[RIDE]] * 6, [[FEED]], ([], []), (MISSED, RIGHT), id="an empty query is negative"),
        pytest.param([[RIDE]] * 6, [[RIDE]], ([RIDE], []), (LEFT, LEFT), id="nothing left is wrong"),
    ],
)
def test_the_cases_of_the_paper(positives: Any, negatives: Any, queries: Any, outcomes: tuple[str, str]) -> None:
    problems, found = seen(pictures(positives, negatives, queries))
    for answers in (oracle(problems, found), soft(problems, found)):
        assert [Outcome(code).name for code in answers.outcome[0]] == list(outcomes)


def seen(*said: list[list[Word]]) -> tuple[Problems, Detections]:
    """Problems, and what was detected in the fourteen pictures of each."""
    problems = problems_of(len(said))
    return problems, detections(predicted([picture for of in said for picture in of]), problems, Counting())


def soft(problems: Problems, found: Detections, similarity: Similarity | None = None) -> Answers:
    """The soft oracle, by default with equality for meaning and all words as classes."""
    words = sorted({(found.verbs[v], found.objects[o]) for v, o in zip(found.verb, found.object, strict=True)})
    if similarity is not None:
        return bongard.soft_oracle(problems, found, CLASSES, similarity)
    lines = "".join(f"{verb}\t{object_}\tx\t\t\t\n" for verb, object_ in words or [RIDE])
    return bongard.soft_oracle(problems, found, parse_classes(HEADER + lines, "words"), load_similarity("identity"))


words = st.sampled_from([RIDE, HOLD, FEED, EAT])
picture = st.lists(words, max_size=3)


@given(
    st.lists(st.lists(picture, min_size=14, max_size=14), min_size=1, max_size=4),
    st.sampled_from(["image", "detection"]),
)
@examples(1)
def test_it_answers_as_with_plain_sets(said: list[list[list[Word]]], votes: Votes) -> None:
    problems, found = seen(*said)
    assert (soft(problems, found).outcome == oracle(problems, found, "image").outcome).all()
    answers = oracle(problems, found, votes)
    for number, shown in enumerate(said):
        for query in (0, 1):
            expected = literal.answered(shown[:6], shown[7:13], shown[6 + 7 * query], votes == "image")
            assert bool(answers.yes[number, query]) == bool(expected)
            assert bool(answers.right[number, query]) == (expected is not None and expected == (query == 0))


def test_a_picture_has_one_vote_or_one_per_detection() -> None:
    said = seen(pictures([[RIDE], [RIDE], [HOLD] * 3], [], ([RIDE], [HOLD])))
    assert [oracle(*said, votes).yes.tolist() for votes in ("image", "detection")] == [[[True, False]], [[False, True]]]


@dataclass(frozen=True)
class Made(Similarity):
    """Riding and straddling are 0.75 similar, riding and feeding as much as is said."""

    feeding: float = 0.0
    name = "made"
    digest = "0"

    def values(self, part: Part, class_senses: Ints, senses: Ints) -> Floats:
        ride, straddle, feed = ids_of(SENSES.values()).tolist()
        known = {frozenset((ride, straddle)): 0.75, frozenset((ride, feed)): self.feeding}
        cells = [[float(a == b) or known.get(frozenset((a, b)), 0.0) for b in senses] for a in class_senses]
        return np.array(cells).reshape(len(class_senses), len(senses))


STRADDLE = ("straddle", "horse")


def test_the_soft_oracle_by_hand() -> None:
    """The example of its docstring."""
    mostly = [[RIDE]] * 4 + [[STRADDLE]] * 2
    plain = pictures(mostly, [[FEED]] * 6, ([STRADDLE], [FEED]))
    against = pictures(mostly, [[FEED]] * 5 + [[STRADDLE]], ([RIDE], [STRADDLE]))
    problems, found = seen(plain, against)
    assert soft(problems, found, Made()).yes.tolist() == [[True, False], [True, False]]
    assert oracle(problems, found).yes.tolist() == [[False, False], [True, False]]


@pytest.mark.slow
@given(
    st.lists(st.lists(st.sampled_from([RIDE, STRADDLE, FEED]), max_size=2), min_size=14, max_size=14), st.floats(0, 1)
)
@examples(2)
def test_the_soft_oracle_is_the_literal_one(said: list[list[Word]], feeding: float) -> None:
    made, verbs = Made(feeding), list(SENSES)
    table, _ = made.of_words("verb", [(sense, verb) for verb, sense in SENSES.items()], verbs)

    def sigma(one: Word, other: Word) -> float:
        return float(table[verbs.index(one[0]), verbs.index(other[0])])

    answers = soft(*seen(said), made)
    for query in (0, 1):
        expected = literal.answered_by_meaning(said[:6], said[7:13], said[6 + 7 * query], [RIDE, STRADDLE, FEED], sigma)
        assert bool(answers.yes[0, query]) == bool(expected)


box = st.tuples(*[st.integers(0, 80)] * 2, *[st.integers(5, 60)] * 2).map(
    lambda b: (b[0], b[1], b[0] + b[2], b[1] + b[3])
)
prediction = st.tuples(st.sampled_from([RIDE, FEED]), st.sampled_from([0.25, 0.5, 1.0]), box, box)


@pytest.mark.slow
@given(st.lists(prediction, max_size=8), st.integers(1, 4))
@examples(3)
def test_what_counts_in_a_crop(said: list[tuple[Word, float, Box, Box]], top: int) -> None:
    table = predictions_of({"000.jpg": [Triplet(human, thing, *words, score) for words, score, human, thing in said]})
    found = detections(table, problems_of(1), Counting(top=top))
    of_first = found.interaction[found.region == 0]
    names = sorted((found.verbs[found.verb[k]], "horse") for k in of_first)
    assert names == sorted(literal.counted(said, CROP, top))
    assert found.named.tolist() == [True] + [False] * 13


def test_a_whole_image_and_a_least_score() -> None:
    said, outside = Triplet(BOX, BOX, *RIDE, 0.9), Triplet((200, 200, 300, 300), BOX, *FEED, 0.4)
    table = predictions_of({"elsewhere/000.png": [said, outside], "other.jpg": [said]})
    whole = Counting(region="image")
    counted = Counting(), whole, replace(whole, min_score=0.4), replace(whole, min_score=0.5)
    assert [len(detections(table, problems_of(1), how).region) for how in counted] == [1, 2, 2, 1]


def test_half_of_both_boxes_is_enough() -> None:
    half, less = (CROP[0] - 20, 20.0, CROP[0] + 20, 60.0), (CROP[0] - 21, 20.0, CROP[0] + 20, 60.0)
    said = [Triplet(half, half, *RIDE), Triplet(BOX, less, *FEED), Triplet(less, BOX, *HOLD)]
    table = predictions_of({"000.jpg": said})
    found = detections(table, problems_of(1), Counting())
    assert [found.verbs[v] for v in found.verb] == ["ride"]


def test_problems_whose_images_are_not_all_named_can_be_left_out() -> None:
    said = predicted([[RIDE]] * 7 + [[FEED]] * 7 + [[RIDE]] * 13)
    similarity = load_similarity("identity")
    for part, count in ((False, 2), (True, 1)):
        report = score_problems(said, problems_of(2), CLASSES, similarity, images_in_predictions=part)
        assert (report.problems, report.named_images) == (count, 14 if part else 27)
    with input_error(source="predictions", field="image") as error:
        score_problems(predicted([[RIDE]] * 13), problems_of(1), CLASSES, similarity, images_in_predictions=True)
    assert "found none" in str(error.value)


def test_a_least_score_is_a_number() -> None:
    with pytest.raises(OptionError, match="min_score: found nan"):
        Counting(min_score=float("nan"))
