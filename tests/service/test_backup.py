"""Backups made while things go on, restored, and what a doctor finds in a folder."""

import contextlib
import os
import re
import shutil
import sqlite3
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from shoe.core.errors import InputError
from shoe.service import runs
from shoe.service.backup import backup, clean, doctor, is_in_use, restore
from shoe.service.database import VERSION
from shoe.service.folder import Folder
from tests.service.calling import execute, queued, received, working
from tests.service.client.serving import rows, worked_on
from tests.service.processes import serve, waited


def submit(folder: Folder, number: int) -> str:
    return queued(folder, f"run {number}", b"%d\n" % number * 1000, "a", file="mine.json").id


def do(folder: Folder, *numbers: int) -> list[str]:
    with worked_on(folder):
        ids = [submit(folder, number) for number in numbers]
        waited(lambda: all(row["state"] == "done" for row in rows(folder, "jobs")))
    return ids


def files_of(folder: Path) -> list[Path]:
    return sorted((folder / "files").glob("??/*"))


def seen(folder: Folder) -> dict[str, Any]:
    """What anybody sees of finished runs: their figures, and the content of their files."""
    found = {}
    for run in runs.runs(folder, limit=1000):
        if run.state == "done":
            files = {name: folder.files.path(of.sha256).read_bytes() for name, of in run.outputs.items()}
            found[run.id] = (run.name, run.signature, run.figures, files)
    return found


def test_a_backup_made_while_runs_come_in_has_all_that_was_done_before(folder: Folder, tmp_path: Path) -> None:
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
    assert restore(tmp_path / "copy", tmp_path / "again") == copied
    again = Folder.open(tmp_path / "again")
    after = seen(again)
    assert before.items() <= after.items() <= seen(folder).items()
    again.close()
    for path in (tmp_path / "again").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
    with pytest.raises(InputError, match="folder with content") as refused:
        restore(tmp_path / "copy", tmp_path / "again")
    assert refused.value.source == str(tmp_path / "again")
    with pytest.raises(InputError, match="new folder"):
        backup(folder.path, tmp_path / "copy")
    assert not list(tmp_path.glob(".*"))


def test_the_doctor_finds_what_is_lost_and_broken_and_says_what_helps(folder: Folder, tmp_path: Path) -> None:
    do(folder, 1)
    assert doctor(folder.path) == []
    backup(folder.path, tmp_path / "copy")
    assert not is_in_use(folder.path)
    folder.lock()
    assert is_in_use(folder.path)

    stray = received(folder.files, [b"stray"]).sha256
    (found,) = doctor(folder.path)
    assert (found.harmful, found.what[:22]) == (False, "1 stored file (0.0 MB)")
    assert clean(folder.path) == 0  # it may be just coming in
    os.utime(folder.files.path(stray), (0, 0))
    assert clean(folder.path) == 1
    assert doctor(folder.path) == []
    others = [received(folder.files, [b"%d" % number]).sha256 for number in range(20)]
    with pytest.raises(InputError, match="for 20 of"):  # as the database of another folder
        clean(folder.path)
    for other in others:
        folder.files.path(other).unlink()

    (given,) = rows(folder, "predictions")
    path, file = folder.files.path(given["sha256"]), f"file {given['sha256']}"
    path.write_bytes(b"other")
    (found,) = doctor(folder.path)
    assert (found.harmful, found.what.startswith(f"{file}: content")) == (True, True)
    with pytest.raises(InputError, match=f"changed content of {file}"):
        backup(folder.path, tmp_path / "broken")
    path.unlink()
    assert [each.what for each in doctor(folder.path)] == [f"{file}: {os.strerror(2)}"]
    with pytest.raises(InputError, match=f"no {file}"):
        backup(folder.path, tmp_path / "broken")
    (tmp_path / "copy" / path.relative_to(folder.path)).write_bytes(b"other")
    with pytest.raises(InputError, match=file) as refused:
        restore(tmp_path / "copy", tmp_path / "again")
    assert refused.value.source == str(tmp_path / "copy")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["copy", "service"]

    with folder.database.write() as db:
        db.execute("DELETE FROM predictions")
        db.execute("PRAGMA user_version = 99")
    (found,) = doctor(folder.path)
    assert re.findall(r"database version|\d+", found.what) == ["database version", "99", str(VERSION)]
    execute(folder, f"PRAGMA user_version = {VERSION}")
    assert [each.what for each in doctor(folder.path)] == ["1 runs without predictions"]
    with pytest.raises(InputError, match=r"no file shoe\.sqlite"):
        doctor(tmp_path)


