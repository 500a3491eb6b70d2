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
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from itertools import groupby, islice, takewhile
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, get_type_hints

import msgspec

from shoe.core.errors import OptionError, quote
from shoe.llm.request import Recorder
from shoe.maps.local_models import LocalModel, files_of, first_line
from shoe.predict.backends import Backend, BackendConfig
from shoe.predict.confidence import LEAST, Said, completion, spells
from shoe.predict.questions import Ask, Picture, Question, messages_of
from shoe.predict.records import Alternative, Token

# Pictures in a batch of prompts: prepared once each, and encoded once each where the model's class allows it.

_OF_TEXT = ("input_ids", "attention_mask", "mm_token_type_ids", "token_type_ids", "text_replacement_offsets")
_PROBES = ((64, 64), (96, 64))


class _Seen(NamedTuple):
    """What an encoder made of a picture: its features, those of some layers, and its rows of other inputs."""

    features: Any
    layers: Sequence[Any]
    rows: Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The pictures of a batch.

    Attributes:
        order: digests, in the order in which the prompts show them.
        new: digests of those that the batch before did not show.
        made: what the processor made of the new ones.
    """

    order: Sequence[str]
    new: Sequence[str]
    made: Mapping[str, Any]


class Encoder:
    """Makes a model's inputs of prompts and pictures. What a batch shows is kept for the next one.

    Attributes:
        shares: whether a picture is encoded once for all prompts that show it.
    """

    def __init__(self, model: Any, processor: Any) -> None:
        """Take a model of transformers and its processor, and see by two pictures whether its class allows sharing."""
        import torch

        self._torch, self._model, self._processor = torch, model, processor
        self._form: Any = None
        self._has_types = False
        self._texts: dict[str, str] = {}
        self._seen: dict[str, _Seen] = {}
        self.shares = False
        with suppress(AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError):
            self.shares = self._can_share()

    def _can_share(self) -> bool:
        """Whether the class takes what its encoder made, of each picture apart."""
        from PIL import Image

        if not self._model._supports_mm_encoder_outputs() or not callable(self._processor.create_mm_token_type_ids):
            return False
        texts, made = self._processed([Image.new("RGB", size) for size in _PROBES])
        with self._torch.inference_mode():
            found = self._encoded(made, self._model.device, self._model.dtype)
        token = self._processor.image_token
        return all(len(one.features) == text.count(token) for one, text in zip(found, texts, strict=True))

    def prepare(
        self, texts: Sequence[str], pictures: Sequence[Sequence[Picture]]
    ) -> tuple[dict[str, Any], Layout | None]:
        """Make tokens of prompts.

        Args:
            texts: n prompts, with a place for each picture.
            pictures: of each prompt.

        Returns:
            Inputs of ``generate``, and the pictures that go with them, unless those are among the inputs.
        """
        if self.shares:
            return self._prepare_shared(texts, pictures)
        opened: dict[str, Any] = {}
        for picture in (picture for some in pictures for picture in some):
            if picture.digest not in opened:
                opened[picture.digest] = picture.open()
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
            stands, made = self._processed([known[digest].open() for digest in new])
            self._texts |= zip(new, stands, strict=True)
        self._texts = {digest: self._texts[digest] for digest in known}
        order = [picture.digest for some in pictures for picture in some]
        whole = []
        for text, some in zip(texts, pictures, strict=True):
            first, *rest = text.split(self._processor.image_token)
            places = zip(some, rest, strict=True)
            whole.append(first + "".join(self._texts[picture.digest] + part for picture, part in places))
        inputs = dict(self._processor.tokenizer(whole, padding=True, return_tensors="pt", **self._beginning(texts)))
        if self._has_types:
            kinds = self._processor.create_mm_token_type_ids(inputs["input_ids"].tolist())
            inputs["mm_token_type_ids"] = inputs["input_ids"].new_tensor(kinds)
        return inputs, Layout(order, new, made)

    def _processed(self, images: Sequence[Any]) -> tuple[list[str], dict[str, Any]]:
        """Process n pictures: the text that stands for each in a prompt, and what the encoder takes."""
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
        stands = [places[0]["replacement"] for places in made["text_replacement_offsets"]]
        return stands, {name: value for name, value in made.items() if name not in _OF_TEXT}

    def _encoded(self, made: Mapping[str, Any], device: str, dtype: Any) -> list[_Seen]:
        """Encode n pictures."""
        encode = self._model.base_model.get_image_features
        wanted = signature(encode).parameters
        moved = on_device(made, device, dtype)
        found = encode(**{name: value for name, value in moved.items() if name in wanted}, return_dict=True)
        self._form = type(found)
        rows = {name: value for name, value in moved.items() if not name.startswith("pixel_values")}
        layers = getattr(found, "deepstack_features", None) or []
        return [
            _Seen(features, [layer[i] for layer in layers], {name: value[i] for name, value in rows.items()})
            for i, features in enumerate(found.pooler_output)
        ]

    def encode(self, layout: Layout, device: str, dtype: Any) -> None:
        """Encode the new pictures of a batch, and forget those that it does not show.

        Batches are encoded in the order in which they were prepared.
        """
        if layout.new:
            self._seen |= zip(layout.new, self._encoded(layout.made, device, dtype), strict=True)
        self._seen = {digest: self._seen[digest] for digest in dict.fromkeys(layout.order)}

    def inputs_of(self, order: Sequence[str]) -> dict[str, Any]:
        """Return the inputs of a model that say what prompts show, of the batch that was encoded last."""
        shown = [self._seen[digest] for digest in order]
        features = {"pooler_output": [one.features for one in shown]}
        if shown[0].layers:
            features["deepstack_features"] = [list(layer) for layer in zip(*(one.layers for one in shown), strict=True)]
        rows = {name: self._torch.stack([one.rows[name] for one in shown]) for name in shown[0].rows}
        return {**rows, "mm_encoder_outputs": {"image": self._form(**features)}}

    def _beginning(self, texts: Sequence[str]) -> dict[str, bool]:
        """What keeps a tokenizer from beginning once more what a template has begun."""
        begins = self._processor.tokenizer.bos_token
        return {"add_special_tokens": False} if begins and texts[0].startswith(begins) else {}


def on_device(inputs: Mapping[str, Any], device: str, dtype: Any) -> dict[str, Any]:
    """Bring a model's inputs where it is, and numbers with fractions into its precision."""
    return {
        name: value.to(device, dtype) if value.is_floating_point() else value.to(device)
        for name, value in inputs.items()
    }


