"""Splits of the classes of one's own, from a file."""

from pathlib import Path

import numpy as np
import orjson
import pytest

from shoe.benchmarks.truth import read_truth_file
from shoe.core.errors import InputError, OptionError
from shoe.demo import PREDICTIONS, TRUTH
from tests.benchmarks.samples import INSTANCES
from tests.cli.run import run
from tests.mentions import mentions


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
