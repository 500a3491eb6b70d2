"""Files of runs, ``NAME.shoe``: a zip of a JSON head and packed columns, with checks of everything that is read."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BytesIO
from math import isfinite
from pathlib import Path
from typing import IO, Annotated, Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks import benchmark
from shoe.benchmarks.classes import ClassSplit, parse_classes
from shoe.benchmarks.protocol_options import SemanticOptions, StrictOptions, changed, settings
from shoe.benchmarks.protocols import RoleOptions, Signature
from shoe.comparison.run import OF_RUN, RoleRun, Run, SemanticRun, StrictRun
from shoe.core.errors import InputError, OptionError, ShoeError, quote
from shoe.core.io.files import RUN_HEAD, is_stream, read_bytes, replacing
from shoe.scoring.entries import Entries, F1Entries, F1Rule, Rule
from shoe.scoring.evidence.draws import Interval
from shoe.scoring.evidence.facts import Spread
from shoe.scoring.roles import role_parts, role_rule
from shoe.scoring.score import SEMANTIC_FACTS

A_RUN = "a run (shoe score --save)"
_START, _END, _LENGTH_OF_END = b"PK", b"PK\x05\x06", 22
"""Magic bytes of a zip file and of its end record, and the length of that record without a comment."""
_LARGEST_HEAD = 64_000_000
_OF_ANY, _RATIO = 200_000_000, 32
"""Size of unpacked columns, in bytes, that is always allowed; above, at most 32 times the packed size. Columns take at
most 8 bytes per number, and about 1 in the file."""


@contextmanager
def open_archive(path: str | Path, head: str) -> Iterator[zipfile.ZipFile]:
    """Yield an archive that has the member ``head``, after reading only its first bytes and its list of members.

    Raises InputError if the file is not a run, and ValueError if it has anything besides stored or deflated members.
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
    """Return the content of the member that describes the others; raise ValueError if it is longer than 64 MB."""
    length = archive.getinfo(name).file_size
    if length > _LARGEST_HEAD:
        raise ValueError(f"a head of {length:,} bytes")
    return read_member(archive, name, length)


def check_total(archive: zipfile.ZipFile, total: int) -> None:
    """Raise ValueError for columns of more than 200 MB that are also more than 32 times their packed size."""
    limit = max(_OF_ANY, _RATIO * sum(member.compress_size for member in archive.infolist()))
    if total > limit:
        raise ValueError(f"columns of {total / 1e6:,.0f} MB, expected at most {limit / 1e6:,.0f} in a file of its size")


def read_member(archive: zipfile.ZipFile, name: str, length: int) -> bytes:
    """Return the content of a member; raise ValueError, before unpacking it, if its length is not the given one."""
    if archive.getinfo(name).file_size != length:
        raise ValueError(f"{name} of another length than its head says")
    with archive.open(name) as stream:
        return stream.read(length)


def _stream(path: str | Path) -> IO[bytes]:
    if os.path.isfile(path):
        with suppress(OSError):
            return open(path, "rb")
    return BytesIO(read_bytes(path))  # raises an InputError that explains an invalid path


# Columns are packed without loss: small types, tables of repeated values, and equal columns once.

_WHOLE = ("u1", "u2", "u4", "i1", "i2", "i4", "i8")
_MOST_CODES = 1 << 16
ColumnIndex = Annotated[int, msgspec.Meta(ge=0)]


class StoredColumn(msgspec.Struct):
    """Format of a column in a file.

    Attributes:
        type: NumPy name of its type, or of its codes if it has a table.
        length: number of values.
        table: number of distinct 64-bit values, stored in ascending order, that its codes index; None without codes.
    """

    type: str
    length: ColumnIndex
    table: ColumnIndex | None = None

    @property
    def size(self) -> int:
        """Size of its content in bytes; raises ValueError for an unknown type."""
        if self.type not in (*_WHOLE, "f4", "f8") or (self.table is not None and not self.type.startswith("u")):
            raise ValueError(f"numbers of type {quote(self.type)}")
        return 8 * (self.table or 0) + self.length * int(self.type[1])

    @property
    def unpacked(self) -> int:
        """Upper limit of its size in bytes after reading."""
        return 8 * ((self.table or 0) + self.length)


