"""Create a map from tables of ratings, or merge several maps and tables into one map with the columns of all."""

import hashlib
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Indices
from shoe.core.errors import InputError, OptionError, printable, quote, unknown_name
from shoe.core.io.files import read_bytes
from shoe.core.io.spreadsheets import delimited_rows
from shoe.lexicon.senses import POS, Part
from shoe.lexicon.store import lexicon, names_of
from shoe.similarity import RatedPairs, Rater, SimilarityMap, write_map
from shoe.similarity.ensemble import MISSING
from shoe.similarity.map_files import check_is_new, is_map, shipped_maps
from shoe.similarity.pairs import parse_table
from shoe.similarity.whole_interactions import WholeRatings

_NAMES = ["class_synset", "synset"]
_EXPORTED = ["part", *_NAMES, "value"]
_NOT_OF_THE_ORIGIN = ("format", "version", "scale", "verbs", "objects", "learned", "interactions")
_MADE_BY_MERGING = {"name", "dataset", "ensemble", "raters", "digest"}
"""Keys of a merged map's map.json besides the list of its sources, unless further keys are added by hand."""


class RatingSource(NamedTuple):
    """Ratings of R raters from one table or map.

    Attributes:
        name: path of the table, or name of the map, for error messages.
        pairs, lines: per part of speech, m pairs with their (m, R) ratings, and (m,) line number of each in its file.
        origin: description of this source in the map.json of a new map.
        whole: ratings of whole interactions in R columns; None if the source has no such ratings.
    """

    name: str | Path
    raters: tuple[Rater, ...]
    pairs: dict[Part, RatedPairs]
    lines: dict[Part, Indices]
    origin: dict[str, Any]
    whole: WholeRatings | None = None


def import_tables(
    folder: Path,
    paths: Sequence[Path],
    *,
    dataset: str,
    models: Mapping[str, str],
    prose: Mapping[str, str],
    extends: str | None = None,
) -> SimilarityMap:
    """Create a similarity map from tables of ratings, and return it as loaded from its folder.

    Raise InputError if a table is invalid (with its file, line and field), or the folder is neither new nor empty;
    raise OptionError for a model of an unknown rater, an unknown map, or a map with a rater of the same name.

    Args:
        paths: tables, see :func:`read_source`; each table may contain verb pairs and object pairs.
        models: model of each rater, by the rater's name; "table FILE" for raters that are not included.
        prose: further fields of map.json, such as provenance and licence.
        extends: name of a shipped map whose ratings belong to the new map as well; they are not copied.
    """
    check_is_new(folder)
    if extends is not None and extends not in shipped_maps():
        raise unknown_name("shipped map", extends, shipped_maps())
    base = SimilarityMap.load(extends) if extends else None
    sources = [read_source(path) for path in paths]
    raters, pairs = _side_by_side(sources)
    unknown = models.keys() - {rater.name for rater in raters}
    if unknown:
        known = ", ".join(quote(rater.name) for rater in raters)
        raise OptionError(f"model of rater {quote(min(unknown))}: the tables have no such column, only {known}")
    for rater in base.raters if base else ():
        if rater.name in {own.name for own in raters}:
            raise OptionError(f"rater {quote(rater.name)}: {extends} has a rater of this name too; rename the column")
    named = [replace(rater, model=models.get(rater.name, rater.model), note="") for rater in raters]
    origins = {"tables": [source.origin for source in sources]}
    write_map(folder, dataset=dataset, raters=named, pairs=pairs, prose={**prose, **origins}, extends=base)
    return SimilarityMap.load(folder)


def merge(folder: Path, names: Sequence[str]) -> SimilarityMap:
    """Merge maps and tables into one similarity map with the columns of all their raters, and return the merged map.

    ``names`` are sources: first a map, then maps (shipped name or folder) or tables (file). Their order, and merging in
    several steps, only affects the order of the columns. The ensemble is that of all maps, or else "mean". Raise
    InputError if a source is invalid, the folder is neither new nor empty, two sources have a rater of the same name,
    or the maps' datasets differ; raise OptionError if a map does not exist.
    """
    check_is_new(folder)
    first = SimilarityMap.load(names[0])
    sources = [_source_of(first)]
    for name in names[1:]:
        if not is_map(name) and Path(name).is_file():
            source = read_source(Path(name))
        else:
            similarity = SimilarityMap.load(name)
            source = _source_of(similarity)
            if similarity.dataset != first.dataset:
                expected = f"{quote(first.dataset)}, the dataset of {first.name}"
                raise InputError(name, field="dataset", found=quote(similarity.dataset), expected=expected)
        for other in sources:
            for rater in sorted({rater.name for rater in source.raters} & {rater.name for rater in other.raters}):
                expected = f"another name, because {other.name} has a rater of this name too"
                raise InputError(source.name, found=f"the rater {quote(rater)}", expected=expected)
        sources.append(source)
    raters, pairs = _side_by_side(sources)
    origins = [origin for source in sources for origin in _origins(source.origin)]
    ensembles = {source.origin["ensemble"] for source in sources if "ensemble" in source.origin}
    ensemble, whole = ensembles.pop() if len(ensembles) == 1 else "mean", _wholes_side_by_side(sources)
    prose = {"merged": sorted(origins, key=msgspec.json.encode)}
    write_map(folder, dataset=first.dataset, raters=raters, pairs=pairs, ensemble=ensemble, prose=prose, whole=whole)
    return SimilarityMap.load(folder)


