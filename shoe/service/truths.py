"""Registered ground truths and similarity maps, by names that an administrator gave."""

from __future__ import annotations

import re
import shutil
import sqlite3
import time
from pathlib import Path
from typing import Any

import msgspec

from shoe.benchmarks import DEFAULT, benchmark
from shoe.core.errors import InputError, OptionError, quote, unknown_name
from shoe.service.database import read_row, to_json
from shoe.service.folder import Folder
from shoe.service.types import Map

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class StoredFile(msgspec.Struct, frozen=True):
    """A file of the store, and its original name, which may tell the split."""

    sha256: str
    file: str


class Reading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a ground truth is read: its files, and the options of ``shoe score`` for it."""

    dataset: str
    truth: StoredFile
    classes: StoredFile | None = None
    image_labels: StoredFile | None = None
    split: str | None = None

    @property
    def files(self) -> tuple[StoredFile, ...]:
        """Files of the ground truth."""
        return tuple(of for of in (self.truth, self.classes, self.image_labels) if of is not None)


class Truth(msgspec.Struct, frozen=True):
    """A registered ground truth.

    Attributes:
        name: name by which runs refer to it.
        shown: whether its boxes and labels may leave the server.
        created: seconds since 1970.
    """

    name: str
    reading: Reading
    facts: dict[str, str]
    shown: bool
    created: float

    @property
    def dataset(self) -> str:
        """Dataset of its classes."""
        return self.reading.dataset

    @property
    def split(self) -> str | None:
        """Name of its split."""
        return self.reading.split

    @property
    def sha256(self) -> str:
        """Hash of its file."""
        return self.reading.truth.sha256


def add_truth(
    folder: Folder,
    name: str,
    path: str | Path,
    dataset: str = DEFAULT,
    *,
    shown: bool = False,
    split: str | None = None,
    classes: str | Path | None = None,
    image_labels: str | Path | None = None,
) -> Truth:
    """Register a ground truth; its files are copied.

    Args:
        name: that requests name it by.
        shown: whether its boxes and labels may leave the server, in reports with examples.
        split: which one of a file that holds several, or the name of a split of the classes.
        classes: class table that replaces the packaged one.

    Raises:
        InputError: for a file that cannot be read.
        OptionError: for a name that is taken or no name, or an unknown benchmark or split.
    """
    from shoe.benchmarks.classes import read_classes
    from shoe.predictions.truth import read_ground_truth

    check_name("truth", name)
    of = benchmark(dataset)
    if split is not None and split not in (*of.splits, *of.class_splits):  # a file would have to be copied, too
        raise unknown_name("split", split, (*of.splits, *of.class_splits))
    table = read_classes(Path(classes), benchmark(dataset).classes) if classes else None
    read = read_ground_truth(path, dataset, classes=table, image_labels=image_labels, split=split)

    def kept(file: str | Path) -> StoredFile:
        return StoredFile(folder.files.put(Path(file)).sha256, Path(file).name)

    reading = Reading(
        dataset=dataset,
        truth=kept(path),
        classes=kept(classes) if classes else None,
        image_labels=kept(image_labels) if image_labels else None,
        split=split,
    )
    made = Truth(name, reading, read.facts(), shown, time.time())
    row = (name, dataset, made.sha256, to_json(reading), to_json(made.facts), int(shown), made.created)
    _insert(folder, "truths", "truth", name, row)
    return made


def truths(folder: Folder) -> list[Truth]:
    """Return all ground truths, by name."""
    with folder.database.read() as db:
        rows = db.execute("SELECT * FROM truths ORDER BY name")
        return [read_row(row, Truth, reading=msgspec.json.decode(row["options"], type=Reading)) for row in rows]


def truth(folder: Folder, name: str) -> Truth:
    """A ground truth by its name.

    Raises:
        OptionError: for an unknown one.
    """
    known = {of.name: of for of in truths(folder)}
    if name not in known:
        raise unknown_name("truth", name, known)
    return known[name]


def add_map(folder: Folder, name: str, path: str | Path) -> Map:
    """Register a similarity map; its folder is copied.

    Raises:
        InputError: for a map that is broken.
        OptionError: for a name that is taken, is one of shoe's own, or is no name.
    """
    from shoe.similarity import load_similarity

    check_name("map", name)
    if name in own_similarities():
        raise OptionError(f"map {quote(name)}: found a name that shoe has itself, expected another one")
    if not Path(path).is_dir():
        raise InputError(path, found="no folder", expected="the folder of a map")
    digest = load_similarity(str(path)).digest
    # The copy's folder is of its content, so that it is whole before a row names it.
    copy = f"{name}-{digest}"
    shutil.copytree(path, folder.maps / copy, dirs_exist_ok=True)
    about = msgspec.json.decode((folder.maps / copy / "map.json").read_bytes())
    facts = {key: about[key] for key in ("name", "dataset", "version") if key in about}
    made = Map(name=name, digest=digest, facts=facts, created=time.time())
    _insert(folder, "maps", "map", name, (name, digest, copy, to_json(facts), made.created))
    return made


def maps(folder: Folder) -> list[Map]:
    """Return all registered maps, by name."""
    with folder.database.read() as db:
        return [read_row(row, Map) for row in db.execute("SELECT * FROM maps ORDER BY name")]


def similarity(folder: Folder, name: str, dataset: str = DEFAULT) -> dict[str, str]:
    """What a job has to know of a similarity: its name, and of a registered map its folder and hash.

    "dataset" stands for the map that a dataset is scored by.

    Raises:
        OptionError: for an unknown one; a path is none.
    """
    registered = {of.name: of for of in maps(folder)}
    if name == "dataset":
        name = benchmark(dataset).similarity
    if name in registered:
        digest = str(registered[name].digest)
        return {"name": name, "folder": f"{name}-{digest}", "digest": digest}
    own = own_similarities()
    if name not in own:
        raise unknown_name("similarity", name, [*own, *registered])
    return {"name": name}


def check_name(what: str, name: str) -> None:
    """Refuse what is no name: of letters, digits, dots, dashes, at most 64.

    Raises:
        OptionError: for it.
    """
    if not _NAME.fullmatch(name):
        raise OptionError(f"{what}: found the name {quote(name)}, expected letters, digits, '.', '_' and '-'")


def own_similarities() -> list[str]:
    """Return names of the similarities that are shipped."""
    from shoe.similarity import COMPUTED
    from shoe.similarity.maps import shipped_maps

    return [*COMPUTED, *shipped_maps()]


def _insert(folder: Folder, table: str, what: str, name: str, row: tuple[Any, ...]) -> None:
    marks = ", ".join("?" * len(row))
    try:
        with folder.database.write() as db:
            db.execute(f"INSERT INTO {table} VALUES ({marks})", row)  # noqa: S608  # names of this file
    except sqlite3.IntegrityError:
        raise OptionError(f"{what} {quote(name)}: found one of this name already, expected another name") from None
