"""The programs of docs/guides/fiftyone.md: labels are written, and FiftyOne's own reader of COCO files takes them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from shoe.demo import TRUTH

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
PAGE = Path(__file__).resolve().parent.parent / "docs" / "guides" / "fiftyone.md"
WRITE, SHOW = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    (tmp_path / "instances_test2015.json").write_bytes(TRUTH.read_bytes())
    (tmp_path / "predictions.json").write_bytes(TRUTH.with_name("vlm.jsonl").read_bytes())
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {}
    exec(WRITE, scope)
    return scope


def test_each_prediction_has_two_boxes_with_its_error(written: dict[str, Any]) -> None:
    document = json.loads(Path("labels.json").read_text())
    rows, predictions = document["annotations"], written["predictions"]
    assert len(rows) == 2 * len(predictions)
    persons = [row for row in rows if row["id"] % 2 == 0]
    assert {document["categories"][row["category_id"]]["name"] for row in persons} == {"person"}
    x1, y1, x2, y2 = predictions.human_boxes[7].tolist()
    assert persons[7]["bbox"] == pytest.approx([x1, y1, x2 - x1, y2 - y1])
    right = [row for row in persons if row["error"] == "true_positive"]
    # Diag-HOI and SHOE compare boxes by different rules, so that one of the 99 reaches 0.5 in only one of them.
    assert sorted(row["iou"] >= 0.5 for row in right)[:2] == [False, True]
    assert sum(row["similarity"] for row in right) / len(right) > 0.95
    wrong = [row["similarity"] for row in persons if row["error"] == "interaction"]
    assert 0 < sum(wrong) / len(wrong) < 1


def test_fiftyone_reads_the_labels(written: dict[str, Any]) -> None:
    coco = pytest.importorskip("fiftyone.utils.coco", reason="fiftyone is not installed")
    _, classes, _, images, annotations = coco.load_coco_detection_annotations("labels.json", extra_attrs=True)
    assert len(images) == 200
    (number,) = (number for number, image in images.items() if image["file_name"].endswith("00000025.jpg"))
    label = annotations[number][0].to_detection((images[number]["width"], images[number]["height"]), classes)
    assert label.label == "person"
    assert (label["error"], label["interaction"]) == ("object_box", "watching camel")
    assert label.bounding_box == pytest.approx([8 / 640, 166 / 480, 157 / 640, 306 / 480])
