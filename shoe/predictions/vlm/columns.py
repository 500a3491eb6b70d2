"""Gathers interactions, their images, words and box conventions, as columns."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from shoe.core.arrays import Floats
from shoe.core.errors import InputError, quote
from shoe.core.io.json import shown
from shoe.core.rows import Rows
from shoe.predictions.source import Source
from shoe.predictions.vlm.box_marks import is_person, verb_likeness
from shoe.predictions.vlm.boxes import number_of
from shoe.predictions.vlm.fields import Verb
from shoe.predictions.vlm.images import number_of_image
from shoe.predictions.vlm.keys import meaning
from shoe.predictions.vlm.parsed_reply import Pair, UnreadableError
from shoe.predictions.vlm.words import Interaction, Words, words_of

# Which of several texts of an item is the verb, where their keys say nothing: as it is in most items of the file.
#
# Of one item that cannot be told: "drink" and "hold" are nouns, "train" and "milk" are verbs, and a key means the same
# thing in every item.

_NEARLY_ALL = 0.9


class _Roles(NamedTuple):
    """The key of each role; "" where no text has it."""

    subject: str
    verb: str
    target: str


def are_open(pair: Pair) -> bool:
    """Whether a pair has several texts and nothing that tells which of them is the verb."""
    return len(set(pair.keys)) == len(pair.texts) > 1 and all(pair.keys) and not pair.verbs and not pair.phrase


def decide_role(pairs: Sequence[Pair]) -> list[Pair]:
    """Give the texts of a file's open pairs their roles, by the keys that they stand under."""
    said: dict[frozenset[str], dict[str, set[str]]] = {}
    for pair in pairs:
        columns = said.setdefault(frozenset(pair.keys), {key: set() for key in pair.keys})
        for key, each in zip(pair.keys, pair.texts, strict=True):
            columns[key].add(each)
    roles = {keys: _roles(columns) for keys, columns in said.items()}
    return [_with_roles(pair, roles[frozenset(pair.keys)]) for pair in pairs]


def _roles(columns: dict[str, set[str]]) -> _Roles:
    """Find the roles of keys by the texts under them."""
    people = [key for key, values in columns.items() if sum(map(is_person, values)) >= _NEARLY_ALL * len(values)]
    subject = people[0] if people else ""
    likeness = {key: sum(map(verb_likeness, said)) / len(said) for key, said in columns.items() if key != subject}
    verb = max(likeness, key=lambda key: likeness[key])
    return _Roles(
        subject, verb, min((key for key in likeness if key != verb), key=lambda key: likeness[key], default="")
    )


def _with_roles(pair: Pair, roles: _Roles) -> Pair:
    words = dict(zip(pair.keys, pair.texts, strict=True))
    subject, target = pair.subject or words.get(roles.subject, ""), pair.target or words.get(roles.target, "")
    return pair._replace(subject=subject, target=target, verbs=(Verb(words[roles.verb]),), texts=(), keys=())


# The scale of boxes whose form tells a convention that their numbers may contradict.

_UNIT, _THOUSAND, _LAST, _Y_FIRST, _SCALE_USUAL = "unit", "thousand", 1000, "yxyx", "xyxy"
_SMALL = 800  # sides of images whose pixels tell from thousandths
_SCALE_MANY = 0.02
_SCALE_ENOUGH = 20  # pairs that tell something of all pairs of a file


def by_content(convention: str, boxes: Floats, sides: Floats) -> str:
    """A convention that the form of boxes says, with another scale where their numbers cannot be of that.

    Thousandths are not all below 1, nor beyond 1000; nor do nearly all of them stay below the pixels of small images.

    Args:
        convention: its name.
        boxes: (n, 8) the numbers of both boxes.
        sides: (n, 2) width and height of their images, 0 where not known.
    """
    words = convention.split(",")
    if _THOUSAND not in words or not len(boxes):
        return convention
    rest = [word for word in words if word != _THOUSAND]
    if boxes.max() <= 1:
        return ",".join([_UNIT, *rest])
    small = (sides > 0).all(axis=1) & (sides.max(axis=1) <= _SMALL)
    limits = np.tile(sides[small][:, ::-1] if _Y_FIRST in words else sides[small], 4)
    are_inside = small.sum() >= _SCALE_ENOUGH and (boxes[small] <= limits + 1).all(axis=1).mean() > 1 - _SCALE_MANY
    if are_inside or (boxes.max(axis=1) > _LAST).mean() >= _SCALE_MANY:
        return ",".join(rest) or _SCALE_USUAL
    return convention


# Confidences as models write them: numbers, percent, or words.

WORDS = {
    "certain": 0.95,
    "very high": 0.95,
    "high": 0.9,
    "likely": 0.75,
    "medium": 0.6,
    "moderate": 0.6,
    "low": 0.3,
    "unlikely": 0.2,
    "very low": 0.1,
}
"""What a confidence in words counts as; every report names those that a file has."""
_SHARE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(%|/\s*100?)\s*")


