"""Reads the records of a file one by one: an interaction, an image's list of them, or a raw reply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from shoe.core.errors import InputError, quote
from shoe.core.io.json import shown
from shoe.core.rows import Rows
from shoe.predictions.notes import ReadNotes
from shoe.predictions.source import Source
from shoe.predictions.vlm.answers import Answer, grounded_beside, likeliest, said_outside
from shoe.predictions.vlm.box_marks import has_points
from shoe.predictions.vlm.boxes import box_of
from shoe.predictions.vlm.columns import Columns
from shoe.predictions.vlm.fields import Fields
from shoe.predictions.vlm.images import has_own_image, image_of, is_file_name, is_image_key, names_file, plain
from shoe.predictions.vlm.items import interactions_in
from shoe.predictions.vlm.keys import ANSWERS, BESIDE_BOXES, CHATS, REFUSALS, is_asked, is_truth, meaning
from shoe.predictions.vlm.parsed_reply import Problem, UnreadableError
from shoe.predictions.vlm.replies import (
    Opened,
    Reply,
    answer_of,
    holds_box,
    is_chat,
    opened,
    opened_beside,
    parsed,
    refuses,
    reply_of,
    says_none,
)
from shoe.predictions.vlm.words import words_of

# Counts what could not be read of a file, and refuses the file where that is most of it.

ITEMS = "a list of items with human_box, object_box, verb and object"
_MOST_NAMED_KEYS = 6
_MOST = 3  # kinds of unread replies that are shown beside the first


class Tally:
    """What was lost on the way, by cause; the first of each cause is kept for the message."""

    def __init__(self, notes: ReadNotes) -> None:
        self._notes = notes
        self._first_cut: UnreadableError | None = None
        self._first_unread: UnreadableError | None = None
        self._first_failed: UnreadableError | None = None
        self._first_refused: UnreadableError | None = None
        self._first_said = ""
        self._keys: dict[str, None] = {}
        self._none: list[dict[Any, Any]] = []

    def cut_item(self, error: UnreadableError, cause: str = "", count: int = 1) -> None:
        """Count items that were left out."""
        self._notes.add("left_out", cause or error.field or "item", count, first=str(error))
        self._first_cut = self._first_cut or error

    def failed(self, place: str, error: str) -> None:
        """Count a record that holds an error, or that the model would not answer, instead of an answer."""
        if plain(error) in REFUSALS:
            self.refused(place, error)
            return
        self._notes.add("failed", error)
        self._first_failed = self._first_failed or UnreadableError(place, "error", shown(error), "an answer")

    def refused(self, place: str, said: str) -> None:
        """Count a reply in which the model refuses to answer: it predicts nothing."""
        self._notes.add("refused", first=said)
        self._first_refused = self._first_refused or UnreadableError(place, "response", shown(said), "an answer")

    def unread(self, place: str, answer: Answer, *, has_cut: bool) -> None:
        """Count a reply of which nothing was read and that does not say that there is nothing."""
        if has_cut:  # which is said of its items
            self._notes.add("unread")
            return
        self._keys.update(answer.reading.keys)
        self._notes.set_examples("keys_seen", list(self._keys)[:_MOST_NAMED_KEYS])
        found = "items with one box each" if answer.reading.single else shown(answer.said)
        found = "points" if answer.reading.is_points or has_points(answer.reply.text) else found
        if self._first_unread is None:
            self._first_unread = UnreadableError(place, "response", found, ITEMS)
            self._notes.add("unread", first=str(self._first_unread))
            self._first_said = found
            return
        besides = self._notes.examples("unread")
        is_new = found not in (self._first_said, *besides) and len(besides) <= _MOST
        self._notes.add("unread", found if is_new else "")

    def none(self, said: Any, record: dict[Any, Any]) -> None:
        """Count a reply, and its record, that says that there is no interaction."""
        self._none.append(record)
        in_words = isinstance(said, str) and said[:1].isalpha() and says_none(said)
        self._notes.add("none", said if in_words else "")

    def check(self, source: Source, triplets: int) -> None:
        """Refuse a file most of whose replies hold nothing that can be read.

        Raises:
            InputError: saying how many, and what the first of them is.
        """
        notes = self._notes
        useless = notes.count("unread") + notes.count("failed")
        is_none = not triplets and notes.count("none") == notes.replies
        if is_none and (truth := next(filter(None, map(_truth_key, self._none)), "")):
            found = f"no interaction in any reply; what stands under {truth!r} is ground truth, not predictions"
            raise InputError(source.path, found=found, expected=ITEMS)
        if not triplets:
            useless += notes.count("refused")
        error = self._first_cut or self._first_unread or self._first_failed or self._first_refused
        if error is None or (triplets and 2 * useless <= notes.replies):
            return
        lines = (notes.sentence(code, brief=True) for code in ("refused", "unread", "failed"))
        raise error.for_user(source, "; ".join(filter(None, lines)))


def _truth_key(record: dict[Any, Any]) -> str:
    """The key of a record that holds what would be right; "" if there is none."""
    held = (key for key, value in record.items() if is_truth(key, value))
    return next((str(key) for key in held if isinstance(record[key], str) or holds_box(record[key])), "")


# What each record of a file says: its image, what may be the model's answer, and what stands beside it.

_DEEPEST = 12


@dataclass(slots=True)
class Record:
    """One record of a file.

    Attributes:
        image: what it calls the image; None if it names none.
        answer: what may be the answer, and how it ended; None if the record is the interaction itself.
        outer: what it says beside the answer, by key.
    """

    image: Any
    answer: Opened | None
    outer: dict[Any, Any] = field(default_factory=dict)


def record_of(record: dict[Any, Any]) -> Record:
    """Open a record."""
    image = image_of(record)
    if isinstance(record.get("entities"), list) and isinstance(
        caption := record.get("caption", record.get("text")), str
    ):
        return Record(image, Opened([[caption, record["entities"]]]), record)
    keys = {plain(key): key for key in record if isinstance(key, str)}
    chats = [keys[name] for name in CHATS if name in keys and is_chat(record[keys[name]])]
    has_pair = sum(box_of(value, key) is not None or _holds_one(value) for key, value in record.items()) > 1
    taken = [keys[name] for name in ANSWERS if name in keys and (not has_pair or name in BESIDE_BOXES)]
    for key in [*taken, *chats]:
        found = opened(record[key])
        if found.answers or found.error:
            ended = opened_beside(record, record)
            found.is_cut, found.error = found.is_cut or ended.is_cut, found.error or ended.error
            return Record(image, found, {name: value for name, value in record.items() if name not in (key, *chats)})
    said = {key: value for key, value in record.items() if not is_asked(key) and not is_truth(key, value)}
    found = opened_beside(record, [key for key in said if holds_box(said[key])])
    if found.error or not (has_pair or any(map(holds_box, said.values()))):
        is_bare = all(meaning(key).part in ("image", "width", "height") for key in record)
        if (taken or is_bare) and not found.answers and not found.error:
            found.answers.append(None)
        if found.answers or found.error:
            return Record(image, found)
    return Record(image, None, said)


def by_image(opened_record: Record) -> list[dict[Any, Any]]:
    """The records of an answer that names its images itself, several or where nothing else names one; else none."""
    answers = opened_record.answer.answers if opened_record.answer else []
    said = answers[-1] if answers else None
    if isinstance(said, str):
        if not names_file(said):
            return []
        clean = parsed(answer_of(said))
        said = reply_of(said, lambda *_: 1).values if clean is None else clean
    while isinstance(said, list) and len(said) == 1:
        said = said[0]
    if isinstance(said, dict) and said and all(map(is_file_name, said)):
        records = list(_records_of_object(said, 0))
    else:
        items = said if isinstance(said, list) else [said]
        records = [item for item in items if isinstance(item, dict) and is_file_name(image_of(item))]
        records = records if len(records) == len(items) else []
    return records if len(records) > (opened_record.image is not None) else []


def _holds_one(value: Any) -> bool:
    return isinstance(value, dict) and any(box_of(inner, key) is not None for key, inner in value.items())


def records_in(document: Any, depth: int = 0) -> Iterator[Any]:
    """The records of a document: lists in lists are opened, and so are columns, and an object with a key per image."""
    if isinstance(document, list):
        if len(document) in (2, 3) and is_image_key(document[0]):
            yield {"image": document[0], "response": document[-1]}
            return
        for inner in document:
            if isinstance(inner, list) and depth < _DEEPEST:
                yield from records_in(inner, depth + 1)
            else:
                yield inner
    elif isinstance(document, dict):
        yield from _records_of_object(document, depth)
    else:
        yield document


def _records_of_object(document: dict[Any, Any], depth: int) -> Iterator[Any]:
    if document and all(is_image_key(key) for key in document):
        for key, value in document.items():
            yield {"image": key, **_by_image(value)}
        return
    lists = {key: value for key, value in document.items() if isinstance(value, list | dict) and value}
    if image_of({k: v for k, v in document.items() if not isinstance(v, list | dict)}) is None and depth < 3:
        if columns := _columns(document):
            yield from columns
            return
        for key, value in lists.items():
            first = next(iter(value)) if value else None
            inside = isinstance(value, list) and isinstance(first, dict) and (has_own_image(first) or _of_images(value))
            if (inside and key != "images") or (isinstance(value, dict) and all(is_image_key(k) for k in value)):
                names = _names_by_id(document.get("images"))
                for record in records_in(value, depth + 1):
                    yield _renamed(record, names)
                return
    yield document


def _of_images(items: list[Any]) -> bool:
    """Whether items are records of several images, which they name anywhere."""
    first, last = (image_of(item) if isinstance(item, dict) else None for item in (items[0], items[-1]))
    return None not in (first, last) and first != last and not is_chat(items)


def _columns(document: dict[Any, Any]) -> list[dict[Any, Any]]:
    """The records of a table in columns, each a list of one length or an object with the same row names; else none."""
    names, rows = document.get("columns"), document.get("data")
    if (
        isinstance(names, list)
        and isinstance(rows, list)
        and all(isinstance(row, list) and len(row) == len(names) for row in rows)
    ):
        return [dict(zip(names, row, strict=True)) for row in rows]
    columns = {key: list(value.values()) if isinstance(value, dict) else value for key, value in document.items()}
    rows_of = {tuple(value) if isinstance(value, dict) else len(columns[key]) if isinstance(value, list) else None
             for key, value in document.items()}  # fmt: skip
    if len(rows_of) != 1 or None in rows_of:
        return []
    names_images = any(len(column) > 1 and all(map(is_file_name, column)) for column in columns.values())
    if not (names_images or has_own_image(document)):
        return []
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _names_by_id(images: Any) -> dict[Any, str]:
    """Names of COCO's list of images by their ids."""
    if not isinstance(images, list):
        return {}
    return {
        image["id"]: image["file_name"]
        for image in images
        if isinstance(image, dict) and type(image.get("id")) in (int, str) and isinstance(image.get("file_name"), str)
    }


