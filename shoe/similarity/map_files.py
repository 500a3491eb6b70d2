"""Similarity maps: ratings of pairs of senses with their provenance, and how maps are read and written.

A map is a folder: ``map.json`` (name, raters, provenance, content hashes), ``verbs.tsv`` and ``objects.tsv``. The
tables contain every rater's raw ratings, one column per rater. Ensembles are computed when the map is used. A map may
extend a shipped map: its files then contain only the added raters and ratings.
"""

from __future__ import annotations

import errno
import glob
import hashlib
import os
import shutil
import tempfile
from collections import Counter
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
from shoe.core.io.files import atomic_write, data_folder
from shoe.core.io.json import encode, explain_error, parse_json
from shoe.lexicon.senses import Part
from shoe.lexicon.store import Lexicon, ids_of, lexicon, wordnet
from shoe.similarity.ensemble import HIGHEST, MISSING, RaterWeights, check_ensemble, ensemble_values
from shoe.similarity.learned import FILE as LEARNED, Learned, LearnedFile
from shoe.similarity.pairs import RatedPairs, format_table, read_table
from shoe.similarity.table import Similarity, known_senses
from shoe.similarity.whole_interactions import FILE as WHOLE, WholeFile, WholeRatings, format_whole

# map.json: the fields of every map, which are checked; other fields are free text.

VERSION = 1
ABOUT = "map.json"


def _described(expected: str, least: int | None = None, **more: str) -> Meta:
    return Meta(min_length=least, extra={"expected": expected, **more})


_RATERS = "one or more raters, each with a unique name and a model"
_Name = Annotated[str, _described("a name", 1)]


class _Table(msgspec.Struct, frozen=True):
    sha256: Annotated[str | None, _described("the SHA-256 of the table")] = None


class _File(msgspec.Struct, frozen=True):
    sha256: Annotated[str, _described("the SHA-256 of the file")]


class Extended(msgspec.Struct, frozen=True):
    """Name and content digest of the shipped map that a similarity map extends."""

    name: _Name
    digest: Annotated[str, _described("the digest of the extended map, 8 hex digits")]


class UsedLexicon(msgspec.Struct, frozen=True):
    """Name and digest of the lexicon that defines the rated senses; absent in map.json if it is WordNet 3.0."""

    name: _Name
    digest: Annotated[str, _described("the digest of the lexicon, 8 hex digits")]


class RaterEntry(msgspec.Struct, frozen=True):
    """Entry of one rater in map.json: name, model, note, weight, and whether a 0 may mean "not rated" (``omits``)."""

    name: _Name
    model: Annotated[str, _described("the model, person or tool behind the rater", 1)]
    note: str = ""
    weight: Annotated[float, Meta(gt=0, le=1e6, extra={"expected": "a number above 0"})] = 1.0
    omits: bool = False


class Header(msgspec.Struct, frozen=True):
    """Fields of every map.json; ``format`` is informative only.

    With ``either_direction``, a rating in the extended map also counts for the reversed pair if that pair is unrated.
    """

    version: Annotated[Literal[1], _described(f"{VERSION}, the version supported by this release of shoe")]
    name: _Name
    dataset: Annotated[str, _described("a dataset's name", 1)]
    scale: Annotated[tuple[Literal[0], Literal[4]], _described(f"[0, {HIGHEST}]")]
    ensemble: Annotated[str, _described("an ensemble's name", 1)]
    raters: Annotated[list[RaterEntry], _described(_RATERS, 1, item="rater")]
    verbs: _Table
    objects: _Table
    learned: _File | None = None
    interactions: _File | None = None
    extends: Extended | None = None
    either_direction: bool = False
    second_senses: dict[Literal["verb", "object"], dict[str, str]] = {}
    lexicon: UsedLexicon | None = None
    format: Any = ""


