"""Reads the records of a file one by one: an interaction, an image's list of them, or a raw reply."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from shoe.core.errors import quote
from shoe.core.rows import Rows
from shoe.io.typed import shown
from shoe.predictions.source import Source
from shoe.predictions.vlm.answers import Answer, grounded_beside, likeliest, said_outside
from shoe.predictions.vlm.columns import Columns
from shoe.predictions.vlm.errors import UnreadableError
from shoe.predictions.vlm.fields import Fields
from shoe.predictions.vlm.found import Problem
from shoe.predictions.vlm.items import interactions_in
from shoe.predictions.vlm.keys import meaning
from shoe.predictions.vlm.records import by_image, record_of
from shoe.predictions.vlm.replies import Reply, refuses
from shoe.predictions.vlm.tally import ITEMS, Tally
from shoe.predictions.vlm.words import words_of
from shoe.predictions.vlm.wrappers import Opened, opened_beside

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
