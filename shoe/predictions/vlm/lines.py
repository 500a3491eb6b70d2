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
from shoe.predictions.vlm.fields import numberless
from shoe.predictions.vlm.items import Pair, Reading
from shoe.predictions.vlm.persons import can_be_verb, is_person
from shoe.predictions.vlm.replies import Reply, answer_of
from shoe.predictions.vlm.wordings import Hit, Numbers, UnfitError, Wording, strings

_MOST = 4096
_LONGEST = 5000
_NUMBERS = re.compile(r"(\d+(?:\.\d+)?)")
_PIECES = re.compile(r"<[^<>]*>|[\[\](), ]+|[^<>\[\](), ]+(?: [^<>\[\](), ]+)*")
_WORDS = re.compile(r"[A-Za-z]+(?:[ '_-][A-Za-z]+)*")
# Words that mean more than what is done: of confidence, of the box itself, of one sentence that goes on.
_SPECIAL = re.compile(
    r"conf|scor|prob|box|locat|coord|posit|\b(?:at|is|are|and|while|also|then|as|he|she|they|his|her|no|not|none)\b",
    re.I,
)
_OTHER = re.compile(r"[^\x20-\x7e\n]|[{}`\"=:;#*\\]|  |```")


class _Form:
    """What lines are written like: where the words of a pair and its boxes stand."""

    def __init__(self, texts: Sequence[str], numbers: Sequence[float], pair: Pair) -> None:
        starts = [_start(numbers, entity.box) for entity in (pair.human, pair.object)]
        if len(set(texts)) != len(texts) or set(starts) != {0, 4} or pair.score is not None:
            raise UnfitError
        read = "\n".join(strings(pair))
        if not texts or any(read.count(text) != 1 for text in texts):
            raise UnfitError
        self._boxes = [itemgetter(*range(start, start + 4)) for start in starts]
        self.wording = Wording(pair, texts, [_kind] * len(texts), joined=True)

    def boxes(self, numbers: Sequence[float]) -> tuple[Numbers, Numbers]:
        """The human's box and the object's."""
        human, thing = (of(numbers) for of in self._boxes)
        return human, thing

    def confirm(self, texts: tuple[str, ...], numbers: Sequence[float], pair: Pair) -> bool:
        """Compare with what the general reader found in a line."""
        return self.wording.confirm(texts, *self.boxes(numbers), None, pair)


class Lines:
    """What was learned from the texts of a file."""

    def __init__(self) -> None:
        self._forms: dict[tuple[str, ...], _Form | None] = {}
        self._pieces: dict[tuple[str, ...], tuple[tuple[str, ...], tuple[str, ...]]] = {}
        self._empty: set[str] = set()

    def hits(self, text: str) -> list[Hit] | None:
        """What a text holds; None if the general reader has to tell."""
        if text in self._empty:
            return []
        if not self._forms or len(text) > _LONGEST or _OTHER.search(text):
            return None
        found: list[Hit] = []
        form = None
        for line in text.split("\n"):
            parts = _NUMBERS.split(line)
            if len(parts) != 17:
                return None
            frame, texts = self._split(tuple(parts[::2]))
            known = self._forms.get(frame)
            if known is None or (form is not None and known is not form):
                return None
            form = known
            said = form.wording.said(texts)
            if said is None:
                return None
            human, thing = form.boxes(list(map(float, parts[1::2])))
            found.append((said, human, thing, nan))
        return found if any(said.counts for said, *_ in found) else None

    def learn(self, text: str, reading: Reading, reply: Reply) -> None:
        """Learn from what the general reader says of a text."""
        if not reading.found and reply.says_none and len(self._empty) < _MOST:
            self._empty.add(text)
        lines = [_NUMBERS.split(line) for line in text.split("\n")]
        if len(text) > _LONGEST or _OTHER.search(text) or any(len(parts) != 17 for parts in lines):
            return
        pairs = [pair for pair in reading.found if isinstance(pair, Pair)]
        is_whole = len(pairs) == len(reading.found) == len(lines) and answer_of(text) == text.strip()
        for i, parts in enumerate(lines):
            frame, texts = self._split(tuple(parts[::2]))
            if frame not in self._forms and len(self._forms) < _MOST and is_whole:
                try:
                    self._forms[frame] = _Form(texts, list(map(float, parts[1::2])), pairs[i])
                except UnfitError:
                    continue
            form = self._forms.get(frame)
            if form is not None and not (is_whole and form.confirm(texts, list(map(float, parts[1::2])), pairs[i])):
                self._forms[frame] = None

    def _split(self, parts: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What a line is written like, and its words."""
        known = self._pieces.get(parts)
        if known is None:
            pieces = [piece for part in parts for piece in (*_PIECES.findall(part), "0")]
            words = tuple(piece for piece in pieces if _WORDS.fullmatch(piece))
            known = tuple("a" if _WORDS.fullmatch(piece) else piece for piece in pieces), words
            self._pieces[parts] = known
        return known


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
    first, *_, last = (text, *text.split())
    kinds = (is_person(text), is_person(text.split()[0]), is_person(last), can_be_verb(first), numberless(text) == text)
    return sum(1 << i for i, is_so in enumerate(kinds) if is_so)