def _renamed(record: Any, names: dict[Any, str]) -> Any:
    """A record with the name of its image instead of the image's id."""
    number = record.get("image_id") if isinstance(record, dict) else None
    return record | {"image": names[number]} if type(number) in (int, str) and number in names else record


def _by_image(value: Any) -> dict[Any, Any]:
    """The record of an image's entry."""
    if isinstance(value, dict) and record_of(value).answer is not None:
        return value
    texts = value if isinstance(value, list) and value else [value]
    return {"response": value} if all(isinstance(text, str) for text in texts) else {"interactions": value}


_MOST_KEYS = 6


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


class Reader:
    """Collects the interactions of a file's records, and counts what cannot be read."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._notes = source.notes
        self._columns = Columns(source)
        self._tally = Tally(source.notes)
        self._answered: list[int] = []

    def add(self, number: int, record: Any) -> None:
        """Take a record.

        Raises:
            UnreadableError: where a tool's record, and not what a model said, breaks the format.
        """
        if self._add_plain(record, number):
            return
        place = self._source.record_name(number)
        if not isinstance(record, dict):
            raise UnreadableError(place, None, shown(record), "an object")
        opened = record_of(record)
        if several := by_image(opened):
            for one in several:
                self.add(number, one)
            return
        image = self._columns.image(number, opened.image, record)
        outer = {key: value for key, value in opened.outer.items() if meaning(key).part != "image"}
        if opened.answer is None:
            self._add_structured(place, image, outer, number)
        else:
            self._add_reply(place, image, opened.answer, said_outside(outer), number, record)

    def rows(self) -> Rows:
        """Put together what was gathered.

        Raises:
            InputError: if most of the replies or all phrases are of no use.
        """
        for error in self._columns.settle():
            self._tally.cut_item(error)
        self._tally.check(self._source, len(self._columns))
        self._notes.add("several_replies", count=sum(count > 1 for count in Counter(self._answered).values()))
        return self._columns.rows()

    def _add_plain(self, record: Any, number: int) -> bool:
        """Take a record as shoe writes it, whose words count as they are; tell whether it is one."""
        try:
            plain = msgspec.convert(record, _Plain)
        except msgspec.ValidationError:
            return False
        if " and " in plain.verb or plain.score != plain.score:  # a NaN is counted as unread
            return False
        image = self._columns.image(number, plain.image, record)
        self._columns.add_plain(image, plain.verb, plain.object, plain.score, plain.human_box, plain.object_box, number)
        return True

    def _add_structured(self, place: str, image: int, item: dict[Any, Any], number: int) -> None:
        """Take what a tool wrote; a record that is one interaction and cannot be read is an error."""
        reading = interactions_in([item])
        if any(isinstance(value, list) and value and isinstance(value[0], dict) for value in item.values()):
            self._answered.append(image)
            self._notes.replies += 1
            self._take(place, image, Answer(item, reading, Reply([item], [item])), number, item)
            return
        if reading.problems:
            problem = reading.problems[0]
            raise UnreadableError(place, problem.cause, problem.found, problem.expected)
        if not reading.pairs and not reading.says_none:
            found = ", ".join(map(quote, list(reading.keys)[:_MOST_KEYS])) or "no known key"
            raise UnreadableError(place, None, found, "an interaction: two boxes and words for what is done")
        is_one = len(reading.pairs) == 1
        for i, pair in enumerate(reading.pairs):
            where = place if is_one else f"{place}: interaction {i}"
            self._columns.add_pair(where, image, pair, number, None if is_one else i, loose=False)

    def _add_reply(
        self, place: str, image: int, opened: Opened, around: Fields, number: int, record: dict[Any, Any]
    ) -> None:
        self._notes.add("cut_off", count=opened.is_cut)
        self._notes.add("several_answers", count=opened.choices > 0)
        self._answered.append(image)
        self._notes.replies += 1
        if not opened.answers:
            self._tally.failed(place, opened.error)
            return
        answer = likeliest(opened.answers, around)
        if not any(answer.rank[:3]) and (others := opened_beside(record, ()).answers):
            answer = max(answer, likeliest(others, around), key=lambda answer: answer.rank)
        if (
            not any((words := words_of(pair)) and words.interactions for pair in answer.reading.pairs)
            and (beside := grounded_beside(answer.said, record)).pairs
        ):
            answer = answer._replace(reading=beside)
        self._take(place, image, answer, number, record, opened.error)

    def _take(
        self, place: str, image: int, answer: Answer, number: int, record: dict[Any, Any], error: str = ""
    ) -> None:
        """Take what an answer holds; what of it cannot be read is left out and counted."""
        cut, denied, is_taken = self._notes.count("left_out"), self._notes.count("denied"), False
        self._notes.add("several_answers", count=answer.others > 0)
        self._notes.add("fixed", count=answer.reply.damaged)
        self._notes.add("drafts", count=answer.reply.drafts > 0)
        for i, item in enumerate(answer.reading.found):
            where = f"{place}, item {i}"
            try:
                if isinstance(item, Problem):
                    raise UnreadableError(where, item.cause, item.found, item.expected)
                is_taken |= self._columns.add_pair(where, image, item, number, i, loose=True)
            except UnreadableError as unreadable:
                self._tally.cut_item(unreadable)
        if answer.reply.lost:
            incomplete = UnreadableError(place, "response", "an incomplete item", ITEMS)
            self._tally.cut_item(incomplete, "incomplete", answer.reply.lost)
        if is_taken:
            if answer.reply.values and answer.unused:
                unused = UnreadableError(place, "response", f"{answer.unused} boxes that no item has", ITEMS)
                self._tally.cut_item(unused, "incomplete", (answer.unused + 1) // 2)
            else:
                self._notes.add("unused_boxes", count=answer.unused)
            return
        if answer.says_none or self._notes.count("denied") > denied:
            self._tally.none(answer.said, record)
        elif error:
            self._tally.failed(place, error)
        elif isinstance(answer.said, str) and refuses(answer.said):
            self._tally.refused(place, answer.said)
        else:
            self._tally.unread(place, answer, has_cut=self._notes.count("left_out") > cut)
