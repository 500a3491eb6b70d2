"""Interface and settings of back ends, which run a vision-language model or send requests to one.

All raw answers are chat completions in the format of OpenAI, with the log probabilities of each token and of the
likeliest alternatives (``choices[0].logprobs.content``); see :func:`shoe.predict.records.read_completion`.
"""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any, ClassVar, Self

import msgspec

from shoe.core.errors import unknown_name
from shoe.llm.budget import Price
from shoe.llm.request import Recorder
from shoe.predict.questions import Ask

BACKENDS = {
    "transformers": "shoe.predict.backends.transformers:Transformers",
    "endpoint": "shoe.predict.backends.endpoint:Endpoint",
    "vllm": "shoe.predict.backends.vllm:VLLM",
}
"""Module and class of each back end by name. The modules import optional dependencies only when they use them."""


def backend_of(name: str) -> "type[BackendConfig]":
    """Return the settings class of the back end with a name; raise OptionError if the name is unknown."""
    if name not in BACKENDS:
        raise unknown_name("back end", name, BACKENDS)
    module, _, kind = BACKENDS[name].partition(":")
    config: type[BackendConfig] = getattr(import_module(module), kind)
    return config


Backend = Callable[[Iterator[Ask], Recorder], None]
"""Function that answers questions, grouped by image, and records each answer or failure immediately.

The iterator of questions is read only as needed. The recorder also decides whether a question may be sent. The function
raises ShoeError if all further questions would fail.
"""


class BackendConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a back end; each back end has a subclass with additional settings.

    Attributes:
        kind: name of the back end in ``--backend``.
        asks: whether requests are sent to an endpoint, which may charge for requests.
        model: name of the model on the hub or at the endpoint, or a folder.
        revision: revision of the model on the hub; "" for the default revision.
        most_tokens: maximum number of tokens of an answer.
        top: number of likeliest tokens per position whose log probabilities are recorded.
        price: price of tokens; None if unknown.
    """

    kind: ClassVar[str]
    asks: ClassVar[bool] = False

    model: str
    revision: str = ""
    most_tokens: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 32
    top: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 20
    price: Price | None = None

    def identity(self) -> dict[str, Any]:
        """Return all settings that can change an answer, as JSON."""
        return {
            "kind": self.kind,
            "model": self.model,
            "revision": self.revision,
            "decoding": {"greedy": True, "most_tokens": self.most_tokens, "top": self.top},
            **self.own_identity(),
        }

    def own_identity(self) -> Mapping[str, Any]:
        """Return the additional settings of a back end that can change an answer, such as precision and file hashes."""
        return {}

    def sampling(self) -> Mapping[str, Any]:
        """Return the parameters of each request. Their limit on answer tokens, ``max_tokens``, bounds the cost."""
        return {"max_tokens": self.most_tokens}

    @property
    def at_once(self) -> int:
        """Number of questions that are processed at the same time."""
        raise NotImplementedError

    def per_worker(self, workers: int) -> Self:
        """Return the settings for one of ``workers`` concurrent workers; by default, ``self``."""
        return self

    def check(self) -> None:
        """Validate the settings without loading a model; raise OptionError if a setting is invalid."""

    def open(self) -> Backend:
        """Return the back end, with the model loaded."""
        raise NotImplementedError
