import errno
import gzip
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
import zlib
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from shoe.core.io.files import _temporary_files, atomic_write, decompress_zlib, read_bytes
from tests.errors import error_with, input_error


def test_a_file_appears_whole_with_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as other:  # under /dev is a folder like any other
        for folder in (tmp_path, Path(other)):
            (folder / "old").write_bytes(b"old")
            for name, before in (("a", []), ("old", [b"old"])):
                with atomic_write(folder / name) as stream:
                    stream.write(b"new")
                    stream.flush()
                    assert [path.read_bytes() for path in folder.glob(name)] == before
                assert (folder / name).read_bytes() == b"new"
            assert sorted(path.name for path in folder.iterdir()) == ["a", "old"]
            assert stat.S_IMODE((folder / "a").stat().st_mode) == stat.S_IMODE((folder / "old").stat().st_mode)


def test_a_file_that_is_replaced_keeps_its_permissions_and_a_link_to_it_its_target(tmp_path: Path) -> None:
    (tmp_path / "a").touch(0o640)
    with atomic_write(tmp_path / "a"):
        pass
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    with atomic_write(tmp_path / "link") as stream:
        stream.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("suffix", ["", ".new"])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, failure: type[BaseException], suffix: str
) -> None:
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(failure), atomic_write(tmp_path / "a", suffix) as stream:
        raise failure(stream.write(b"half"))
    assert (tmp_path / "a").read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_a_pipe_and_standard_output_are_written_to_as_they_are(tmp_path: Path) -> None:
    script = "from shoe.core.io.files import atomic_write\nwith atomic_write('/dev/stdout') as to: to.write(b'data')"
    with (tmp_path / "redirected").open("wb") as output:
        subprocess.run([sys.executable, "-c", script], stdout=output, check=True)
    assert (tmp_path / "redirected").read_bytes() == b"data"
    piped = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, check=True)
    assert piped.stdout == b"data"
    assert Path("/dev/stdout").is_symlink()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with atomic_write(pipe) as stream:
        stream.write(b"data")
    assert os.read(reader, 10) == b"data"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def die_while_writing(path: Path) -> None:
    with atomic_write(path) as stream:
        stream.write(b"half")
        stream.flush()
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_kill_in_the_middle_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    child = get_context("fork").Process(target=die_while_writing, args=(tmp_path / "a",))
    child.start()
    child.join()
    assert (child.exitcode, (tmp_path / "a").read_bytes()) == (-signal.SIGKILL, b"old")
    others = {tmp_path / name for name in (".b.12345678.tmp", ".a.1234567.tmp", "a", "b")}
    for path in others - {tmp_path / "a"}:
        path.touch()
    assert len(set(tmp_path.iterdir()) - others) == 1
    with atomic_write(tmp_path / "a") as living:  # deletes the dead process' file, and no other one
        living.write(b"new")
        assert len(set(tmp_path.iterdir()) - others) == 1
        _temporary_files.cache_clear()
        with atomic_write(tmp_path / "a") as stream:
            stream.write(b"inner")
    assert set(tmp_path.iterdir()) == others
    assert (tmp_path / "a").read_bytes() == b"new"


def test_what_cannot_be_written_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    for path, reason in (("none/a", errno.ENOENT), ("folder", errno.EISDIR), ("file/a", errno.ENOTDIR)):
        with input_error(os.strerror(reason)), atomic_write(tmp_path / path):
            pass


@given(st.binary())
def test_bytes_are_read_packed_or_not(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a"
        path.write_bytes(gzip.compress(data))
        assert read_bytes(path) == data
        if not data.startswith(b"\x1f\x8b"):
            path.write_bytes(data)
            assert read_bytes(path) == data


def test_what_cannot_be_read_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "instances_test2015.json").touch()
    with input_error("no such file", "instances_test2015.json?"):
        read_bytes(tmp_path / "instance_test2015.json")
    (tmp_path / "a.json").symlink_to("nowhere")
    for name in ("a.json", "folder/x"):  # a link to nothing is no mistake in its name
        with input_error("no such file", source=str(tmp_path / name)) as caught:
            read_bytes(tmp_path / name)
        assert "?" not in str(caught.value)
    for path, found in ((tmp_path, "a folder"), (Path("/dev/zero"), "a device")):
        with input_error(found, source=str(path)):
            read_bytes(path)
    assert read_bytes(os.devnull) == b""
    whole = gzip.compress(b"x" * 1000)
    for damaged in (whole[:-3], whole[:12] + b"\xff\xff" + whole[14:], whole[:2], whole + b"\x1f\x8b"):
        (tmp_path / "b.gz").write_bytes(damaged)
        with input_error("damaged gzip data"):
            read_bytes(tmp_path / "b.gz")


def test_packed_data_of_several_members_is_read_whole_in_linear_time(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"one, ") + gzip.compress(b"") + gzip.compress(b"two") + b"\0" * 9)
    assert read_bytes(tmp_path / "a.gz") == b"one, two"
    members = gzip.compress(b"") * 20_000 + gzip.compress(b"a") + b"\0" * 1_000_000 + gzip.compress(b"b" * 100_000)
    (tmp_path / "a.gz").write_bytes(members)
    start = time.process_time()
    assert read_bytes(tmp_path / "a.gz") == b"a" + b"b" * 100_000
    assert time.process_time() - start < 1


def test_no_more_is_unpacked_than_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoe.core.io.files.LARGEST_UNPACKED", 1_000_000)
    allowed, member = gzip.compress(b"x" * 1_000_000), gzip.compress(b"x" * 500_001)
    (tmp_path / "a.gz").write_bytes(allowed)
    assert len(read_bytes(tmp_path / "a.gz")) == 1_000_000
    assert len(decompress_zlib(zlib.compress(b"x" * 1_000_000))) == 1_000_000
    for packed in (gzip.compress(b"x" * 1_000_001), member + member, gzip.compress(b"x" * 10_000_000)):
        (tmp_path / "a.gz").write_bytes(packed)
        with input_error("0.001 GB", source=str(tmp_path / "a.gz")):
            read_bytes(tmp_path / "a.gz")
    with error_with(OverflowError, "0.001 GB"):
        decompress_zlib(zlib.compress(b"x" * 1_000_001))
    # What unpacks to many times its size is no file of predictions.
    monkeypatch.undo()
    monkeypatch.setattr("shoe.core.io.files._UNPACKED_OF_ANY", 100_000)
    (tmp_path / "a.gz").write_bytes(gzip.compress(b" " * 10_000_000))
    with input_error("300 times"):
        read_bytes(tmp_path / "a.gz")
