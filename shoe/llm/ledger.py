"""The ledger: a file with one JSON line per attempt. Lines are written before the answer is parsed, and never changed.

There is one ledger per ``identity``: the model and all settings that its answers depend on::

    {"format":"shoe ledger","version":1,"rater":{...}}
    {"keys":["9f.."],"ids":["417"],"part":"verb","pairs":[["ride.v.01","sit.v.01"]],"prompt":"5e..","answer":{...}}
    {"keys":["9f.."],"failure":"429","detail":"..."}
    {"event":{...}}

Between ``keys`` and ``answer`` are the fields of ``Request.about``, ``attempt`` for a second attempt, the endpoint's
``address``, and ``origin`` for an answer from the user's cache (:mod:`shoe.llm.cache`). ``answer`` is the JSON as
received, plus ``seconds``, the duration of the request, unless it was sent in a batch. The states of questions are
computed by parsing the answers. A killed process leaves at most one incomplete line, at the end of the file; readers
skip this line, and the next writer cuts it off. The event ``ask again`` discards earlier answers with given states.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, Literal
from zlib import crc32

import msgspec
import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Mask, runs
from shoe.core.errors import InputError, quote
from shoe.core.io.files import is_stream
from shoe.llm.batch_state import EVENTS
from shoe.llm.budget import BOUNDS
from shoe.llm.request import KEY_BYTES, Request

Keys = NDArray[np.uint64]  # (n, 2) keys of n questions: first and second 8 bytes of each 16-byte key
States = NDArray[np.int8]  # (n,) states of n questions: value of the answer, 0 to 127, or a negative ``State``


class State(IntEnum):
    """Reason why a question has no usable answer: no answer yet, a refusal, or an answer that cannot be parsed."""

    UNRATED = -1  # the question has no answer yet; it is asked when the job runs again
    REFUSED = -2  # the model declined to answer; final
    UNPARSABLE = -3  # neither the first nor the second answer could be parsed, or a second would be equal; final
    UNPARSED_ONCE = -4  # the first answer could not be parsed; the question is asked a second time
    REFUSED_TOGETHER = -5  # the model declined a request with several questions; each is asked a second time, alone


def pending(states: States) -> Mask:
    """Return an (n,) mask of the questions that must still be sent, for the first or the second time."""
    return np.isin(states, [State.UNRATED, State.UNPARSED_ONCE, State.REFUSED_TOGETHER])


def as_keys(joined: bytes) -> Keys:
    """Return concatenated 16-byte keys as an (n, 2) array."""
    return np.frombuffer(joined, ">u8").astype(np.uint64).reshape(-1, KEY_BYTES // 8)


class Index:
    """Table of the state of each question, by key, computed from the answers in order of arrival.

    The first answer to a question counts if it could be parsed, or if it refuses a request with this question alone.
    Otherwise the second answer counts. Later answers are ignored. A question needs 25 bytes of memory.
    """

    def __init__(self) -> None:
        self._keys, self._states = np.zeros((0, 2), np.uint64), np.zeros(0, np.int8)
        self._heads, self._longest = self._keys[:, 0], 0
        self._added: list[tuple[Keys, States]] = []

    def add(self, keys: Keys, states: States) -> None:
        """Add n answers, in order of arrival: the keys of their questions, and the state of each."""
        self._added.append((keys, states))

    def forget(self, states: Sequence[State]) -> None:
        """Remove all questions whose state is in ``states``, as if they had no answer."""
        self._settle()
        keep = ~np.isin(self._states, states)
        self._keys, self._states, self._heads = self._keys[keep], self._states[keep], self._heads[keep]

    def states(self, keys: Keys) -> States:
        """Return the (n,) states of questions; ``State.UNRATED`` for questions without an answer."""
        self._settle()
        states = np.full(len(keys), State.UNRATED, np.int8)
        if not len(self._keys):
            return states
        # Five times as fast in sorted order, because neighbours are adjacent in memory.
        order = np.argsort(keys[:, 0])
        wanted = keys[order]
        index = np.searchsorted(self._heads, wanted[:, 0])
        # Rarely, several keys share their first half: then the next entries are compared, too.
        for _ in range(self._longest):
            inside = np.minimum(index, len(self._keys) - 1)
            hit = (self._keys[inside] == wanted).all(axis=1)
            states[order[hit]] = self._states[inside[hit]]
            index += 1
        return states

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
        first = states[starts]
        later = states[np.minimum(starts + 1, len(states) - 1)]
        for once, final in ((State.UNPARSED_ONCE, State.UNPARSABLE), (State.REFUSED_TOGETHER, State.REFUSED)):
            later = np.where(later == once, np.int8(final), later)
        has_second = np.isin(first, [State.UNPARSED_ONCE, State.REFUSED_TOGETHER])
        has_second &= np.diff(np.append(starts, len(states))) > 1
        self._keys, self._states = keys[starts], np.where(has_second, later, first).astype(np.int8)
        self._heads = self._keys[:, 0].copy()
        self._longest = int(runs(self._heads)[1].max())


FORMAT = "shoe ledger"
VERSION = 1
BLOCK = 1 << 24  # bytes that are read at once; a longer line is read completely
_CHECKSUM = b',"checksum":'  # start of the last field of an answer: CRC-32 of the line before it; old ledgers lack it
ASK_AGAIN, ASKED_AGAIN = "ask again", "asked again"
_EVENTS = EVENTS | {ASK_AGAIN: [("states", list[Literal["unparsable", "refused"]])], ASKED_AGAIN: []}
_EVENT_TYPES = {kind: msgspec.defstruct("Event", fields) for kind, fields in _EVENTS.items()}
_ENTRY_STATES = frozenset([*range(128), *State]) - {State.UNRATED}

Parse = Callable[[Mapping[str, Any]], Sequence[int]]
"""Callback that parses a ledger line with an answer, and returns one state per key: a value from 0 to 127, or
``UNPARSED_ONCE``, ``UNPARSABLE``, ``REFUSED``, or ``REFUSED_TOGETHER`` for several keys. It is a pure function."""


@dataclass(eq=False)
class Ledger:
    """Reader of a model's ledger (file of answers), for one thread at a time. Only :meth:`refresh` reads the file."""

    path: Path  # path of the file, which need not exist
    identity: Mapping[str, Any]  # JSON with ``model`` and all other settings that the answers depend on
    parse: Parse
    # Another ledger, which is read once and counts as the beginning of this ledger. The ledger of a shard has the
    # ledger of the whole run as its base; in a dry run, bases are ledgers of shards.
    base: "Ledger | None" = None
    events: list[Any] = field(default_factory=list, init=False)  # all events read so far, oldest first
    _index: Index = field(default_factory=Index, init=False)
    _cached: bytearray = field(default_factory=bytearray, init=False)
    _offset: int = field(default=0, init=False)
    _file: int | None = field(default=None, init=False)
    _undecided: set[bytes] = field(default_factory=set, init=False)
    _undecided_before: set[bytes] = field(default_factory=set, init=False)

    def begin_with(self, paths: Iterable[Path]) -> None:
        """Read other ledgers of the same model and let them count as the beginning of this one, without a merge."""
        for path in paths:
            base = Ledger(path, self.identity, self.parse, self.base)
            base.refresh()
            self.base = base

    def exists(self) -> bool:
        """Return whether the ledger's file exists, or the file of its base."""
        return self.path.exists() or (self.base is not None and self.base.exists())

    def states(self, keys: Keys) -> States:
        """Return the (n,) states of questions, from the lines read so far; see :meth:`Index.states`."""
        return self._index.states(keys)

    def is_cached(self, keys: Keys) -> Mask:
        """Return an (n,) mask of questions whose answer, in the lines read so far, was copied from the user's cache."""
        cached = Index()
        if self._cached:
            cached.add(as_keys(bytes(self._cached)), np.zeros(len(self._cached) // KEY_BYTES, np.int8))
        found: Mask = cached.states(keys) != State.UNRATED
        return found

    @property
    def asking_again(self) -> list[str]:
        """States ("unparsable", "refused") whose questions are now being asked again; [] if none are."""
        events = [event for event in self.events if event["event"] in (ASK_AGAIN, ASKED_AGAIN)]
        return events[-1].get("states", []) if events else []

    def refresh(self, end: int | None = None) -> None:
        """Read the lines added since the last call, up to byte ``end`` if given; do nothing if the file is missing.

        Raise InputError if a line is damaged, the file is the ledger of another model, or it is shorter than before.
        """
        if is_stream(self.path):  # reading would wait for a writer
            raise InputError(self.path, found="a pipe or device", expected="a ledger of answers")
        if self._file is None:
            self._reset(0)
        try:
            stream = self.path.open("rb")
        except FileNotFoundError:
            return
        except OSError as error:
            raise InputError(self.path, found=str(error.strerror), expected="a ledger of answers") from None
        with stream:
            status = os.fstat(stream.fileno())
            if status.st_ino != self._file:  # nothing was read yet, or a merge has replaced the file
                self._reset(status.st_ino)
            self._read(stream, status.st_size if end is None else min(end, status.st_size))

    def _reset(self, file: int) -> None:
        if self.base is None:
            self._index, self._cached, self.events = Index(), bytearray(), []
        elif self._file is None:
            base = self.base
            base.refresh()
            self._index, self._cached, self.events = base._index, base._cached, base.events
            self._undecided_before = base._undecided | base._undecided_before
        self._offset, self._file = 0, file

    def _read(self, stream: BinaryIO, size: int) -> None:
        if self._offset == 0:
            header_line = stream.readline(size)
            if not header_line.endswith(b"\n"):
                return
            check_header(self.path, header_line, self.identity)
            self._offset = len(header_line)
        if size < self._offset:
            raise InputError(self.path, found="a file that became shorter", expected="a ledger that only grows")
        stream.seek(self._offset)
        while data := stream.read(min(BLOCK, size - self._offset)):
            data += stream.readline(size - self._offset - len(data))
            lines = data[: data.rfind(b"\n") + 1]
            self._add_lines(lines)
            self._offset += len(lines)
            if len(lines) < len(data):
                return

    def _add_lines(self, lines: bytes) -> None:
        keys, states = bytearray(), bytearray()
        for number, line in enumerate(lines.split(b"\n")[:-1]):
            try:
                event = self._parse_line(line, keys, states)
            except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError) as error:
                with self.path.open("rb") as stream:
                    while stream.tell() < self._offset and stream.readline():
                        number += 1
                reason = error if isinstance(error, ValueError) else "a value is missing, unknown or of another type"
                found = f"{quote(line[:40].decode('utf-8', 'replace'))} ({reason})"
                hint, record = "remove the line; the next run sends its questions again", f"line {number + 1}"
                expected = "a complete line of a ledger"
                raise InputError(self.path, record=record, found=found, expected=expected, hint=hint) from None
            if event is not None:
                self.events.append(event)
                if event["event"] == ASK_AGAIN:
                    self._add_answers(keys, states)
                    self._index.forget([State[name.upper()] for name in event["states"]])
                    keys, states = bytearray(), bytearray()
        self._add_answers(keys, states)

    def _add_answers(self, keys: bytearray, states: bytearray) -> None:
        if states:
            self._index.add(as_keys(bytes(keys)), np.frombuffer(bytes(states), np.int8))

    def _parse_line(self, line: bytes, keys: bytearray, states: bytearray) -> Any:
        """Append the answer in a line to ``keys`` and ``states``, or return the event in the line; else return None."""
        entry = msgspec.json.decode(line)
        before, _, checksum = line.rpartition(_CHECKSUM)
        if before and checksum[:-1].isdigit() and int(checksum[:-1]) != crc32(before):
            raise ValueError("the line was changed after it was written")
        if "answer" in entry:
            line_keys, line_states = self.parsed(entry)
            if min(line_states) < 0:
                if line in self._undecided_before:
                    return None  # a base has the same line: it counts as one answer, not as two
                self._undecided.add(line)
            if "origin" in entry:
                self._cached += line_keys
            keys += line_keys
            states += bytes(state & 0xFF for state in line_states)
        elif "event" in entry:
            msgspec.convert(entry["event"], _EVENT_TYPES[entry["event"]["event"]])
            return entry["event"]
        elif "failure" not in entry:
            raise ValueError("no answer, failure or event")
        return None

    def parsed(self, entry: Mapping[str, Any]) -> tuple[bytes, Sequence[int]]:
        """Return (concatenated keys, states) of an answer line's questions; invalid lines raise various exceptions."""
        keys, states = bytes.fromhex("".join(entry["keys"])), self.parse(entry)
        if not len(states) == len(entry["keys"]) == len(keys) / KEY_BYTES:
            raise ValueError("the answer does not match the questions")
        if not _ENTRY_STATES.issuperset(states):
            raise ValueError("an invalid state")
        return keys, states


def answers(path: Path, latest: int | None = None) -> Iterator[dict[str, Any]]:
    """Yield the parsed lines with answers in a ledger file, or in its last ``latest`` bytes; none without the file."""
    with suppress(FileNotFoundError), path.open("rb") as stream:
        stream.seek(0 if latest is None else max(os.fstat(stream.fileno()).st_size - latest, 0))
        next(stream, None)  # the header, or an incomplete line
        for line in stream:
            if line.endswith(b"\n") and "answer" in (entry := msgspec.json.decode(line)):
                yield entry


def canonical(value: Any) -> bytes:
    """Return a value as JSON for hashing: names sorted, no spaces, paths as text, floats as in Python's repr."""
    return msgspec.json.encode(_with_exponent_signs(value), order="sorted", enc_hook=str)


def _with_exponent_signs(value: Any) -> Any:
    match value:
        case float() if 1e16 <= abs(value) < float("inf"):
            return msgspec.Raw(repr(value).encode())
        case dict():
            return {name: _with_exponent_signs(item) for name, item in value.items()}
        case list() | tuple():
            return [_with_exponent_signs(item) for item in value]
    return value


def comparable(identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return a model's settings without those that cannot change a usable answer: URL, batch mode, token limits."""
    found = {name: value for name, value in identity.items() if name != "base_url"}
    for name, left_out in (("settings", ("base_url",)), ("sampling", BOUNDS)):
        if name in found:
            found[name] = {key: value for key, value in found[name].items() if key not in left_out}
    return found | ({"kind": "openai"} if found.get("kind") == "openai-batch" else {})


def address_in(identity: Mapping[str, Any]) -> str:
    """Return the endpoint's URL in an identity, where earlier versions of shoe stored it; "" if there is no URL."""
    return str(identity.get("base_url") or dict(identity.get("settings") or {}).get("base_url") or "")


def ledgers_of(paths: Iterable[Path], identity: Mapping[str, Any]) -> list[tuple[Path, dict[str, Any]]]:
    """Return (path, identity) of ledgers whose :func:`comparable` equals that of ``identity``, largest first."""
    found = []
    for path in paths:
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError), path.open("rb") as stream:
            theirs = msgspec.json.decode(stream.readline())["rater"]
            if canonical(comparable(theirs)) == canonical(comparable(identity)):
                found.append((-os.fstat(stream.fileno()).st_size, path.name, path, theirs))
    return [(path, theirs) for _, _, path, theirs in sorted(found, key=lambda one: one[:2])]


def name_of(identity: Mapping[str, Any]) -> str:
    """Return the file name that shoe gives to the ledger (file of answers) of a model with this identity."""
    slug = re.sub("[^a-z0-9]+", "-", f"{identity['kind']} {identity['model']}".lower()).strip("-")[:60]
    return f"{slug}-{blake2b(canonical(identity), digest_size=4).hexdigest()}.jsonl"


def header(identity: Mapping[str, Any]) -> bytes:
    """Return the first line of a ledger (file of answers), which contains the identity of the model."""
    return canonical({"format": FORMAT, "version": VERSION, "rater": identity}) + b"\n"


def check_header(path: Path, line: bytes, identity: Mapping[str, Any]) -> None:
    """Raise InputError if the first line of a file is not the header of this model's ledger."""
    expected = f"the ledger of {identity['model']} with the current settings"
    check_first_line(path, line, header(identity), "rater", expected, "use another file")


def check_first_line(
    path: str | Path, line: bytes, first: bytes, field: str, expected: str, hint: str, most: int | None = None
) -> None:
    """Raise InputError, with ``most`` differing settings of ``field``, if ``line``, a first line, is not ``first``."""
    if line == first:
        return
    shown = ["line ends of Windows (CRLF)"] if line.endswith(b"\r\n") else []
    with suppress(ValueError, KeyError, TypeError, AttributeError):
        whole = [msgspec.json.decode(text) for text in (line, first)]
        theirs, ours = ({**each[field], "version": each["version"]} for each in whole)
        names = [name for name in {**ours, **theirs} if theirs.get(name) != ours.get(name)]
        shown += [f"{name} {theirs.get(name)}, not {ours.get(name)}" for name in names]
    found = ", ".join(shown[:most]) or quote(line[:60].decode("utf-8", "replace"))
    raise InputError(path, record="line 1", found=found, expected=expected, hint=hint)


def answer_entry(request: Request, raw: Mapping[str, Any], address: str = "") -> dict[str, Any]:
    """Return the line of an answer in a ledger as a dict; ``address`` is the endpoint's URL, "" for a local model."""
    # The line of a second attempt contains the attempt's number, because a merge of ledgers removes duplicate lines.
    more = {"attempt": request.attempt if request.attempt > 1 else 0, "address": address}
    keys = [key.hex() for key in request.keys]
    return {"keys": keys, **request.about(), **{name: value for name, value in more.items() if value}, "answer": raw}


def answer_line(entry: Mapping[str, Any]) -> bytes:
    """Return the JSON line of an answer (:func:`answer_entry`) with a checksum; raise TypeError if it is not JSON."""
    line = msgspec.json.encode(entry)[:-1]
    return b"%b%b%d}\n" % (line, _CHECKSUM, crc32(line))


def failure_line(request: Request, kind: str, detail: str) -> bytes:
    """Return the line for a ledger (file of answers) that records an attempt without an answer."""
    entry = {"keys": [key.hex() for key in request.keys], "failure": kind, "detail": detail}
    return msgspec.json.encode(entry) + b"\n"


def event_line(event: Mapping[str, Any]) -> bytes:
    """Return the line for a ledger (file of answers) that records an event."""
    return msgspec.json.encode({"event": event}) + b"\n"
