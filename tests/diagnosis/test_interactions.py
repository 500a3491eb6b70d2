"""Negative AP and interaction mAP against their slow twins, by hand, and what files cannot support."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import given, strategies as st

from shoe.benchmarks.truth import GroundTruth
from shoe.core.errors import InputError
from shoe.diagnosis.diagnose import Diagnosis, diagnose
from shoe.diagnosis.localisation import localise, pair_figures
from shoe.diagnosis.pairs import NEEDS, InteractionMap, PairDiagnosis, diagnose_pairs, interaction_map, negative_ap
from shoe.predictions.pair_predictions import Pairs, pairs_of, read_pairs
from shoe.scoring.matching.task import Task
from tests.diagnosis.test_against_oracle import diagnosis_of, each_variant
from tests.diagnosis.test_localisation import CLASSES, known, moved_copies, tables
from tests.errors import input_error
from tests.oracles import diagnosis_pairs as slowly
from tests.oracles.crowds import crowds
from tests.oracles.diagnosis import Diagnosed, Variant, diagnosed
from tests.oracles.diagnosis_map import variant_ap
from tests.oracles.diagnosis_pairs import InteractionFigures, Pair
from tests.oracles.model import ImageScene, Triplet, from_tables
from tests.oracles.scenes import random_scenes
from tests.oracles.test_diagnosis import H2, NOWHERE, NOWHERE_ELSE, O2, image
from tests.oracles.test_diagnosis_pairs import RIDE
from tests.predictions.paired import as_pairs
from tests.scoring.compare import close, task_of

VERBS = CLASSES.verbs
SCORES = [0.1, 0.3, 0.5, 0.9]


def scored_pairs(scenes: Sequence[ImageScene], rng: np.random.Generator) -> dict[str, list[Pair]]:
    """Pairs of the scenes' triplets in another order, with scores of some verbs; scores tie."""
    found = {}
    for scene in scenes:
        pairs = slowly.pairs_of(scene)
        verbs = [*dict.fromkeys(p.verb for p in scene.predictions if p.verb in VERBS), "no_interaction"]
        found[scene.name] = [
            replace(pairs[i], verb_scores={verb: float(rng.choice(SCORES)) for verb in verbs if rng.random() < 0.8})
            for i in rng.permutation(len(pairs))
        ]
    return found


# Negative AP


def agree_on_negatives(scenes: list[ImageScene], seed: int, keep: bool) -> None:
    scenes = known(scenes)
    predicted = scored_pairs(scenes, np.random.default_rng(seed))
    truth, _ = tables(scenes)
    backwards = dict(reversed(predicted.items()))
    fast = negative_ap(localise(as_pairs(backwards, VERBS), truth, None, "keep" if keep else "exclude"))
    slow = slowly.negative_ap(scenes, predicted, keep)
    assert close(fast.all_points, slow["all_points"])
    assert close(fast.diag, slow["diag"])
    assert (fast.all_points is None) == (fast.negatives == 0)


@given(crowds(), st.integers(0, 2**16), st.booleans())
def test_negative_ap_of_small_scenes(scenes: list[ImageScene], seed: int, keep: bool) -> None:
    agree_on_negatives(scenes, seed, keep)


@pytest.mark.parametrize("seed", range(2))
def test_negative_ap_of_many_images(seed: int) -> None:
    agree_on_negatives(random_scenes(np.random.default_rng(seed), 15, n_predictions=60), seed, keep=False)


# Interaction mAP


def ap_of(found: InteractionMap) -> dict[str, float]:
    return {VERBS[v]: float(found.ap[v]) for v in np.flatnonzero(~np.isnan(found.ap))}


def same(fast: InteractionMap, slow: InteractionFigures) -> None:
    assert close(fast.map, slow["map"])
    expected = {verb: value for verb, value in slow["ap"].items() if value is not None}
    assert ap_of(fast) == pytest.approx(expected, abs=1e-9)


