"""Detectors through transformers' own classes: boxes of pictures of any size, in batches, gone on with after a kill."""

import multiprocessing
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from shoe.benchmarks import benchmark
from shoe.predict.detection_files import DETECTIONS, read_detections, usual_names
from shoe.predict.detector import Detector, DetectorConfig, batches_of_one_size, detect_all
from shoe.predict.images import Picture
from shoe.predict.records import Detected, Detection, read_lines
from tests.errors import input_error, option_error
from tests.predict.made import made_pictures
from tests.predict.tiny_detectors import detr, owl, rt_detr

pytestmark = pytest.mark.slow
HICO = benchmark("hico-det")
LABELS = ["person", "bicycle", "N/A", "potted plant", "zebra fish"]
MADE = {"detr": detr, "rt_detr": rt_detr}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("detectors")


def loaded(folder: Path, name: str, batch_size: int = 8) -> Detector:
    path = folder / name
    if not path.exists():
        MADE[name](path, LABELS) if name in MADE else owl(path)
    words = ("person", "bicycle") if name == "owl" else ()
    return Detector(DetectorConfig(model=str(path), words=words, threshold=0.0, batch_size=batch_size))


@pytest.mark.parametrize("name", ["detr", "rt_detr", "owl"])
def test_boxes_of_a_batch_are_those_of_each_picture_alone(name: str, folder: Path) -> None:
    detector = loaded(folder, name)
    images = [Image.effect_noise((80, 48), 90 + n).convert("RGB") for n in range(3)]
    together = detector.detect(images)
    for image, found in zip(images, together, strict=True):
        [alone] = detector.detect([image])
        assert len(found) == len(alone) > 1
        assert near(found, alone)
        corners = np.array([one.box for one in found]).reshape(-1, 2, 2)
        assert ((corners >= 0) & (corners <= (80, 48))).all()
        assert (corners[:, 0] < corners[:, 1]).all()
        assert {one.label for one in found} <= {*detector.labels}
    assert [one.score for one in together[0]] == sorted((one.score for one in together[0]), reverse=True)


def near(some: Sequence[Detection], others: Sequence[Detection]) -> bool:
    ours, theirs = (np.array(sorted((*one.box, one.score) for one in each)) for each in (some, others))
    return bool(np.allclose(ours, theirs, atol=0.02))


def test_boxes_follow_the_size_of_a_picture(folder: Path) -> None:
    detector = loaded(folder, "rt_detr")  # which sees every picture as a square
    small = Image.new("RGB", (64, 64), (200, 90, 40))
    [of_small], [of_large] = detector.detect([small]), detector.detect([small.resize((128, 256))])
    ours, theirs = (np.array([(one.score, *one.box) for one in each]) for each in (of_small, of_large))
    assert len(ours) > 1
    assert np.allclose(ours * [1, 2, 4, 2, 4], theirs, atol=0.03)


def some_pictures(folder: Path) -> list[Picture]:
    return [
        *made_pictures(folder / "pictures", [f"{n}.png" for n in range(5)]),
        *made_pictures(folder / "pictures", [f"{n}.png" for n in range(5, 8)], (48, 80)),
    ]


def test_a_file_is_gone_on_with_and_read_by_name(folder: Path, tmp_path: Path) -> None:
    pictures, path = some_pictures(tmp_path), tmp_path / "detections.jsonl"
    detector = loaded(folder, "detr", batch_size=2)
    detect_all(pictures[:3], detector, path)
    before = path.read_bytes()
    told: list[int] = []
    detect_all(pictures, detector, path, told.append)
    assert set(before.splitlines()) <= set(path.read_bytes().splitlines())
    assert told == [3, 5, 6, 8]
    by, records = read_lines(path, Detected, DETECTIONS)
    assert sorted(record.image for record in records) == [picture.name for picture in pictures]
    assert by["threshold"] == 0
    read = read_detections(path, pictures, usual_names(HICO), HICO)
    assert set(read.unknown) <= {"N/A", "zebra fish"}
    labels = {one.label for of in read.pictures.values() for one in of.detections}
    assert labels <= {"person", "bicycle", "potted_plant"}
    other = loaded(folder, "detr", batch_size=8)
    detect_all(pictures, other, path)  # how many at once is no other way
    with input_error("threshold 0.0", "0.5"):
        detect_all(pictures, Detector(DetectorConfig(model=str(folder / "detr"), threshold=0.5)), path)


def test_killed_at_any_picture_it_ends_with_the_same_file(folder: Path, tmp_path: Path) -> None:
    pictures, path, whole = some_pictures(tmp_path), tmp_path / "killed.jsonl", tmp_path / "whole.jsonl"
    detector = loaded(folder, "detr", batch_size=1)
    detect_all(pictures, detector, whole)
    for after in (2, 5):
        killed = multiprocessing.get_context("fork").Process(target=_die_after, args=(pictures, detector, path, after))
        killed.start()
        killed.join()
        assert killed.exitcode == 9
    detect_all(pictures, detector, path)
    assert path.read_bytes() == whole.read_bytes()


def _die_after(pictures: list[Picture], detector: Detector, path: Path, count: int) -> None:
    detector.torch.set_num_threads(1)
    detect_all(pictures, detector, path, lambda done: os._exit(9) if done >= count else None)


def test_what_is_no_detector_is_one_line(folder: Path, tmp_path: Path) -> None:
    with option_error("cannot be loaded"):
        Detector(DetectorConfig(model=str(tmp_path / "nowhere")))
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with option_error("type bert", "object detection"):
        Detector(DetectorConfig(model=str(tmp_path)))


def test_batches_hold_one_size_each(tmp_path: Path) -> None:
    batches = list(batches_of_one_size(some_pictures(tmp_path), 2))
    assert [len(batch) for batch in batches] == [2, 1, 2, 2, 1]
    assert all(len({(one.width, one.height) for one in batch}) == 1 for batch in batches)
