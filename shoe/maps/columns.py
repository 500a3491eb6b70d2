"""Ratings column by column: out of tables that people write, out of maps, and side by side into one."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoe.core.errors import InputError, printable, quote
from shoe.io.delimited import delimited_rows
from shoe.io.files import read_bytes
from shoe.lexicon.expressions import POS, Part
from shoe.maps.origin import origin_of
from shoe.maps.rows import pairs_of
from shoe.similarity import Rater, SimilarityMap
from shoe.similarity.ratings import Pairs, checked_pairs

_NAMES = ["class_synset", "synset"]
_EXPORTED = ["part", *_NAMES, "value"]
_PARTS: dict[str, Part] = {pos: part for part, pos in POS.items()}


@dataclass(frozen=True, slots=True)
class Columns:
    """Some raters' ratings, verbs and objects together.

    Attributes:
        source: the file or map, for messages.
        raters: R raters.
        pairs: {(class synset, synset): R ratings or None}; those of a file in the order of its lines.
        origin: what a map made from them should say about where they are from.
    """

    source: str | Path
    raters: tuple[Rater, ...]
    pairs: Pairs
    origin: dict[str, Any]


def columns_of_map(similarity: SimilarityMap) -> Columns:
    """Take a map as columns, with all that its map.json says about them."""
    return Columns(
        source=similarity.name,
        raters=similarity.raters,
        pairs={pair: row for table in similarity.tables.values() for pair, row in pairs_of(table).items()},
        origin=origin_of(similarity),
    )


def read_columns(path: Path) -> Columns:
    """Read a table of ratings: ``class_synset``, ``synset``, then one column a rater, between tabs or commas.

    What ``shoe map export`` writes can be read again: its columns ``part`` and ``value`` are left out.

    Raises:
        InputError: naming the file, the line and the field that break the form.
    """
    rows = delimited_rows(path)
    if rows[0][:4] == _EXPORTED:
        rows = [[*row[1:3], *row[4:]] for row in rows]
    names = rows[0][2:]
    if rows[0][:2] != _NAMES or not names:
        expected = " ".join([*_NAMES, "RATER..."]) + ", between tabs or commas"
        raise InputError(path, record="line 1", found=quote(" ".join(rows[0])), expected=expected)
    for place, name in enumerate(names):
        if not name.strip() or not name.isprintable() or name in names[:place]:
            expected = "a rater's name, each once"
            raise InputError(path, record="line 1", field=f"column {place + 3}", found=quote(name), expected=expected)
    pairs = checked_pairs("".join("\t".join(row) + "\n" for row in rows).encode(), path, names)
    for number, pair in enumerate(pairs, start=2):
        check_one_part(path, number, *pair)
    return Columns(
        source=path,
        raters=tuple(Rater(name, f"table {printable(path.name)}") for name in names),
        pairs=pairs,
        origin={"table": printable(path.name), "sha256": hashlib.sha256(read_bytes(path)).hexdigest(), "raters": names},
    )


def part_of(synset: str) -> Part:
    """The part of speech that a WordNet name tells."""
    return _PARTS[synset.rsplit(".", 2)[1]]


def check_one_part(path: Path, number: int, class_synset: str, synset: str) -> None:
    """See that both names on a line are verbs, or both are nouns.

    Raises:
        InputError: if not.
    """
    if part_of(synset) != part_of(class_synset):
        expected = f"{'a verb' if part_of(class_synset) == 'verb' else 'a noun'}, as {class_synset} is"
        raise InputError(path, record=f"line {number}", field="synset", found=quote(synset), expected=expected)


def side_by_side(tables: Sequence[Columns]) -> tuple[list[Rater], dict[Part, Pairs]]:
    """Join tables into one: all their raters, in the order given, and all their pairs.

    A rater may stand in several tables, with other pairs in each.

    Raises:
        InputError: if a rater rated a pair in two of them.
    """
    named: dict[str, Rater] = {}
    for rater in (rater for table in tables for rater in table.raters):
        named.setdefault(rater.name, rater)
    raters, place = list(named.values()), {name: column for column, name in enumerate(named)}
    joined: dict[Part, dict[tuple[str, str], list[int | None]]] = {"verb": {}, "object": {}}
    for table in tables:
        columns = [place[rater.name] for rater in table.raters]
        for number, (pair, ratings) in enumerate(table.pairs.items(), start=2):
            row = joined[part_of(pair[0])].setdefault(pair, [None] * len(raters))
            for column, rating in zip(columns, ratings, strict=True):
                if rating is not None and row[column] is not None:
                    raise InputError(
                        table.source,
                        record=f"line {number}",
                        field=raters[column].name,
                        found=f"{pair[0]} and {pair[1]} a second time",
                        expected="each pair once a rater, in all tables together",
                    )
                row[column] = row[column] if rating is None else rating
    return raters, dict(joined)
