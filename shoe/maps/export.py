"""A map in formats that other tools read: dense arrays, or one long table."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

import numpy as np

from shoe.core.errors import OptionError, quote
from shoe.io.delimited import delimited_text
from shoe.io.files import replacing
from shoe.lexicon.expressions import Part
from shoe.lexicon.names import names_of
from shoe.lexicon.store import lexicon
from shoe.similarity import SimilarityMap
from shoe.similarity.ensemble import MISSING
from shoe.similarity.whole import FILE as WHOLE


def export(similarity: SimilarityMap, target: Path) -> None:
    """Write a map, in the format that the target's ending names: .npz, .csv or .tsv; whole or not at all.

    Raises:
        OptionError: for another ending, or a table of senses where the map has ratings of whole interactions.
        InputError: if the file cannot be written.
    """
    ending = target.suffix.lower()
    if ending not in (".npz", ".csv", ".tsv"):
        raise OptionError(f"OUT: found {quote(target.name)}, expected a name that ends in .npz, .csv, .tsv")
    if similarity.wholes and ending != ".npz":
        raise OptionError(
            f"OUT: found {quote(target.name)}, a table of senses, which has no room for this map's ratings of whole "
            f"interactions (its {WHOLE} is such a table); expected a name that ends in .npz"
        )
    with replacing(target) as stream:
        if ending == ".npz":
            _write_dense(similarity, stream)
        else:
            _write_long(similarity, stream, ending)


def dense(similarity: SimilarityMap, part: Part) -> dict[str, Any]:
    """One part of speech as C classes x S synsets, R raters.

    Returns:
        ``classes`` (C,) and ``synsets`` (S,) names, sorted, the classes among the synsets; ``values`` (C, S) 0..1 as
        scoring looks them up, 1 for a sense and itself, NaN for what nobody rated; ``ratings`` (C, S, R) int8, 0..4 or
        -1 for what the rater has not rated.
    """
    table = similarity.tables[part]
    groups = (table.classes, {*table.classes, *table.sense.tolist()})
    row, column = (np.array(sorted(senses, key=lexicon().name), np.int32) for senses in groups)
    index = np.zeros(len(lexicon()), np.int64)
    index[column] = np.arange(len(column))
    rows = np.repeat(np.arange(len(row)), [of.stop - of.start for of in table.classes.values()])
    ratings = np.full((len(row), len(column), len(similarity.raters)), MISSING, np.int8)
    ratings[rows, index[table.sense]] = table.ratings
    return {
        "classes": np.array(names_of(row), np.str_),
        "synsets": np.array(names_of(column), np.str_),
        "values": similarity.values(part, row, column),
        "ratings": ratings,
    }


def _write_dense(similarity: SimilarityMap, stream: IO[bytes]) -> None:
    arrays = {f"{part}_{name}": array for part in similarity.tables for name, array in dense(similarity, part).items()}
    about = {name: np.array(getattr(similarity, name)) for name in ("name", "dataset", "digest", "ensemble")}
    raters = np.array([rater.name for rater in similarity.raters], np.str_)
    if similarity.whole is not None:
        rated, values = similarity.whole
        arrays |= {"interaction_rows": np.array(rated.rows, np.str_), "interaction_values": values}
        arrays["interaction_ratings"] = rated.ratings
    np.savez_compressed(stream, allow_pickle=False, raters=raters, **about, **arrays)


def _write_long(similarity: SimilarityMap, stream: IO[bytes], ending: str) -> None:
    lines: list[list[object]] = [["part", "class_synset", "synset", "value", *(r.name for r in similarity.raters)]]
    for part, table in similarity.tables.items():
        values = ["" if np.isnan(value) else str(value) for value in similarity.pair_values(part).tolist()]
        ratings = (["" if rating == MISSING else rating for rating in row] for row in table.ratings.tolist())
        rows = zip(table.names(), values, ratings, strict=True)
        lines += ([part, *names, value, *given] for names, value, given in rows)
    stream.write(delimited_text(lines, "\t" if ending == ".tsv" else ",").encode())
