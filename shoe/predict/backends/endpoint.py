"""Back end ``endpoint``: any endpoint that speaks OpenAI's chat completions with pictures (vLLM's server, hosted ones).

Pictures are sent as PNG, without loss, inside the request. Probabilities are asked for by ``logprobs``; an endpoint
that has none for a model answers without, or refuses with a line that says so. vLLM gives raw probabilities as it
stands (its ``--logprobs-mode``); where a server reads a model's own settings, ``--generation-config vllm`` keeps
penalties out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import msgspec

from shoe.core.errors import OptionError, quote
from shoe.llm.client import Pass
from shoe.llm.endpoint import OFFICIAL, address
from shoe.llm.endpoint import Endpoint as Address
from shoe.llm.limits import Limits
from shoe.llm.request import OURS, Chat, Recorder
from shoe.predict.backends import Backend, BackendConfig
from shoe.predict.questions import Ask


class Endpoint(BackendConfig, frozen=True, kw_only=True):
    """A model behind an address.

    Attributes:
        base_url: the address, up to what comes before /chat/completions.
        api_key_env: environment variable with its key; OPENAI_API_KEY for the official endpoint.
        parameters: of each request, beside or in place of ours; null takes one of ours out, as an endpoint may ask.
        limits: of the endpoint.
    """

    kind: ClassVar[str] = "endpoint"
    asks: ClassVar[bool] = True

    base_url: str = OFFICIAL
    api_key_env: str = ""
    parameters: dict[str, Any] = msgspec.field(default_factory=dict)
    limits: Limits = Limits()

    def more(self) -> Mapping[str, Any]:
        """Return the address and the parameters."""
        return {"base_url": self.base_url.rstrip("/"), "parameters": self.parameters}

    def sampling(self) -> Mapping[str, Any]:
        """Return the parameters of a request."""
        ours = {"temperature": 0.0, "max_tokens": self.most_tokens, "logprobs": True, "top_logprobs": self.top}
        return {name: value for name, value in {**ours, **self.parameters}.items() if value is not None}

    @property
    def at_once(self) -> int:
        """The number of requests at a time, at most."""
        return self.limits.concurrency

    def one_of(self, workers: int) -> Self:
        """Divide the limits, which are the endpoint's."""
        return msgspec.structs.replace(self, limits=self.limits.divided(workers))

    def check(self) -> None:
        """See that the address and the parameters can be."""
        for name in OURS:
            if name in self.parameters:
                found = f"parameters: found {name}, expected to leave it to shoe"
                raise OptionError(f"model {quote(self.model)}: {found}")
        self._address()

    def _address(self) -> Address:
        return address(f"model {quote(self.model)}", self.base_url, self.api_key_env)

    def open(self) -> Backend:
        """Read the key."""
        self.check()
        return _Remote(self, self._address().open())


class _Remote:
    def __init__(self, config: Endpoint, place: Any) -> None:
        self._config, self._place = config, place

    def ask(self, asks: Iterator[Ask], recorder: Recorder) -> None:
        chat = Chat(self._config.model, self._config.sampling(), None)
        Pass(self._place, chat, self._config.limits, recorder).run(asks)
