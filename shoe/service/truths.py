"""Ground truths and similarity maps that an administrator has registered under names."""

from __future__ import annotations

import logging
import re
import shutil
import sqlite3
import time
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from shoe.benchmarks import DEFAULT, benchmark
from shoe.benchmarks.protocols import Options, choose
from shoe.core.errors import InputError, OptionError, quote, unknown_name
from shoe.service import types
from shoe.service.database import read_row, to_json
from shoe.service.folder import Folder
from shoe.service.types import Map, Request

if TYPE_CHECKING:
    from shoe.similarity import Similarity

_log = logging.getLogger(__name__)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class StoredFile(msgspec.Struct, frozen=True):
    """A stored file: SHA-256, and original file name, from which the split of the dataset may be inferred."""

    sha256: str
    file: str


class TruthOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Files of a ground truth, and the ``shoe score`` options with which the files are read."""

    dataset: str
    truth: StoredFile
    classes: StoredFile | None = None
    image_labels: StoredFile | None = None
    split: str | None = None

    @property
    def files(self) -> tuple[StoredFile, ...]:
        """Files of ground truth and, if given, of class table and image-level labels."""
        return tuple(file for file in (self.truth, self.classes, self.image_labels) if file is not None)


class Truth(types.Truth, frozen=True, kw_only=True):
    """A registered ground truth: its metadata, the SHA-256 of its file, and the options for reading its files."""

    sha256: str
    reading: TruthOptions


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
    """Register a ground truth, store copies of its files, and return the ground truth.

    Args:
        shown: whether boxes and labels may leave the server, for example in reports with examples.
        split: name of a split of the classes (rf-uc), or of the image split to use if a file has several (test2015).
        classes: file of a class table that replaces the packaged class table.

    Raise InputError if a file cannot be read, and OptionError for a name that is taken or not valid, or an unknown
    dataset or split.
    """
    from shoe.benchmarks.classes import read_classes
    from shoe.predictions.truth import read_ground_truth

    check_name("truth", name)
    own = benchmark(dataset)
    splits = (*own.splits, *own.class_splits)
    if split is not None and split not in splits:  # a split file is not supported, because it is not copied
        raise unknown_name("split", split, splits)
    table = read_classes(Path(classes), own.classes) if classes else None
    read = read_ground_truth(path, dataset, classes=table, image_labels=image_labels, split=split)

    files = {"truth": path, "classes": classes, "image_labels": image_labels}
    given = {name: Path(file) for name, file in files.items() if file}
    stored = {name: StoredFile(folder.files.put(file).sha256, file.name) for name, file in given.items()}
    reading = TruthOptions(dataset=dataset, split=split, **stored)
    made = Truth(
        name=name, dataset=dataset, split=split, sha256=reading.truth.sha256, reading=reading,
        facts=read.signature_fields(), shown=shown, created=time.time(),
    )  # fmt: skip
    for other in truths(folder):
        if other.facts["truth-sha"] == made.facts["truth-sha"] and other.shown != shown:
            _log.warning("truth %s shows what truth %s hides", *((name, other.name) if shown else (other.name, name)))
    row = (name, dataset, made.sha256, to_json(reading), to_json(made.facts), int(shown), made.created)
    insert_named(folder, "truth", name, row)
    return made


def truths(folder: Folder, name: str | None = None) -> list[Truth]:
    """Return all ground truths, sorted by name, or only the ground truth `name`, if there is one."""
    query = (
        "SELECT *, json_extract(options, '$.split') AS split FROM truths WHERE name = coalesce(?, name) ORDER BY name"
    )
    with folder.database.read() as db:
        rows = db.execute(query, (name,))
        return [read_row(row, Truth, reading=msgspec.json.decode(row["options"], type=TruthOptions)) for row in rows]


def truth(folder: Folder, name: str) -> Truth:
    """Return the ground truth with the name `name`, or raise OptionError if there is none."""
    known = {each.name: each for each in truths(folder)}
    if name not in known:
        raise unknown_name("truth", name, known)
    return known[name]


def options_of(target: Truth, request: Request) -> Options:
    """Return the options of each protocol in a scoring request; raise OptionError for an unknown name or value."""
    own, labels = benchmark(target.dataset), target.reading.image_labels is not None
    names = request.protocols or own.usual_protocols
    return choose(names, request.options, own.protocols, own.role_protocols, image_labels=labels)


def add_map(folder: Folder, name: str, path: str | Path) -> Map:
    """Register the similarity map in the folder `path`, store a copy of the folder, and return the map."""
    from shoe.similarity import load_similarity

    check_name("map", name)
    if name in own_similarities():
        raise OptionError(f"map {quote(name)}: this is the name of a built-in similarity: choose another name")
    if not Path(path).is_dir():
        raise InputError(path, found="no folder at this path", expected="the folder of a similarity map")
    digest = load_similarity(str(path)).digest
    # The copy is complete before a database row refers to it; its name contains the digest of its content.
    copy = f"{name}-{digest}"
    shutil.copytree(path, folder.maps / copy, dirs_exist_ok=True)
    about = msgspec.json.decode((folder.maps / copy / "map.json").read_bytes())
    facts = {key: about[key] for key in ("name", "dataset", "version") if key in about}
    made = Map(name=name, digest=digest, facts=facts, created=time.time())
    insert_named(folder, "map", name, (name, digest, copy, to_json(facts), made.created))
    return made


def maps(folder: Folder) -> list[Map]:
    """Return all registered similarity maps, sorted by name."""
    with folder.database.read() as db:
        return [read_row(row, Map) for row in db.execute("SELECT * FROM maps ORDER BY name")]


def similarity(folder: Folder, name: str, dataset: str = DEFAULT) -> dict[str, str]:
    """Return the description of a similarity for a job: "name", and for a registered map "folder" and hash ("digest").

    The name "dataset" stands for the default similarity of the dataset. Raise OptionError for other names and paths.
    """
    registered = {each.name: each for each in maps(folder)}
    if name == "dataset":
        name = benchmark(dataset).similarity
    if name in registered:
        digest = str(registered[name].digest)
        return {"name": name, "folder": f"{name}-{digest}", "digest": digest}
    own = own_similarities()
    if name not in own:
        raise unknown_name("similarity", name, [*own, *registered])
    return {"name": name}


@lru_cache(maxsize=8)
def loaded(place: str, ensemble: str = "mean") -> Similarity:
    """Load a similarity, or return it from a cache; `place` is its built-in name, or the folder of a registered map."""
    from shoe.similarity import load_similarity

    return load_similarity(place, ensemble)


def check_name(noun: str, name: str) -> None:
    """Raise OptionError for a name that is not 1 to 64 letters, digits, dots, dashes and underscores."""
    if not _NAME.fullmatch(name):
        raise OptionError(f"{noun}: found the name {quote(name)}, expected at most 64 letters, digits, '.', '_', '-'")


def own_similarities() -> list[str]:
    """Return the names of built-in similarities: first similarities computed from WordNet, then similarity maps."""
    from shoe.similarity import COMPUTED
    from shoe.similarity.map_files import shipped_maps

    return [*COMPUTED, *shipped_maps()]


def insert_named(folder: Folder, noun: str, name: str, row: tuple[Any, ...]) -> None:
    """Insert a row with the name `name` into the table of truths, maps or boards; raise OptionError for a used name."""
    marks = ", ".join("?" * len(row))
    try:
        with folder.database.write() as db:
            db.execute(f"INSERT INTO {noun}s VALUES ({marks})", row)  # noqa: S608  # names of the callers
    except sqlite3.IntegrityError:
        raise OptionError(f"{noun} {quote(name)}: this name is already in use: choose another name") from None
