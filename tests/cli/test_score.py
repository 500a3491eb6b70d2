"""``shoe score`` as a user runs it: its output, its exit code and its files."""

import csv
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import time
from importlib import resources
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import numpy as np
import orjson
import pytest

from shoe.benchmarks.hico_det import PROTOCOLS as STRICT
from shoe.benchmarks.signature import Signature
from shoe.core.io.files import data_folder
from shoe.demo import PREDICTIONS, TRUTH
from shoe.scoring.score import NOTHING
from tests.benchmarks.forms import write_mat
from tests.cli import run as cli
from tests.cli.run import refused
from tests.scoring import v_coco

VLM, DETECTOR = PREDICTIONS["free text"], PREDICTIONS["detector"]
IMAGE = "HICO_test2015_00000025.jpg"
RECORD: dict[str, Any] = {"image": IMAGE, "human_box": [8, 166, 165, 472], "object_box": [134, 0, 406, 480]}
RECORD |= {"verb": "ride", "object": "horse", "score": 0.5}


def run(*arguments: str | Path, truth: Path = TRUTH) -> CompletedProcess[str]:
    return cli.run("score", *arguments, "--ground-truth", truth)


def as_json(*arguments: str | Path, truth: Path = TRUTH) -> dict[str, Any]:
    return cli.as_json("score", *arguments, "--ground-truth", truth)


def signed(report: dict[str, Any]) -> dict[str, str]:
    return dict(Signature.parse(report["signature"]).items)


@pytest.fixture(scope="module")
def usual() -> dict[str, Any]:
    return as_json(VLM)


def test_default_output_has_both_tables_and_a_signature(usual: dict[str, Any]) -> None:
    shown = cli.output("score", VLM, "-g", TRUTH)
    rows = {line.split()[0]: line.split()[1:] for line in shown.splitlines() if line.split()}
    strict, semantic = usual["strict"], usual["semantic"]
    figures = [strict["map"], strict["map_rare"], strict["map_non_rare"], strict["max_recall"]]
    assert rows["hico-det"][:-1] == [f"{100 * figure:.2f}" for figure in figures]
    names = ["map", "map_without_no_interaction", "mf1", "mf1_best_tau"]
    names += ["gt_miss_rate", "prediction_miss_rate", "no_overlap_rate"]
    assert rows["shoe"] == [f"{100 * semantic[name]:.2f}" for name in names]
    assert rows["signature"] == [Signature.parse(usual["signature"], STRICT).short()]


def test_all_protocols_are_shown_each_with_its_signature() -> None:
    title, *lines = run(VLM, "--protocol", "all", "--protocol", "hico-det").stdout.splitlines()
    assert title.startswith("hico-det · test2015/part · 200 images")
    shown = [line.split()[0] for line in lines if line.split()]
    assert [name for name in shown if name in (*STRICT, "shoe")] == [*STRICT, "shoe"]
    found = as_json(VLM, "--protocol", "all")["protocols"]
    assert [(each["protocol"], signed(each)["strict.protocol"]) for each in found] == [(name, name) for name in STRICT]


def test_json_to_standard_output_is_all_of_it_and_to_a_file_is_whole(tmp_path: Path) -> None:
    to_stdout = run(VLM, "--json", "-").stdout
    assert orjson.loads(to_stdout)["predictions"] == 383
    assert "SHOE-mAP" in cli.output("score", VLM, "-g", TRUTH, "--json", tmp_path / "report.json")
    assert (tmp_path / "report.json").read_text() == to_stdout
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_every_key_that_is_declared_is_written(tmp_path: Path) -> None:
    """That no other key is written, each call of a command sees."""
    declared = cli.declared_keys("score")
    outside = write(tmp_path / "outside.jsonl", [RECORD | {"score": 1.5}])
    rich = [as_json(VLM, "--protocol", "all", "--bounds", "--split", "rf-uc"), as_json(outside)]
    truths, predictions = v_coco.scene(1)
    by_person = v_coco.write_pickle(predictions, tmp_path / "said.pkl")
    written = v_coco.write_everything(truths, tmp_path / "truth.txt")
    rich.append(as_json(by_person, "--dataset", "v-coco", truth=written))
    assert declared - set().union(*(cli.keys_of(report, declared) for report in rich)) == {
        "semantic.components_share",  # needs a map with ratings of whole interactions
        "strict.parts.mf1",  # parts of strict and semantic figures are of one type
        "protocols.parts.mf1",
    }


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
    return path


