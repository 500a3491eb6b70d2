"""HICO-DET's zero-shot splits: the published lists, by all that papers and their programs say of them."""

from pathlib import Path

import numpy as np
import pytest

from shoe.benchmarks import benchmark
from shoe.benchmarks.truth import read_truth_file
from shoe.core.arrays import Mask

HICO_DET = benchmark("hico-det")
CLASSES = HICO_DET.classes

# name: unseen classes, no_interaction among them, rare among them, verbs without a seen class, digest
KNOWN = {
    "rf-uc": (120, 5, 120, 0, "a995f99b"),
    "nf-uc": (120, 27, 0, 0, "02198228"),
    "uc0": (120, 21, 25, 9, "e1d0f6c9"),
    "uc1": (120, 19, 36, 10, "e5b30223"),
    "uc2": (120, 19, 28, 10, "695d844c"),
    "uc3": (120, 28, 28, 9, "e4082c45"),
    "uc4": (120, 14, 37, 10, "0cd84f4c"),
    "uo": (100, 12, 20, 5, "7aad4745"),
    "uv": (84, 0, 18, 20, "dbf15399"),
    "ua": (100, 0, 16, 22, "0a13b22b"),
}


def unseen(name: str) -> Mask:
    return HICO_DET.class_splits[name]().parts["unseen"]


def test_there_are_ten() -> None:
    assert [name for name in HICO_DET.class_splits if not name.startswith("sg")] == list(KNOWN)


@pytest.mark.parametrize("name", KNOWN)
def test_it_is_the_published_one(name: str) -> None:
    split = HICO_DET.class_splits[name]()
    mask = split.parts["unseen"]
    assert np.array_equal(split.parts["seen"], ~mask)
    counts = [np.bincount(CLASSES.verb[part], minlength=len(CLASSES.verbs)) for part in (mask, ~mask)]
    lost = int((counts[1] == 0).sum())
    found = int(mask.sum()), int((mask & CLASSES.no_interaction).sum()), int((mask & CLASSES.rare).sum()), lost
    assert (*found, split.digest) == KNOWN[name]


def test_unseen_objects_and_verbs_lose_all_their_classes_and_no_others_are_unseen() -> None:
    for name, words, of, number in (
        ("uo", CLASSES.objects, CLASSES.object, 12),
        ("uv", CLASSES.verbs, CLASSES.verb, 20),
        ("ua", CLASSES.verbs, CLASSES.verb, 22),
    ):
        held_out = {words[index] for index in of[unseen(name)]}
        assert len(held_out) == number
        assert np.array_equal(unseen(name), np.array([words[index] in held_out for index in of]))
    both = unseen("uv") & unseen("ua")
    assert sorted({CLASSES.verbs[verb] for verb in CLASSES.verb[both]}) == ["hose", "scratch", "stop_at"]


@pytest.mark.slow
@pytest.mark.real_data
def test_two_of_them_are_the_rarest_and_the_most_frequent_combinations(shared_data: Path) -> None:
    """As their paper says: by training triplets, each verb and object keeping a seen class."""
    counts = read_truth_file(shared_data / "hico_det_train" / "hico-det-instance-level.tar.gz").triplets_per_class
    for name, order in (("rf-uc", counts), ("nf-uc", -counts)):
        seen = np.ones(len(CLASSES), bool)
        taken: list[int] = []
        for hoi in np.argsort(order, kind="stable"):
            seen[hoi] = False
            verb, object_ = CLASSES.verb == CLASSES.verb[hoi], CLASSES.object == CLASSES.object[hoi]
            if len(taken) < 120 and (seen & verb).any() and (seen & object_).any():
                taken.append(int(hoi))
            else:
                seen[hoi] = True
        # The counts are HAKE's, which lacks 217 triplets, and ties may fall either way.
        assert unseen(name)[taken].sum() == 118
