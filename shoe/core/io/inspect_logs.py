"""Logs of inspect_ai: ``.eval``, a zip archive with one JSON document per sample, and ``.json``, one document."""

import re
import sys
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from shoe.core.errors import InputError, MissingExtraError
from shoe.core.io.files import most_unpacked
from shoe.core.io.json import parse_with_nan

LOG_START = "_journal/start.json"  # archive member that identifies a log
_HEADER = "header.json"  # archive member with the status, which a log has when its run ends
JSON_LOG = re.compile(rb'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:\s*"\w+"\s*,\s*"eval"\s*:')
_FIELDS = ("id", "input", "output", "error")  # the other fields of a sample are scores, metadata, and images as base64
_ZSTANDARD = 93  # zip compression method, which zipfile reads from Python 3.14 on
_LARGEST_WINDOW = 1 << 27
_EXPECTED = "a complete log of inspect_ai with samples"


def read_log(path: Path, data: bytes) -> tuple[list[dict[str, Any]], int]:
    """Return the samples of a log as dicts (id, input, output, error), and the number of samples left out.

    In the log of an unfinished run, samples without an answer or error are left out. ``data`` is the content of the
    file; if it is empty, ``path`` is opened as a zip archive. Raises InputError if the log is damaged or too large, or
    no samples remain, and MissingExtraError if it is compressed with Zstandard, and the package zstandard is missing.
    """
    try:
        is_json = JSON_LOG.match(data)
        found = [parse_with_nan(path, each) for each in ([data] if is_json else _documents(path, data))]
        header: dict[str, Any] = next((each for each in found if "eval" in each), {})
        samples = header.get("samples") or [] if is_json else [each for each in found if each is not header]
        read = [{field: sample.get(field) for field in _FIELDS} for sample in samples]
        is_finished = header.get("status") == "success"
    except InputError:
        raise
    except ImportError:
        raise MissingExtraError(f"{path}: reading .eval (package zstandard)", "inspect") from None
    except Exception as error:  # zipfile and zstandard raise errors of many types for damaged files
        raise InputError(path, found=f"a damaged log ({type(error).__name__})", expected=_EXPECTED) from None
    answered = [sample for sample in read if is_finished or sample["error"] or (sample["output"] or {}).get("choices")]
    if not answered:
        raise InputError(path, found="no samples" if not read else "no sample with an answer", expected=_EXPECTED)
    return answered, len(read) - len(answered)


def _documents(path: Path, data: bytes) -> Iterator[bytes]:
    with zipfile.ZipFile(BytesIO(data) if data else path) as archive:
        names = [name for name in archive.namelist() if name.startswith("samples/") or name == _HEADER]
        found = [archive.getinfo(name) for name in names]
        size, packed = sum(each.file_size for each in found), sum(each.compress_size for each in found)
        if size > most_unpacked(packed):
            raise InputError(path, found=f"{size / 1e9:.2g} GB of compressed data", expected=_EXPECTED)
        for member in found:
            if member.compress_type != _ZSTANDARD or sys.version_info >= (3, 14):
                yield archive.open(member).read(member.file_size)
                continue
            from zstandard import ZstdDecompressor

            stream: Any = archive.fp
            stream.seek(member.header_offset + 26)  # the header ends with the lengths of name and extra field
            stream.seek(sum(int.from_bytes(stream.read(2), "little") for _ in range(2)), 1)
            decoder = ZstdDecompressor(max_window_size=_LARGEST_WINDOW)
            content = decoder.stream_reader(stream.read(member.compress_size), read_across_frames=True)
            yield content.read(member.file_size)
