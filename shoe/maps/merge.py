"""Raters of several maps and tables in one map."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from shoe.core.errors import InputError, quote
from shoe.maps.columns import Columns, columns_of_map, read_columns, side_by_side
from shoe.maps.writing import check_is_new, write_new_map
from shoe.similarity import SimilarityMap
from shoe.similarity.maps import is_map

_MADE_BY_MERGING = {"name", "dataset", "ensemble", "raters", "digest"}
"""What the map.json of a merged map says beside the origins, unless somebody adds to it."""


def merge(folder: Path, sources: Sequence[str]) -> SimilarityMap:
    """Put the raters of several maps and tables side by side into one map.

    The pairs are those of any of them; where a rater did not rate a pair of another's, its rating is missing. But for
    the order of the columns, the result is the same in whatever order, and by whatever steps, sources are merged. The
    ensemble is the one that all maps name, else the mean.

    Args:
        folder: where to; must be new.
        sources: shipped names or folders of maps, the first one at least, and files of tables.

    Raises:
        InputError: if one is broken, a rater's name occurs twice, or the maps are of different datasets.
        OptionError: for a map that does not exist.
    """
    check_is_new(folder)
    first = SimilarityMap.load(sources[0])
    tables = [columns_of_map(first)]
    for source in sources[1:]:
        tables.append(_columns(source, first))
        _check_raters(tables)
    raters, pairs = side_by_side(tables)
    origins = sorted((origin for table in tables for origin in _origins(table.origin)), key=orjson.dumps)
    ensembles = {table.origin["ensemble"] for table in tables if "ensemble" in table.origin}
    ensemble = ensembles.pop() if len(ensembles) == 1 else "mean"
    prose = {"merged": origins}
    write_new_map(folder, dataset=first.dataset, raters=raters, pairs=pairs, ensemble=ensemble, prose=prose)
    return SimilarityMap.load(folder)


def _columns(source: str, first: SimilarityMap) -> Columns:
    if not is_map(source) and Path(source).is_file():
        return read_columns(Path(source))
    other = SimilarityMap.load(source)
    if other.dataset != first.dataset:
        expected = f"{quote(first.dataset)}, as of {first.name}"
        raise InputError(source, field="dataset", found=quote(other.dataset), expected=expected)
    return columns_of_map(other)


def _check_raters(tables: Sequence[Columns]) -> None:
    """The last of some tables must bring new names only."""
    *others, last = tables
    for other in others:
        for name in sorted({rater.name for rater in last.raters} & {rater.name for rater in other.raters}):
            found, expected = f"the rater {quote(name)}", f"another name, as {other.source} has a rater of that name"
            raise InputError(last.source, found=found, expected=expected)


def _origins(origin: dict[str, Any]) -> list[dict[str, Any]]:
    """What a table says about where it is from; what was merged before is not wrapped once more."""
    merged = origin.get("merged")
    if not isinstance(merged, list) or not all(isinstance(entry, dict) for entry in merged):
        return [origin]
    added = {name: value for name, value in origin.items() if name != "merged"}
    return [*merged, added] if added.keys() - _MADE_BY_MERGING else merged
