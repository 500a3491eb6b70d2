"""Similarity maps: how raters rated pairs of senses, where it came from, and how maps are written.

A map is a folder: ``map.json`` (name, raters, provenance, content hashes), ``verbs.tsv`` and ``objects.tsv``. It keeps
every rater's raw ratings; ensembles are computed when it is used, so that a new rater is one new column. A map may
extend a shipped one: its files hold the raters and ratings that it adds, and the rest is read from there.
"""

from __future__ import annotations

import errno
import glob
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta

from shoe.core.arrays import Floats, Ints
from shoe.core.errors import InputError, OptionError, ShoeError, quote, unknown_name
from shoe.core.io.files import replacing, shipped
from shoe.core.io.json import encode, explained, parse_json
from shoe.lexicon.expressions import Part
from shoe.lexicon.store import Lexicon, ids_of, lexicon, wordnet
from shoe.similarity.ensemble import HIGHEST, MISSING, Voices, check_ensemble, ensemble_values
from shoe.similarity.learned import FILE as LEARNED
from shoe.similarity.learned import Learned, LearnedFile
from shoe.similarity.pairs import RatedPairs, format_table, read_table
from shoe.similarity.table import Similarity
from shoe.similarity.whole_interactions import FILE as WHOLE
from shoe.similarity.whole_interactions import WholeFile, WholeRatings, format_whole

# What map.json says of a similarity map: the fields that every map has, checked; all else is prose.

VERSION = 1
ABOUT = "map.json"


def _meant(expected: str, least: int | None = None, **more: str) -> Meta:
    return Meta(min_length=least, extra={"expected": expected, **more})


_RATERS = "one or more raters, each with a name of its own and a model"
_Name = Annotated[str, _meant("a name", 1)]


class _Table(msgspec.Struct, frozen=True):
    sha256: Annotated[str | None, _meant("the SHA-256 of the table")] = None


class _File(msgspec.Struct, frozen=True):
    sha256: Annotated[str, _meant("the SHA-256 of the file")]


class Extended(msgspec.Struct, frozen=True):
    """A shipped map that another map adds ratings to, and the digest of its content then."""

    name: _Name
    digest: Annotated[str, _meant("8 hex digits of that map's content")]


class UsedLexicon(msgspec.Struct, frozen=True):
    """The lexicon of the rated senses, if it is not WordNet 3.0."""

    name: _Name
    digest: Annotated[str, _meant("8 hex digits of that lexicon's content")]


class RaterEntry(msgspec.Struct, frozen=True):
    """Entry of a rater in map.json."""

    name: _Name
    model: Annotated[str, _meant("who or what is behind the rater", 1)]
    note: str = ""
    weight: Annotated[float, Meta(gt=0, le=1e6, extra={"expected": "a number above 0"})] = 1.0
    omits: bool = False


class Header(msgspec.Struct, frozen=True):
    """Fields that every map.json has; ``format`` is for people."""

    version: Annotated[Literal[1], _meant(f"{VERSION}, the version that this shoe reads")]
    name: _Name
    dataset: Annotated[str, _meant("a dataset's name", 1)]
    scale: Annotated[tuple[Literal[0], Literal[4]], _meant(f"[0, {HIGHEST}]")]
    ensemble: Annotated[str, _meant("an ensemble's name", 1)]
    raters: Annotated[list[RaterEntry], _meant(_RATERS, 1, item="rater")]
    verbs: _Table
    objects: _Table
    learned: _File | None = None
    interactions: _File | None = None
    extends: Extended | None = None
    lexicon: UsedLexicon | None = None
    format: Any = ""


def read_about(path: Path) -> tuple[Header, dict[str, Any]]:
    """Read a map.json: its header, and all of its content.

    Raises:
        InputError: naming the field that is missing or wrong.
    """
    try:
        about = parse_json(path, path.read_bytes())
        msgspec.json.encode([[[[about]]]])  # as deep as it stands in anything that is made of it
    except RecursionError:
        raise InputError(path, found="values nested hundreds deep", expected="prose, numbers and lists") from None
    except OSError as error:
        raise InputError(path, found=str(error.strerror), expected="a JSON object") from None
    if not isinstance(about, dict):
        raise InputError(path, found=quote(about), expected="a JSON object")
    try:
        header = msgspec.convert(about, Header)
    except msgspec.ValidationError as error:
        raise explained(path, error, about, Header, lambda number, _: f"rater {number + 1}") from None
    texts = [("name", header.name), ("dataset", header.dataset), ("ensemble", header.ensemble)]
    texts += [("raters", text) for rater in header.raters for text in (rater.name, rater.model)]
    for field_, text in texts:
        if not text.isprintable():
            raise InputError(path, field=field_, found=quote(text), expected="a name that can be printed")
    names = [rater.name for rater in header.raters]
    for name in names:
        if names.count(name) > 1:
            raise InputError(path, field="raters", found=f"{quote(name)} twice", expected="a name of its own for each")
    return header, about