def score_of(value: Any) -> tuple[float | None, str]:
    """Read a confidence.

    Args:
        value: as written.

    Returns:
        the score; NaN where there is none, None where it cannot be read. What was read where it was no plain number:
        "%", "/" or the word.
    """
    if value is None or value == "":
        return np.nan, ""
    number = number_of(value)
    if number is not None:
        return (number if number == number and abs(number) < 1e300 else None), ""
    if isinstance(value, list) and len(value) == 1:
        return score_of(value[0])
    if not isinstance(value, str):
        return None, ""
    if share := _SHARE.fullmatch(value):
        whole = 10.0 if share[2].replace(" ", "") == "/10" else 100.0
        return float(share[1]) / whole, "%" if share[2] == "%" else "/"
    word = " ".join(value.lower().replace("_", " ").replace("-", " ").split())
    return (WORDS[word], word) if word in WORDS else (None, "")


def are_percent(scores: Floats) -> bool:
    """Whether all scores of a file are whole numbers from 1 to 100, some above 10: percent."""
    given = scores[~np.isnan(scores)]
    return bool(len(given)) and bool(given.min() >= 1 and 10 < given.max() <= 100 and (given == np.rint(given)).all())


Numbers = tuple[float, float, float, float]
_NO_SIZE, _NO_ITEM = (0.0, 0.0), -1
_USUAL = "xyxy"
_BINS = "unit"
_MANY = 0.02
_ENOUGH = 20  # pairs that tell something of all pairs of a file
_EXAMPLES = 3
_IN_WORDS = "text, as 'riding'; class numbers are read in the formats qpic, hoidet and mllms"


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
        # Row by row, as arrays: lists of a million Python numbers would take much more memory.
        self._words = array("q")  # verb, object and convention
        self._places = array("q")  # image, record, item, and whether it is of a reply
        self._numbers = array("d")  # both boxes and the score
        self._open: list[tuple[str, int, Pair, int, int | None, bool]] = []
        self._backward: list[tuple[UnreadableError, int, Pair, int, int | None]] = []

    def __len__(self) -> int:
        """How many interactions there are, those included of which :meth:`settle` decides."""
        return len(self._words) // 3 + len(self._backward) + len(self._open)

    def image(self, record_number: int, image: Any, record: dict[Any, Any]) -> int:
        """The index of an image, whose size the record may say.

        Raises:
            UnreadableError: where it is no image's name, or of another size than before.
        """
        if image is None:
            place = self._source.record_name(record_number)
            raise UnreadableError(place, "image", "no such key", "the name of the image")
        number = number_of_image(image)
        try:
            name = self._source.benchmark.image_name(image if number is None else number)
        except ValueError:
            place = self._source.record_name(record_number)
            if isinstance(image, list):
                found, expected = f"{len(image):,} images", "one, or an answer by the name of each"
                raise UnreadableError(place, "image", found, expected) from None
            expected = "a file name" if number is None else "a file name, or the number in that of a test image"
            raise UnreadableError(place, "image", shown(image), expected) from None
        if number is not None:
            self._notes.add("numbered", first=f"{shown(image)} as {name}")
        index = self._images.setdefault(name, len(self._images))
        if index == len(self._sizes):
            self._sizes.append(_NO_SIZE)
        sides = {meaning(key).part: value for key, value in record.items() if value is not None}
        if "width" in sides and "height" in sides:
            place = self._source.record_name(record_number)
            size = (_side(place, sides, "width"), _side(place, sides, "height"))
            if _NO_SIZE not in (size, self._sizes[index]) and size != self._sizes[index]:
                raise UnreadableError(place, "width", f"another size of {quote(name)}", "one size for an image")
            self._sizes[index] = self._sizes[index] if size == _NO_SIZE else size
        return index

    def add_plain(
        self, image: int, verb: str, object_: str, score: float | None, human: Numbers, target: Numbers, record: int
    ) -> None:
        """Add an interaction whose words count as they are."""
        self._add_row(Interaction(verb, object_, None), _USUAL, human, target, np.nan if score is None else score)
        self._places.extend((image, record, _NO_ITEM, False))

    def add_pair(self, place: str, image: int, pair: Pair, record: int, item: int | None, *, loose: bool) -> bool:
        """Add what is said of a pair; tell whether that makes a row, or may.

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
        if are_open(pair):
            self._open.append((place, image, pair, record, item, loose))
            return True
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
            return True
        said = list(words.interactions)
        if words.unparsed:
            said = [Interaction("", "", pair.score)]
        elif not said and not words.denied:
            raise UnreadableError(place, "phrase", quote(pair.phrase), "a verb and an object")
        human, target = (pair.object, pair.human) if words.turned else (pair.human, pair.object)
        named = human.box.convention or target.box.convention
        convention = _USUAL if named is None else str(named)
        for interaction in said:
            score = self._score(place, interaction.score, pair, loose=loose)
            self._add_row(interaction, convention, human.box.numbers, target.box.numbers, score)
            self._places.extend((image, record, _NO_ITEM if item is None else item, loose))
        self._note(words)
        return bool(said)

    def settle(self) -> list[UnreadableError]:
        """Decide what only the whole file tells; return the errors of what is left out.

        That is which of several texts of an item is the verb, and which way round the relations of things to persons
        are: where nearly all relations of a file have a thing first and a person second, that is how it writes them.
        """
        waiting, self._open = self._open, []
        decided = decide_role([pair for _, _, pair, *_ in waiting])
        errors = []
        for (place, image, _, record, item, loose), pair in zip(waiting, decided, strict=True):
            try:
                self.add_pair(place, image, pair, record, item, loose=loose)
            except UnreadableError as unreadable:
                errors.append(unreadable)
        backward, self._backward = self._backward, []
        if len(backward) < _ENOUGH or len(backward) * _MANY < len(self._words) // 3:
            return [*errors, *(error for error, *_ in backward)]
        self._notes.add("exchanged", count=len(backward))
        for error, image, pair, record, item in backward:
            turned = pair._replace(human=pair.object, object=pair.human, subject=pair.target, target=pair.subject)
            self.add_pair(error.place, image, turned, record, item, loose=True)
        return errors

    def rows(self) -> Rows:
        """Put together what was gathered.

        Raises:
            InputError: if no phrase has a verb and an object.
        """
        unparsed = self._notes.examples("unparsed")
        verb, object_, convention = np.array(self._words, np.int64).reshape(-1, 3).T
        image, record, item, loose = np.array(self._places, np.int64).reshape(-1, 4).T
        numbers = np.array(self._numbers, np.float64).reshape(-1, 9)
        boxes, score = numbers[:, :8], numbers[:, 8]
        if unparsed and sum(unparsed.values()) == len(numbers):
            expected = 'a verb and an object, as in "riding a horse"; none of the phrases has them'
            raise InputError(self._source.path, field="phrase", found=quote(next(iter(unparsed))), expected=expected)
        if are_percent(score):
            score = score / 100
            self._notes.add("scores_converted", "1 to 100 as percent", int((~np.isnan(score)).sum()))
        sides = self._sides()[image]
        names = [
            by_content(name, boxes[convention == i], sides[convention == i]) for name, i in self._conventions.items()
        ]

        def place(row: int) -> str:
            said = self._source.record_name(int(record[row]))
            return said if item[row] == _NO_ITEM else f"{said}, {'item' if loose[row] else 'interaction'} {item[row]}"

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
            place=place,
            conventions=names if len(names) > 1 else (),
            convention=convention if len(names) > 1 else None,
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

    def _add_row(
        self, interaction: Interaction, convention: str, human: Numbers, target: Numbers, score: float
    ) -> None:
        verb, object_, _, phrase = interaction
        known = self._verbs, self._objects, self._conventions
        words = (verb, object_, convention)
        self._words.extend([index.setdefault(word, len(index)) for index, word in zip(known, words, strict=True)])
        self._numbers.extend((*human, *target, score))
        if phrase:
            examples = self._notes.phrases.setdefault((verb, object_), [])
            if len(examples) < _EXAMPLES and phrase not in examples:
                examples.append(phrase)

    def _note(self, words: Words) -> None:
        self._notes.add("denied", count=words.denied)
        self._notes.add("turned", count=words.turned)
        for phrase in words.doubtful:
            self._notes.add("doubtful", phrase)
        if words.unparsed:
            self._notes.add("unparsed", words.unparsed)

    def _score(self, place: str, raw: Any, pair: Pair, *, loose: bool) -> float:
        if raw is None and pair.human.box.score is not None and pair.object.box.score is not None:
            return pair.human.box.score * pair.object.box.score
        score, how = score_of(raw)
        if score is None:
            if not loose and raw == raw:  # a NaN is no score in any file, and counted
                raise UnreadableError(place, "score", shown(raw), "a number from -1e300 to 1e300")
            self._notes.add("scores_unread", shown(raw))
            return np.nan
        if how:
            said = {"%": "percent", "/": "shares"}.get(how, f"{quote(how)} as {score:g}")
            self._notes.add("scores_converted", said)
        return score


def _side(place: str, found: dict[str, Any], field: str) -> float:
    value = found[field]
    if type(value) not in (int, float) or not 0 <= value <= 1e9 or value != int(value):
        raise UnreadableError(place, field, shown(value), "pixels")
    return float(value)
