"""Where ratings of a new map come from: tables that people write, and other maps; side by side in one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Indices
from shoe.core.errors import InputError, OptionError, printable, quote, unknown_name
from shoe.core.io.delimited import delimited_rows
from shoe.core.io.files import read_bytes
from shoe.lexicon.expressions import POS, Part
from shoe.lexicon.store import lexicon, names_of
from shoe.similarity import RatedPairs, Rater, SimilarityMap, write_map
from shoe.similarity.ensemble import MISSING
from shoe.similarity.maps import check_is_new, is_map, shipped_maps
from shoe.similarity.pairs import parse_table
from shoe.similarity.whole_interactions import WholeRatings

_NAMES = ["class_synset", "synset"]
_EXPORTED = ["part", *_NAMES, "value"]
_NOT_OF_THE_ORIGIN = ("format", "version", "scale", "verbs", "objects", "learned", "interactions")
_MADE_BY_MERGING = {"name", "dataset", "ensemble", "raters", "digest"}
"""What the map.json of a merged map says beside the origins, unless somebody adds to it."""


@dataclass(frozen=True, slots=True)
class RatingSource:
    """Some raters' ratings.

    Attributes:
        name: the file or map, for messages.
        pairs: what they rated, R columns.
        lines: per part of speech, (m,) line of the file that each pair stands on.
        origin: what a map made from them should say about where they are from.
        whole: what they rated of whole interactions, R columns; None for nothing.
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
    """Make a map from tables of ratings.

    Args:
        folder: where to; must be new.
        paths: tables, see :func:`read_source`; verbs and objects may stand in any of them.
        models: who or what is behind raters, by name; "table FILE" for the others.
        prose: what else map.json should say: provenance, licence.
        extends: name of a shipped map that has the other ratings, which the new one refers to.

    Raises:
        InputError: naming the file, line and field of a table that is broken, or if the folder is not new.
        OptionError: for a model of a rater that no table has, a map that is not shipped, or a rater that it has.
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
        raise OptionError(f"model of rater {quote(min(unknown))}: found no column of that name, only {known}")
    for rater in base.raters if base else ():
        if rater.name in {own.name for own in raters}:
            raise OptionError(f"rater {quote(rater.name)}: {extends} has one of that name; rename the column")
    named = [replace(rater, model=models.get(rater.name, rater.model), note="") for rater in raters]
    origins = {"tables": [source.origin for source in sources]}
    write_map(folder, dataset=dataset, raters=named, pairs=pairs, prose={**prose, **origins}, extends=base)
    return SimilarityMap.load(folder)


def merge(folder: Path, names: Sequence[str]) -> SimilarityMap:
    """Put the raters of several maps and tables side by side into one map.

    The pairs are those of any of them; where a rater did not rate a pair of another's, its rating is missing. But for
    the order of the columns, the result is the same in whatever order, and by whatever steps, sources are merged. The
    ensemble is the one that all maps name, else the mean. The folder must be new; ``names`` are shipped names or
    folders of maps, the first one at least, and files of tables.

    Raises:
        InputError: if one is broken, a rater's name occurs twice, or the maps are of different datasets.
        OptionError: for a map that does not exist.
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
                expected = f"{quote(first.dataset)}, as of {first.name}"
                raise InputError(name, field="dataset", found=quote(similarity.dataset), expected=expected)
        for other in sources:
            for rater in sorted({rater.name for rater in source.raters} & {rater.name for rater in other.raters}):
                expected = f"another name, as {other.name} has a rater of that name"
                raise InputError(source.name, found=f"the rater {quote(rater)}", expected=expected)
        sources.append(source)
    raters, pairs = _side_by_side(sources)
    origins = [origin for source in sources for origin in _origins(source.origin)]
    ensembles = {source.origin["ensemble"] for source in sources if "ensemble" in source.origin}
    write_map(
        folder,
        dataset=first.dataset,
        raters=raters,
        pairs=pairs,
        ensemble=ensembles.pop() if len(ensembles) == 1 else "mean",
        prose={"merged": sorted(origins, key=msgspec.json.encode)},
        whole=_wholes_side_by_side(sources),
    )
    return SimilarityMap.load(folder)


