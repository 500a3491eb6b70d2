"""What raters.toml holds: who rates, with which settings, at what price, and how the raters share the work."""

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
    """Describe a field of raters.toml that a kind has for itself.

    Args:
        key: whether it takes part in the key under which answers are kept.
        reads: whether it says how answers become ratings: two such raters can share their answers.
        bounds: on its values, as ``msgspec.Meta`` has them.
    """
    return msgspec.Meta(description=meaning, extra={"key": key, "reads": reads}, **bounds)


class Backend(Protocol):
    """One rater at work."""

    def rate(self, groups: Iterator[Group], recorder: Recorder) -> None:
        """Ask every group, in any order and with any parallelism, taking groups from the iterator only as needed.

        Returns when all groups were answered or given up, or when the recorder says to stop.
        """

    def parse(self, ids: Sequence[str], raw: Mapping[str, Any]) -> list[int]:
        """Read ratings out of what ``Recorder.answer`` was given; a pure function of its arguments.

        Returns:
            Per id, one per question of the group, a rating 0 to 4; ``State.REFUSED``, or ``State.REFUSED_TOGETHER`` if
            there are several ids; or ``State.UNPARSED_ONCE`` where there is none to be found.
        """


class RaterConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rater; each kind is a subclass with the settings of its own.

    Attributes:
        kind: what raters.toml calls the class.
        interactions: whether it answers about whole interactions, though it reads none.
        chats: whether it is asked in a chat, with ``sampling`` and ``pairs_per_request``.
        divisible: whether several processes may ask it at the same time.
        is_local: whether it is a model that runs where it is asked.
        name: of its column in the map.
        model: what the endpoint or library calls it.
        revision: of the model, where it has one.
        pairs_per_request: 1 is the paper's way.
        repeats: how often each pair is asked; more than one makes columns NAME-1, NAME-2, ...
        sampling: passed on as they are (temperature, max_tokens, seed, ...).
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
        """Return JSON of what else can change its answers (the hash of a file's content)."""
        return {}


def own_settings(kind: type[RaterConfig]) -> dict[str, msgspec.inspect.Metadata]:
    """Return what :func:`setting` says of the fields that a kind has for itself."""
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
    """Everything about a rater that can change its answers, as JSON has it; no prompt, no pair, no secret."""
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
    """How answers become ratings, where settings say so: no part of a key, for no answer depends on it."""
    return _settings(config, "reads")


class Ensemble(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How raters share the work (the paper: one model sees all verb pairs, the others only what it did not rate 0).

    Attributes:
        prefilter: parts of speech where pairs that the first rater rates 0 go no further.
        sample: how many of those zeros the others are shown all the same, to measure how far they disagree.
    """

    prefilter: tuple[Part, ...] = ("verb",)
    sample: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 400
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] = 0


class RatersFile(msgspec.Struct, frozen=True):
    """All of raters.toml."""

    raters: tuple[RaterConfig, ...]
    ensemble: Ensemble = Ensemble()
    currency: str = "USD"