def test_a_folder_that_cannot_be_written_is_checked_and_copied(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.close()
    monkeypatch.setattr("os.access", lambda path, _: path != folder.path)
    before = sorted(folder.path.rglob("*"))
    assert "shoe.sqlite-shm" not in {path.name for path in before}
    assert doctor(folder.path) == []
    assert backup(folder.path, tmp_path / "copy")[0] == 1
    assert sorted(folder.path.rglob("*")) == before


def test_a_damaged_database_is_told_as_one(folder: Folder) -> None:
    for number in range(30):
        submit(folder, number)
    folder.close()
    path = folder.path / "shoe.sqlite"
    path.write_bytes(path.read_bytes()[:8192].ljust(path.stat().st_size, b"\0"))
    first = doctor(folder.path)[0]
    assert ("database is damaged" in first.what, first.advice) == (True, "restore a backup")


DAY = 86400.0
DATABASES = ("empty", "without tables", "without rows", "missing", "older", "newer", "intact")


def mixture(folder: Folder, tmp_path: Path, database: str, files: str) -> Path:
    """A copy of a folder with 8 stored files or more: one database of several, and all, some or none of the files."""
    place, path = tmp_path / "mixed", folder.path / "shoe.sqlite"
    runs.delete(folder, do(folder, 1, 2)[0])
    execute(folder, "UPDATE runs SET created = 0 WHERE deleted")  # a daily quota counts later ones
    runs.tidy(folder)
    assert len(rows(folder, "deleted_files")) == 1
    older = tmp_path / "older.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("VACUUM INTO ?", (str(older),))
    do(folder, 1, 3, 4)  # the first run again, whose files the older database has a record of as deleted
    if database == "newer":
        shutil.copytree(folder.files.folder, tmp_path / "files")
        submit(folder, 5)
        shutil.rmtree(folder.files.folder)
        (tmp_path / "files").rename(folder.files.folder)
    folder.close()
    shutil.copytree(folder.path, place)
    copied = place / "shoe.sqlite"
    if database in DATABASES[:3]:
        for left in place.glob("shoe.sqlite*"):
            left.unlink()
        copied.touch()
        if database == "without tables":
            with sqlite3.connect(copied) as db:
                db.execute("VACUUM")
        elif database == "without rows":
            Folder.open(tmp_path / "other").close()
            shutil.copyfile(tmp_path / "other" / "shoe.sqlite", copied)
    elif database == "missing":
        copied.unlink()
    elif database == "older":
        shutil.copyfile(older, copied)
    assert path.exists()
    for number, file in enumerate(files_of(place)):
        if files == "none" or (files == "some" and number % 2):
            file.unlink()
    return place


@pytest.mark.parametrize("files", ["all", *(pytest.param(files, marks=pytest.mark.slow) for files in ("some", "none"))])
@pytest.mark.parametrize("database", DATABASES)
def test_no_mixture_of_database_and_files_makes_the_server_remove_a_file(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database: str, files: str
) -> None:
    place = mixture(folder, tmp_path, database, files)
    stored = files_of(place)
    assert len(stored) >= {"all": 8, "some": 4, "none": 0}[files]
    is_refused = database == "missing" or (files != "none" and database in DATABASES[:3])
    began = time.time()
    for days in (0, 1.5, 400):
        with monkeypatch.context() as later:
            later.setattr("time.time", lambda days=days: began + days * DAY)
            if is_refused:
                with pytest.raises(InputError, match="other files" if database == "missing" else "empty database"):
                    Folder.open(place)
            else:
                opened = Folder.open(place)
                with working(opened):
                    pass
                runs.tidy(opened)
                opened.close()
            assert files_of(place) == stored
    if is_refused:
        with pytest.raises(InputError):
            clean(place)
        with pytest.raises(InputError):
            restore(place, tmp_path / "again")
        assert files_of(place) == stored
    elif files == "none":
        assert clean(place) == 0


@pytest.mark.slow
@pytest.mark.parametrize("database", ["empty", "older"])
def test_a_real_server_starts_without_removing_anything(folder: Folder, tmp_path: Path, database: str) -> None:
    place = mixture(folder, tmp_path, database, "all")
    stored = files_of(place)
    for file in stored:
        os.utime(file, (0, 0))
    with serve(place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        if database == "empty":
            assert (server.wait(30), server.stdout.read()) == (2, "")
        else:
            assert "shoe serves at" in server.stdout.readline()
            time.sleep(3)
        server.terminate()
    assert files_of(place) == stored


def test_the_files_of_a_deleted_run_are_removed_a_day_after_the_deletion(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    (id_,) = do(folder, 1)
    stray = received(folder.files, [b"stray"]).sha256
    runs.delete(folder, id_)
    began, left = time.time(), {}
    for hours in (0, 25, 48, 50):
        monkeypatch.setattr("time.time", lambda hours=hours: began + hours * 3600)
        runs.tidy(folder)
        left[hours] = len(list(folder.files.hashes()))
    # What is left: the ground truth, and a file without a record of its deletion.
    assert left == {0: 6, 25: 6, 48: 6, 50: 2}
    assert stray in folder.files.hashes()
    assert rows(folder, "deleted_files") == []


@pytest.mark.parametrize("version", [0, 2])
def test_a_database_of_another_program_is_refused(tmp_path: Path, version: int) -> None:
    path = tmp_path / "shoe.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE tasks (id)")
        db.execute(f"PRAGMA user_version = {version}")
    before = path.read_bytes()
    with pytest.raises(InputError, match="of another program"):
        Folder.open(tmp_path)
    assert [each.harmful for each in doctor(tmp_path)] == [True]
    assert path.read_bytes() == before


def test_a_backup_whose_folder_others_can_read_is_restored(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup(folder.path, tmp_path / "copy")
    (tmp_path / "copy").chmod(0o755)
    full = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr("shutil.disk_usage", lambda _: full)
    assert [each.harmful for each in doctor(tmp_path / "copy")] == [False, False]
    assert restore(tmp_path / "copy", tmp_path / "again")[0] == 1
