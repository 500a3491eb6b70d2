"""Shows the examples of docstrings as code on the docs site; mkdocstrings takes this file as an extension of griffe."""

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"(?:^(?: *)>>> .*\n?(?:.*\S.*\n?)*)", re.MULTILINE)


class DoctestFences(griffe.Extension):
    """Puts each run of lines from ``>>>`` to the next blank line into a fence."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for each object that was read."""
        if obj.docstring:
            obj.docstring.value = _EXAMPLE.sub(_fenced, obj.docstring.value)


def _fenced(found: re.Match[str]) -> str:
    text = found[0].rstrip("\n")
    margin = " " * (len(text) - len(text.lstrip(" ")))
    return f"{margin}```pycon\n{text}\n{margin}```\n"
