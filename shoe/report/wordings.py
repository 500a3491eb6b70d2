"""What the words of predictions were taken to say, in the terminal, as JSON and as a table of all of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from shoe.evidence.wordings import Wording
from shoe.io.files import replacing
from shoe.report.text import count, fixed, table, words

_COLUMNS = (
    *("verb", "object", "phrases", "count", "matched", "earned", "lost", "nearest_class", "similarity"),
    *("verb_sense", "verb_found_by", "verb_similarity", "verb_basis"),
    *("object_sense", "object_found_by", "object_similarity", "object_basis", "compared_with"),
)


def wordings_table(wordings: Sequence[Wording]) -> Table:
    """The wordings with most at stake, one a row."""
    rows = [
        [
            words(wording.phrases[0] if wording.phrases else f"{wording.verb.word} {wording.object.word}", 44),
            words(f"{wording.verb.word} · {wording.object.word}", 40),
            words(wording.against or wording.nearest, 30),
            fixed(wording.verb.similarity, 2),
            fixed(wording.object.similarity, 2),
            count(wording.count),
            fixed(wording.earned, 1),
            fixed(wording.lost, 1),
        ]
        for wording in wordings
    ]
    headings = ("what was said", "read as verb · object", "matched with", "verb", "object", "times", "earns", "lacks")
    return table(*headings, names=3, rows=rows)


def wordings_dict(wordings: Sequence[Wording]) -> list[dict[str, Any]]:
    """The same in the documented keys."""
    return [dict(zip(_COLUMNS, _row(wording), strict=True)) for wording in wordings]


def write_wordings(wordings: Sequence[Wording], path: str | Path) -> None:
    """Write all of them as CSV, one a line; the file appears whole or not at all.

    Columns: the verb and the object as read; up to three phrases that were read so, with " | " between them; how many
    predictions, how many of them matched; what these earned by their meaning and what they lacked, in ground truths;
    the class that the words resemble most, and their similarity to it; then for verb and object the sense that counted
    against ``compared_with`` (the class of the ground truths that they were matched with most, else the nearest), how
    it was found, the similarity, and what that rests on (see ``Basis``).
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows(_row(wording) for wording in wordings)
    with replacing(path) as stream:
        stream.write(text.getvalue().encode())


def _row(wording: Wording) -> list[Any]:
    verb, object_ = wording.verb, wording.object
    return [
        *(verb.word, object_.word, " | ".join(wording.phrases), wording.count, wording.matched),
        *(round(wording.earned, 6), round(wording.lost, 6), wording.nearest, wording.similarity),
        *(verb.sense, verb.reason, verb.similarity, verb.basis),
        *(object_.sense, object_.reason, object_.similarity, object_.basis, wording.against or wording.nearest),
    ]