def test_subset(usual: dict[str, Any]) -> None:
    found = as_json(VLM, "--subset", "single-pair")
    assert found["split"] == signed(found)["split"] == "test2015/part/single-pair"
    assert found["images"] < usual["images"]
    assert found["semantic"]["map"] != usual["semantic"]["map"]
    assert signed(found)["truth-sha"] != signed(usual)["truth-sha"]


def test_images_in_predictions(tmp_path: Path, usual: dict[str, Any]) -> None:
    """An image with an empty list is named; what is scored is no longer the split, and says so everywhere."""
    names = sorted({record["image"] for record in map(orjson.loads, VLM.read_bytes().splitlines())})
    filenames = orjson.loads(TRUTH.read_bytes())["filenames"]
    other = next(name for name in filenames if name not in names)
    path = write(tmp_path / "p.jsonl", [{"image": other, "interactions": []}])
    path.write_bytes(VLM.read_bytes() + path.read_bytes())
    whole, part = as_json(path), as_json(path, "--images-in-predictions")
    assert whole["semantic"] == usual["semantic"]
    assert (whole["images"], part["images"]) == (len(filenames), len(names) + 1)
    facts = {"covered_images": len(names), "named_images": len(names) + 1}
    assert facts.items() <= whole["profile"].items() & part["profile"].items()
    assert part["split"] == signed(part)["split"] == "test2015/part/images-in-predictions"
    assert signed(part)["truth-sha"] != signed(whole)["truth-sha"]
    assert part["semantic"]["map"] > whole["semantic"]["map"]
    _, words, _, images, truth, *_ = run(path).stdout.splitlines()
    assert words.endswith("of the dataset")
    assert truth.startswith("truth: ")
    assert "200 of 9,658 images" in truth
    assert re.match(f"{len(names)} of 200 images .* 1 more ", images)
    assert all(part in images for part in ("--images-in-predictions", "truth.within(predictions.images)"))
    lines = run(path, "--images-in-predictions").stdout.splitlines()
    assert lines[0].startswith("hico-det · test2015/part/images-in-predictions · ")
    assert re.match(f"{len(names)} of {len(names) + 1} images .* 1 more ", lines[3])
    assert "--images-in-predictions" not in lines[2]
    assert "split:test2015/part/images-in-predictions" in lines[-2]


def test_images_outside_the_scored_part_are_not_called_unknown(tmp_path: Path) -> None:
    """One of two files has few images; the other has more, also without extension, and an unknown image."""
    names = orjson.loads(TRUTH.read_bytes())["filenames"][:6]
    given = [*names[:2], *(name.removesuffix(".jpg") for name in names[2:4]), names[4], "other.jpg"]
    write(tmp_path / "few.jsonl", [RECORD | {"image": name} for name in names[:2]])
    write(tmp_path / "many.jsonl", [RECORD | {"image": name} for name in given for _ in "ab"])
    files = tmp_path / "few.jsonl", tmp_path / "many.jsonl"
    shown = cli.run("compare", *files, "-g", TRUTH, "--images-in-predictions", "--resamples", "0").stdout.splitlines()
    lines = [line.partition("images ")[2].split() for line in shown if line.startswith("many: images")]
    assert [(line[0], line[line.index("with") + 1]) for line in lines] == [("3", "6"), ("1", "2")]
    assert lines[1][4:6] == ["ground", "truth"]
    assert "ground" not in lines[0]


def test_results_of_bounds_are_printed_without_verbose() -> None:
    brief, verbose = (run(VLM, "--bounds", *more).stdout.splitlines() for more in ((), ("--verbose",)))
    keys = ("order ", "unrated ", "raters ")
    printed = [line for line in brief if line.startswith(keys)]
    assert sorted(line.split()[0] for line in printed) == ["order", "raters", "unrated"]
    assert [line for line in verbose if line.startswith(keys)] == printed
    assert not any(line.startswith(keys) for line in run(VLM).stdout.splitlines())
    assert len(brief) <= 40