def agree_on_interactions(scenes: list[ImageScene], name: Variant, seed: int, keep: bool) -> None:
    scenes = known(scenes)
    task = task_of(scenes, CLASSES)
    rng = np.random.default_rng(seed)
    scores = rng.choice(SCORES, len(task.predictions))
    start = dict(zip(task.predictions.images, task.predictions.offsets.tolist(), strict=False))
    lists = {s.name: scores[start[s.name] :][: len(s.predictions)].tolist() for s in scenes if s.name in start}
    fast = interaction_map(diagnosis_of(task, name, keep=keep), scores)
    same(fast, slowly.interaction_map(scenes, CLASSES, lists, name, keep))
    if name == "paper":
        localised = {verb for verb, number in zip(VERBS, fast.truths, strict=True) if number}
        assert localised == set(ap_of(fast))
    rare, non_rare = by_class(diagnosed(scenes, CLASSES, name, keep), lists)
    assert close(fast.map_rare, rare)
    assert close(fast.map_non_rare, non_rare)


def by_class(images: Sequence[Diagnosed], scores: Mapping[str, Sequence[float]]) -> tuple[float | None, float | None]:
    truths: Counter[int] = Counter()
    ranked = defaultdict(list)
    for scene in images:
        unseen = scene.variant == "released" and not scene.predictions
        for place, truth in enumerate(scene.truth):
            if unseen or any(place in p.humans and place in p.objects for p in scene.predictions):
                truths[truth.hoi] += 1
        for p in scene.predictions:
            if p.type in ("true_positive", "interaction", "duplicate"):
                ranked[p.hoi].append((scores[scene.name][p.row], p.type == "true_positive"))
    found: tuple[list[float], list[float]] = [], []
    for hoi, number in truths.items():
        hits = [int(hit) for _, hit in sorted(ranked[hoi], key=lambda entry: -entry[0])]
        value = variant_ap(hits, number, variant := images[0].variant)
        if value is not None and (hits or variant == "paper"):
            found[not CLASSES.rare[hoi]].append(value)
    rare, non_rare = (sum(values) / len(values) if values else None for values in found)
    return rare, non_rare


@each_variant
@given(crowds(), st.integers(0, 2**16), st.booleans())
def test_interaction_map_of_small_scenes(name: Variant, scenes: list[ImageScene], seed: int, keep: bool) -> None:
    agree_on_interactions(scenes, name, seed, keep)


@each_variant
@pytest.mark.parametrize("decimals", [None, 1])
def test_interaction_map_of_many_images(name: Variant, decimals: int | None) -> None:
    scenes = random_scenes(np.random.default_rng(6), 20, n_predictions=60, decimals=decimals, open_words=True)
    agree_on_interactions(scenes, name, 6, keep=False)


def test_missing_scores_are_named() -> None:
    table, predicted = tables([image([RIDE], [RIDE, Triplet(NOWHERE, NOWHERE_ELSE, "ride", "horse")])])
    diagnosis = diagnose(predicted, table)
    assert interaction_map(diagnosis, np.array([0.5, np.nan])).map == 1
    with input_error(source="interaction scores", record="image 'a.jpg': triplet 1") as caught:
        interaction_map(diagnosis, np.array([np.nan, 0.5]))
    assert "1 triplets" in str(caught.value)
    with pytest.raises(InputError, match=r"1 values.* 2,"):
        interaction_map(diagnosis, np.array([0.5]))
    with pytest.raises(InputError, match=r"hoi_score_inter .* verb_scores"):
        negative_ap(localise(pairs_of(predicted), table))


# Both sub-tasks


def figures(found: Diagnosis | PairDiagnosis) -> tuple[float | None, float | None, float | None]:
    negative = None if found.negative_ap is None else found.negative_ap.all_points
    return found.pairs.recall, negative, None if found.interaction_map is None else found.interaction_map.map


