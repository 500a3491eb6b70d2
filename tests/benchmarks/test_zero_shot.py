"""HICO-DET's zero-shot splits: the published lists, by all that papers and programs say of them; splits of a file."""

from pathlib import Path

import numpy as np
import orjson
import pytest

from shoe.benchmarks import benchmark
from shoe.benchmarks.truth import read_truth_file
from shoe.core.arrays import Mask
from shoe.core.errors import InputError, OptionError
from shoe.demo import PREDICTIONS, TRUTH
from tests.benchmarks.samples import INSTANCES
from tests.cli.run import run
from tests.mentions import mentions

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


# Splits from a file


def test_lines_and_json_name_the_same_classes(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("ride horse\n\n  hold   bicycle \nride horse\n")
    (tmp_path / "mine.json").write_bytes(orjson.dumps({"seed": 1, "held_out": ["hold bicycle", "ride horse"]}))
    one, other = (read_truth_file(INSTANCES, split=str(tmp_path / f"mine.{kind}")) for kind in ("txt", "json"))
    assert one.class_split is not None
    labels = one.classes.labels
    assert {labels[i] for i in np.flatnonzero(one.class_parts["unseen"])} == {"ride horse", "hold bicycle"}
    assert one.class_parts["seen"].sum() == 598
    assert one.signature_fields() == other.signature_fields()
    assert (one.signature_fields()["class-split"], one.split) == ("mine", "test2015/part")


@pytest.mark.parametrize(
    ("content", "values"),
    [
        ("ride horse\nride hors\n", "class 2: … 'ride hors' … hico-det … ride horse?"),
        ("\n", "0 of 600 classes"),
        ('{"held_out": [1]}', "held_out: … [1] … list"),
        ('["ride horse"]', "JSON list … split.json"),
        ('{"unseen": []}', "held_out: … none … list"),
    ],
)
def test_what_is_no_class_is_named(tmp_path: Path, content: str, values: str) -> None:
    (tmp_path / "mine.txt").write_text(content)
    with pytest.raises(InputError, match=mentions(values)):
        read_truth_file(INSTANCES, split=str(tmp_path / "mine.txt"))


def test_a_name_that_no_file_can_have_is_no_split() -> None:
    with pytest.raises(OptionError, match="contains no split"):
        read_truth_file(INSTANCES, split="a" * 5000)


@pytest.mark.slow
def test_a_run_by_a_file_is_verified_without_it(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("ride horse\nhold bicycle\n")
    words = ("score", PREDICTIONS["detector"], "-g", TRUTH, "--split", tmp_path / "mine.txt")
    assert run(*words, "--save", tmp_path / "a.shoe").returncode == 0
    (tmp_path / "mine.txt").unlink()
    done = run("verify", tmp_path / "a.shoe", PREDICTIONS["detector"], "-g", TRUTH)
    assert (done.returncode, done.stderr) == (0, "")
