"""Zip files as runs are: nothing in them is unpacked before its length is known and bounded."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import IO

from shoe.core.errors import InputError
from shoe.io.files import read_bytes

A_RUN = "a run (shoe score --save)"
_START, _END, _LENGTH_OF_END = b"PK", b"PK\x05\x06", 22
_LARGEST_HEAD = 64_000_000
_OF_ANY, _RATIO = 200_000_000, 32  # columns take 8 bytes a number at most, about 1 in the file


@contextmanager
def open_archive(path: str | Path, head: str) -> Iterator[zipfile.ZipFile]:
    """Yield an archive whose members are stored or deflated, and which fills its file.

    Args:
        path: of the file; only its first bytes and its list of members are read.
        head: the member that it has to have.

    Raises:
        InputError: for a file that is no such archive.
        ValueError: for one with anything else in it.
    """
    with _stream(path) as stream:
        if stream.read(len(_START)) != _START:
            raise InputError(path, found="no run", expected=A_RUN)
        size = stream.seek(-_LENGTH_OF_END, os.SEEK_END) + _LENGTH_OF_END
        end = stream.read(len(_END))
        with zipfile.ZipFile(stream) as archive:
            members = archive.infolist()
            if head not in archive.namelist():
                raise InputError(path, found="another kind of archive", expected=A_RUN)
            if end != _END or archive.comment or min(member.header_offset for member in members):
                raise ValueError("bytes before or after the archive")
            if any(member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for member in members):
                raise ValueError("a member that is neither stored nor deflated")
            if any(member.flag_bits & 1 for member in members):
                raise ValueError("a member that is encrypted")
            if sum(member.compress_size for member in members) > size:
                raise ValueError("members that are longer than the file")
            yield archive


def read_head(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return the content of the member that describes the others.

    Raises:
        ValueError: if it is longer than any run's.
    """
    length = archive.getinfo(name).file_size
    if length > _LARGEST_HEAD:
        raise ValueError(f"a head of {length:,} bytes")
    return read_member(archive, name, length)


def check_total(archive: zipfile.ZipFile, total: int) -> None:
    """Refuse columns that would fill the memory though the file is small.

    Raises:
        ValueError: for more than 200 MB that are 32 times what is packed.
    """
    most = max(_OF_ANY, _RATIO * sum(member.compress_size for member in archive.infolist()))
    if total > most:
        raise ValueError(f"columns of {total / 1e6:,.0f} MB, expected at most {most / 1e6:,.0f} in a file of its size")


def read_member(archive: zipfile.ZipFile, name: str, length: int) -> bytes:
    """Unpack a member, whatever it really holds no further than to the length that it has to have.

    Raises:
        ValueError: if it has another one.
    """
    if archive.getinfo(name).file_size != length:
        raise ValueError(f"{name} of another length than its head says")
    with archive.open(name) as stream:
        return stream.read(length)


def _stream(path: str | Path) -> IO[bytes]:
    if os.path.isfile(path):
        with suppress(OSError):
            return open(path, "rb")
    return BytesIO(read_bytes(path))  # which also explains what is wrong with a path
