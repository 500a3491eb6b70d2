"""Content of raters.toml: raters with their settings and prices, and how they share the work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Protocol

import msgspec

from shoe.lexicon.expressions import Part
from shoe.llm.budget import Price
from shoe.llm.limits import Limits
from shoe.llm.request import Recorder
from shoe.maps.prompts import Group, Prompts

SCHEME = 1
"""Version of keys."""
NAME_RULE = "1 to 40 letters, digits and _ . : -, a letter or digit first"
_NAME = r"^(?!(class_)?synset$)[A-Za-z0-9][A-Za-z0-9_.:-]{0,39}$"


def setting(meaning: str, *, key: bool = True, reads: bool = False, **bounds: Any) -> msgspec.Meta:
    """Describe a field of raters.toml that one kind of rater has.

    Args:
        key: whether it is part of the key under which answers are kept.
        reads: whether it only affects how answers become ratings: two such raters can share their answers.
        bounds: bounds of its values, as in ``msgspec.Meta``.
    """
    return msgspec.Meta(description=meaning, extra={"key": key, "reads": reads}, **bounds)


class Backend(Protocol):
    """A rater, ready to rate."""

    def rate(self, groups: Iterator[Group], recorder: Recorder) -> None:
        """Ask every group, in any order and in parallel, taking groups from the iterator only as needed.

        Returns when all groups were answered or given up, or when the recorder says to stop.
        """

    def parse(self, ids: Sequence[str], raw: Mapping[str, Any]) -> list[int]:
        """Read ratings from a raw answer; a pure function of its arguments.

        Returns:
            Per ID, one per question of the group, a rating 0 to 4; ``State.REFUSED``, or ``State.REFUSED_TOGETHER`` if
            there are several IDs; or ``State.UNPARSED_ONCE`` if the answer has none.
        """


class RaterConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rater; each kind is a subclass with its own settings.

    Attributes:
        kind: name of the class in raters.toml.
        interactions: whether it rates whole interactions, though it reads no prompt.
        chats: whether it is asked in a chat, with ``sampling`` and ``pairs_per_request``.
        divisible: whether several processes may ask it at the same time.
        is_local: whether the model runs in the asking process.
        name: name of its column in the map.
        model: the endpoint's or library's name of the model.
        revision: revision of the model, where it has one.
        pairs_per_request: 1 in the SHOE paper.
        repeats: how often each pair is asked; more than one makes columns NAME-1, NAME-2, ...
        sampling: parameters passed on unchanged (temperature, max_tokens, seed, ...).
    """

    kind: ClassVar[str]
    prompted: ClassVar[bool] = True
    interactions: ClassVar[bool] = False
    chats: ClassVar[bool] = False
    divisible: ClassVar[bool] = True
    is_local: ClassVar[bool] = False

    name: Annotated[str, msgspec.Meta(pattern=_NAME)]
    model: str
    revision: str = ""
    pairs_per_request: Annotated[int, msgspec.Meta(ge=1, le=100)] = 1
    repeats: Annotated[int, msgspec.Meta(ge=1, le=100)] = 1
    sampling: dict[str, Any] = {}
    price: Price = Price()
    limits: Limits = Limits()

    @property
    def columns(self) -> list[str]:
        """Names of its columns in a map: its own, or one for each repeat."""
        return [self.name] if self.repeats == 1 else [f"{self.name}-{n}" for n in range(1, self.repeats + 1)]

    def backend(self, prompts: Prompts) -> Backend:
        """Make the rater; nothing is loaded and no key is read before it rates."""
        raise NotImplementedError

    def identity(self) -> Mapping[str, Any]:
        """Return JSON of further data that can change its answers (the hash of a file's content)."""
        return {}


def own_settings(kind: type[RaterConfig]) -> dict[str, msgspec.inspect.Metadata]:
    """Return the descriptions by :func:`setting` of the fields that a kind has for itself."""
    info = msgspec.inspect.type_info(kind)
    assert isinstance(info, msgspec.inspect.StructType)  # noqa: S101 - for the type checker
    common = RaterConfig.__struct_fields__
    return {
        field.name: field.type
        for field in info.fields
        if field.name not in common and isinstance(field.type, msgspec.inspect.Metadata)
    }


def _settings(config: RaterConfig, what: str) -> dict[str, Any]:
    own = own_settings(type(config))
    return {name: getattr(config, name) for name, about in own.items() if about.extra and about.extra[what]}


def identity_of(config: RaterConfig) -> dict[str, Any]:
    """Return, as JSON, everything about a rater that can change its answers; no prompt, no pair, no secret."""
    return {
        "scheme": SCHEME,
        "kind": config.kind,
        "model": config.model,
        "revision": config.revision,
        "pairs_per_request": config.pairs_per_request,
        "sampling": config.sampling,
        "settings": _settings(config, "key") | dict(config.identity()),
    }


def reading_of(config: RaterConfig) -> dict[str, Any]:
    """Return the settings that affect only how answers become ratings; they are not part of a key."""
    return _settings(config, "reads")


class Ensemble(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How raters share the work (SHOE paper: one model rates all verb pairs, the others those that it did not rate 0).

    Attributes:
        prefilter: parts of speech where pairs that the first rater rates 0 are not shown to the others.
        sample: number of those zeros that the others rate all the same, to measure their disagreement.
    """

    prefilter: tuple[Part, ...] = ("verb",)
    sample: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 400
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] = 0


class RatersFile(msgspec.Struct, frozen=True):
    """Content of a raters.toml."""

    raters: tuple[RaterConfig, ...]
    ensemble: Ensemble = Ensemble()
    currency: str = "USD"
