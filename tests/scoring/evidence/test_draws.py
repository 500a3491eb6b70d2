"""Where a score would lie were all pairs rated: by hand where predictions are sure, and what draws have in common."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import shoe
from shoe.benchmarks.scoring_options import SemanticOptions
from shoe.lexicon.senses import Part
from shoe.lexicon.store import ids_of
from shoe.report.evidence import notes
from shoe.report.score import Score
from shoe.scoring.evidence import interval
from shoe.scoring.evidence.collect import Evidence
from shoe.scoring.evidence.draws import _KINDS, DRAWS, SampledMap, SensePairs, predictive_interval
from shoe.scoring.score import Report
from shoe.similarity import Basis, SimilarityMap
from shoe.similarity.learned import LearnedPart, learned_bytes
from tests.maps.samples import Pairs, written
from tests.oracles.model import Triplet, to_tables
from tests.oracles.scenes import CLASSES, on_pair, one_image

RATED: dict[Part, Pairs] = {
    "verb": {("ride.v.01", "straddle.v.01"): (2,)},
    "object": {("horse.n.01", "pony.n.01"): (4,)},
}
SENSES = ["range.v.04", "jump.v.01", "straddle.v.03"]


def table(names: Sequence[str], ratings: Sequence[float], shared: Sequence[float]) -> LearnedPart:
    """Predicts one distribution for the first sense as a class, with every sense."""
    return LearnedPart(
        classes=ids_of(names[:1]),
        senses=np.sort(ids_of(names)),
        levels=np.ones((len(names), 1), np.uint8),
        ratings=np.array([[1, 0, 0, 0, 0], ratings], np.float32),
        shared=np.array(shared, np.float32),
    )


def learned_map(folder: Path, ratings: Sequence[float], shared: Sequence[float] = (0, 0)) -> Path:
    verbs = table(["ride.v.01", *SENSES], ratings, shared)
    content = learned_bytes({"verb": verbs, "object": table(["horse.n.01"], ratings, shared)})
    written(folder / "map", RATED, learned=(content, {"by": "hand"}))
    return folder / "map"


def report_of(similarity: Path | str, said: Sequence[Triplet], unrated: str = "learned") -> Report:
    truth, predictions = to_tables([one_image([on_pair()], list(said))], CLASSES)
    return shoe.score(predictions, truth, similarity=similarity, protocols=["shoe"], options=[f"unrated={unrated}"])


def test_what_is_predicted_counts_for_what_is_unrated_alone(tmp_path: Path) -> None:
    similarity = SimilarityMap.load(learned_map(tmp_path, (0, 0, 0, 1, 0)))
    classes, words = [("ride.v.01", "ride"), ("hold.v.02", "hold")], ["straddle", "jump", "drink"]
    values, basis = similarity.of_words("verb", classes, words, SemanticOptions(unrated="learned"))
    # straddle.v.03 is predicted at 3, more than straddle.v.01's rated 2; drink is not in the table, which is level 0.
    assert values.tolist() == [[0.75, 0.75, 0], [0, 0, 0]]
    assert basis.tolist() == [[Basis.LEARNED] * 3, [Basis.UNRATED] * 3]
    values, basis = similarity.of_words("verb", classes, words, SemanticOptions(unrated="zero"))
    assert values.tolist() == [[0.5, 0, 0], [0, 0, 0]]
    assert similarity.about["learned"]["by"] == "hand"


def test_sure_predictions_leave_no_width(tmp_path: Path) -> None:
    found = interval(report_of(learned_map(tmp_path, (0, 0, 0, 1, 0)), [on_pair("straddle")]))
    # One match of credit (0.75 + 1) / 2: precision and recall are that; those of F1 are that and 1.
    assert found is not None
    assert found.map == pytest.approx((0.875**2, 0.875**2))
    assert found.mf1 == pytest.approx((14 / 15, 14 / 15))
    assert found.unrated_pairs == 2  # of straddle's senses; the other senses of the class's own word cannot count


def test_notes_and_json_say_the_interval(tmp_path: Path) -> None:
    similarity = learned_map(tmp_path, (0.25, 0, 0.5, 0, 0.25))
    report = report_of(similarity, [on_pair("straddle"), on_pair("hold", 0.5)])
    evidence = Evidence.from_report(report, bounds=True)
    low, high = Score.from_report(report, evidence).to_dict()["semantic"]["map_interval"]
    assert 0 < low < high <= 1
    assert evidence.interval is not None
    assert evidence.interval.map == (low, high)
    (line,) = (line for line in notes(report, evidence) if line.startswith("unrated "))
    assert f"SHOE-mAP {100 * low:.2f} to {100 * high:.2f}" in line


def told(rated: Sequence[tuple[int, int, int]], found: Sequence[float]) -> SensePairs:
    """Some rated pairs beside those of the first sense with the others, of which each is of a word of its own."""
    shape = (1, len(SENSES))
    return SensePairs(
        class_senses=ids_of(["ride.v.01"]),
        synsets=np.sort(ids_of(SENSES)),
        kind=np.zeros(shape, np.int8),
        unrated=np.ones(shape, bool),
        rated=np.array(rated, np.int64).reshape(-1, 3),
        found=np.array(found),
        word=np.arange(len(SENSES)),
    )


@pytest.mark.parametrize(("shared", "alike"), [((0, 0), 0.5), ((1, 0), 1.0), ((0, 1), 0.5)])
def test_draws_share_the_luck_of_a_class(tmp_path: Path, shared: Sequence[float], alike: float) -> None:
    values = drawn(learned_map(tmp_path, (0.5, 0, 0, 0, 0.5), shared))
    assert set(np.unique(values)) == {0, 1}
    assert values.mean() == pytest.approx(0.5, abs=0.1)
    assert (values[:, 0] == values[:, 1]).mean() == pytest.approx(alike, abs=0.1)
    assert np.array_equal(drawn(tmp_path / "map")[0], values[0])


def drawn(folder: Path) -> np.typing.NDArray[np.float64]:
    """(draws, senses) values of the first sense as a class and the others."""
    similarity = SimilarityMap.load(folder)
    nothing: dict[Part, SensePairs] = {"verb": told([], [])}
    assert similarity.learned is not None
    maps = [SampledMap(similarity, similarity.learned, nothing, seed) for seed in range(8 * DRAWS)]
    return np.concatenate([one.values("verb", ids_of(["ride.v.01"]), ids_of(SENSES)) for one in maps])


def test_draws_cover_a_distribution_evenly(tmp_path: Path) -> None:
    """Of eight draws for each pair one is from each eighth: two of them at least reach a rating of one in four."""
    assert drawn(learned_map(tmp_path, (0.75, 0, 0, 0, 0.25))).mean() == pytest.approx(0.25, abs=0.05)


def test_what_withheld_ratings_say_moves_the_draws() -> None:
    """Ratings of pairs behind matches, all 4 where 1 in 2 was predicted, lift those pairs; those of others sink."""
    half = np.array([[0.5, 0, 0, 0, 0.5]], np.float32)
    kinds = len(_KINDS)
    rows = [(0, 0, word) for word in range(30)] + [(kinds - 1, 0, word) for word in range(30)]
    found = [0.0] * 30 + [4.0] * 30
    playing = told(rows, found)
    adapted = playing.adapt(half, np.random.default_rng(0))
    assert adapted.sum(axis=2) == pytest.approx(1)
    assert adapted[0, 0, 4] < 0.1
    assert adapted[-1, 0, 4] > 0.9
    # One word, whatever it weighs, says little: what was predicted is believed as much.
    few = replace(playing, rated=playing.rated[:1], found=playing.found[:1]).adapt(half, np.random.default_rng(0))
    assert 0.1 < few[0, 0, 4] < 0.5


def test_the_ends_are_those_of_another_draw() -> None:
    # Eight draws 0.10 to 0.17: mean 0.135, standard deviation 0.024495, t 1.8946, the mean's own error: 0.04922.
    assert predictive_interval([n / 100 + 0.1 for n in range(8)]) == pytest.approx((0.08578, 0.18422), abs=1e-5)
    assert predictive_interval([0.5] * 8) == (0.5, 0.5)
    assert predictive_interval([0.5, None]) is None


def test_what_is_known_or_not_predicted_has_no_interval(tmp_path: Path) -> None:
    written(tmp_path / "rated", RATED)
    for similarity in ("identity", "wup", tmp_path / "rated"):
        assert interval(report_of(similarity, [on_pair("straddle")])) is None
    assert interval(report_of("hico-det", [on_pair()], "drop")) is None
