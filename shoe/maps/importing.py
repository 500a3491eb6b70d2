"""Maps made from tables of ratings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from shoe.core.errors import OptionError, quote
from shoe.maps.columns import read_columns, side_by_side
from shoe.maps.writing import check_is_new, write_new_map
from shoe.similarity import Rater, SimilarityMap


def import_tables(
    folder: Path, paths: Sequence[Path], *, dataset: str, models: Mapping[str, str], prose: Mapping[str, str]
) -> SimilarityMap:
    """Make a map from tables of ratings.

    Args:
        folder: where to; must be new.
        paths: tables, see :func:`~shoe.maps.columns.read_columns`; verbs and objects may stand in any of them.
        dataset: whose classes were rated.
        models: who or what is behind raters, by name; "table FILE" for the others.
        prose: what else map.json should say: provenance, licence.

    Raises:
        InputError: naming the file, line and field of a table that is broken, or if the folder is not new.
        OptionError: for a model of a rater that no table has.
    """
    check_is_new(folder)
    tables = [read_columns(path) for path in paths]
    raters, pairs = side_by_side(tables)
    unknown = models.keys() - {rater.name for rater in raters}
    if unknown:
        known = ", ".join(quote(rater.name) for rater in raters)
        raise OptionError(f"model of rater {quote(min(unknown))}: found no column of that name, only {known}")
    named = [Rater(rater.name, models.get(rater.name, rater.model), rater.note) for rater in raters]
    origins = {"tables": [table.origin for table in tables]}
    write_new_map(folder, dataset=dataset, raters=named, pairs=pairs, prose={**prose, **origins})
    return SimilarityMap.load(folder)
