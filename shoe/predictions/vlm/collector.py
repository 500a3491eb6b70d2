"""Collect the interactions of a file, with their images, words, boxes and scores, as columns."""

from array import array
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from shoe.core.arrays import Floats
from shoe.core.errors import InputError, quote
from shoe.core.interactions import Rows
from shoe.core.io.json import describe_value
from shoe.lexicon.text import ALTERNATIVES
from shoe.predictions.field_names import meaning
from shoe.predictions.source import Source
from shoe.predictions.vlm.box_marks import is_person, verb_likeness
from shoe.predictions.vlm.boxes import YES_OR_NO, score_of, verdict_of
from shoe.predictions.vlm.fields import Verb
from shoe.predictions.vlm.images import number_of_image
from shoe.predictions.vlm.parsed_reply import Pair, UnreadableError
from shoe.predictions.vlm.words import Interaction, parse_pair_words

# If keys have no meaning, the verb among several texts of an item is found from all items of the file, because a key
# has the same role in each. One item is ambiguous: "drink" and "hold" are also nouns, "train" and "milk" also verbs.
_TRIPLET = 3


def assign_roles(pairs: Sequence[Pair]) -> list[Pair]:
    """Return pairs with their texts assigned to subject, verb and object, alike for all pairs with the same keys."""
    texts: dict[frozenset[str], dict[str, Counter[str]]] = {}
    for pair in pairs:
        columns = texts.setdefault(frozenset(pair.keys), {key: Counter() for key in pair.keys})
        for key, each in zip(pair.keys, pair.texts, strict=True):
            columns[key][each] += 1
    roles = {keys: _roles(columns) for keys, columns in texts.items()}
    assigned = []
    for pair in pairs:
        words = {"": ""} | dict(zip(pair.keys, pair.texts, strict=True))
        subject, verb, target = (words[key] for key in roles[frozenset(pair.keys)])
        subject, target = pair.subject or subject, pair.target or target
        assigned.append(pair._replace(subject=subject, target=target, verbs=(Verb(verb),), texts=(), keys=()))
    return assigned


def _roles(columns: dict[str, Counter[str]]) -> tuple[str, str, str]:
    """Return the keys of subject, verb and object, given all texts under each key; "" if a role is missing.

    The subject is the first key that mostly has words for persons, else the first of three keys that is not the verb.
    """
    most = (key for key, texts in columns.items() if 2 * sum(map(is_person, texts.elements())) >= texts.total())
    subject = next(most, "")
    likeness = {key: sum(map(verb_likeness, texts)) / len(texts) for key, texts in columns.items() if key != subject}
    verb = max(likeness, key=lambda key: likeness[key])
    if not subject and len(likeness) == _TRIPLET:
        subject = next(key for key in likeness if key != verb)
        del likeness[subject]
    return subject, verb, min((key for key in likeness if key != verb), key=lambda key: likeness[key], default="")


_UNIT, _THOUSAND, _LAST, _Y_FIRST, _DEFAULT = "unit", "thousand", 1000, "yxyx", "xyxy"
_SMALL = 800  # longest side of images whose pixel coordinates differ clearly from thousandths
_MANY = 0.02  # larger fractions of pairs are not mistakes
_ENOUGH = 20  # minimum number of pairs for conclusions about all pairs of a file


def scale_by_content(convention: str, boxes: Floats, sides: Floats) -> str:
    """Return ``convention``; if it says thousandths, but the numbers contradict this, with fractions or pixels instead.

    Fractions are at most 1. Pixels exceed 1000 in at least 2 % of the (n, 8) boxes, or lie inside nearly all small
    images, whose (n, 2) widths and heights are ``sides`` (0 if unknown).
    """
    words = convention.split(",")
    if _THOUSAND not in words or not len(boxes):
        return convention
    rest = [word for word in words if word != _THOUSAND]
    if boxes.max() <= 1:
        return ",".join([_UNIT, *rest])
    small = (sides > 0).all(axis=1) & (sides.max(axis=1) <= _SMALL)
    limits = np.tile(sides[small][:, ::-1] if _Y_FIRST in words else sides[small], 4)
    are_inside = small.sum() >= _ENOUGH and (boxes[small] <= limits + 1).all(axis=1).mean() > 1 - _MANY
    if are_inside or (boxes.max(axis=1) > _LAST).mean() >= _MANY:
        return ",".join(rest) or _DEFAULT
    return convention


