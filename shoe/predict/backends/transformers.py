"""Back end ``transformers``: a model of ``AutoModelForImageTextToText`` on the CPU or GPU of this machine.

Decoding is greedy, and the generation settings of the model are ignored. Probabilities are the softmax of the raw
logits, because processed scores depend on the model's temperature and repetition penalty.

Prompts of a batch are padded on the left. If the class of the model accepts encoder outputs as input, each image is
encoded only once, and the common prefix of a batch about one image is processed only once (:class:`Prefix`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from inspect import signature
from itertools import groupby, islice, takewhile
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, get_type_hints

import msgspec

from shoe.core.errors import OptionError, quote
from shoe.llm.request import Recorder
from shoe.maps.local_models import LocalModel, files_of, first_line
from shoe.predict.backends import Backend, BackendConfig
from shoe.predict.questions import Ask, Picture, Question, messages_of
from shoe.predict.records import LEAST, GeneratedText, Token, completion
from shoe.predict.scored import spells

_OF_TEXT = ("input_ids", "attention_mask", "mm_token_type_ids", "token_type_ids", "text_replacement_offsets")
_PROBES = ((64, 64), (96, 64))


class _Encoded(NamedTuple):
    features: Any
    layers: Sequence[Any]
    rows: Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Images of a batch, before they are encoded."""

    order: Sequence[str]  # image digests in the order of the prompts; an image may occur several times
    # new, made: digests of images that were not in the previous batch, and the processor's output for them.
    new: Sequence[str]
    made: Mapping[str, Any]


class Encoder:
    """Converter of prompts and images to model inputs. If it ``shares``, each image of a batch is encoded only once."""

    def __init__(self, model: Any, processor: Any) -> None:
        """Create a converter, and test with two images whether the class of the model accepts encoder outputs."""
        import torch

        self._torch, self._model, self._processor = torch, model, processor
        self._output_type: Any = None
        self._texts: dict[str, str] = {}
        self._encodings: dict[str, _Encoded] = {}
        self._has_types = self.shares = False
        with suppress(AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError):
            self.shares = self._can_share()

    def _can_share(self) -> bool:
        from PIL import Image

        if not self._model._supports_mm_encoder_outputs() or not callable(self._processor.create_mm_token_type_ids):
            return False
        texts, made = self._processed([Image.new("RGB", size) for size in _PROBES])
        with self._torch.inference_mode():
            images = self._encoded(made, self._model.device, self._model.dtype)
        token = self._processor.image_token
        return all(len(image.features) == text.count(token) for image, text in zip(images, texts, strict=True))

    def prepare(
        self, texts: Sequence[str], pictures: Sequence[Sequence[Picture]]
    ) -> tuple[dict[str, Any], Layout | None]:
        """Tokenize n prompts, with a placeholder for each image, and preprocess the images of each prompt.

        Returns (inputs of ``generate``, images for :meth:`encode`); the images are None if the inputs contain them.
        """
        if self.shares:
            return self._prepare_shared(texts, pictures)
        distinct = {picture.digest: picture for some in pictures for picture in some}
        opened = {digest: picture.open() for digest, picture in distinct.items()}
        images = [[opened[picture.digest] for picture in some] for some in pictures]
        processed = self._processor(
            text=list(texts), images=images, padding=True, return_tensors="pt", **self._beginning(texts)
        )
        return dict(processed), None

    def _prepare_shared(
        self, texts: Sequence[str], pictures: Sequence[Sequence[Picture]]
    ) -> tuple[dict[str, Any], Layout]:
        known = {picture.digest: picture for some in pictures for picture in some}
        new = [digest for digest in known if digest not in self._texts]
        made: Mapping[str, Any] = {}
        if new:
            replacements, made = self._processed([known[digest].open() for digest in new])
            self._texts |= zip(new, replacements, strict=True)
        self._texts = {digest: self._texts[digest] for digest in known}
        order = [picture.digest for some in pictures for picture in some]
        prompts = []
        for text, some in zip(texts, pictures, strict=True):
            first, *rest = text.split(self._processor.image_token)
            parts = zip(some, rest, strict=True)
            prompts.append(first + "".join(self._texts[picture.digest] + part for picture, part in parts))
        inputs = dict(self._processor.tokenizer(prompts, padding=True, return_tensors="pt", **self._beginning(texts)))
        if self._has_types:
            kinds = self._processor.create_mm_token_type_ids(inputs["input_ids"].tolist())
            inputs["mm_token_type_ids"] = inputs["input_ids"].new_tensor(kinds)
        return inputs, Layout(order, new, made)

    def _processed(self, images: Sequence[Any]) -> tuple[list[str], dict[str, Any]]:
        """Preprocess n images; return the text that replaces the placeholder of each image, and the encoder inputs."""
        made = dict(
            self._processor(
                text=[self._processor.image_token] * len(images),
                images=[[image] for image in images],
                padding=True,
                return_tensors="pt",
                return_text_replacement_offsets=True,
            )
        )
        self._has_types = "mm_token_type_ids" in made
        replacements = [offsets[0]["replacement"] for offsets in made["text_replacement_offsets"]]
        return replacements, {name: value for name, value in made.items() if name not in _OF_TEXT}

    def _encoded(self, inputs: Mapping[str, Any], device: str, dtype: Any) -> list[_Encoded]:
        encode = self._model.base_model.get_image_features
        wanted = signature(encode).parameters
        moved = on_device(inputs, device, dtype)
        output = encode(**{name: value for name, value in moved.items() if name in wanted}, return_dict=True)
        self._output_type = type(output)
        rows = {name: value for name, value in moved.items() if not name.startswith("pixel_values")}
        layers = getattr(output, "deepstack_features", None) or []
        return [
            _Encoded(features, [layer[i] for layer in layers], {name: value[i] for name, value in rows.items()})
            for i, features in enumerate(output.pooler_output)
        ]

    def encode(self, layout: Layout, device: str, dtype: Any) -> None:
        """Encode the new images of a batch, and remove other images from the cache; batches come as prepared."""
        if layout.new:
            self._encodings |= zip(layout.new, self._encoded(layout.made, device, dtype), strict=True)
        self._encodings = {digest: self._encodings[digest] for digest in dict.fromkeys(layout.order)}

    def inputs_of(self, order: Sequence[str]) -> dict[str, Any]:
        """Return the model inputs for the images with these digests, which must be in the batch encoded last."""
        images = [self._encodings[digest] for digest in order]
        features = {"pooler_output": [image.features for image in images]}
        if images[0].layers:
            features["deepstack_features"] = [list(layer) for layer in zip(*(i.layers for i in images), strict=True)]
        rows = {name: self._torch.stack([image.rows[name] for image in images]) for name in images[0].rows}
        return {**rows, "mm_encoder_outputs": {"image": self._output_type(**features)}}

    def _beginning(self, texts: Sequence[str]) -> dict[str, bool]:
        # The tokenizer must not add the first special token again if the chat template has added it.
        begins = self._processor.tokenizer.bos_token
        return {"add_special_tokens": False} if begins and texts[0].startswith(begins) else {}


