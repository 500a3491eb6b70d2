import re
from pathlib import Path

import orjson
import pytest
import typer
from typer.testing import CliRunner

from shoe.benchmarks import hico_det
from shoe.cli.convert import convert
from shoe.core.errors import InputError
from shoe.demo import TRUTH
from shoe.predictions import read_predictions
from shoe.predictions.boxes.conventions import LAYOUTS, ORDERS, PICTURES, SCALES
from shoe.predictions.formats.registry import FORMATS, NATIVE
from tests.predictions import samples

app = typer.Typer()
app.command()(convert)

ENDINGS = {"csv": "out.csv", "parquet": "out.parquet", "native": "out.npz", "jsonl": "out.jsonl"}
VLM = {"image": "HICO_test2015_00000025.jpg", "verb": "ride", "object": "horse"}


def run(*arguments: str | Path) -> list[str]:
    """Lines on stderr."""
    result = CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)
    assert (result.exit_code, result.stdout) == (0, "")
    return result.stderr.splitlines()


@pytest.mark.parametrize("target", [name for name, form in FORMATS.items() if form.write and name != "mat"] + [NATIVE])
@pytest.mark.parametrize("source", sorted(samples.SAMPLES.keys() - {"phrases.jsonl", "detections.mat"}))
def test_any_format_becomes_any_other(tmp_path: Path, source: str, target: str) -> None:
    out = tmp_path / ENDINGS.get(target, "out")
    read, written = run(samples.FOLDER / source, out, *([] if target in ENDINGS else ["--to", target]))
    assert re.search(rf"24 triplets in 4 images, .*{samples.SAMPLES[source]}, boxes", read)
    assert written == f"{out}: written as {target}"
    assert sorted(samples.rows(read_predictions(out))) == sorted(samples.rows(samples.base()))


def test_ground_truth_gives_the_sizes_that_a_convention_needs(tmp_path: Path) -> None:
    record = VLM | {"human_box": [0, 0, 500, 500], "object_box": [250, 250, 1000, 1000]}
    source, out = tmp_path / "in.jsonl", tmp_path / "out.npz"
    source.write_bytes(orjson.dumps(record))
    read, assumed, *_ = run(source, out, "--boxes", "thousand", "--ground-truth", TRUTH)
    table = read_predictions(out)
    width = table.sizes[0, 0]
    assert width > 100
    assert table.human_boxes.tolist() == [[0, 0, width / 2, table.sizes[0, 1] / 2]]
    assert all(part in read for part in (f"{source}: 1 triplet ", " 1 image,", " vlm,", " thousand"))
    assert "1 triplet: score 1 " in assumed
    with pytest.raises(InputError, match="width and height"):
        run(source, out, "--boxes", "thousand")


def test_boxes_that_count_pixels_are_announced(tmp_path: Path) -> None:
    last = run(samples.FOLDER / "qpic.json", tmp_path / "out.csv", "--boxes", "pixels-1")[-1]
    assert last.startswith(f"{tmp_path / 'out.csv'}: boxes")
    assert "--boxes pixels-0" in last


def test_boxes_that_are_continuous_are_announced_for_matlab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its boxes are pixel indices, which SHOE compares with one pixel more. All 5.8 million cells take seconds."""
    monkeypatch.setattr(hico_det, "_LAST_TEST_IMAGE", 25)
    source, out = tmp_path / "qpic.json", tmp_path / "out.mat"
    source.write_bytes(orjson.dumps(orjson.loads((samples.FOLDER / "qpic.json").read_bytes())[:1]))
    last = run(source, out)[-1]
    assert last.startswith(f"{out}: boxes are continuous")
    assert "--boxes pixels " in last
    read, before = read_predictions(out, boxes="pixels"), read_predictions(source)
    assert sorted(samples.rows(read)) == sorted(samples.rows(before))


def test_an_open_word_that_the_target_cannot_hold_leaves_the_old_file(tmp_path: Path) -> None:
    source, out = tmp_path / "in.jsonl", tmp_path / "out.json"
    source.write_bytes(orjson.dumps(VLM | {"verb": "befriend", "human_box": [0, 0, 5, 5], "object_box": [2, 2, 9, 9]}))
    out.write_bytes(b"old")
    with pytest.raises(InputError, match=r"triplet 1: verb: .*'befriend'.* 117 "):
        run(source, out, "--to", "qpic")
    assert (out.read_bytes(), sorted(path.name for path in tmp_path.iterdir())) == (b"old", ["in.jsonl", "out.json"])


@pytest.mark.parametrize("ending", [".jsonl", ".JSONL"])
def test_json_lines_are_flat_columns_unless_said_otherwise(tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"out{ending}"
    assert run(samples.FOLDER / "flat.csv", out)[-1] == f"{out}: written as jsonl"
    assert set(orjson.loads(out.read_bytes().splitlines()[0])) >= {"image", "hx1", "oy2", "verb", "object"}
    run(samples.FOLDER / "flat.csv", out, "--to", "vlm")
    assert "human_box" in orjson.loads(out.read_bytes().splitlines()[0])


def test_a_file_may_be_converted_in_place(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_bytes((samples.FOLDER / "ppdm.json").read_bytes())
    run(path, path, "--to", "qpic")
    assert samples.rows(read_predictions(path)) == samples.rows(samples.base())


def test_the_help_names_every_format_and_convention() -> None:
    words = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).stdout
    names = {*FORMATS, NATIVE, *LAYOUTS, *SCALES, *PICTURES, *ORDERS} - {"pixels"}
    assert [name for name in names if name not in words] == []