def test_what_each_file_supports(tmp_path: Path) -> None:
    far = Triplet(NOWHERE, NOWHERE_ELSE, "ride", "horse", 0.3)
    truth, predicted = tables([image([RIDE, Triplet(H2, O2, "hold", "horse")], [RIDE, far])])
    name = truth.interactions.images[0]

    plain = diagnose(predicted, truth)
    assert figures(plain) == (1 / 2, None, None)
    assert plain.absent == NEEDS
    assert sum("pairs are derived" in note for note in plain.notes) == 1

    scores = np.array([0.75, 0.25])
    scored = diagnose(predicted, truth, action_scores=scores)
    assert figures(scored) == (1 / 2, 1, 1)
    assert (scored.absent, len(scored.notes)) == ({}, len(plain.notes) + 1)

    def read(*pairs: Pair, **more: object) -> Pairs:
        records = [{"h_box": p.human_box, "o_box": p.object_box, "o_label": p.object, **more} for p in pairs]
        (tmp_path / "pairs.json").write_bytes(orjson.dumps([{"filename": name, "box_pairs": records}]))
        return read_pairs(tmp_path / "pairs.json")

    all_pairs = [Pair(t.human_box, t.object_box, "horse") for t in (RIDE, far, Triplet(H2, O2, "hold", "horse"))]
    bare = read(*all_pairs)
    assert figures(diagnose(predicted, truth, pairs=bare)) == (1, None, None)
    found = diagnose(predicted, truth, pairs=bare)
    assert figures(found) == figures(diagnose_pairs(bare, truth)) == (1, None, None)
    assert all(key in found.absent["negative_ap"] for key in ("hoi_score_inter", "verb_scores"))
    assert figures(diagnose(predicted, truth, pairs=bare, action_scores=scores)) == (1, None, 1)

    with_best = read(*all_pairs, hoi_score_inter=0.5)
    alone = diagnose_pairs(with_best, truth)
    assert figures(diagnose(predicted, truth, pairs=with_best)) == figures(alone) == (1, 1 / 2, None)
    assert list(alone.absent) == ["errors", "interaction_map"]

    found = diagnose(predicted, truth, pairs=read(*all_pairs, verb_scores={"ride": 0.5}))
    assert (figures(found), found.absent) == ((1, 1 / 2, 1), {})


@given(crowds(), st.integers(0, 2**16))
def test_pairs_with_all_verbs_say_what_their_triplets_say(scenes: list[ImageScene], seed: int) -> None:
    task = task_of(known(scenes), CLASSES)
    own = pairs_of(task.predictions)
    verb_scores = np.random.default_rng(seed).random((len(own.table), len(VERBS)))
    pairs = Pairs(own.table, verb_scores=verb_scores, verbs=VERBS)
    assert own.of_triplet is not None
    label = task.verb_label[task.predictions.verb]
    scores = np.where(label >= 0, verb_scores[own.of_triplet, label], np.nan)
    diagnosis = diagnosis_of(task, "paper")
    found = replace(diagnosis, pair_file=pairs).interaction_map
    assert found is not None
    np.testing.assert_array_equal(found.ap, interaction_map(diagnosis, scores).ap)


@pytest.mark.slow
@pytest.mark.real_data
@each_variant
def test_on_real_truth(hico_det: GroundTruth, name: Variant) -> None:
    truth = replace(hico_det, interactions=hico_det.interactions.select_images(np.arange(300)))
    predictions = moved_copies(truth.interactions, 4)
    scores = np.random.default_rng(2).random(len(predictions)).round(2)
    found = replace(diagnosis_of(Task(predictions, truth), name), action_scores=scores)
    assert found.interaction_map is not None
    assert found.negative_ap is not None

    scenes = from_tables(truth, predictions)
    rows = np.split(scores, predictions.offsets[1:-1])
    by_image = dict(zip(predictions.images, [part.tolist() for part in rows], strict=True))
    same(found.interaction_map, slowly.interaction_map(scenes, truth.classes, by_image, name))
    predicted = {}
    for scene in scenes:
        best: dict[Pair, dict[str, float]] = {}
        for triplet, score in zip(scene.predictions, by_image[scene.name], strict=True):
            verbs = best.setdefault(Pair(triplet.human_box, triplet.object_box, triplet.object), {})
            verbs[triplet.verb] = max(score, verbs.get(triplet.verb, 0))
        predicted[scene.name] = [replace(pair, verb_scores=verbs) for pair, verbs in best.items()]
    slow = slowly.negative_ap(scenes, predicted)
    assert close(found.negative_ap.all_points, slow["all_points"])
    assert close(found.negative_ap.diag, slow["diag"])
    assert found.pairs == pair_figures(localise(pairs_of(predictions), truth))
