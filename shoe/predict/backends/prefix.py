"""What questions about one picture have in common is read by the model once: the picture and all words before them.

Prompts of a batch that show the same pictures begin alike. Their common beginning is read as one row, what the model
keeps of it is repeated, and the rest of each prompt goes on from there, behind padding that is not looked at. Whether a
model's class bears this is seen at the first such batch: it is read both ways, and the figures have to be the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

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
        kept = made.past_key_values
        kept.batch_repeat_interleave(len(split.whole["input_ids"]))
        return {**split.whole, "past_key_values": kept}

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
