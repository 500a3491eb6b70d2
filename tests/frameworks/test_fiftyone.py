"""Labels of ``shoe export fiftyone``, and the real FiftyOne, which reads them as the page about frameworks says."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import shoe
from shoe.demo import PREDICTIONS, TRUTH
from tests.cli.run import run
from tests.frameworks.task import program, succeeded


def exported(folder: Path, *options: str) -> dict[str, Any]:
    done = run("export", "fiftyone", PREDICTIONS["free text"], folder / "labels.json", "-g", TRUTH, *options)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads((folder / "labels.json").read_bytes())
    return found


def test_each_triplet_has_two_boxes_with_its_error(tmp_path: Path) -> None:
    document = exported(tmp_path)
    truth = shoe.read_ground_truth(TRUTH, dataset="hico-det")
    predictions = shoe.read_predictions(PREDICTIONS["free text"], truth=truth)
    rows, names = document["annotations"], {each["id"]: each["name"] for each in document["categories"]}
    assert [row["id"] for row in rows] == list(range(2 * (len(predictions) + len(truth.interactions))))
    assert all(a["pair"] == b["pair"] == a["id"] // 2 for a, b in zip(rows[::2], rows[1::2], strict=True))
    persons = [row for row in rows[::2] if row["source"] == "prediction"]
    assert {names[row["category_id"]] for row in rows[::2]} == {"person"}
    assert document["images"][persons[7]["image_id"]]["file_name"] == predictions.images[predictions.image[7]]
    x1, y1, x2, y2 = predictions.human_boxes[7].tolist()
    assert persons[7]["bbox"] == pytest.approx([x1, y1, x2 - x1, y2 - y1])
    errors = shoe.diagnose(predictions, truth, similarity=None)
    assert [row["error"] for row in persons] == errors.predictions_table()["error"].tolist()
    right = [row for row in persons if row["error"] == "true_positive"]
    # Diag-HOI and SHOE compare boxes by different rules, so that one of the 99 reaches 0.5 in only one of them.
    assert sorted(row["iou"] >= 0.5 for row in right)[:2] == [False, True]
    assert sum(row["similarity"] for row in right) / len(right) > 0.95
    wrong = [row["similarity"] for row in persons if row["error"] == "interaction"]
    assert 0 < sum(wrong) / len(wrong) < 1
    status = Counter(row["error"] for row in rows[::2] if row["source"] == "ground_truth")
    assert (status["found"], set(status)) == (len(right), {"found", "covered", "missed", ""})


def test_only_images_with_predictions(tmp_path: Path) -> None:
    assert len(exported(tmp_path, "--images-in-predictions")["images"]) == 155


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_fiftyone_reads_the_labels(tmp_path: Path) -> None:
    coco = pytest.importorskip("fiftyone.utils.coco", reason="fiftyone is not installed")
    exported(tmp_path)
    labels = str(tmp_path / "labels.json")
    _, classes, _, images, annotations = coco.load_coco_detection_annotations(labels, extra_attrs=True)
    assert len(images) == 200
    (number,) = (number for number, image in images.items() if image["file_name"].endswith("00000025.jpg"))
    label = annotations[number][0].to_detection((images[number]["width"], images[number]["height"]), classes)
    assert label.label == "person"
    assert (label["error"], label["interaction"]) == ("object_box", "watching camel")
    assert label.bounding_box == pytest.approx([8 / 640, 166 / 480, 157 / 640, 306 / 480])


@pytest.mark.slow
def test_the_program_of_the_page_shows_the_errors_in_fiftyone(tmp_path: Path) -> None:
    pytest.importorskip("fiftyone", reason="fiftyone is not installed")
    pillow = pytest.importorskip("PIL.Image")
    start = [sys.executable, "-c", "import fiftyone as fo; fo.Dataset()"]
    variables = {"HOME": str(tmp_path), "FIFTYONE_DATABASE_VALIDATION": "false"}
    started = subprocess.run(start, env=os.environ | variables, capture_output=True, text=True)
    if "could not be installed" in started.stderr:
        pytest.skip("FiftyOne has no MongoDB on this machine")
    document = exported(tmp_path)
    (tmp_path / "test2015").mkdir()
    for image in document["images"]:
        pillow.new("RGB", (image["width"], image["height"])).save(tmp_path / "test2015" / image["file_name"])
    shown = "print(len(errors), errors.count('interactions.detections'))"
    code = program("fiftyone").replace("fo.launch_app(errors)", shown)
    out = succeeded([sys.executable, "-c", code], tmp_path, **variables)
    rows = [row for row in document["annotations"] if row["error"] == "interaction"]
    assert out.split()[-2:] == [str(len({row["image_id"] for row in rows})), str(len(rows))]