def test_class_table(tmp_path: Path, usual: dict[str, Any]) -> None:
    """With rare and non-rare exchanged, so are the two means."""
    packaged = (resources.files("shoe.benchmarks") / "hico_det" / "classes.tsv").read_text("utf-8")
    header, *rows = packaged.splitlines()
    flag = header.split("\t").index("rare")
    cells = [row.split("\t") for row in rows]
    values = sorted({row[flag] for row in cells})
    assert len(values) == 2
    for row in cells:
        row[flag] = values[1 - values.index(row[flag])]
    (tmp_path / "classes.tsv").write_text("\n".join([header, *("\t".join(row) for row in cells)]) + "\n")
    found = as_json(VLM, "--classes", tmp_path / "classes.tsv")
    assert found["strict"]["map_rare"] == usual["strict"]["map_non_rare"]
    assert found["strict"]["map_non_rare"] == usual["strict"]["map_rare"]
    assert found["strict"]["map"] == usual["strict"]["map"]
    assert signed(found)["class-list-sha"] != signed(usual)["class-list-sha"]


@pytest.mark.parametrize(
    ("setting", "moved", "kept"),
    [("threshold=0.4", "semantic", "strict"), ("strict.threshold=0.9", "strict", "semantic")],
)
def test_options_change_their_part_and_their_field(usual: dict[str, Any], setting: str, moved: str, kept: str) -> None:
    found = as_json(VLM, "--option", setting)
    assert found[moved]["map"] != usual[moved]["map"]
    assert found[kept]["map"] == usual[kept]["map"]
    name, _, value = setting.partition("=")
    assert signed(found) == signed(usual) | {name: value}


def test_options_are_listed_without_any_file() -> None:
    shown = cli.output("score", "-o", "help")
    assert "strict.threshold " in shown
    assert run(VLM, "--option", "help").stdout == cli.run("score", "--option=help").stdout == shown


def test_boxes(tmp_path: Path, usual: dict[str, Any]) -> None:
    """The same boxes in another convention give the same figures, and a signature that names it."""
    records = [orjson.loads(line) for line in VLM.read_bytes().splitlines()]
    for record in records:
        for box in ("human_box", "object_box"):
            x1, y1, x2, y2 = record[box]
            record[box] = [x1, y1, x2 - x1, y2 - y1]
    found = as_json(write(tmp_path / "xywh.jsonl", records), "--boxes", "xywh")
    assert signed(found) == signed(usual) | {"boxes": "xywh"}
    assert (found["semantic"], found["strict"]) == (usual["semantic"], usual["strict"])
    boxes, images = run(VLM, "--boxes", "xywh").stdout.splitlines()[3:5]
    assert (boxes[:7], "--boxes xyxy" in boxes, "155 of 200 images" in images) == ("boxes: ", True, True)


def test_similarity(usual: dict[str, Any]) -> None:
    found = as_json(VLM, "--similarity", "identity")
    assert found["semantic"]["map"] < usual["semantic"]["map"]
    assert found["strict"] == usual["strict"]
    (changed,) = {k for k in signed(usual) if signed(found)[k] != signed(usual)[k]} - {"map-sha"}
    assert (changed, signed(found)["map"]) == ("map", "identity")


def test_format_and_dataset_may_be_said(usual: dict[str, Any]) -> None:
    assert as_json(VLM, "--format", "vlm", "--dataset", "hico-det", "--split", "test2015") == usual


