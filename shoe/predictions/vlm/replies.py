"""Raw replies of vision-language models: what tools wrapped around them, which part is the answer, and which is data.

Thinking is dropped; of several drafts the last complete one counts; clean JSON is parsed as it is, and anything else
by a reader that never fails and says what it lost.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import msgspec

from shoe.core.io.tolerant import Found, values_in
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

_THINKING = re.compile(r"<(/?)(?:think|thinking|reasoning|analysis|thought|scratchpad|reflection)>|◁(/?)think▷", re.I)
_ANSWER = re.compile(
    r"<(answer|final_answer|final|output|result|response)>(.*?)(?:</\1>|\Z)|<\|begin_of_box\|>(.*?)(?:<\|end_of_box\|>|\Z)",
    re.DOTALL | re.I,
)
# What a prompt and the start of an answer are divided by in text that holds both.
_TURN = re.compile(
    r"<\|im_start\|>assistant|<\|start_header_id\|>assistant<\|end_header_id\|>|<start_of_turn>model|<\|assistant\|>"
    r"|\[/INST\]|(?:\A|\n|\s)ASSISTANT:|\n(?:assistant|model)\n|\n?Assistant:|<\|channel\|>final<\|message\|>"
)
_MAY_TURN = re.compile(r"ssistant|ASSISTANT|model|INST|final")
# Tokens of chat templates, by their look; those around words and boxes stay.
_END = re.compile(
    r"<｜[^<>]{1,40}｜>|<\|(?!/?(?:ref|det|object_ref|box|quad|point|grounding)\b|(?:object_ref|box|quad|point)_)[^<>|]{1,40}\|>"
    r"|</?s>|<(?:eos|bos|pad|unk|(?:start|end)_of_(?:turn|text))>"
)
_FENCE = re.compile(r"```[ \t]*[\w+-]*[ \t]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_DRAFT = re.compile(
    r"\b(?:final|correct(?:ed|ion)|revis(?:ed|ion|ing)|refined|updated?|actually|wait|instead|improved|draft"
    r"|double[- ]check\w*|on second thought|let me (?:re|fix|check))\b",
    re.I,
)
_NONE = re.compile(
    r"(?:none|nothing|n/?a|null|empty|\[\s*\]"
    r"|(?:(?:there|i) (?:is|are|was|were|see|can see|found) |i (?:do not|don't|cannot|can't) see any )?"
    r"(?:no |any )?(?:\w+[ -]){0,4}?"
    r"(?:interactions?|relations?|relationships?|triplets?|hois?|people|persons?|humans?|objects?)"
    r"(?: (?:\w+)){0,8})",
    re.I,
)
_DENIES = re.compile(r"\b(?:no|none|nothing|n/?a|null|empty|not|don't|cannot|can't)\b|\[\s*\]", re.I)
_REFUSES = re.compile(
    r"\b(?:sorry|apologi[sz]e|as an ai|against (?:my|our) (?:policy|policies|guidelines)"
    r"|(?:can(?:no|['’])?t|can not|won['’]t|will not|unable to|not able to|not comfortable) "
    r"(?:help|assist|identify|provide|comply|fulfill?|answer|do (?:that|this)|process|view|analy[sz]e|generate|describe"
    r"|determine|detect|identifying|providing))\b",
    re.I,
)
_BOXLIKE = re.compile(r"(?:\d[\s,.]+){3}\d|[{\[]")
_LONGEST_REFUSAL = 1000
_ESCAPED = re.compile(r"&(?:quot|#34|#x22);")
_ESCAPED_LINE = re.compile(r"[\[{,]\\n\s*[\[{\"'\d]")
# The last are of no width.
_TYPOGRAPHIC = str.maketrans("“”„‟，：；【】", '"""",:;[]', "\u200b\u200c\u200d\u2060\ufeff")


@dataclass(frozen=True, slots=True)
class Reply:
    """What one reply holds.

    Attributes:
        values: its parsed values, those that count.
        pool: all of its parsed values: what relations may point to.
        text: the answer without thinking, in which boxes may stand that are no data.
        fixed: whether it was more or less than one clean value.
        damaged: whether a value that counts is no JSON as it stands, so that only what is complete of it was read.
        lost: items that begin but are not complete.
        drafts: how many other lists or drafts were passed over.
        says_none: whether it says in words that there is no interaction.
    """

    values: list[Any] = field(default_factory=list)
    pool: list[Any] = field(default_factory=list)
    text: str = ""
    fixed: bool = False
    damaged: bool = False
    lost: int = 0
    drafts: int = 0
    says_none: bool = False


def reply_of(text: str, count: Callable[[Any, list[Any]], int]) -> Reply:
    """Read a reply.

    Args:
        text: as the model wrote it.
        count: how many interactions a value holds, given all values of the reply.
    """
    clean = parsed(text)
    if isinstance(clean, dict | list):
        return Reply([clean], [clean], text)
    if isinstance(clean, str) and clean != text:  # JSON text that holds JSON
        return reply_of(clean, count)
    if _ESCAPED.search(text) and '"' not in text:
        return replace(reply_of(html.unescape(text), count), fixed=True, damaged=True)
    answer = answer_of(text)
    if (quotes := answer.count('"')) and quotes == answer.count('\\"'):  # JSON inside a string, without its quotes
        answer = answer.replace('\\"', '"').replace("\\n", "\n")
        if isinstance(clean := parsed(answer), dict | list):
            return Reply([clean], [clean], answer)
    elif "\n" not in answer and _ESCAPED_LINE.search(answer):
        answer = answer.replace("\\n", "\n")
    if not answer.isascii():
        answer = answer.translate(_TYPOGRAPHIC)
    fences = _FENCE.findall(answer)
    if len(fences) == 1 and isinstance(clean := parsed(fences[0]), dict | list):
        return Reply([clean], [clean], answer, fixed=False)
    return _scanned(answer, count, in_fences=bool(fences))