def on_device(inputs: Mapping[str, Any], device: str, dtype: Any) -> dict[str, Any]:
    """Return model inputs moved to a device, with floating-point values converted to ``dtype``."""
    return {
        name: value.to(device, dtype) if value.is_floating_point() else value.to(device)
        for name, value in inputs.items()
    }


# The common prefix of prompts is processed as one row. The key-value cache of this row is repeated for each prompt,
# followed by masked padding and the other tokens of the prompt. The first such batch is also processed with complete
# prompts, and the results are compared.

_SMALLEST = 8  # minimum number of tokens of a prefix that is processed separately
_LIKELY = 3.0  # maximum difference in log probability between the likeliest token and the tokens that are compared
_TOLERANCE = {"float32": 1e-3, "bfloat16": 0.25, "float16": 0.1}  # of sums in another order


class Split(NamedTuple):
    """Inputs of ``generate`` for a batch of n prompts with a common prefix.

    ``beginning`` are the inputs for the prefix, with one row; ``whole`` those for the complete prompts, with n rows:
    prefix, then padding, then the rest of the prompt.
    """

    beginning: dict[str, Any]
    whole: dict[str, Any]


class Prefix:
    """Prefix caching: the common start of prompts is processed once, if the probabilities then stay the same.

    ``allowed`` is whether the model accepts separately encoded images. ``works`` is whether prefix caching may be used;
    ``is_known`` whether this is final, because probabilities have been compared or caching is not allowed.
    """

    def __init__(self, model: Any, dtype: str, *, allowed: bool) -> None:
        self._model, self._tolerance = model, _TOLERANCE[dtype]
        self.is_known, self.works = not allowed, allowed

    def split(self, inputs: Mapping[str, Any], picture_token: int | None) -> Split | None:
        """Return the inputs for the common prefix of left-padded prompts, and for the complete prompts.

        Returns None if ``works`` is False, for a single prompt, for a common prefix of fewer than 8 tokens, or if
        images follow the prefix. ``picture_token`` is the token ID of the placeholder for images.
        """
        ids, masks = inputs["input_ids"], inputs["attention_mask"]
        rows = [row[mask.bool()].tolist() for row, mask in zip(ids, masks, strict=True)]
        if len(rows) == 1 or not self.works:
            return None
        shared = min(common(rows), min(map(len, rows)) - 1)
        if shared < _SMALLEST or any(picture_token in row[shared:] for row in rows):
            return None
        longest = max(map(len, rows)) - shared
        beginning = {name: values[:1, -len(rows[0]) :][:, :shared] for name, values in inputs.items()}
        whole = {
            name: values.new_tensor(
                [_moved(row.tolist(), len(tokens), shared, longest) for row, tokens in zip(values, rows, strict=True)]
            )
            for name, values in inputs.items()
        }
        return Split(beginning, whole)

    def read(self, split: Split, pictures: Mapping[str, Any]) -> dict[str, Any]:
        """Process a common prefix with its images; return the inputs with which ``generate`` continues the prefix."""
        output = self._model(**split.beginning, **pictures, use_cache=True, logits_to_keep=1)
        # Release 5.24 of transformers calls the argument "cache", older releases "past_key_values".
        name = "cache" if "cache" in signature(self._model.forward).parameters else "past_key_values"
        cache = getattr(output, name)
        cache.batch_repeat_interleave(len(split.whole["input_ids"]))
        return {**split.whole, name: cache}

    def compare(self, ours: Any, plain: Any) -> None:
        """Set ``works`` to whether (n, vocabulary) logits with (if any) and without prefix caching are nearly equal."""
        self.is_known, self.works = True, ours is not None
        if not self.works:
            return
        logprobs, usual = (logits.float().log_softmax(-1) for logits in (ours, plain))
        likely = usual > usual.max(-1, keepdim=True).values - _LIKELY
        self.works = bool(((logprobs - usual)[likely].abs() <= self._tolerance).all())