def check_lexicon(path: Path, header: Header) -> None:
    """Raise InputError, naming both lexicons, if a map's senses are not those of the lexicon in use."""
    used, rated = lexicon().concepts, header.lexicon or UsedLexicon(wordnet().label, wordnet().digest)
    if rated.digest != used.digest:
        hint = "shoe --lexicon FILE uses another one, shoe lexicon carry takes a map from one to another"
        expected = f"{used.label} ({used.digest}), which is in use"
        raise InputError(path, field="lexicon", found=f"{rated.name} ({rated.digest})", expected=expected, hint=hint)


def lexicon_entry() -> dict[str, Any]:
    """Return the entry of map.json for the lexicon in use; empty for WordNet 3.0."""
    used = lexicon().concepts
    return {} if used is wordnet() else {"lexicon": {"name": used.label, "digest": used.digest}}


FILES: dict[Part, str] = {"verb": "verbs.tsv", "object": "objects.tsv"}


@dataclass(frozen=True, slots=True)
class Rater:
    """A rater: name of its column, the model (or person, or tool) behind it, and remarks for readers.

    ``details`` is the rest of its entry in map.json, for example its prompt and its number of refusals. ``weight`` and
    ``omits`` say how it counts in an ensemble (:class:`~shoe.similarity.ensemble.Voices`).
    """

    name: str
    model: str
    note: str = ""
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)
    weight: float = 1.0
    omits: bool = False

    def entry(self) -> dict[str, Any]:
        """Return the rater's entry for map.json."""
        counts = {"weight": self.weight} if self.weight != 1 else {}
        zeros = {"omits": True} if self.omits else {}
        return {"name": self.name, "model": self.model, "note": self.note, **counts, **zeros, **self.details}