def read_map_json(path: Path) -> tuple[Header, dict[str, Any]]:
    """Return the checked header of a map.json, and its content; InputError for an invalid field or another lexicon."""
    try:
        about = parse_json(path, path.read_bytes())
        msgspec.json.encode([[[[about]]]])  # nested as deeply as in any document that contains it
    except RecursionError:
        raise InputError(path, found="values nested too deeply", expected="text, numbers and lists") from None
    except OSError as error:
        raise InputError(path, found=str(error.strerror), expected="a JSON object") from None
    if not isinstance(about, dict):
        raise InputError(path, found=quote(about), expected="a JSON object")
    try:
        header = msgspec.convert(about, Header)
    except msgspec.ValidationError as error:
        raise explain_error(path, error, about, Header, lambda number, _: f"rater {number + 1}") from None
    texts = [("name", header.name), ("dataset", header.dataset), ("ensemble", header.ensemble)]
    texts += [("raters", text) for rater in header.raters for text in (rater.name, rater.model)]
    for field_, text in texts:
        if not text.isprintable():
            raise InputError(path, field=field_, found=quote(text), expected="a printable name")
    (name, often), *_ = Counter(rater.name for rater in header.raters).most_common(1)
    if often > 1:
        raise InputError(path, field="raters", found=f"{quote(name)} twice", expected="unique names")
    used, rated = lexicon().concepts, header.lexicon or UsedLexicon(wordnet().label, wordnet().digest)
    if rated.digest != used.digest:
        hint = "use `shoe --lexicon FILE`, or convert the map with `shoe lexicon carry`"
        expected = f"{used.label} ({used.digest}), which is in use"
        raise InputError(path, field="lexicon", found=f"{rated.name} ({rated.digest})", expected=expected, hint=hint)
    return header, about


FILES: dict[Part, str] = {"verb": "verbs.tsv", "object": "objects.tsv"}


@dataclass(frozen=True, slots=True)
class Rater:
    """A rater of a similarity map.

    Attributes:
        model: model, person or tool behind the rater.
        note: free text.
        details: other fields of the entry in map.json, such as the prompt and the number of refusals.
        weight: weight in an ensemble, above 0.
        omits: whether a rating of 0 may be an omission; see :class:`~shoe.similarity.ensemble.RaterWeights`.
    """

    name: str
    model: str
    note: str = ""
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)
    weight: float = 1.0
    omits: bool = False

    def entry(self) -> dict[str, Any]:
        """Return the rater's entry for map.json, with the details; a weight of 1 and a false ``omits`` are left out."""
        counts = ({"weight": self.weight} if self.weight != 1 else {}) | ({"omits": True} if self.omits else {})
        return {"name": self.name, "model": self.model, "note": self.note, **counts, **self.details}