def common(rows: Sequence[Sequence[int]]) -> int:
    """Return the number of tokens in the common prefix of several rows of token IDs.

    >>> common([[1, 2, 3], [1, 2, 4, 5], [1, 2]])
    2
    """
    return sum(1 for _ in takewhile(lambda place: len(set(place)) == 1, zip(*rows, strict=False)))


def _moved(row: Sequence[int], length: int, shared: int, longest: int) -> list[int]:
    """Return a left-padded row with its padding after the first ``shared`` tokens, and then ``longest`` elements."""
    tokens = row[len(row) - length :]
    padding = [row[0] if len(row) > length else 0] * (longest - (length - shared))
    return [*tokens[:shared], *padding, *tokens[shared:]]


_DIGITS = 6
_PARTS = {"self", "kwargs", "tokenizer", "image_processor", "video_processor"}
"""Parameters in the constructors of processors that are not settings."""


class Transformers(BackendConfig, frozen=True, kw_only=True):
    """Settings of a model on this machine.

    Attributes:
        device: device that runs the model; ``auto`` is a GPU if available, else the CPU.
        dtype: precision of weights and computations.
        batch_size: number of questions per batch.
        processor: settings of the image processor of the model, such as ``{"max_pixels": 1003520}``. They determine the
            number of tokens per image.
    """

    kind: ClassVar[str] = "transformers"

    device: Literal["auto", "cpu", "cuda"] = "auto"
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    batch_size: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 16
    processor: dict[str, Any] = msgspec.field(default_factory=dict)

    def own_identity(self) -> Mapping[str, Any]:
        """Return the settings that can change an answer: precision, processor, and hash of the model files."""
        return {"dtype": self.dtype, "processor": self.processor, **files_of(self.model)}

    @property
    def at_once(self) -> int:
        """Number of questions per batch."""
        return self.batch_size

    def open(self) -> Backend:
        """Return the back end, after loading the model."""
        return partial(_answer_all, VisionModel(self), self.batch_size)