@dataclass(frozen=True, eq=False)
class SimilarityMap(Similarity):
    """Ratings of one dataset's class senses against other senses.

    Attributes:
        raters: in the order of the columns.
        tables: rated pairs per part of speech, sorted by name.
        digests: SHA-256 of each table.
        ensemble: how raters are combined: "mean", "median", "majority" or "majority-mean".
        about: all of map.json, with provenance and licence.
        learned_file: predictions for pairs that nobody rated; None where there are none.
        whole_file: ratings of whole interactions; None where there are none.
        concepts: the lexicon whose senses were rated.
    """

    name: str
    dataset: str
    raters: tuple[Rater, ...]
    tables: dict[Part, RatedPairs]
    digests: dict[Part, str]
    ensemble: str
    about: dict[str, Any] = field(repr=False)
    learned_file: LearnedFile | None = None
    whole_file: WholeFile | None = None
    concepts: Lexicon = field(default_factory=lambda: lexicon().concepts, repr=False)

    @classmethod
    def load(cls, name_or_folder: str | Path, ensemble: str | None = None) -> SimilarityMap:
        """Load a shipped map by name, or any map by its folder.

        Args:
            name_or_folder: "hico-det", or a folder that holds map.json; "./hico-det" is a folder of a shipped name.
            ensemble: how to combine raters; what map.json says if absent.

        Raises:
            OptionError: for a name that is neither, or an unknown ensemble.
            InputError: naming file, line and field of a map that is broken.
        """
        if not is_map(name_or_folder):
            raise no_map(name_or_folder, "similarity map", shipped_maps())
        is_shipped = name_or_folder in shipped_maps()
        folder = shipped("similarity_maps") / name_or_folder if is_shipped else Path(name_or_folder)
        header, about = read_about(folder / ABOUT)
        check_lexicon(folder / ABOUT, header)
        known = RaterEntry.__struct_fields__
        raters = [
            Rater(**msgspec.structs.asdict(rater), details={key: entry[key] for key in entry if key not in known})
            for rater, entry in zip(header.raters, about["raters"], strict=True)
        ]
        names = tuple(rater.name for rater in raters)
        files, wholes = {"verb": header.verbs, "object": header.objects}, header.interactions
        read = {part: read_table(folder / file, names, files[part].sha256) for part, file in FILES.items()}
        made = cls(
            name=header.name,
            dataset=header.dataset,
            raters=tuple(raters),
            tables={part: pairs for part, (pairs, _) in read.items()},
            digests={part: digest for part, (_, digest) in read.items()},
            ensemble=check_ensemble(ensemble or header.ensemble),
            about=about,
            learned_file=LearnedFile(folder / LEARNED, header.learned.sha256) if header.learned else None,
            whole_file=WholeFile(folder / WHOLE, wholes.sha256, names, tuple(range(len(names)))) if wholes else None,
        )
        return made._extending(folder / ABOUT, header.extends) if header.extends else made

    def _extending(self, path: Path, of: Extended) -> SimilarityMap:
        """Return the shipped map that the map at ``path`` extends, joined with the ratings of this map."""
        base = self.load(of.name) if of.name in shipped_maps() else None
        if base is None or base.digest != of.digest:
            found = f"{quote(of.name)} ({base.digest if base else 'not shipped'})"
            raise InputError(path, field="extends", found=found, expected=f"the shipped map {of.name} ({of.digest})")
        digests = {part: f"{base.digests[part]}{digest}" for part, digest in self.digests.items()}
        return replace(
            self,
            raters=base.raters + self.raters,
            tables={part: base.tables[part].beside(table) for part, table in self.tables.items()},
            digests={part: hashlib.sha256(joined.encode()).hexdigest() for part, joined in digests.items()},
            learned_file=self.learned_file or base.learned_file,
        )

    @property
    def digest(self) -> str:
        """8 hex digits of ratings, raters' names, voices and predictions; nothing else changes it."""
        voices = self.voices
        counts = "" if voices == Voices.equal(len(self.raters)) else str(voices)
        learned = self.learned_file.sha256 if self.learned_file else ""
        whole = self.whole_file.sha256 if self.whole_file else ""
        content = "".join(self.digests[part] for part in FILES) + counts + learned + whole
        return hashlib.sha256(content.encode()).hexdigest()[:8]

    @property
    def learned(self) -> Learned | None:
        """Predicted ratings of pairs that nobody rated, read when first asked for; None where there are none.

        Raises:
            InputError: if the file is not what map.json describes.
        """
        return self.learned_file.learned if self.learned_file else None

    @cached_property
    def whole(self) -> tuple[WholeRatings, Floats] | None:
        """Whole interactions that raters compared, read on first use; see :attr:`Similarity.whole`."""
        rated = self.wholes
        return (rated, ensemble_values(rated.ratings, self.ensemble, self.voices)) if rated else None

    @property
    def wholes(self) -> WholeRatings | None:
        """The ratings behind :attr:`whole`."""
        return self.whole_file.ratings if self.whole_file else None

    @property
    def lesson(self) -> tuple[bytes, dict[str, Any]] | None:
        """Return the file of predictions and its description in map.json, for a map that is derived from this one."""
        return (self.learned_file.path.read_bytes(), self.about["learned"]) if self.learned_file else None

    def predicted(self, part: Part, class_senses: Ints, senses: Ints) -> Floats | None:
        """Predict pairs of senses; see :class:`~shoe.similarity.Similarity`."""
        return self.learned[part].expected(class_senses, senses) if self.learned else None

    @property
    def voices(self) -> Voices:
        """Weights of the raters."""
        return Voices(tuple(rater.weight for rater in self.raters), tuple(rater.omits for rater in self.raters))

    @property
    def provenance(self) -> dict[str, Any]:
        """Return what map.json holds beside names, raters and tables: sources of the ratings and their licence."""
        return {name: value for name, value in self.about.items() if name not in Header.__struct_fields__}

    def values(self, part: Part, class_senses: Ints, senses: Ints) -> Floats:
        """Look up C class senses against S senses by id; see :class:`~shoe.similarity.Similarity`."""
        if lexicon().concepts is not self.concepts:
            used = lexicon().concepts.title
            raise OptionError(f"map {quote(self.name)} rates senses of {self.concepts.title}, and {used} is in use")
        table = self.tables[part]
        found = np.full((len(class_senses), len(senses)), np.nan)
        index = np.full(len(lexicon()), -1, np.int32)  # of each sense among those that are looked up
        index[senses] = np.arange(len(senses))
        blocks = [(c, table.classes[s]) for c, s in enumerate(class_senses.tolist()) if s in table.classes]
        if blocks and len(senses):
            rows = np.concatenate([np.arange(block.start, block.stop) for _, block in blocks])
            row = np.repeat([c for c, _ in blocks], [block.stop - block.start for _, block in blocks])
            column = index[table.sense[rows]]
            hits = column >= 0
            found[row[hits], column[hits]] = ensemble_values(table.ratings[rows[hits]], self.ensemble, self.voices)
            found = found[:, index[senses]]  # a sense that is asked for twice
        found[class_senses[:, None] == senses] = 1
        return found

    def pair_values(self, part: Part) -> Floats:
        """(m,) value 0..1 of each pair of a table; NaN where nobody rated it."""
        return ensemble_values(self.tables[part].ratings, self.ensemble, self.voices)

    def ratings(self, part: Part, class_synset: str, synset: str) -> dict[str, int | None] | None:
        """Return each rater's rating of one pair, None for a rater without one; None if the map lacks the pair."""
        class_sense, sense = ids_of([class_synset, synset])[:, None]
        (row,) = self.tables[part].rows_of(class_sense, sense).tolist()
        if row < 0:
            return None
        given = (None if rating == MISSING else rating for rating in self.tables[part].ratings[row].tolist())
        return dict(zip((rater.name for rater in self.raters), given, strict=True))

    def with_raters(self, columns: Sequence[int]) -> SimilarityMap:
        """Return the map with only some of its raters, in this order: the same pairs, without predictions."""
        raters, tables, digests = tuple(self.raters[column] for column in columns), {}, {}
        kept = "\n".join(rater.name for rater in raters)
        for part, table in self.tables.items():
            tables[part] = replace(table, ratings=np.ascontiguousarray(table.ratings[:, list(columns)]))
            digests[part] = hashlib.sha256(f"{self.digests[part]}\n{kept}".encode()).hexdigest()
        whole = self.whole_file.with_raters(columns) if self.whole_file else None
        return replace(self, raters=raters, tables=tables, digests=digests, learned_file=None, whole_file=whole)


