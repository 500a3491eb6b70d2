"""Which image a record is of: whatever in it is, or holds, the name of one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

_IMAGES = (
    *(
        "image",
        "image_name",
        "file_name",
        "filename",
        "image_path",
        "image_file",
        "img",
        "img_name",
        "img_path",
        "image_id",
    ),
    *("img_id", "file", "path", "images", "image_paths", "image_url", "image_urls", "url", "photo", "name"),
)
# Under the first two a number is the image's; under the others it counts records.
_QUESTIONS = ("custom_id", "question_id", "record_id")
_NUMBERS = (*_QUESTIONS, "key", "id", "uid", "sample_id", "index", "doc_id")
_NAME = re.compile(r"[^/\\\s\"'?#]+\.(?:jpe?g|png|webp|bmp|gif|tiff?)\b", re.I)
_ENDING = re.compile(
    r"[^/\\\s\"'?#]\.(?:jpe?g|png|webp|bmp|gif|tiff?)\b", re.I
)  # of a name, in time linear in the text
_STEM = re.compile(r"[A-Za-z]+_[A-Za-z]+\d*_\d{6,12}")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_STRONG = 13
_DEEPEST = 12
_LONGEST_NUMBER = 12
_MOST_IMAGES = 100


def image_of(record: dict[Any, Any]) -> Any:
    """What a record calls its image; None if it names none."""
    keys = {plain(key): key for key in record if isinstance(key, str)}
    for name in _IMAGES:
        if name in keys and (found := _named(record[keys[name]])) is not None:
            return found
    found = next(
        _names_in(
            {key: value for key, value in record.items() if plain(str(key)) not in ("response", "text", "output")}, 0
        ),
        None,
    )
    if found is not None:
        return found
    for name in _NUMBERS:
        if name in keys and type(record[keys[name]]) in (str, int):
            value = record[keys[name]]
            if stem := _STEM.search(value) if isinstance(value, str) else None:
                return stem[0]
            if name in _QUESTIONS or not str(value).isdigit():
                return value
    return None


def _named(value: Any) -> Any:
    if isinstance(value, list):
        names = [_named(inner) for inner in value[:_MOST_IMAGES]]
        return names[0] if len(names) == 1 else names if len(names) > 1 and all(map(is_file_name, names)) else None
    if isinstance(value, dict):
        for key in ("file_name", "filename", "path", "name", "url", "image", "id", "uri"):
            if value.get(key) not in (None, "") and not isinstance(value[key], list | dict):
                return _named(value[key])
        return None
    if isinstance(value, str):
        if value.startswith("data:") or not value.strip():
            return None
        if "://" in value:
            match = _NAME.search(value)
            return match[0] if match else None
        return value
    return value if type(value) in (int, float) else None


def _names_in(node: Any, depth: int) -> Iterator[str]:
    """File names of images anywhere in a record, those in its prompt included."""
    if depth > _DEEPEST:
        return
    if isinstance(node, str):
        if len(node) < 2000 and not node.startswith("data:") and (match := _NAME.search(node)):
            yield match[0]
    elif isinstance(node, dict):
        for inner in node.values():
            yield from _names_in(inner, depth + 1)
    elif isinstance(node, list):
        for inner in node[:20]:
            yield from _names_in(inner, depth + 1)


def number_of_image(image: Any) -> int | None:
    """The number by which an image is named; None for a name."""
    if isinstance(image, str):
        return int(image) if image.isascii() and image.isdigit() and len(image) < _LONGEST_NUMBER else None
    is_whole = type(image) is int or (type(image) is float and image.is_integer())
    return int(image) if is_whole else None


def names_file(text: str) -> bool:
    """Whether the name of an image's file stands in a text."""
    return _ENDING.search(text) is not None


def is_file_name(text: Any) -> bool:
    """Whether a value is the name of an image's file and nothing else."""
    return (
        isinstance(text, str) and _NAME.fullmatch(text.strip(" \"'").replace("\\", "/").rsplit("/", 1)[-1]) is not None
    )


def is_image_key(key: Any) -> bool:
    """Whether a key of a document may be the name of an image."""
    if not isinstance(key, str) or not key:
        return False
    return _NAME.search(key) is not None or _STEM.search(key) is not None or key.isdigit()


def has_own_image(record: dict[Any, Any]) -> bool:
    """Whether a record has a key that names its image."""
    names = {plain(str(key)): value for key, value in record.items()}
    if not names.keys().isdisjoint((*_IMAGES[:_STRONG], *_QUESTIONS)):
        return True
    return any(isinstance(said := names.get(name), str) and _NAME.search(said) for name in (*_IMAGES, *_NUMBERS))


@lru_cache(4096)
def plain(key: str) -> str:
    """A key in lower case, its words joined by "_": "finishReason" is finish_reason."""
    return _HUMP.sub("_", key.strip()).lower().replace("-", "_").replace(" ", "_")
