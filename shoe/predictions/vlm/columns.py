"""Gathers the interactions of records one by one, and says what could not be read."""

from __future__ import annotations

from itertools import chain
from typing import Any

import msgspec
import numpy as np

from shoe.core.errors import InputError, quote
from shoe.core.rows import Rows
from shoe.io.typed import shown
from shoe.predictions.boxes import Convention
from shoe.predictions.source import Source
from shoe.predictions.vlm import scores
from shoe.predictions.vlm.answers import read_answer, said_outside
from shoe.predictions.vlm.errors import UnreadableError
from shoe.predictions.vlm.fields import Fields
from shoe.predictions.vlm.items import Pair, Problem, interactions_in
from shoe.predictions.vlm.keys import meaning
from shoe.predictions.vlm.marks import has_points
from shoe.predictions.vlm.quick import Quick
from shoe.predictions.vlm.records import NOTHING, record_of
from shoe.predictions.vlm.wordings import Hit, Said
from shoe.predictions.vlm.words import Interaction, Words, words_of

_ITEMS = "a list of items with human_box, object_box, verb and object"
_NO_SIZE = (0.0, 0.0)
_MOST_KEYS = 6
_USUAL = "xyxy"
_BINS = "unit"


class _Plain(msgspec.Struct, forbid_unknown_fields=True):
    """An interaction as shoe writes it."""

    image: str | int
    human_box: tuple[float, float, float, float]
    object_box: tuple[float, float, float, float]
    verb: str
    object: str
    score: float | None = None
    width: float | None = None
    height: float | None = None


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
        self._first_cut: UnreadableError | None = None
        self._first_empty: UnreadableError | None = None
        self._useless = 0
        self._quick = Quick()
        self._known_images: dict[tuple[Any, ...], int] = {}
        self._keys: dict[str, None] = {}

    def add(self, number: int, record: Any) -> None:
        """Take a record, whatever it holds: an interaction, an image's list of them, or a raw reply."""
        if self._add_known(record, number):
            return
        place = self._source.record_name(number)
        if self._add_plain(place, record, number):
            return
        if not isinstance(record, dict):
            raise UnreadableError(place, None, shown(record), "an object")
        opened = record_of(record)
        image = self._image_index(place, opened.image, record)
        outer = {key: value for key, value in opened.outer.items() if meaning(key).part not in ("image",)}
        self._quick.learn_opening(record, opened)
        if opened.answer is NOTHING:
            self._add_structured(place, image, outer, number)
        else:
            self._add_reply(place, image, opened.answer, said_outside(outer), number)

    def rows(self) -> Rows:
        """Put together what was gathered; a file whose replies or phrases are mostly of no use is refused."""
        self._check_replies()
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
            conventions=list(self._conventions) if named else (),
            convention=convention if named else None,
            fixed=[self._conventions[_BINS]] if _BINS in self._conventions else (),
        )

    def _place(self, row: int) -> str:
        *_, loose, record, item, _convention = self._rows[row]
        name = self._source.record_name(record)
        return name if item < 0 else f"{name}, {'item' if loose else 'interaction'} {item}"

    def _image_index(self, place: str, image: Any, record: dict[Any, Any]) -> int:
        if image is None:
            raise UnreadableError(place, "image", "no such key", "the name of the image")
        try:
            name = self._source.benchmark.image_name(
                int(image) if type(image) is float and image.is_integer() else image
            )
        except ValueError:
            expected = "a file name, or the number of a test image"
            raise UnreadableError(place, "image", shown(image), expected) from None
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

    def _add_known(self, record: Any, number: int) -> bool:
        """Take a record with the keys of one before it; tell whether it was one that leaves nothing to decide."""
        opened = self._quick.open(record)
        if opened is None:
            return False
        named, answer = opened
        image = self._known_images.get(named)
        if image is None:
            image = self._image_index(self._source.record_name(number), named[0], record)
            self._known_images[named] = image
        hits = self._quick.hits(answer)
        if hits is None:
            self._add_reply(self._source.record_name(number), image, answer, Fields(), number)
        else:
            self._notes.replies += 1
            self._add_hits(image, hits, number)
        return True

    def _add_hits(self, image: int, hits: list[Hit], number: int) -> None:
        """Take what stood at known places of a reply."""
        for i, (said, human, thing, score) in enumerate(hits):
            if said.convention_index < 0:
                self._number(said)
            if said.is_noted:
                self._note(said.words)
                human, thing = (thing, human) if said.words.turned else (human, thing)
            for verb, object_ in said.rows:
                self._rows.append((image, verb, object_, score, True, number, i, said.convention_index))
                self._boxes.append(human + thing)

    def _number(self, said: Said) -> None:
        """Give known words their numbers in the columns."""
        said.convention_index = self._convention_index(said.convention)
        words = [("", "")] if said.words.unparsed else [(word.verb, word.object) for word in said.words.interactions]
        said.rows = tuple(
            (self._verbs.setdefault(verb, len(self._verbs)), self._objects.setdefault(object_, len(self._objects)))
            for verb, object_ in words
        )

    def _note(self, words: Words) -> None:
        self._notes.denied += words.denied
        self._notes.turned += words.turned
        for phrase in words.doubtful:
            self._notes.doubtful[phrase] = self._notes.doubtful.get(phrase, 0) + 1
        if words.unparsed:
            self._notes.unparsed[words.unparsed] = self._notes.unparsed.get(words.unparsed, 0) + 1

    def _convention_index(self, named: Convention | None) -> int:
        return self._conventions.setdefault(_USUAL if named is None else str(named), len(self._conventions))

    def _add_plain(self, place: str, record: Any, number: int) -> bool:
        """Take a record as shoe writes it, whose words count as they are; tell whether it is one."""
        try:
            plain = msgspec.convert(record, _Plain)
        except msgspec.ValidationError:
            return False
        if " and " in plain.verb:
            return False
        image = self._image_index(place, plain.image, record)
        score = np.nan if plain.score is None else plain.score
        self._append(image, plain.verb, plain.object, score, False, number, -1, 0)
        self._boxes.append(plain.human_box + plain.object_box)
        return True

    def _append(self, image: int, verb: str, object_: str, *rest: Any) -> None:
        verb_index = self._verbs.setdefault(verb, len(self._verbs))
        self._rows.append((image, verb_index, self._objects.setdefault(object_, len(self._objects)), *rest))

    def _add_structured(self, place: str, image: int, record: dict[Any, Any], number: int) -> None:
        """Take what a tool wrote; what cannot be read is an error."""
        reading = interactions_in([record])
        if reading.problems:
            problem = reading.problems[0]
            raise UnreadableError(place, problem.cause, problem.found, problem.expected)
        if not reading.pairs and not reading.says_none:
            found = ", ".join(map(quote, list(reading.keys)[:_MOST_KEYS])) or "no known key"
            raise UnreadableError(place, None, found, "an interaction: two boxes and words for what is done")
        is_one = len(reading.pairs) == 1 and not any(
            isinstance(v, list) and v and isinstance(v[0], dict) for v in record.values()
        )
        for i, pair in enumerate(reading.pairs):
            where = place if is_one else f"{place}: interaction {i}"
            self._add_pair(where, image, pair, number, -1 if is_one else i, loose=False)

    def _add_reply(self, place: str, image: int, answer: Any, around: Fields, number: int) -> None:
        self._notes.replies += 1
        before = len(self._rows), sum(self._notes.items_cut.values())
        reading, reply = read_answer(answer, around)
        if isinstance(answer, str) and around == Fields():
            self._quick.learn(answer, reading, reply)
        self._notes.replies_fixed += reply.fixed
        self._notes.drafts += bool(reply.drafts)
        for i, item in enumerate(reading.found):
            where = f"{place}, item {i}"
            try:
                if isinstance(item, Problem):
                    raise UnreadableError(where, item.cause, item.found, item.expected)
                self._add_pair(where, image, item, number, i, loose=True)
            except UnreadableError as error:
                self._cut(error, error.field or "item")
        if reply.lost:
            self._cut(UnreadableError(place, "response", "an incomplete item", _ITEMS), "incomplete", reply.lost)
        if len(self._rows) > before[0] or reading.says_none or reply.says_none:
            return
        self._useless += 1
        if sum(self._notes.items_cut.values()) > before[1]:
            return
        self._keys.update(reading.keys)
        found = "items with one box each" if reading.single else shown(answer)
        found = "points" if reading.is_points or has_points(reply.text) else found
        empty = UnreadableError(place, "response", found, _ITEMS)
        self._first_empty = self._first_empty or empty
        if reading.keys:
            self._notes.replies_other += 1
            self._notes.keys_seen = self._keys_shown()
            self._notes.first_other = self._notes.first_other or str(empty)
        else:
            self._notes.replies_empty += 1
            self._notes.first_empty = self._notes.first_empty or str(empty)

    def _add_pair(self, place: str, image: int, pair: Pair, record: int, item: int, *, loose: bool) -> None:
        words = words_of(pair)
        if words is None:
            part, value = pair.wrong or ("phrase", None)
            found, expected = "no such key" if pair.wrong is None else shown(value), "a phrase, or a verb and an object"
            raise UnreadableError(place, part, found, "text" if value is not None else expected)
        if words.no_person:
            error = UnreadableError(place, "relation", quote(words.no_person), "a person as its subject")
            self._cut(error, "subject is no person")
            return
        self._note(words)
        human, target = (pair.object, pair.human) if words.turned else (pair.human, pair.object)
        boxes = human.box.numbers + target.box.numbers
        named = human.box.convention or target.box.convention
        convention = self._convention_index(named)
        said = list(words.interactions)
        if words.unparsed:
            said = [Interaction("", "", pair.score)]
        for verb, object_, raw in said:
            score = self._score(place, raw, pair, loose=loose)
            self._append(image, verb, object_, score, loose, record, item, convention)
            self._boxes.append(boxes)

    def _score(self, place: str, raw: Any, pair: Pair, *, loose: bool) -> float:
        if raw is None and pair.human.box.score is not None and pair.object.box.score is not None:
            return pair.human.box.score * pair.object.box.score
        score, how = scores.score_of(raw)
        if score is None:
            if not loose:
                raise UnreadableError(place, "score", shown(raw), "a number")
            self._notes.scores_unread[shown(raw)] = self._notes.scores_unread.get(shown(raw), 0) + 1
            return np.nan
        if how:
            said = {"%": "percent", "/": "shares"}.get(how, f"{quote(how)} as {score:g}")
            self._notes.scores_read[said] = self._notes.scores_read.get(said, 0) + 1
        return score

    def _cut(self, error: UnreadableError, cause: str, count: int = 1) -> None:
        self._notes.items_cut[cause] = self._notes.items_cut.get(cause, 0) + count
        if self._first_cut is None:
            self._first_cut, self._notes.first_cut = error, str(error)

    def _check_replies(self) -> None:
        """Refuse a file most of whose replies hold nothing that can be read."""
        notes = self._notes
        if not self._useless or (self._rows and 2 * self._useless <= notes.replies):
            return
        figures = f"{self._useless:,} of {notes.replies:,} replies hold no interaction that can be read"
        if self._keys:
            figures += f"; keys seen: {', '.join(self._keys_shown())}"
        error = self._first_cut or self._first_empty
        if error is not None:
            raise error.for_user(self._source, figures)

    def _keys_shown(self) -> list[str]:
        return list(self._keys)[:_MOST_KEYS]


def _side(place: str, found: dict[str, Any], field: str) -> float:
    value = found[field]
    if type(value) not in (int, float) or not 0 <= value <= 1e9 or value != int(value):
        raise UnreadableError(place, field, shown(value), "pixels")
    return float(value)
