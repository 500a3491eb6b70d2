"""Raw replies of vision-language models: find the answer inside wrappers of tools, and the data in the answer.

Reasoning is dropped. Of several drafts, the last complete draft counts. Valid JSON is parsed by a JSON parser; other
text by a tolerant parser that never fails and counts the items that it could not read.
"""

import html
import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import msgspec
from msgspec.structs import replace

from shoe.core.io.json import repeated_key
from shoe.core.io.tolerant import FoundObject, values_in
from shoe.lexicon.phrases.words import patterns
from shoe.predictions import field_names
from shoe.predictions.field_names import holds_data, is_error, is_metadata, is_truth, meaning
from shoe.predictions.vlm.boxes import box_of, verdict_of
from shoe.predictions.vlm.denials import REPLY, compiled, denies, says_none
from shoe.predictions.vlm.images import plain

_ANSWER_KEYS = {"answer", "prediction", "result", "choice", "output", "conclusion"}
_THINKING, _NUMBERED, _DRAFT, _HEADING, _LAST = compiled("thinking numbered draft heading last", re.I)
_ANSWER = re.compile(patterns("answer", REPLY), re.DOTALL | re.I)
# Separators of prompt and answer in text that holds both.
_TURN, _END, _ESCAPED, _ESCAPED_LINE, _MAY_TURN, _OPENS = compiled(
    "turn token escaped escaped_line may_turn opens_fence"
)
# Special tokens of chat templates, except those around words and boxes.
_CHECKBOX = re.compile(r"^([ \t]*+(?:(?:[-*+]|\d+[.)])[ \t]*+)?)\[([ xX]?)\](?=[ \t]+[^\s,\]}])", re.MULTILINE)
_FENCE, _FENCED = compiled("fence fenced", re.DOTALL)
# The third argument removes zero-width characters.
_TYPOGRAPHIC = str.maketrans("“”„‟，：；【】", '"""",:;[]', "\u200b\u200c\u200d\u2060\ufeff")


class Reply(msgspec.Struct, frozen=True):
    """Content of one reply."""

    values: list[Any] = []  # parsed values of the answer, without skipped drafts
    pool: list[Any] = []  # all parsed values, in which references to boxes are looked up
    text: str = ""  # the answer without reasoning
    fixed: bool = False  # whether the values were found by a search in text, not as one JSON value (perhaps in a fence)
    damaged: bool = False  # whether one of the values is invalid JSON, of which only complete parts were read
    lost: int = 0  # number of incomplete items, which were not read
    drafts: int = 0  # number of skipped drafts: values with interactions before the last one
    says_none: bool = False  # whether the text states that there are no interactions


def reply_of(text: str, count: Callable[[Any, list[Any]], int]) -> Reply:
    """Parse a reply; ``count`` returns the number of interactions in a value, given the value and all values."""
    clean = parse_json_text(text)
    if isinstance(clean, dict) and (said := _answer_beside_reasoning(clean)):
        return reply_of(said, count)
    if isinstance(clean, dict | list):
        return Reply([clean], [clean], text)
    if isinstance(clean, str) and clean != text:  # JSON text that holds JSON
        return reply_of(clean, count)
    if _ESCAPED.search(text) and '"' not in text:
        return replace(reply_of(html.unescape(text), count), fixed=True, damaged=True)
    answer = answer_of(text)
    if (quotes := answer.count('"')) and quotes == answer.count('\\"'):  # JSON inside a string, without its quotes
        answer = answer.replace('\\"', '"').replace("\\n", "\n")
        if isinstance(clean := parse_json_text(answer), dict | list):
            return Reply([clean], [clean], answer)
    elif "\n" not in answer and _ESCAPED_LINE.search(answer):
        answer = answer.replace("\\n", "\n")
    if not answer.isascii():
        answer = answer.translate(_TYPOGRAPHIC)
    fences = _FENCE.findall(answer)
    if len(fences) == 1 and isinstance(clean := parse_json_text(fences[0]), dict | list):
        return Reply([clean], [clean], answer, fixed=False)
    return _scan_text(answer, count, in_fences=bool(fences))


