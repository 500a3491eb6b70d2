"""Raw replies of vision-language models: what of a text is the answer, and what of the answer is data.

Thinking is dropped; of several drafts the last complete one counts; clean JSON is parsed as it is, and anything else
by a reader that never fails and says what it lost.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import msgspec

from shoe.core.io.tolerant import Found, values_in
from shoe.predictions.vlm.boxes import box_of

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
