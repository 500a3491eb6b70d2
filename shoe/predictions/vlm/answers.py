"""Read the interactions in an answer (text or parsed data); missing words and boxes come from its record."""

import re
from collections.abc import Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from shoe.predictions.field_names import is_metadata, is_truth, meaning
from shoe.predictions.vlm.box_marks import MARK, MarkedText, entity_of, grounded_caption, insert_marks, mark_boxes
from shoe.predictions.vlm.boxes import Box
from shoe.predictions.vlm.fields import Fields, fields_of, rows_of
from shoe.predictions.vlm.items import interactions_in
from shoe.predictions.vlm.markup import CONFIDENCE
from shoe.predictions.vlm.parsed_reply import Pair, Reading
from shoe.predictions.vlm.prose import interactions_of_sentences, interactions_of_text
from shoe.predictions.vlm.replies import Reply, answer_of, open_wrapper, reply_of

_NUMBER = r"(-?\d{1,9}(?:\.\d{1,9})?)"
_BOX = re.compile(rf"(?<![\w.]){_NUMBER}" + rf",\s?{_NUMBER}" * 3 + r"(?![\w.]*\d)(?!\s?,\s?\d)")
_LONGEST, _SHORT, _DEEPEST = 300, 20, 8
_DATA = re.compile(r"[{}(=\"'\\&]|\[\s*\]|\[(?![^\]A-Za-z]{0,300}\])")  # any data except lists of numbers
_KEYED = re.compile(r"[\"']\s*:\s*[\[{\"']")
_TASK = re.compile(r"<[A-Z_]+>")
_SENTENCE = re.compile(r"\n+|(?<=[.!?;])\s+")
_BRACKETED = re.compile(rf"(?<=[\w\])] )[\[{{]({CONFIDENCE})[\]}}]", re.I)
_CONFIDENCE = re.compile(rf"\b(?:confiden\w+|probability|score)\W{{1,3}}(?:is |of )?({CONFIDENCE})(?![\w%]|\.\d)", re.I)
_NEAR = 0.15  # of the largest coordinate: corrected boxes differ less
_PIECE = 12  # characters: texts with a shorter mean length, and with blanks, are tokens of one text, not lines


class Answer(NamedTuple):
    """An answer of a model, with the interactions in it."""

    raw: Any  # the answer as written: text or parsed data
    reading: Reading  # interactions and problems in the answer
    reply: Reply  # parsed values of the answer
    others: int = 0  # number of other answers in the same record that have other interactions

    @property
    def says_none(self) -> bool:
        """Whether the answer denies all interactions: an empty list, or words such as "no interaction"."""
        return self.reading.says_none or self.reply.says_none

    @property
    def unused(self) -> int:
        """Number of distinct boxes in the text that no pair uses; 0 for valid JSON and partly unreadable answers."""
        reply, items = self.reply, self.reading.items
        if not reply.text or reply.drafts or reply.lost or not all(isinstance(item, Pair) for item in items):
            return 0
        if reply.values and not reply.fixed:
            return 0
        used = {side.box.numbers for pair in self.reading.pairs for side in (pair.human, pair.object)}
        return len({tuple(map(float, match.groups())) for match in _BOX.finditer(reply.text)} - used)

    @property
    def rank(self) -> tuple[bool, bool, bool, int]:
        """Sort key, higher is better: has interactions, says that there are none, has unreadable ones, text length."""
        length = len(self.raw) if isinstance(self.raw, str) else 0
        return bool(self.reading.pairs), self.says_none, bool(self.reading.items or self.reply.lost), length


def context_fields(outer: dict[Any, Any]) -> Fields:
    """Return the relevant fields of a record besides its answer, such as a queried word, or the boxes of a pair."""
    relevant = {
        key: value
        for key, value in outer.items()
        if not (is_metadata(key) or is_truth(key, value) or (isinstance(value, str) and len(value) > _LONGEST))
        and not (key in ("label", "labels") and "predict" in outer)
        and not (isinstance(value, list | dict) and meaning(key).part != "box" and not meaning(key).side)
    }
    return fields_of(relevant)


def best_answer(answers: Sequence[Any], context: Fields) -> Answer:
    """Return the last answer that has interactions; if none has any, the answer with the highest ``rank``."""
    contents = [_with_score(Answer(raw, *read_answer(raw, context)), context.score) for raw in reversed(answers)]
    readable = [answer for answer in contents if answer.reading.pairs]
    if not readable:
        return max(contents, key=lambda answer: answer.rank)
    return readable[0]._replace(others=sum(other.reading.pairs != readable[0].reading.pairs for other in readable[1:]))


def are_parts(turns: Sequence[Sequence[Pair]]) -> bool:
    """Return whether chat turns are about different boxes: no pair of boxes is close to a pair of another turn."""
    boxes = [[np.array([pair.human.box.numbers, pair.object.box.numbers]) for pair in pairs] for pairs in turns]
    both = (each for first, second in combinations(boxes, 2) for each in product(first, second))
    return not any((abs(a - b).max(axis=1) <= _NEAR * abs(a).max(axis=1)).all() for a, b in both)


def _with_score(answer: Answer, score: Any) -> Answer:
    """Return an answer whose interactions have the score of the record, or the confidences stated in the sentences."""
    pairs, items = answer.reading.pairs, answer.reading.items
    stated = [] if answer.reply.values or not isinstance(answer.raw, str) else _CONFIDENCE.findall(answer.raw)
    if any(pair.score is not None for pair in pairs) or (score is None and not stated):
        return answer
    if score is None and len(stated) != len(items):
        unread = [*answer.reading.unread, *(("confidence", each) for each in stated)]
        return answer._replace(reading=replace(answer.reading, unread=unread))
    scores = iter(stated if score is None else [score] * len(items))
    scored = [item._replace(score=next(scores)) if isinstance(item, Pair) else item for item in items]
    return answer._replace(reading=replace(answer.reading, items=scored))


