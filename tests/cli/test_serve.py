"""``shoe serve`` but for the serving itself: what is done to a folder, and how it is refused."""

import re
import sys
from pathlib import Path
from unittest import mock

import pytest

from tests.cli.run import refused, run
from tests.service.client.serving import TRUTH

pytest.importorskip("fastapi", reason="the service is not installed: pip install 'shoe-eval[serve]'")


def test_a_folder_is_set_up_copied_and_put_back(tmp_path: Path) -> None:
    def shoe(*words: str | Path) -> str:
        done = run("serve", *words, folder=tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    assert "small: data hico-det" in shoe("add-truth", "lab", "small", TRUTH)
    assert shoe("add-board", "lab", "main", "--truth", "small", "--quota", "5", "--hidden").startswith(
        "main: ranked by"
    )
    assert shoe("show-board", "lab", "main") == "main: results are shown\n"
    token = shoe("token", "new", "lab", "ci", "--team", "vision", "--days", "90").strip()
    assert re.fullmatch(r"shoe_[\w-]{43}", token)
    listed = shoe("token", "list", "lab")
    assert token not in listed
    assert re.search(rf"{token[:10]}\.\.\. +ci +vision +submit", listed)
    assert "revoked" in shoe("token", "revoke", "lab", token[:10])
    assert shoe("backup", "lab", "copy") == "copy: 1 files, 0.0 MB, and the database\n"
    assert "`shoe serve again`" in shoe("restore", "copy", "again")
    assert shoe("doctor", "again") == "again: not in use\nno missing or damaged files\n"
    (file,) = (tmp_path / "again" / "files").glob("??/*")
    file.unlink()
    done = run("serve", "doctor", "again", folder=tmp_path)
    assert done.returncode == 2
    assert "No such file or directory: copy the file from a backup" in done.stdout

    refused(run("serve", "restore", "copy", "again", folder=tmp_path), "expected a new or empty folder")
    refused(run("serve", "token", "revoke", "lab", "shoe_12345", folder=tmp_path), "no valid token begins with")
    refused(run("serve", "add-truth", "lab", "small", TRUTH, folder=tmp_path), "this name is already in use")
    refused(run("serve", "add-truth", "lab", "other", "README.md", folder=tmp_path), "no such file")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    refused(run("serve", "full", folder=tmp_path), "full: found a folder with other files, expected an empty folder")
    refused(
        run("serve", "doctr", folder=tmp_path),
        "expected a command or a folder (did you mean doctor? for a folder: ./doctr)",
    )
    refused(run("serve", "lab", "--port", "99999", folder=tmp_path), "--port: found '99999'")
    refused(run("serve", "lab", "--name", "https://shoe.example", folder=tmp_path), "expected a host name")
    for words in (["token", "list", "lba"], ["token", "new", "lba", "ci", "--team", "a"], ["export", "lba", "site"]):
        refused(run("serve", *words, folder=tmp_path), "lba: found no file shoe.sqlite")
    assert not (tmp_path / "lba").exists()


def test_without_the_extra_one_line_says_how_to_install_it(tmp_path: Path) -> None:
    gone = {name: None for name in sys.modules if name.startswith("shoe.service.") or name.split(".")[0] == "fastapi"}
    with mock.patch.dict(sys.modules, {"fastapi": None}):
        for name in gone:
            sys.modules.pop(name, None)
        sys.modules["fastapi"] = None  # type: ignore[assignment]
        refused(
            run("serve", tmp_path / "lab"), "shoe serve needs an optional dependency: pip install 'shoe-eval[serve]'"
        )


def test_a_damaged_database_is_one_line_in_every_command(tmp_path: Path) -> None:
    assert run("serve", "add-truth", "lab", "small", TRUTH, folder=tmp_path).returncode == 0
    path = tmp_path / "lab" / "shoe.sqlite"
    data = bytearray(path.read_bytes())
    data[4096:] = b"x" * (len(data) - 4096)
    path.write_bytes(data)
    for words in (
        ("token", "list", "lab"),
        ("backup", "lab", "copy"),
        ("export", "lab", "site"),
        ("add-truth", "lab", "other", TRUTH),
    ):
        refused(run("serve", *words, folder=tmp_path), "database")
