"""Gathers interactions, their images, words and box conventions, as columns."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from shoe.core.arrays import Floats
from shoe.core.errors import InputError, quote
from shoe.core.rows import Rows
from shoe.io.typed import shown
from shoe.predictions.source import Source
from shoe.predictions.vlm import roles, scores
from shoe.predictions.vlm.errors import UnreadableError
from shoe.predictions.vlm.found import Pair
from shoe.predictions.vlm.images import number_of_image
from shoe.predictions.vlm.keys import meaning
from shoe.predictions.vlm.persons import is_person
from shoe.predictions.vlm.scales import by_content
from shoe.predictions.vlm.wordings import Hit, Said
from shoe.predictions.vlm.words import Interaction, Words, words_of

_NO_SIZE = (0.0, 0.0)
_USUAL = "xyxy"
_BINS = "unit"
_MANY = 0.02
_ENOUGH = 20  # pairs that tell something of all pairs of a file
_NO_ITEM = -1
_EXAMPLES = 3
_IN_WORDS = "text, as 'riding'; class numbers are read in the formats qpic, hoidet and mllms"
_NO_WORDS = (Interaction("", "", None),)


class Columns:
    """The interactions of a file, as columns."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._notes = source.notes
        self._images: dict[str, int] = {}
        self._sizes: list[tuple[float, float]] = []
        self._verbs: dict[str, int] = {}
        self._objects: dict[str, int] = {}
        self._conventions: dict[str, int] = {_USUAL: 0}
        # image, verb, object, score, loose, record, item, convention
        self._rows: list[tuple[int, int, int, float, bool, int, int, int]] = []
        self._boxes: list[tuple[float, ...]] = []
        self._open: list[tuple[str, int, Pair, int, int | None, bool]] = []
        self._backward: list[tuple[UnreadableError, int, Pair, int, int | None]] = []

    def __len__(self) -> int:
        """How many interactions there are, those included of which :meth:`settle` decides."""
        return len(self._rows) + len(self._backward) + len(self._open)

    def image(self, place: str, image: Any, record: dict[Any, Any]) -> int:
        """The index of an image, whose size the record may say.

        Raises:
            UnreadableError: where it is no image's name, or of another size than before.
        """
        if image is None:
            raise UnreadableError(place, "image", "no such key", "the name of the image")
        number = number_of_image(image)
        try:
            name = self._source.benchmark.image_name(image if number is None else number)
        except ValueError:
            if isinstance(image, list):
                found, expected = f"{len(image):,} images", "one, or an answer by the name of each"
                raise UnreadableError(place, "image", found, expected) from None
            expected = "a file name" if number is None else "a file name, or the number in that of a test image"
            raise UnreadableError(place, "image", shown(image), expected) from None
        if number is not None:
            self._notes.numbered = self._notes.numbered or (shown(image), name)
        sides = {meaning(key).part: value for key, value in record.items() if value is not None}
        size = _NO_SIZE
        if "width" in sides and "height" in sides:
            size = (_side(place, sides, "width"), _side(place, sides, "height"))
        index = self._images.setdefault(name, len(self._images))
        if index == len(self._sizes):
            self._sizes.append(size)
        elif size != _NO_SIZE:
            if self._sizes[index] not in (_NO_SIZE, size):
                raise UnreadableError(place, "width", f"another size of {quote(name)}", "one size for an image")
            self._sizes[index] = size
        return index

    def add_plain(self, image: int, verb: str, object_: str, score: float | None, boxes: Any, record: int) -> None:
        """Add an interaction whose words count as they are."""
        self._append(image, verb, object_, np.nan if score is None else score, False, record, _NO_ITEM, 0)
        self._boxes.append(boxes)

    def add_hits(self, image: int, hits: list[Hit], record: int, *, loose: bool = True) -> None:
        """Add what stood at known places of a reply, or of a record that is one item."""
        rows, boxes = self._rows, self._boxes
        for item, (said, human, thing, score) in enumerate(hits):
            if said.convention_index < 0:
                self._number(said)
            if said.is_noted:
                self._note(said.words)
                human, thing = (thing, human) if said.words.turned else (human, thing)
            number, convention = item if loose else _NO_ITEM, said.convention_index
            for verb, object_ in said.rows:
                rows.append((image, verb, object_, score, loose, record, number, convention))
                boxes += (human, thing)

    def add_pair(self, place: str, image: int, pair: Pair, record: int, item: int | None, *, loose: bool) -> None:
        """Add what is said of a pair.

        Args:
            place: names the pair in a message.
            image: index of its image.
            pair: the boxes and words.
            record: number of its record.
            item: its number in the record; None where the record is the item.
            loose: whether it is of a reply, of which what cannot be read is left out.

        Raises:
            UnreadableError: where there are no words, or the human is no person.
        """
        if roles.are_open(pair):
            self._open.append((place, image, pair, record, item, loose))
            return
        words = words_of(pair)
        if words is None:
            part, value = pair.wrong or ("phrase", None)
            expected = "a phrase, or a verb and an object" if value is None else "text"
            raise UnreadableError(
                place,
                part,
                "no such key" if pair.wrong is None else shown(value),
                _IN_WORDS if type(value) in (int, float) else expected,
            )
        if words.no_person:
            error = UnreadableError(place, "subject", quote(words.no_person), "a person")
            if not is_person(pair.target):
                raise error
            self._backward.append((error, image, pair, record, item))
            return
        said = list(words.interactions)
        if words.unparsed:
            said = [Interaction("", "", pair.score)]
        elif not said and not words.denied:
            raise UnreadableError(place, "phrase", quote(pair.phrase), "a verb and an object")
        human, target = (pair.object, pair.human) if words.turned else (pair.human, pair.object)
        boxes = human.box.numbers + target.box.numbers
        named = human.box.convention or target.box.convention
        convention = self._convention_index(None if named is None else str(named))
        for verb, object_, raw, phrase in said:
            if phrase:
                self._remember(verb, object_, phrase)
            score = self._score(place, raw, pair, loose=loose)
            number = _NO_ITEM if item is None else item
            self._append(image, verb, object_, score, loose, record, number, convention)
            self._boxes.append(boxes)
        self._note(words)

    def settle(self) -> list[UnreadableError]:
        """Decide what only the whole file tells; return the errors of what is left out.

        That is which of several texts of an item is the verb, and which way round the relations of things to persons
        are: where nearly all relations of a file have a thing first and a person second, that is how it writes them.
        """
        waiting, self._open = self._open, []
        decided = roles.decided([pair for _, _, pair, *_ in waiting])
        errors = []
        for (place, image, _, record, item, loose), pair in zip(waiting, decided, strict=True):
            try:
                self.add_pair(place, image, pair, record, item, loose=loose)
            except UnreadableError as unreadable:
                errors.append(unreadable)
        backward, self._backward = self._backward, []
        if len(backward) < _ENOUGH or len(backward) * _MANY < len(self._rows):
            return [*errors, *(error for error, *_ in backward)]
        self._notes.exchanged = len(backward)
        for error, image, pair, record, item in backward:
            turned = pair._replace(human=pair.object, object=pair.human, subject=pair.target, target=pair.subject)
            self.add_pair(error.place, image, turned, record, item, loose=True)
        return errors

    def rows(self) -> Rows:
        """Put together what was gathered.

        Raises:
            InputError: if no phrase has a verb and an object.
        """
        unparsed = self._notes.unparsed
        if unparsed and sum(unparsed.values()) == len(self._rows):
            expected = 'a verb and an object, as in "riding a horse"; none of the phrases has them'
            raise InputError(self._source.path, field="phrase", found=quote(next(iter(unparsed))), expected=expected)
        boxes = np.fromiter(chain.from_iterable(self._boxes), np.float64).reshape(-1, 8)
        columns = np.fromiter(chain.from_iterable(self._rows), np.float64).reshape(-1, 8)
        image, verb, object_, loose, convention = (columns[:, i].astype(np.int64) for i in (0, 1, 2, 4, 7))
        score = columns[:, 3]
        if scores.are_percent(score):
            score = score / 100
            self._notes.scores_read["1 to 100 as percent"] = int((~np.isnan(score)).sum())
        named = bool(convention.any())
        sides = self._sides()[image]
        names = [
            by_content(name, boxes[convention == i], sides[convention == i]) for name, i in self._conventions.items()
        ]
        return Rows(
            images=list(self._images),
            image=image,
            human_boxes=boxes[:, :4],
            object_boxes=boxes[:, 4:],
            verbs=list(self._verbs),
            objects=list(self._objects),
            verb=verb,
            object=object_,
            score=score,
            sizes=np.array(self._sizes, np.float64).reshape(-1, 2),
            loose=loose.astype(bool) if loose.any() else None,
            place=self._place,
            conventions=names if named else (),
            convention=convention if named else None,
            fixed=[self._conventions[_BINS]] if _BINS in self._conventions else (),
        )

    def _sides(self) -> Floats:
        """(m, 2) width and height of the images, from the file, else from elsewhere; else 0."""
        known = self._source.sizes or {}
        sides = [
            size if size != _NO_SIZE else known.get(name, size)
            for name, size in zip(self._images, self._sizes, strict=True)
        ]
        return np.array(sides, np.float64).reshape(-1, 2)

    def _append(self, image: int, verb: str, object_: str, *rest: Any) -> None:
        verb_index = self._verbs.setdefault(verb, len(self._verbs))
        self._rows.append((image, verb_index, self._objects.setdefault(object_, len(self._objects)), *rest))

    def _remember(self, verb: str, object_: str, phrase: str) -> None:
        """Note a phrase that was read as these words; some examples are enough."""
        examples = self._notes.phrases.setdefault((verb, object_), [])
        if len(examples) < _EXAMPLES and phrase not in examples:
            examples.append(phrase)

    def _number(self, said: Said) -> None:
        """Give known words their numbers in the columns."""
        said.convention_index = self._convention_index(said.convention)
        verbs, objects = self._verbs, self._objects
        for verb, object_, _, phrase in _NO_WORDS if said.words.unparsed else said.words.interactions:
            if phrase:
                self._remember(verb, object_, phrase)
            said.rows.append((verbs.setdefault(verb, len(verbs)), objects.setdefault(object_, len(objects))))

    def _convention_index(self, name: str | None) -> int:
        return self._conventions.setdefault(name or _USUAL, len(self._conventions))

    def _place(self, row: int) -> str:
        *_, loose, record, item, _convention = self._rows[row]
        name = self._source.record_name(record)
        return name if item < 0 else f"{name}, {'item' if loose else 'interaction'} {item}"

    def _note(self, words: Words) -> None:
        self._notes.denied += words.denied
        self._notes.turned += words.turned
        for phrase in words.doubtful:
            self._notes.doubtful[phrase] = self._notes.doubtful.get(phrase, 0) + 1
        if words.unparsed:
            self._notes.unparsed[words.unparsed] = self._notes.unparsed.get(words.unparsed, 0) + 1

    def _score(self, place: str, raw: Any, pair: Pair, *, loose: bool) -> float:
        if raw is None and pair.human.box.score is not None and pair.object.box.score is not None:
            return pair.human.box.score * pair.object.box.score
        score, how = scores.score_of(raw)
        if score is None:
            if not loose and raw == raw:  # a NaN is no score in any file, and counted
                raise UnreadableError(place, "score", shown(raw), "a number from -1e300 to 1e300")
            self._notes.scores_unread[shown(raw)] = self._notes.scores_unread.get(shown(raw), 0) + 1
            return np.nan
        if how:
            said = {"%": "percent", "/": "shares"}.get(how, f"{quote(how)} as {score:g}")
            self._notes.scores_read[said] = self._notes.scores_read.get(said, 0) + 1
        return score


def _side(place: str, found: dict[str, Any], field: str) -> float:
    value = found[field]
    if type(value) not in (int, float) or not 0 <= value <= 1e9 or value != int(value):
        raise UnreadableError(place, field, shown(value), "pixels")
    return float(value)
