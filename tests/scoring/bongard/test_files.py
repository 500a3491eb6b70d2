"""Problem files: the field's, our own, and what is none."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from shoe.core.errors import InputError
from shoe.core.interactions import Interactions
from shoe.scoring.bongard.problems import read_problems, write_problems
from shoe.scoring.bongard.score import Counting, accuracy, detections, oracle
from tests.scoring.bongard.made import problems_of

GROUPS = ("seen_obj_seen_act", "unseen_obj_seen_act", "seen_obj_unseen_act", "unseen_obj_unseen_act")


def picture(name: str, verb: str = "ride") -> dict[str, Any]:
    return {
        "im_path": f"images/{name}.jpg",
        "crop_bbox": [10, 20, 110, 220],
        "sub_bbox": [5, 5, 50, 100],
        "obj_bbox": [20, 60, 90, 190],
        "act_class": verb,
        "obj_class": "horse",
    }


PROBLEM: list[Any] = [
    [picture(f"p{k}") for k in range(7)],
    [picture(f"n{k}", "feed") for k in range(7)],
    17,
    "ride++horse",
]


def test_boxes_of_a_picture_are_moved_into_the_image(tmp_path: Path) -> None:
    path = tmp_path / "val_unseen_obj_seen_act.json"
    path.write_bytes(orjson.dumps([PROBLEM, PROBLEM]))
    problems = read_problems(path)
    assert problems.groups == ("unseen_obj_seen_act",)
    assert problems.counts() == {"unseen_obj_seen_act": (1, 2, 14)}
    assert problems.concepts == [("ride", "horse")]
    row = problems.positives[1, 6]
    assert problems.regions.images[problems.regions.image[row]] == "images/p6.jpg"
    assert problems.regions.human_boxes[row].tolist() == [15, 25, 60, 120]
    assert problems.regions.object_boxes[row].tolist() == [30, 80, 100, 210]


def test_what_is_written_reads_the_same(tmp_path: Path) -> None:
    made = problems_of(5, GROUPS)
    paths = write_problems(made, tmp_path / "new", "toy", "here/")
    assert [path.name for path in paths] == [f"toy_{group}.json" for group in GROUPS]
    read = read_problems(*reversed(paths))
    assert read.counts() == made.counts()
    assert read.regions.images[0] == "here/folder/042.jpg"  # the last group's first problem
    assert {tuple(box) for box in read.regions.crops.tolist()} == {(10, 10, 110, 110)}
    assert orjson.loads(paths[1].read_bytes())[0][2:] == [0, "ride++horse"]


def test_files_of_an_earlier_build_do_not_stay_beside_new_ones(tmp_path: Path) -> None:
    write_problems(problems_of(2, GROUPS[:2]), tmp_path, "toy")
    (tmp_path / "mine_seen_obj_seen_act.json").touch()
    write_problems(problems_of(1, GROUPS[2:3]), tmp_path, "toy")
    names = {f"toy_{GROUPS[2]}.json", "mine_seen_obj_seen_act.json"}
    assert {path.name for path in tmp_path.iterdir()} == names


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p[0].pop(), "problem 2: positives: found 6 pictures, expected 7: 6 pictures and a query"),
        (lambda p: p[1][3].update(act_class="ride"), "problem 2: negatives: picture 4: found 'ride++horse', expected"),
        (lambda p: p[1][3].update(obj_class="cow"), "problem 2: negatives: picture 4: found 'feed++cow', expected"),
        (
            lambda p: p[0][3].update(act_class="feed"),
            "problem 2: positives: found 'ride++horse, feed++horse', expected one",
        ),
        (lambda p: p[0][2].update(sub_bbox=[5, 5, 5, 9]), "problem 2: positives: picture 3: sub_bbox: found [5.0, 5.0"),
        (lambda p: p[0][2].update(crop_bbox=[0, 0, 9, 1e308]), "problem 2: positives: picture 3: crop_bbox: found"),
        (lambda p: p[0][2].update(crop_bbox=[5, 5, 9]), "problem 2: positives: picture 3: crop_bbox: found [5, 5, 9]"),
        (lambda p: p[1][6].pop("im_path"), "problem 2: negatives: picture 7: im_path: found only"),
        (
            lambda p: p.__delitem__(slice(1, None)),
            "problem 2: found a list of 1, expected [positives, negatives, number",
        ),
    ],
)
def test_what_is_no_problem_is_said_in_one_line(change: Callable[[Any], object], message: str, tmp_path: Path) -> None:
    path = tmp_path / "val_seen_obj_seen_act.json"
    broken = deepcopy(PROBLEM)
    change(broken)
    path.write_bytes(orjson.dumps([PROBLEM, broken]))
    with pytest.raises(InputError) as error:
        read_problems(path)
    assert str(error.value).startswith(f"{path}: {message}")
    assert "\n" not in str(error.value)


def test_a_file_is_given_once(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(orjson.dumps([PROBLEM]))
    with pytest.raises(InputError, match="found the same file twice"):
        read_problems(path, tmp_path / "." / "x.json")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[]", "found no problems"),
        (b"{}", "found an object of 0, expected a list of Bongard problems"),
        (b"[[[", "found the end of the file, expected JSON"),
        (b"[3]", "problem 1: found 3, expected [positives, negatives"),
    ],
)
def test_what_is_no_file_of_problems(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_problems(path)
    assert message in str(error.value)


@pytest.mark.slow
@pytest.mark.real_data
def test_the_cleaned_validation_problems(shared_data: Path, tmp_path: Path) -> None:
    problems = read_problems(*(shared_data / "bongard_hoi" / f"val_clean_{group}.json.gz" for group in GROUPS))
    assert problems.counts() == {
        "seen_obj_seen_act": (78, 694, 4467),
        "unseen_obj_seen_act": (31, 462, 2649),
        "seen_obj_unseen_act": (16, 155, 1251),
        "unseen_obj_unseen_act": (11, 166, 1314),
    }
    assert len(problems) == 1477
    assert all(len(np.unique(images)) == 14 for images in problems.regions.image[problems.rows])
    again = read_problems(*write_problems(problems, tmp_path, "val"))
    assert again.counts() == problems.counts()
    # A detector that sees in each picture what it is annotated to show: all right, but for the one picture that two
    # problems annotate differently, once with the concept, among the negatives of the other.
    r = problems.regions
    perfect = Interactions.from_columns(
        images=r.images, image=r.image, human_boxes=r.human_boxes, object_boxes=r.object_boxes,
        verb=r.verb, object=r.object, verbs=r.verbs, objects=r.objects,
    )  # fmt: skip
    found = accuracy(problems, oracle(problems, detections(perfect, problems, Counting())))
    assert {name: group.accuracy for name, group in found.groups.items() if group.accuracy < 1} == {
        "seen_obj_unseen_act": 308 / 310
    }
    outcomes = found.groups["seen_obj_unseen_act"].outcomes
    assert (outcomes.right, outcomes.nothing_left, sum(outcomes.to_dict().values())) == (308, 2, 310)