def parsed(text: str) -> Any:
    """The value of clean JSON, None for anything else."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def answer_of(text: str) -> str:
    """The answer in a reply: without the prompt before it and the thinking around it."""
    if (
        "<" in text
        or "ssistant" in text
        or "ASSISTANT" in text
        or "\nmodel\n" in text
        or "[/INST]" in text
        or "◁" in text
    ):
        *_, last = [None, *_TURN.finditer(text)] if _MAY_TURN.search(text) else (None,)
        text = text[last.end() :] if last is not None else text
        text = _without_thinking(text)
        held = [match[2] if match[2] is not None else match[3] for match in _ANSWER.finditer(text)]
        *_, text = [text, *(inner for inner in held if box_of(inner.strip()) is None)]
        text = _END.sub(" ", text)
    return text.strip()


def _without_thinking(text: str) -> str:
    """A text without its thoughts: between tags, before a closing tag alone, after an opening tag alone."""
    parts: list[str] = []
    start, is_open = 0, False
    for tag in _THINKING.finditer(text):
        if not (tag[1] or tag[2]):
            parts += [] if is_open else [text[start : tag.start()]]
            is_open = True
        else:
            parts = parts if is_open else []
            start, is_open = tag.end(), False
    return " ".join([*parts, "" if is_open else text[start:]])


@lru_cache(4096)
def says_none(text: str) -> bool:
    """Whether a text says that there are no interactions."""
    plain = text.strip().strip(".!*\"'` ") if len(text) < 150 else ""
    return _NONE.fullmatch(plain) is not None and _DENIES.search(plain) is not None


def refuses(text: str) -> bool:
    """Whether a text says that the model will not or cannot answer."""
    return len(text) <= _LONGEST_REFUSAL and not _BOXLIKE.search(text) and _REFUSES.search(text) is not None


def _scanned(text: str, count: Callable[[Any, list[Any]], int], *, in_fences: bool) -> Reply:
    """Read data anywhere in a text; drafts are told from parts."""
    found = _clean_value(text) or values_in(text)
    pool = [part.value for part in found if part.value is not None]
    counts = [0 if part.value is None else count(part.value, pool) for part in found]
    held = [i for i, number in enumerate(counts) if number]
    lost = sum(part.lost for part in found)
    if not held:
        empty = [part.value for part in found if _is_blank(text, part) or _lists_nothing(part.value)]
        lost = lost if "{" in text else 0
        return Reply(
            empty[:1] or [v for v in pool if v and (isinstance(v, dict) or isinstance(v[0], str))],
            pool,
            text,
            bool(empty),
            lost=lost,
            says_none=says_none(text),
        )
    is_again = all(found[i].value == found[held[0]].value for i in held)
    if len(held) > 1 and (is_again or not _are_parts(text, found, counts, held)):
        whole = [i for i in held if found[i].is_whole] or held
        last = found[whole[-1]]
        return Reply([last.value], pool, text, True, _is_damaged(text, last), last.lost, len(held) - 1)
    damaged = any(_is_damaged(text, found[i]) for i in held)
    return Reply([found[i].value for i in held], pool, text, True, damaged, lost)


def _is_damaged(text: str, part: Found) -> bool:
    return part.lost > 0 or parsed(text[part.start : part.end]) is None


def _clean_value(text: str) -> list[Found]:
    """The one clean JSON value that has all brackets of a text; none if there are others, or it is not clean."""
    start, end = min(_at(text, "{"), _at(text, "[")), max(text.rfind("}"), text.rfind("]")) + 1
    value = parsed(text[start:end]) if start < end else None
    return [Found(value, start, end)] if isinstance(value, dict | list) else []


def _at(text: str, mark: str) -> int:
    return text.find(mark) % (len(text) + 1)


def _is_blank(text: str, part: Found) -> bool:
    return part.value in ([], {}) and not text[part.start + 1 : part.end - 1].strip()


def _lists_nothing(value: Any) -> bool:
    return isinstance(value, dict) and bool(value) and all(inner == [] for inner in value.values())


def _are_parts(text: str, found: list[Found], counts: list[int], held: list[int]) -> bool:
    """Whether values are parts of one answer, one interaction or person each, and not drafts of it."""
    if any(counts[i] != 1 and isinstance(found[i].value, list) for i in held):
        return False
    between = [text[found[a].end : found[b].start] for a, b in pairwise(held)]
    if any(_DRAFT.search(gap) for gap in between):
        return False
    return all(isinstance(found[i].value, dict) for i in held) or all(counts[i] == 1 for i in held)


# What a tool put around an answer: its responses, choices, blocks, calls and chats, opened by what they hold.
#
# A wrapper is an object that has no box of its own and says nothing of an interaction. Below it every text and every
# structure with boxes may be the answer, but for what was asked, thought, paid, or would be right.

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
