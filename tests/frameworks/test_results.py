"""Results of inspect_ai, lmms-eval and VLMEvalKit: real files with the same replies give the same scores."""

import gzip
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import shoe
from shoe.core.errors import InputError, MissingExtraError
from shoe.demo import TRUTH
from shoe.predictions import read_predictions_with_notes
from tests.cli.run import refused, run
from tests.frameworks.task import DATA, GROUND_TRUTH

MEASURED = {"shoe_map": "semantic/map", "shoe_mf1": "semantic/mf1", "strict_map": "strict/map"}
LOG = json.loads(gzip.decompress((DATA / "inspect.json.gz").read_bytes()))


@pytest.mark.parametrize(
    "name", ["inspect.eval", "inspect.json.gz", "lmms_eval_samples.jsonl", "vlmevalkit.tsv", "vlmevalkit.xlsx"]
)
def test_each_file_has_the_replies_and_the_scores_of_the_framework(name: str) -> None:
    pytest.importorskip("openpyxl" if name.endswith("xlsx") else "zstandard")
    table, notes = read_predictions_with_notes(DATA / name, boxes="thousand", truth=GROUND_TRUTH)
    assert (notes.format, notes.replies, notes.count("refused"), notes.count("unread")) == ("vlm", 6, 1, 1)
    assert table.images == GROUND_TRUTH.interactions.images[:6]
    with pytest.warns(shoe.core.errors.InputWarning):
        values = shoe.score(table, GROUND_TRUTH.within(table.images)).to_dict(flat=True)
    (scored,) = LOG["results"]["scores"]
    assert {key: values[at] for key, at in MEASURED.items()} == pytest.approx(
        {key: metric["value"] for key, metric in scored["metrics"].items()}
    )


def written(path: Path, samples: list[Any]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/start.json", "{}")
        for number, sample in enumerate(samples):
            content = sample if isinstance(sample, bytes) else json.dumps(sample)
            archive.writestr(f"samples/{number}_epoch_1.json", content)
    return path


def test_a_log_of_an_older_release_is_read_and_scores_may_be_nan(tmp_path: Path) -> None:
    samples = [{**sample, "scores": {"other": {"value": float("nan")}}} for sample in LOG["samples"]]
    table = shoe.read_predictions(written(tmp_path / "renamed", samples))
    assert (len(table), table.images[0]) == (6, "HICO_test2015_00000025.jpg")


def test_a_sample_with_an_error_counts_as_failed(tmp_path: Path) -> None:
    failed = {"id": "a.jpg", "output": {"choices": []}, "error": {"message": "APITimeoutError()", "traceback": "..."}}
    table, notes = read_predictions_with_notes(written(tmp_path / "log.eval", [*LOG["samples"], failed]))
    assert (notes.replies, notes.count("failed"), len(table.images)) == (7, 1, 7)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        *(([], "no samples"), ([b"{"], "found the end"), ([b"[]"], r"damaged log \(AttributeError\)")),
        ([bytes(201_000_000)], r"0\.2 GB of compressed"),
    ],
)
def test_a_broken_log_gets_one_line(tmp_path: Path, content: list[Any], found: str) -> None:
    with pytest.raises(InputError, match=found):
        shoe.read_predictions(written(tmp_path / "log.eval", content))


def test_a_cut_log_gets_one_line_and_exit_code_2(tmp_path: Path) -> None:
    cut = tmp_path / "cut.eval"
    cut.write_bytes((DATA / "inspect.eval").read_bytes()[:-500])
    refused(run("score", cut, "--ground-truth", TRUTH), f"{cut}: found", "(BadZipFile)", "of inspect_ai")
    (tmp_path / "empty.json").write_text(json.dumps(LOG | {"samples": None}))
    with pytest.raises(InputError, match="found no samples"):
        shoe.read_predictions(tmp_path / "empty.json")


def test_compressed_data_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoe.core.io.files.LARGEST_UNPACKED", 1000)
    with pytest.raises(InputError, match="GB of compressed"):
        shoe.read_predictions(DATA / "inspect.eval")


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python reads Zstandard itself")
def test_without_zstandard_the_command_to_install_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtraError, match=r"package zstandard\).*'shoe-eval\[inspect\]'"):
        shoe.read_predictions(DATA / "inspect.eval")