@dataclass(frozen=True, eq=False)
class SimilarityMap(Similarity):
    """Ratings of the similarity between one dataset's class senses and other senses.

    Attributes:
        raters: raters, in the order of the rating columns.
        tables: rated pairs per part of speech, sorted by name.
        digests: SHA-256 of the table of each part of speech.
        ensemble: how raters are combined: "mean", "median", "majority" or "majority-mean".
        about: content of map.json, with provenance and licence.
        learned_file: file of predicted ratings, or None.
        whole_file: file of rated whole interactions, or None.
        inherited: number of raters of the shipped map that this map extends; they come first in ``raters``.
        second_senses: second sense of some class senses, as IDs, per part of speech. The similarity to such a class is
            the higher of the similarities to both senses.
        concepts: lexicon whose senses were rated.
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
    inherited: int = 0
    second_senses: Mapping[Part, Mapping[int, int]] = field(default_factory=dict, repr=False)
    concepts: Lexicon = field(default_factory=lambda: lexicon().concepts, repr=False)

    @classmethod
    def load(cls, name_or_folder: str | Path, ensemble: str | None = None) -> SimilarityMap:
        """Load a shipped map by name ("hico-det"), or any map by the folder of its map.json ("./hico-det").

        ``ensemble`` is the name of the ensemble; None for the ensemble named in map.json. Raise OptionError for an
        unknown map or ensemble, and InputError for an invalid map, with file, line and field.
        """
        if not is_map(name_or_folder):
            raise no_map_error(name_or_folder, "similarity map", shipped_maps())
        is_shipped = name_or_folder in shipped_maps()
        folder = data_folder("similarity_maps") / name_or_folder if is_shipped else Path(name_or_folder)
        header, about = read_map_json(folder / ABOUT)
        known = RaterEntry.__struct_fields__
        raters = [
            Rater(**msgspec.structs.asdict(rater), details={key: entry[key] for key in entry if key not in known})
            for rater, entry in zip(header.raters, about["raters"], strict=True)
        ]
        names, wholes = tuple(rater.name for rater in raters), header.interactions
        tables, digests = dict[Part, RatedPairs](), dict[Part, str]()
        for (part, file), stated in zip(FILES.items(), (header.verbs, header.objects), strict=True):
            tables[part], digests[part] = read_table(folder / file, names, stated.sha256)
        how = check_ensemble(ensemble or header.ensemble)
        learned = LearnedFile(folder / LEARNED, header.learned.sha256) if header.learned else None
        whole = WholeFile(folder / WHOLE, wholes.sha256, names, tuple(range(len(names)))) if wholes else None
        seconds = {
            part: dict(zip(*(known_senses(part, list(n)).tolist() for n in (pairs, pairs.values())), strict=True))
            for part, pairs in header.second_senses.items()
        }
        named = header.name, header.dataset, tuple(raters)
        made = cls(*named, tables, digests, how, about, learned, whole, second_senses=seconds)
        return made._extending(folder / ABOUT, header.extends, header.either_direction) if header.extends else made

    def _extending(self, path: Path, of: Extended, either_direction: bool) -> SimilarityMap:
        """Return the map with the raters of the extended shipped map first; ``of`` is the map.json entry "extends"."""
        base = self.load(of.name) if of.name in shipped_maps() else None
        if base is None or base.digest != of.digest:
            found = f"{quote(of.name)} ({base.digest if base else 'not shipped'})"
            raise InputError(path, field="extends", found=found, expected=f"the shipped map {of.name} ({of.digest})")
        digests = {part: f"{base.digests[part]}{digest}" for part, digest in self.digests.items()}
        tables = dict(base.tables)
        for part in FILES if either_direction else ():
            digests[part] += " in either direction"
            seconds = list(self.second_senses.get(part, {}).values())
            tables[part] = tables[part].add_reversed(np.append(self.tables[part].class_sense, seconds))
        return replace(
            self,
            raters=base.raters + self.raters,
            tables={part: tables[part].join_raters(table) for part, table in self.tables.items()},
            digests={part: hashlib.sha256(joined.encode()).hexdigest() for part, joined in digests.items()},
            learned_file=self.learned_file or base.learned_file,
            inherited=len(base.raters),
            second_senses={**base.second_senses, **self.second_senses},
        )

    @property
    def own_tables(self) -> dict[Part, RatedPairs]:
        """Rated pairs with the ratings that the map adds, without those of the shipped map that it extends."""
        if not self.inherited:
            return self.tables
        own = {part: replace(table, ratings=table.ratings[:, self.inherited :]) for part, table in self.tables.items()}
        return {part: table[table.rated] for part, table in own.items()}

    @property
    def digest(self) -> str:
        """8 hex digits of a hash of all ratings, the raters' names and weights, second senses, and predictions."""
        own, equal = self.rater_weights, RaterWeights.equal(len(self.raters))
        # This spelling, an earlier name of the class, is part of the digests of published maps and signatures.
        counts = "" if own == equal else f"Voices(weights={own.weights}, omits={own.omits})"
        learned = self.learned_file.sha256 if self.learned_file else ""
        whole = self.whole_file.sha256 if self.whole_file else ""
        seconds = str(self.second_senses) if self.second_senses else ""
        content = "".join(self.digests[part] for part in FILES) + counts + learned + whole + seconds
        return hashlib.sha256(content.encode()).hexdigest()[:8]

    @property
    def learned(self) -> Learned | None:
        """Predicted ratings of unrated pairs, read on first access; None if the similarity map has no predictions.

        InputError if the file does not match its SHA-256 in map.json.
        """
        return self.learned_file.learned if self.learned_file else None

    @cached_property
    def whole(self) -> tuple[WholeRatings, Floats] | None:
        """Rated whole interactions and their (m,) ensemble values 0..1, read on first access; None without them."""
        rated = self.whole_ratings
        return (rated, ensemble_values(rated.ratings, self.ensemble, self.rater_weights)) if rated else None

    @property
    def whole_ratings(self) -> WholeRatings | None:
        """Each rater's ratings of pairs of a class and a predicted interaction; None if the map has no such ratings."""
        return self.whole_file.ratings if self.whole_file else None

    @property
    def predictions_file(self) -> tuple[bytes, dict[str, Any]] | None:
        """Content of the predictions file and its entry in map.json; None without predictions."""
        return (self.learned_file.path.read_bytes(), self.about["learned"]) if self.learned_file else None

    def predicted(self, part: Part, class_senses: Ints, senses: Ints) -> Floats | None:
        """Return (C, S) predicted similarities 0..1, NaN for a class without predictions; None if no class has any."""
        return self.learned[part].expected(class_senses, senses) if self.learned else None

    @property
    def rater_weights(self) -> RaterWeights:
        """Weights of the raters, and for each rater whether a 0 may mean "not rated" (``omits``)."""
        return RaterWeights(tuple(rater.weight for rater in self.raters), tuple(rater.omits for rater in self.raters))

    @property
    def provenance(self) -> dict[str, Any]:
        """Fields of map.json that are copied to maps made from this map, such as sources and licence of the ratings."""
        header = {*Header.__struct_fields__} - {"either_direction", "second_senses"}
        return {name: value for name, value in self.about.items() if name not in header}

    def values(self, part: Part, class_senses: Ints, senses: Ints) -> Floats:
        """Return the (C, S) ensemble values 0..1 of pairs of senses: NaN for unrated pairs, 1 for a sense with itself.

        If a class has a second sense, the higher value of the two senses counts, or NaN if the second sense is unrated
        and its predicted value is higher. Raise OptionError if the active lexicon is not ``concepts``.
        """
        found, seconds = self._values(part, class_senses, senses), self.second_senses.get(part, {})
        rows = np.flatnonzero(np.isin(class_senses, list(seconds)))
        if len(rows):
            visible = np.array([seconds[sense] for sense in class_senses[rows].tolist()], np.int32)
            of_visible = self._values(part, visible, senses)
            found[rows] = np.fmax(found[rows], of_visible)
            if self.learned:
                is_higher = self.learned[part].expected(visible, senses) > found[rows]
                found[rows] = np.where(np.isnan(of_visible) & is_higher, np.nan, found[rows])
        return found

    def _values(self, part: Part, class_senses: Ints, senses: Ints) -> Floats:
        if lexicon().concepts is not self.concepts:
            used = lexicon().concepts.title
            raise OptionError(
                f"map {quote(self.name)} rates senses of {self.concepts.title}, but the active lexicon is {used}"
            )
        table, found = self.tables[part], np.full((len(class_senses), len(senses)), np.nan)
        index = np.full(len(lexicon()), -1, np.int32)  # column of each sense
        index[senses] = np.arange(len(senses))
        blocks = [(c, table.classes[s]) for c, s in enumerate(class_senses.tolist()) if s in table.classes]
        if blocks and len(senses):
            rows = np.concatenate([np.arange(block.start, block.stop) for _, block in blocks])
            row = np.repeat([c for c, _ in blocks], [block.stop - block.start for _, block in blocks])
            column = index[table.sense[rows]]
            hits = column >= 0
            ratings = table.ratings[rows[hits]]
            found[row[hits], column[hits]] = ensemble_values(ratings, self.ensemble, self.rater_weights)
            found = found[:, index[senses]]  # restore repeated senses
        found[class_senses[:, None] == senses] = 1
        return found

    def pair_values(self, part: Part) -> Floats:
        """Return the (m,) ensemble values 0..1 of the m pairs in ``tables[part]``; NaN for a pair without ratings."""
        return ensemble_values(self.tables[part].ratings, self.ensemble, self.rater_weights)

    def ratings(self, part: Part, class_synset: str, synset: str) -> dict[str, int | None] | None:
        """Return {rater: rating 0..4, or None for a missing rating} of a pair; None if the pair is not in the map."""
        class_sense, sense = ids_of([class_synset, synset])[:, None]
        (row,) = self.tables[part].rows_of(class_sense, sense).tolist()
        if row < 0:
            return None
        given = (None if rating == MISSING else rating for rating in self.tables[part].ratings[row].tolist())
        return dict(zip((rater.name for rater in self.raters), given, strict=True))

    def with_raters(self, columns: Sequence[int]) -> SimilarityMap:
        """Return the map with only the raters at the indices ``columns``, in that order, and without predictions."""
        raters, tables, digests = tuple(self.raters[column] for column in columns), {}, {}
        for part, table in self.tables.items():
            tables[part] = replace(table, ratings=np.ascontiguousarray(table.ratings[:, list(columns)]))
            kept = "\n".join([self.digests[part], *(rater.name for rater in raters)])
            digests[part] = hashlib.sha256(kept.encode()).hexdigest()
        whole = self.whole_file.with_raters(columns) if self.whole_file else None
        return replace(self, raters=raters, tables=tables, digests=digests, learned_file=None, whole_file=whole)


