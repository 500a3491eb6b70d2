"""The ledger: every answer as it came, a line of JSON for each attempt, kept before it is read and never changed.

One file for each model and way to ask it (``identity``)::

    {"format":"shoe ledger","version":1,"rater":{...}}
    {"keys":["9f.."],"ids":["417"],"part":"verb","pairs":[["ride.v.01","sit.v.01"]],"prompt":"5e..","answer":{...}}
    {"keys":["9f.."],"failure":"429","detail":"..."}
    {"event":{...}}

Between ``keys`` and ``answer`` stands what the request says of itself (``Request.about``), and ``attempt`` if it is not
the first. States follow from answers by parsing. A kill leaves whole lines, and at most one torn one at the end:
readers pass it over, and the next writer cuts it off. The event ``ask again`` makes void what was said before it
without a rating.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any, BinaryIO, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Mask
from shoe.core.errors import InputError, quote
from shoe.core.io.files import is_stream
from shoe.llm.batch_state import Event
from shoe.llm.request import KEY_BYTES, Request

# State of every question that was ever asked: the value of its answers, or why there is none.

Keys = NDArray[np.uint64]
"""(n, 2) halves of keys."""
States = NDArray[np.int8]
"""(n,) value of an answer, 0 to 127, or a negative :class:`State`."""


class State(IntEnum):
    """Why a question has no usable answer."""

    UNRATED = -1
    """Never asked, or no answer arrived; the question is asked when the job runs again."""
    REFUSED = -2
    """The model declined to answer; final."""
    UNPARSABLE = -3
    """No answer could be parsed, the second one included; final."""
    UNPARSED_ONCE = -4
    """The first answer could not be parsed; the question is asked a second time."""
    REFUSED_TOGETHER = -5
    """The model declined several questions, perhaps because of one; each is asked a second time, alone."""


def pending(states: States) -> Mask:
    """Return (n,) whether each question is still to be asked."""
    found: Mask = np.isin(states, [State.UNRATED, State.UNPARSED_ONCE, State.REFUSED_TOGETHER])
    return found


def as_keys(joined: bytes) -> Keys:
    """Return concatenated keys as an array."""
    keys: Keys = np.frombuffer(joined, ">u8").astype(np.uint64).reshape(-1, KEY_BYTES // 8)
    return keys


class Index:
    """State of each key, from its answers in the order of arrival; 25 bytes per key.

    The first answer that could be parsed, or a refusal of this question alone, counts. Two answers that could not make
    the question unparsable, or refused; later answers do not count, because none is requested.
    """

    def __init__(self) -> None:
        self._keys: Keys = np.zeros((0, 2), np.uint64)
        self._states: States = np.zeros(0, np.int8)
        self._added: list[tuple[Keys, States]] = []
        self._heads = self._keys[:, 0]
        self._longest = 0

    def add(self, keys: Keys, states: States) -> None:
        """Add the values or states of n answers, in order of arrival."""
        self._added.append((keys, states))

    def forget(self, states: Sequence[State]) -> None:
        """Remove the questions in some states, as if they had never been asked."""
        self._settle()
        kept = ~np.isin(self._states, states)
        self._keys, self._states, self._heads = self._keys[kept], self._states[kept], self._heads[kept]

    def states(self, keys: Keys) -> States:
        """Return the (n,) states of questions, ``State.UNRATED`` for those never answered."""
        self._settle()
        found = np.full(len(keys), State.UNRATED, np.int8)
        if not len(self._keys):
            return found
        # Five times as fast in sorted order, because neighbours lie together in memory.
        order = np.argsort(keys[:, 0])
        wanted = keys[order]
        index = np.searchsorted(self._heads, wanted[:, 0])
        states = found.copy()
        # Two keys may share their first half, once in millions of ledgers: then the next entries are compared, too.
        for _ in range(self._longest):
            inside = np.minimum(index, len(self._keys) - 1)
            hit = (self._keys[inside] == wanted).all(axis=1)
            states[hit] = self._states[inside[hit]]
            index += 1
        found[order] = states
        return found

    def _settle(self) -> None:
        """Merge the added answers into the sorted keys, and combine the answers to each question."""
        if not self._added:
            return
        keys = np.concatenate([self._keys, *(keys for keys, _ in self._added)])
        states = np.concatenate([self._states, *(states for _, states in self._added)])
        self._added.clear()
        order = np.argsort(keys[:, 0], kind="stable")
        keys, states = keys[order], states[order]
        same_head = keys[1:, 0] == keys[:-1, 0]
        if (same_head & (keys[1:, 1] != keys[:-1, 1])).any():
            order = np.lexsort((keys[:, 1], keys[:, 0]))
            keys, states = keys[order], states[order]
            same_head = (keys[1:] == keys[:-1]).all(axis=1)
        starts = np.flatnonzero(np.concatenate([[True], ~same_head]))
        self._keys, self._states = keys[starts], _joined(states, starts)
        self._heads = self._keys[:, 0].copy()
        runs = np.flatnonzero(np.concatenate([[True], self._heads[1:] != self._heads[:-1], [True]]))
        self._longest = int(np.diff(runs).max())


def _joined(states: States, starts: NDArray[np.int64]) -> States:
    """Combine adjacent answers to each question: the second one counts if the first was unusable."""
    first = states[starts]
    second = states[np.minimum(starts + 1, len(states) - 1)]
    several = np.diff(np.append(starts, len(states))) > 1
    later = np.where(second == State.UNPARSED_ONCE, np.int8(State.UNPARSABLE), second)
    later = np.where(second == State.REFUSED_TOGETHER, np.int8(State.REFUSED), later)
    asked_again = (first == State.UNPARSED_ONCE) | (first == State.REFUSED_TOGETHER)
    return np.where(asked_again & several, later, first).astype(np.int8)


FORMAT = "shoe ledger"
VERSION = 1
BLOCK = 1 << 24
"""Bytes that are read at once, or one line if that is longer."""
ASK_AGAIN, ASKED_AGAIN = "ask again", "asked again"
_ENTRY_STATES = frozenset([*range(128), State.REFUSED, State.REFUSED_TOGETHER, State.UNPARSED_ONCE])

Parse = Callable[[Mapping[str, Any]], Sequence[int]]
"""Reads a line with an answer: per key a value 0 to 127, ``State.UNPARSED_ONCE`` where none is to be found, or
``State.REFUSED``, or ``State.REFUSED_TOGETHER`` if there are several keys. A pure function of the line."""


class _AskAgain(msgspec.Struct, tag_field="event", tag=ASK_AGAIN):
    states: list[Literal["unparsable", "refused"]]


class _AskedAgain(msgspec.Struct, tag_field="event", tag=ASKED_AGAIN):
    pass


@dataclass(eq=False)
class Ledger:
    """One model's ledger, as read so far; to be used by one thread at a time.

    Attributes:
        path: the file; it need not be there.
        identity: JSON of everything that all its answers depend on, ``model`` among it.
        parse: reads answers.
        base: another ledger, whose lines stand before all of this one's; it is read once.
        events: all that was remembered, oldest first.
    """

    path: Path
    identity: Mapping[str, Any]
    parse: Parse
    base: Path | None = None
    events: list[Any] = field(default_factory=list, init=False)
    _index: Index = field(default_factory=Index, init=False)
    _offset: int = field(default=0, init=False)
    _file: int | None = field(default=None, init=False)
    _undecided: set[bytes] = field(default_factory=set, init=False)
    _undecided_before: set[bytes] = field(default_factory=set, init=False)

    def exists(self) -> bool:
        """Whether there is anything to read."""
        return self.path.exists() or (self.base is not None and self.base.exists())

    def states(self, keys: Keys) -> States:
        """Look questions up in what was read so far; see :meth:`Index.states`."""
        return self._index.states(keys)

    @property
    def asking_again(self) -> list[str]:
        """Names of the states that are being asked again, by a command that has not come to its end."""
        told = [event for event in self.events if event["event"] in (ASK_AGAIN, ASKED_AGAIN)]
        return told[-1].get("states", []) if told else []

    def refresh(self, end: int | None = None) -> None:
        """Read what was added since, no further than ``end``; a torn line at the end is passed over.

        Raises:
            InputError: naming the line that is damaged.
        """
        if is_stream(self.path):  # which would have nothing to say for as long as nobody writes
            raise InputError(self.path, found="a pipe or device", expected="a ledger")
        if self._file is None:
            self._begin(0)
        try:
            stream = self.path.open("rb")
        except FileNotFoundError:
            return
        except OSError as error:
            raise InputError(self.path, found=str(error.strerror), expected="a ledger") from None
        with stream:
            about = os.fstat(stream.fileno())
            if about.st_ino != self._file:  # nothing was read yet, or a merge has put another file in its place
                self._begin(about.st_ino)
            self._read(stream, about.st_size if end is None else min(end, about.st_size))

    def _begin(self, file: int) -> None:
        """Be as before anything was read, but for what the base holds."""
        if self.base is None:
            self._index, self.events = Index(), []
        elif self._file is None:
            before = Ledger(self.base, self.identity, self.parse)
            before.refresh()
            self._index, self.events, self._undecided_before = before._index, before.events, before._undecided
        self._offset, self._file = 0, file

    def _read(self, stream: BinaryIO, size: int) -> None:
        if self._offset == 0:
            header_line = stream.readline(size)
            if not header_line.endswith(b"\n"):
                return
            check_header(self.path, header_line, self.identity)
            self._offset = len(header_line)
        if size < self._offset:
            raise InputError(self.path, found="less than before", expected="a ledger that only grows")
        stream.seek(self._offset)
        while data := stream.read(min(BLOCK, size - self._offset)):
            data += stream.readline(size - self._offset - len(data))
            lines = data[: data.rfind(b"\n") + 1]
            self._take(lines)
            self._offset += len(lines)
            if len(lines) < len(data):
                return

    def _take(self, lines: bytes) -> None:
        keys, states = bytearray(), bytearray()
        for number, line in enumerate(lines.split(b"\n")[:-1]):
            try:
                event = self._parse_line(line, keys, states)
            except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError) as error:
                raise self._damaged(number, line, error) from None
            if event is not None:
                self.events.append(event)
            if event is not None and event["event"] == ASK_AGAIN:
                self._note(keys, states)
                self._index.forget([State[name.upper()] for name in event["states"]])
                keys, states = bytearray(), bytearray()
        self._note(keys, states)

    def _note(self, keys: bytearray, states: bytearray) -> None:
        if states:
            self._index.add(as_keys(bytes(keys)), np.frombuffer(bytes(states), np.int8))

    def _parse_line(self, line: bytes, keys: bytearray, states: bytearray) -> Any:
        """Add what an answer says to the others; return an event."""
        entry = msgspec.json.decode(line)
        if "answer" in entry:
            asked, said = bytes.fromhex("".join(entry["keys"])), self.parse(entry)
            if not len(said) == len(entry["keys"]) == len(asked) / KEY_BYTES:
                raise ValueError("an answer to other questions than were asked")
            if not _ENTRY_STATES.issuperset(said):
                raise ValueError("a state that is none")
            if min(said) < 0:
                if line in self._undecided_before:
                    return None  # one answer, not two, and maybe the question is to be asked a second time
                self._undecided.add(line)
            keys += asked
            states += bytes(state & 0xFF for state in said)
        elif "event" in entry:
            msgspec.convert(entry["event"], Event | _AskAgain | _AskedAgain)
            return entry["event"]
        elif "failure" not in entry:
            raise ValueError("no answer, failure or event")
        return None

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
        found = _differing(line, identity) or quote(line[:60].decode("utf-8", "replace"))
        raise InputError(
            path,
            record="line 1",
            found=found,
            expected=f"the ledger of {identity['model']}, as it is set",
            hint="name another file",
        )


def _differing(line: bytes, identity: Mapping[str, Any]) -> str:
    """What another model's ledger says of it that is not so of this one; "" for what is no ledger."""
    try:
        theirs, ours = (dict(msgspec.json.decode(one)["rater"]) for one in (line, header(identity)))
    except (msgspec.DecodeError, KeyError, TypeError, ValueError):
        return ""
    names = [name for name in {**ours, **theirs} if theirs.get(name) != ours.get(name)]
    return ", ".join(f"{name} {theirs.get(name)}, not {ours.get(name)}" for name in names)


def answer_line(request: Request, raw: Mapping[str, Any]) -> bytes:
    """Make the line of an answer; TypeError for one that JSON cannot hold.

    An answer to a second attempt is told from an equal one to the first: merges keep equal lines once.
    """
    attempt = {"attempt": request.attempt} if request.attempt > 1 else {}
    return _line({"keys": _hex(request), **request.about(), **attempt, "answer": raw})


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
