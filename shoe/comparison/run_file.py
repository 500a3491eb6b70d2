"""Reading and writing of saved runs (NAME.shoe): zip files of a JSON header and packed columns, validated when read."""

import hashlib
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from io import BytesIO
from math import isfinite
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks import benchmark
from shoe.benchmarks.classes import ClassSplit, parse_classes
from shoe.benchmarks.protocols import RoleOptions
from shoe.benchmarks.scoring_options import SemanticOptions, StrictOptions, changed, settings
from shoe.benchmarks.signature import Signature
from shoe.comparison.run import OF_RUN, RoleRun, Run, SemanticRun, StrictRun
from shoe.comparison.tau import LEVELS, TauLevels
from shoe.core.arrays import distinct
from shoe.core.documents import Count
from shoe.core.errors import InputError, OptionError, ShoeError, quote
from shoe.core.io.files import RUN_HEAD, atomic_write, is_stream, read_bytes
from shoe.scoring.entries import AveragingRule, Entries
from shoe.scoring.evidence.draws import Interval
from shoe.scoring.evidence.facts import Spread
from shoe.scoring.f1 import F1Entries, F1Rule
from shoe.scoring.roles import role_parts, role_rule
from shoe.scoring.score import SEMANTIC_FACTS

A_RUN = "a run (shoe score --save)"
_START, _END, _LENGTH_OF_END = b"PK", b"PK\x05\x06", 22
"""Magic bytes of a zip file and of its end record, and the length of that record without a comment."""
_LARGEST_HEAD = 64_000_000
_OF_ANY, _RATIO = 200_000_000, 32
"""Limits of the size of unpacked columns: 200 MB or, if this is larger, 32 times the packed size. A number has at most
8 bytes unpacked, and about 1 byte in the file."""


@contextmanager
def _open_archive(path: str | Path) -> Iterator[zipfile.ZipFile]:
    """Yield the archive of a run; raise InputError for another file, and ValueError for an unsafe archive."""
    with _stream(path) as stream:
        if stream.read(len(_START)) != _START:
            raise InputError(path, found="a file that is not a run", expected=A_RUN)
        size = stream.seek(-_LENGTH_OF_END, os.SEEK_END) + _LENGTH_OF_END
        end = stream.read(len(_END))
        with zipfile.ZipFile(stream) as archive:
            members = archive.infolist()
            if RUN_HEAD not in archive.namelist():
                raise InputError(path, found="an archive that is not a run", expected=A_RUN)
            if end != _END or archive.comment or min(member.header_offset for member in members):
                raise ValueError("bytes before or after the archive")
            if any(member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for member in members):
                raise ValueError("a zip member with a compression method other than stored or deflate")
            if any(member.flag_bits & 1 for member in members):
                raise ValueError("a member that is encrypted")
            if sum(member.compress_size for member in members) > size:
                raise ValueError("members with a total size larger than the file")
            yield archive


def _read_member(archive: zipfile.ZipFile, name: str, length: int) -> bytes:
    """Return the content of an archive member; raise ValueError without unpacking if its length is not ``length``."""
    if archive.getinfo(name).file_size != length:
        raise ValueError(f"{name} has a length different from the length in the header")
    with archive.open(name) as stream:
        return stream.read(length)


def _stream(path: str | Path) -> IO[bytes]:
    if os.path.isfile(path):
        with suppress(OSError):
            return open(path, "rb")
    return BytesIO(read_bytes(path))  # raises an InputError that explains an invalid path


# Columns are packed without loss: with small types, with tables of repeated values, and with equal columns stored once.

_WHOLE = ("u1", "u2", "u4", "i1", "i2", "i4", "i8")
_MOST_CODES = 1 << 16


class StoredColumn(msgspec.Struct):
    """Format of a column in a file: numbers of the NumPy type ``type``, or codes, which are indices into a table.

    ``table`` is the number of 64-bit values in the table, stored before the codes; None without a table.
    """

    type: str
    length: Count
    table: Count | None = None

    @property
    def size(self) -> int:
        """Size of the column in the unpacked archive member, in bytes; raises ValueError if the type is unknown."""
        if self.type not in (*_WHOLE, "f4", "f8") or (self.table is not None and not self.type.startswith("u")):
            raise ValueError(f"numbers of the unknown type {quote(self.type)}")
        return 8 * (self.table or 0) + self.length * int(self.type[1])


