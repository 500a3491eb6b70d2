"""Back end ``vllm``: vLLM in this process. vLLM needs a GPU, and must be installed separately.

The engine forms batches, and caches prompt prefixes, so that an image is encoded once for all questions about it.
Probabilities are raw (``logprobs_mode``), and generation settings of the model are ignored (``generation_config``).
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from shoe.core.errors import OptionError, quote
from shoe.llm.request import Recorder
from shoe.maps.local_models import files_of, first_line
from shoe.predict.backends import Backend, BackendConfig
from shoe.predict.questions import Ask, Question, messages_of
from shoe.predict.records import LEAST, GeneratedText, Token, completion


class VLLM(BackendConfig, frozen=True, kw_only=True):
    """Settings of a model in vLLM's offline engine.

    Attributes:
        dtype: precision of weights and computations.
        batch_size: number of questions passed to the engine together; the engine divides them into batches.
        pictures: maximum number of images per question.
        engine: further arguments of ``vllm.LLM``, such as ``{"tensor_parallel_size": 4, "max_model_len": 8192}``.
    """

    kind: ClassVar[str] = "vllm"

    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    batch_size: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 256
    pictures: Annotated[int, msgspec.Meta(ge=1, le=100)] = 4
    engine: dict[str, Any] = msgspec.field(default_factory=dict)

    def own_identity(self) -> Mapping[str, Any]:
        """Return the settings that can change an answer: precision, further arguments, and hash of the model files."""
        return {"dtype": self.dtype, "engine": self.engine, **files_of(self.model)}

    @property
    def at_once(self) -> int:
        """Number of questions per batch."""
        return self.batch_size

    def open(self) -> Backend:
        """Return the back end, after starting the engine; raise OptionError if vLLM cannot load the model."""
        try:
            from vllm import LLM, SamplingParams
        except ImportError:
            raise OptionError("back end vllm: vLLM is not installed: run `pip install vllm`") from None
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
        sampling = SamplingParams(temperature=0.0, max_tokens=self.most_tokens, logprobs=self.top)

        def answer(asks: Iterator[Ask], recorder: Recorder) -> None:
            while not recorder.stopping:
                batch = [ask for ask in islice(asks, self.batch_size) if recorder.may_ask(ask)]
                if not batch:
                    return
                chats = [chat_of(ask.question) for ask in batch]
                for ask, output in zip(batch, engine.chat(chats, sampling, use_tqdm=False), strict=True):
                    recorder.answer(ask, completion(generated_text(output), len(output.prompt_token_ids)))

        return answer


def chat_of(question: Question) -> list[dict[str, Any]]:
    """Return a chat in the format of vLLM, with images as objects, and the digests by which vLLM caches the images."""
    messages = messages_of(question, [picture.digest for picture in question.pictures])
    opened = iter([picture.open() for picture in question.pictures])
    for part in messages[-1]["content"]:
        if part["type"] == "image_url":
            part |= {"type": "image_pil", "image_pil": next(opened), "uuid": part.pop("image_url")["url"]}
    return messages


def generated_text(request_output: Any) -> GeneratedText:
    """Return the text and tokens of the first output in a ``vllm.RequestOutput``."""
    output = request_output.outputs[0]
    places = zip(output.token_ids, output.logprobs or (), strict=True)
    tokens = tuple(_token(token, alternatives) for token, alternatives in places)
    return GeneratedText(output.text, tokens, output.finish_reason or "stop")


def _token(chosen: int, alternatives: Mapping[int, Any]) -> Token:
    ranked: Sequence[tuple[int, Any]] = sorted(alternatives.items(), key=lambda item: -item[1].logprob)
    top = tuple(Token(item.decoded_token or "", max(item.logprob, LEAST), token) for token, item in ranked)
    return Token(alternatives[chosen].decoded_token or "", max(alternatives[chosen].logprob, LEAST), chosen, top)