# What questions about one picture have in common is read by the model once: the picture and all words before them.
#
# Prompts of a batch that show the same pictures begin alike. Their common beginning is read as one row, what the model
# keeps of it is repeated, and the rest of each prompt goes on from there, behind padding that is not looked at. Whether
# a
# model's class bears this is seen at the first such batch: it is read both ways, and the figures have to be the same.

_SMALLEST = 8
"""Tokens: a shorter beginning is not worth the detour."""
_LIKELY = 3.0
"""Tokens at most e^3 times less likely than the likeliest are compared."""
_TOLERANCE = {"float32": 1e-3, "bfloat16": 0.25, "float16": 0.1}
"""How far the logarithm of a probability may be from what it is without: sums are in another order."""


class Split(NamedTuple):
    """Inputs of a batch, in two parts.

    Attributes:
        beginning: of all prompts, as one row.
        whole: of n prompts, each the beginning, padding, and its own end.
    """

    beginning: dict[str, Any]
    whole: dict[str, Any]


class Prefix:
    """Reads beginnings once, for as long as that gives the same figures.

    Attributes:
        is_known: whether it has been seen to give the same figures, or not to.
        works: what was seen.
    """

    def __init__(self, model: Any, dtype: str, *, allowed: bool) -> None:
        """Take a model of transformers, its precision, and whether its pictures are encoded apart."""
        self._model, self._tolerance = model, _TOLERANCE[dtype]
        self.is_known, self.works = not allowed, allowed

    def split(self, inputs: Mapping[str, Any], picture_token: int | None) -> Split | None:
        """Split prompts, padded on the left, behind their common beginning.

        Returns:
            None where that is short, or pictures stand behind it.
        """
        ids, mask = inputs["input_ids"], inputs["attention_mask"]
        rows = [row[kept.bool()].tolist() for row, kept in zip(ids, mask, strict=True)]
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
        """Read a beginning; inputs of ``generate`` that go on from there."""
        made = self._model(**split.beginning, **pictures, use_cache=True, logits_to_keep=1)
        # Release 5.24 of transformers calls the argument "cache", older ones "past_key_values".
        name = "cache" if "cache" in signature(self._model.forward).parameters else "past_key_values"
        cache = getattr(made, name)
        cache.batch_repeat_interleave(len(split.whole["input_ids"]))
        return {**split.whole, name: cache}

    def judge(self, ours: Any, plain: Any) -> None:
        """Compare (n, vocabulary) logits of both ways where tokens are likely; None for a way that failed."""
        self.is_known = True
        if ours is None:
            self.works = False
            return
        logprobs, usual = (logits.float().log_softmax(-1) for logits in (ours, plain))
        likely = usual > usual.max(-1, keepdim=True).values - _LIKELY
        self.works = bool(((logprobs - usual)[likely].abs() <= self._tolerance).all())


def common(rows: Sequence[Sequence[int]]) -> int:
    """Return how many tokens rows have in common at their beginning.

    >>> common([[1, 2, 3], [1, 2, 4, 5], [1, 2]])
    2
    """
    return sum(1 for _ in takewhile(lambda place: len(set(place)) == 1, zip(*rows, strict=False)))


def _moved(row: Sequence[int], length: int, shared: int, longest: int) -> list[int]:
    """A padded row with its padding moved behind the beginning; padding of any input is what stands there, or 0."""
    kept = list(row[len(row) - length :])
    padding = [row[0] if len(row) > length else 0] * (longest - (length - shared))
    return [*kept[:shared], *padding, *kept[shared:]]


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
