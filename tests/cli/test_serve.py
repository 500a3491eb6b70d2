"""``shoe serve`` but for the serving itself: what is done to a folder, and how it is refused."""

import re
import sys
from pathlib import Path
from unittest import mock

import pytest

from tests.cli.run import output, refused, run
from tests.service.client.serving import TRUTH

pytest.importorskip("fastapi", reason="the service is not installed: pip install 'shoe-eval[serve]'")


def test_a_folder_is_set_up_copied_and_put_back(tmp_path: Path) -> None:
    def shoe(*words: str | Path) -> str:
        return output("serve", *words, folder=tmp_path)

    assert "small: data hico-det" in shoe("add-truth", "lab", "small", TRUTH)
    board = shoe("add-board", "lab", "main", "--truth", "small", "--quota", "5", "--hidden")
    assert board.startswith("main: ranked by")
    assert re.match("main: .*shown", shoe("show-board", "lab", "main"))
    token = shoe("token", "new", "lab", "ci", "--team", "vision", "--days", "90").strip()
    assert re.fullmatch(r"shoe_[\w-]{43}", token)
    listed = shoe("token", "list", "lab")
    assert token not in listed
    assert re.search(rf"{token[:10]}\.\.\. +ci +vision +submit", listed)
    assert "revoked" in shoe("token", "revoke", "lab", token[:10])
    assert shoe("backup", "lab", "copy").startswith("copy: 1 files, 0.0 MB")
    assert "`shoe serve again`" in shoe("restore", "copy", "again")
    assert shoe("doctor", "again").startswith("again: not in")
    (file,) = (tmp_path / "again" / "files").glob("??/*")
    file.unlink()
    done = run("serve", "doctor", "again", folder=tmp_path)
    assert (done.returncode, "backup" in done.stdout, "No such file" in done.stdout) == (2, True, True)

    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    no_folder = "lba: found no file shoe.sqlite"
    for words, *says in (
        (("restore", "copy", "again"), "empty folder"),
        (("token", "revoke", "lab", "shoe_12345"), "no valid token"),
        (("add-truth", "lab", "small", TRUTH), "already in use"),
        (("add-truth", "lab", "other", "README.md"), "no such file"),
        (("full",), "full: found a folder", "an empty folder"),
        (("doctr",), "did you mean doctor?", "./doctr"),
        (("lab", "--port", "99999"), "--port: found '99999'"),
        (("lab", "--name", "https://shoe.example"), "expected a host name"),
        (("token", "list", "lba"), no_folder),
        (("token", "new", "lba", "ci", "--team", "a"), no_folder),
        (("export", "lba", "site"), no_folder),
    ):
        refused(run("serve", *words, folder=tmp_path), *says)
    assert not (tmp_path / "lba").exists()


def test_without_the_extra_one_line_says_how_to_install_it(tmp_path: Path) -> None:
    gone = [name for name in sys.modules if name.startswith("shoe.service.") or name.split(".")[0] == "fastapi"]
    with mock.patch.dict(sys.modules, {"fastapi": None}):
        for name in gone:
            sys.modules.pop(name, None)
        sys.modules["fastapi"] = None  # type: ignore[assignment]
        refused(run("serve", tmp_path / "lab"), "pip install 'shoe-eval[serve]'")


def test_a_damaged_database_is_one_line_in_every_command(tmp_path: Path) -> None:
    assert run("serve", "add-truth", "lab", "small", TRUTH, folder=tmp_path).returncode == 0
    path = tmp_path / "lab" / "shoe.sqlite"
    data = path.read_bytes()
    (tmp_path / "truth.json").write_bytes(TRUTH.read_bytes())
    path.write_bytes(data[:4096] + b"x" * (len(data) - 4096))
    for words in ("token list lab", "backup lab copy", "export lab site", "add-truth lab other truth.json"):
        refused(run("serve", *words.split(), folder=tmp_path), "database")