def test_image_labels(tmp_path: Path) -> None:
    """Without labels images show the object of their boxes; by labels that name all classes, every image does."""
    names = sorted(set(orjson.loads(TRUTH.read_bytes())["filenames"]))
    cells = np.empty((len(names), 1), object)
    cells[:, 0] = names
    path = write_mat(tmp_path / "anno.mat", anno_test=np.ones((600, len(names))), list_test=cells)
    arguments = (DETECTOR, "-p", "hico-det", "-p", "hico-det-known-object")
    by_boxes, by_labels = as_json(*arguments), as_json(*arguments, "--image-labels", path)
    assert signed(by_boxes["protocols"][1])["strict.known-object"] == "boxes"
    assert signed(by_labels["protocols"][1])["strict.known-object"] == "labels"
    plain, known = by_labels["protocols"]
    assert known["map"] == plain["map"] == by_boxes["protocols"][0]["map"]
    assert by_boxes["protocols"][1]["map"] > plain["map"]


CSV = "image,hx1,hy1,hx2,hy2,ox1,oy1,ox2,oy2,verb,object,score\n"
ROW = f"{IMAGE},8,166,165,472,134,0,406,480,ride,horse,0.5\n"
QPIC: dict[str, Any] = {
    "filename": IMAGE,
    "predictions": [{"bbox": [8, 9, 50, 60], "category_id": 0}, {"bbox": [8, 9, 50, 60], "category_id": 17}],
    "hoi_prediction": [{"subject_id": 0, "object_id": 1, "category_id": 76, "score": 0.81}],
}


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("made-by-the-pickle",)


def qpic(**changes: Any) -> bytes:
    return orjson.dumps([QPIC | changes])


def record(**changes: Any) -> bytes:
    return orjson.dumps(RECORD) + b"\n" + orjson.dumps(RECORD | changes)


def row(**changes: str) -> bytes:
    """Two rows; in the second a text is another."""
    ((before, after),) = changes.items()
    return (CSV + ROW + ROW.replace(before, after)).encode()


def hoi(**changes: Any) -> bytes:
    return qpic(hoi_prediction=[QPIC["hoi_prediction"][0] | changes])


def hoi_without(key: str) -> bytes:
    return qpic(hoi_prediction=[{k: v for k, v in QPIC["hoi_prediction"][0].items() if k != key}])


BAD_PREDICTIONS: dict[str, tuple[bytes, list[str]]] = {
    "no format": (b"hello, this is prose", ["'hello", "qpic", "jsonl", "parquet"]),
    "empty": (b"", ["an empty file"]),
    "ground truth": (TRUTH.read_bytes(), ["ground truth", "not predictions"]),
    "truncated JSON": (DETECTOR.read_bytes()[:5000], ["line 4, column 1397", "JSON"]),
    "truncated JSON Lines": (VLM.read_bytes()[:300], ["line 3", "JSON"]),
    "truncated CSV": ((CSV + ROW + ROW[:40]).encode(), ["line 3", "expected 12"]),
    "wrong nesting": (orjson.dumps([[QPIC]]), ["found "]),
    "missing key": (hoi_without("object_id"), [IMAGE, "triplet 1: object_id"]),
    "object for list": (qpic(predictions={}), [IMAGE, "predictions: found an object", "a list"]),
    "list for object": (qpic(hoi_prediction=[[1]]), [IMAGE, "expected an object"]),
    "NaN in JSON": (qpic().replace(b"[8,", b"[NaN,"), [IMAGE, "nan"]),
    "NaN in CSV": (row(**{"406": "nan"}), ["line 3", "object box: found [134, 0, nan, 480]", "--bad-boxes"]),
    "infinite box": (row(**{"406": "inf"}), ["line 3", "object box: found [134, 0, inf, 480], expected finite"]),
    "x1 >= x2": (record(human_box=[165, 0, 8, 9]), ["line 2", IMAGE, "human box: found [165, 0, 8, 9]", "--boxes"]),
    "y1 >= y2": (record(object_box=[8, 9, 165, 9]), ["line 2", IMAGE, "object box: found [8, 9, 165, 9]", "--boxes"]),
    "no finite score": (row(**{"0.5": "inf"}), ["line 3", "score: found inf"]),
    "no score but text": (record(score="blue"), ["line 2: score: found 'blue'"]),
    "unknown category": (
        qpic(predictions=[QPIC["predictions"][0] | {"category_id": 91}, QPIC["predictions"][1]]),
        [IMAGE, "category_id: found 91", "0 to 79"],
    ),
    "unknown verb": (hoi(category_id=117), [IMAGE, "category_id: found 117", "0 to 116"]),
    "unknown class": (
        orjson.dumps({IMAGE: [{"hoi_id": 601, "sub_bbox": [0, 0, 5, 5], "obj_bbox": [0, 0, 5, 5], "score": 1}]}),
        ["hoi_id: found 601", "1 to 600"],
    ),
    "index of no box": (hoi(object_id=2), [IMAGE, "object_id: found 2"]),
    "pickle that acts": (pickle.dumps([QPIC, Evil()]), ["mkdir"]),
    "all images unknown": (orjson.dumps(RECORD | {"image": "a.jpg"}), ["'a.jpg'", "HICO_test2015_"]),
    "one image under two names": (row(**{".jpg": ".png"}), [f"'{IMAGE}'", "25.png'"]),
    "hostile name": (record(image="\x1b[31m\u202e", human_box=[1, 1, 0, 0]), ["line 2"]),
}


