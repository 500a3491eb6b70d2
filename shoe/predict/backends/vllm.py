"""Back end ``vllm``: vLLM in this process, where it is installed (it is no dependency of ours, and needs a GPU).

The engine batches by itself and keeps what it computed of a prompt's beginning, so that a picture's questions share it.
Probabilities are raw (``logprobs_mode``), and a model's own settings take no part (``generation_config``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from shoe.core.errors import OptionError, quote
from shoe.llm.request import Recorder
from shoe.maps.local_models import files_of, first_line
from shoe.predict.backends import Backend, BackendConfig
from shoe.predict.confidence import LEAST, Said, completion
from shoe.predict.questions import Ask, Question, messages_of
from shoe.predict.records import Alternative, Token


class VLLM(BackendConfig, frozen=True, kw_only=True):
    """A model in vLLM's offline engine.

    Attributes:
        dtype: precision of weights and sums.
        batch_size: questions that are handed to the engine at once; it batches them as memory allows.
        pictures: most pictures of a question.
        engine: further arguments of ``vllm.LLM`` (``{"tensor_parallel_size": 4, "max_model_len": 8192}``).
    """

    kind: ClassVar[str] = "vllm"

    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    batch_size: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 256
    pictures: Annotated[int, msgspec.Meta(ge=1, le=100)] = 4
    engine: dict[str, Any] = msgspec.field(default_factory=dict)

    def more(self) -> Mapping[str, Any]:
        """Return precision, further arguments, and which model a folder holds."""
        return {"dtype": self.dtype, "engine": self.engine, **files_of(self.model)}

    @property
    def at_once(self) -> int:
        """The size of a batch."""
        return self.batch_size

    def open(self) -> Backend:
        """Start the engine."""
        try:
            from vllm import LLM, SamplingParams
        except ImportError:
            raise OptionError("back end vllm: found no vLLM, expected it installed: pip install vllm") from None
        arguments = {
            "model": self.model,
            "revision": self.revision or None,
            "dtype": self.dtype,
            "generation_config": "vllm",
            "logprobs_mode": "raw_logprobs",
            "max_logprobs": self.top,
            "limit_mm_per_prompt": {"image": self.pictures},
            "trust_remote_code": False,
            **self.engine,
        }
        try:
            engine = LLM(**arguments)
        except (ImportError, OSError, RuntimeError, TypeError, ValueError) as error:
            raise OptionError(f"model {quote(self.model)} cannot be loaded by vLLM: {first_line(error)}") from None
        return _Offline(engine, SamplingParams(temperature=0.0, max_tokens=self.most_tokens, logprobs=self.top), self)


class _Offline:
    def __init__(self, engine: Any, sampling: Any, config: VLLM) -> None:
        self._engine, self._sampling, self._batch_size = engine, sampling, config.batch_size

    def ask(self, asks: Iterator[Ask], recorder: Recorder) -> None:
        while not recorder.stopping:
            batch = [one for one in islice(asks, self._batch_size) if recorder.may_ask(one)]
            if not batch:
                return
            chats = [chat_of(one.question) for one in batch]
            for one, made in zip(batch, self._engine.chat(chats, self._sampling, use_tqdm=False), strict=True):
                recorder.answer(one, completion(said_of(made), len(made.prompt_token_ids)))


def chat_of(question: Question) -> list[dict[str, Any]]:
    """Return a chat as vLLM takes it: pictures as they are, and by their digests, so that none is prepared twice."""
    messages = messages_of(question, [picture.digest for picture in question.pictures])
    opened = iter([picture.open() for picture in question.pictures])
    for part in messages[-1]["content"]:
        if part["type"] == "image_url":
            digest = part.pop("image_url")["url"]
            part |= {"type": "image_pil", "image_pil": next(opened), "uuid": digest}
    return messages


def said_of(made: Any) -> Said:
    """Read a ``vllm.RequestOutput``: the first of its outputs."""
    output = made.outputs[0]
    tokens = tuple(_token(number, place) for number, place in zip(output.token_ids, output.logprobs or (), strict=True))
    return Said(output.text, tokens, output.finish_reason or "stop")


def _token(chosen: int, place: Mapping[int, Any]) -> Token:
    told: Sequence[tuple[int, Any]] = sorted(place.items(), key=lambda item: -item[1].logprob)
    top = tuple(Alternative(one.decoded_token or "", max(one.logprob, LEAST), token) for token, one in told)
    return Token(place[chosen].decoded_token or "", max(place[chosen].logprob, LEAST), chosen, top)
