"""The ledger: every answer as it came, a line of JSON for each attempt, kept before it is read and never changed.

One file for each model and way to ask it (``identity``)::

    {"format":"shoe ledger","version":1,"rater":{...}}
    {"keys":["9f.."],"ids":["417"],"part":"verb","pairs":[["ride.v.01","sit.v.01"]],"prompt":"5e..","answer":{...}}
    {"keys":["9f.."],"failure":"429","detail":"..."}
    {"event":{...}}

Between ``keys`` and ``answer`` stands what the request says of itself (``Request.about``). States follow from answers
by parsing. A kill leaves whole lines, and at most one torn one at the end: readers pass it over, and the next writer
cuts it off. What parsing gave is cached by stretches of the file, each with the checksum of its content.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO
from zlib import crc32

import msgspec
import numpy as np

from shoe.core.errors import InputError, quote
from shoe.llm.batches import Event
from shoe.llm.cache import Cache
from shoe.llm.request import KEY_BYTES, Request
from shoe.llm.states import Index, Keys, State, States, as_keys

FORMAT = "shoe ledger"
VERSION = 1
CACHE = "cache"
BLOCK = 1 << 20
"""Bytes of a stretch: it ends with the line that reaches so far."""
_CHECK_BYTES = 16
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


@dataclass(eq=False)
class Ledger:
    """One model's ledger, as read so far; to be used by one thread at a time.

    Attributes:
        path: the file; it need not be there.
        identity: JSON of everything that all its answers depend on, ``model`` among it.
        parse: reads answers.
        parser: stands for ``parse`` and its settings: another one reads old answers anew.
        events: all that was remembered, oldest first.
    """

    path: Path
    identity: Mapping[str, Any]
    parse: Parse
    parser: bytes = b""
    events: list[Any] = field(default_factory=list, init=False)
    _index: Index = field(default_factory=Index, init=False)
    _offset: int = field(default=0, init=False)
    _block_start: int = field(default=0, init=False)
    _block: _Read = field(default_factory=_Read, init=False)

    def states(self, keys: Keys) -> States:
        """Look questions up in what was read so far; see :meth:`Index.states`."""
        return self._index.states(keys)

    def refresh(self, end: int | None = None) -> None:
        """Read what was added since, no further than ``end``; a torn line at the end is passed over.

        Raises:
            InputError: naming the line that is damaged.
        """
        try:
            stream = self.path.open("rb")
        except FileNotFoundError:
            return
        except OSError as error:
            raise InputError(self.path, found=str(error.strerror), expected="a ledger") from None
        with stream:
            size = os.fstat(stream.fileno()).st_size
            self._read(stream, size if end is None else min(end, size))

    def _read(self, stream: BinaryIO, size: int) -> None:
        if self._offset == 0:
            header_line = stream.readline(size)
            if not header_line.endswith(b"\n"):
                return
            check_header(self.path, header_line, self.identity)
            self._offset = self._block_start = len(header_line)
        if size < self._offset:
            raise InputError(self.path, found="less than before", expected="a ledger that only grows")
        if size >= self._block_start + BLOCK:
            with closing(Cache(self.path.parent / CACHE)) as kept:
                while (end := _line_end(stream, self._block_start + BLOCK - 1, size)) is not None:
                    self._read_block(stream, end, kept)
        stream.seek(self._offset)
        data = stream.read(size - self._offset)
        data = data[: data.rfind(b"\n") + 1]
        self._take(self._parsed(data))
        self._offset += len(data)

    def _read_block(self, stream: BinaryIO, end: int, kept: Cache) -> None:
        """Read to the end of the block that is being read, out of the cache if all of it is new."""
        stream.seek(self._block_start)
        content = stream.read(end - self._block_start)
        name = f"{self.path.name}/{self._block_start}"
        check = self.parser + crc32(content).to_bytes(4) + (end - self._block_start).to_bytes(8)
        known = _unpacked(kept.get(name), check) if self._offset == self._block_start else None
        self._take(known or self._parsed(content[self._offset - self._block_start :]))
        if known is None:
            kept.set(name, _packed(self._block, check))
        self._offset = self._block_start = end
        self._block = _Read()

    def _take(self, new: _Read) -> None:
        if new.states:
            self._index.add(as_keys(bytes(new.keys)), np.frombuffer(bytes(new.states), np.int8))
        self.events += new.events
        self._block.keys += new.keys
        self._block.states += new.states
        self._block.events += new.events

    def _parsed(self, lines: bytes) -> _Read:
        read = _Read()
        for number, line in enumerate(lines.split(b"\n")[:-1]):
            try:
                self._parse_line(line, read)
            except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError) as error:
                raise self._damaged(number, line, error) from None
        return read

    def _parse_line(self, line: bytes, read: _Read) -> None:
        entry = msgspec.json.decode(line)
        if "answer" in entry:
            keys = bytes.fromhex("".join(entry["keys"]))
            states = self.parse(entry)
            if not len(states) == len(entry["keys"]) == len(keys) / KEY_BYTES:
                raise ValueError("an answer to other questions than were asked")
            if not _ENTRY_STATES.issuperset(states):
                raise ValueError("a state that is none")
            read.keys += keys
            read.states += np.array(states, np.int8).tobytes()
        elif "event" in entry:
            msgspec.convert(entry["event"], Event)
            read.events.append(entry["event"])
        elif "failure" not in entry:
            raise ValueError("no answer, failure or event")

    def _damaged(self, number: int, line: bytes, error: Exception) -> InputError:
        with self.path.open("rb") as stream:
            while stream.tell() < self._offset and stream.readline():
                number += 1
        found = f"{quote(line[:40].decode('utf-8', 'replace'))} ({type(error).__name__}: {error})"
        return InputError(
            self.path,
            record=f"line {number + 1}",
            found=found,
            expected="a whole line of a ledger",
            hint="remove the line to have its questions asked again",
        )


def answers(path: Path, latest: int | None = None) -> Iterator[dict[str, Any]]:
    """Go through the lines of a ledger that hold answers, or those in so many ``latest`` bytes; it need not exist."""
    try:
        with path.open("rb") as stream:
            stream.seek(0 if latest is None else max(os.fstat(stream.fileno()).st_size - latest, 0))
            next(stream, None)  # the header, or a part of a line
            for line in stream:
                if line.endswith(b"\n") and "answer" in (entry := msgspec.json.decode(line)):
                    yield entry
    except FileNotFoundError:
        return


def canonical(value: Any) -> bytes:
    """Write JSON in the one form that is hashed: sorted names, no blanks; paths as their text; 1e+16 with its sign."""
    return msgspec.json.encode(_signed(value), order="sorted", enc_hook=str)


def _signed(value: Any) -> Any:
    match value:
        case float() if 1e16 <= abs(value) < float("inf"):
            return msgspec.Raw(repr(value).encode())
        case dict():
            return {name: _signed(one) for name, one in value.items()}
        case list() | tuple():
            return [_signed(one) for one in value]
    return value


def header(identity: Mapping[str, Any]) -> bytes:
    """Make the first line of a ledger."""
    return canonical({"format": FORMAT, "version": VERSION, "rater": identity}) + b"\n"


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
    """Make the line of an answer; TypeError for one that JSON cannot hold."""
    return _line({"keys": _hex(request), **request.about(), "answer": raw})


def failure_line(request: Request, kind: str, detail: str) -> bytes:
    """Make the line of an attempt that brought no answer."""
    return _line({"keys": _hex(request), "failure": kind, "detail": detail})


def event_line(event: Mapping[str, Any]) -> bytes:
    """Make the line of something to remember."""
    return _line({"event": event})


def _line(entry: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(entry) + b"\n"


def _hex(request: Request) -> list[str]:
    return [key.hex() for key in request.keys]


def _packed(read: _Read, check: bytes) -> bytes:
    body = msgspec.json.encode({"answers": len(read.states), "events": read.events}) + b"\n" + read.keys + read.states
    return _checksum(check + body) + body


def _unpacked(packed: bytes | None, check: bytes) -> _Read | None:
    """Read what was packed; None unless it is whole and has this check."""
    body = (packed or b"")[_CHECK_BYTES:]
    if packed is None or packed[:_CHECK_BYTES] != _checksum(check + body):
        return None
    about, _, arrays = body.partition(b"\n")
    facts = msgspec.json.decode(about)
    split = facts["answers"] * KEY_BYTES
    return _Read(bytearray(arrays[:split]), bytearray(arrays[split:]), facts["events"])


def _checksum(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_CHECK_BYTES).digest()


def _line_end(stream: BinaryIO, start: int, size: int) -> int | None:
    """Where the line that holds a byte ends, its newline included; None if it does not before ``size``."""
    stream.seek(start)
    line = stream.readline(max(size - start, 0))
    return start + len(line) if line.endswith(b"\n") else None
