"""SHOE-mAP and SHOE-mF1 on V-COCO: by hand, against the slow oracle, and on real annotations."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoe
from shoe.benchmarks import benchmark
from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import Floats
from shoe.core.interactions import Interactions, Rows
from shoe.lexicon.senses import Part
from shoe.scoring.score import Report
from shoe.scoring.semantic import SemanticResult
from tests.oracles.meaning import Similarity
from tests.oracles.model import class_words, from_tables
from tests.oracles.semantic import semantic
from tests.scoring.compare import same_figures

CLASSES = benchmark("v-coco").classes
LIKE = {
    "surf": "riding a wave", "hold": "gripping", "ride": "sitting on", "look": "watching", "eat": "biting",
    "carry": "lugging", "lay": "sleeping on", "hit": "striking", "talk_on_phone": "calling",
    "work_on_computer": "typing on", "snowboard": "sliding on", "throw": "xqzt",
}  # fmt: skip
"""Other words for actions, and one that is none."""

BOARD = "38 200.00 300.00 400.00 340.00"
MAN, WOMAN = "1 250.00 100.00 330.00 320.00", "1 10.00 10.00 90.00 230.00"
ANNOTATED = f"""# 0
000000000294.jpg
640 480
3
{BOARD}
{MAN}
{WOMAN}
4
19 {MAN} {BOARD}
2 {MAN} 0 0 0 0 0
19 {WOMAN} 0 0.00 0.00 0.00 0.00
21 {WOMAN} 0 0 0 0 0

# 1
000000000309.jpg
640 480
2
{BOARD}
{MAN}
1
19 {MAN} {BOARD}

"""
"""Two men surf; a woman who surfs too has no board that anybody drew, and smiles; one man also stands."""


def test_by_hand(tmp_path: Path) -> None:
    """One man is said to ride his board, the other to surf, in a caption's words.

    (surfboard.v.01, ride) is 0.5 in the map, so the first earns 0.5 * 0.5 + 0.5 * 1 = 0.75. N = 2: the woman has no
    box of an object, and what needs no object is no triplet. Precision after each prediction: 0.75 / 1, 1.75 / 2;
    recall 0.375, 0.875; the envelope is 0.875 all along, so AP = 0.875 * 0.875.
    """
    (tmp_path / "truth.txt").write_text(ANNOTATED)
    boxes = {"human_bbox": [250, 100, 330, 320], "object_bbox": [200, 300, 400, 340]}
    said = [
        {"image": image, "interactions": [{"interaction": words, "confidence": score, **boxes}]}
        for image, words, score in ((294, "riding a surfboard", 0.9), (309, "a man surfing", 0.8))
    ]
    (tmp_path / "said.json").write_text(json.dumps(said))
    truth = shoe.read_ground_truth(tmp_path / "truth.txt", dataset="v-coco")
    predictions = shoe.read_predictions(tmp_path / "said.json", dataset="v-coco")
    found = _scored(predictions, truth)
    assert "|map:v-coco|" in str(found.signature)
    assert found.similarities is not None
    assert found.semantic is not None
    surf = CLASSES.labels.index("surf surfboard")
    sigma = found.similarities.verbs.values[found.similarities.verb_row[surf]]
    assert dict(zip(predictions.verbs, sigma.tolist(), strict=True)) == {"riding": 0.5, "surfing": 1.0}
    assert found.semantic.map == pytest.approx(0.875**2, abs=1e-6)
    # The upper half by score is the first alone: TP 0.75, FP 0.25, FN 1. P 3/4, R 3/7, F1 6/11.
    assert found.semantic.mf1 == pytest.approx(6 / 11, abs=1e-6)
    assert found.semantic.classes == 1


@pytest.fixture(scope="module")
def test_set(shared_data: Path) -> GroundTruth:
    return shoe.read_ground_truth(shared_data / "v_coco" / "instances_vcoco_test.json", dataset="v-coco")


@pytest.mark.slow
@pytest.mark.real_data
def test_true_pairs_as_predictions_is_perfect(test_set: GroundTruth) -> None:
    """In the dataset's words; 48 triplets overlap one of their image that says the same, as near repeats do."""
    perfect = _said(test_set.interactions, {})
    matched, plain = (_meaning(perfect, test_set, *options) for options in (["repeats=matched"], []))
    assert (matched.map, matched.mf1) == pytest.approx((1, 1), abs=1e-7)
    assert (matched.gt_miss_rate, matched.prediction_miss_rate, matched.classes) == (0, 0, 214)
    assert plain.gt_miss_rate == 48 / 12_402