def _answer_beside_reasoning(record: dict[Any, Any]) -> str:
    """Return the only answer among texts without role, as in {"reasoning": "...", "answer": "pet"}; else ""."""
    texts = {key: value for key, value in record.items() if isinstance(value, str)}
    answers = [value for key, value in texts.items() if not _ANSWER_KEYS.isdisjoint(meaning(key).words)]
    roles = any(meaning(key).side or meaning(key).part for key, value in texts.items() if value not in answers)
    is_answer = len(texts) == len(record) > 1 == len(answers) and not roles and verdict_of(answers[0]) is None
    return answers[0] if is_answer else ""


def parse_json_text(text: str) -> Any:
    """Return the parsed value of JSON text; None for "null", repeated keys, too deeply nested JSON and other text."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return None if isinstance(value, dict | list) and repeated_key(text.encode(), value) else value


def answer_of(text: str) -> str:
    """Return the answer in a reply, without prompt and reasoning; check boxes such as ``[x]`` become ☑ or ☐."""
    if any(mark in text for mark in ("<", "ssistant", "ASSISTANT", "\nmodel\n", "[/INST]", "◁", "\\boxed", "####")):
        *_, last = [None, *_TURN.finditer(text)] if _MAY_TURN.search(text) else (None,)
        text = _without_thinking(text[last.end() :] if last is not None else text)
        held = [next(filter(None, match.groups()[1:]), "") for match in _ANSWER.finditer(text)]
        *_, text = [text, *(inner for inner in held if box_of(inner.strip()) is None)]
        text = _END.sub(" ", text)
    text = _NUMBERED.sub("", text)
    return _CHECKBOX.sub(lambda box: box[1] + ("☑" if box[2].strip() else "☐"), text).strip()


def _without_thinking(text: str) -> str:
    """Return a text without reasoning: between reasoning tags, before a lone closing tag, after a lone opening tag."""
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


def _scan_text(text: str, count: Callable[[Any, list[Any]], int], *, in_fences: bool) -> Reply:
    """Parse the data anywhere in a text. Of several drafts, only the last is kept; of an answer in parts, all parts."""
    start, end = min(text.find(mark) % (len(text) + 1) for mark in "{["), max(text.rfind("}"), text.rfind("]")) + 1
    clean = parse_json_text(text[start:end]) if start < end else None  # one clean JSON value that spans all brackets
    found = [FoundObject(clean, start, end)] if isinstance(clean, dict | list) else values_in(text)
    gaps = (text[start : part.start] for start, part in zip([0, *(part.end for part in found)], found, strict=False))
    heads = [_OPENS.sub("", gap).rstrip("* \n").rpartition("\n")[2] for gap in gaps]
    kept = [part for part, head in zip(found, heads, strict=True) if not (head.endswith(":") and denies(head))]
    found = kept or found  # without "Discarded: [...]"
    pool = [part.value for part in found if part.value is not None]
    counts = [0 if part.value is None else count(part.value, pool) for part in found]
    with_items = [i for i, number in enumerate(counts) if number]
    lost = sum(part.lost for part in found)
    if not with_items:
        empty = [part.value for part in found if _is_blank(text, part) or _lists_nothing(part.value)]
        lost = lost if "{" in text else 0
        values = empty[:1] or [v for v in pool if v and (isinstance(v, dict) or isinstance(v[0], str))]
        return Reply(values, pool, text, bool(empty), lost=lost, says_none=says_none(text))
    for part in found[with_items[-1] + 1 :]:
        gap, keys = text[found[with_items[-1]].end : part.start], _lists_nothing(part.value) and list(part.value)
        is_empty = _is_blank(text, part) or (keys and meaning(keys[0]).part in ("verb", "phrase"))
        if is_empty and (_DRAFT.search(gap) or _LAST.search(gap)):  # "Draft: [...] Final: []"
            return Reply([part.value], pool, text, True, drafts=len(with_items))
    are_equal = all(found[i].value == found[with_items[0]].value for i in with_items)
    if len(with_items) > 1 and (are_equal or not _are_parts_of_one(text, found, counts, with_items)):
        complete = [i for i in with_items if found[i].is_whole] or with_items
        last = found[complete[-1]]
        return Reply([last.value], pool, text, True, _is_damaged(text, last), last.lost, len(with_items) - 1)
    damaged = any(_is_damaged(text, found[i]) for i in with_items)
    return Reply([found[i].value for i in with_items], pool, text, True, damaged, lost)


def _is_damaged(text: str, part: FoundObject) -> bool:
    return part.lost > 0 or parse_json_text(text[part.start : part.end]) is None


def _is_blank(text: str, part: FoundObject) -> bool:
    return part.value in ([], {}) and not text[part.start : part.end].strip("[]{} \n\t\r")


def _lists_nothing(value: Any) -> bool:
    return isinstance(value, dict) and bool(value) and all(inner == [] for inner in value.values())


def _are_parts_of_one(text: str, found: list[FoundObject], counts: list[int], with_items: list[int]) -> bool:
    """Return whether values are parts of one answer (one interaction or person each), and not drafts."""
    starts = [0, *(found[i].end for i in with_items)]
    heads = [_HEADING.search(text, start, found[i].start) for start, i in zip(starts, with_items, strict=False)]
    if len({head[1] for head in heads if head}) == len(heads):  # "Person 1: [...] Person 2: [...]"
        return True
    if any(counts[i] != 1 and isinstance(found[i].value, list) for i in with_items):
        return False
    if any(_DRAFT.search(text[found[a].end : found[b].start]) for a, b in pairwise(with_items)):
        return False
    return all(isinstance(found[i].value, dict) for i in with_items) or all(counts[i] == 1 for i in with_items)


# Wrappers are objects of tools around an answer (responses, choices, content blocks, tool calls, chats). They have no
# box and no words of an interaction. Every text and every structure with boxes inside may be the answer, except
# prompts, reasoning, metadata and ground truth.

_DEEPEST = 12
_SHORT = 200
_NEUTRAL_PARTS = ("", "id", "label", "image")
_BLOCK_KEYS = {"type", "text", "functionCall", "function", "thought"}
_ERROR_NAMES = ("code", "type", "status", "reason", "message", "error")


class Wrapper(msgspec.Struct):
    """Possible answers in a record or API response, and how the generation ended."""

    answers: list[Any] = []  # texts and structures that may be the answer, the most likely last
    earlier: list[Any] = []  # answers of the model in earlier turns of the chat
    choices: int = 0  # number of choices (sampled answers) after the first choice with an answer, which are ignored
    is_cut: bool = False  # whether the model stopped at its length limit
    error: str = ""  # name of the error that the record has instead of an answer
    reason: str = ""  # finish reason; "" if unknown

    def add_ending(self, other: "Wrapper") -> None:
        """Add whether another wrapper was cut, and its error and finish reason unless this wrapper has its own."""
        self.is_cut |= other.is_cut
        self.error, self.reason = self.error or other.error, self.reason or other.reason


def open_wrapper(node: Any) -> Wrapper:
    """Return the possible answers in an API response; a value that is not an API response is itself the answer."""
    wrapper = Wrapper()
    _open(node, wrapper, 0)
    if not wrapper.answers and not wrapper.error and node is not None:
        wrapper.error = wrapper.reason
        wrapper.answers += [] if wrapper.reason else [node]
    return wrapper


def open_other_keys(record: dict[Any, Any], excluded: Iterable[object]) -> Wrapper:
    """Return the possible answers in a record under all keys except ``excluded``, ground truth, metadata and images."""
    wrapper = Wrapper()
    _note_ending(record, wrapper)
    for key, value in record.items():
        is_reply = meaning(key).words[:1] == ("model",) and isinstance(value, str) and holds_data(value)  # "model_b"
        is_other = meaning(key).part == "image" or (is_metadata(key) and not is_reply) or is_truth(key, value)
        if key in excluded or is_other:
            continue
        if holds_box(value) or _holds_text(value):
            _open(value, wrapper, 1)
    return wrapper


def is_chat(node: Any) -> bool:
    """Return whether a value is a list of chat messages with a key such as "role"."""
    return isinstance(node, list) and any(_speaker(turn) for turn in node)


def holds_box(node: Any, depth: int = 0) -> bool:
    """Return whether a JSON value is or contains a box; metadata and texts of over 200 characters are not searched."""
    if isinstance(node, str):
        return len(node) <= _SHORT and box_of(node) is not None
    if depth > _DEEPEST or not isinstance(node, dict | list):
        return False
    if box_of(node) is not None:
        return True
    if isinstance(node, dict):
        return any(not is_metadata(key) and holds_box(value, depth + 1) for key, value in node.items())
    return any(isinstance(value, dict | list | str) and holds_box(value, depth + 1) for value in node)


def _holds_text(node: Any, depth: int = 0) -> bool:
    if isinstance(node, str):
        return holds_data(node)
    if depth > _DEEPEST or not isinstance(node, dict | list):
        return False
    if isinstance(node, list):
        return any(_holds_text(value, depth + 1) for value in node)
    return any(_holds_text(v, depth + 1) for k, v in node.items() if not is_metadata(k) and not is_truth(k, v))


def _open(node: Any, wrapper: Wrapper, depth: int) -> None:
    if isinstance(node, str):
        wrapper.answers.append(node)
    elif depth > _DEEPEST:
        return
    elif isinstance(node, list):
        _open_list(node, wrapper, depth + 1)
    elif isinstance(node, dict):
        _note_ending(node, wrapper)
        if not _is_wrapper(node):
            wrapper.answers.append(node)
        elif _type(node) not in field_names.THOUGHTS and node.get("thought") is not True:
            _open_object(node, wrapper, depth + 1)


def _open_object(node: dict[Any, Any], wrapper: Wrapper, depth: int) -> None:
    is_call = _type(node) in field_names.CALLS
    for key, value in node.items():
        name = plain(key) if isinstance(key, str) else ""
        is_argument = is_call and name == "input"
        if not value or key in field_names.SPEAKERS or is_truth(key, value) or (is_metadata(key) and not is_argument):
            continue
        if name in field_names.WRAPPERS or (
            holds_data(value) if isinstance(value, str) else isinstance(value, dict | list)
        ):
            _open(value, wrapper, depth)


def _is_wrapper(node: dict[Any, Any]) -> bool:
    short = ((key, value) for key, value in node.items() if not isinstance(value, str) or len(value) <= _SHORT)
    if any(isinstance(value, list | dict | str) and box_of(value, key) is not None for key, value in short):
        return False
    inner = [
        value for key, value in node.items() if value and isinstance(key, str) and plain(key) in field_names.WRAPPERS
    ]
    if holds_box(node):
        return any(holds_box(value) for value in inner)
    is_ending = any(is_error(key) or (isinstance(key, str) and plain(key) in field_names.STOPPED) for key in node)
    if is_ending or any(isinstance(value, str | dict | list) for value in inner):
        return True
    neutral = [meaning(key) for key, value in node.items() if not _holds_text(value)]
    return len(neutral) < len(node) and all(not info.side and info.part in _NEUTRAL_PARTS for info in neutral)


def _open_list(node: list[Any], wrapper: Wrapper, depth: int) -> None:
    if node and all(isinstance(part, str) for part in node):
        several = len(node) > 1 and all(map(_is_complete_answer, node))
        wrapper.choices += (len(node) - 1) * several
        wrapper.answers.append(node[0] if several or len(node) == 1 else node)
    elif len(node) == 1 and isinstance(node[0], list) and box_of(node[0]) is None:
        _open(node[0], wrapper, depth)
    elif is_chat(node):
        last, earlier = _last_turns(node), Wrapper()
        for turn in (turn for turn in node if turn in last or _speaker(turn) in field_names.MODEL):
            _open(turn, wrapper if turn in last else earlier, depth)
        wrapper.earlier += earlier.answers
    elif node and all(
        isinstance(part, dict) and (_type(part) in field_names.BLOCKS or _is_wrapper(part)) for part in node
    ):
        # Each part is a complete answer if a part has an index, or no key of a block of one answer.
        if any("index" in part or _BLOCK_KEYS.isdisjoint(part) for part in node):
            _open_first(node, wrapper, depth)
        else:
            _open_blocks(node, wrapper, depth)
    elif not node or any(isinstance(part, dict | list) for part in node):
        wrapper.answers.append(node)


def _is_complete_answer(text: str) -> bool:
    """Return whether a text is a JSON list of objects, with or without a code fence: one of several sampled answers."""
    value = parse_json_text(_FENCED.sub(r"\1", text))
    while isinstance(value, dict) and len(value) == 1:
        (value,) = value.values()
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _open_first(choices: list[dict[Any, Any]], wrapper: Wrapper, depth: int) -> None:
    """Add the first choice with an answer to ``wrapper``; if all are errors of failed attempts, add the last choice."""
    for i, choice in enumerate(choices):
        inner = Wrapper()
        _open(choice, inner, depth)
        if inner.answers or i == len(choices) - 1:
            wrapper.answers += inner.answers
            wrapper.add_ending(inner)
            wrapper.choices += len(choices) - 1 - i
            return


def _open_blocks(blocks: list[dict[Any, Any]], wrapper: Wrapper, depth: int) -> None:
    """Add the blocks of one message to ``wrapper``: the joined texts, then the tool calls, which are preferred."""
    texts: list[Any] = []
    calls: list[Any] = []
    for block in blocks:
        inner = Wrapper()
        _open(block, inner, depth)
        wrapper.add_ending(inner)
        is_call = _type(block) in field_names.CALLS or not {"function", "functionCall"}.isdisjoint(block)
        (calls if is_call else texts).extend(inner.answers)
    for parts in (texts, calls):
        if all(isinstance(part, str) for part in parts):
            between = "\n" if "type" in blocks[0] else ""
            parts = [between.join(parts)] if parts else []
        wrapper.answers += parts if len(parts) < 2 or parts is texts else [parts]


def _last_turns(turns: list[Any]) -> list[dict[Any, Any]]:
    """Return the turns after the last turn of another speaker than the model; if none, the model's last turn."""
    last = max((i for i, turn in enumerate(turns) if (_speaker(turn) or "model") not in field_names.MODEL), default=-1)
    answer_turns = [turn for turn in turns[last + 1 :] if isinstance(turn, dict)]
    return answer_turns or [turn for turn in turns if _speaker(turn) in field_names.MODEL][-1:]


