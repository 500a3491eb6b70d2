"""The ledger: every answer as it came, a line of JSON for each attempt, kept before it is read and never changed.

One file for each model, as far as answers depend on how it is asked (``identity``)::

    {"format":"shoe ledger","version":1,"rater":{...}}
    {"keys":["9f.."],"ids":["417"],"part":"verb","pairs":[["ride.v.01","sit.v.01"]],"prompt":"5e..","answer":{...}}
    {"keys":["9f.."],"failure":"429","detail":"..."}
    {"event":{...}}

Between ``keys`` and ``answer`` stands what the request says of itself (``Request.about``). No line holds a state:
states follow from the answers by parsing, so that a better parser reads old answers better. A kill leaves whole lines,
and at most one torn one at the end: readers pass it over, and the next writer cuts it off.

What parsing gave is kept in a cache by stretches of the file, each with the checksum of its content, so that opening
the ledger of a million answers does not parse them all again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import orjson

from shoe.core.errors import InputError, quote
from shoe.llm.cache import Cache
from shoe.llm.request import KEY_BYTES, Request
from shoe.llm.states import Index, Keys, State, States, as_keys

FORMAT = "shoe ledger"
VERSION = 1
CACHE = "cache"
BLOCK = 1 << 20
"""Bytes of a stretch: it ends with the line that reaches so far."""
_CHECK_BYTES = 16
_CHUNK = 1 << 16
_ENTRY_STATES = frozenset([*range(128), State.REFUSED, State.REFUSED_TOGETHER, State.UNPARSED_ONCE])

Parse = Callable[[Mapping[str, Any]], Sequence[int]]
"""Reads a line with an answer: per key a value 0 to 127, ``State.UNPARSED_ONCE`` where none is to be found, or
``State.REFUSED``, or ``State.REFUSED_TOGETHER`` if there are several keys. A pure function of the line."""


@dataclass(slots=True)
class _Read:
    """What some lines say."""

    keys: bytearray = field(default_factory=bytearray)
    states: bytearray = field(default_factory=bytearray)
    events: list[Any] = field(default_factory=list)


class Ledger:
    """One model's ledger, as read so far; to be used by one thread at a time.

    Attributes:
        path: the file; it need not be there.
        identity: of the model and of how it is asked.
        events: all that was remembered, oldest first.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any], parse: Parse, parser: bytes = b"") -> None:
        """Take a ledger.

        Args:
            path: the file.
            identity: JSON of everything that all its answers depend on, ``model`` among it.
            parse: reads answers.
            parser: stands for ``parse`` and its settings: another one reads old answers anew.
        """
        self.path = path
        self.identity = identity
        self.events: list[Any] = []
        self._parse = parse
        self._parser = parser
        self._index = Index()
        self._offset = self._block_start = 0
        self._block = _Read()

    def states(self, keys: Keys) -> States:
        """Look questions up in what was read so far; see :meth:`Index.states`."""
        return self._index.states(keys)

    def refresh(self, end: int | None = None) -> None:
        """Read what was added since; a torn line at the end is passed over.

        Args:
            end: read no further than this.

        Raises:
            InputError: naming the line that is damaged.
        """
        try:
            handle = os.open(self.path, os.O_RDONLY)
        except FileNotFoundError:
            return
        except OSError as error:
            raise InputError(self.path, found=str(error.strerror), expected="a ledger") from None
        try:
            size = os.fstat(handle).st_size
            self._read(handle, size if end is None else min(end, size))
        finally:
            os.close(handle)

    def _read(self, handle: int, size: int) -> None:
        if self._offset == 0 and not self._read_header(handle, size):
            return
        if size < self._offset:
            raise InputError(self.path, found="less than before", expected="a ledger that only grows")
        if size >= self._block_start + BLOCK:
            with closing(Cache(self.path.parent / CACHE)) as kept:
                while (end := _line_end(handle, self._block_start + BLOCK - 1, size)) is not None:
                    self._read_block(handle, end, kept)
        data = _span(handle, self._offset, size)
        data = data[: data.rfind(b"\n") + 1]
        self._add(data, self._block)
        self._offset += len(data)

    def _read_header(self, handle: int, size: int) -> bool:
        line = first_line(handle, size)
        if not line:
            return False
        check_header(self.path, line, self.identity)
        self._offset = self._block_start = len(line)
        return True

    def _read_block(self, handle: int, end: int, kept: Cache) -> None:
        """Read to the end of the block that is being read, out of the cache if all of it is new."""
        content = _span(handle, self._block_start, end)
        name = f"{self.path.name}/{self._block_start}"
        check = self._parser + crc32(content).to_bytes(4) + (end - self._block_start).to_bytes(8)
        known = _unpacked(kept.get(name), check) if self._offset == self._block_start else None
        if known is None:
            self._add(content[self._offset - self._block_start :], self._block)
            kept.set(name, _packed(self._block, check))
        else:
            self._take(known, self._block)
        self._offset = self._block_start = end
        self._block = _Read()

    def _add(self, lines: bytes, block: _Read) -> None:
        self._take(self._parsed(lines), block)

    def _take(self, new: _Read, block: _Read) -> None:
        if new.states:
            self._index.add(as_keys(bytes(new.keys)), np.frombuffer(bytes(new.states), np.int8))
        self.events += new.events
        block.keys += new.keys
        block.states += new.states
        block.events += new.events

    def _parsed(self, lines: bytes) -> _Read:
        read = _Read()
        for number, line in enumerate(lines.split(b"\n")[:-1]):
            try:
                self._parse_line(line, read)
            except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
                raise self._damaged(number, line, error) from None
        return read

    def _parse_line(self, line: bytes, read: _Read) -> None:
        entry = orjson.loads(line)
        if "answer" in entry:
            keys = bytes.fromhex("".join(entry["keys"]))
            states = self._parse(entry)
            if not len(states) == len(entry["keys"]) == len(keys) / KEY_BYTES:
                raise ValueError("an answer to other questions than were asked")
            if not _ENTRY_STATES.issuperset(states):
                raise ValueError("a state that is none")
            read.keys += keys
            read.states += np.array(states, np.int8).tobytes()
        elif "event" in entry:
            read.events.append(entry["event"])
        elif "failure" not in entry:
            raise ValueError("no answer, failure or event")

    def _damaged(self, number: int, line: bytes, error: Exception) -> InputError:
        before = number + 1
        with self.path.open("rb") as stream:
            left = self._offset
            while left > 0:
                chunk = stream.read(min(_CHUNK, left))
                before += chunk.count(b"\n")
                left -= len(chunk)
        found = f"{quote(line[:40].decode('utf-8', 'replace'))} ({type(error).__name__}: {error})"
        return InputError(
            self.path,
            record=f"line {before}",
            found=found,
            expected="a whole line of a ledger",
            hint="remove the line to have its questions asked again",
        )


