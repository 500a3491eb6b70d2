"""What an answer says, text or parsed, given what its record says around it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from shoe.core.errors import quote
from shoe.predictions.source import Source
from shoe.predictions.vlm.box_marks import MARK, Marked, entity_of, grounded, marked, with_mentions
from shoe.predictions.vlm.boxes import Box, box_of, corners_in
from shoe.predictions.vlm.fields import Fields, fields_of, rows_of
from shoe.predictions.vlm.items import interactions_in
from shoe.predictions.vlm.keys import is_beside, is_truth, meaning, role
from shoe.predictions.vlm.parsed_reply import Pair, Reading
from shoe.predictions.vlm.prose import interactions_of_sentences, interactions_of_text
from shoe.predictions.vlm.replies import Reply, answer_of, opened, parsed, reply_of

# What stands in items and was not read, or was read as what it may not have been meant to be.

_DEEPEST_UNREAD = 12
_MOST_RECORDS = 100
_MOST_ITEMS = 300
_MOST_NAMED = 3
Items = list[dict[Any, Any]]
_BOXES, _WORDS = {"human_box", "object_box"}, {"verb", "object"}


def first_items(source: Source) -> Items:
    """The innermost objects that hold boxes in the first records, those in text that is clean data included."""
    return list(islice(_items(source.head[:_MOST_RECORDS], 0), _MOST_ITEMS))


def numbers_unread(items: Items) -> str:
    """Name the keys that hold a number in every one of the first items and mean nothing; "" where there are none."""
    names: set[str] | None = None
    for item in items:
        found = {key for key in _open(item) if type(item[key]) in (int, float)}
        names = found if names is None else names & found
    shown = ", ".join(map(quote, sorted(names or ())[:_MOST_NAMED]))
    return f"numbers under {shown} were not read as scores" if shown else ""


def keys_unread(items: Items) -> list[str]:
    """Name the keys that say nothing, beside the boxes and words of those of the first items that say all themselves.

    Where an item does not, what stands under such a key may be a word, or point to a box.
    """
    names: dict[str, None] = {}
    for item in items:
        words = {key: value for key, value in item.items() if value and isinstance(value, str | list | dict)}
        roles = {role(key) for key in words if isinstance(key, str)}
        if roles >= _BOXES and (roles >= _WORDS or "phrase" in roles):
            names |= {key: None for key in _open(item) if not isinstance(item[key], dict | list)}
    return list(names)


def alternatives(items: Items) -> list[str]:
    """The first list of words, among the first items, that stands for an object; empty where there is none."""
    for item in items:
        for key, value in item.items():
            is_words = isinstance(value, list) and len(value) > 1 and all(isinstance(word, str) for word in value)
            if is_words and isinstance(key, str) and role(key) == "object":
                return list(value)
    return []


def _open(item: dict[Any, Any]) -> list[str]:
    """The keys of an item that say nothing."""
    corners = {key for _, _, keys in corners_in(item) for key in keys}
    return [key for key in item if isinstance(key, str) and key not in corners and role(key) is None]


def _items(value: Any, depth: int) -> Iterator[dict[Any, Any]]:
    if depth > _DEEPEST_UNREAD:
        return
    if isinstance(value, str):
        value = parsed(answer_of(value).removeprefix("```json").removesuffix("```")) if value[:1] in "[{`" else None
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else ()
    is_outer = False
    for part in inner:
        for item in _items(part, depth + 1):
            is_outer = True
            yield item
    if not is_outer and isinstance(value, dict):
        yield from [value] if corners_in(value) or any(box_of(part, key) for key, part in value.items()) else []


_NUMBER = r"(\d{1,9}(?:\.\d{1,9})?)"
_BOX = re.compile(rf"(?<![\w.]){_NUMBER}" + rf",\s?{_NUMBER}" * 3 + r"(?![\w.]*\d)(?!\s?,\s?\d)")
_LONGEST = 300
_SHORT, _DEEPEST = 20, 8
_DATA = re.compile(r"[{}(=\"'\\&]|\[\s*\]|\[(?![^\]A-Za-z]{0,300}\])")  # all that may be data but for lists of numbers
_KEYED = re.compile(r"[\"']\s*:\s*[\[{\"']")
_TASK = re.compile(r"<[A-Z_]+>")
_SENTENCE = re.compile(r"\n+|(?<=[.!?;])\s+")
_PIECE = 12  # letters: texts that are no longer on average are tokens of one, and not its lines


class Answer(NamedTuple):
    """An answer as it stands in its record, and what it says; how many answers beside it say something else."""

    said: Any
    reading: Reading
    reply: Reply
    others: int = 0

    @property
    def says_none(self) -> bool:
        """Whether it says that there is no interaction: an empty list, or words for it."""
        return self.reading.says_none or self.reply.says_none

    @property
    def unused(self) -> int:
        """How many boxes stand in its text, which is no clean data, and in no item that was found in it."""
        reply, found = self.reply, self.reading.found
        if not reply.text or reply.drafts or reply.lost or not all(isinstance(item, Pair) for item in found):
            return 0
        if reply.values and not reply.fixed:
            return 0
        used = {side.box.numbers for pair in self.reading.pairs for side in (pair.human, pair.object)}
        return len({tuple(map(float, match.groups())) for match in _BOX.finditer(reply.text)} - used)

    @property
    def rank(self) -> tuple[bool, bool, bool, int]:
        """How likely it is the answer, of several that a wrapper holds."""
        length = len(self.said) if isinstance(self.said, str) else 0
        return bool(self.reading.pairs), self.says_none, bool(self.reading.found or self.reply.lost), length


def said_outside(outer: dict[Any, Any]) -> Fields:
    """What a record says beside the answer: words of the class that was asked about, or the boxes of a pair."""
    kept = {
        key: value
        for key, value in outer.items()
        if not is_beside(key)
        and not is_truth(key, value)
        and not (isinstance(value, str) and len(value) > _LONGEST)
        and not (key in ("label", "labels") and "predict" in outer)
        and not (isinstance(value, list | dict) and meaning(key).part != "box" and not meaning(key).side)
    }
    return fields_of(kept)


def likeliest(answers: Sequence[Any], around: Fields) -> Answer:
    """Read what may be the answer: the last that holds interactions counts, else what says that there are none.

    Args:
        answers: at least one text or structure, the likelier last.
        around: fields of the record that they are in.
    """
    read = [Answer(said, *read_answer(said, around)) for said in reversed(answers)]
    held = [answer for answer in read if answer.reading.pairs]
    if not held:
        return max(read, key=lambda answer: answer.rank)
    return held[0]._replace(others=sum(other.reading.pairs != held[0].reading.pairs for other in held[1:]))


def read_answer(answer: Any, around: Fields) -> tuple[Reading, Reply]:
    """The interactions of an answer, text or parsed."""
    if (caption := grounded(answer)) is not None:
        return interactions_of_sentences(caption), Reply([answer], [answer])
    if isinstance(answer, list) and answer and all(isinstance(part, str) for part in answer):
        answer = ("\n" if sum(map(len, answer)) > _PIECE * len(answer) else "").join(answer)
    if not isinstance(answer, str):
        return _or_detections(interactions_in([answer], around), [answer], around), Reply([answer], [answer])
    if around == Fields() and answer.isascii() and not _DATA.search(answer):
        text = answer_of(answer)
        if (prose := interactions_of_text(text, around)).found:
            return prose, Reply(text=text)
    readings: dict[int, Reading] = {}

    def count(value: Any, pool: list[Any]) -> int:
        reading = readings[id(value)] = interactions_in([value], around, pool)
        return len(reading.found)

    reply = reply_of(answer, count)
    for value in reply.values:
        if (caption := grounded(value)) is not None:
            return interactions_of_sentences(caption), reply
    whole = Reading()
    for value in reply.values:
        whole.add(readings.get(id(value)) or interactions_in([value], around, reply.pool))
    whole = _or_detections(whole, reply.values, around)
    if not whole.pairs and not whole.says_none:
        texts = _texts_in(reply.values, 0)
        if texts and (said := interactions_of_text("\n".join(texts), around)).pairs:
            return said, reply
        if reply.pool and (said := _beside_data(reply, around)).pairs:
            return said, reply
    for value in () if whole.pairs or whole.says_none else reply.values:
        inner = opened(value).answers if isinstance(value, dict) else []
        if len(inner) == 1 and inner[0] is not value:
            return read_answer(inner[0], around)
    is_cut_data = reply.lost and _KEYED.search(reply.text) is not None
    if whole.pairs or whole.says_none or whole.keys or is_cut_data or not reply.text:
        return whole, reply
    prose = interactions_of_text(reply.text, around)
    return (prose, Reply(text=reply.text)) if prose.found else (whole, reply)


def grounded_beside(said: Any, record: dict[Any, Any]) -> Reading:
    """The interactions of an answer that only gives boxes to phrases, of a sentence that stands beside it.

    Args:
        said: the answer, text or parsed.
        record: the record, whose prompt may be the sentence.
    """
    phrases = _boxed_phrases(said)
    for value in record.values() if len(phrases) > 1 else ():
        sentence = _TASK.sub("", value) if isinstance(value, str) and len(value) <= _LONGEST else ""
        if value != said and all(name.lower() in sentence.lower() for name in phrases):
            marks = {name: number for number, name in enumerate(phrases)}
            return interactions_of_sentences(Marked(with_mentions(sentence, marks), list(phrases.values())))
    return Reading()


def _boxed_phrases(said: Any) -> dict[str, list[Box]]:
    """The boxes of each phrase, where an answer holds nothing else."""
    phrases: dict[str, list[Box]] = {}
    if isinstance(said, str):
        whole = marked(answer_of(said))
        *pieces, rest = MARK.split(whole.text)
        if rest.strip(" .\n"):
            return {}
        for name, mark in zip(pieces[::2], pieces[1::2], strict=True):
            phrases.setdefault(name.strip(" ,.;\n"), []).extend(whole.boxes[int(mark)])
        return phrases if all(phrases) else {}
    while isinstance(said, dict | list) and len(said) == 1:
        said = next(iter(said.values())) if isinstance(said, dict) else said[0]
    for row in (rows_of(said) or ()) if isinstance(said, dict) else ():
        entities, names = (fields := fields_of(row)).entities, fields.names
        if len(entities) == 1 and len(names) == 1:
            phrases.setdefault(names[0], []).append(entities[0].box)
    return phrases


def _beside_data(reply: Reply, around: Fields) -> Reading:
    """The interactions of sentences before and behind data that give names to boxes."""
    text = reply.text
    start, end = min(text.find(mark) % (len(text) + 1) for mark in "{["), max(text.rfind(mark) for mark in "}]") + 1
    sentences = [{"interaction": line} for line in _SENTENCE.split(f"{text[:start]}\n{text[end:]}") if line.strip()]
    return Reading([*interactions_in(sentences, around, reply.pool).pairs])


def _or_detections(reading: Reading, values: list[Any], around: Fields) -> Reading:
    """A reading, or that of the two boxes that an answer has where the record around it says what is done."""
    if reading.pairs or not around.has_words or len(values) != 1 or not isinstance(values[0], list):
        return reading
    things = values[0]
    if len(things) != 2 or not all(isinstance(thing, dict) and entity_of(thing, None, "") for thing in things):
        return reading
    return interactions_in([{f"thing {i}": thing for i, thing in enumerate(things)}], around)


def _texts_in(value: Any, depth: int) -> list[str]:
    """The sentences that data holds."""
    if isinstance(value, str):
        return [value] if len(value) > _SHORT else []
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for part in inner for text in _texts_in(part, depth + 1)] if depth < _DEEPEST else []
