"""A plain table of concepts: id, names, gloss, parents, pos; and, where there are such, kind and links."""

from __future__ import annotations

from pathlib import Path

from shoe.core.errors import InputError, meant, quote
from shoe.io.delimited import delimited_rows
from shoe.lexicon.building.source import KINDS, Concept, Source

COLUMNS = ("id", "names", "gloss", "parents", "pos", "kind", "links")


def read_table(path: Path, language: str | None) -> Source:
    """Read a TSV or CSV file whose header names the columns; bars stand between several names, parents or links.

    Raises:
        InputError: naming line and field of what is wrong.
    """
    header, *rows = delimited_rows(path)
    for column in header:
        if column not in COLUMNS or header.count(column) > 1:
            expected, hint = f"columns of {', '.join(COLUMNS)}, each once", meant(column, COLUMNS)
            raise InputError(path, record="line 1", found=quote(column), expected=expected, hint=hint)
    for needed in ("id", "names"):
        if needed not in header:
            raise InputError(path, record="line 1", found=f"no column {needed}", expected="columns id and names")
    concepts = []
    for number, fields in enumerate(rows, start=2):
        given = dict(zip(header, map(str.strip, fields), strict=True))
        where = f"line {number}"
        pos = KINDS.get(given.get("pos", "").lower())
        if pos is None:
            expected = "noun or verb"
            raise InputError(path, record=where, field="pos", found=quote(given["pos"]), expected=expected)
        names, parents, links = (
            tuple(dict.fromkeys(part for each in given.get(column, "").split("|") if (part := each.strip())))
            for column in ("names", "parents", "links")
        )
        gloss, kind = given.get("gloss", ""), given.get("kind", "")
        concepts.append(Concept(given["id"], names, pos, gloss, parents, kind, links, where))
    return Source(str(path), path.name.partition(".")[0], concepts, language or "en")
