"""What each record of a file says: its image, what may be the model's answer, and what stands beside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from shoe.predictions.vlm.boxes import box_of
from shoe.predictions.vlm.images import has_own_image, image_of, is_file_name, is_image_key, names_file, plain
from shoe.predictions.vlm.keys import meaning
from shoe.predictions.vlm.replies import answer_of, parsed, reply_of
from shoe.predictions.vlm.wrapper_keys import ANSWERS, BESIDE_BOXES, CHATS, is_asked, is_truth
from shoe.predictions.vlm.wrappers import Opened, holds_box, is_chat, opened, opened_beside

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
