"""``shoe dataset``: what a file holds, the list, cards, splits of classes, and what a folder has."""

import gzip
import re
import shlex
from pathlib import Path
from typing import Any

import orjson
import pytest

from shoe.benchmarks import benchmark, benchmark_names
from shoe.benchmarks.base import IMAGE_LABELS
from shoe.demo import PREDICTIONS
from tests.benchmarks.forms import as_bbox, as_hake, write_mat
from tests.benchmarks.samples import INSTANCES, PPDM, PPDM_MIXED, parsed
from tests.cli import run as cli
from tests.cli.run import output, refused, run


def printed(*arguments: str | Path, **environment: str) -> str:
    return output("dataset", *arguments, environment=environment)


def as_json(*arguments: str | Path) -> Any:
    return cli.as_json("dataset", *arguments)


def _rows(text: str) -> list[list[str]]:
    """Lines as their cells, which two spaces or more part."""
    return [re.split("   *", line.strip()) for line in text.splitlines() if line.strip()]


def test_info_prints_what_the_file_holds_and_what_was_published(tmp_path: Path) -> None:
    rows = _rows(printed("info", INSTANCES, "--json", tmp_path / "info.json"))
    assert rows[0] == [str(INSTANCES)]
    held = [
        *(["format", "hicodet instances JSON"], ["split", "test2015/part"], ["images", "28"]),
        *(["without triplets", "2"], ["triplets", "95"], ["classes with triplets", "44"]),
        *(["annotated box pairs", "95"], ["boxes", "pixel indices from 1 (28 images)"]),
        ["images", "28, published 9,658"],
    ]
    assert [row for row in held if row not in rows] == []
    values = {row[0].split(" ")[0]: row[-1] for row in rows}
    assert (values["overlapping"], values["merged"], values["published"]) == ("1", "75", "differs")
    for path, facts in (
        (INSTANCES, orjson.loads((tmp_path / "info.json").read_bytes())),
        (PPDM, as_json("info", PPDM)),
    ):
        found = facts["file"], facts["images"], facts["triplets"], facts["pairs"]["merged"]
        assert found == (str(path), 28, 95, 75)
        assert facts["published"]["differs"]["images"] == {"found": 28, "published": 9658}


def test_info_of_mixed_images_names_both_coordinates() -> None:
    output = printed("info", PPDM_MIXED)
    assert all(part in output for part in ("0 (14 images)", "1 (6 images)"))
    assert "published" not in output


@pytest.mark.slow
def test_stats_prints_a_table_each_of_objects_verbs_and_classes() -> None:
    rows = _rows(printed("stats", INSTANCES))
    kinds = ["objects", "verbs", "classes"]
    assert [row[0] for row in rows if "triplets" in row] == kinds
    assert len([row for row in rows if row[0] not in kinds and "─" not in row[0]]) == 797


def test_stats_as_json() -> None:
    counts = as_json("stats", INSTANCES)
    assert [len(counts[kind]) for kind in ("classes", "verbs", "objects")] == [600, 117, 80]
    assert counts["classes"][0].keys() == {"name", "triplets", "images", "rare"}


def test_nothing_is_cut_where_the_output_is_no_terminal_and_no_color_is_respected(tmp_path: Path) -> None:
    path = tmp_path / ("long-" * 40 + ".json")
    path.write_bytes(INSTANCES.read_bytes())
    text = printed("info", path, COLUMNS="40")
    assert path.name in text
    assert "fredzzhang/hicodet, instances_test2015.json" in text
    assert not {"…", "\x1b"} & set(text)
    assert "\x1b[3" not in printed("info", INSTANCES, FORCE_COLOR="1", NO_COLOR="1", TERM="xterm")


def test_the_split_asked_for_is_shown(tmp_path: Path) -> None:
    document = parsed(INSTANCES)
    train = {**document, "filenames": [name.replace("test", "train") for name in document["filenames"]]}
    path = write_mat(tmp_path / "anno_bbox.mat", bbox_test=as_bbox(document), bbox_train=as_bbox(train))
    for arguments, split in (((), "test2015/part"), (("--split", "train2015"), "train2015/part")):
        assert as_json("info", path, *arguments)["split"] == split
    refused(run("dataset", "info", path, "--split", "val"), "split 'val'")