def answers(path: Path, latest: int | None = None) -> Iterator[dict[str, Any]]:
    """Go through the lines of a ledger that hold answers, as they were kept.

    Args:
        path: the file; it need not be there.
        latest: only those in so many bytes at its end.
    """
    try:
        with path.open("rb") as stream:
            stream.seek(0 if latest is None else max(os.fstat(stream.fileno()).st_size - latest, 0))
            next(stream, None)  # the header, or a part of a line
            for line in stream:
                if line.endswith(b"\n") and "answer" in (entry := orjson.loads(line)):
                    yield entry
    except FileNotFoundError:
        return


def canonical(value: Any) -> bytes:
    """Write JSON in the one form that is hashed: sorted names, no blanks; paths as their text."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS, default=str)


def header(identity: Mapping[str, Any]) -> bytes:
    """Make the first line of a ledger."""
    return canonical({"format": FORMAT, "version": VERSION, "rater": identity}) + b"\n"


def first_line(handle: int, size: int) -> bytes:
    """Read the first line of an open ledger; nothing if it is not whole."""
    end = _line_end(handle, 0, size)
    return b"" if end is None else _span(handle, 0, end)


def check_header(path: Path, line: bytes, identity: Mapping[str, Any]) -> None:
    """See that a ledger is this model's.

    Raises:
        InputError: if its first line is that of something else.
    """
    if line != header(identity):
        found = quote(line[:60].decode("utf-8", "replace"))
        raise InputError(
            path, record="line 1", found=found, expected=f"the ledger of {identity['model']}, as it is set"
        )


def answer_line(request: Request, raw: Mapping[str, Any]) -> bytes:
    """Make the line of an answer.

    Raises:
        TypeError: for an answer that JSON cannot hold.
    """
    entry = {"keys": _hex(request), **request.about(), "answer": raw}
    return orjson.dumps(entry, option=orjson.OPT_APPEND_NEWLINE)


def failure_line(request: Request, kind: str, detail: str) -> bytes:
    """Make the line of an attempt that brought no answer."""
    entry = {"keys": _hex(request), "failure": kind, "detail": detail}
    return orjson.dumps(entry, option=orjson.OPT_APPEND_NEWLINE)


def event_line(event: Mapping[str, Any]) -> bytes:
    """Make the line of something to remember."""
    return orjson.dumps({"event": event}, option=orjson.OPT_APPEND_NEWLINE)


def _hex(request: Request) -> list[str]:
    return [key.hex() for key in request.keys]


def _packed(read: _Read, check: bytes) -> bytes:
    """Write what lines say as bytes that tell whether they are whole, and of which lines and parser they are."""
    body = orjson.dumps({"answers": len(read.states), "events": read.events}) + b"\n" + read.keys + read.states
    return hashlib.blake2b(check + body, digest_size=_CHECK_BYTES).digest() + body


def _unpacked(packed: bytes | None, check: bytes) -> _Read | None:
    """Read what was packed; None unless it is whole and has this check."""
    if (
        packed is None
        or packed[:_CHECK_BYTES] != hashlib.blake2b(check + packed[_CHECK_BYTES:], digest_size=_CHECK_BYTES).digest()
    ):
        return None
    about, _, arrays = packed[_CHECK_BYTES:].partition(b"\n")
    facts = orjson.loads(about)
    split = facts["answers"] * KEY_BYTES
    return _Read(bytearray(arrays[:split]), bytearray(arrays[split:]), facts["events"])


def _line_end(handle: int, start: int, size: int) -> int | None:
    """Where the line that holds a byte ends, its newline included; None if it does not before ``size``."""
    while start < size:
        chunk = os.pread(handle, min(_CHUNK, size - start), start)
        if not chunk:
            return None
        found = chunk.find(b"\n")
        if found >= 0:
            return start + found + 1
        start += len(chunk)
    return None


def _span(handle: int, start: int, end: int) -> bytes:
    return b"".join(_chunks(handle, start, end))


def _chunks(handle: int, start: int, end: int) -> Iterator[bytes]:
    while start < end and (chunk := os.pread(handle, end - start, start)):
        yield chunk
        start += len(chunk)
