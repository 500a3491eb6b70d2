"""Datasets as people meet them: the list, cards, splits of classes, and what a folder has."""

import gzip
from pathlib import Path
from typing import Any

import orjson
import pytest

from shoe.benchmarks import benchmark, benchmark_names
from shoe.benchmarks.base import IMAGE_LABELS
from shoe.demo import PREDICTIONS
from tests.benchmarks.forms import as_hake
from tests.benchmarks.samples import INSTANCES, parsed
from tests.cli.run import refused, run


def as_json(*words: str | Path) -> Any:
    return orjson.loads(run("dataset", *words, "--json", "-").stdout)


@pytest.mark.slow
def test_the_list_has_every_benchmark() -> None:
    found = {each["name"]: each for each in as_json("list")["datasets"]}
    assert set(benchmark_names()) <= set(found)
    assert (found["hico-det"]["classes"], found["hico-det"]["class_splits"][0]) == (600, "rf-uc")
    shown = run("dataset", "list").stdout
    assert all(name in shown for name in found)


@pytest.mark.parametrize("name", benchmark_names())
def test_a_card_says_where_to_get_what_was_published(name: str) -> None:
    of, card = benchmark(name), as_json("info", name)
    known = {IMAGE_LABELS, *of.published, *(split.partition(",")[0] for split in of.published)}
    if of.published:
        assert {file["holds"] for file in card["files"]} <= known
    shown = " ".join(run("dataset", "info", name).stdout.split())
    assert card["title"].split()[0] in shown
    assert all(file["name"] in shown for file in card["files"])


@pytest.mark.slow
def test_a_split_of_classes_is_described() -> None:
    found = as_json("info", "uc0")
    assert found["parts"]["unseen"] == {"classes": 120, "no_interaction": 21, "rare": 25}
    assert len(found["lost_verbs"]) == 9
    assert found["lost_objects"] == []
    lines = run("dataset", "info", "uc0").stdout.splitlines()
    assert lines[-5].startswith("unseen     9 verbs ")
    assert "block, check, flip, greet" in lines[-5]
    assert lines[-4] == "unseen     every object is in a seen class"


def test_what_is_neither_dataset_nor_split_nor_file_is_said_in_a_line(tmp_path: Path) -> None:
    refused(run("dataset", "info", "uc9"), "'uc9'")
    refused(run("dataset", "check", tmp_path / "nothing"), "found no folder, expected the folder")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "annotations").mkdir()
    (tmp_path / "annotations" / "truth of mine.json").write_bytes(INSTANCES.read_bytes())
    document = parsed(INSTANCES)
    document["filenames"] = [name.replace("test", "train") for name in document["filenames"]]
    (tmp_path / "annotations" / "b.json").write_bytes(orjson.dumps(as_hake(document)))
    (tmp_path / "detector.json").write_bytes(PREDICTIONS["detector"].read_bytes())
    (tmp_path / "instances_test2015.json").write_bytes(INSTANCES.read_bytes()[:-50])
    (tmp_path / "notes.txt").write_text("bought milk\n")
    (tmp_path / "a.jpg").write_bytes(b"")
    return tmp_path


def test_a_folder_is_known_by_what_is_in_its_files(folder: Path) -> None:
    found = as_json("check", folder)
    files = {file.pop("file"): file for file in found["files"]}
    assert {name: file.get("kind") for name, file in files.items()} == {
        "annotations/b.json": "ground truth",
        "annotations/truth of mine.json": "ground truth",
        "detector.json": "predictions",
        "instances_test2015.json": None,
        "notes.txt": None,
    }
    assert files["annotations/truth of mine.json"]["published"]["differs"]["images"] == {"found": 28, "published": 9658}
    assert files["annotations/b.json"]["holds"] == "train2015"
    assert "found the end of the file" in files["instances_test2015.json"]["problem"]
    assert found["pictures"] == 1
    assert [each["holds"] for each in found["missing"]] == [
        IMAGE_LABELS,
        "test_hico_sg1",
        "test_hico_sg2",
        "test_hico_sg3",
    ]
    assert found["commands"] == [f"shoe score PREDICTIONS --ground-truth '{folder}/annotations/truth of mine.json'"]


def test_a_folder_is_told_in_words(folder: Path) -> None:
    lines = run("dataset", "check", folder).stdout.splitlines()
    assert lines[0] == f"{folder}: 5 files, 1 picture"
    assert any("not as published: images 28, not 9,658" in line for line in lines)
    assert any(line.startswith("missing    image labels") and "anno.mat" in line for line in lines)
    assert lines[-1] == "not read   notes.txt"


def test_what_is_cut_off_is_said_so_and_problems_are_problems(tmp_path: Path) -> None:
    (tmp_path / "early.json").write_bytes(INSTANCES.read_bytes()[:50])
    (tmp_path / "half.json.gz").write_bytes(gzip.compress(INSTANCES.read_bytes())[:2000])
    (tmp_path / "val.json").write_text('[[[{"im_path": "HICO_test2015_1.jpg", "crop_bbox": []}], [], 0, ""]]')
    lines = run("dataset", "check", tmp_path).stdout.splitlines()
    assert lines[1].startswith("also       early.json: cannot be read: line 1, column 51: found the end of the file")
    assert lines[2].startswith("also       half.json.gz: cannot be read: found damaged gzip data")
    assert lines[3].startswith("also       val.json: Bongard problems")
    assert "shoe bongard score" in lines[3]


@pytest.mark.slow
@pytest.mark.real_data
def test_real_folders_are_whole(shared_data: Path) -> None:
    for name, holds in (("hico_det", {"test2015", IMAGE_LABELS}), ("hico_det_train", {"train2015", ""})):
        found = as_json("check", shared_data / name)
        known = [file for file in found["files"] if "dataset" in file and "problem" not in file]
        assert {file["holds"] for file in known} == holds - {""}
        assert all(file["published"]["matches"] for file in known if "published" in file)