@pytest.mark.parametrize("command", ["info", "stats"])
def test_a_broken_file_is_refused_and_writes_nothing(tmp_path: Path, command: str) -> None:
    (tmp_path / "broken.json").write_text('{"annotation": [')
    done = run("dataset", command, tmp_path / "broken.json", "--json", tmp_path / "out.json")
    refused(done, "broken.json: line 1", "JSON")
    assert not (tmp_path / "out.json").exists()


@pytest.mark.real_data
def test_the_real_test_set_is_what_was_published(shared_data: Path) -> None:
    rows = _rows(printed("info", shared_data / "hico_det" / "instances_test2015.json"))
    values = {row[0].split(" ")[0]: row[-1] for row in rows}
    assert (values["published"], values["merged"], values["overlapping"]) == ("matches", "22,012", "144")


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
    assert (len(found["lost_verbs"]), found["lost_objects"]) == (9, [])
    verbs, objects = run("dataset", "info", "uc0").stdout.splitlines()[-5:-3]
    assert found["lost_verbs"][:4] == ["block", "check", "flip", "greet"]
    assert re.match(f"unseen     9 verbs .*{', '.join(found['lost_verbs'][:4])}", verbs)
    assert re.match("unseen     every object ", objects)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    document = parsed(INSTANCES)
    document["filenames"] = [name.replace("test", "train") for name in document["filenames"]]
    files = {
        "annotations/truth of mine.json": INSTANCES.read_bytes(),
        "annotations/b.json": orjson.dumps(as_hake(document)),
        "detector.json": PREDICTIONS["detector"].read_bytes(),
        "instances_test2015.json": INSTANCES.read_bytes()[:-50],
        "notes.txt": b"bought milk\n",
        "a.jpg": b"",
    }
    (tmp_path / "annotations").mkdir()
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def test_a_folder_is_known_by_what_is_in_its_files(folder: Path) -> None:
    found = as_json("check", folder)
    files = {file.pop("file"): file for file in found["files"]}
    kinds = {name: file["kind"] for name, file in files.items() if "kind" in file}
    truths = dict.fromkeys(["annotations/b.json", "annotations/truth of mine.json"], "ground truth")
    assert (kinds, len(files)) == (truths | {"detector.json": "predictions"}, 5)
    assert files["annotations/truth of mine.json"]["published"]["differs"]["images"] == {"found": 28, "published": 9658}
    assert files["annotations/b.json"]["holds"] == "train2015"
    assert "of the file" in files["instances_test2015.json"]["problem"]
    assert found["pictures"] == 1
    assert [each["holds"] for each in found["missing"]] == [IMAGE_LABELS, *(f"test_hico_sg{n}" for n in (1, 2, 3))]
    (command,) = map(shlex.split, found["commands"])
    truth = f"{folder}/annotations/truth of mine.json"
    assert command == ["shoe", "score", "PREDICTIONS", "--ground-truth", truth]
    lines = printed("check", folder).splitlines()
    assert lines[0] == f"{folder}: 5 files, 1 picture"
    assert any("images 28, not 9,658" in line for line in lines)
    assert any(line.startswith("missing    image labels") and "anno.mat" in line for line in lines)
    assert lines[-1] == "not read   notes.txt"


def test_what_is_cut_off_is_said_so_and_problems_are_problems(tmp_path: Path) -> None:
    (tmp_path / "early.json").write_bytes(INSTANCES.read_bytes()[:50])
    (tmp_path / "half.json.gz").write_bytes(gzip.compress(INSTANCES.read_bytes())[:2000])
    (tmp_path / "val.json").write_text('[[[{"im_path": "HICO_test2015_1.jpg", "crop_bbox": []}], [], 0, ""]]')
    lines = run("dataset", "check", tmp_path).stdout.splitlines()
    patterns = (r"early\.json: .*line 1, column 51: ", r"half\.json\.gz: .*gzip", r"val\.json: .*shoe bongard score")
    for line, pattern in zip(lines[1:4], patterns, strict=True):
        assert re.match(f"also       {pattern}", line)


@pytest.mark.slow
@pytest.mark.real_data
def test_real_folders_are_whole(shared_data: Path) -> None:
    for name, holds in (("hico_det", {"test2015", IMAGE_LABELS}), ("hico_det_train", {"train2015"})):
        found = as_json("check", shared_data / name)
        known = [file for file in found["files"] if "dataset" in file and "problem" not in file]
        assert {file["holds"] for file in known} == holds
        assert all(file["published"]["matches"] for file in known if "published" in file)
