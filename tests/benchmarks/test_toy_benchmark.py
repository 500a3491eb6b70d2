"""A benchmark is one object: one that no code knows goes through reading, scoring and diagnosis."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

import shoe
from shoe.benchmarks.base import Benchmark, TruthFormat
from shoe.benchmarks.classes import ClassSplit, parse_classes
from shoe.benchmarks.scoring_options import StrictOptions
from shoe.core.interactions import Rows
from tests.mentions import mentions
from tests.present import present

CLASSES = """verb\tobject\tgerund\tverb_synset\tobject_synset\trare
hold\tcup\tholding\thold.v.02\tcup.n.01\t
walk\tdog\twalking\twalk.v.10\tdog.n.01\t
feed\tdog\tfeeding\tfeed.v.01\tdog.n.01\trare
"""


def read_lines(_path: str | Path, data: bytes, benchmark: Benchmark, _split: str | None) -> Rows:
    lines = [line.split() for line in data.decode().splitlines()[1:]]
    images = list(dict.fromkeys(benchmark.image_name(line[0]) for line in lines))
    boxes = np.array([line[3:] for line in lines], np.float64).reshape(-1, 8)
    verbs, objects = (sorted({line[i] for line in lines}) for i in (1, 2))
    return Rows(
        images=images,
        image=np.array([images.index(benchmark.image_name(line[0])) for line in lines]),
        human_boxes=boxes[:, :4],
        object_boxes=boxes[:, 4:],
        verbs=verbs,
        objects=objects,
        verb=np.array([verbs.index(line[1]) for line in lines]),
        object=np.array([objects.index(line[2]) for line in lines]),
    )


TOY = Benchmark(
    name="toy",
    load_classes=lambda: parse_classes(CLASSES, "toy"),
    formats=[TruthFormat("toy lines", "toy.txt", lambda data: data.startswith(b"toy"), read_lines)],
    image_name=lambda value: f"toy-{value}.png",
    load_object_ids=lambda: {7: "dog", 3: "cup"},
    object_numbers="toy",
    protocols={"toy": StrictOptions(protocol="toy")},
    default_protocols=("toy", "shoe"),
    class_splits={"new-dogs": lambda: ClassSplit.of_unseen("new-dogs", [2], 3, "made for these tests")},
)
TRUTH = """toy
1 walk dog 0 0 10 10 20 20 30 30
1 hold cup 0 0 10 10 5 5 9 9
2 feed dog 0 0 10 10 20 20 30 30
"""


@pytest.fixture
def truth(tmp_path: Path) -> shoe.GroundTruth:
    (tmp_path / "toy.txt").write_text(TRUTH)
    return shoe.read_ground_truth(tmp_path / "toy.txt", TOY)


@pytest.fixture
def predictions(tmp_path: Path) -> shoe.Interactions:
    boxes = [[0, 0, 10, 10], [20, 20, 30, 30], [5, 5, 9, 9]]
    labelled = [{"bbox": box, "category_id": label} for box, label in zip(boxes, (0, 0, 1), strict=True)]
    hois = [(0, 1, 2, 0.9), (0, 2, 0, 0.8)]  # verbs: feed, hold, walk
    fields = ("subject_id", "object_id", "category_id", "score")
    said = [dict(zip(fields, hoi, strict=True)) for hoi in hois]
    record = {"filename": 1, "predictions": labelled, "hoi_prediction": said}
    (tmp_path / "toy.json").write_bytes(msgspec.json.encode([record]))
    return shoe.read_predictions(tmp_path / "toy.json", dataset=TOY)


def test_it_is_read_in_its_own_names_and_numbers(truth: shoe.GroundTruth, predictions: shoe.Interactions) -> None:
    fields = {"data": "toy", "split": "toy", "images": "2", "truths": "3", "class-list": "3"}
    signed = truth.signature_fields()
    assert {name: signed.pop(name) for name in fields} == fields
    assert set(signed) == {"truth-sha", "class-list-sha"}
    assert truth.format == "toy lines"
    assert (truth.interactions.images, predictions.images) == (("toy-1.png", "toy-2.png"), ("toy-1.png",))
    rows = zip(predictions.verb, predictions.object, strict=True)
    assert [(predictions.verbs[v], predictions.objects[o]) for v, o in rows] == [("walk", "dog"), ("feed", "cup")]


def test_it_is_scored_by_its_own_protocols(truth: shoe.GroundTruth, predictions: shoe.Interactions) -> None:
    report = shoe.score(predictions, truth, similarity="identity", protocols=TOY.default_protocols)
    assert present(report.strict).map == pytest.approx(1 / 3)  # walk dog is found; hold cup and feed dog are not
    assert report.semantic is not None
    assert dict(report.signature.items)["strict.protocol"] == "toy"


def test_parts_of_its_classes_have_figures_of_their_own(tmp_path: Path, predictions: shoe.Interactions) -> None:
    (tmp_path / "toy.txt").write_text(TRUTH)
    plain, parted = (shoe.read_ground_truth(tmp_path / "toy.txt", TOY, split=split) for split in (None, "new-dogs"))
    figures = [shoe.score(predictions, truth, similarity="identity").to_dict() for truth in (plain, parted)]
    signatures = [each.pop("signature") for each in figures]
    assert f"|class-split:new-dogs|class-split-sha:{present(parted.class_split).digest}" in signatures[1]
    assert "class-split" not in signatures[0]
    # walk dog is found, hold cup and feed dog are not: one of two seen classes, none of one unseen.
    parts = {"unseen": {"map": 0.0, "classes": 1}, "seen": {"map": pytest.approx(0.5), "classes": 2}}
    strict, semantic = (figures[1].pop(part) for part in ("strict", "semantic"))
    assert (strict.pop("parts"), strict.pop("harmonic_mean")) == (parts, 0)
    assert {part: mean["classes"] for part, mean in semantic.pop("parts").items()} == {"unseen": 1, "seen": 2}
    assert semantic.pop("harmonic_mean") == 0
    assert figures[0] == figures[1] | {"strict": strict, "semantic": semantic}


def test_a_class_split_follows_labels_into_another_table(tmp_path: Path) -> None:
    (tmp_path / "toy.txt").write_text("toy\n1 feed dog 0 0 1 1 2 2 3 3\n")
    lines = CLASSES.splitlines(keepends=True)
    other = parse_classes("".join([lines[0], lines[3], lines[1], lines[2].replace("dog", "bus")]), "toy")
    parts = shoe.read_ground_truth(tmp_path / "toy.txt", TOY, classes=other, split="new-dogs").class_parts
    masks = {part: mask.tolist() for part, mask in parts.items()}
    assert masks == {"unseen": [True, False, False], "seen": [False, True, False]}


def test_its_errors_are_told_apart(truth: shoe.GroundTruth, predictions: shoe.Interactions) -> None:
    found = shoe.diagnose(predictions, truth)
    kinds = {"true_positive": 1, "missed_gt": 1, "false_positive": 1, "false_negative": 2}
    counts = {kind: count for kind, count in found.counts.items() if count}
    assert counts == kinds | {"interaction": 1}  # "feed cup" is on the boxes of hold cup


def test_a_benchmark_that_cannot_be_imported_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "broken" / "__init__.py"
    broken.parent.mkdir()
    broken.write_text("from shoe.nowhere import Thing\n")
    monkeypatch.setenv("SHOE_BENCHMARKS", str(tmp_path))
    for _ in range(2):
        with pytest.raises(shoe.InputError, match=mentions(f"{broken}: … ModuleNotFoundError … 'shoe.nowhere'")):
            shoe.benchmark("broken")