class ColumnWriter:
    """Collector of columns; equal columns are stored once."""

    def __init__(self) -> None:
        self.columns: list[StoredColumn] = []
        self.contents: list[bytes] = []
        self._known: dict[bytes, int] = {}

    def add(self, column: NDArray[Any]) -> int:
        """Add a column, unless an equal column exists, and return its index."""
        table = None
        if column.dtype.kind == "f":
            values = _distinct(column.view(np.int64))  # the bits: a zero with a sign is another number
            if len(values) <= min(_MOST_CODES, len(column) // 2):
                column, table = np.searchsorted(values, column.view(np.int64)), len(values)
                return self._store(_small(column), table, values.astype("<i8").tobytes())
            with np.errstate(over="ignore"):
                narrow = column.astype(np.float32)
            column = narrow if np.array_equal(narrow, column) else column
        else:
            column = _small(column)
        return self._store(column, table)

    def _store(self, column: NDArray[Any], table: int | None, before: bytes = b"") -> int:
        column = column.astype(column.dtype.newbyteorder("<"))
        content = before + column.tobytes()
        stored = StoredColumn(column.dtype.str.lstrip("<|"), len(column), table)
        key = hashlib.sha256(repr(stored).encode() + content).digest()
        if key not in self._known:
            self._known[key] = len(self.columns)
            self.columns.append(stored)
            self.contents.append(content)
        return self._known[key]


def read_column(stored: StoredColumn, content: bytes) -> NDArray[Any]:
    """Return a column from its content; raise ValueError for another length, or for codes without a value."""
    if len(content) != stored.size:
        raise ValueError(f"a column of {len(content)} bytes instead of {stored.size}")
    head = 8 * (stored.table or 0)
    dtype = np.dtype(f"<{stored.type}")
    column = np.frombuffer(content, dtype, offset=head) if stored.length else np.empty(0, dtype)
    if stored.table is not None:
        values = np.frombuffer(content[:head], "<i8").view("<f8")
        if column.max(initial=0) >= max(len(values), 1):
            raise ValueError("a code without a value")
        return np.asarray(values[column])
    if column.dtype.kind == "f":
        return column.astype(np.float64)
    is_wide = stored.type == "i8" or int(column.max(initial=0)) > np.iinfo(np.int32).max
    return column.astype(np.int64 if is_wide else np.int32)


def check_range(column: NDArray[Any], low: float, high: float) -> NDArray[Any]:
    """Return a column; raise ValueError unless all its numbers are at least ``low`` and below ``high``."""
    if len(column) and not (column.min() >= low and column.max() < high):
        raise ValueError(f"a number outside {low:g} to {high:g}")
    return column


def _distinct(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distinct values of (n,) integers in order; np.unique hashes them, which is many times slower."""
    ordered = np.sort(values)
    is_first: NDArray[np.bool_] = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
    return ordered[is_first]


def _small(column: NDArray[Any]) -> NDArray[Any]:
    low, high = int(column.min(initial=0)), int(column.max(initial=0))
    for name in _WHOLE:
        limits = np.iinfo(name)
        if limits.min <= low and high <= limits.max:
            return column.astype(name)
    return column


# Checks: whatever can be computed again from the file is compared with what the file says.

_LONGEST = 500
"""Longest text in a run that is shown, in characters."""
_FACTS = ("shoe", "data", "split", "images", "truths", "truth-sha", "class-list", "class-list-sha", *OF_RUN)


class DamagedError(ValueError):
    """Content of a run that shoe cannot have written; the message names it."""


def check_facts(facts: Mapping[str, str]) -> None:
    """Raise DamagedError if a fact is missing or is not plain text."""
    missing = next((name for name in _FACTS if name not in facts), None)
    if missing is not None:
        raise DamagedError(f"no {missing} among its facts")
    check_plain("fact", [*facts, *facts.values()])


def check_plain(what: str, texts: Iterable[str]) -> None:
    """Raise DamagedError for a text that is not printable or too long to be shown."""
    for text in texts:
        if not text.isprintable() or len(text) > _LONGEST:
            raise DamagedError(f"the {what} {quote(text)}, which is no plain text of at most {_LONGEST} characters")


def check_signature(text: str, facts: Mapping[str, str], *options: Mapping[str, str], strict: bool = False) -> None:
    """Raise DamagedError unless a signature is that of the facts and of ``options``, settings in the signature's order.

    ``strict`` marks the signature of one exact-label protocol, which contains no map.
    """
    left_out = (*OF_RUN, *(SEMANTIC_FACTS if strict else ()))
    items = {name: value for name, value in facts.items() if name not in left_out}
    for each in options:
        items |= each
    if text != str(Signature(tuple(items.items()))):
        raise DamagedError("a signature that is not the one of its facts and options")


def check_run(run: Run) -> None:
    """Raise DamagedError for parts of a run that do not agree with each other."""
    if not run.all_parts:
        raise DamagedError("no protocol")
    protocols = [each.options.protocol for each in run.strict]
    protocols += [each.options.protocol for each in run.by_person]
    check_plain("protocol", protocols + ([run.semantic.options.protocol] if run.semantic else []))
    if len(set(protocols)) < len(protocols) or any(":" in name for name in protocols):
        raise DamagedError("a protocol twice, or with a colon in its name")
    if len(set(run.images)) < len(run.images):
        raise DamagedError("an image twice")
    counts = {"images": len(run.images), "class-list": len(run.classes)}
    if run.truth is not None:
        counts["truths"] = len(run.truth[0])
    for name, number in counts.items():
        if run.facts[name] != str(number):
            raise DamagedError(f"{quote(run.facts[name])} {name} by its facts, {number} in it")
    if not run.facts["predictions"].isdecimal():
        raise DamagedError(f"{quote(run.facts['predictions'])} predictions")
    if run.classes.digest != run.facts["class-list-sha"]:
        raise DamagedError("another class table than its facts say")
    split = {"class-split": run.class_split.name, "class-split-sha": run.class_split.digest} if run.class_split else {}
    if any(run.facts.get(name) != split.get(name) for name in ("class-split", "class-split-sha")):
        raise DamagedError("another class split than its facts say")
    if run.semantic is not None and run.absent:
        raise DamagedError("a part that is both absent and there")
    for part in run.parts.values():
        if run.truth and not all(map(np.array_equal, run.truth, (part.truth_category, part.truth_image))):
            raise DamagedError("ground truths that are not the same in all its parts")
    check_plain("name", [run.name])
    for each in run.by_person:
        check_plain("action", [*each.names, each.left_out])
    if run.class_split is not None:
        check_plain("class split", [*run.class_split.parts, run.class_split.source, run.class_split.about])
    check_plain("reason", [*(run.absent or {}), *(run.absent or {}).values()])
    if run.spread is not None:
        check_plain("rater", run.spread.raters)
        if len(run.spread.raters) < 2 or not all(0 <= value <= 1 for value in run.spread.raters.values()):
            raise DamagedError("raters that are fewer than two, or whose figures are outside 0 to 1")
    if run.interval is not None:
        ends = [pair for pair in (run.interval.map, run.interval.mf1) if pair is not None]
        if run.interval.unrated_pairs < 0 or not all(low <= high and isfinite(high - low) for low, high in ends):
            raise DamagedError("an interval with ends that are no figures")


SUFFIX = ".shoe"
_VERSION = 1
_HEAD = RUN_HEAD
_COLUMN = "columns/{}"
_ENTRIES = ("category", "image", "score", "credit", "truth_category", "truth_image")
_F1 = ("category", "image", "sigma", "unmatched_category", "unmatched_image", "truth_category", "truth_image")
_FRACTIONS = ("credit", "sigma")
_MOST_CLASSES = 15_000
_Columns = dict[str, ColumnIndex]


class _Version(msgspec.Struct):
    shoe_run: Any = None


class _Strict(msgspec.Struct):
    signature: str
    options: dict[str, str]
    entries: _Columns


class _ByPerson(_Strict):
    names: list[str]
    left_out: str


class _Semantic(msgspec.Struct):
    options: dict[str, str]
    entries: _Columns
    f1: _Columns
    above_delta: _Columns


class _Split(msgspec.Struct):
    name: str
    source: str
    about: str
    parts: dict[str, list[int]]


class _Head(msgspec.Struct, omit_defaults=True):
    shoe_run: int
    name: str
    signature: str
    facts: dict[str, str]
    images: list[str]
    classes: str
    strict: list[_Strict]
    columns: list[StoredColumn]
    semantic: _Semantic | None = None
    notes: list[str] = []
    absent: dict[str, str] | None = None
    raters: dict[str, float] | None = None
    interval: Interval | None = None
    class_split: _Split | None = None
    by_person: list[_ByPerson] = []


def write_run(run: Run, path: str | Path) -> None:
    """Write a run to a file, atomically; equal runs give equal bytes. Raises InputError if writing fails."""
    writer = ColumnWriter()

    def put(entries: Entries | F1Entries, names: tuple[str, ...]) -> dict[str, int]:
        return {name: writer.add(getattr(entries, name)) for name in names}

    semantic, split = run.semantic, run.class_split
    strict = [_Strict(str(each.signature), settings(each.options), put(each.entries, _ENTRIES)) for each in run.strict]
    head = _Head(
        shoe_run=_VERSION,
        name=run.name,
        signature=str(run.signature),
        facts=dict(run.facts),
        images=list(run.images),
        classes=run.classes.table,
        strict=strict,
        semantic=_Semantic(
            settings(semantic.options),
            put(semantic.entries, _ENTRIES),
            put(semantic.f1, _F1),
            put(semantic.above_delta, _F1),
        )
        if semantic
        else None,
        columns=writer.columns,
        notes=list(run.notes),
        absent=dict(run.absent) if run.absent else None,
        raters=run.spread.raters if run.spread else None,
        interval=run.interval,
        class_split=_Split(
            split.name,
            split.source,
            split.about,
            {part: np.flatnonzero(mask).tolist() for part, mask in split.parts.items()},
        )
        if split
        else None,
        by_person=[
            _ByPerson(
                signature=str(each.signature),
                options=settings(each.options),
                entries=put(each.entries, _ENTRIES),
                names=list(each.names),
                left_out=each.left_out,
            )
            for each in run.by_person
        ],
    )
    contents = {_HEAD: msgspec.json.encode(head)}
    contents |= {_COLUMN.format(number): content for number, content in enumerate(writer.contents)}
    with replacing(path) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)  # dated 1980, for equal bytes


def is_run(path: str | Path) -> bool:
    """Return whether a file has the name of a run, or is an archive with the head of a run."""
    if str(path).endswith(SUFFIX):
        return True
    if is_stream(path) or not zipfile.is_zipfile(path):
        return False
    with suppress(zipfile.BadZipFile, OSError), zipfile.ZipFile(path) as archive:
        return _HEAD in archive.namelist()
    return False


def read_run(path: str | Path) -> Run:
    """Read a run that :func:`write_run` wrote, and check all its content.

    Raises:
        InputError: if the file is not a run, is damaged, or was written by a later version.
    """
    try:
        with open_archive(path, _HEAD) as archive:
            data = read_head(archive, _HEAD)
            version = msgspec.json.decode(data, type=_Version).shoe_run
            if type(version) is not int or version != _VERSION:
                found_version, hint = quote(version), "a later shoe wrote it?"
                raise InputError(path, field="shoe_run", found=found_version, expected=f"version {_VERSION}", hint=hint)
            head = msgspec.json.decode(data, type=_Head)
            check_total(archive, sum(stored.unpacked for stored in head.columns))
            names = [_COLUMN.format(number) for number in range(len(head.columns))]
            if sorted(archive.namelist()) != sorted([_HEAD, *names]):
                raise DamagedError("members that its head does not name")
            columns = [
                read_column(stored, read_member(archive, name, stored.size))
                for name, stored in zip(names, head.columns, strict=True)
            ]
        run = _run(head, columns)
        check_run(run)
    except OptionError as error:
        raise InputError(
            path, found=str(error), expected="what this shoe knows", hint="a later one wrote it?"
        ) from None
    except InputError as error:
        if error.source == str(path):
            raise
        raise _damaged(path, str(error)) from None
    except (ValueError, msgspec.DecodeError, zipfile.BadZipFile) as error:
        raise _damaged(path, str(error)) from None
    except Exception as error:  # the parsers of a damaged archive raise errors of many types
        raise _damaged(path, type(error).__name__) from None
    return run


def _damaged(path: str | Path, what: str) -> InputError:
    return InputError(path, found=f"a damaged or edited run: {what}", expected="one as shoe score --save wrote it")


def _run(head: _Head, columns: list[Any]) -> Run:
    check_facts(head.facts)
    if head.classes.count("\n") > _MOST_CLASSES:
        raise DamagedError(f"more than {_MOST_CLASSES:,} classes")
    classes = parse_classes(head.classes, head.facts["data"])
    protocols = _protocols(classes.name)
    split = _class_split(head.class_split, len(classes)) if head.class_split else None

    def signed(text: str) -> Signature:
        return Signature.parse(text, protocols)

    def column(name: str, number: int, categories: int) -> Any:
        values, is_index = columns[number], "category" in name or "image" in name
        if (values.dtype.kind == "i") != is_index:
            raise DamagedError(f"numbers of another kind for {name}")
        if "category" in name:
            return check_range(values, -1 if name.startswith("unmatched") else 0, categories)
        if "image" in name:
            return check_range(values, 0, len(head.images))
        if not np.isfinite(values).all():
            raise DamagedError(f"a number for {name} that is not finite")
        return check_range(values, 0, np.nextafter(1, 2)) if name in _FRACTIONS else values

    def table(names: tuple[str, ...], numbers: dict[str, int], categories: int = len(classes)) -> dict[str, Any]:
        # Columns of one kind must have one length.
        values = {name: column(name, numbers[name], categories) for name in names}
        shapes = {(name.rpartition("_")[0], len(each)) for name, each in values.items()}
        if len(shapes) > len({kind for kind, _ in shapes}):
            raise ValueError("columns of unlike lengths")
        return values

    def entries(numbers: dict[str, int], options: StrictOptions | SemanticOptions) -> Entries:
        return Entries(
            **table(_ENTRIES, numbers),
            counted=classes.counted(options.no_interaction),
            rare=classes.rare,
            unseen=classes.unseen,
            rule=Rule.of(options),
            parts=split.parts if split else {},
        )

    def f1(numbers: dict[str, int], options: SemanticOptions) -> F1Entries:
        counted = classes.counted(options.no_interaction)
        return F1Entries(**table(_F1, numbers), counted=counted, rule=F1Rule.of(options))

    def strict(stored: _Strict) -> StrictRun:
        options = _options(StrictOptions, stored.options)
        check_signature(stored.signature, head.facts, stored.options, strict=True)
        return StrictRun(options, signed(stored.signature), entries(stored.entries, options))

    def by_person(stored: _ByPerson) -> RoleRun:
        known = benchmark(classes.name).role_protocols.values()  # protocols without settings that users can change
        options = next((options for options in known if settings(options) == stored.options), None)
        if options is None:
            raise DamagedError(f"settings that no protocol of {classes.name} by person has")
        check_signature(stored.signature, head.facts, stored.options, strict=True)
        names, number = tuple(stored.names), len(stored.names)
        ranked = Entries(
            **table(_ENTRIES, stored.entries, number),
            counted=np.ones(number, bool),
            rare=np.zeros(number, bool),
            rule=role_rule(options),
            parts=role_parts(names, stored.left_out),
        )
        return RoleRun(options, signed(stored.signature), names, stored.left_out, ranked)

    def semantic(stored: _Semantic) -> SemanticRun:
        options = _options(SemanticOptions, stored.options)
        matchings = f1(stored.f1, options), f1(stored.above_delta, options)
        return SemanticRun(options, entries(stored.entries, options), *matchings)

    run = Run(
        name=head.name,
        signature=signed(head.signature),
        facts=head.facts,
        images=tuple(head.images),
        classes=classes,
        strict=tuple(map(strict, head.strict)),
        semantic=semantic(head.semantic) if head.semantic else None,
        notes=tuple(head.notes),
        absent=head.absent,
        spread=Spread(head.raters) if head.raters else None,
        interval=head.interval,
        class_split=split,
        by_person=tuple(map(by_person, head.by_person)),
    )
    signed_options = [stored.options for stored in head.strict[:1]]
    signed_options += [head.semantic.options] if head.semantic else []
    check_signature(head.signature, head.facts, *(signed_options or [stored.options for stored in head.by_person[:1]]))
    return run


def _class_split(stored: _Split, classes: int) -> ClassSplit:
    parts = {}
    for part, members in stored.parts.items():
        parts[part] = np.zeros(classes, bool)
        parts[part][check_range(np.array(members, np.int64), 0, classes)] = True
    return ClassSplit(stored.name, parts, stored.source, stored.about)


Options = TypeVar("Options", StrictOptions, SemanticOptions)


def _options(family: Callable[..., Options], stored: dict[str, str]) -> Options:
    """Return options from their settings; options that did not exist when the run was written have their default."""
    own = {name.removeprefix("strict."): name for name in stored}
    start = family(protocol=stored[own["protocol"]])
    return changed(start, [f"{name}={value}" for name, value in stored.items() if not name.endswith("protocol")])


def _protocols(dataset: str) -> Mapping[str, StrictOptions | RoleOptions]:
    # For the short form of signatures; empty for a benchmark that is not installed here.
    try:
        return {**benchmark(dataset).protocols, **benchmark(dataset).role_protocols}
    except ShoeError:
        return {}
