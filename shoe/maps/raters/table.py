"""Kind ``table``: ratings by people or other tools, from a file.

The file has a header line and columns separated by tabs or commas: ``class_synset``, ``synset``, and a column of
ratings. If it rates a pair in both orders, the row with the alphabetically lower name first counts.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from shoe.core.errors import InputError, closest_names, quote
from shoe.core.io.files import read_bytes
from shoe.core.io.spreadsheets import delimited_rows
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
    """ratings by people or other tools, from a file."""

    kind: ClassVar[str] = "table"
    prompted: ClassVar[bool] = False

    model: str = "ratings of a table"
    file: Annotated[Path, setting("file with the table", key=False)]
    column: Annotated[str, setting("column of the table with this rater's ratings, 0 to 4 or empty")] = "rating"

    def backend(self, prompts: Prompts) -> Backend:
        """Return the rater, which does not use ``prompts``; OptionError or InputError for invalid settings or file."""
        local.check(self)
        return Rows(read_ratings(self.file, self.column))

    def identity(self) -> Mapping[str, Any]:
        """Return {"content": SHA-256 of the file}, so that answers do not depend on its path."""
        return {"content": hashlib.sha256(read_bytes(self.file)).hexdigest()}


def read_ratings(path: Path, column: str) -> Ratings:
    """Return {(class synset, synset): rating} of one column of a table, with the lexicon's first name of each synset.

    Raise InputError with the file, line and field if the table is invalid.
    """
    names, *rows = delimited_rows(path)
    for wanted in (*_NAMES, column):
        if names.count(wanted) != 1:
            similar = closest_names(wanted, names)
            hint = f"did you mean {quote(similar[0])}?" if similar and wanted not in _NAMES else None
            count = f"{names.count(wanted)} columns {quote(wanted)}"
            raise InputError(path, record="line 1", found=count, expected="one such column in the header", hint=hint)
    indices = [*map(names.index, (*_NAMES, column))]
    proper: dict[str, str] = {}
    found: dict[tuple[str, str], int] = {}
    for number, row in enumerate(rows, start=2):
        record = f"line {number}"
        first, second, rating = (row[index].strip() for index in indices)
        for field, name in zip(_NAMES, (first, second), strict=True):
            if name not in proper:
                synset = lexicon().synset(name)
                if synset < 0:
                    expected = "a synset such as ride.v.01"
                    raise InputError(path, record=record, field=field, found=quote(name), expected=expected)
                proper[name] = lexicon().name(synset)
        if rating == "":
            continue
        if rating not in _RATINGS:
            expected = f"a rating 0 to {HIGHEST}, or nothing"
            raise InputError(path, record=record, field=column, found=quote(rating), expected=expected)
        pair = proper[first], proper[second]
        if found.setdefault(pair, _RATINGS[rating]) != _RATINGS[rating]:
            given = f"a second, different rating of {pair[0]} and {pair[1]}"
            raise InputError(path, record=record, field=column, found=given, expected="one rating per pair")
    return found


@dataclass(frozen=True, slots=True)
class Rows:
    """Rater that looks up ratings by (synset, synset), in either order of the two synsets."""

    ratings: Ratings

    def rate(self, groups: Iterator[Group], recorder: Recorder) -> None:
        """Answer the questions about rated pairs, and pass the answers to the recorder; skip all other questions."""
        for group in groups:
            pairs = {question: (question.first.name, question.second.name) for question in group.questions}
            found = {question: self.ratings.get(pair, self.ratings.get(pair[::-1])) for question, pair in pairs.items()}
            if given := {question: rating for question, rating in found.items() if rating is not None}:
                rated = Group(list(given))
                if recorder.stopping or not recorder.may_ask(rated):
                    return
                recorder.answer(rated, {"ratings": dict(zip(rated.ids, given.values(), strict=True))})

    parse = staticmethod(read_by_id)