@cache
def shipped_maps() -> tuple[str, ...]:
    """Return the names of the maps that come with shoe."""
    return tuple(sorted(path.parent.name for path in shipped("similarity_maps").glob(f"*/{ABOUT}")))


def is_map(name_or_folder: str | Path) -> bool:
    """Return whether a name or folder is that of a map."""
    return name_or_folder in shipped_maps() or os.path.isfile(Path(name_or_folder) / ABOUT)


def no_map(name_or_folder: str | Path, what: str, known: Iterable[str]) -> ShoeError:
    """Return the error for something given as a map that is none; ``known`` are the names of shipped maps."""
    if not os.path.exists(name_or_folder):
        return unknown_name(what, str(name_or_folder), known)
    found = "a folder without map.json" if os.path.isdir(name_or_folder) else "a file"
    hint = "shoe map build makes a map, shoe map import makes one of tables of ratings"
    return InputError(name_or_folder, found=found, expected="a similarity map's name or folder", hint=hint)


# Maps written: whole or not at all, beside their place and then moved there.
#
# Beside a map ``NAME`` there is ``.NAME.<random>.tmp/`` while it is written: in it ``new`` grows, and is ``map`` once
# it
# is whole; what was there before is ``old`` until nothing of it is needed. Whoever writes holds a lock in that folder,
# so
# that what a killed process left is told from what another one is at.


