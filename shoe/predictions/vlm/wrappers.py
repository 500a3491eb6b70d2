"""What a tool put around an answer: its responses, choices, blocks, calls and chats, opened by what they hold.

A wrapper is an object that has no box of its own and says nothing of an interaction. Below it every text and every
structure with boxes may be the answer, but for what was asked, thought, paid, or would be right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from shoe.predictions.vlm.boxes import box_of
from shoe.predictions.vlm.images import plain
from shoe.predictions.vlm.keys import (
    BLOCKS,
    CALLS,
    FAILURES,
    LENGTH,
    MODEL,
    SPEAKERS,
    STOPPED,
    THOUGHTS,
    WRAPPERS,
    holds_data,
    is_beside,
    is_error,
    is_truth,
    meaning,
)
from shoe.predictions.vlm.replies import parsed

_FENCED = re.compile(r"\A[^`]*```[a-z]*\n(.*)```[^`]*\Z", re.DOTALL)
_DEEPEST = 12
_SHORT = 200
_NOT_SAYING = ("", "id", "label", "image")
_ERROR_NAMES = ("code", "type", "status", "reason", "message", "error")


@dataclass(slots=True)
class Opened:
    """What was found in a wrapper.

    Attributes:
        answers: texts and structures that may be the answer, the likelier last.
        choices: how many further choices there are, of which only the first is opened.
        is_cut: whether the model was stopped at its length limit.
        error: the name of what went wrong instead of an answer; "" if nothing did.
        reason: why the model stopped; "" where that is not said.
    """

    answers: list[Any] = field(default_factory=list)
    choices: int = 0
    is_cut: bool = False
    error: str = ""
    reason: str = ""


def opened(node: Any) -> Opened:
    """Open a wrapper, or what is none."""
    found = Opened()
    _open(node, found, 0)
    if not found.answers and not found.error and node is not None:
        found.error = found.reason
        found.answers += [] if found.reason else [node]
    return found


def opened_beside(record: dict[Any, Any], taken: Iterable[object]) -> Opened:
    """Open what a record holds under other keys than those that are taken."""
    found = Opened()
    _note_end(record, found)
    for key, value in record.items():
        if key in taken or meaning(key).part == "image" or is_beside(key) or is_truth(key, value):
            continue
        if holds_box(value) or _holds_text(value):
            _open(value, found, 1)
    return found


def is_chat(node: Any) -> bool:
    """Whether a list is of turns, each with its speaker."""
    return isinstance(node, list) and any(_speaker(turn) for turn in node)


def holds_box(node: Any, depth: int = 0) -> bool:
    """Whether a box stands anywhere in a structure, those inside long texts not looked for."""
    if isinstance(node, str):
        return len(node) <= _SHORT and box_of(node) is not None
    if depth > _DEEPEST or not isinstance(node, dict | list):
        return False
    if box_of(node) is not None:
        return True
    if isinstance(node, dict):
        return any(not is_beside(key) and holds_box(value, depth + 1) for key, value in node.items())
    return any(isinstance(value, dict | list | str) and holds_box(value, depth + 1) for value in node)


def _holds_text(node: Any, depth: int = 0) -> bool:
    """Whether a text that may hold data stands anywhere in a structure."""
    if isinstance(node, str):
        return holds_data(node)
    if depth > _DEEPEST or not isinstance(node, dict | list):
        return False
    if isinstance(node, list):
        return any(_holds_text(value, depth + 1) for value in node)
    return any(
        not is_beside(key) and not is_truth(key, value) and _holds_text(value, depth + 1) for key, value in node.items()
    )


def _open(node: Any, found: Opened, depth: int) -> None:
    if isinstance(node, str):
        found.answers.append(node)
    elif depth > _DEEPEST:
        return
    elif isinstance(node, list):
        _open_list(node, found, depth + 1)
    elif isinstance(node, dict):
        _note_end(node, found)
        if not _is_wrapper(node):
            found.answers.append(node)
        elif _type(node) not in THOUGHTS and node.get("thought") is not True:
            _open_object(node, found, depth + 1)


def _open_object(node: dict[Any, Any], found: Opened, depth: int) -> None:
    is_call = _type(node) in CALLS
    for key, value in node.items():
        name = plain(key) if isinstance(key, str) else ""
        is_argument = is_call and name == "input"
        if not value or key in SPEAKERS or is_truth(key, value) or (is_beside(key) and not is_argument):
            continue
        is_text = isinstance(value, str)
        if name in WRAPPERS or (holds_data(value) if is_text else isinstance(value, dict | list)):
            _open(value, found, depth)


def _is_wrapper(node: dict[Any, Any]) -> bool:
    if any(isinstance(value, list | dict | str) and _is_own_box(value, key) for key, value in node.items()):
        return False
    wrapping = [value for key, value in node.items() if value and isinstance(key, str) and plain(key) in WRAPPERS]
    if holds_box(node):
        return any(holds_box(value) for value in wrapping)
    if any(isinstance(value, str | dict | list) for value in wrapping) or any(map(_is_ending, node)):
        return True
    plainly = [meaning(key) for key, value in node.items() if not _holds_text(value)]
    return len(plainly) < len(node) and all(not said.side and said.part in _NOT_SAYING for said in plainly)


def _is_own_box(value: Any, key: object) -> bool:
    return not (isinstance(value, str) and len(value) > _SHORT) and box_of(value, key) is not None


def _open_list(node: list[Any], found: Opened, depth: int) -> None:
    if node and all(isinstance(part, str) for part in node):
        several = len(node) > 1 and all(map(_is_whole, node))
        found.choices += (len(node) - 1) * several
        found.answers.append(node[0] if several or len(node) == 1 else node)
    elif len(node) == 1 and isinstance(node[0], list) and box_of(node[0]) is None:
        _open(node[0], found, depth)
    elif is_chat(node):
        for turn in _last_turns(node):
            _open(turn, found, depth)
    elif node and all(isinstance(part, dict) and (_type(part) in BLOCKS or _is_wrapper(part)) for part in node):
        if any(_is_alternative(part) for part in node):
            _open_first(node, found, depth)
        else:
            _open_blocks(node, found, depth)
    elif not node or any(isinstance(part, dict | list) for part in node):
        found.answers.append(node)


def _is_whole(text: str) -> bool:
    """Whether a text is a whole answer, a list in a fence or alone, as each of several drawn from a model is."""
    value = parsed(_FENCED.sub(r"\1", text))
    while isinstance(value, dict) and len(value) == 1:
        (value,) = value.values()
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _open_first(choices: list[dict[Any, Any]], found: Opened, depth: int) -> None:
    """Open the first of several answers that is one, and no error as of an attempt that failed."""
    for i, choice in enumerate(choices):
        inner = Opened()
        _open(choice, inner, depth)
        if inner.answers or i == len(choices) - 1:
            found.answers += inner.answers
            found.is_cut, found.error = found.is_cut or inner.is_cut, found.error or inner.error
            found.reason, found.choices = found.reason or inner.reason, found.choices + len(choices) - 1 - i
            return


def _is_alternative(part: dict[Any, Any]) -> bool:
    """Whether a part is one of several answers, and not a part of one."""
    return "index" in part or not {"type", "text", "functionCall", "function", "thought"}.intersection(part)


def _open_blocks(blocks: list[dict[Any, Any]], found: Opened, depth: int) -> None:
    """Open the blocks of one message: texts belong together, and so do calls, which count for more."""
    texts: list[Any] = []
    calls: list[Any] = []
    for block in blocks:
        inner = Opened()
        _open(block, inner, depth)
        found.is_cut, found.error = found.is_cut or inner.is_cut, found.error or inner.error
        is_call = _type(block) in CALLS or not {"function", "functionCall"}.isdisjoint(block)
        (calls if is_call else texts).extend(inner.answers)
    for parts in (texts, calls):
        if all(isinstance(part, str) for part in parts):
            between = "\n" if "type" in blocks[0] else ""
            parts = [between.join(parts)] if parts else []
        found.answers += parts if len(parts) < 2 or parts is texts else [parts]


def _last_turns(turns: list[Any]) -> list[dict[Any, Any]]:
    """What the model said last: its turns behind everyone else's last one."""
    last = max((i for i, turn in enumerate(turns) if (_speaker(turn) or "model") not in MODEL), default=-1)
    spoken = [turn for turn in turns[last + 1 :] if isinstance(turn, dict)]
    if spoken:
        return spoken
    return [turn for turn in turns if _speaker(turn) in MODEL][-1:]


