"""Many files scored into one folder: what is refused, what costs nobody else, and what stays apart."""

import errno
import os
import re
import subprocess
from pathlib import Path
from shutil import copyfile, which

import pytest

from shoe.demo import PREDICTIONS, TRUTH
from shoe.engines.base import SERIAL
from shoe.report.many_files import score_many
from tests.cli.run import COMMAND, output, refused, run
from tests.engines.work import ASKED
from tests.errors import says

FILE = PREDICTIONS["free text"]


def test_names_of_results_fit_into_a_folder_and_files_of_one_name_stay_apart(tmp_path: Path) -> None:
    long = "检测" * 41  # 246 bytes
    files = [tmp_path / name for name in ("one/x.jsonl", "two/x.jsonl", f"two/{long}.jsonl")]
    lines = FILE.read_text().splitlines(keepends=True)
    for number, path in enumerate(files):
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(lines[number:]))
    printed = output("score", *files, "-g", TRUTH, "--results", tmp_path / "out", environment={"COLUMNS": "200"})
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert (len(names), max(len(name.encode()) for name in names) < 120) == (3, True)
    assert names[2].startswith(long[:26] + "-")
    assert [line.split()[0] for line in printed.splitlines() if "x.jsonl" in line] == ["one/x.jsonl", "two/x.jsonl"]


def test_a_file_that_cannot_be_read_costs_no_other(tmp_path: Path) -> None:
    folder = tmp_path / ("a long name of a folder" * 5)
    folder.mkdir()
    (folder / "broken.json").write_text("[{")
    files = ["missing.json", FILE, "broken.json", "-"]
    done = run("score", *files, "-g", TRUTH, "--results", "out", folder=folder)
    assert (done.returncode, says(done.stdout, "1 result in out", "1 ", "new")) == (2, True)
    found = ("missing.json: found no such file", "broken.json: line 1, column 3: ", "-: ")
    for line, said in zip(done.stderr.splitlines(), found, strict=True):
        assert line.startswith(f"shoe: {said}")
    assert "--results" in line
    (tmp_path / "a\u202e.json").write_text("[{")
    done = run("score", "a\u202e.json", FILE, "-g", TRUTH, "--results", "out", folder=tmp_path)
    assert done.stderr.startswith("shoe: a\ufffd.json: line 1, column 3: ")


def test_a_file_that_changes_while_others_are_scored_has_no_results_by_what_it_was(tmp_path: Path) -> None:
    path, folder = tmp_path / "a.jsonl", tmp_path / "out"
    copyfile(FILE, path)

    def change(_: str) -> None:
        path.write_text(FILE.read_text().partition("\n")[2])

    found = score_many([path], ASKED, folder, SERIAL, progress=change)
    assert not list(folder.iterdir())
    assert list(found.failed) == [path]
    assert re.match(f"{path}: .* changed", found.failed[path])


@pytest.mark.slow
def test_a_file_that_may_not_be_read_costs_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    copyfile(FILE, path)
    path.chmod(0)
    bounded = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []  # root may read all
    if bounded and which("setpriv") is None:
        pytest.skip("nobody here who may not read a file")
    words = ["score", str(path), str(FILE), "-g", str(TRUTH), "--results", str(tmp_path / "out")]
    done = subprocess.run([*bounded, *COMMAND, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"shoe: {path}: found {os.strerror(errno.EACCES)}")
    assert (done.stderr.count("\n"), len(list((tmp_path / "out").iterdir()))) == (1, 1)


def test_what_makes_no_sense_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    copyfile(FILE, tmp_path / "a.jsonl")
    words = ("score", "a.jsonl", "-g", TRUTH, "--results")
    for folder in (".", tmp_path):
        refused(run(*words, folder, folder=tmp_path), f"{folder}: found the folder of a.jsonl")
    refused(run(*words, "out", "--shard", "", folder=tmp_path), "--shard: found ''")
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


@pytest.mark.parametrize("words", [("--similarity", "nothing"), ("--dataset", "nothing"), ("--engine", "nothing")])
def test_what_nobody_knows_is_refused_before_anything_is_made(words: tuple[str, str], tmp_path: Path) -> None:
    refused(run("score", FILE, "-g", TRUTH, "--results", tmp_path / "out", *words), "nothing")
    assert not (tmp_path / "out").exists()