def are_percent(scores: Floats) -> bool:
    """Return whether scores are percent: all numbers except NaN are from 1 to 100, and some are above 10."""
    given = scores[~np.isnan(scores)]
    return bool(len(given)) and bool(given.min() >= 1 and 10 < given.max() <= 100)


Numbers = tuple[float, float, float, float]
NO_ITEM, _NO_SIZE = -1, (0.0, 0.0)
_EXAMPLES = 3
_EXPECTED_TEXT = "text, such as 'riding'; only the formats qpic, hoidet and mllms contain class IDs: write labels"


class Origin(NamedTuple):
    """Place in the file from which an interaction comes."""

    image: int  # index of the image
    record: int  # index of the record
    item: int = NO_ITEM  # index among the interactions of the record; NO_ITEM if the record has only one
    loose: bool = True  # whether it comes from a reply of a model, in which an invalid score is no error


class Columns:
    """Collector of the interactions of a file in columns: image, words, boxes and score."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._notes = source.notes
        self._images: dict[str, int] = {}
        self._sizes: list[tuple[float, float]] = []
        self._verbs: dict[str, int] = {}
        self._objects: dict[str, int] = {}
        self._conventions: dict[str, int] = {_DEFAULT: 0}
        # Flat arrays, row by row, because lists of a million Python numbers need much more memory.
        self._words = array("q")  # indices of verb, object and convention
        self._origins = array("q")
        self._numbers = array("d")  # both boxes and the score
        self._deferred: list[tuple[Origin, Pair]] = []
        self._backward: list[tuple[Origin, Pair, UnreadableError]] = []

    def __len__(self) -> int:
        return len(self._words) // 3 + len(self._backward) + len(self._deferred)

    def place(self, origin: Origin) -> str:
        """Return the name of a place in the file for messages, such as "line 3, item 2"."""
        name, kind = self._source.record_name(origin.record), "item" if origin.loose else "interaction"
        return name if origin.item == NO_ITEM else f"{name}, {kind} {origin.item + 1}"

    def image(self, record_number: int, image: Any, record: dict[Any, Any]) -> int:
        """Store a record's image name and size; return the image index. Raise UnreadableError if either is invalid."""
        place = self._source.record_name(record_number)
        if image is None:
            raise UnreadableError(place, "image", "no such key", "the file name of the image")
        number = number_of_image(image)
        try:
            name = self._source.image_name(image if number is None else number)
        except ValueError:
            if isinstance(image, list):
                found, expected = f"{len(image):,} images", "one image, or an answer per image name"
                raise UnreadableError(place, "image", found, expected) from None
            expected = "a file name" if number is None else "a file name, or the number in the name of a test image"
            raise UnreadableError(place, "image", describe_value(image), expected) from None
        if number is not None:
            self._notes.add("numbered", first=f"{describe_value(image)} as {name}")
        index = self._images.setdefault(name, len(self._images))
        if index == len(self._sizes):
            self._sizes.append(_NO_SIZE)
        sides = {meaning(key).part: value for key, value in record.items() if value is not None}
        if "width" in sides and "height" in sides:
            size = (sides["width"], sides["height"])
            for field, value in zip(("width", "height"), size, strict=True):
                if type(value) not in (int, float) or not 0 <= value <= 1e9 or value != int(value):
                    raise UnreadableError(place, field, describe_value(value), "a whole number of pixels")
            if _NO_SIZE not in (size, first := self._sizes[index]) and size != first:
                found = f"the size {size[0]:g} x {size[1]:g} of {quote(name)}"
                raise UnreadableError(place, "width", found, f"{first[0]:g} x {first[1]:g} as in an earlier record")
            self._sizes[index] = self._sizes[index] if size == _NO_SIZE else size
        return index

    def add_plain(
        self, origin: Origin, verb: str, object_: str, score: float | None, human: Numbers, target: Numbers
    ) -> None:
        """Add an interaction whose words are used without parsing."""
        words, number = Interaction(verb, object_, None), np.nan if score is None else score
        self._add_row(origin, words, _DEFAULT, human, target, number)

    def add_pair(self, origin: Origin, pair: Pair) -> bool:
        """Add the interactions of a pair, now or in :meth:`add_deferred`; return False if the words deny all.

        A pair with the verdict "no" is left out, and True is returned. Raises UnreadableError if there are no words,
        the human is not a person, a verdict is neither yes nor no, or a score outside a reply is invalid.
        """
        place = self.place(origin)
        for key, value in pair.verdicts:
            if (verdict := verdict_of(value)) is None:
                raise UnreadableError(place, key, describe_value(value), YES_OR_NO)
            if not verdict:
                self._notes.add("denied", key)
                return True
        is_open = len(set(pair.keys)) == len(pair.texts) > 1 and all(pair.keys)
        if is_open and not pair.verbs and not pair.phrase:  # any of the texts may be the verb
            self._deferred.append((origin, pair))
            return True
        if ALTERNATIVES in pair.target and not self._notes.count("alternatives"):
            self._notes.set_examples("alternatives", pair.target.split(ALTERNATIVES))
        words = parse_pair_words(pair)
        if words is None:
            part, value = pair.invalid_word or ("phrase", None)
            expected = "a phrase, or a verb and an object" if value is None else "text"
            found = "no such key" if pair.invalid_word is None else describe_value(value)
            raise UnreadableError(place, part, found, _EXPECTED_TEXT if type(value) in (int, float) else expected)
        if words.thing_relation:
            error = UnreadableError(place, "subject", quote(words.thing_relation), "a person")
            if not is_person(pair.target):
                raise error
            self._backward.append((origin, pair, error))
            return True
        interactions = list(words.interactions)
        if pair.target and words.unparsed in self._source.benchmark.actions.names:  # V-COCO's "skateboard, skateboard"
            interactions, words = [Interaction(words.unparsed, pair.target, pair.score)], words._replace(unparsed="")
        elif words.unparsed:
            interactions = [Interaction("", "", pair.score)]
        elif not interactions and not words.denied:
            raise UnreadableError(place, "phrase", quote(pair.phrase), "a verb and an object")
        stated = pair.human.box.convention or pair.object.box.convention
        convention_name = _DEFAULT if stated is None else str(stated)
        for interaction in interactions:
            human, target = (pair.object, pair.human) if interaction.turned else (pair.human, pair.object)
            score = self._score(place, interaction.score, pair, loose=origin.loose)
            self._add_row(origin, interaction, convention_name, human.box.numbers, target.box.numbers, score)
        self._notes.add("denied", count=words.denied)
        self._notes.add("turned", count=any(interaction.turned for interaction in words.interactions))
        for phrase in words.doubtful:
            self._notes.add("doubtful", phrase)
        if words.unparsed:
            self._notes.add("unparsed", words.unparsed)
        return bool(interactions)

    def add_deferred(self) -> list[UnreadableError]:
        """Add the pairs that :meth:`add_pair` deferred; return the errors of pairs that are left out.

        Deferred are pairs with several texts under unknown keys, and relations from a thing to a person. Such relations
        are reversed if there are at least 20, and they are nearly all pairs of the file; otherwise left out.
        """
        undecided, self._deferred = self._deferred, []
        errors = []
        pairs = assign_roles([pair for _, pair in undecided])
        for (origin, _), pair in zip(undecided, pairs, strict=True):
            try:
                self.add_pair(origin, pair)
            except UnreadableError as unreadable:
                errors.append(unreadable)
        backward, self._backward = self._backward, []
        if len(backward) < _ENOUGH or len(backward) * _MANY < len(self._words) // 3:
            return [*errors, *(error for *_, error in backward)]
        self._notes.add("exchanged", count=len(backward))
        for origin, pair, _ in backward:
            swapped = pair._replace(human=pair.object, object=pair.human, subject=pair.target, target=pair.subject)
            self.add_pair(origin._replace(loose=True), swapped)
        return errors

    def count_shared(self, parts: Sequence[Sequence[int]], key: str) -> int:
        """Return the number of pairs of boxes (with equal words if ``key`` is an ID) in several lists of records."""
        origins, words = (
            np.array(a, np.int64).reshape(len(self._words) // 3, -1) for a in (self._origins, self._words)
        )
        part = {number: i for i, numbers in enumerate(parts) for number in numbers}
        boxes = np.array(self._numbers, np.float64).reshape(-1, 9)[:, :8]
        same = np.column_stack([origins[:, :1], boxes, words[:, :2] if meaning(key).part == "id" else words[:, :0]])
        index = np.unique(same, axis=0, return_inverse=True)[1].ravel().tolist()
        found = {(i, part[record]) for i, record in zip(index, origins[:, 1].tolist(), strict=True) if record in part}
        return sum(count > 1 for count in Counter(i for i, _ in found).values())

    def rows(self) -> Rows:
        """Return the rows, with scores as fractions and box scales checked. InputError if no phrase can be parsed."""
        unparsed = self._notes.examples("unparsed")
        verb, object_, convention = np.array(self._words, np.int64).reshape(-1, 3).T
        origins = np.array(self._origins, np.int64).reshape(-1, 4)
        image, _, _, loose = origins.T
        numbers = np.array(self._numbers, np.float64).reshape(-1, 9)
        boxes, score = numbers[:, :8], numbers[:, 8]
        if unparsed and sum(unparsed.values()) == len(numbers):
            expected = 'a verb and an object, as in "riding a horse"; none of the phrases has them'
            raise InputError(self._source.path, field="phrase", found=quote(next(iter(unparsed))), expected=expected)
        if are_percent(score):
            score = score / 100
            self._notes.add("scores_converted", "1 to 100 as percent", int((~np.isnan(score)).sum()))
        known = self._source.sizes or {}  # for images without a size in the file
        images = zip(self._images, self._sizes, strict=True)
        sizes = [size if size != _NO_SIZE else known.get(name, size) for name, size in images]
        sides = np.array(sizes, np.float64).reshape(-1, 2)[image]
        each = ((name, convention == i) for name, i in self._conventions.items())
        names = [scale_by_content(name, boxes[rows], sides[rows]) for name, rows in each]
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
            place=lambda row: self.place(Origin(*origins[row].tolist())),
            conventions=names if len(names) > 1 else (),
            convention=convention if len(names) > 1 else None,
            fixed=[self._conventions[_UNIT]] if _UNIT in self._conventions else (),
        )

    def _add_row(
        self, origin: Origin, parsed: Interaction, convention: str, human: Numbers, target: Numbers, score: float
    ) -> None:
        verb, object_, _, phrase, _ = parsed
        words = ((self._verbs, verb), (self._objects, object_), (self._conventions, convention))
        self._words.extend([index.setdefault(word, len(index)) for index, word in words])
        self._numbers.extend((*human, *target, score))
        self._origins.extend(origin)
        if phrase:
            examples = self._notes.phrases.setdefault((verb, object_), [])
            if len(examples) < _EXAMPLES and phrase not in examples:
                examples.append(phrase)

    def _score(self, place: str, raw: Any, pair: Pair, *, loose: bool) -> float:
        if raw is None and pair.human.box.score is not None and pair.object.box.score is not None:
            return pair.human.box.score * pair.object.box.score
        score, form = score_of(raw)
        if score is None:
            if not loose and raw == raw:  # NaN means no score in all formats
                raise UnreadableError(place, "score", describe_value(raw), "a number from -1e300 to 1e300")
            self._notes.add("scores_unread", describe_value(raw))
            return np.nan
        if form:
            converted = {"%": "percent", "/": "shares"}.get(form, f"{quote(form)} as {score:g}")
            self._notes.add("scores_converted", converted)
        return score
