"""Kind ``table``: ratings that people or other tools gave, from a file.

The file has a heading, and its columns are separated by tabs or commas: ``class_synset``, ``synset``, and the ratings'
own. A pair is unordered here: where the file rates it both ways round, the row counts whose first name comes first in
the alphabet. A pair that the file does not rate stays unrated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from shoe.core.errors import InputError, near, quote
from shoe.core.io.delimited import delimited_rows
from shoe.core.io.files import read_bytes
from shoe.lexicon.store import lexicon
from shoe.llm.request import Recorder
from shoe.maps.config import Backend, RaterConfig, setting
from shoe.maps.prompts import Group, Prompts
from shoe.maps.raters import local
from shoe.maps.rating_answers import read_by_id
from shoe.similarity.ensemble import HIGHEST

_NAMES = ("class_synset", "synset")
_RATINGS = {str(rating): rating for rating in range(HIGHEST + 1)}

Ratings = Mapping[tuple[str, str], int]


class Table(RaterConfig, frozen=True, kw_only=True):
    """ratings that people or other tools gave, from a file."""

    kind: ClassVar[str] = "table"
    prompted: ClassVar[bool] = False

    model: str = "ratings of a table"
    file: Annotated[Path, setting("the table", key=False)]
    column: Annotated[str, setting("its column that holds this rater's ratings, 0 to 4 or nothing")] = "rating"

    def backend(self, prompts: Prompts) -> Backend:
        """Make the rater; it asks with no prompt."""
        local.check(self)
        return Rows(read_ratings(self.file, self.column))

    def identity(self) -> Mapping[str, Any]:
        """Say which content the file has, wherever it is."""
        return {"content": hashlib.sha256(read_bytes(self.file)).hexdigest()}


def read_ratings(path: Path, column: str) -> Ratings:
    """Read one column of a table.

    Returns:
        {(class synset, synset): rating}, both by WordNet's first name for them; pairs without a rating left out.
    """
    names, *rows = delimited_rows(path)
    indices = [_index(path, names, wanted) for wanted in (*_NAMES, column)]
    proper: dict[str, str] = {}
    found: dict[tuple[str, str], int] = {}
    for number, row in enumerate(rows, start=2):
        record = f"line {number}"
        first, second, rating = (row[index].strip() for index in indices)
        for field, name in zip(_NAMES, (first, second), strict=True):
            if name not in proper:
                synset = lexicon().synset(name)
                if synset < 0:
                    raise InputError(
                        path, record=record, field=field, found=quote(name), expected="a synset, as ride.v.01"
                    )
                proper[name] = lexicon().name(synset)
        if rating == "":
            continue
        if rating not in _RATINGS:
            expected = f"a rating 0 to {HIGHEST}, or nothing"
            raise InputError(path, record=record, field=column, found=quote(rating), expected=expected)
        pair = proper[first], proper[second]
        if found.setdefault(pair, _RATINGS[rating]) != _RATINGS[rating]:
            given = f"{pair[0]} and {pair[1]} with a second rating"
            raise InputError(path, record=record, field=column, found=given, expected="one for each pair")
    return found


def _index(path: Path, names: Sequence[str], wanted: str) -> int:
    if names.count(wanted) == 1:
        return names.index(wanted)
    similar = near(wanted, names)
    hint = f"did you mean {quote(similar[0])}?" if similar and wanted not in _NAMES else None
    found = f"{names.count(wanted)} columns {quote(wanted)}"
    raise InputError(path, record="line 1", found=found, expected="one, in a heading", hint=hint)


@dataclass(frozen=True, slots=True)
class Rows:
    """Answers by what is known of a pair, whichever of the two is named first."""

    ratings: Ratings

    def rate(self, groups: Iterator[Group], recorder: Recorder) -> None:
        """Answer groups of questions, as far as pairs are known."""
        for group in groups:
            names = {question: (question.first.name, question.second.name) for question in group.questions}
            given = {question: self.ratings.get(pair, self.ratings.get(pair[::-1])) for question, pair in names.items()}
            if asked := [question for question, rating in given.items() if rating is not None]:
                rated = Group(asked)
                if recorder.stopping or not recorder.may_ask(rated):
                    return
                ratings = [given[question] for question in asked]
                recorder.answer(rated, {"ratings": dict(zip(rated.ids, ratings, strict=True))})

    def parse(self, ids: Sequence[str], raw: Mapping[str, Any]) -> list[int]:
        """Read an answer back."""
        return read_by_id(raw, ids)