def write_map(
    folder: Path,
    *,
    dataset: str,
    raters: Sequence[Rater],
    pairs: Mapping[Part, RatedPairs],
    ensemble: str = "mean",
    prose: Mapping[str, Any] | None = None,
    name: str | None = None,
    learned: tuple[bytes, Mapping[str, Any]] | None = None,
    whole: WholeRatings | None = None,
    extends: SimilarityMap | None = None,
) -> None:
    """Write a map beside its place and move it there, so that a reader never finds half of it.

    Other files in the folder of an earlier map stay there.

    Args:
        folder: folder of the map; made if absent, with its parents.
        raters: R raters, in the order of the ratings.
        pairs: rated pairs in any order, per part of speech.
        ensemble: default ensemble of :meth:`SimilarityMap.load`.
        prose: further content of map.json: provenance, sources, licence.
        name: name of the map; the folder's if absent.
        learned: predictions for unrated pairs (:func:`shoe.similarity.learned.learned_bytes`), and their description
            for map.json.
        extends: a shipped map whose raters and ratings the new map includes without writing them again.

    Raises:
        InputError: if the folder cannot be written.
        OptionError: for an ensemble that does not exist.
    """
    columns = [rater.name for rater in raters]
    about: dict[str, Any] = {
        "format": "shoe similarity map",
        "version": VERSION,
        "name": name or Path(os.path.realpath(folder)).name,
        "dataset": dataset,
        "scale": [0, HIGHEST],
        "ensemble": check_ensemble(ensemble),
        "raters": [rater.entry() for rater in raters],
    }
    if extends is not None:
        about["extends"] = {"name": extends.name, "digest": extends.digest}
    about |= lexicon_entry()
    files: dict[str, bytes] = {}
    for part, file in FILES.items():
        files[file] = format_table(pairs[part].by_name(), columns)
        about[f"{part}s"] = {
            "class_synsets": len(np.unique(pairs[part].class_sense)),
            "pairs": len(pairs[part]),
            "non_zero": int((pairs[part].ratings > 0).any(axis=1).sum()),
            "sha256": hashlib.sha256(files[file]).hexdigest(),
        }
    if learned:
        files[LEARNED] = learned[0]
        about["learned"] = {**learned[1], "sha256": hashlib.sha256(learned[0]).hexdigest()}
    if whole:
        files[WHOLE] = format_whole(whole, columns)
        about["interactions"] = {"pairs": len(whole.rows), "sha256": hashlib.sha256(files[WHOLE]).hexdigest()}
    files[ABOUT] = encode(about | dict(prose or {}), readable=True)
    folder = Path(os.path.realpath(folder))
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _beside(folder) as beside:
            made = beside / "new"  # inside, as temporary folders are private and maps are not
            made.mkdir()
            for file, content in files.items():
                with replacing(made / file) as stream:
                    stream.write(content)
            made.rename(beside / "map")
            if folder.is_dir():
                folder.rename(beside / "old")
            _put_in_place(beside, folder)
    except OSError as error:
        raise _unwritable(folder, error) from None


def clear_leftovers(folder: Path) -> None:
    """Finish or remove what killed processes left beside a map, and check that a map can be written.

    Raises:
        InputError: if no map can be written.
    """
    folder = Path(os.path.realpath(folder))
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for beside in folder.parent.glob(f"{glob.escape(_prefix(folder))}*.tmp"):
            with suppress(BlockingIOError, FileNotFoundError):  # another process is at it
                handle = _lock(beside)
                _put_in_place(beside, folder)
                shutil.rmtree(beside)
                os.close(handle)
        with _beside(folder):
            pass
        if folder.is_dir() and os.path.ismount(folder):
            raise OSError(errno.EBUSY, "a mounted folder, which cannot be moved")
    except OSError as error:
        raise _unwritable(folder, error) from None


@contextmanager
def _beside(folder: Path) -> Iterator[Path]:
    """Make a locked temporary folder beside a map; it is removed at the end of the block."""
    while True:
        beside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=_prefix(folder), suffix=".tmp"))
        with suppress(BlockingIOError, FileNotFoundError):  # another process took it for what was left
            handle = _lock(beside)
            break
    try:
        yield beside
    finally:
        shutil.rmtree(beside)
        os.close(handle)


def _lock(beside: Path) -> int:
    """Lock a folder until this process ends or the returned handle is closed.

    Raises:
        BlockingIOError: if another process holds the lock.
    """
    from filelock import lock_descriptor  # here: scoring imports this module and locks nothing

    handle = os.open(beside / "lock", os.O_RDWR | os.O_CREAT)
    try:
        if not lock_descriptor(handle, blocking=False):
            raise BlockingIOError
    except OSError:
        os.close(handle)
        raise
    return handle


def _put_in_place(beside: Path, folder: Path) -> None:
    """Move a finished map to its place, and move other files of the old folder back into it."""
    if (beside / "map").is_dir() and not folder.exists():
        (beside / "map").rename(folder)
    if (beside / "old").is_dir() and folder.is_dir():
        for path in (beside / "old").iterdir():
            if path.name not in (ABOUT, LEARNED, WHOLE, *FILES.values()) and not (folder / path.name).exists():
                path.rename(folder / path.name)


def _prefix(folder: Path) -> str:
    return f".{folder.name[:32]}.{hashlib.sha256(os.fsencode(folder.name)).hexdigest()[:8]}."


def _unwritable(folder: Path, error: OSError) -> InputError:
    found = error.strerror or str(error)
    return InputError(folder, found=found, expected="a folder that can be written to, and its parent")


def check_is_new(folder: Path) -> None:
    """Raise InputError if a file or folder exists where a new map is to be written, or its name is not valid."""
    if not Path(os.path.realpath(folder)).name.isprintable():
        raise InputError(quote(str(folder)), found="characters that cannot be printed", expected="a map's name")
    clear_leftovers(folder)
    if os.path.lexists(folder) and not (folder.is_dir() and not any(folder.iterdir())):
        raise InputError(folder, found="something that is there already", expected="the name of a new folder")
