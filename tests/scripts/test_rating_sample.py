"""Pairs drawn evenly from a map's ratings, and other raters beside them."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
import rating_sample

from shoe.llm.ledger import State
from shoe.similarity import SimilarityMap
from tests.maps.samples import written

_CLASSES = ["ride.v.01", "hold.v.02", "feed.v.01"]
_OTHERS = ["walk.v.01", "run.v.01", "carry.v.01", "eat.v.01", "sit.v.01", "throw.v.01", "catch.v.01"]


@pytest.fixture
def small_map(tmp_path: Path) -> SimilarityMap:
    """Two raters; each class has pairs of every mean, and classes are rated with each other in both directions."""
    pairs = {(c, other): [k % 5, min(k % 5 + 1, 4)] for c in _CLASSES for k, other in enumerate(_OTHERS)}
    pairs |= {(a, b): [4, 4] for a in _CLASSES for b in _CLASSES if a != b}
    return written(tmp_path / "m", {"verb": pairs}, ("a", "b"))


def test_ratings_and_classes_have_their_share_and_pairs_one_direction(small_map: SimilarityMap) -> None:
    drawn = rating_sample.sample(small_map, "verb", 3, np.random.default_rng(0))
    ratings = Counter(rating_sample.rounded(np.array(list(drawn.values()))).tolist())
    assert ratings == {1: 3, 2: 3, 3: 3, 4: 3}  # means of 0.5 and more: there is no 0
    assert sorted([pair[0] for pair, mean in drawn.items() if mean == 0.5]) == sorted(_CLASSES)
    assert drawn["ride.v.01", "walk.v.01"] == 0.5
    # No pair is drawn in both directions.
    drawn = rating_sample.sample(small_map, "verb", 100, np.random.default_rng(0))
    assert (len({frozenset(pair) for pair in drawn}), len(drawn)) == (len(drawn), len(_CLASSES) * len(_OTHERS) + 3)
    # Equal seeds draw equal pairs.
    first, again, other = (rating_sample.sample(small_map, "verb", 2, np.random.default_rng(s)) for s in (1, 1, 2))
    assert list(first) == list(again)
    assert set(first) != set(other)


def test_agreement_is_over_what_has_a_rating() -> None:
    means = np.array([0.0, 0.5, 2.0, 4.0, 3.5, 1.0])
    found = rating_sample.agreement(np.array([0, 1, 2, 4, State.REFUSED, 3], np.int8), means)
    assert (found.asked, found.rated, found.exact) == (6, 5, 0.8)
    assert found.pearson == pytest.approx(np.corrcoef([0, 1, 2, 4, 3], [0, 0.5, 2, 4, 1])[0, 1])
    perfect = rating_sample.agreement(rating_sample.rounded(means), means)
    assert (perfect.exact, perfect.kappa) == (1.0, 1.0)
    nothing = rating_sample.agreement(np.full(6, State.UNRATED, np.int8), means)
    assert (nothing.rated, nothing.exact, nothing.kappa, nothing.pearson, nothing.spearman) == (0, *[None] * 4)
    # The commonest rating alone agrees with its share.
    means = np.array([0.0, 0.2, 0.4, 3.0, 4.0])
    baseline = rating_sample.agreement(rating_sample.most_frequent(means), means)
    assert (baseline.exact, baseline.kappa, baseline.pearson) == (0.6, 0.0, None)


def ledger(path: Path, *answers: dict[str, Any]) -> Path:
    """Answers to one pair, a failure before them."""
    lines = [{"format": "shoe ledger"}, {"keys": ["00"], "failure": "429"}]
    lines += [{"pairs": [["feed.v.01", "ride.v.01"]], "answer": answer} for answer in answers]
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    return path


def test_means_before_rounding_are_read_from_a_ledger(tmp_path: Path) -> None:
    path = ledger(tmp_path / "l.jsonl", {"probabilities": [0.5, 0.25, 0, 0, 0.25], "mass": 1})
    assert rating_sample.expected(path) == {("feed.v.01", "ride.v.01"): 1.25}


@pytest.mark.parametrize(
    ("text", "digits"), [('{"rating": 3}', [3]), ('{"rating": "3"}', []), ("3", []), ('{"rating": ', [])]
)
def test_digits_are_read_where_an_answer_begins_as_it_should(text: str, digits: list[int], tmp_path: Path) -> None:
    first, second = ({"choices": [{"message": {"content": said}}]} for said in (text, '{"rating": 1}'))
    path = ledger(tmp_path / "l.jsonl", first, second)
    assert list(rating_sample.written(path, '{"rating": ').values()) == digits


def test_what_was_given_is_counted_by_the_shipped_rating() -> None:
    states = np.array([0, 3, State.REFUSED, State.UNPARSABLE, State.UNRATED], np.int8)
    counts = rating_sample.confusion(states, np.array([0.0, 0.4, 4.0, 4.0, 2.0]))
    assert (counts[0], counts[4]) == ([1, 0, 0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1, 1, 0])
    assert (counts[2], np.sum(counts)) == ([0, 0, 0, 0, 0, 0, 0, 1], 5)