class ColumnWriter:
    """Collector of the columns of a run, in which equal columns are stored once."""

    def __init__(self) -> None:
        self.columns: list[StoredColumn] = []
        self.contents: list[bytes] = []
        self._known: dict[bytes, int] = {}

    def add(self, column: NDArray[Any]) -> int:
        """Add a column, unless an equal column exists, and return the index of the column in ``columns``."""
        if column.dtype.kind != "f":
            return self._store(smallest_integers(column))
        bits = column.view(np.int64)  # 0.0 and -0.0 are different values
        values = distinct(bits)
        if len(values) <= min(_MOST_CODES, len(column) // 2):
            codes = smallest_integers(np.searchsorted(values, bits))
            return self._store(codes, len(values), values.astype("<i8").tobytes())
        with np.errstate(over="ignore"):
            narrow = column.astype(np.float32)
        return self._store(narrow if np.array_equal(narrow, column) else column)

    def _store(self, column: NDArray[Any], table: int | None = None, before: bytes = b"") -> int:
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
    """Return the numbers of a column as float64, int32 or int64; raise ValueError if they do not fit its format."""
    if len(content) != stored.size:
        raise ValueError(f"a column of {len(content)} bytes instead of {stored.size}")
    head, dtype = 8 * (stored.table or 0), np.dtype(f"<{stored.type}")
    column = np.frombuffer(content, dtype, offset=head) if stored.length else np.empty(0, dtype)
    if stored.table is not None:
        values = np.frombuffer(content[:head], "<i8").view("<f8")
        if column.max(initial=0) >= max(len(values), 1):
            raise ValueError("a code that is not in the table of values")
        return np.asarray(values[column])
    if column.dtype.kind == "f":
        return column.astype(np.float64)
    is_wide = stored.type == "i8" or int(column.max(initial=0)) > np.iinfo(np.int32).max
    return column.astype(np.int64 if is_wide else np.int32)


def _check_range(column: NDArray[Any], low: float, high: float) -> NDArray[Any]:
    """Return the given column; raise ValueError unless all its numbers are at least ``low`` and below ``high``."""
    if len(column) and not (column.min() >= low and column.max() < high):
        raise ValueError(f"a number outside the range from {low:g} to {high:g}")
    return column


def smallest_integers(column: NDArray[Any]) -> NDArray[Any]:
    """Return a copy of integers with the smallest type that holds all of them."""
    low, high = int(column.min(initial=0)), int(column.max(initial=0))
    fits = (name for name in _WHOLE if np.iinfo(name).min <= low and high <= np.iinfo(name).max)
    return column.astype(next(fits, column.dtype))


# Checks: every value in the file that can be computed from the rest of the file is compared with the result.

_LONGEST = 500
"""Maximum length of texts in a run, in characters."""
_FACTS = ("shoe", "data", "split", "images", "truths", "truth-sha", "class-list", "class-list-sha", *OF_RUN)


def _check_plain(noun: str, texts: Iterable[str]) -> None:
    """Raise ValueError if a text is not printable or too long; ``noun`` names the kind of text in the message."""
    for text in texts:
        if not text.isprintable() or len(text) > _LONGEST:
            raise ValueError(f"invalid {noun} {quote(text)}: must be plain text of at most {_LONGEST} characters")


def _check_run(run: Run) -> None:
    """Raise ValueError if the content of a run is invalid or inconsistent."""
    if not run.all_parts:
        raise ValueError("no protocol in the run")
    protocols = [each.options.protocol for each in run.strict] + [each.options.protocol for each in run.by_person]
    _check_plain("protocol", protocols + ([run.semantic.options.protocol] if run.semantic else []))
    if len(set(protocols)) < len(protocols) or any(":" in name for name in protocols):
        raise ValueError("a protocol that occurs twice or has a colon in its name")
    if len(set(run.images)) < len(run.images):
        raise ValueError("an image that occurs twice")
    truths = None if run.truth is None else len(run.truth[0])
    for name, number in {"images": len(run.images), "class-list": len(run.classes), "truths": truths}.items():
        if number is not None and run.facts[name] != str(number):
            raise ValueError(f"{quote(run.facts[name])} {name} in the metadata, but {number} in the data")
    if not run.facts["predictions"].isdecimal():
        raise ValueError(f"{quote(run.facts['predictions'])} as number of predictions in the metadata")
    if run.classes.digest != run.facts["class-list-sha"]:
        raise ValueError("a class table different from the one recorded in its metadata")
    split = {"class-split": run.class_split.name, "class-split-sha": run.class_split.digest} if run.class_split else {}
    if any(run.facts.get(name) != split.get(name) for name in ("class-split", "class-split-sha")):
        raise ValueError("a class split different from the one recorded in its metadata")
    if run.semantic is not None and run.absent:
        raise ValueError("both semantic results and reasons for absent results")
    for part in run.parts.values():
        if run.truth and not all(map(np.array_equal, run.truth, (part.truth_category, part.truth_image))):
            raise ValueError("ground truths that differ between the protocols")
    _check_plain("name", [run.name])
    for each in run.by_person:
        _check_plain("action", [*each.names, each.left_out])
    if run.class_split is not None:
        _check_plain("class split", [*run.class_split.parts, run.class_split.source, run.class_split.about])
    _check_plain("reason", [*(run.absent or {}), *(run.absent or {}).values()])
    if run.spread is not None:
        _check_plain("rater", run.spread.raters)
        if len(run.spread.raters) < 2 or not all(0 <= value <= 1 for value in run.spread.raters.values()):
            raise ValueError("fewer than two raters, or a SHOE-mAP by rater outside the range 0 to 1")
    if run.interval is not None:
        ends = [pair for pair in (run.interval.map, run.interval.mf1) if pair is not None]
        if run.interval.unrated_pairs < 0 or not all(low <= high and isfinite(high - low) for low, high in ends):
            raise ValueError("an interval with invalid ends")


SUFFIX = ".shoe"
_VERSION = 2
_COLUMN = "columns/{}"
_ENTRIES = ("category", "image", "score", "credit", "truth_category", "truth_image")
_F1_FLAG = "unmatched_overlaps"
_F1 = ("category", "image", "sigma", "unmatched_category", "unmatched_image", _F1_FLAG, "truth_category", "truth_image")
_VERSIONS = ("image", "first", "stop")
_FRACTIONS = ("credit", "sigma", "fraction")
_HIGHEST = {"first": LEVELS, "stop": LEVELS + 1, "kept": 1 << 31, "total": 1 << 31, _F1_FLAG: 2}
_MOST_CLASSES = 15_000
_Columns = dict[str, Count]


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
    best: _Columns
    above_delta: _Columns
    tau: _Columns | None = None
    tau_f1: _Columns = {}


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
    """Write a run to a file, atomically. Equal runs give equal bytes. Raises InputError if writing fails."""
    writer = ColumnWriter()

    def put(table: Entries | F1Entries | TauLevels, names: tuple[str, ...]) -> dict[str, int]:
        return {name: writer.add(getattr(table, name)) for name in names}

    def stored(each: StrictRun | RoleRun) -> tuple[str, dict[str, str], dict[str, int]]:
        return str(each.signature), settings(each.options), put(each.entries, _ENTRIES)

    strict = [_Strict(*stored(each)) for each in run.strict]
    semantic = split = None
    if (own := run.semantic) is not None:
        matchings = (put(each, _F1) for each in (own.f1, own.best, own.above_delta))
        semantic = _Semantic(settings(own.options), put(own.entries, _ENTRIES), *matchings)
        if (tau := own.tau) is not None:
            semantic.tau = put(tau, ("fraction", "total", *_VERSIONS))
            semantic.tau["kept"] = writer.add(np.diff(tau.kept, axis=0, prepend=0).ravel())
            semantic.tau_f1 = put(tau.f1, _F1[:-2])
    if (parted := run.class_split) is not None:
        parts = {part: np.flatnonzero(mask).tolist() for part, mask in parted.parts.items()}
        split = _Split(parted.name, parted.source, parted.about, parts)
    head = _Head(
        shoe_run=_VERSION,
        name=run.name,
        signature=str(run.signature),
        facts=dict(run.facts),
        images=list(run.images),
        classes=run.classes.table,
        strict=strict,
        semantic=semantic,
        columns=writer.columns,
        notes=list(run.notes),
        absent=dict(run.absent) if run.absent else None,
        raters=run.spread.raters if run.spread else None,
        interval=run.interval,
        class_split=split,
        by_person=[_ByPerson(*stored(each), list(each.names), each.left_out) for each in run.by_person],
    )
    contents = {RUN_HEAD: msgspec.json.encode(head)}
    contents |= {_COLUMN.format(number): content for number, content in enumerate(writer.contents)}
    with atomic_write(path) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)  # dated 1980, for equal bytes


