"""Content of raters.toml: raters with their settings and prices, and the pairs that only the first rater rates."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Protocol

import msgspec

from shoe.lexicon.senses import Part
from shoe.llm.budget import Price
from shoe.llm.ledger import comparable
from shoe.llm.limits import Limits
from shoe.llm.request import Recorder
from shoe.maps.prompts import Group, Prompts

SCHEME = 1
"""Version of the format from which answer keys are computed."""
NAME_RULE = "1 to 40 letters, digits and _ . : -, a letter or digit first"
_NAME = r"^(?!(class_)?synset$)[A-Za-z0-9][A-Za-z0-9_.:-]{0,39}$"


def setting(meaning: str, *, key: bool = True, reads: bool = False, **bounds: Any) -> msgspec.Meta:
    """Return the annotation of a field that declares a setting of one kind of rater in raters.toml.

    ``bounds`` are those of ``msgspec.Meta``.

    Args:
        key: whether stored answers become invalid if the field's value changes.
        reads: whether the field only affects how stored answers are converted to ratings. Raters that differ only in
            such fields share their answers.
    """
    return msgspec.Meta(description=meaning, extra={"key": key, "reads": reads}, **bounds)


class Backend(Protocol):
    """Interface of a rater's implementation: it answers questions, and parses the stored answers."""

    def rate(self, groups: Iterator[Group], recorder: Recorder) -> None:
        """Answer all groups of questions, in any order or in parallel, and pass the answers to the recorder.

        A group is taken from the iterator only when it can be sent. Return when every group is answered or has finally
        failed, or when ``recorder.stopping`` becomes True.
        """

    def parse(self, ids: Sequence[str], raw: Mapping[str, Any]) -> list[int]:
        """Parse the stored answer ``raw``: return a rating 0 to 4 per ID, or a negative state if there is no rating.

        The state is ``UNPARSED_ONCE``, or ``UNPARSABLE`` if a second answer would be equal; or, if the rater declined
        to answer, ``REFUSED`` (``REFUSED_TOGETHER`` for several IDs). The result depends only on the arguments.
        """


class RaterConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of one rater; each kind of rater is a subclass with additional settings.

    Attributes:
        prompted: whether the rater reads prompts. Such a rater can also rate whole interactions.
        interactions: whether the rater can rate whole interactions although it reads no prompts.
        chats: whether the rater is a chat endpoint; only these have ``sampling`` and ``pairs_per_request``.
        divisible: whether several processes may query the rater at the same time.
        is_local: whether the rater loads a model into the process that sends the questions.
        name: name of the rater, and of its column in the map.
        model, revision: name of the model at the endpoint or in the library, and its version, which may be empty.
        pairs_per_request: number of pairs per request; 1 in the SHOE paper.
        repeats: number of times that each pair is rated; with more than 1, the columns are NAME-1, NAME-2, ...
        sampling: parameters passed to the endpoint unchanged (temperature, max_tokens, seed, ...).
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
    price: Price | None = None
    limits: Limits = Limits()

    @property
    def columns(self) -> list[str]:
        """Names of the rater's columns in a map: NAME; or NAME-1, NAME-2, ... if each pair is rated several times."""
        return [self.name] if self.repeats == 1 else [f"{self.name}-{n}" for n in range(1, self.repeats + 1)]

    def backend(self, prompts: Prompts) -> Backend:
        """Return the implementation of the rater; it loads models and API keys when it answers its first question."""
        raise NotImplementedError

    def identity(self) -> Mapping[str, Any]:
        """Return {name: value} of data, besides settings, on which answers depend, such as a file's hash; or {}."""
        return {}


def own_settings(kind: type[RaterConfig]) -> dict[str, msgspec.inspect.Metadata]:
    """Return {name: annotation} of the settings that this kind of rater adds to :class:`RaterConfig`."""
    info = msgspec.inspect.type_info(kind)
    assert isinstance(info, msgspec.inspect.StructType)  # noqa: S101 - for the type checker
    own = (field for field in info.fields if field.name not in RaterConfig.__struct_fields__)
    return {field.name: field.type for field in own if isinstance(field.type, msgspec.inspect.Metadata)}


def _settings(config: RaterConfig, use: str) -> dict[str, Any]:
    own = own_settings(type(config))
    return {name: getattr(config, name) for name, about in own.items() if about.extra and about.extra[use]}


def identity_of(config: RaterConfig) -> dict[str, Any]:
    """Return the settings from which answer keys are computed: all that answers depend on, except the prompts."""
    settings = _settings(config, "key") | dict(config.identity())
    found = {"scheme": SCHEME, "kind": config.kind, "model": settings.pop("served_as", "") or config.model}
    found |= {name: getattr(config, name) for name in ("revision", "pairs_per_request", "sampling")}
    return comparable(found | {"settings": settings})


def conversion_settings(config: RaterConfig) -> dict[str, Any]:
    """Return {name: value} of the settings that only affect how a rater's stored answers are converted to ratings."""
    return _settings(config, "reads")


class Ensemble(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Prefilter of pairs: the other raters skip pairs that the first rater rated 0, as in the SHOE paper.

    Attributes:
        prefilter: parts of speech in which the other raters skip the pairs that the first rater rated 0.
        sample: number of these pairs that the other raters rate nevertheless, to measure the error of the prefilter.
        seed: random seed of this sample.
    """

    prefilter: tuple[Part, ...] = ("verb",)
    sample: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 400
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] = 0


class RatersFile(msgspec.Struct, frozen=True):
    """Content of a raters.toml: raters in file order, prefilter (``ensemble``), and currency of prices."""

    raters: tuple[RaterConfig, ...]
    ensemble: Ensemble = Ensemble()
    currency: str = "USD"