def read_source(path: Path) -> RatingSource:
    """Read a table of ratings: ``class_synset``, ``synset``, then one column a rater, between tabs or commas.

    What ``shoe map export`` writes can be read again: its columns ``part`` and ``value`` are left out.

    Raises:
        InputError: naming the file, the line and the field that break the format.
    """
    rows = delimited_rows(path)
    if rows[0][:4] == _EXPORTED:
        rows = [[*row[1:3], *row[4:]] for row in rows]
    names = rows[0][2:]
    if rows[0][:2] != _NAMES or not names:
        expected = " ".join([*_NAMES, "RATER..."]) + ", between tabs or commas"
        raise InputError(path, record="line 1", found=quote(" ".join(rows[0])), expected=expected)
    for index, name in enumerate(names):
        if not name.strip() or not name.isprintable() or name in names[:index]:
            expected = "a rater's name, each once"
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
    """See that both senses on each line are verbs, or both are nouns.

    Raises:
        InputError: naming the first line where they are not.
    """
    verb = class_sense >= lexicon().nouns
    for row in np.flatnonzero(verb != (sense >= lexicon().nouns))[:1].tolist():
        name, other = names_of([int(class_sense[row]), int(sense[row])])
        expected = f"{'a verb' if verb[row] else 'a noun'}, as {name} is"
        raise InputError(path, record=f"line {row + first_line}", field="synset", found=quote(other), expected=expected)


def _side_by_side(sources: Sequence[RatingSource]) -> tuple[list[Rater], dict[Part, RatedPairs]]:
    """Join sources into one: all their R raters, in the order given, and all their pairs, by name, with R columns.

    A rater may stand in several sources, with other pairs in each; InputError if it rated a pair in two of them.
    """
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
                raise InputError(
                    source.name,
                    record=f"line {source.lines[part][row]}",
                    field=rater.name,
                    found=f"{name} and {other} a second time",
                    expected="each pair once a rater, in all tables together",
                )
            of_rater[rows] = np.maximum(of_rater[rows], new)
    return RatedPairs(class_sense, sense, ratings).by_name()


def _wholes_side_by_side(sources: Sequence[RatingSource]) -> WholeRatings | None:
    """Ratings of whole interactions by sources whose raters are different ones; None if no source has any."""
    rows = sorted({row for source in sources if source.whole for row in source.whole.rows})
    index = {row: number for number, row in enumerate(rows)}
    ratings = np.full((len(rows), sum(len(source.raters) for source in sources)), MISSING, np.int8)
    first = 0
    for source in sources:
        if source.whole:
            ratings[[index[row] for row in source.whole.rows], first : first + len(source.raters)] = (
                source.whole.ratings
            )
        first += len(source.raters)
    return WholeRatings(rows, ratings) if any(source.whole for source in sources) else None


def _source_of(similarity: SimilarityMap) -> RatingSource:
    """Take a map with all that its map.json says but for the format of its tables, and its digest."""
    about = {name: value for name, value in similarity.about.items() if name not in _NOT_OF_THE_ORIGIN}
    return RatingSource(
        name=similarity.name,
        raters=tuple(replace(rater, details={}) for rater in similarity.raters),
        pairs=similarity.tables,
        lines={part: np.arange(len(table)) + 2 for part, table in similarity.tables.items()},
        origin=about | {"digest": similarity.digest},
        whole=similarity.wholes,
    )


def _origins(origin: dict[str, Any]) -> list[dict[str, Any]]:
    """What a source says about where it is from; what was merged before is not wrapped once more."""
    merged = origin.get("merged")
    if not isinstance(merged, list) or not all(isinstance(entry, dict) for entry in merged):
        return [origin]
    added = {name: value for name, value in origin.items() if name != "merged"}
    return [*merged, added] if added.keys() - _MADE_BY_MERGING else merged