def is_run(path: str | Path) -> bool:
    """Return whether the name of a file ends in .shoe, or the file is an archive with the header of a run."""
    if not str(path).endswith(SUFFIX) and not is_stream(path):
        with suppress(zipfile.BadZipFile, OSError), zipfile.ZipFile(path) as archive:
            return RUN_HEAD in archive.namelist()
    return str(path).endswith(SUFFIX)


def read_run(path: str | Path) -> Run:
    """Read a run from a file; raise InputError if the file is not a run, is damaged, or has another version."""
    try:
        with _open_archive(path) as archive:
            if (length := archive.getinfo(RUN_HEAD).file_size) > _LARGEST_HEAD:
                raise ValueError(f"a header of {length:,} bytes, which is too large")
            data = _read_member(archive, RUN_HEAD, length)
            version = msgspec.json.decode(data, type=_Version).shoe_run
            if type(version) is not int or version != _VERSION:
                found_version, hint = quote(version), "score the predictions again with `shoe score --save`"
                raise InputError(path, field="shoe_run", found=found_version, expected=f"version {_VERSION}", hint=hint)
            head = msgspec.json.decode(data, type=_Head)
            total = sum(8 * ((stored.table or 0) + stored.length) for stored in head.columns)
            if total > (limit := max(_OF_ANY, _RATIO * sum(member.compress_size for member in archive.infolist()))):
                size, most = f"{total / 1e6:,.0f} MB", f"{limit / 1e6:,.0f}"
                raise ValueError(f"columns of {size}, expected at most {most} in a file of its size")
            names = [_COLUMN.format(number) for number in range(len(head.columns))]
            if sorted(archive.namelist()) != sorted([RUN_HEAD, *names]):
                raise ValueError("archive members that differ from the list in the header")
            columns = [
                read_column(stored, _read_member(archive, name, stored.size))
                for name, stored in zip(names, head.columns, strict=True)
            ]
        run = _run(head, columns)
        _check_run(run)
    except OptionError as error:
        hint = "the run may be from a later version of shoe"
        raise InputError(path, found=str(error), expected="names that this version of shoe knows", hint=hint) from None
    except Exception as error:  # the parsers of a damaged archive raise errors of many types
        if isinstance(error, InputError) and error.source == str(path):
            raise
        described = isinstance(error, InputError | ValueError | msgspec.DecodeError | zipfile.BadZipFile)
        found = f"a damaged or edited run: {error if described else type(error).__name__}"
        raise InputError(path, found=found, expected="a run written by `shoe score --save`") from None
    return run