@pytest.mark.parametrize("name", BAD_PREDICTIONS)
def test_bad_predictions_get_one_line_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    content, says = BAD_PREDICTIONS[name]
    (tmp_path / "bad").write_bytes(content)
    done = cli.run("score", "bad", "-g", TRUTH, "--json", "report.json", folder=tmp_path)
    refused(done, *says)
    assert [path.name for path in tmp_path.iterdir()] == ["bad"]
    assert done.stderr.rstrip("\n").isprintable()


def test_broken_truth_map_and_class_table_are_refused_with_their_line(tmp_path: Path) -> None:
    (tmp_path / "truth.json").write_bytes(TRUTH.read_bytes()[:3000])
    refused(run(VLM, truth=tmp_path / "truth.json"), "truth.json", "line 1, column", "JSON")
    folder = shutil.copytree(data_folder("similarity_maps") / "hico-det", tmp_path / "mine")
    lines = (folder / "verbs.tsv").read_text().splitlines(keepends=True)
    lines[4] = lines[4].rsplit("\t", 3)[0] + "\t9\t9\t9\n"
    (folder / "verbs.tsv").write_text("".join(lines))
    refused(run(VLM, "--similarity", folder), "verbs.tsv", "line 5", "9")
    (folder / "map.json").write_text("{")
    refused(run(VLM, "--similarity", folder), "map.json: line 1, column 2: ", "JSON")
    (tmp_path / "classes.tsv").write_text("verb\tobject\tgerund\tverb_synset\tobject_synset\trare\nride\thorse\n")
    refused(run(VLM, "--classes", tmp_path / "classes.tsv"), "classes.tsv", "line 2")