@cache
def shipped_maps() -> tuple[str, ...]:
    """Return the sorted names of the similarity maps that come with shoe."""
    return tuple(sorted(path.parent.name for path in data_folder("similarity_maps").glob(f"*/{ABOUT}")))


def is_map(name_or_folder: str | Path) -> bool:
    """Return whether ``name_or_folder`` is the name of a shipped map, or a folder that contains map.json."""
    return name_or_folder in shipped_maps() or os.path.isfile(Path(name_or_folder) / ABOUT)


def no_map_error(name_or_folder: str | Path, what: str, known: Iterable[str]) -> ShoeError:
    """Return the error for a map that was not found: InputError if the path exists, else OptionError (unknown name).

    ``what`` is what the message calls the name, such as "similarity map"; ``known`` are valid names, to suggest one.
    """
    if not os.path.exists(name_or_folder):
        return unknown_name(what, str(name_or_folder), known)
    found = "a folder without map.json" if os.path.isdir(name_or_folder) else "a file"
    hint = "make a map with `shoe map build`, or import tables of ratings with `shoe map import`"
    return InputError(name_or_folder, found=found, expected="the name or folder of a similarity map", hint=hint)


# Maps are written atomically: to a temporary folder next to their place, then moved.
#
# While a map ``NAME`` is written, there is a folder ``.NAME.<random>.tmp/`` next to it. In it, ``new`` is an incomplete
# map, ``map`` a complete one, and ``old`` the earlier map. The writer holds a lock in the folder, which distinguishes
# folders in use from folders of killed processes.


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
    """Write a similarity map atomically. An earlier map in the folder is replaced; other files in the folder are kept.

    The folder is created with its parents if needed. Raise InputError if it cannot be written, and OptionError for an
    unknown ensemble.

    Args:
        dataset: name of the dataset whose class senses are rated.
        raters: raters, in the order of the rating columns.
        pairs: rated pairs in any order, per part of speech.
        ensemble: default ensemble of :meth:`SimilarityMap.load`.
        prose: further content of map.json: provenance, sources, licence.
        name: name of the map; the folder name if None.
        learned: predictions (:func:`shoe.similarity.learned.learned_bytes`), and their entry for map.json.
        whole: ratings of whole interactions by ``raters``; None if there are none.
        extends: shipped map that the new map extends; its raters and ratings are not written again.
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
    if (used := lexicon().concepts) is not wordnet():
        about["lexicon"] = {"name": used.label, "digest": used.digest}
    files = {file: format_table(pairs[part].by_name(), columns) for part, file in FILES.items()}
    for part, file in FILES.items():
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
                with atomic_write(made / file) as stream:
                    stream.write(content)
            made.rename(beside / "map")
            if folder.is_dir():
                folder.rename(beside / "old")
            _put_in_place(beside, folder)
    except OSError as error:
        raise _unwritable(folder, error) from None


def clear_leftovers(folder: Path) -> None:
    """Remove temporary folders of killed processes next to ``folder``; InputError if no map can be written to it.

    If ``folder`` is missing, a complete map in such a temporary folder is first moved to ``folder``.
    """
    folder = Path(os.path.realpath(folder))
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for beside in folder.parent.glob(f"{glob.escape(_prefix(folder))}*.tmp"):
            with suppress(BlockingIOError, FileNotFoundError):  # another process is using it
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
    while True:
        beside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=_prefix(folder), suffix=".tmp"))
        with suppress(BlockingIOError, FileNotFoundError):  # another process deleted it as left over
            handle = _lock(beside)
            break
    try:
        yield beside
    finally:
        shutil.rmtree(beside)
        os.close(handle)


def _lock(beside: Path) -> int:
    """Lock a folder and return a handle that ends the lock when closed; BlockingIOError if it is locked already."""
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
    if (beside / "map").is_dir() and not folder.exists():
        (beside / "map").rename(folder)
    if (beside / "old").is_dir() and folder.is_dir():  # files that do not belong to a map are moved back
        for path in (beside / "old").iterdir():
            if path.name not in (ABOUT, LEARNED, WHOLE, *FILES.values()) and not (folder / path.name).exists():
                path.rename(folder / path.name)


def _prefix(folder: Path) -> str:
    return f".{folder.name[:32]}.{hashlib.sha256(os.fsencode(folder.name)).hexdigest()[:8]}."


def _unwritable(folder: Path, error: OSError) -> InputError:
    found = error.strerror or str(error)
    return InputError(folder, found=found, expected="a writable folder with a writable parent folder")


def check_is_new(folder: Path) -> None:
    """Raise InputError if a folder with content or a file exists at ``folder``, or no map can be written there.

    Unfinished maps of killed processes are moved or deleted first; see :func:`clear_leftovers`.
    """
    if not Path(os.path.realpath(folder)).name.isprintable():
        raise InputError(quote(str(folder)), found="unprintable characters", expected="a printable folder name")
    clear_leftovers(folder)
    if os.path.lexists(folder) and not (folder.is_dir() and not any(folder.iterdir())):
        raise InputError(folder, found="an existing file or folder", expected="the name of a new folder")