def _run(head: _Head, columns: list[Any]) -> Run:
    if (missing := next((name for name in _FACTS if name not in head.facts), None)) is not None:
        raise ValueError(f"metadata without {missing}")
    _check_plain("fact", [*head.facts, *head.facts.values()])
    if head.classes.count("\n") > _MOST_CLASSES:
        raise ValueError(f"more than {_MOST_CLASSES:,} classes")
    classes = parse_classes(head.classes, head.facts["data"])
    protocols: dict[str, StrictOptions | RoleOptions] = {}
    with suppress(ShoeError):  # a benchmark that is not installed here
        protocols |= {**benchmark(classes.name).protocols, **benchmark(classes.name).role_protocols}
    split = None
    if (parted := head.class_split) is not None:
        parts = {part: np.zeros(len(classes), bool) for part in parted.parts}
        for part, members in parted.parts.items():
            parts[part][_check_range(np.array(members, np.int64), 0, len(classes))] = True
        split = ClassSplit(parted.name, parts, parted.source, parted.about)

    def signed(text: str, *options: Mapping[str, str], with_map: bool = False) -> Signature:
        """Return a signature; raise ValueError if it differs from the metadata and the options of its protocols."""
        left_out = OF_RUN if with_map else (*OF_RUN, *SEMANTIC_FACTS)
        items = {name: value for name, value in head.facts.items() if name not in left_out}
        for each in options:
            items |= each
        if text != str(Signature(tuple(items.items()))):
            raise ValueError("a signature that differs from its metadata and options")
        return Signature.parse(text, protocols)

    def column(name: str, number: int, categories: int = 0, images: int = len(head.images)) -> Any:
        values = columns[number]
        if (values.dtype.kind == "f") != (floats := name in ("score", *_FRACTIONS)):
            raise ValueError(f"{name} has type {values.dtype}, expected {'floats' if floats else 'integers'}")
        if "category" in name:
            return _check_range(values, -1 if name.startswith("unmatched") else 0, categories)
        if values.dtype.kind == "i":
            whole = _check_range(values, 0, _HIGHEST.get(name, images))
            return whole.astype(bool) if name == _F1_FLAG else whole
        if not np.isfinite(values).all():
            raise ValueError(f"a number for {name} that is not finite")
        return _check_range(values, 0, np.nextafter(1, 2)) if name in _FRACTIONS else values

    def table(names: tuple[str, ...], numbers: dict[str, int], *most: int) -> dict[str, Any]:
        values = {name: column(name, numbers[name], *(most or (len(classes),))) for name in names}
        shapes = {(name.rpartition("_")[0], len(each)) for name, each in values.items()}
        if len(shapes) > len({kind for kind, _ in shapes}):
            raise ValueError("columns of different lengths")
        return values

    def entries(numbers: dict[str, int], options: StrictOptions | SemanticOptions) -> Entries:
        return Entries(
            **table(_ENTRIES, numbers),
            counted=classes.evaluated(options.no_interaction),
            rare=classes.rare,
            unseen=classes.unseen,
            rule=AveragingRule.from_options(options),
            parts=split.parts if split else {},
        )

    def f1(numbers: dict[str, int], options: SemanticOptions) -> F1Entries:
        counted = classes.evaluated(options.no_interaction)
        return F1Entries(**table(_F1, numbers), counted=counted, rule=F1Rule.from_options(options))

    def strict(stored: _Strict) -> StrictRun:
        options = _options(StrictOptions, stored.options)
        return StrictRun(options, signed(stored.signature, stored.options), entries(stored.entries, options))

    def by_person(stored: _ByPerson) -> RoleRun:
        known = benchmark(classes.name).role_protocols.values()  # protocols without settings that users can change
        options = next((options for options in known if settings(options) == stored.options), None)
        if options is None:
            raise ValueError(f"settings of agent AP and role AP that belong to no protocol of {classes.name}")
        signature = signed(stored.signature, stored.options)
        names, number = tuple(stored.names), len(stored.names)
        ranked = Entries(
            **table(_ENTRIES, stored.entries, number),
            counted=np.ones(number, bool),
            rare=np.zeros(number, bool),
            rule=role_rule(options),
            parts=role_parts(names, stored.left_out),
        )
        return RoleRun(options, signature, names, stored.left_out, ranked)

    def semantic(stored: _Semantic) -> SemanticRun:
        options = _options(SemanticOptions, stored.options)
        matchings = f1(stored.f1, options), f1(stored.best, options), f1(stored.above_delta, options)
        levels = tau(stored.tau, stored.tau_f1, matchings[0]) if stored.tau else None
        return SemanticRun(options, entries(stored.entries, options), *matchings, levels)

    def tau(numbers: dict[str, int], of_f1: dict[str, int], own: F1Entries) -> TauLevels:
        images, versions = len(head.images), table(_VERSIONS, numbers)
        fraction, kept, total = (column(name, numbers[name]) for name in ("fraction", "kept", "total"))
        if (len(fraction), len(kept), len(total)) != (LEVELS, LEVELS * images, images):
            raise ValueError("tables of thresholds whose sizes do not match the number of images")
        none, added = np.zeros(0, np.int64), table(_F1[:-2], of_f1, len(classes), len(versions["image"]))
        f1 = replace(own, **added, truth_category=none, truth_image=none)
        return TauLevels(fraction, kept.reshape(LEVELS, images).cumsum(axis=0), total, **versions, f1=f1)

    of_strict, of_persons = tuple(map(strict, head.strict)), tuple(map(by_person, head.by_person))
    of_shoe = semantic(head.semantic) if head.semantic else None
    signed_options = [stored.options for stored in head.strict[:1]]
    signed_options += [head.semantic.options] if head.semantic else []
    signed_options = signed_options or [stored.options for stored in head.by_person[:1]]
    return Run(
        name=head.name,
        signature=signed(head.signature, *signed_options, with_map=True),
        facts=head.facts,
        images=tuple(head.images),
        classes=classes,
        strict=of_strict,
        semantic=of_shoe,
        notes=tuple(head.notes),
        absent=head.absent,
        spread=Spread(head.raters) if head.raters else None,
        interval=head.interval,
        class_split=split,
        by_person=of_persons,
    )


Options = TypeVar("Options", StrictOptions, SemanticOptions)


def _options(family: Callable[..., Options], stored: dict[str, str]) -> Options:
    """Return the options of a protocol, as saved in a run; options that were not saved have their defaults."""
    own = {name.removeprefix("strict."): name for name in stored}
    start = family(protocol=stored[own["protocol"]])
    return changed(start, [f"{name}={value}" for name, value in stored.items() if not name.endswith("protocol")])
