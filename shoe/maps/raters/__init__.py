"""Kinds of raters, one file each or for a few: what settings they have, and how they answer questions.

A kind is a subclass of :class:`~shoe.maps.config.RaterConfig`. Its docstring begins with one line that says who
rates, its fields are what raters.toml may say, and ``backend`` makes it work. Its file imports nothing heavy when it is
loaded: extras are imported where they are used.
"""

from __future__ import annotations

from importlib import import_module

from shoe.core.errors import unknown_name
from shoe.maps.config import RaterConfig

KINDS = {
    "openai": "shoe.maps.raters.openai:OpenAI",
    "openai-batch": "shoe.maps.raters.openai:OpenAIBatch",
    "transformers": "shoe.maps.raters.local:Transformers",
    "embedding": "shoe.maps.raters.baselines:Embedding",
    "lexical": "shoe.maps.raters.baselines:Lexical",
    "learned": "shoe.maps.raters.baselines:Learned",
    "table": "shoe.maps.raters.table:Table",
    "people": "shoe.study.raters_and_people:People",
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
