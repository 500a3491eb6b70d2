"""Predictions with an invalid box or score are refused, left out or kept, in every format and from arrays."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoe
from shoe.core.errors import InputError
from shoe.core.interactions import Interactions, concatenate
from shoe.demo import PREDICTIONS, TRUTH
from shoe.diagnosis.diagnose import diagnose
from shoe.predictions import read_predictions, read_predictions_with_notes, write_predictions
from shoe.predictions.formats.qpic import read_action_scores
from shoe.scoring.file_options import ScoringOptions
from tests.errors import input_error, option_error
from tests.predictions import samples
from tests.predictions.reading import write_lines
from tests.scoring import v_coco
from tests.scoring.v_coco import NAN

NAN_BOX, INF_BOX, FLAT, REVERSED = [NAN] * 4, [0, 0, np.inf, 9], [5.0, 5, 5, 9], [50.0, 50, 10, 10]
CSV = "image,hx1,hy1,hx2,hy2,ox1,oy1,ox2,oy2,verb,object,score"
ROW = 5  # the last triplet of the first image, which its official formats keep last, too


def with_box(table: Interactions, box: list[float], part: str = "object_boxes", row: int = ROW) -> Interactions:
    boxes: dict[str, Any] = {part: getattr(table, part).copy()}
    boxes[part][row] = box
    return replace(table, **boxes)


def file_of(table: Interactions, name: str, folder: Path) -> Path:
    path = folder / name
    if name in (made := samples.files(table)):
        path.write_bytes(made[name])
    else:
        write_predictions(table, path, samples.SAMPLES[name])
    return path


def matches_nothing(table: Interactions, row: int) -> bool:
    boxes = np.stack([table.human_boxes[row], table.object_boxes[row]])
    return bool((boxes[:, 2:] < 0).all())


WITHOUT_WORDS = [name for name in samples.SAMPLES if name != "phrases.jsonl"]
NOT_FINITE = [NAN_BOX, INF_BOX, [NAN, 1, 2, 3], [-np.inf, 0, 9, 9]]
OF_NUMBERS = ("qpic.json", "hoidet.pkl", "flat.csv", "flat.jsonl", "flat.parquet", "detections.mat")


@pytest.mark.parametrize(
    ("name", "box", "part"),
    [
        # Pixel indices in cells may have equal corners.
        *((name, FLAT, "object") for name in WITHOUT_WORDS if name != "detections.mat"),
        *((name, REVERSED, "object") for name in WITHOUT_WORDS),
        *((name, box, "human") for name in OF_NUMBERS for box in NOT_FINITE),
    ],
)
def test_each_format_can_leave_out_or_keep_a_bad_box(name: str, box: list[float], part: str, tmp_path: Path) -> None:
    bad, sizes = with_box(samples.base(), box, f"{part}_boxes"), samples.sizes(samples.base())
    path = file_of(bad, name, tmp_path)
    if name == "qpic.json":  # NaN as Python writes it
        path.write_text(json.dumps(samples.qpic_records(bad)))
    if name not in ("replies.jsonl", "grouped.json"):  # items of raw replies are left out anyway
        with input_error(f"{part} box: found"):
            read_predictions(path, sizes=sizes)
    dropped, counted = (read_predictions(path, sizes=sizes, bad_boxes=rule) for rule in ("drop", "count"))
    order = sorted if name in ("thid.pkl", "detections.mat") else list
    good = [row for number, row in enumerate(samples.rows(samples.base())) if number != ROW]
    assert order(samples.rows(dropped)) == order(good)
    assert (dropped.bad, counted.bad, len(counted)) == ({"drop": 1}, {"count": 1}, len(bad))
    assert np.isfinite([counted.human_boxes, counted.object_boxes]).all()
    assert sum(matches_nothing(counted, row) for row in range(len(bad))) == 1
    assert dropped.images == counted.images == bad.images


def test_a_missing_coordinate_is_a_bad_box(tmp_path: Path) -> None:
    """Pandas writes NaN as an empty field in CSV, and as null in JSON."""
    path, line = tmp_path / "a.csv", "a.jpg,0,0,9,9,{},1,8,8,ride,horse,{}"
    for ox1, score, left in (("", 0.5, 1), ("nan", 0.5, 1), ("NaN", 0.5, 1), ("2", "inf", 1), ("2", "nan", 2)):
        path.write_text("\n".join([CSV, line.format(1, 0.9), line.format(ox1, score)]))
        assert len(read_predictions(path, bad_boxes="drop")) == left
    record = dict(zip(CSV.split(","), ["a.jpg", 0, 0, 9, 9, 1, 1, 8, 8, "ride", "horse", 0.9], strict=True))
    lines = write_lines(tmp_path / "a.jsonl", record, record | {"ox1": None})
    with input_error("[nan, 1, 8, 8]", field="object box"):
        read_predictions(lines)
    assert len(read_predictions(lines, bad_boxes="drop")) == 1


@pytest.mark.parametrize("rule", ["refuse", "drop", "count"])
def test_scores_of_nan_in_all_rows_are_no_missing_scores(tmp_path: Path, rule: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"{CSV}\na.jpg,0,0,9,9,1,1,8,8,ride,horse,nan\n")
    with input_error("NaN", field="score"):
        read_predictions(path, bad_boxes=rule)


def test_scores_are_those_of_the_other_predictions(tmp_path: Path) -> None:
    """Drop: the score of the file without the prediction. Count: one more false positive, at its score."""
    truth, table = shoe.read_ground_truth(TRUTH), read_predictions(PREDICTIONS["detector"])
    table = table.select_images(np.arange(40))
    row = int(np.argmax(table.score))
    path = tmp_path / "bad.csv"
    write_predictions(with_box(table, FLAT, row=row), path, "csv")
    nowhere = table.human_boxes[row] + 1e5
    far = with_box(with_box(table, nowhere.tolist(), row=row), nowhere.tolist(), "human_boxes", row)
    for rule, same in (("drop", table.select(np.arange(len(table)) != row)), ("count", far)):
        scoring = ScoringOptions(ground_truth=Path(TRUTH), bad_boxes=rule, protocols=["all"])
        report, _ = scoring.report(path)
        expected = shoe.score(same, truth, protocols=["all"])
        assert [each.map for each in report.strict_results] == [each.map for each in expected.strict_results]
        semantic = [(each.semantic.map, each.semantic.mf1) for each in (report, expected) if each.semantic]
        assert semantic == [semantic[0]] * 2
        assert dict(report.signature.items)["bad-boxes"] == f"{rule} 1"
        assert report.warnings[0].startswith("bad boxes: 1 prediction ")
        assert report.warnings[0].endswith(f"(`--bad-boxes {rule}`)")
    assert "bad-boxes" not in dict(shoe.score(table, truth).signature.items)


def test_interaction_scores_stay_with_their_triplets(tmp_path: Path) -> None:
    records = samples.qpic_records(samples.base())
    records[0]["predictions"][2 * ROW]["bbox"] = FLAT
    for number, hoi in enumerate(hoi for record in records for hoi in record["hoi_prediction"]):
        hoi["action_score"] = number / 100
    path = write_lines(tmp_path / "a.json", records)
    table, notes = read_predictions_with_notes(path, bad_boxes="drop")
    scores = read_action_scores(path, kept=notes.kept)
    assert scores is not None
    assert scores.tolist() == [number / 100 for number in range(len(table) + 1) if number != ROW]
    found = diagnose(table, shoe.read_ground_truth(TRUTH), similarity=None, action_scores=scores, notes=notes)
    assert found.warnings[0].startswith("bad boxes: 1 prediction ")
    assert (found.facts["bad-boxes"], found.pairs.predictions > 0) == ("drop 1", True)


def columns(**changes: Any) -> dict[str, Any]:
    """Columns of three triplets in two images, in an order that is not by image."""
    boxes = np.array([[0, 0, 9, 9], [1, 1, 8, 8], [2, 2, 7, 7]], float)
    names = {"images": ["a.jpg", "b.jpg"], "verbs": ["ride"], "objects": ["horse"]}
    zero = np.zeros(3, int)
    rows = {"image": [1, 0, 1], "human_boxes": boxes, "object_boxes": boxes, "verb": zero, "object": zero}
    return {**names, **rows, "score": [0.9, 0.8, 0.7], **changes}


@pytest.mark.parametrize(
    ("changes", "bad"),
    [
        ({"score": [NAN, 0.8, 0.7]}, 0),
        ({"score": [0.9, np.inf, 0.7]}, 1),
        ({"human_boxes": [[0, 0, 9, 9], [1, 1, 8, 8], FLAT]}, 2),
        ({"object_boxes": [NAN_BOX, [1, 1, 8, 8], [2, 2, 7, 7]]}, 0),
    ],
)
def test_arrays_can_have_bad_rows(changes: dict[str, Any], bad: int) -> None:
    with pytest.raises(InputError):
        Interactions.from_columns(**columns(**changes))
    dropped = Interactions.from_columns(**columns(**changes), bad_boxes="drop")
    good = [row for row in (1, 0, 2) if row != bad]  # by image
    assert dropped.human_boxes.tolist() == columns()["human_boxes"][good].tolist()
    assert dropped.image.tolist() == [columns()["image"][row] for row in good]
    counted = Interactions.from_columns(**columns(**changes), bad_boxes="count")
    place = [1, 0, 2].index(bad)
    assert (dropped.bad, counted.bad, len(counted)) == ({"drop": 1}, {"count": 1}, 3)
    assert matches_nothing(counted, place) == ("score" not in changes)
    if "score" in changes:
        assert counted.score[place] == 0
        assert counted.score.argmin() == place


def test_an_invalid_score_ranks_below_logits_in_every_batch_and_unknown_rules_are_refused() -> None:
    one = Interactions.from_columns(**columns(score=[-3, NAN, -2]), bad_boxes="count")
    two = Interactions.from_columns(**columns(score=[-3e9, 2, 1], images=["c.jpg", "d.jpg"]))
    both = concatenate([one, two])
    assert (int(both.score.argmin()), both.bad) == (0, {"count": 1})
    with option_error("bad boxes", "'ignore'"):
        read_predictions(PREDICTIONS["detector"], bad_boxes="ignore")
    with option_error("count, drop, refuse"):
        Interactions.from_columns(**columns(), bad_boxes="keep")


def test_kept_boxes_overlap_no_other_kept_box() -> None:
    count = 1000
    boxes = np.tile([5.0, 5, 5, 9], (count, 1))
    zero = np.zeros(count, int)
    table = Interactions.from_columns(
        images=["a.jpg"], image=zero, human_boxes=boxes, object_boxes=boxes + np.nan, verb=zero, object=zero,
        verbs=["ride"], objects=["horse"], bad_boxes="count",
    )  # fmt: skip
    assert table.human_boxes.astype(np.float32).tolist() == table.human_boxes.tolist()
    left = np.sort(table.human_boxes[:, 0])
    assert (left[1:] >= np.sort(table.human_boxes[:, 2])[:-1]).all()
    assert shoe.read_ground_truth(TRUTH).interactions.human_boxes.min() > table.human_boxes.max()


def test_nothing_changes_without_bad_rows_except_the_signature() -> None:
    truth, table = shoe.read_ground_truth(TRUTH), read_predictions(PREDICTIONS["detector"])
    for rule in ("drop", "count"):
        same = read_predictions(PREDICTIONS["detector"], bad_boxes=rule)
        assert same.equals(table)
        report = shoe.score(same, truth)
        assert dict(report.signature.items)["bad-boxes"] == f"{rule} 0"
        assert not any("bad boxes" in line for line in report.warnings)


def test_a_wrong_convention_is_still_reported(tmp_path: Path) -> None:
    """Boxes as x, y, width, height have no area as corners: a third of the file is left."""
    truth, table = shoe.read_ground_truth(TRUTH), read_predictions(PREDICTIONS["detector"])
    human, target = (np.hstack([b[:, :2], b[:, 2:] - b[:, :2]]) for b in (table.human_boxes, table.object_boxes))
    path = tmp_path / "a.csv"
    write_predictions(replace(table, human_boxes=human, object_boxes=target), path, "csv")
    with input_error("--boxes xywh"):
        read_predictions_with_notes(path, truth=truth.interactions)
    for rule in ("drop", "count"):
        read, notes = read_predictions_with_notes(path, truth=truth.interactions, bad_boxes=rule)
        warnings = shoe.score(read, truth, notes=notes).warnings
        assert "3,273 predictions" in warnings[0]
        assert any("--boxes xywh" in line for line in warnings)


def test_persons_of_v_coco_can_be_bad(tmp_path: Path) -> None:
    """An invalid person box is a false positive under count, and gone under drop; so is an invalid role box."""
    truths, said = v_coco.scene(3)
    first = next(each for image in said for each in image)
    first.box = NAN_BOX
    path = v_coco.write_pickle(said, tmp_path / "said.pkl")
    with input_error("person_box"):
        read_predictions(path, dataset="v-coco")
    dropped, counted = (read_predictions(path, dataset="v-coco", bad_boxes=rule) for rule in ("drop", "count"))
    assert [len(each.roles or ()) for each in (dropped, counted)] == [sum(map(len, said)) - 1, sum(map(len, said))]
    assert (dropped.bad, counted.bad) == ({"drop": 1}, {"count": 1})
    truth = shoe.read_ground_truth(v_coco.write_everything(truths, tmp_path / "truth.txt"), dataset="v-coco")
    first.box = [5000.0, 5000, 5001, 5001]
    far = read_predictions(v_coco.write_pickle(said, tmp_path / "far.pkl"), dataset="v-coco")
    left = [[each for each in image if each is not first] for image in said]
    without = read_predictions(v_coco.write_pickle(left, tmp_path / "left.pkl"), dataset="v-coco")
    for table, same in ((counted, far), (dropped, without)):
        both = [shoe.score(each, truth, protocols=["v-coco-agent", "v-coco-s1"]).role_results for each in (table, same)]
        for one, other in zip(*both, strict=True):
            assert np.array_equal(one.ap, other.ap, equal_nan=True)
