"""One file for each kind of rater: what its settings are, and how it answers questions.

A kind's module imports nothing heavy when it is loaded (its extras are imported where they are used) and has

- ``SETTINGS``: {name: :class:`Setting`}, the fields of its own in raters.toml;
- ``backend(config, prompts)``: returns the :class:`~shoe.rating.questions.Backend`;

and where the default does not fit:

- ``MODEL``: what stands for the model if raters.toml names none (default: None, it has to);
- ``PROMPTED``: whether it answers prompts (default: True). One that does not takes no ``sampling`` and no
  ``pairs_per_request``: it gets its questions in groups of any size;
- ``identity(config)``: a JSON object of what else can change its answers (the hash of a file's content).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from shoe.core.errors import unknown_name

if TYPE_CHECKING:
    from shoe.rating.config import RaterConfig
    from shoe.rating.prompts import Prompts
    from shoe.rating.questions import Backend

REQUIRED: Any = object()
"""Default of a setting that has none."""


class Setting(NamedTuple):
    """One field of raters.toml that a kind has for itself.

    Attributes:
        type: str, int, float (takes whole numbers too), bool, dict (a TOML table), list, or Path (from raters.toml's
            folder if relative).
        default: its value if absent, or ``REQUIRED``.
        meaning: one line.
        changes_answers: whether it takes part in the key under which answers are kept.
        choices: the values that it can have; any of its type if empty.
        reads_answers: whether it says how answers become ratings: two such raters can share their answers.
    """

    type: type
    default: Any
    meaning: str
    changes_answers: bool = True
    choices: tuple[Any, ...] = ()
    reads_answers: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    """What a kind's module says of itself; see the module's text. ``about`` is its first line."""

    name: str
    about: str
    settings: Mapping[str, Setting]
    backend: Callable[[RaterConfig, Prompts], Backend]
    model: str | None
    prompted: bool
    identity: Callable[[RaterConfig], Mapping[str, Any]]


KINDS = {
    "openai": "openai",
    "openai-batch": "openai_batch",
    "transformers": "transformers",
    "embedding": "embedding",
    "lexical": "lexical",
    "table": "table",
}
"""Kinds of raters, and the files beside this one that hold them."""


def kind_of(name: str) -> Kind:
    """Load a kind of rater by its name in raters.toml.

    Raises:
        OptionError: for a name that does not exist.
    """
    if name not in KINDS:
        raise unknown_name("kind of rater", name, KINDS)
    module = import_module(f"{__name__}.{KINDS[name]}")
    return Kind(
        name=name,
        about=str(module.__doc__).split("\n")[0].removeprefix(f"Kind ``{name}``: ").rstrip("."),
        settings=module.SETTINGS,
        backend=module.backend,
        model=getattr(module, "MODEL", None),
        prompted=getattr(module, "PROMPTED", True),
        identity=getattr(module, "identity", lambda config: {}),
    )
