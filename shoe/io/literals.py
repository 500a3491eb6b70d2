"""Python values written out as text, turned into JSON without running them.

CDN and GEN-VLKT write their results as JSON text that holds ``str(...)`` of a dict: single quotes, and from NumPy 2 on
``np.float32(0.9)``. Such files have hundreds of megabytes, so the text is split at its string literals, what is
between them is rewritten by a few substitutions over everything at once, and the JSON parser does the rest.
"""

import re
import warnings
from pathlib import Path
from typing import Any

import msgspec

from shoe.core.errors import InputError, quote
from shoe.io.json import parse_json

_STRING = re.compile(r"""('[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*")""", re.DOTALL)
# None of these can be part of the text between string literals.
_SEAM = "\x00"
# What shows that a rewriting is needed, and the rewriting; in this order.
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


def is_literal(start: bytes) -> bool:
    """Tell whether text begins like a written-out dict, or list of dicts, whose keys are in single quotes."""
    return re.match(rb"\[?\s*\{\s*'", start) is not None


def parse_literal(path: str | Path, text: str) -> Any:
    """Parse a written-out value of dicts, lists, tuples, numbers, strings and small NumPy arrays.

    Raises:
        InputError: if there is anything else in it.
    """
    parts = _STRING.split(text)
    try:
        strings = {literal: _as_json(literal) for literal in set(parts[1::2])}
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise InputError(path, found="a damaged string", expected="a written-out Python value") from None
    code = _SEAM.join(part.replace(_SEAM, " ") for part in parts[0::2])
    for mark, pattern, replacement in _REWRITES:
        if mark in code:
            code = pattern.sub(replacement, code)
    parts[0::2] = code.split(_SEAM)
    parts[1::2] = [strings[literal] for literal in parts[1::2]]
    try:
        data = "".join(parts).encode()
    except UnicodeEncodeError:
        raise InputError(path, found="text that is no valid Unicode", expected="a written-out Python value") from None
    document = parse_json(path, data)
    if isinstance(document, str):
        raise InputError(path, found=quote(document), expected="records")
    return document


def _as_json(literal: str) -> str:
    """Turn one string literal into JSON; nothing but a string literal gets here."""
    from ast import literal_eval

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about escapes that Python does not know
        value = literal_eval(literal.replace("\n", "\\n").replace("\r", "\\r"))
    return msgspec.json.encode(value).decode()
