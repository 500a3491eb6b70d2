from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner

from shoe.cli.dataset import app
from shoe.core.errors import InputError, OptionError
from tests.benchmarks.forms import as_bbox, write_mat
from tests.benchmarks.samples import INSTANCES, PPDM, PPDM_MIXED, parsed


def _run(*arguments: str | Path, **environment: str) -> str:
    result = CliRunner().invoke(app, [str(a) for a in arguments], env=environment, catch_exceptions=False)
    assert result.exit_code == 0
    assert result.stderr == ""
    return result.stdout


def _rows(output: str) -> list[list[str]]:
    """Lines as their cells, which two spaces or more part."""
    return [[cell for cell in line.strip().split("  ") if cell.strip()] for line in output.splitlines() if line.strip()]


def test_info_prints_what_the_file_holds_and_what_was_published() -> None:
    rows = [[cell.strip() for cell in row] for row in _rows(_run("info", INSTANCES))]
    assert rows[0] == [str(INSTANCES)]
    for row in (
        ["format", "hicodet instances JSON"],
        ["split", "test2015/part"],
        ["images", "28"],
        ["without triplets", "2"],
        ["triplets", "95"],
        ["overlapping an earlier triplet of the same class", "1"],
        ["classes with triplets", "44"],
        ["annotated box pairs", "95"],
        ["merged where both boxes overlap by 0.5", "75"],
        ["boxes", "pixel indices from 1 (28 images)"],
        ["published counts of test2015", "differs"],
        ["images", "28, published 9,658"],
    ):
        assert row in rows


def test_info_of_mixed_images_names_both_coordinates() -> None:
    output = _run("info", PPDM_MIXED)
    assert "pixel indices from 0 (14 images)" in output
    assert "pixel indices from 1 (6 images)" in output
    assert "published" not in output


def test_info_as_json() -> None:
    facts = orjson.loads(_run("info", PPDM, "--json", "-"))
    assert facts["file"] == str(PPDM)
    assert (facts["images"], facts["triplets"], facts["pairs"]["merged"]) == (28, 95, 75)
    assert facts["published"]["differs"]["images"] == {"found": 28, "published": 9658}


def test_json_goes_to_a_file_beside_the_table(tmp_path: Path) -> None:
    output = _run("info", INSTANCES, "--json", tmp_path / "info.json")
    assert "hicodet instances JSON" in output
    assert orjson.loads((tmp_path / "info.json").read_bytes())["triplets"] == 95


@pytest.mark.slow
def test_stats_prints_a_table_each_of_objects_verbs_and_classes() -> None:
    rows = _rows(_run("stats", INSTANCES))
    headers = [row for row in rows if "triplets" in [cell.strip() for cell in row]]
    assert [row[0] for row in headers] == ["objects", "verbs", "classes"]
    assert len([row for row in rows if row[0] not in ("objects", "verbs", "classes") and "─" not in row[0]]) == 797


def test_stats_as_json() -> None:
    counts = orjson.loads(_run("stats", INSTANCES, "--json", "-"))
    assert [len(counts[kind]) for kind in ("classes", "verbs", "objects")] == [600, 117, 80]
    assert counts["classes"][0].keys() == {"name", "triplets", "images", "rare"}


def test_nothing_is_cut_where_the_output_is_no_terminal(tmp_path: Path) -> None:
    path = tmp_path / ("long-" * 40 + ".json")
    path.write_bytes(INSTANCES.read_bytes())
    output = _run("info", path, COLUMNS="40")
    assert path.name in output
    assert "counts of fredzzhang/hicodet, instances_test2015.json" in output
    assert "…" not in output
    assert "\x1b" not in output


def test_no_color_is_respected_on_a_terminal() -> None:
    output = _run("info", INSTANCES, FORCE_COLOR="1", NO_COLOR="1", TERM="xterm")
    assert "\x1b[3" not in output


def test_the_split_asked_for_is_shown(tmp_path: Path) -> None:
    document = parsed(INSTANCES)
    train = {**document, "filenames": [name.replace("test", "train") for name in document["filenames"]]}
    path = write_mat(tmp_path / "anno_bbox.mat", bbox_test=as_bbox(document), bbox_train=as_bbox(train))
    for arguments, split in (((), "test2015/part"), (("--split", "train2015"), "train2015/part")):
        assert orjson.loads(_run("info", path, "--json", "-", *arguments))["split"] == split
    with pytest.raises(OptionError, match="split 'val'"):
        _run("info", path, "--split", "val")


@pytest.mark.parametrize("command", ["info", "stats"])
def test_a_broken_file_is_refused_and_writes_nothing(tmp_path: Path, command: str) -> None:
    (tmp_path / "broken.json").write_text('{"annotation": [')
    with pytest.raises(InputError, match="found the end of the file, expected JSON"):
        _run(command, tmp_path / "broken.json", "--json", tmp_path / "out.json")
    assert not (tmp_path / "out.json").exists()


@pytest.mark.real_data
def test_the_real_test_set_is_what_was_published(shared_data: Path) -> None:
    output = _run("info", shared_data / "hico_det" / "instances_test2015.json")
    rows = [[cell.strip() for cell in row] for row in _rows(output)]
    assert ["published counts of test2015", "matches"] in rows
    assert ["merged where both boxes overlap by 0.5", "22,012"] in rows
    assert ["overlapping an earlier triplet of the same class", "144"] in rows
