"""Find the image that a record is about: a value that is, or contains, the name or ID of an image."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

_IMAGES = (
    *("image", "image_name", "file_name", "filename", "image_path", "image_file", "img", "img_name", "img_path"),
    *("image_id", "img_id", "file", "path"),
    *("images", "image_paths", "image_url", "image_urls", "url", "photo", "name"),
)
_QUESTIONS = ("custom_id", "question_id", "record_id")  # a number under these may be that of the image
_NUMBERS = (*_QUESTIONS, "key", "id", "uid", "sample_id", "index", "doc_id")
_NAME = re.compile(r"[^/\\\s\"'?#]+\.(?:jpe?g|png|webp|bmp|gif|tiff?)\b", re.I)
_SUFFIX = re.compile(r"[^/\\\s\"'?#]\.(?:jpe?g|png|webp|bmp|gif|tiff?)\b", re.I)  # linear time, unlike _NAME
_STEM = re.compile(r"[A-Za-z]+_[A-Za-z]+\d*_\d{6,12}")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_STRONG = 13  # number of keys in _IMAGES that always name an image
_DEEPEST = 12
_LONGEST_NUMBER = 12
_BASE64 = ("data:", "/9j/", "iVBORw0KGgo", "UklGR", "R0lGOD")  # image data, as in the column "image" of VLMEvalKit
_MOST_IMAGES = 100


def image_of(record: dict[Any, Any]) -> Any:
    """Return the image name or ID of a record, or a list of several names; None if it has none."""
    keys = {plain(key): key for key in record if isinstance(key, str)}
    for name in _IMAGES:
        if name in keys and (image := _image_value(record[keys[name]])) is not None:
            return image
    answers = ("response", "text", "output")
    names = _file_names({key: value for key, value in record.items() if plain(str(key)) not in answers}, 0)
    if (image := next(names, None)) is not None:
        return image
    for name in _NUMBERS:
        if name in keys and type(record[keys[name]]) in (str, int):
            value = record[keys[name]]
            if stem := _STEM.search(value) if isinstance(value, str) else None:
                return stem[0]
            if name in _QUESTIONS or not str(value).isdigit():
                return value
    return None


def _image_value(value: Any) -> Any:
    if isinstance(value, list):
        names = [_image_value(inner) for inner in value[:_MOST_IMAGES]]
        return names[0] if len(names) == 1 else names if len(names) > 1 and all(map(is_file_name, names)) else None
    if isinstance(value, dict):
        for key in ("file_name", "filename", "path", "name", "url", "image", "id", "uri"):
            if value.get(key) not in (None, "") and not isinstance(value[key], list | dict):
                return _image_value(value[key])
        return None
    if isinstance(value, str):
        if value.startswith(_BASE64) or not value.strip():
            return None
        if "://" in value:
            match = _NAME.search(value)
            return match[0] if match else None
        return value
    return value if type(value) in (int, float) else None


def _file_names(node: Any, depth: int) -> Iterator[str]:
    if depth > _DEEPEST:
        return
    if isinstance(node, str):
        if len(node) < 2000 and not node.startswith("data:") and (match := _NAME.search(node)):
            yield match[0]
    elif isinstance(node, dict):
        for inner in node.values():
            yield from _file_names(inner, depth + 1)
    elif isinstance(node, list):
        for inner in node[:20]:
            yield from _file_names(inner, depth + 1)


def number_of_image(image: Any) -> int | None:
    """Return the image ID if ``image`` is a whole number (12, 12.0) or up to 11 digits ("0012"); else None."""
    if isinstance(image, str):
        return int(image) if image.isascii() and image.isdigit() and len(image) < _LONGEST_NUMBER else None
    return int(image) if type(image) is int or (type(image) is float and image.is_integer()) else None


def contains_file_name(text: str) -> bool:
    """Return whether a text contains the file name of an image."""
    return _SUFFIX.search(text) is not None


def is_file_name(text: Any) -> bool:
    """Return whether a value is a file name of an image (.jpg, .png, .webp, ...) without blanks; may have folders."""
    name = text.strip(" \"'").replace("\\", "/").rsplit("/", 1)[-1] if isinstance(text, str) else ""
    return _NAME.fullmatch(name) is not None


def is_image_key(key: Any) -> bool:
    """Return whether a key may be an image name or ID, as in {"a.jpg": [...]}."""
    if not isinstance(key, str) or not key:
        return False
    return _NAME.search(key) is not None or _STEM.search(key) is not None or key.isdigit()


def has_own_image(record: dict[Any, Any]) -> bool:
    """Return whether a record has a key that names its image."""
    values = {plain(str(key)): value for key, value in record.items()}
    if not values.keys().isdisjoint((*_IMAGES[:_STRONG], *_QUESTIONS)):
        return True
    return any(isinstance(value := values.get(name), str) and _NAME.search(value) for name in (*_IMAGES, *_NUMBERS))


@lru_cache(4096)
def plain(key: str) -> str:
    """Return a key in lower case with words joined by "_": "finishReason" becomes "finish_reason"."""
    return _HUMP.sub("_", key.strip()).lower().replace("-", "_").replace(" ", "_")