def read_answer(answer: Any, context: Fields) -> tuple[Reading, Reply]:
    """Return the interactions in an answer and its parsed content; ``context`` are other fields of the record."""
    if (caption := grounded_caption(answer)) is not None:
        return interactions_of_sentences(caption), Reply([answer], [answer])
    if isinstance(answer, list) and answer and all(isinstance(part, str) for part in answer):
        are_lines = sum(map(len, answer)) > _PIECE * len(answer) or all(part == part.strip() for part in answer)
        answer = ("\n" if are_lines else "").join(answer)
    if not isinstance(answer, str):
        return _with_detections(interactions_in([answer], context), [answer], context), Reply([answer], [answer])
    answer = _BRACKETED.sub(r"(\1)", answer)
    if context == Fields() and answer.isascii() and not _DATA.search(answer):
        text = answer_of(answer)
        if (prose := interactions_of_text(text, context)).items:
            return prose, Reply(text=text)
    readings: dict[int, Reading] = {}

    def count(value: Any, pool: list[Any]) -> int:
        reading = readings[id(value)] = interactions_in([value], context, pool)
        return len(reading.items)

    reply = reply_of(answer, count)
    for value in reply.values:
        if (caption := grounded_caption(value)) is not None:
            return interactions_of_sentences(caption), reply
    known = readings.get(id(reply.values[0])) if len(reply.values) == 1 else None
    merged = _with_detections(known or interactions_in(reply.values, context, reply.pool), reply.values, context)
    if merged.pairs or merged.says_none:
        return merged, reply
    texts = _texts_in(reply.values, 0)
    if texts and (reading := interactions_of_text("\n".join(texts), context)).pairs:
        return reading, reply
    if reply.pool and (reading := _from_sentences_around_data(reply, context)).pairs:
        return reading, reply
    for value in reply.values:
        inner = open_wrapper(value).answers if isinstance(value, dict) else []
        if len(inner) == 1 and inner[0] is not value:
            return read_answer(inner[0], context)
    if merged.keys or not reply.text or (reply.lost and _KEYED.search(reply.text) is not None):
        return merged, reply
    prose = interactions_of_text(reply.text, context)
    return (prose, Reply(text=reply.text)) if prose.items or prose.says_none else (merged, reply)


def caption_interactions(answer: Any, record: dict[Any, Any]) -> Reading:
    """Return interactions in a caption of ``record`` whose phrases ``answer`` lists with boxes; else nothing."""
    phrases = _boxed_phrases(answer)
    for value in record.values() if len(phrases) > 1 else ():
        sentence = _TASK.sub("", value) if isinstance(value, str) and len(value) <= _LONGEST else ""
        if value != answer and all(name.lower() in sentence.lower() for name in phrases):
            marks = {name: number for number, name in enumerate(phrases)}
            return interactions_of_sentences(MarkedText(insert_marks(sentence, marks), list(phrases.values())))
    return Reading()


def _boxed_phrases(answer: Any) -> dict[str, list[Box]]:
    """Return the boxes by phrase if an answer is only phrases and their boxes; else {}."""
    phrases: dict[str, list[Box]] = {}
    if isinstance(answer, str):
        marked_text = mark_boxes(answer_of(answer))
        *pieces, rest = MARK.split(marked_text.text)
        if rest.strip(" .\n"):
            return {}
        for name, mark in zip(pieces[::2], pieces[1::2], strict=True):
            phrases.setdefault(name.strip(" ,.;\n"), []).extend(marked_text.boxes[int(mark)])
        return phrases if all(phrases) else {}
    while isinstance(answer, dict | list) and len(answer) == 1:
        answer = next(iter(answer.values())) if isinstance(answer, dict) else answer[0]
    for row in (rows_of(answer) or ()) if isinstance(answer, dict) else ():
        entities, names = (fields := fields_of(row)).entities, fields.names
        if len(entities) == 1 and len(names) == 1:
            phrases.setdefault(names[0], []).append(entities[0].box)
    return phrases


def _from_sentences_around_data(reply: Reply, context: Fields) -> Reading:
    """Return the interactions in sentences before or after the data of a reply that name boxes in the data."""
    text = reply.text
    start, end = min(text.find(mark) % (len(text) + 1) for mark in "{["), max(text.rfind(mark) for mark in "}]") + 1
    sentences = [{"interaction": line} for line in _SENTENCE.split(f"{text[:start]}\n{text[end:]}") if line.strip()]
    return Reading([*interactions_in(sentences, context, reply.pool).pairs])


def _with_detections(reading: Reading, values: list[Any], context: Fields) -> Reading:
    """Return the pair in an answer that is a list of two boxes, with words of its record; otherwise ``reading``."""
    if reading.pairs or not context.has_words or len(values) != 1 or not isinstance(values[0], list):
        return reading
    things = values[0]
    if len(things) != 2 or not all(isinstance(thing, dict) and entity_of(thing, None, "") for thing in things):
        return reading
    return interactions_in([{f"thing {i}": thing for i, thing in enumerate(things)}], context)


def _texts_in(value: Any, depth: int) -> list[str]:
    if isinstance(value, str):
        return [value] if len(value) > _SHORT else []
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for part in inner for text in _texts_in(part, depth + 1)] if depth < _DEEPEST else []
