"""Runs as files, ``NAME.shoe``: a zip of a JSON head and packed columns, which nothing that is read can execute."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from shoe.benchmarks import benchmark
from shoe.benchmarks.class_splits import ClassSplit
from shoe.benchmarks.classes import parse_classes
from shoe.core.errors import InputError, OptionError, ShoeError, quote
from shoe.evidence.draws import Interval
from shoe.evidence.raters import Spread
from shoe.io.files import RUN_HEAD, is_stream, replacing
from shoe.protocols.options import SemanticOptions, StrictOptions, changed, settings
from shoe.protocols.roles import RoleOptions
from shoe.protocols.signature import Signature
from shoe.runs.archive import check_total, open_archive, read_head, read_member
from shoe.runs.checks import DamagedError, check_facts, check_run, check_signature
from shoe.runs.columns import ColumnIndex, ColumnWriter, StoredColumn, check_range, read_column
from shoe.runs.run import RoleRun, Run, SemanticRun, StrictRun
from shoe.scoring.entries import Entries, Rule
from shoe.scoring.f1_entries import F1Entries, F1Rule
from shoe.scoring.roles import role_parts, role_rule

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
    """Write a run; the file appears whole or not at all, and equal runs give equal bytes.

    Raises:
        InputError: if the place cannot be written to.
    """
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
            _ByPerson(str(of.signature), settings(of.options), put(of.entries, _ENTRIES), list(of.names), of.left_out)
            for of in run.by_person
        ],
    )
    contents = {_HEAD: msgspec.json.encode(head)}
    contents |= {_COLUMN.format(number): content for number, content in enumerate(writer.contents)}
    with replacing(path) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)  # dated 1980, whenever it is written


def is_run(path: str | Path) -> bool:
    """Tell whether a file is called as runs are, or is an archive with the head of one."""
    if str(path).endswith(SUFFIX):
        return True
    if is_stream(path) or not zipfile.is_zipfile(path):
        return False
    with suppress(zipfile.BadZipFile, OSError), zipfile.ZipFile(path) as archive:
        return _HEAD in archive.namelist()
    return False


def read_run(path: str | Path) -> Run:
    """Read a run that :func:`write_run` wrote; what is in it is checked as any other input.

    Raises:
        InputError: for a file that is none, is damaged, or was written by a later version.
    """
    try:
        with open_archive(path, _HEAD) as archive:
            data = read_head(archive, _HEAD)
            version = msgspec.json.decode(data, type=_Version).shoe_run
            if type(version) is not int or version != _VERSION:
                found_version, hint = quote(version), "a later shoe wrote it?"
                raise InputError(path, field="shoe_run", found=found_version, expected=f"version {_VERSION}", hint=hint)
            head = msgspec.json.decode(data, type=_Head)
            check_total(archive, sum(of.unpacked for of in head.columns))
            names = [_COLUMN.format(number) for number in range(len(head.columns))]
            if sorted(archive.namelist()) != sorted([_HEAD, *names]):
                raise DamagedError("members that its head does not name")
            found = [
                read_column(of, read_member(archive, name, of.size))
                for name, of in zip(names, head.columns, strict=True)
            ]
        run = _run(head, found)
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
    except Exception as error:  # a damaged archive makes its parsers raise whatever their bytes happen to run into
        raise _damaged(path, type(error).__name__) from None
    return run


def _damaged(path: str | Path, what: str) -> InputError:
    return InputError(path, found=f"a damaged or edited run: {what}", expected="one as shoe score --save wrote it")


def _run(head: _Head, found: list[Any]) -> Run:
    check_facts(head.facts)
    if head.classes.count("\n") > _MOST_CLASSES:
        raise DamagedError(f"more than {_MOST_CLASSES:,} classes")
    classes = parse_classes(head.classes, head.facts["data"])
    protocols = _protocols(classes.name)
    split = _class_split(head.class_split, len(classes)) if head.class_split else None

    def signed(text: str) -> Signature:
        return Signature.parse(text, protocols)

    def column(name: str, number: int, categories: int) -> Any:
        values, whole = found[number], "category" in name or "image" in name
        if (values.dtype.kind == "i") != whole:
            raise DamagedError(f"numbers of another kind for {name}")
        if "category" in name:
            return check_range(values, -1 if name.startswith("unmatched") else 0, categories)
        if "image" in name:
            return check_range(values, 0, len(head.images))
        if not np.isfinite(values).all():
            raise DamagedError(f"a number for {name} that is not finite")
        return check_range(values, 0, np.nextafter(1, 2)) if name in _FRACTIONS else values

    def table(names: tuple[str, ...], numbers: dict[str, int], categories: int = len(classes)) -> dict[str, Any]:
        """Read columns, of which those of one kind have to be of one length."""
        found = {name: column(name, numbers[name], categories) for name in names}
        shapes = {(name.rpartition("_")[0], len(values)) for name, values in found.items()}
        if len(shapes) > len({kind for kind, _ in shapes}):
            raise ValueError("columns of unlike lengths")
        return found

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

    def strict(of: _Strict) -> StrictRun:
        options = _options(StrictOptions, of.options)
        check_signature(of.signature, head.facts, of.options, strict=True)
        return StrictRun(options, signed(of.signature), entries(of.entries, options))

    def by_person(of: _ByPerson) -> RoleRun:
        known = benchmark(classes.name).role_protocols.values()  # whose settings nobody can change
        options, names = next((options for options in known if settings(options) == of.options), None), tuple(of.names)
        if options is None:
            raise DamagedError(f"settings that no protocol of {classes.name} by person has")
        check_signature(of.signature, head.facts, of.options, strict=True)
        number = len(names)
        made = Entries(
            **table(_ENTRIES, of.entries, number),
            counted=np.ones(number, bool),
            rare=np.zeros(number, bool),
            rule=role_rule(options),
            parts=role_parts(names, of.left_out),
        )
        return RoleRun(options, signed(of.signature), names, of.left_out, made)

    def semantic(of: _Semantic) -> SemanticRun:
        options = _options(SemanticOptions, of.options)
        both = f1(of.f1, options), f1(of.above_delta, options)
        return SemanticRun(options, entries(of.entries, options), *both)

    made = Run(
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
    whole = [*(of.options for of in head.strict[:1]), *([head.semantic.options] if head.semantic else [])]
    whole = whole or [of.options for of in head.by_person[:1]]
    check_signature(head.signature, head.facts, *whole)
    return made


def _class_split(said: _Split, classes: int) -> ClassSplit:
    parts = {}
    for part, members in said.parts.items():
        parts[part] = np.zeros(classes, bool)
        parts[part][check_range(np.array(members, np.int64), 0, classes)] = True
    return ClassSplit(said.name, parts, said.source, said.about)


Options = TypeVar("Options", StrictOptions, SemanticOptions)


def _options(family: Callable[..., Options], said: dict[str, str]) -> Options:
    """Options from their settings; one that is not named, as it was not there yet, has its default."""
    own = {name.removeprefix("strict."): name for name in said}
    start = family(protocol=said[own["protocol"]])
    return changed(start, [f"{name}={value}" for name, value in said.items() if not name.endswith("protocol")])


def _protocols(dataset: str) -> Mapping[str, StrictOptions | RoleOptions]:
    """A benchmark's protocols, for the short form of signatures; none of one that is not installed here."""
    try:
        return {**benchmark(dataset).protocols, **benchmark(dataset).role_protocols}
    except ShoeError:
        return {}
