"""From what a tool wrote around an answer to the answer: the image, the model's words, and what the record says itself.

Endpoints, batch files, answer files and pipelines wrap a reply in objects of many keys. They are opened by what those
hold: turns of a chat (only the model's last one counts), blocks of content, calls of a tool, lists of choices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from shoe.predictions.vlm.boxes import box_of
from shoe.predictions.vlm.images import has_own_image, image_of, is_image_key, plain
from shoe.predictions.vlm.keys import meaning

_MODEL = frozenset(("assistant", "model", "gpt", "bot", "chatbot", "ai", "output"))
_SPEAKER = ("role", "from", "speaker")
_CHATS = ("messages", "conversations", "conversation", "chat", "history", "dialog", "turns")
# Keys under which an answer stands, the likelier first; what a prompt, a label or a sum of tokens has is none.
_ANSWERS = (
    *(
        "response",
        "responses",
        "reply",
        "raw_response",
        "model_response",
        "model_output",
        "raw_output",
        "output",
        "outputs",
    ),
    *(
        "output_text",
        "generated_text",
        "generation",
        "generated",
        "completion",
        "completions",
        "prediction",
        "predictions",
    ),
    *(
        "pred",
        "predict",
        "predicted",
        "answer",
        "model_answer",
        "caption",
        "result",
        "results",
        "resps",
        "filtered_resps",
    ),
    *("raw", "text", "body", "message", "choices", "candidates", "content", "parts", "value", "tool_calls", "function"),
    *("function_call", "arguments", "args", "delta", "data"),
)
_INNER = (
    *("tool_calls", "parsed", "content", "text", "value", "message", "parts", "function", "arguments", "args", "input"),
    *("functionCall", "function_call", "output_text", "choices", "candidates", "output", "outputs", "body", "response"),
    *("generated_text", "completion", "prediction", "answer", "result", "delta"),
)
_THOUGHT = ("thinking", "reasoning", "redacted_thinking", "thought", "reasoning_content", "image", "image_url")
_CALLS = ("tool_use", "function_call", "function", "tool_call")
_DEEPEST = 12
_NO = object()


@dataclass(slots=True)
class Record:
    """One record of a file.

    Attributes:
        image: what it calls the image; None if it names none.
        answer: what the model said: text or parsed values; :data:`NOTHING` if the record is the interaction itself.
        outer: what else it says, by key.
        choices: other answers that were passed over.
    """

    image: Any
    answer: Any
    outer: dict[Any, Any] = field(default_factory=dict)
    choices: int = 0


NOTHING = _NO


def record_of(record: dict[Any, Any]) -> Record:
    """Open a record."""
    keys = {plain(key): key for key in record if isinstance(key, str)}
    image = image_of(record)
    if isinstance(record.get("entities"), list) and isinstance(
        caption := record.get("caption", record.get("text")), str
    ):
        return Record(image, [caption, record["entities"]], record)
    chat = next((keys[name] for name in _CHATS if name in keys and _is_chat(record[keys[name]])), None)
    boxes = sum(box_of(value, key) is not None or _holds_box(value) for key, value in record.items())
    for name in _ANSWERS:
        if name not in keys or (boxes >= 2 and not _is_wrapper(name)):
            continue
        answer = answer_of(record[keys[name]])
        if answer is not None:
            outer = {key: value for key, value in record.items() if key not in (keys[name], chat)}
            return Record(image, answer, outer)
    if chat is not None:
        return Record(image, answer_of(record[chat]), {key: v for key, v in record.items() if key != chat})
    failed = any(name in keys and record[keys[name]] in (None, "") for name in _ANSWERS)
    return Record(image, "" if failed and not boxes else NOTHING, record)


def _is_wrapper(name: str) -> bool:
    """Whether an answer may stand under a key beside two boxes, which are then what was asked about."""
    return name in (
        "response",
        "reply",
        "raw_response",
        "model_response",
        "output",
        "generated_text",
        "answer",
        "completion",
        "prediction",
        "model_output",
    )


def _holds_box(value: Any) -> bool:
    return isinstance(value, dict) and any(box_of(inner, key) is not None for key, inner in value.items())


def answer_of(node: Any, depth: int = 0) -> Any:
    """What the model said in a wrapper: text, or parsed values; None if it holds nothing of that."""
    if isinstance(node, str):
        return node
    if depth > _DEEPEST or node is None:
        return None
    if isinstance(node, list):
        return _of_list(node, depth + 1)
    if isinstance(node, dict):
        if not _is_envelope(node):
            return node
        for key in _INNER:
            if key in node and node[key] not in (None, [], ""):
                answer = answer_of(node[key], depth + 1)
                if answer is not None:
                    return answer
        return None
    return None


def _is_envelope(node: dict[Any, Any]) -> bool:
    """Whether an object wraps an answer, and is no answer itself."""
    keys = set(node)
    if not keys & set(_INNER):
        return False
    if any(meaning(key).part in ("box", "verb") or meaning(key).side == "object" for key in keys if key not in _INNER):
        return False
    return any(isinstance(node.get(key), str | list | dict) for key in _INNER)


def _is_chat(node: Any) -> bool:
    return isinstance(node, list) and any(isinstance(turn, dict) and any(k in turn for k in _SPEAKER) for turn in node)


def _of_list(node: list[Any], depth: int) -> Any:
    if node and all(isinstance(part, str) for part in node):
        return node[0] if len(node) == 1 else node
    if len(node) == 1 and isinstance(node[0], list) and box_of(node[0]) is None:
        return answer_of(node[0], depth + 1)
    if not node or not all(isinstance(part, dict) for part in node):
        return node
    if _is_chat(node):
        for turn in reversed(node):
            speaker = next((str(turn[key]).lower() for key in _SPEAKER if key in turn), "")
            if speaker in _MODEL:
                return answer_of({k: v for k, v in turn.items() if k not in _SPEAKER}, depth + 1)
        return None
    if not all(_is_envelope(part) or part.get("type") in (*_THOUGHT, *_CALLS) for part in node):
        return node
    spoken = [part for part in node if part.get("type") not in _THOUGHT and not part.get("thought")]
    if all("type" not in part and "text" not in part and "functionCall" not in part for part in spoken) or any(
        "index" in p for p in spoken
    ):
        return answer_of(spoken[0], depth + 1) if spoken else None  # choices: the first
    said = [answer for part in spoken if (answer := answer_of(_called(part), depth + 1)) is not None]
    calls = [
        answer for part, answer in zip(spoken, said, strict=False) if part.get("type") in _CALLS or "function" in part
    ]
    if calls:
        parts = [inner for call in calls for inner in (call if isinstance(call, list) else [call])]
        return (
            parts[0] if len(parts) == 1 else parts if not all(isinstance(p, str) for p in parts) else "\n".join(parts)
        )
    if said and all(isinstance(answer, str) for answer in said):
        return "\n".join(said)
    return said[0] if len(said) == 1 else said or None


def _called(part: dict[Any, Any]) -> Any:
    """What a tool was called with, of a block that is a call."""
    for key in ("input", "arguments", "args"):
        if part.get("type") in _CALLS and key in part:
            return part[key]
    return part


def records_in(document: Any, depth: int = 0) -> Iterator[Any]:
    """The records of a document: lists in lists are opened, and so is an object with one key per image."""
    if isinstance(document, list):
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
        for key, value in lists.items():
            first = next(iter(value)) if value else None
            inside = isinstance(value, list) and isinstance(first, dict) and has_own_image(first)
            if (inside and key != "images") or (isinstance(value, dict) and all(is_image_key(k) for k in value)):
                names = _names_by_id(document.get("images"))
                for record in records_in(value, depth + 1):
                    yield record | {"image": names[record["image_id"]]} if record.get("image_id") in names else record
                return
    yield document


def _names_by_id(images: Any) -> dict[Any, str]:
    """Names of COCO's list of images by their ids."""
    if not isinstance(images, list):
        return {}
    return {
        image["id"]: image["file_name"]
        for image in images
        if isinstance(image, dict) and type(image.get("id")) in (int, str) and isinstance(image.get("file_name"), str)
    }


def _by_image(value: Any) -> dict[Any, Any]:
    """The record of an image's entry."""
    if isinstance(value, dict) and record_of(value).answer is not NOTHING:
        return value
    return {"response": value} if isinstance(value, str) else {"interactions": value}
