"""Back ends, which answer questions about pictures: one interface, and settings that take part in the keys of answers.

Raw answers are kept in one form: OpenAI's chat completion, with the logarithms of raw probabilities of each token and
of the likeliest others (``choices[0].logprobs.content``); see :mod:`shoe.predict.confidence`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any, ClassVar, Protocol, Self

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
"""Back ends by name, and where they are. Their modules import extras only where they use them."""


def backend_of(name: str) -> type[BackendConfig]:
    """Load a back end by its name."""
    if name not in BACKENDS:
        raise unknown_name("back end", name, BACKENDS)
    module, _, kind = BACKENDS[name].partition(":")
    found: type[BackendConfig] = getattr(import_module(module), kind)
    return found


class Backend(Protocol):
    """A model, ready to be asked."""

    def ask(self, asks: Iterator[Ask], recorder: Recorder) -> None:
        """Answer questions, each kept by the recorder as soon as it is answered.

        Args:
            asks: taken as there is room for them; those about one picture come one after the other.
            recorder: asked whether there may be one more, told each answer in the form of the module, or failure.

        Raises:
            ShoeError: when no further question makes sense.
        """


class BackendConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a back end; each kind is a subclass with those of its own.

    Attributes:
        kind: what ``--backend`` calls the class.
        asks: whether answers are paid for, by request.
        model: as hub, folder or endpoint calls it.
        revision: of the model, where it has one.
        most_tokens: most tokens of an answer.
        top: how many of the likeliest tokens are kept at each place, with the logarithms of their probabilities.
        price: of tokens.
    """

    kind: ClassVar[str]
    asks: ClassVar[bool] = False

    model: str
    revision: str = ""
    most_tokens: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 32
    top: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 20
    price: Price = Price()

    def identity(self) -> dict[str, Any]:
        """Return JSON of all that can change an answer."""
        return {
            "kind": self.kind,
            "model": self.model,
            "revision": self.revision,
            "decoding": {"greedy": True, "most_tokens": self.most_tokens, "top": self.top},
            **self.more(),
        }

    def more(self) -> Mapping[str, Any]:
        """Return what else can change an answer: precision, address, hash of a folder's files."""
        return {}

    def sampling(self) -> Mapping[str, Any]:
        """Return the parameters that bound an answer, for what it may cost."""
        return {"max_tokens": self.most_tokens}

    @property
    def at_once(self) -> int:
        """How many questions are asked at once."""
        raise NotImplementedError

    def one_of(self, workers: int) -> Self:
        """Return the settings of one of several workers that ask at the same time."""
        return self

    def check(self) -> None:
        """See what can be seen of the settings before anything is opened or loaded."""

    def open(self) -> Backend:
        """Make the back end; a model is loaded here."""
        raise NotImplementedError
