"""Kind ``embedding``: how near two senses' texts lie to each other, as a baseline beside what LLMs say.

A sense's text is its lemmas and its gloss ("ride, sit: be carried by ..."). A sentence encoder makes one vector of it:
the mean of its tokens' last states, of length 1 (Reimers and Gurevych 2019). The cosine of two vectors becomes a rating
by four thresholds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np

from shoe.core.arrays import Floats
from shoe.llm.request import Recorder
from shoe.rating.config import Backend, setting
from shoe.rating.kinds import local
from shoe.rating.prompts import Group, Prompts
from shoe.rating.questions import SenseText

# The default thresholds (scripts/fit-thresholds) give the pairs of the shipped map, under all-MiniLM-L6-v2, as many of
# each rating as that map's mean ratings have; another encoder spreads its cosines otherwise and needs its own.

_TEXT = "lemmas: gloss, version 1"
"""Names what ``text_of`` makes; another text is another answer."""
_DIGITS = 4


class Embedding(local.LocalRater, frozen=True, kw_only=True):
    """how near two senses' texts lie to each other, as a baseline beside what LLMs say."""

    kind: ClassVar[str] = "embedding"
    prompted: ClassVar[bool] = False

    model: str = "sentence-transformers/all-MiniLM-L6-v2"
    thresholds: Annotated[
        local.Thresholds,
        setting("the cosines from which a pair is rated 1, 2, 3 and 4; see the file", key=False, reads=True),
    ] = (0.41, 0.50, 0.58, 0.74)

    def backend(self, prompts: Prompts) -> Backend:
        """Make the rater; it asks with no prompt."""
        local.check(self, self.thresholds)
        return _Cosines(self)

    def identity(self) -> dict[str, str]:
        """Say which model it is, and what of a sense it reads."""
        return {**super().identity(), "text": _TEXT}


class _Cosines:
    def __init__(self, config: Embedding) -> None:
        self._config = config

    def rate(self, groups: Iterator[Group], recorder: Recorder) -> None:
        """Encode each sense once, however many pairs it is in, and multiply."""
        encoder = Encoder(self._config)
        vector: dict[SenseText, Floats] = {}
        for group in groups:
            if recorder.stopping or not recorder.may_ask(group):
                return
            pairs = [(question.first, question.second) for question in group.questions]
            new = list(dict.fromkeys(sense for pair in pairs for sense in pair if sense not in vector))
            if new:
                vector.update(zip(new, encoder.encode([text_of(sense) for sense in new]), strict=True))
            first, second = (np.array([vector[sense] for sense in side]) for side in zip(*pairs, strict=True))
            cosines = np.einsum("ij,ij->i", first, second).round(_DIGITS) + 0.0  # no -0
            recorder.answer(group, {"cosines": dict(zip(group.ids, cosines.tolist(), strict=True))})

    def parse(self, ids: Sequence[str], raw: Mapping[str, Any]) -> list[int]:
        """Read the ratings of a group by the thresholds that are set now."""
        cosines = [raw["cosines"][name] for name in ids]
        ratings: list[int] = np.searchsorted(self._config.thresholds, cosines, side="right").tolist()
        return ratings


def text_of(sense: SenseText) -> str:
    """Return what of a sense is encoded: its lemmas and its gloss."""
    return f"{', '.join(sense.lemmas)}: {sense.gloss}"


class Encoder(local.Model):
    """A sentence encoder: mean pooling, unit length."""

    def __init__(self, config: Embedding) -> None:
        """Load the model; see :class:`~shoe.rating.kinds.local.Model`."""
        super().__init__(config, "AutoModel")
        self._size = config.batch_size

    def encode(self, texts: Sequence[str]) -> Floats:
        """Encode texts; what is longer than the model reads is cut.

        Returns:
            (n, d) vectors of length 1.
        """
        tokens = self.tokenizer(list(texts), truncation=True)["input_ids"]
        vectors: dict[int, Floats] = {}
        torch = self.torch
        for length, batch in local.batches(enumerate(tokens), self._size):
            arrays = local.padded([t for _, t in batch], self._size, length, self.tokenizer.pad_token_id, "right")
            ids, present = (torch.from_numpy(arrays[name]).to(self.device) for name in ("input_ids", "attention_mask"))
            with torch.inference_mode():
                states = self.model(input_ids=ids, attention_mask=present).last_hidden_state.double()
                mean = (states * present[:, :, None]).sum(dim=1) / present.sum(dim=1, keepdim=True)
                encoded = torch.nn.functional.normalize(mean, dim=1).cpu().numpy()
            vectors.update(zip((number for number, _ in batch), encoded, strict=False))
        return np.array([vectors[number] for number in range(len(texts))])
