"""Kinds of raters, one file each or for a few: what settings they have, and how they answer questions.

A kind is a subclass of :class:`~shoe.rating.config.RaterConfig`. Its docstring begins with one line that says who
rates, its fields are what raters.toml may say, and ``backend`` makes it work. Its file imports nothing heavy when it is
loaded: extras are imported where they are used.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import NamedTuple

import msgspec

from shoe.core.errors import unknown_name
from shoe.rating.config import RaterConfig, own_settings

KINDS = {
    "openai": "shoe.rating.kinds.openai:OpenAI",
    "openai-batch": "shoe.rating.kinds.openai:OpenAIBatch",
    "transformers": "shoe.rating.kinds.transformers:Transformers",
    "embedding": "shoe.rating.kinds.embedding:Embedding",
    "lexical": "shoe.rating.kinds.lexical:Lexical",
    "table": "shoe.rating.kinds.table:Table",
}
"""Kinds of raters by their names in raters.toml, and where they are."""


def kind_of(name: str) -> type[RaterConfig]:
    """Load a kind of rater by its name in raters.toml.

    Raises:
        OptionError: for a name that does not exist.
    """
    if name not in KINDS:
        raise unknown_name("kind of rater", name, KINDS)
    module, _, kind = KINDS[name].partition(":")
    found: type[RaterConfig] = getattr(import_module(module), kind)
    return found


def about(name: str) -> str:
    """Say in one line who rates."""
    return str(kind_of(name).__doc__).split("\n")[0].rstrip(".")


class Setting(NamedTuple):
    """One field of raters.toml that kinds have for themselves; ``default`` in words: "needed" where there is none."""

    name: str
    kinds: tuple[str, ...]
    default: str
    meaning: str


def settings() -> Iterator[Setting]:
    """List the settings of all kinds; one that several kinds share comes once."""
    users: dict[tuple[str, str], Setting] = {}
    for kind in KINDS:
        fields = {field.name: field for field in msgspec.structs.fields(kind_of(kind))}
        for name, told in own_settings(kind_of(kind)).items():
            value = fields[name].default
            value = list(value) if isinstance(value, tuple) else value
            default = "needed" if value is msgspec.NODEFAULT else str(value) and f"`{value}`"
            meaning = str((told.extra_json_schema or {}).get("description", ""))
            before = users.get((name, default), Setting(name, (), default, meaning))
            users[name, default] = before._replace(kinds=(*before.kinds, kind))
    yield from users.values()