def _answer_all(model: "VisionModel", batch_size: int, asks: Iterator[Ask], recorder: Recorder) -> None:
    batches = batched_by_images(asks, batch_size)

    def prepare_next() -> tuple[list[Ask], Future[Prepared]] | None:
        if recorder.stopping:
            return None
        batch = [ask for ask in next(batches, []) if recorder.may_ask(ask)]
        return (batch, pool.submit(model.prepare, [ask.question for ask in batch])) if batch else None

    with ThreadPoolExecutor(1) as pool:  # prepares the next batch while the model works on one
        waiting = prepare_next()
        while waiting is not None:
            batch, prepared = waiting
            waiting = prepare_next()
            for ask, (answer, length) in zip(batch, model.answer(prepared.result()), strict=True):
                recorder.answer(ask, completion(answer, length))


def batched_by_images(asks: Iterator[Ask], size: int) -> Iterator[list[Ask]]:
    """Yield batches of at most ``size`` questions; a batch ends where images change if it has ``size / 2`` or more."""
    waiting: list[Ask] = []
    while waiting := [*waiting, *islice(asks, size - len(waiting))]:
        alike = len(next(list(group) for _, group in groupby(waiting, lambda ask: ask.digests)))
        count = alike if 2 * alike >= size else len(waiting)
        yield waiting[:count]
        waiting = waiting[count:]


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A batch of n questions, before its images are encoded."""

    questions: Sequence[Question]
    inputs: Mapping[str, Any]  # inputs of ``generate``: tokens (n, length), mask, ...
    lengths: Sequence[int]  # (n,) number of tokens of each prompt, without padding
    layout: Layout | None  # images of the prompts; None if ``inputs`` contains the images themselves
    # Inputs split after the common prefix, if all prompts have the same images and a common prefix; else None.
    split: Split | None


class VisionModel(LocalModel):
    """Vision-language model with its processor, loaded from the hub or from a folder."""

    def __init__(self, config: Transformers) -> None:
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
        # Replaced, because the model's own settings (temperature, penalties) would be used as defaults.
        self._model.generation_config = self.transformers.GenerationConfig(
            eos_token_id=self._ends, pad_token_id=tokenizer.pad_token_id
        )
        self._encoder = Encoder(self._model, self._processor)
        self._prefix = Prefix(self._model, config.dtype, allowed=self._encoder.shares)
        self._spelt: dict[str, list[int]] = {}  # tokens that spell a word

    def _check_processor(self, settings: Iterable[str]) -> None:
        processor = self._processor
        if not hasattr(processor, "image_processor"):
            raise OptionError(f"{self.name} has no image processor: choose a vision-language model")
        if not (getattr(processor, "chat_template", None) or getattr(processor.tokenizer, "chat_template", None)):
            hint = "choose an instruction-tuned model (names often end in -Instruct or -it)"
            raise OptionError(f"{self.name} has no chat template: {hint}")
        images = processor.image_processor
        of_class = get_type_hints(images.valid_kwargs) if hasattr(images, "valid_kwargs") else {}
        known = {*signature(type(processor).__init__).parameters, *images.to_dict(), *of_class} - _PARTS
        for name in settings:  # the class of the processor would ignore unknown names
            if name not in known:
                expected = f"settings of {type(images).__name__}: {', '.join(sorted(known))}"
                raise OptionError(f"--set vlm.processor: found {quote(name)}, expected {expected}")
        image_token = getattr(processor, "image_token", None)
        if image_token and image_token not in self._conversation(Question([None], "question")):  # type: ignore[list-item]
            raise OptionError(f"the chat template of {self.name} ignores images: choose another model")

    def _conversation(self, question: Question) -> str:
        messages = messages_of(question, [""] * len(question.pictures))
        for message in messages:
            parts = message["content"]
            if isinstance(parts, str):
                message["content"] = [{"type": "text", "text": parts}]
            else:
                message["content"] = [{"type": "image"} if part["type"] == "image_url" else part for part in parts]
        settings = {"tokenize": False, "add_generation_prompt": True, "enable_thinking": False}
        return str(self._processor.apply_chat_template(messages, **settings))

    def prepare(self, questions: Sequence[Question]) -> Prepared:
        """Open images and tokenize prompts of a batch, perhaps while :meth:`answer` runs; may raise OptionError."""
        texts = [self._conversation(question) for question in questions]
        for word in (word for question in questions for word in question.words):
            if word not in self._spelt:
                self._spelt[word] = [token for token, text in enumerate(self._vocabulary) if spells(text, word)]
            if not self._spelt[word]:
                raise OptionError(f"{self.name} has no single token for {quote(word)}: use `--way phrase`")
        try:
            inputs, layout = self._encoder.prepare(texts, [question.pictures for question in questions])
        except (RuntimeError, TypeError, ValueError) as error:
            raise OptionError(f"{self.name}: the processor failed on a question: {first_line(error)}") from None
        split = None
        if layout is not None and len({tuple(p.digest for p in question.pictures) for question in questions}) == 1:
            split = self._prefix.split(inputs, getattr(self._processor, "image_token_id", None))
        return Prepared(questions, inputs, inputs["attention_mask"].sum(1).tolist(), layout, split)

    def answer(self, batch: Prepared) -> list[tuple[GeneratedText, int]]:
        """Return (answer, length of the prompt in tokens) for each question of a batch."""
        torch = self.torch
        try:
            with torch.inference_mode():
                output = self._output(batch)
                ids = output.sequences[:, -len(output.logits) :]
                steps = [self._logprobs(logits, ids[:, i], batch) for i, logits in enumerate(output.logits)]
        except torch.OutOfMemoryError:
            most, hint = self._batch_size, "use a smaller batch size, smaller images, or dtype bfloat16"
            raise OptionError(
                f"{self.name} does not fit into the device's memory with batches of {most}: {hint}"
            ) from None
        answers = [
            self._answer(row, steps, *asked)
            for row, asked in enumerate(zip(batch.questions, ids.tolist(), strict=True))
        ]
        return list(zip(answers, batch.lengths, strict=True))

    def _output(self, batch: Prepared) -> Any:
        """Return the output of ``generate`` for a batch; if possible, the common prefix is processed only once."""
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
        images = {} if batch.layout is None else self._encoder.inputs_of(batch.layout.order)
        plain = self._generated({**inputs, **images})
        if batch.split is not None and not self._prefix.is_known:
            self._prefix.compare(None if ours is None else ours.logits[0], plain.logits[0])
        return plain

    def _generated(self, inputs: Mapping[str, Any]) -> Any:
        settings = {"do_sample": False, "output_logits": True, "return_dict_in_generate": True}
        return self._model.generate(**inputs, max_new_tokens=self._most, **settings)

    def _logprobs(self, logits: Any, chosen: Any, batch: Prepared) -> tuple[Any, Any]:
        """Return token IDs and their log probabilities at one position of the answers, one row per answer.

        Each row contains the chosen token, the likeliest tokens, and the tokens of words that any question expects.
        """
        torch = self.torch
        logprobs = logits.float().log_softmax(-1)
        top = logprobs.topk(min(self._top, logprobs.shape[-1]), dim=-1)
        wanted = sorted({token for question in batch.questions for token in self._tokens_of(question)})
        words = torch.tensor([wanted] * len(logprobs), dtype=torch.long, device=logprobs.device)
        ids = torch.cat([chosen[:, None], top.indices, words], 1)
        values = logprobs.gather(1, ids)
        if not bool(torch.isfinite(values[:, :2]).all()):
            raise OptionError(f"{self.name} returns non-finite values with dtype {self._dtype}: use another dtype")
        return ids.tolist(), values.tolist()

    def _answer(self, row: int, steps: Sequence[Any], question: Question, ids: Sequence[int]) -> GeneratedText:
        end = next((i for i, token in enumerate(ids) if token in self._ends), None)
        steps = steps if end is None else steps[: end + 1]
        words = self._tokens_of(question)
        tokens = tuple(self._token(step_ids[row], values[row], words) for step_ids, values in steps)
        text = self._tokenizer.decode(ids[:end], skip_special_tokens=True)
        return GeneratedText(text, tokens, "length" if end is None else "stop")

    def _token(self, ids: Sequence[int], values: Sequence[float], words: set[int]) -> Token:
        """Return the generated token, with the likeliest alternatives and the tokens of the expected ``words``."""
        alternatives = dict(zip(ids[1:], values[1:], strict=True))
        likeliest = set(ids[1 : 1 + self._top])
        top = [
            Token(self._text_of(token), max(round(value, _DIGITS), LEAST), token)
            for token, value in alternatives.items()
            if token in likeliest or token in words
        ]
        return Token(self._text_of(ids[0]), round(values[0], _DIGITS), ids[0], tuple(top))

    def _tokens_of(self, question: Question) -> set[int]:
        return {token for word in question.words for token in self._spelt[word]}

    def _text_of(self, token: int) -> str:
        return self._vocabulary[token] if token < len(self._vocabulary) else ""

    @cached_property
    def _vocabulary(self) -> list[str]:
        return list(self._tokenizer.batch_decode([[token] for token in range(len(self._tokenizer))]))
