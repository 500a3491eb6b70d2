"""Which pairs come first."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import shoe
from shoe.lexicon.store import names_of
from shoe.maps.influence import by_credit, by_false_positives
from shoe.scoring.evidence.bounds import OPTIONS, OpenScore, imputation_of, precision_bounds
from shoe.scoring.scorer import Scorer
from tests.maps.samples import Rows, made
from tests.oracles.model import ImageScene, Triplet, to_tables
from tests.oracles.scenes import small_classes

HUMAN, THING = (10.0, 10.0, 60.0, 110.0), (30.0, 50.0, 130.0, 120.0)
FAR = ((210.0, 10.0, 260.0, 110.0), (230.0, 50.0, 330.0, 120.0))
SENSES = {"straddle.v.01", "range.v.04", "straddle.v.03"}


def on_pair(verb: str, noun: str = "horse") -> Triplet:
    return Triplet(HUMAN, THING, verb, noun)


def prospects_of(folder: Path, scenes: Sequence[tuple[list[Triplet], list[Triplet]]], rows: Rows) -> OpenScore:
    made(folder / "map", rows)
    images = [
        ImageScene(f"HICO_test2015_{number:08d}.jpg", truth=truth, predictions=said)
        for number, (truth, said) in enumerate(scenes, start=1)
    ]
    truth, predictions = to_tables(images, small_classes())
    report = shoe.score(predictions, truth, similarity=folder / "map", protocols=["shoe"])
    assert report.similarities is not None
    imputation = imputation_of(report.task, report.similarities)
    assert imputation is not None
    return OpenScore.from_scorer(Scorer(report.task, imputation.low, OPTIONS), imputation)


def chosen(prospects: OpenScore, *, credit: bool, most: int = 1 << 40) -> set[tuple[str, str]]:
    lookups = {"verb": prospects.imputation.verbs, "object": prospects.imputation.objects}
    askable: Any = {part: of_part.unrated for part, of_part in lookups.items()}
    if credit:
        masks = by_credit(prospects, precision_bounds(prospects, prospects.current), askable, most)
    else:
        masks = by_false_positives(prospects, askable, most)
    found: set[tuple[str, str]] = set()
    for part, mask in masks.items():
        row, column = np.nonzero(mask)
        of_part = lookups[part]
        found.update(zip(names_of(of_part.class_senses[row]), names_of(of_part.synsets[column]), strict=True))
    return found


def test_a_match_of_a_class_with_few_ground_truths_comes_first(tmp_path: Path) -> None:
    feed, straddle = on_pair("feed"), on_pair("straddle")
    scenes = [([on_pair("ride")], [straddle]), ([feed], [straddle]), ([feed], []), ([feed], [])]
    prospects = prospects_of(tmp_path, scenes, {})
    assert chosen(prospects, credit=True, most=1) == {("ride.v.01", sense) for sense in SENSES}
    classes = small_classes()
    of_feed = classes.verb_synsets[classes.labels.index("feed horse")]
    assert chosen(prospects, credit=True) == {(of, sense) for of in ("ride.v.01", of_feed) for sense in SENSES}


def test_what_is_rated_or_never_compared_is_not_asked(tmp_path: Path) -> None:
    scenes = [([on_pair("ride")], [on_pair("straddle"), Triplet(*FAR, "eat", "pony")])]
    prospects = prospects_of(tmp_path, scenes, {"ride.v.01 straddle.v.01": (1, None)})
    assert chosen(prospects, credit=True) == {("ride.v.01", "range.v.04"), ("ride.v.01", "straddle.v.03")}


def test_a_match_that_is_open_for_anothers_sake_leads_to_the_other(tmp_path: Path) -> None:
    # "hold" is the class's own word for "hold horse"; whether it is left for that hangs on what "ride horse" takes.
    truth = [on_pair("ride"), on_pair("hold")]
    prospects = prospects_of(tmp_path, [(truth, [on_pair("straddle"), on_pair("hold")])], {})
    assert {("ride.v.01", sense) for sense in SENSES} <= chosen(prospects, credit=True)


def test_the_guess_is_given_ratings_to_rest_on_first(tmp_path: Path) -> None:
    scenes = [([on_pair("ride")], [Triplet(*FAR, "straddle", "pony")])]
    prospects = prospects_of(tmp_path, scenes, {})
    wanted = chosen(prospects, credit=False)
    assert 0 < len(wanted) <= 2 * 10 * 40
    assert wanted == chosen(prospects, credit=False)
