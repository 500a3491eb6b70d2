"""Back end ``transformers``: a model of ``AutoModelForImageTextToText`` on this machine, CPU or GPU.

Answers are greedy, whatever settings a model ships: those with a temperature near 0 or a penalty for repetition would
make every token's processed score 1. Probabilities are a softmax over the raw logits.

Questions come by picture. Those of a batch are padded on the left to one length; each picture is prepared and encoded
once, if the model's class takes what its encoder made, and is kept for the next batch. Where half a batch or more asks
about one picture, what its prompts begin with, picture included, is read once for all (:mod:`prefix`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from itertools import groupby, islice
from typing import Annotated, Any, ClassVar, Literal, get_type_hints

import msgspec

from shoe.core.errors import OptionError, quote
from shoe.llm.request import Recorder
from shoe.maps.local_models import LocalModel, files_of, first_line
from shoe.predict.backend import Backend, BackendConfig
from shoe.predict.backends.shared_inputs import Encoder, Layout, Prefix, Split, on_device
from shoe.predict.confidence import LEAST, Said, completion, spells
from shoe.predict.questions import Ask, Question, messages_of
from shoe.predict.records import Alternative, Token

_DIGITS = 6
_PARTS = {"self", "kwargs", "tokenizer", "image_processor", "video_processor"}
"""What a processor is made of beside its settings."""


class Transformers(BackendConfig, frozen=True, kw_only=True):
    """A model on this machine.

    Attributes:
        device: where it runs; auto is a GPU if there is one.
        dtype: precision of weights and sums.
        batch_size: questions that are answered at once.
        processor: settings of its processor, as its class has them (``{"max_pixels": 1003520}``): they decide how many
            tokens a picture has.
    """

    kind: ClassVar[str] = "transformers"

    device: Literal["auto", "cpu", "cuda"] = "auto"
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    batch_size: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 16
    processor: dict[str, Any] = msgspec.field(default_factory=dict)

    def more(self) -> Mapping[str, Any]:
        """Return precision, settings of the processor, and which model a folder holds."""
        return {"dtype": self.dtype, "processor": self.processor, **files_of(self.model)}

    @property
    def at_once(self) -> int:
        """The size of a batch."""
        return self.batch_size

    def open(self) -> Backend:
        """Load the model; see :class:`VisionModel`."""
        return _Local(VisionModel(self), self.batch_size)


class _Local:
    """Answers batch by batch; the next batch is prepared while the model works on one."""

    def __init__(self, model: VisionModel, batch_size: int) -> None:
        self._model = model
        self._batch_size = batch_size

    def ask(self, asks: Iterator[Ask], recorder: Recorder) -> None:
        batches = together(asks, self._batch_size)
        with ThreadPoolExecutor(1) as beside:
            waiting = self._next(batches, recorder, beside)
            while waiting is not None:
                batch, prepared = waiting
                waiting = self._next(batches, recorder, beside)
                said = self._model.answer(prepared.result())
                for one, (answer, length) in zip(batch, said, strict=True):
                    recorder.answer(one, completion(answer, length))

    def _next(
        self, batches: Iterator[list[Ask]], recorder: Recorder, beside: ThreadPoolExecutor
    ) -> tuple[list[Ask], Future[Any]] | None:
        if recorder.stopping:
            return None
        batch = [one for one in next(batches, []) if recorder.may_ask(one)]
        return (batch, beside.submit(self._model.prepare, [one.question for one in batch])) if batch else None


def together(asks: Iterator[Ask], size: int) -> Iterator[list[Ask]]:
    """Gather batches of at most ``size``: of one picture alone where half a batch asks about it, else of several."""
    waiting: list[Ask] = []
    while waiting := [*waiting, *islice(asks, size - len(waiting))]:
        alike = len(next(list(of_one) for _, of_one in groupby(waiting, lambda one: one.shown)))
        count = alike if 2 * alike >= size else len(waiting)
        yield waiting[:count]
        waiting = waiting[count:]


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A batch as the model takes it, still without what its encoder makes of the pictures.

    Attributes:
        questions: n questions.
        inputs: of ``generate``: tokens (n, length), mask, ...
        lengths: (n,) tokens of each prompt, without padding.
        layout: the pictures, and whose they are; None where the inputs hold them.
        split: the inputs in two parts, where all prompts show the same pictures and begin alike.
    """

    questions: Sequence[Question]
    inputs: Mapping[str, Any]
    lengths: Sequence[int]
    layout: Layout | None
    split: Split | None


