"""Lines of text with two boxes each that are written like lines read before, read without looking for what they hold.

What a line is written like are its tags, brackets and the places of its eight numbers. A text all of whose lines are
written alike says what each of them says, once that has been so in a few texts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from math import nan
from operator import itemgetter

from shoe.predictions.vlm.boxes import Box
from shoe.predictions.vlm.found import Pair, Reading
from shoe.predictions.vlm.persons import can_be_verb, is_person
from shoe.predictions.vlm.prose import LONGEST
from shoe.predictions.vlm.replies import Reply, answer_of
from shoe.predictions.vlm.things import numberless
from shoe.predictions.vlm.wordings import Hit, Numbers, UnfitError, Wording, holds_any, strings

_MOST = 4096
_NUMBERS = re.compile(r"\d+(?:\.\d+)?")
_A_WORD, _A_NUMBER = "a", "0"
_PIECES = re.compile(r"<[^<>]*>|\d+(?:\.\d+)?|[A-Za-z]+(?:[ '_-][A-Za-z]+)*|.", re.DOTALL)
_WORDS = re.compile(r"[A-Za-z]+(?:[ '_-][A-Za-z]+)*")
_PATTERNS = {_A_WORD: f"({_WORDS.pattern})", _A_NUMBER: f"({_NUMBERS.pattern})"}
# Words of confidence or of the box itself.
_SPECIAL = re.compile(r"conf|scor|prob|box|locat|coord|posit", re.I)
_AT = re.compile(r"\bat\b", re.I)
_OTHER = re.compile(r"[^\x20-\x7e\n]|[{}`\"=:;#*\\]|  ")


class _Form:
    """What lines are written like: where the words of a pair and its boxes stand."""

    def __init__(self, pieces: Sequence[str], line: str, pair: Pair) -> None:
        texts = [piece for piece in _PIECES.findall(line) if _WORDS.fullmatch(piece)]
        numbers = list(map(float, _NUMBERS.findall(line)))
        starts = [_start(numbers, entity.box) for entity in (pair.human, pair.object)]
        if (
            pieces.count(_A_NUMBER) != 8
            or len(set(texts)) != len(texts)
            or set(starts) != {0, 4}
            or pair.score is not None
        ):
            raise UnfitError
        read = "\n".join(strings(pair))
        if not texts or any(read.count(text) != 1 for text in texts):
            raise UnfitError
        pattern = "".join(_PATTERNS.get(piece) or re.escape(piece) for piece in pieces)
        self._line = re.compile(f"^{pattern}$", re.MULTILINE | re.ASCII)
        kinds = [piece for piece in pieces if piece in _PATTERNS]
        words, numbered = ([i for i, kind in enumerate(kinds) if kind == one] for one in (_A_WORD, _A_NUMBER))
        self._texts = itemgetter(*words) if len(words) > 1 else itemgetter(slice(words[0], words[0] + 1))
        self._human, self._thing = (itemgetter(*numbered[start : start + 4]) for start in starts)
        self.wording = Wording(pair, texts, [_kind] * len(texts), joined=True)

    def read(self, text: str) -> list[tuple[tuple[str, ...], Numbers, Numbers]] | None:
        """The words, the human's box and the object's of each line; None if a line is not of this form."""
        found = self._line.findall(text)
        if len(found) != text.count("\n") + 1:
            return None
        human, thing = self._human, self._thing
        return [
            (self._texts(each), tuple(map(float, human(each))), tuple(map(float, thing(each))))  # type: ignore[misc]
            for each in found
        ]


class Lines:
    """What was learned from the texts of a file."""

    def __init__(self) -> None:
        self._forms: dict[tuple[str, ...], _Form | None] = {}
        self._last: _Form | None = None
        self._empty: set[str] = set()

    def hits(self, text: str) -> list[Hit] | None:
        """What a text holds; None if the general reader has to tell."""
        if text in self._empty:
            return []
        if not self._forms or len(text) > LONGEST:
            return None
        form = self._last
        read = form and form.read(text)
        if not form or not read:
            form = self._last = self._forms.get(_pieces(text.partition("\n")[0]))
            read = form and form.read(text)
        if not form or not read:
            return None
        found: list[Hit] = []
        for texts, human, thing in read:
            said = form.wording.said(texts)
            if said is None:
                return None
            found.append((said, human, thing, nan))
        return found if holds_any(found) else None

    def learn(self, text: str, reading: Reading, reply: Reply) -> None:
        """Learn from what the general reader says of a text."""
        if not reading.found and reply.says_none and len(self._empty) < _MOST:
            self._empty.add(text)
        lines = text.split("\n")
        if len(text) > LONGEST or _OTHER.search(text) or any(len(_NUMBERS.findall(line)) != 8 for line in lines):
            return
        pairs = [pair for pair in reading.found if isinstance(pair, Pair)]
        is_whole = len(pairs) == len(reading.found) == len(lines) and answer_of(text) == text.strip()
        for i, line in enumerate(lines):
            frame = _pieces(line)
            if frame not in self._forms and len(self._forms) < _MOST and is_whole:
                try:
                    self._forms[frame] = _Form(frame, line, pairs[i])
                except UnfitError:
                    continue
            form = self._forms.get(frame)
            read = form and form.read(line)
            if form and not (is_whole and read and form.wording.confirm(*read[0], None, pairs[i])):
                self._forms[frame] = self._last = None


def _pieces(line: str) -> tuple[str, ...]:
    """What a line is written like."""
    return tuple(
        _A_WORD if _WORDS.fullmatch(piece) else _A_NUMBER if piece[0].isdigit() else piece
        for piece in _PIECES.findall(line)
    )


def _start(numbers: Sequence[float], box: Box) -> int:
    """The index of the first of the four numbers that are a box."""
    found = [start for start in (0, 4) if tuple(numbers[start : start + 4]) == box.numbers]
    if len(found) != 1 or box.score is not None:
        raise UnfitError
    return found[0]


@lru_cache(1 << 16)
def _kind(text: str) -> int | None:
    if not _WORDS.fullmatch(text) or _SPECIAL.search(text):
        return None
    words = text.split()
    kinds = (
        *(is_person(text), is_person(words[0]), is_person(words[-1]), can_be_verb(text), numberless(text) == text),
        *(_AT.search(text) is not None, words[-1].lower() == "at"),
    )
    return sum(1 << i for i, is_so in enumerate(kinds) if is_so)