def test_a_missing_extra_is_named_with_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "predictions.parquet").write_bytes(b"PAR1" + bytes(64) + b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    refused(run(tmp_path / "predictions.parquet"), "pip install 'shoe-eval[parquet]'")


def test_a_score_beyond_1_leaves_the_strict_figures(tmp_path: Path) -> None:
    found = as_json(write(tmp_path / "p.jsonl", [RECORD | {"score": 1.5}]))
    assert "semantic" not in found
    assert all(part in found["absent"]["semantic"] for part in (" 1.5", "0..1", "sigmoid"))
    assert (found["strict"]["map"], run(tmp_path / "p.jsonl").returncode) == (0, 0)
    remedied = as_json(tmp_path / "p.jsonl", "--scores", "sigmoid")
    assert (signed(remedied)["scores"], remedied["strict"]) == ("sigmoid", found["strict"])
    assert remedied["semantic"]["mf1"] > 0


def test_what_cannot_be_used_is_counted_and_named(tmp_path: Path) -> None:
    phrase = {k: v for k, v in RECORD.items() if k not in ("verb", "object")} | {"phrase": "the white ship"}
    odd = [RECORD, phrase, RECORD | {"verb": "xqzt"}, RECORD | {"image": "HICO_test2015_99999999.jpg"}]
    odd.append(RECORD | {"object": "diningtable"})  # not in WordNet, but dining_table is a label
    found = as_json(write(tmp_path / "p.jsonl", odd))
    assert found["profile"]["unknown_images"] == 1
    resolution = found["resolution"]
    assert (resolution["verbs"]["unresolved"], resolution["objects"]["unresolved"]) == (["", "xqzt"], [""])
    shown = run(tmp_path / "p.jsonl", "--words", tmp_path / "w.csv").stdout
    with (tmp_path / "w.csv").open(newline="") as stream:
        unread = {row["phrases"]: row["count"] for row in csv.DictReader(stream) if not row["verb"]}
    assert unread == {"the white ship": "1"}
    for part in ("'the white ship'", '"xqzt"', "HICO_test2015_99999999.jpg"):
        assert part in shown


def test_no_prediction_is_said_first(tmp_path: Path) -> None:
    path = write(tmp_path / "none.jsonl", [{"image": IMAGE, "interactions": []}])
    lines = run(path).stdout.splitlines()
    assert as_json(path)["notes"][0] == lines[2] == NOTHING
    assert NOTHING not in lines[3:]
    assert cli.run("diagnose", path, "-g", TRUTH, "--similarity", "none").stdout.splitlines()[1] == NOTHING


def test_figures_of_each_class_have_the_means_that_are_printed(tmp_path: Path) -> None:
    found = as_json(VLM, "--protocol", "qpic", "--protocol", "shoe", "--per-class", tmp_path / "classes.csv")
    with (tmp_path / "classes.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert (len(rows), sum(int(row["ground_truths"]) for row in rows)) == (600, found["ground_truths"])
    assert sum(row["rare"] == "rare" for row in rows) == 138

    def mean(column: str, rare: str | None = None) -> Any:
        values = [float(row[column]) for row in rows if row[column] and rare in (None, row["rare"])]
        return pytest.approx(sum(values) / len(values), abs=1e-6)

    strict, semantic = found["strict"], found["semantic"]
    assert [strict[key] for key in ("map", "map_rare", "max_recall")] == [
        mean("qpic_ap"), mean("qpic_ap", "rare"), mean("qpic_recall"),
    ]  # fmt: skip
    assert [semantic["map"], semantic["mf1"]] == [mean("shoe_ap"), mean("shoe_f1")]


def test_an_old_report_survives_a_run_that_fails(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text("old")
    refused(run(VLM, "--protocol", "foo", "--json", tmp_path / "report.json"))
    assert (tmp_path / "report.json").read_text() == "old"


def test_interruption_ends_with_130_and_leaves_nothing(tmp_path: Path) -> None:
    many = tmp_path / "many.csv"
    rows = (f"{IMAGE},8,166,165,{472 + i % 7},134,0,406,480,ride,horse,0.{i}\n" for i in range(400_000))
    many.write_text(CSV + "".join(rows))
    # Background jobs of some shells ignore SIGINT, and children inherit that; a terminal's do not.
    code = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from shoe.cli import main
print("ready", flush=True)
main()
"""
    command = [sys.executable, "-c", code, "score", str(many), "-g", str(TRUTH), "-p", "all", "--json", "report.json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        shown, said = process.communicate(timeout=60)
    assert (process.returncode, shown) == (130, "")
    assert "Traceback" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["many.csv"]


def test_an_interruption_that_python_drops_counts() -> None:
    # What falls into a destructor, or into a callback of an import, Python says and forgets.
    code = """
import os, signal, time
import shoe.cli.start
from shoe.cli import main
class Destroyed:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
def start():
    Destroyed()
    time.sleep(30)
signal.signal(signal.SIGINT, signal.default_int_handler)
shoe.cli.start.start = start
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=25)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize("option", ["--words", "--per-class", "--json"])
def test_what_was_read_is_not_written_over(tmp_path: Path, option: str) -> None:
    path, link, new = tmp_path / "a.jsonl", tmp_path / "link", tmp_path / "new"
    path.write_bytes(VLM.read_bytes())
    link.symlink_to(path)
    for target in (path, link):
        refused(run(path, option, target), f"{target}: found an input")
    assert path.read_bytes() == VLM.read_bytes()
    refused(run(path, "--words", "-"), "-: found standard output")
    refused(run(path, "--words", new, "--json", new), "another output")
    assert not new.exists()