@pytest.mark.slow
@pytest.mark.real_data
def test_other_words_earn_part_of_the_credit(test_set: GroundTruth) -> None:
    """Those for half of the actions; without a map they get credit for their objects alone."""
    other = _said(test_set.interactions, LIKE)
    by_map, by_word = (
        _meaning(other, test_set, "repeats=matched", similarity=name).map or 0 for name in ("v-coco", "identity")
    )
    assert 0.2 < by_word + 0.2 < by_map < 0.9


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize("options", [(), ("assign=greedy-gt", "fp-scope=image"), ("combine=minimum", "tau=0.3")])
def test_against_the_oracle(test_set: GroundTruth, options: tuple[str, ...]) -> None:
    rng = np.random.default_rng(14)
    names = test_set.interactions.images
    truth = replace(test_set, interactions=test_set.interactions.select_images(np.arange(len(names)) % 40 == 0))
    predictions = _guessed(truth.interactions, rng)
    settings = {name: float(of) if name == "tau" else of for name, of in (each.split("=") for each in options)}
    maps = _map(0, predictions.verbs), _map(1, predictions.objects)
    slow = semantic(from_tables(truth, predictions), CLASSES, *maps, settings)
    assert 0.2 < (slow["map"] or 0) < 0.9
    same_figures(_meaning(predictions, truth, *options), slow, ("map", "mf1", "gt_miss_rate", "prediction_miss_rate"))


def _scored(predictions: Interactions, truth: GroundTruth, *options: str, similarity: str = "dataset") -> Report:
    return shoe.score(predictions, truth, protocols=["shoe"], options=options, similarity=similarity)


def _meaning(*arguments: Any, similarity: str = "dataset") -> SemanticResult:
    found = _scored(*arguments, similarity=similarity).semantic
    assert found is not None
    return found


def _said(table: Interactions, other: dict[str, str]) -> Interactions:
    verbs = tuple(other.get(verb, verb) for verb in table.verbs)
    return replace(table, verbs=verbs, score=np.ones(len(table)))


def _guessed(table: Interactions, rng: np.random.Generator) -> Interactions:
    """Two guesses for each triplet: moved boxes, words of other triplets or for the same action, scores that tie."""
    rows = Rows.from_table(table)
    twice = np.repeat(np.arange(len(table)), 2)
    words = (*table.verbs, *(LIKE.get(verb, verb) for verb in table.verbs))
    verb = table.verb[twice] + len(table.verbs) * rng.integers(0, 2, len(twice))
    random_verb = rng.random(len(twice)) < 0.2
    verb[random_verb] = rng.integers(0, len(words), random_verb.sum())
    distinct = list(dict.fromkeys(words))

    def moved(boxes: Floats) -> Floats:
        found = np.round(boxes[twice] + rng.integers(-24, 25, (len(twice), 4)), 0)
        found[:, 2:] = np.maximum(found[:, 2:], found[:, :2] + 1)
        return found

    return replace(
        rows,
        image=table.image[twice].astype(np.int64),
        human_boxes=moved(table.human_boxes),
        object_boxes=moved(table.object_boxes),
        verbs=distinct,
        verb=np.array([distinct.index(word) for word in words], np.int64)[verb],
        object=table.object[twice].astype(np.int64),
        score=rng.integers(0, 401, len(twice)) / 400,
    ).table("guesses")


def _map(part: int, words: tuple[str, ...]) -> Similarity:
    """What the map says of each class and word; whether a word is a label depends on all classes."""
    name: Part = "object" if part else "verb"
    synsets = CLASSES.object_synsets if part else CLASSES.verb_synsets
    labels = [pair[part] for pair in class_words(CLASSES)]
    values, _ = shoe.load_similarity("v-coco").of_words(name, list(zip(synsets, labels, strict=True)), words)
    number = {word: i for i, word in enumerate(words)}
    return lambda k, word: float(values[k, number[word]])
