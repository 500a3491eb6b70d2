"""Pictures in a batch of prompts: prepared once each, and encoded once each where the model's class allows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from inspect import signature
from itertools import takewhile
from typing import Any, NamedTuple

from shoe.predict.questions import Picture

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