def _speaker(turn: Any) -> str:
    keys = field_names.SPEAKERS if isinstance(turn, dict) else ()
    return next((turn[key].lower() for key in keys if isinstance(turn.get(key), str)), "")


def _type(node: dict[Any, Any]) -> str:
    return str(node.get("type", ""))


def _note_ending(node: dict[Any, Any], wrapper: Wrapper) -> None:
    """Record the finish reason, truncation and error of an object in ``wrapper``."""
    failure = ""
    for key, value in node.items():
        name = plain(key) if isinstance(key, str) else ""
        if name in field_names.STOPPED:
            reasons = value.values() if isinstance(value, dict) else [value]
            texts = [reason for reason in reasons if isinstance(reason, str)]
            wrapper.reason = wrapper.reason or next(iter(texts), "")
            wrapper.is_cut |= any(reason.lower() in field_names.LENGTH for reason in texts)
        elif is_error(key) and value:
            wrapper.error = wrapper.error or _error_name(value)
        elif name in ("type", "status") and isinstance(value, str) and value.lower() in field_names.FAILURES:
            failure = value
    wrapper.error = wrapper.error or failure


def _error_name(error: Any) -> str:
    if isinstance(error, list) and error:
        return _error_name(error[0])
    if not isinstance(error, dict):
        return str(error)
    names = (
        [inner] if isinstance(inner := error.get("error"), dict) else [error[n] for n in _ERROR_NAMES if error.get(n)]
    )
    return _error_name(names[0]) if names else "error"
