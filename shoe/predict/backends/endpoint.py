"""Back end ``endpoint``: an endpoint with the chat completions of OpenAI and images, such as a vLLM server.

Images are sent as PNG inside the request. Token probabilities are requested by ``logprobs``. An endpoint that does not
support ``logprobs`` answers without probabilities, or with an error message. vLLM returns raw probabilities by default
(``--logprobs-mode``). With ``--generation-config vllm``, vLLM ignores penalties in the generation settings of a model.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import msgspec

from shoe.core.errors import OptionError, quote
from shoe.llm.client import Pass
from shoe.llm.endpoint import OFFICIAL, Endpoint as Address, address
from shoe.llm.limits import Limits
from shoe.llm.request import OURS, Chat
from shoe.predict.backends import Backend, BackendConfig


class Endpoint(BackendConfig, frozen=True, kw_only=True):
    """Settings of a model at an endpoint.

    Attributes:
        base_url: URL of the endpoint, without /chat/completions; may have a query.
        served_as: name of the model in the file of answers, if it differs from ``model``, its name at the endpoint.
        api_key_env: environment variable with the API key; by default OPENAI_API_KEY for the official endpoint.
        headers: further headers of requests, each with the environment variable that contains its value.
        logprobs: whether to request token probabilities; ``shoe predict`` sets it to False for the confidence ``none``.
        parameters: further parameters of each request, which override default parameters; null removes a parameter.
        limits: limits on the number and rate of requests.
    """

    kind: ClassVar[str] = "endpoint"
    asks: ClassVar[bool] = True

    base_url: str = OFFICIAL
    api_key_env: str = ""
    served_as: str = ""
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    logprobs: bool = True
    parameters: dict[str, Any] = msgspec.field(default_factory=dict)
    limits: Limits = Limits()

    def own_identity(self) -> Mapping[str, Any]:
        """Return the settings that can change an answer: the name of the model, and further parameters of requests."""
        return {"model": self.served_as or self.model, "parameters": self.parameters}

    def sampling(self) -> Mapping[str, Any]:
        """Return the parameters of each request: defaults such as ``max_tokens``, overridden by ``parameters``."""
        ours: dict[str, Any] = {"temperature": 0.0, "max_tokens": self.most_tokens}
        if self.logprobs:
            ours |= {"logprobs": True, "top_logprobs": self.top}
        return {name: value for name, value in {**ours, **self.parameters}.items() if value is not None}

    @property
    def at_once(self) -> int:
        """Largest number of concurrent requests."""
        return self.limits.concurrency

    def per_worker(self, workers: int) -> Self:
        """Return the settings for one of ``workers`` concurrent workers, with all limits divided by ``workers``."""
        return msgspec.structs.replace(self, limits=self.limits.divided(workers))

    def check(self) -> None:
        """Raise OptionError if the URL or the parameters are invalid."""
        for name in OURS:
            if name in self.parameters:
                found = f"found {name}, which shoe sets itself: remove it"
                raise OptionError(f"model {quote(self.model)}: parameters: {found}")
        _ = self.place

    @property
    def place(self) -> Address:
        """Address of the endpoint, before the API key is read from the environment; OptionError for an invalid URL."""
        return address(f"model {quote(self.model)}", self.base_url, self.api_key_env, self.headers)

    def open(self) -> Backend:
        """Return the back end, with the API key from the environment; raise OptionError if the key is missing."""
        self.check()
        place, chat = self.place.open(), Chat(self.model, self.sampling(), None)
        return lambda asks, recorder: Pass(place, chat, self.limits, recorder).run(asks)
