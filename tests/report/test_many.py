"""Many files scored into one folder: what is refused, what costs nobody else, and what stays apart."""

from pathlib import Path
from shutil import copyfile

import pytest

from shoe.demo import PREDICTIONS, TRUTH
from tests.cli.run import refused, run

FILE = PREDICTIONS["free text"]


def test_names_of_results_fit_into_a_folder_and_files_of_one_name_stay_apart(tmp_path: Path) -> None:
    long = "检测" * 41  # 246 bytes
    files = [tmp_path / name for name in ("one/x.jsonl", "two/x.jsonl", f"two/{long}.jsonl")]
    lines = FILE.read_text().splitlines(keepends=True)
    for number, path in enumerate(files):
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(lines[number:]))
    done = run("score", *files, "-g", TRUTH, "--results", tmp_path / "out", environment={"COLUMNS": "200"})
    assert (done.returncode, done.stderr) == (0, "")
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert len(names) == 3
    assert max(len(name.encode()) for name in names) < 120
    assert names[2].startswith(long[:26] + "-")
    shown = [line.split()[0] for line in done.stdout.splitlines() if "x.jsonl" in line]
    assert shown == ["one/x.jsonl", "two/x.jsonl"]


def test_a_file_that_cannot_be_read_costs_no_other(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("[{")
    files = ["missing.json", FILE, "broken.json", "-"]
    done = run("score", *files, "-g", TRUTH, "--results", "out", folder=tmp_path)
    assert done.returncode == 2
    assert "1 result in out, 1 of them new" in done.stdout
    missing, stream, broken = done.stderr.splitlines()
    assert missing == "shoe: missing.json: found no such file, expected a file"
    assert broken.startswith("shoe: broken.json: line 1, column 3: found the end of the file")
    assert stream == "shoe: -: found what can be read only once, expected a file, as --results reads twice"


def test_what_makes_no_sense_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    copyfile(FILE, tmp_path / "a.jsonl")
    words = ("score", "a.jsonl", "-g", TRUTH, "--results")
    for folder in (".", tmp_path):
        done = run(*words, folder, folder=tmp_path)
        refused(done, f"{folder}: found the folder of a.jsonl, expected a folder for results alone")
    refused(run(*words, "out", "--shard", "", folder=tmp_path), "--shard: found '', expected one part of several")
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


@pytest.mark.parametrize("words", [("--similarity", "nothing"), ("--dataset", "nothing"), ("--engine", "nothing")])
def test_what_nobody_knows_is_refused_before_anything_is_made(words: tuple[str, str], tmp_path: Path) -> None:
    refused(run("score", FILE, "-g", TRUTH, "--results", tmp_path / "out", *words), "nothing")
    assert not (tmp_path / "out").exists()