class VisionModel(LocalModel):
    """A vision-language model with its processor."""

    def __init__(self, config: Transformers) -> None:
        """Load a model."""
        super().__init__(config, f"model {quote(config.model)}", "predict")
        self._top, self._most = config.top, config.most_tokens
        self._batch_size, self._dtype = config.batch_size, config.dtype
        self._processor = self.load("AutoProcessor", **config.processor)
        with self.loading():
            self._check_processor(config.processor)
        self._model = self.load_weights("AutoModelForImageTextToText")
        tokenizer = self._tokenizer = self._processor.tokenizer
        tokenizer.padding_side = "left"
        ends = self._model.generation_config.eos_token_id
        ends = [*(ends if isinstance(ends, list) else [ends]), tokenizer.eos_token_id]
        self._ends = list(dict.fromkeys(token for token in ends if token is not None))
        tokenizer.pad_token_id = self._ends[0] if tokenizer.pad_token_id is None else tokenizer.pad_token_id
        # Only ours: what a model ships (temperatures, penalties) would fill in what we leave open.
        self._model.generation_config = self.transformers.GenerationConfig(
            eos_token_id=self._ends, pad_token_id=tokenizer.pad_token_id
        )
        self._encoder = Encoder(self._model, self._processor)
        self._prefix = Prefix(self._model, config.dtype, allowed=self._encoder.shares)
        self._spelt: dict[str, list[int]] = {}

    def _check_processor(self, settings: Iterable[str]) -> None:
        processor = self._processor
        if not hasattr(processor, "image_processor"):
            raise OptionError(
                f"{self.name} takes no images: found no image processor, expected a vision-language model"
            )
        if not (getattr(processor, "chat_template", None) or getattr(processor.tokenizer, "chat_template", None)):
            raise OptionError(
                f"{self.name} has no chat template: found none in its processor, expected a model that follows "
                "instructions, as names that end in -Instruct or -it say"
            )
        images = processor.image_processor
        of_class = get_type_hints(images.valid_kwargs) if hasattr(images, "valid_kwargs") else {}
        known = {*signature(type(processor).__init__).parameters, *images.to_dict(), *of_class} - _PARTS
        for name in settings:  # its class would pass them over
            if name not in known:
                raise OptionError(
                    f"--set vlm.processor: found {quote(name)}, expected names of settings of {type(images).__name__}: "
                    f"{', '.join(sorted(known))}"
                )
        image_token = getattr(processor, "image_token", None)
        if image_token and image_token not in self._conversation(Question([None], "question")):  # type: ignore[list-item]
            raise OptionError(f"{self.name} takes no images: found a chat template that leaves them out")

    def _conversation(self, question: Question) -> str:
        """The prompt with a place for each picture."""
        messages = messages_of(question, [""] * len(question.pictures))
        for message in messages:
            parts = message["content"]
            if isinstance(parts, str):
                message["content"] = [{"type": "text", "text": parts}]
            else:
                message["content"] = [{"type": "image"} if part["type"] == "image_url" else part for part in parts]
        text: str = self._processor.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, enable_thinking=False
        )
        return text

    def prepare(self, questions: Sequence[Question]) -> Prepared:
        """Open pictures and make tokens of prompts; may be called while another batch is answered."""
        texts = [self._conversation(question) for question in questions]
        for question in questions:
            self._spell(question.words)
        try:
            inputs, layout = self._encoder.prepare(texts, [question.pictures for question in questions])
        except (RuntimeError, TypeError, ValueError) as error:
            raise OptionError(f"{self.name}: its processor takes no such question: {first_line(error)}") from None
        split = None
        if layout is not None and len({tuple(one.digest for one in question.pictures) for question in questions}) == 1:
            split = self._prefix.split(inputs, getattr(self._processor, "image_token_id", None))
        return Prepared(questions, inputs, inputs["attention_mask"].sum(1).tolist(), layout, split)

    def answer(self, batch: Prepared) -> list[tuple[Said, int]]:
        """Answer a batch: return the answer to each question, and the length of its prompt in tokens."""
        torch = self.torch
        try:
            with torch.inference_mode():
                made = self._made(batch)
                ids = made.sequences[:, -len(made.logits) :]
                figures = [self._figures(logits, ids[:, i], batch) for i, logits in enumerate(made.logits)]
        except torch.OutOfMemoryError:
            raise OptionError(
                f"{self.name} does not fit into the device's memory with batches of {self._batch_size}: "
                "make the batch size smaller, the pictures smaller, or dtype bfloat16"
            ) from None
        rows = zip(batch.questions, ids.tolist(), batch.lengths, strict=True)
        return [
            (self._said(row, question, tokens, figures), length) for row, (question, tokens, length) in enumerate(rows)
        ]

    def _made(self, batch: Prepared) -> Any:
        """What ``generate`` makes of a batch, whose common beginning is read once if the class bears it."""
        device, dtype = self.device, self._model.dtype
        if batch.layout is not None:
            self._encoder.encode(batch.layout, device, dtype)
        ours = None
        if batch.split is not None and batch.layout is not None and self._prefix.works:
            first = batch.layout.order[: len(batch.questions[0].pictures)]
            split = Split(*(on_device(part, device, dtype) for part in batch.split))
            try:
                ours = self._generated(self._prefix.read(split, self._encoder.inputs_of(first)))
            except (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError):
                if self._prefix.is_known:
                    raise
        if ours is not None and self._prefix.is_known:
            return ours
        inputs = on_device(batch.inputs, device, dtype)
        shown = {} if batch.layout is None else self._encoder.inputs_of(batch.layout.order)
        plain = self._generated({**inputs, **shown})
        if batch.split is not None and not self._prefix.is_known:
            self._prefix.judge(None if ours is None else ours.logits[0], plain.logits[0])
        return plain

    def _generated(self, inputs: Mapping[str, Any]) -> Any:
        return self._model.generate(
            **inputs,
            max_new_tokens=self._most,
            do_sample=False,
            output_logits=True,
            return_dict_in_generate=True,
        )

    def _figures(self, logits: Any, chosen: Any, batch: Prepared) -> tuple[Any, Any]:
        """Of one place: tokens and the logarithms of their probabilities; the chosen one, the likeliest, then words."""
        torch = self.torch
        logprobs = logits.float().log_softmax(-1)
        top = logprobs.topk(min(self._top, logprobs.shape[-1]), dim=-1)
        wanted = sorted({token for question in batch.questions for token in self._tokens_of(question)})
        words = torch.tensor([wanted] * len(logprobs), dtype=torch.long, device=logprobs.device)
        ids = torch.cat([chosen[:, None], top.indices, words], 1)
        values = logprobs.gather(1, ids)
        if not bool(torch.isfinite(values[:, :2]).all()):
            raise OptionError(f"{self.name} gives no finite figures in {self._dtype}: try another dtype")
        return ids.tolist(), values.tolist()

    def _said(self, row: int, question: Question, ids: Sequence[int], figures: Sequence[Any]) -> Said:
        """One answer, up to its end token."""
        end = next((i for i, token in enumerate(ids) if token in self._ends), None)
        places = figures if end is None else figures[: end + 1]
        words = self._tokens_of(question)
        tokens = tuple(self._token(place_ids[row], values[row], words) for place_ids, values in places)
        text = self._tokenizer.decode(ids[:end], skip_special_tokens=True)
        return Said(text, tokens, "length" if end is None else "stop")

    def _token(self, ids: Sequence[int], values: Sequence[float], words: set[int]) -> Token:
        """A token of an answer: with the likeliest, and with those words that its own question is about."""
        kept = dict(zip(ids[1:], values[1:], strict=True))
        likeliest = set(ids[1 : 1 + self._top])
        top = [
            Alternative(self._text_of(token), max(round(value, _DIGITS), LEAST), token)
            for token, value in kept.items()
            if token in likeliest or token in words
        ]
        return Token(self._text_of(ids[0]), round(values[0], _DIGITS), ids[0], tuple(top))

    def _tokens_of(self, question: Question) -> set[int]:
        return {token for word in question.words for token in self._spelt[word]}

    def _text_of(self, token: int) -> str:
        return self._vocabulary[token] if token < len(self._vocabulary) else ""

    @cached_property
    def _vocabulary(self) -> list[str]:
        texts: list[str] = self._tokenizer.batch_decode([[token] for token in range(len(self._tokenizer))])
        return texts

    def _spell(self, words: Iterable[str]) -> None:
        """Find the tokens that are a word, with whatever blanks."""
        for word in words:
            if word not in self._spelt:
                found = [token for token, text in enumerate(self._vocabulary) if spells(text, word)]
                if not found:
                    raise OptionError(
                        f"{self.name} has no token of its own for {quote(word)}: ask for a phrase instead"
                    )
                self._spelt[word] = found
