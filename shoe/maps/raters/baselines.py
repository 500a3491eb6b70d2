"""Kind ``lexical``: a measure on WordNet's graph, as a baseline beside what LLMs say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, cast

import numpy as np

from shoe.core.arrays import Floats, Ints
from shoe.core.errors import OptionError
from shoe.lexicon.expressions import Part
from shoe.lexicon.store import lexicon
from shoe.llm.request import Recorder
from shoe.maps.config import Backend, RaterConfig, setting
from shoe.maps.prompts import Group, Prompts, SenseText
from shoe.maps.raters import local
from shoe.maps.rating_answers import read_by_id
from shoe.similarity import Similarity, SimilarityMap, WordNetSimilarity
from shoe.similarity.ensemble import HIGHEST

# A rating is 4 times the value, rounded half up.
ROUNDED = tuple((rating - 0.5) / HIGHEST for rating in range(1, HIGHEST + 1))


class Lexical(RaterConfig, frozen=True, kw_only=True):
    """a measure on WordNet's graph, as a baseline beside what LLMs say."""

    kind: ClassVar[str] = "lexical"
    prompted: ClassVar[bool] = False

    model: str = "WordNet 3.0"
    measure: Annotated[Literal["path", "wup"], setting("path or wup: 1 / (1 + steps), or Wu and Palmer")]
    thresholds: Annotated[local.Thresholds, setting("the values, 0 to 1, from which a pair is rated 1, 2, 3 and 4")] = (
        ROUNDED  # type: ignore[assignment]  # four of them
    )

    def backend(self, prompts: Prompts) -> Backend:
        """Make the rater; it asks with no prompt."""
        local.check(self, self.thresholds)
        return Measured(WordNetSimilarity(self.measure), self.thresholds)

    def identity(self) -> Mapping[str, Any]:
        """Say which graph is measured, where it is not WordNet's."""
        graph = lexicon().concepts
        return {} if graph.is_wordnet else {"lexicon": graph.digest}


@dataclass(frozen=True, slots=True)
class Measured:
    """Rates by a similarity's values."""

    measure: Similarity
    thresholds: tuple[float, ...]

    def rate(self, groups: Iterator[Group], recorder: Recorder) -> None:
        """Answer groups of questions."""
        for group in groups:
            if recorder.stopping or not recorder.may_ask(group):
                return
            firsts, rows = np.unique([question.first.name for question in group.questions], return_inverse=True)
            seconds, columns = np.unique([question.second.name for question in group.questions], return_inverse=True)
            part = cast("Part", group.part)  # a rater that reads no prompts is asked about senses alone
            values = self.measure.between(part, firsts.tolist(), seconds.tolist())[rows, columns]
            ratings = np.searchsorted(self.thresholds, values, side="right").tolist()
            recorder.answer(group, {"ratings": dict(zip(group.ids, ratings, strict=True))})

    def parse(self, ids: Sequence[str], raw: Mapping[str, Any]) -> list[int]:
        """Read an answer back."""
        return read_by_id(raw, ids)


# Kind ``learned``: what a map's ratings teach about pairs that it does not rate (``shoe map learn``).


class Learned(RaterConfig, frozen=True, kw_only=True):
    """what a map's ratings teach about pairs that it does not rate."""

    kind: ClassVar[str] = "learned"
    prompted: ClassVar[bool] = False

    model: str = "predicted ratings"
    map: Annotated[str, setting("a map with predictions: a shipped one's name, or a folder", key=False)] = "hico-det"

    def backend(self, prompts: Prompts) -> Backend:
        """Make the rater; it asks with no prompt."""
        local.check(self)
        return Measured(Predicted(self._map()), ROUNDED)

    def identity(self) -> Mapping[str, Any]:
        """Say which predictions they are, wherever they lie."""
        return {"predictions": self._map().digest}

    def _map(self) -> SimilarityMap:
        similarity = SimilarityMap.load(self.map)
        if similarity.learned is None:
            raise OptionError(f"map {similarity.name} predicts nothing: shoe map learn {self.map} makes it do so")
        return similarity


@dataclass(frozen=True, slots=True)
class Predicted(Similarity):
    """The predictions of a map, rated or not."""

    source: SimilarityMap
    name: str = "predicted"

    @property
    def digest(self) -> str:
        """The map's."""
        return self.source.digest

    def values(self, part: Part, class_senses: Ints, senses: Ints) -> Floats:
        """Predict C class senses against S senses, whichever of the two is the class; 0 where neither is one."""
        found = self.source.predicted(part, class_senses, senses)
        back = self.source.predicted(part, senses, class_senses)
        assert found is not None and back is not None  # noqa: S101, PT018 - a map without predictions was refused
        either: Floats = np.nan_to_num(np.where(np.isnan(found), back.T, found))
        return either


# Kind ``embedding``: how near two senses' texts lie to each other, as a baseline beside what LLMs say.
#
# A sense's text is its lemmas and its gloss ("ride, sit: be carried by ..."). A sentence encoder makes one vector of
# it:
# the mean of its tokens' last states, of length 1 (Reimers and Gurevych 2019). The cosine of two vectors becomes a
# rating
# by four thresholds.

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
        """Load the model; see :class:`~shoe.maps.raters.local.Model`."""
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
