"""A small server of vision-language models: real HTTP, OpenAI's chat completions with pictures and logprobs.

It counts what it generates, and keeps each answer under the request's ``Idempotency-Key``. What answers is a function
of the body: :func:`made_up`, at once, or a model of transformers, asked as its documentation says, by none of our code.
"""

import asyncio
import io
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from tests.llm.http import Heard, Http, Says, says_json

Answering = Callable[[Mapping[str, Any]], dict[str, Any]]


class VlmServer(Http):
    """A server that counts requests, and how often each answer was generated, by the request's key."""

    def __init__(self, answering: Answering, seconds: float = 0.0) -> None:
        super().__init__()
        self._answering, self._seconds = answering, seconds
        self._kept: dict[str, dict[str, Any]] = {}
        self.generated: Counter[str] = Counter()
        self.requests = 0
        self.add("POST", "/v1/chat/completions", self._chat)

    def forget(self) -> None:
        """Be as if nothing had been asked."""
        self._kept.clear()
        self.generated.clear()
        self.requests = 0

    async def _chat(self, heard: Heard) -> Says:
        self.requests += 1
        once = heard.headers["idempotency-key"]
        await asyncio.sleep(self._seconds)
        if once not in self._kept:
            try:
                self._kept[once] = self._answering(heard.json())
            except RefusedError as refused:
                return says_json({"error": {"message": str(refused), "code": None}}, 400)
            self.generated[once] += 1
        return says_json(self._kept[once])


class RefusedError(Exception):
    """A request that the endpoint does not take."""


def made_up(body: Mapping[str, Any]) -> dict[str, Any]:
    """An answer that follows from the messages: yes or no, each with a probability; nothing is looked at."""
    share = blake2b(repr(body["messages"]).encode(), digest_size=1).digest()[0] / 256
    said = "yes" if share > 0.5 else "no"
    told = [("yes", share), ("no", 1 - share)]
    return completion(said, [(said, told)])


def without_logprobs(body: Mapping[str, Any]) -> dict[str, Any]:
    """The same, as endpoints answer that give no probabilities."""
    answered = made_up(body)
    answered["choices"][0]["logprobs"] = None
    return answered


def refusing_logprobs(body: Mapping[str, Any]) -> dict[str, Any]:
    """What OpenAI's endpoint says for models that think first."""
    if "logprobs" in body or "top_logprobs" in body:
        raise RefusedError("You are not allowed to request logprobs from this model.")
    return without_logprobs(body)


def few_logprobs(body: Mapping[str, Any]) -> dict[str, Any]:
    """What endpoints say that return the probabilities of few tokens."""
    if body["top_logprobs"] > 5:
        raise RefusedError("top_logprobs must be at most 5")
    return made_up(body)


def without_pictures(body: Mapping[str, Any]) -> dict[str, Any]:
    """What vLLM's server says for a model of text."""
    raise RefusedError("m is not a multimodal model")


def declining(body: Mapping[str, Any]) -> dict[str, Any]:
    answered = made_up(body)
    answered["choices"][0]["message"] = {"role": "assistant", "content": None, "refusal": "I will not."}
    return answered


def completion(text: str, places: list[tuple[str, list[tuple[str, float]]]], finish: str = "stop") -> dict[str, Any]:
    """A chat completion of tokens, each with the probabilities of those that it might have been."""
    from math import log

    content = []
    for token, told in places:
        top = [{"token": other, "logprob": log(share or 1e-9), "bytes": list(other.encode())} for other, share in told]
        own = next(one["logprob"] for one in top if one["token"] == token)
        content.append({"token": token, "logprob": own, "bytes": list(token.encode()), "top_logprobs": top})
    return _body(text, content, finish, 100, len(places))


def _body(text: str, content: list[dict[str, Any]], finish: str, asked: int, answered: int) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "logprobs": {"content": content}, "finish_reason": finish}
    usage = {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "choices": [choice], "usage": usage}


class Served:
    """A model of transformers, one request at a time, by its own ``generate`` on processed pictures."""

    def __init__(self, folder: Path) -> None:
        import torch
        import transformers

        self._torch = torch
        self._processor = transformers.AutoProcessor.from_pretrained(folder)
        self._model = transformers.AutoModelForImageTextToText.from_pretrained(folder).eval()
        self._model.generation_config = transformers.GenerationConfig(
            eos_token_id=self._processor.tokenizer.eos_token_id, pad_token_id=self._processor.tokenizer.pad_token_id
        )

    def __call__(self, body: Mapping[str, Any]) -> dict[str, Any]:
        torch, tokenizer = self._torch, self._processor.tokenizer
        messages = [_with_pictures(message) for message in body["messages"]]
        settings = {"tokenize": True, "add_generation_prompt": True, "return_dict": True, "return_tensors": "pt"}
        inputs = self._processor.apply_chat_template(messages, **settings)
        with torch.inference_mode():
            settings = {"do_sample": False, "output_logits": True, "return_dict_in_generate": True}
            made = self._model.generate(**inputs, max_new_tokens=body["max_tokens"], **settings)
        tokens = made.sequences[0, inputs["input_ids"].shape[1] :].tolist()
        content = []
        for token, logits in zip(tokens, made.logits, strict=True):
            if token == tokenizer.eos_token_id:
                break
            logprobs = logits[0].log_softmax(-1)
            top = logprobs.topk(body["top_logprobs"])
            others = zip(top.indices.tolist(), top.values.tolist(), strict=True)
            told = [{"token": tokenizer.decode([i]), "logprob": value} for i, value in others]
            own = {"token": tokenizer.decode([token]), "logprob": logprobs[token].item()}
            content.append({**own, "top_logprobs": told})
        finish = "stop" if len(content) < len(tokens) else "length"
        text = tokenizer.decode(tokens[: len(content)], skip_special_tokens=True)
        return _body(text, content, finish, inputs["input_ids"].shape[1], len(tokens))


def _with_pictures(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message of OpenAI's form as transformers' templates have it."""
    from PIL import Image

    def part_of(part: Mapping[str, Any]) -> Mapping[str, Any]:
        if part["type"] != "image_url":
            return part
        data = b64decode(part["image_url"]["url"].partition(",")[2])
        return {"type": "image", "image": Image.open(io.BytesIO(data))}

    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {"role": message["role"], "content": list(map(part_of, parts))}
