"""Joining the ledgers of several processes that shared one model's questions, into the one that all of them start from.

A merge is a union of lines: in any order, and however often, it gives the same bytes.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from time import monotonic, sleep
from typing import IO, Any

import msgspec

from shoe.core.errors import InputError
from shoe.engines.ray_cluster import SILENCE, is_locked
from shoe.llm.ledger import ASK_AGAIN, Ledger, Parse
from shoe.llm.ledger_writer import locked, sync_folder

_IN_MEMORY = 1 << 26
"""Bytes of lines that are sorted at once."""
_LOOK = 0.1
WORKER = "worker-"
"""What the folder of a worker's ledger begins with: one that ends soon after its run did."""
_EVENT, _KEYS = b'{"event"', b'{"keys":["'


def parts_of(path: Path) -> list[Path]:
    """List the ledgers that others kept for this one: of the same name, in folders beside it, the innermost first.

    A folder may be a link to one that lies elsewhere, and is looked into once, whatever leads there.

    Raises:
        InputError: if a folder cannot be read.
    """
    found: list[Path] = []
    seen: set[str] = set()
    for folder, inner, names in os.walk(path.parent, onerror=_unreadable, followlinks=True):
        if (real := os.path.realpath(folder)) in seen:
            inner.clear()
            continue
        seen.add(real)
        if path.name in names and Path(folder) != path.parent:
            found.append(Path(folder, path.name))
    return sorted(found, key=lambda part: (-len(part.parts), part))


def _unreadable(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise InputError(Path(error.filename), found=str(error.strerror), expected="a folder that can be read")


def merge(
    path: Path, identity: Mapping[str, Any], parse: Parse, say: Callable[[str], None], beside: Path | None = None
) -> int:
    """Take over what other ledgers hold; those that nobody writes any more are removed once that is on the disk.

    Args:
        path: of the ledger; made if absent. What others kept lies beside it, see :func:`parts_of`.
        identity: of the model, see :class:`~shoe.llm.ledger.Ledger`.
        parse: reads answers.
        say: told once if there is another process to wait for.
        beside: the path beside which the others lie, if it is another one.

    Returns:
        How many lines it did not have.

    Raises:
        InputError: if one of them is damaged, another model's, or no part of a shared job; or the disk is full.
    """
    if not parts_of(beside or path):
        return 0
    with locked(path, identity, lambda: False, say):
        parts = parts_of(beside or path)
        _await_workers(parts, say)
        for part in parts:
            if not part.exists():
                raise InputError(part, found="a link to nothing", expected="a ledger")
            read = Ledger(part, identity, parse)
            read.refresh()
            if read.events:
                raise InputError(part, found="events", expected="a ledger of one part of a job, which has none")
        start = _latest_round(path)
        before = sum(1 for _ in _lines(path, start))
        size = path.stat().st_size - start + sum(part.stat().st_size for part in parts)
        after = 0
        with _in_place_of(path) as stream:
            with path.open("rb") as old:
                while start > old.tell() and (data := old.read(min(_IN_MEMORY, start - old.tell()))):
                    stream.write(data)
            for line in _in_order(chain(_lines(path, start), *(_lines(part) for part in parts)), size, path.parent):
                stream.write(line)
                after += 1
        sync_folder(path.parent)
        for part in parts:
            remove(part)
    return after - before


def _await_workers(parts: Iterable[Path], say: Callable[[str], None]) -> None:
    """Wait until workers of a run that is over have ended: what they are about to keep is not to be asked again."""
    end, told = monotonic() + SILENCE, False
    while monotonic() < end and (busy := [p for p in parts if p.parent.name.startswith(WORKER) and is_locked(p)]):
        if not told:
            say(f"{busy[0].name}: workers of an earlier run are about to end; waiting for them")
            told = True
        sleep(_LOOK)


@contextmanager
def _in_place_of(path: Path) -> Iterator[IO[bytes]]:
    """Write what takes a locked ledger's place when the block ends well; the next one writes over what a kill left.

    Raises:
        InputError: if the disk is full, or the folder cannot be written to.
    """
    target = Path(os.path.realpath(path))
    new = target.with_name(f"{target.name}.merge")
    try:
        with new.open("wb") as stream:
            yield stream
            stream.flush()
            os.fchmod(stream.fileno(), stat.S_IMODE(target.stat().st_mode))
            os.fsync(stream.fileno())
        new.replace(target)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise InputError(path, found=str(error.strerror), expected="a ledger that can be written to") from None


def _latest_round(path: Path) -> int:
    """Where the answers begin that no "ask again" made void: they alone may change places."""
    found = 0
    with path.open("rb") as stream:
        position = found = len(stream.readline())
        for line in stream:
            position += len(line)
            if line.startswith(_EVENT) and msgspec.json.decode(line)["event"]["event"] == ASK_AGAIN:
                found = position
    return found


def _lines(path: Path, start: int | None = None) -> Iterator[bytes]:
    """Whole lines of a ledger; without a place to start at, all but the header."""
    with path.open("rb") as stream:
        if start is None:
            stream.readline()
        else:
            stream.seek(start)
        for line in stream:
            if line.endswith(b"\n"):
                yield line


def _in_order(lines: Iterable[bytes], size: int, folder: Path) -> Iterator[bytes]:
    """Each distinct line once, sorted, however many there are: put apart by their keys first."""
    count = size // _IN_MEMORY + 1
    with ExitStack() as stack:
        files = [stack.enter_context(TemporaryFile(dir=folder)) for _ in range(count)]
        for line in lines:
            place = int(line[len(_KEYS) :][:4], 16) * count >> 16 if line.startswith(_KEYS) else 0
            files[place].write(line)
        for file in files:
            file.seek(0)
            yield from sorted(set(file))


def remove(part: Path) -> None:
    """Remove a file that was taken over, unless a process writes it, and its folder if that is empty."""
    from filelock import lock_descriptor

    with suppress(OSError), part.open("r+b") as stream:  # some systems give the lock only to who may write
        if lock_descriptor(stream.fileno(), blocking=False):
            part.unlink()
            part.parent.rmdir()