def read_source(path: Path) -> RatingSource:
    """Read a table of ratings: columns ``class_synset``, ``synset``, then one per rater, separated by tabs or commas.

    Tables written by ``shoe map export`` can be read, too: their columns ``part`` and ``value`` are ignored. Raise
    InputError with the file, line and field if the table is invalid.
    """
    rows = delimited_rows(path)
    if rows[0][:4] == _EXPORTED:
        rows = [[*row[1:3], *row[4:]] for row in rows]
    names = rows[0][2:]
    if rows[0][:2] != _NAMES or not names:
        expected = " ".join([*_NAMES, "RATER..."]) + ", separated by tabs or commas"
        raise InputError(path, record="line 1", found=quote(" ".join(rows[0])), expected=expected)
    for index, name in enumerate(names):
        if not name.strip() or not name.isprintable() or name in names[:index]:
            expected = "the name of a rater, different in each column"
            raise InputError(path, record="line 1", field=f"column {index + 3}", found=quote(name), expected=expected)
    pairs = parse_table("".join("\t".join(row) + "\n" for row in rows).encode(), path, names)
    check_same_part(path, pairs.class_sense, pairs.sense)
    verb = pairs.class_sense >= lexicon().nouns
    of_part: dict[Part, Indices] = {"verb": np.flatnonzero(verb), "object": np.flatnonzero(~verb)}
    return RatingSource(
        name=path,
        raters=tuple(Rater(name, f"table {printable(path.name)}") for name in names),
        pairs={part: pairs[of] for part, of in of_part.items()},
        lines={part: of + 2 for part, of in of_part.items()},
        origin={"table": printable(path.name), "sha256": hashlib.sha256(read_bytes(path)).hexdigest(), "raters": names},
    )


def check_same_part(
    path: Path, class_sense: NDArray[np.integer], sense: NDArray[np.integer], first_line: int = 2
) -> None:
    """Raise InputError if a line of a table contains a verb and a noun, given the (n,) sense IDs in both columns."""
    verb = class_sense >= lexicon().nouns
    for row in np.flatnonzero(verb != (sense >= lexicon().nouns))[:1].tolist():
        name, other = names_of([int(class_sense[row]), int(sense[row])])
        expected = f"{'a verb' if verb[row] else 'a noun'}, like {name}"
        raise InputError(path, record=f"line {row + first_line}", field="synset", found=quote(other), expected=expected)


def _side_by_side(sources: Sequence[RatingSource]) -> tuple[list[Rater], dict[Part, RatedPairs]]:
    """Return the R distinct raters of all sources, and per part of speech all pairs with R columns, sorted by name."""
    named: dict[str, Rater] = {}
    for rater in (rater for source in sources for rater in source.raters):
        named.setdefault(rater.name, rater)
    column = {name: index for index, name in enumerate(named)}
    return list(named.values()), {part: _joined(sources, part, column) for part in POS}


def _joined(sources: Sequence[RatingSource], part: Part, column: Mapping[str, int]) -> RatedPairs:
    keys = np.unique(np.concatenate([source.pairs[part].keys for source in sources]))
    class_sense, sense = (senses.astype(np.int32) for senses in np.divmod(keys, len(lexicon())))
    ratings = np.full((len(keys), len(column)), MISSING, np.int8)
    for source in sources:
        given = source.pairs[part]
        rows = np.searchsorted(keys, given.keys)
        for rater, new in zip(source.raters, given.ratings.T, strict=True):
            of_rater = ratings[:, column[rater.name]]
            for row in np.flatnonzero((new != MISSING) & (of_rater[rows] != MISSING))[:1].tolist():
                name, other = given[row : row + 1].names()[0]
                record, found = f"line {source.lines[part][row]}", f"a second rating of {name} and {other}"
                expected = "one rating per pair and rater, in all tables together"
                raise InputError(source.name, record=record, field=rater.name, found=found, expected=expected)
            of_rater[rows] = np.maximum(of_rater[rows], new)
    return RatedPairs(class_sense, sense, ratings).by_name()


def _wholes_side_by_side(sources: Sequence[RatingSource]) -> WholeRatings | None:
    """Return the ratings of whole interactions, with the columns of all sources; None if no source has such ratings."""
    rows = sorted({row for source in sources if source.whole for row in source.whole.rows})
    tables = []
    for source in sources:
        tables.append(np.full((len(rows), len(source.raters)), MISSING, np.int8))
        if source.whole:
            tables[-1][[bisect_left(rows, row) for row in source.whole.rows]] = source.whole.ratings
    return WholeRatings(rows, np.hstack(tables)) if any(source.whole for source in sources) else None


def _source_of(similarity: SimilarityMap) -> RatingSource:
    """Return a map as a source; its origin is its map.json, without the format of the tables, plus its digest."""
    about = {name: value for name, value in similarity.about.items() if name not in _NOT_OF_THE_ORIGIN}
    return RatingSource(
        name=similarity.name,
        raters=tuple(replace(rater, details={}) for rater in similarity.raters),
        pairs=similarity.tables,
        lines={part: np.arange(len(table)) + 2 for part, table in similarity.tables.items()},
        origin=about | {"digest": similarity.digest},
        whole=similarity.whole_ratings,
    )


def _origins(origin: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the entries of a source for the list "merged" of a new map; a merged source contributes its own list."""
    merged = origin.get("merged")
    if not isinstance(merged, list) or not all(isinstance(entry, dict) for entry in merged):
        return [origin]
    added = {name: value for name, value in origin.items() if name != "merged"}
    return [*merged, added] if added.keys() - _MADE_BY_MERGING else merged
