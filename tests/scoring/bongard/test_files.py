"""Problem files: the field's, our own, and what is none."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from shoe.core.interactions import Interactions
from shoe.scoring.bongard.problems import GROUPS, read_problems, write_problems
from shoe.scoring.bongard.score import Counting, accuracy, detections, oracle
from tests.errors import input_error
from tests.scoring.bongard.made import problems_of


def picture(name: str, verb: str = "ride") -> dict[str, Any]:
    return {
        "im_path": f"images/{name}.jpg",
        "crop_bbox": [10, 20, 110, 220],
        "sub_bbox": [5, 5, 50, 100],
        "obj_bbox": [20, 60, 90, 190],
        "act_class": verb,
        "obj_class": "horse",
    }


SIDES: list[Any] = [[picture(f"p{k}") for k in range(7)], [picture(f"n{k}", "feed") for k in range(7)]]
PROBLEM = [*SIDES, 17, "ride++horse"]


def test_boxes_of_a_picture_are_moved_into_the_image(tmp_path: Path) -> None:
    path = tmp_path / "val_unseen_obj_seen_act.json"
    path.write_bytes(orjson.dumps([PROBLEM, PROBLEM]))
    problems = read_problems(path)
    assert problems.groups == ("unseen_obj_seen_act",)
    assert problems.counts() == {"unseen_obj_seen_act": (1, 2, 14)}
    assert problems.concepts == [("ride", "horse")]
    row, regions = problems.positives[1, 6], problems.regions
    assert regions.images[regions.image[row]] == "images/p6.jpg"
    assert regions.human_boxes[row].tolist() == [15, 25, 60, 120]
    assert regions.object_boxes[row].tolist() == [30, 80, 100, 210]


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


def refused(path: Path, *problems: Any, again: bool = False) -> str:
    """The message about a file of problems, without the path."""
    path.write_bytes(problems[0] if isinstance(problems[0], bytes) else orjson.dumps(problems))
    with input_error(source=str(path)) as error:
        read_problems(path, *[path.parent / "." / path.name] * again)
    return str(error.value).removeprefix(f"{path}: ")


@pytest.mark.parametrize(
    ("change", "place", "found"),
    [
        (lambda p: p[0].pop(), "positives", "6 pictures, expected 7"),
        (lambda p: p[1][3].update(act_class="ride"), "negatives: picture 4", "'ride++horse'"),
        (lambda p: p[1][3].update(obj_class="cow"), "negatives: picture 4", "'feed++cow'"),
        (lambda p: p[0][3].update(act_class="feed"), "positives", "'ride++horse, feed++horse'"),
        (lambda p: p[0][2].update(sub_bbox=[5, 5, 5, 9]), "positives: picture 3: sub_bbox", "[5.0, 5.0"),
        (lambda p: p[0][2].update(crop_bbox=[0, 0, 9, 1e308]), "positives: picture 3: crop_bbox", ""),
        (lambda p: p[0][2].update(crop_bbox=[5, 5, 9]), "positives: picture 3: crop_bbox", "[5, 5, 9]"),
        (lambda p: p[1][6].pop("im_path"), "negatives: picture 7: im_path", "only"),
        (lambda p: p.__delitem__(slice(1, None)), "", "a list of 1, expected [positives, negatives, number"),
    ],
)
def test_what_is_no_problem_is_said_in_one_line(
    change: Callable[[Any], object], place: str, found: str, tmp_path: Path
) -> None:
    broken = deepcopy(PROBLEM)
    change(broken)
    message = refused(tmp_path / "val_seen_obj_seen_act.json", PROBLEM, broken)
    assert message.startswith(f"problem 2: {place}{': ' * bool(place)}found {found}")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("content", "says"), [(b"[]", "no problems"), (b"{}", "an object of 0"), (b"[[[", "JSON"), (b"[3]", "1: found 3")]
)
def test_what_is_no_file_of_problems(content: bytes, says: str, tmp_path: Path) -> None:
    assert says in refused(tmp_path / "x.json", content)


def test_a_file_is_given_once(tmp_path: Path) -> None:
    assert "same file twice" in refused(tmp_path / "x.json", PROBLEM, again=True)


@pytest.mark.slow
@pytest.mark.real_data
def test_the_cleaned_validation_problems(shared_data: Path, tmp_path: Path) -> None:
    problems = read_problems(*(shared_data / "bongard_hoi" / f"val_clean_{group}.json.gz" for group in GROUPS))
    counts = ((78, 694, 4467), (31, 462, 2649), (16, 155, 1251), (11, 166, 1314))
    assert problems.counts() == dict(zip(GROUPS, counts, strict=True))
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
    imperfect = {name: group.accuracy for name, group in found.groups.items() if group.accuracy < 1}
    assert imperfect == {"seen_obj_unseen_act": 308 / 310}
    outcomes = found.groups["seen_obj_unseen_act"].outcomes
    assert (outcomes.right, outcomes.nothing_left, sum(outcomes.to_dict().values())) == (308, 2, 310)
