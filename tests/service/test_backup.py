"""Backups made while things go on, restored, and what a doctor finds in a folder."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shoe.core.errors import InputError
from tests.service.calling import received
from tests.service.client.serving import TRUTH, rows, worked_on


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Any]:
    from shoe.service.folder import Folder
    from shoe.service.truths import add_truth

    made = Folder.open(tmp_path / "lab")
    add_truth(made, "small", TRUTH)
    yield made
    made.close()


def submit(folder: Any, number: int) -> str:
    from shoe.service import runs, submissions
    from shoe.service.types import Request

    stored = received(folder.files, [b"%d\n" % number * 1000])
    runs.add_file(folder, "a", "mine.json", stored)
    return str(submissions.submit(folder, "a", f"run {number}", stored.sha256, Request(truth="small")).id)


def seen(folder: Any) -> dict[str, Any]:
    """What anybody sees of finished runs: their figures, and the content of their files."""
    from shoe.service import runs

    found = {}
    for run in runs.runs(folder, limit=1000):
        if run.state == "done":
            files = {name: folder.files.path(of.sha256).read_bytes() for name, of in run.outputs.items()}
            found[run.id] = (run.name, run.signature, run.figures, files)
    return found


def test_a_backup_made_while_runs_come_in_has_all_that_was_done_before(folder: Any, tmp_path: Path) -> None:
    from shoe.service.backup import backup, doctor, restore
    from shoe.service.folder import Folder

    stopped, begun = threading.Event(), threading.Event()

    def submitting() -> None:
        number = 0
        while not stopped.is_set():
            submit(folder, number)
            number += 1
            if number == 5:
                begun.set()

    thread = threading.Thread(target=submitting)
    with worked_on(folder):
        thread.start()
        assert begun.wait(30)
        before = seen(folder)
        copied = backup(folder.path, tmp_path / "copy")
        stopped.set()
        thread.join()
    assert [each for each in doctor(tmp_path / "copy") if each.harmful] == []
    made = restore(tmp_path / "copy", tmp_path / "again")
    assert made == copied
    again = Folder.open(tmp_path / "again")
    after = seen(again)
    assert before.items() <= after.items()
    assert after.items() <= seen(folder).items()
    again.close()
    for path in (tmp_path / "again").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
    with pytest.raises(InputError, match="again: found a folder with content"):
        restore(tmp_path / "copy", tmp_path / "again")
    with pytest.raises(InputError, match="new folder"):
        backup(folder.path, tmp_path / "copy")
    assert not list(tmp_path.glob(".*"))


def test_the_doctor_finds_what_is_lost_and_broken_and_says_what_helps(folder: Any, tmp_path: Path) -> None:
    from shoe.service.backup import backup, clean, doctor, is_in_use, restore
    from shoe.service.database import VERSION

    with worked_on(folder):
        submit(folder, 1)
        while any(row["state"] != "done" for row in rows(folder, "jobs")):
            pass
    assert doctor(folder.path) == []
    backup(folder.path, tmp_path / "copy")
    assert not is_in_use(folder.path)
    folder.lock()
    assert is_in_use(folder.path)

    stray = received(folder.files, [b"stray"]).sha256
    (found,) = doctor(folder.path)
    assert not found.harmful
    assert found.what.startswith("1 stored file ")
    assert clean(folder.path) == 0  # it may be just coming in
    os.utime(folder.files.path(stray), (0, 0))
    assert clean(folder.path) == 1
    assert doctor(folder.path) == []

    (given,) = rows(folder, "predictions")
    path = folder.files.path(given["sha256"])
    path.write_bytes(b"other")
    (found,) = doctor(folder.path)
    assert found.harmful
    assert found.what.startswith(f"file {given['sha256']}: content")
    with pytest.raises(InputError, match=f"changed content of file {given['sha256']}"):
        backup(folder.path, tmp_path / "broken")
    path.unlink()
    assert [each.what for each in doctor(folder.path)] == [f"file {given['sha256']}: No such file or directory"]
    with pytest.raises(InputError, match=f"no file {given['sha256']}"):
        backup(folder.path, tmp_path / "broken")
    copy = tmp_path / "copy" / path.relative_to(folder.path)
    copy.write_bytes(b"other")
    with pytest.raises(InputError, match=f"copy: found file {given['sha256']}"):
        restore(tmp_path / "copy", tmp_path / "again")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["copy", "lab"]

    with folder.database.write() as db:
        db.execute("DELETE FROM predictions")
        db.execute("PRAGMA user_version = 99")
    assert [each.what for each in doctor(folder.path)] == [f"database version: found 99, expected at most {VERSION}"]
    with folder.database.write() as db:
        db.execute("PRAGMA user_version = 2")
    assert [each.what for each in doctor(folder.path)] == ["1 runs without predictions"]
    with pytest.raises(InputError, match=r"no file shoe\.sqlite"):
        doctor(tmp_path)


def test_a_damaged_database_is_told_as_one(folder: Any) -> None:
    from shoe.service.backup import doctor

    for number in range(30):
        submit(folder, number)
    folder.close()
    path = folder.path / "shoe.sqlite"
    data = bytearray(path.read_bytes())
    data[8192:] = bytes(len(data) - 8192)
    path.write_bytes(data)
    first = doctor(folder.path)[0]
    assert "the database is damaged" in first.what
    assert first.advice == "restore a backup"
