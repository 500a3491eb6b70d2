"""Tolerant parser for dicts and lists in replies of language models: JSON, Python literals and similar; it never fails.

The parser accepts extra and missing commas, comments, single quotes, bare words, calls such as ``np.float32(0.5)``, and
truncated text; for an unclosed dict or list, it returns the complete items. Time is linear in the length of the text.
"""

import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from shoe.core.errors import InputError, quote
from shoe.core.io.json import parse_json

_OPENER = re.compile(
    r"[\[{]|\((?=\s*(?:[\"'\[(]|(?:[A-Za-z_]\w{0,60}=[-+.\w]{1,20},\s{0,9}){0,9}[A-Za-z_]\w{0,60}=(?:[\"'\[({]|[A-Za-z_]\w{0,60}\()))"
)
# A quote ends a string only if a value may end there, so that "a man's bag" in single quotes is one string.
_TOKEN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z)|\#(?=\s)[^\n]*)
    | (?P<mark>[\[\]{}(),:])
    | "(?P<double>(?:[^"\\\n]|\\.|"(?!\s{0,9}(?:[,:\]})\n]|\Z)))*)"
    | '(?P<single>(?:[^'\\\n]|\\.|'(?!\s{0,9}(?:[,:\]})\n]|\Z)))*)'
    | (?P<number>[-+]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?(?=[\s,\]}):/]|\Z))
    | (?P<keyword>[A-Za-z_]\w{0,60}+=(?=[\s"'\[({\w.-]))
    | (?P<bare>[^\s\[\]{}(),:"'/]+|["'/])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_CONSTANTS = {
    **dict.fromkeys(("null", "None", "NaN", "nan", "undefined", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_CLOSERS = {"{": "}", "[": "]", "(": ")"}
_NOTHING = object()
_DEEPEST = 24
_TOO_DEEP = 100  # nested brackets, more than any answer has; the innermost ones without content are dropped


@dataclass(frozen=True, slots=True)
class FoundObject:
    """Dict or list found in a text, with plain values, or None if no item is complete.

    ``start`` and ``end`` are the indices of the first character in the text and after the last. ``is_whole`` is whether
    the text contains the closing bracket. ``lost`` incomplete dicts are left out; nested ones count as one.
    """

    value: Any
    start: int
    end: int
    is_whole: bool = True
    lost: int = 0


@dataclass(slots=True)
class _Frame:
    """Open bracket with the items read so far.

    ``is_keyed`` is whether the items are keys with values; ``keyless`` are dicts and lists without a key among them.
    ``value`` is the last value, which is not yet an item, with its ``key`` if any.
    """

    opener: str
    start: int
    call: bool = False
    is_keyed: bool = False
    items: list[Any] = field(default_factory=list)
    keyless: list[Any] = field(default_factory=list)
    key: Any = _NOTHING
    value: Any = _NOTHING
    is_bare: bool = False
    lost: int = 0

    def take(self, value: Any, *, is_bare: bool = False) -> None:
        """Add the next value. Consecutive bare words are joined to one text; other values are separate items."""
        if is_bare and self.is_bare and isinstance(self.value, str):
            self.value = f"{self.value} {value}"
            return
        if self.is_keyed and self.key is _NOTHING and isinstance(self.value, str) and isinstance(value, list | dict):
            self.name()  # a colon is missing
        elif self.value is not _NOTHING:
            self.next()
        self.value, self.is_bare = value, is_bare

    def name(self) -> None:
        """Use the last value as the key of the next value."""
        if not self.is_keyed and self.is_bare:
            self.take(":", is_bare=True)
            return
        if self.key is not _NOTHING and self.value is not _NOTHING:  # a comma is missing before this key
            self.take(_NOTHING)
        self.key, self.value, self.is_bare = self.value, _NOTHING, False

    def keyword(self, word: str) -> None:
        """Add a keyword argument name, as in a call or the repr of an object: "box" in box=[1, 2, 3, 4]."""
        self.is_keyed |= self.opener == "(" and not self.items and self.value is _NOTHING
        if self.is_keyed:
            self.take(word)
            self.name()
        else:
            self.take(word, is_bare=True)

    def next(self) -> None:
        value = _CONSTANTS.get(self.value, self.value) if self.is_bare else self.value
        if self.is_keyed:
            if self.key is not _NOTHING and value is not _NOTHING and isinstance(self.key, str | int | float):
                self.items.append((str(self.key), value))
            elif isinstance(value, list | dict) and self.key is _NOTHING:
                self.keyless.append(value)
        elif value is not _NOTHING:
            self.items.append(value)
        self.key, self.value, self.is_bare = _NOTHING, _NOTHING, False

    def closed(self) -> Any:
        """Return the closed bracket: a dict (with a list for a repeated key), a list, or the argument of a call."""
        self.next()
        if self.is_keyed:
            if self.keyless and not self.items:  # braces around a value, as in \\boxed{[...]}, or doubled braces
                return self.keyless[0] if len(self.keyless) == 1 else self.keyless
            values: dict[str, list[Any]] = {}
            for key, value in self.items:
                values.setdefault(key, []).append(value)
            return {key: each[0] if all(v == each[0] for v in each) else each for key, each in values.items()}
        return self.items[0] if self.call and self.items else self.items


def values_in(text: str, start: int = 0) -> list[FoundObject]:
    """Return the outermost dicts and lists in a text from index ``start`` on, also truncated ones; [] if none.

    >>> [found.value for found in values_in("Sure: {'verb': 'ride', 'box': (1, 2, 3, 4),} # done")]
    [{'verb': 'ride', 'box': [1, 2, 3, 4]}]
    """
    found: list[FoundObject] = []
    stack: list[_Frame] = []
    position, end = start, len(text)
    unclosed = {'"': 0, "'": 0}  # position up to which a quote is known to start no string
    while position < end and len(stack) < _TOO_DEEP:
        if not stack:
            if (opener := _OPENER.search(text, position)) is None:
                break
            position = opener.start()
        if position < unclosed.get(text[position], 0):
            position += 1
            continue
        if (token := _TOKEN.match(text, position)) is None:  # a lone backslash at the end
            break
        position, kind, word = token.end(), token.lastgroup, token[0]
        if kind in ("space", "comment"):
            continue
        if word in unclosed:
            unclosed[word] = text.find("\n", position) % (end + 1)
        elif kind == "keyword":
            stack[-1].keyword(word[:-1])
        elif kind != "mark":
            stack[-1].take(_scalar(str(kind), token), is_bare=kind == "bare")
        elif word in "[{(":
            is_call = word == "(" and bool(stack) and _drop_call(stack[-1])
            stack.append(_Frame(word, token.start(), is_call, word == "{"))
        elif word == ":":
            stack[-1].name()
        elif word == ",":
            stack[-1].next()
        else:
            _close(stack, word, found, position)
    if len(stack) == _TOO_DEEP:
        while stack and not stack[-1].items:
            stack.pop()
        for frame in stack[-1:]:
            frame.lost += 1
    while stack:
        _cut(stack, found, end)
    return found


def _scalar(kind: str, token: re.Match[str]) -> Any:
    if kind == "number":
        word = token[0]
        try:
            return int(word) if word.lstrip("+-").isdigit() and len(word) < 19 else float(word)
        except (ValueError, OverflowError):
            return word
    if kind == "bare":
        return token[0]
    inner = token[kind]
    return _ESCAPE.sub(_unescaped, inner) if "\\" in inner else inner


def _unescaped(match: re.Match[str]) -> str:
    word = match[1]
    if word[0] in "ux" and len(word) > 1:
        letter = chr(int(word[1:], 16))
        return letter if not "\ud800" <= letter <= "\udfff" else "\ufffd"
    return _ESCAPES.get(word, word)


def _drop_call(frame: _Frame) -> bool:
    """Drop the name before an opening parenthesis, as in np.float32(0.5); return whether there was a name."""
    if frame.is_bare and isinstance(frame.value, str):
        frame.value, frame.is_bare = _NOTHING, False
        return True
    return False


def _close(stack: list[_Frame], closer: str, found: list[FoundObject], position: int) -> None:
    """Close the innermost frames up to the frame that ``closer`` matches; ignore a bracket without a match."""
    depths = range(len(stack), max(len(stack) - _DEEPEST, 0), -1)
    depth = next((depth for depth in depths if _CLOSERS[stack[depth - 1].opener] == closer), 0)
    while depth and len(stack) >= depth:
        frame = stack.pop()
        _add_value(stack, frame, frame.closed(), found, position, is_whole=True)


def _cut(stack: list[_Frame], found: list[FoundObject], end: int) -> None:
    """Close the innermost frame at the end ``end`` of a truncated text, and leave out incomplete items."""
    frame = stack.pop()
    if not isinstance(frame.value, dict | list):
        frame.value = _NOTHING
    if frame.is_keyed:
        frame.is_bare = False
        value: Any = frame.closed()
        if not any(isinstance(inner, list) and any(isinstance(v, dict) for v in inner) for inner in value.values()):
            frame.lost = max(frame.lost, 1)  # brackets open inside each other are one incomplete item
            value = _NOTHING
    else:
        value = ([] if frame.call else [item for item in frame.closed() if isinstance(item, dict | list)]) or _NOTHING
    _add_value(stack, frame, value, found, end, is_whole=False)


def _add_value(
    stack: list[_Frame], frame: _Frame, value: Any, found: list[FoundObject], position: int, *, is_whole: bool
) -> None:
    if stack:
        stack[-1].lost += frame.lost
        if value is not _NOTHING and len(stack) < _DEEPEST:
            stack[-1].take(value)
    elif value is not _NOTHING or frame.lost:
        found.append(FoundObject(None if value is _NOTHING else value, frame.start, position, is_whole, frame.lost))


# Python literals in text, converted to JSON. CDN and GEN-VLKT write JSON strings with ``str(...)`` of a dict: single
# quotes, and since NumPy 2 ``np.float32(0.9)``. Such files have hundreds of megabytes, so the text is split at its
# string literals, the text between these is rewritten by a few substitutions, and the JSON parser reads the result.

_STRING = re.compile(r"""('[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*")""", re.DOTALL)
_SEAM = "\x00"  # cannot occur in the text between string literals
# Text that shows that a substitution is needed, the pattern and its replacement; applied in this order.
_REWRITES = [
    ("(", re.compile(r"\b(?:np|numpy)\.(?:float|int|uint)\d*\(([^()\[\]\x00]*)\)"), r"\1"),
    ("array(", re.compile(r"(?<=\d)\.(?!\d)"), ".0"),
    ("array(", re.compile(r",\s*dtype=[\w.]+(?=\s*\))"), ""),
    ("array(", re.compile(r"\b(?:np\.|numpy\.)?array\("), "("),
    ("(", re.compile(r",(?=\s*[)\]}])"), ""),
    ("(", re.compile(r"\((?=\s*\[)([^()]*)\)"), r"\1"),
    ("(", re.compile(r"\("), "["),
    (")", re.compile(r"\)"), "]"),
    ("None", re.compile(r"\bNone\b"), "null"),
    ("True", re.compile(r"\bTrue\b"), "true"),
    ("False", re.compile(r"\bFalse\b"), "false"),
    ("nan", re.compile(r"\bnan\b"), "NaN"),
    ("inf", re.compile(r"\binf\b"), "Infinity"),
]


def parse_literal(path: str | Path, text: str) -> Any:
    """Parse the ``repr`` of dicts and lists (tuples and small arrays become lists); InputError for other text."""
    parts = _STRING.split(text)
    try:
        strings = {literal: _as_json(literal) for literal in set(parts[1::2])}
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise InputError(path, found="a damaged string", expected="a Python literal") from None
    code = _SEAM.join(part.replace(_SEAM, " ") for part in parts[0::2])
    for mark, pattern, replacement in _REWRITES:
        if mark in code:
            code = pattern.sub(replacement, code)
    parts[0::2] = code.split(_SEAM)
    parts[1::2] = [strings[literal] for literal in parts[1::2]]
    try:
        data = "".join(parts).encode()
    except UnicodeEncodeError:
        raise InputError(path, found="text that is not valid Unicode", expected="a Python literal") from None
    document = parse_json(path, data)
    if isinstance(document, str):
        raise InputError(path, found=quote(document), expected="a list of records")
    return document


def _as_json(literal: str) -> str:
    from ast import literal_eval

    with warnings.catch_warnings(action="ignore"):  # about invalid escapes
        value = literal_eval(literal.replace("\n", "\\n").replace("\r", "\\r"))
    return msgspec.json.encode(value).decode()
