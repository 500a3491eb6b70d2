"""What an answer says, text or parsed, given what its record says around it."""

from __future__ import annotations

from typing import Any

from shoe.predictions.vlm.fields import Fields, fields_of
from shoe.predictions.vlm.items import Reading, interactions_in
from shoe.predictions.vlm.keys import meaning
from shoe.predictions.vlm.marks import grounded
from shoe.predictions.vlm.prose import interactions_of_text
from shoe.predictions.vlm.replies import Reply, reply_of
from shoe.predictions.vlm.sentences import interactions_of_sentences

_NOT_SAID = frozenset(
    (
        *("prompt", "question", "query", "instruction", "system", "input", "ground", "gt", "solution"),
        *("reference", "model", "id", "usage", "metadata", "time", "created", "date", "tokens"),
    )
)
_LONGEST = 300
_SHORT, _DEEPEST = 20, 8


def outside(key: Any) -> bool:
    """Whether a key beside an answer may say something of the interaction, and not what was asked or would be right."""
    return not _NOT_SAID.intersection(meaning(key).words)


def said_outside(outer: dict[Any, Any]) -> Fields:
    """What a record says beside the answer: words of the class that was asked about, or the boxes of a pair."""
    kept = {
        key: value
        for key, value in outer.items()
        if outside(key)
        and not (isinstance(value, str) and len(value) > _LONGEST)
        and not (key in ("label", "labels") and "predict" in outer)
        and not (isinstance(value, list | dict) and meaning(key).part != "box" and not meaning(key).side)
    }
    return fields_of(kept)


def read_answer(answer: Any, around: Fields) -> tuple[Reading, Reply]:
    """The interactions of an answer, text or parsed."""
    if (caption := grounded(answer)) is not None:
        return interactions_of_sentences(caption), Reply([answer], [answer])
    if not isinstance(answer, str):
        texts = (
            answer if isinstance(answer, list) and all(isinstance(part, str) for part in answer) and answer else None
        )
        if texts is None:
            return interactions_in([answer], around), Reply([answer], [answer])
        answer = "\n".join(texts)
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
    if not whole.pairs and not whole.says_none:
        said = interactions_of_text("\n".join(_texts_in(reply.values, 0)), around)
        if said.pairs:
            return said, reply
    if whole.pairs or whole.says_none or whole.keys or not reply.text:
        return whole, reply
    prose = interactions_of_text(reply.text, around)
    return (prose, Reply(text=reply.text)) if prose.found else (whole, reply)


def _texts_in(value: Any, depth: int) -> list[str]:
    """The sentences that data holds."""
    if isinstance(value, str):
        return [value] if len(value) > _SHORT else []
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for part in inner for text in _texts_in(part, depth + 1)] if depth < _DEEPEST else []