def _speaker(turn: Any) -> str:
    if not isinstance(turn, dict):
        return ""
    return next((turn[key].lower() for key in SPEAKERS if isinstance(turn.get(key), str)), "")


def _type(node: dict[Any, Any]) -> str:
    return str(node.get("type", ""))


def _is_ending(key: object) -> bool:
    return is_error(key) or (isinstance(key, str) and plain(key) in STOPPED)


def _note_end(node: dict[Any, Any], found: Opened) -> None:
    """Note why an answer ended, whether it is cut, or is an error."""
    failure = ""
    for key, value in node.items():
        name = plain(key) if isinstance(key, str) else ""
        if name in STOPPED:
            reasons = value.values() if isinstance(value, dict) else [value]
            said = [reason for reason in reasons if isinstance(reason, str)]
            found.reason = found.reason or next(iter(said), "")
            found.is_cut |= any(reason.lower() in LENGTH for reason in said)
        elif is_error(key) and value:
            found.error = found.error or _error_name(value)
        elif name in ("type", "status") and isinstance(value, str) and value.lower() in FAILURES:
            failure = value
    found.error = found.error or failure


def _error_name(error: Any) -> str:
    """What an error is called: its code, else its type, else its message."""
    if isinstance(error, list) and error:
        return _error_name(error[0])
    if not isinstance(error, dict):
        return str(error)
    inner = error.get("error")
    if isinstance(inner, dict):
        return _error_name(inner)
    return next((str(error[name]) for name in _ERROR_NAMES if error.get(name)), "error")
