"""Kinds of raters: their settings, and the code that answers questions.

A kind is a subclass of :class:`~shoe.maps.config.RaterConfig`. The first line of its docstring describes the rater to
users, its fields are the settings in raters.toml, and ``backend`` returns its implementation.
"""

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
"""Module and class of each kind of rater, by its name in raters.toml."""


def kind_of(name: str) -> type[RaterConfig]:
    """Return the class of a kind of rater, given its name in raters.toml; raise OptionError if the name is unknown."""
    if name not in KINDS:
        raise unknown_name("kind of rater", name, KINDS)
    module, _, kind = KINDS[name].partition(":")
    found: type[RaterConfig] = getattr(import_module(module), kind)
    return found
