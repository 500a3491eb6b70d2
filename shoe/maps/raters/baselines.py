"""Raters without a language model: measures on WordNet's graph, predicted ratings, and cosines of embeddings."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, cast

import numpy as np

from shoe.core.arrays import Floats, Ints
from shoe.core.errors import OptionError
from shoe.lexicon.senses import Part
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
    """a measure on WordNet's graph, as a baseline for LLM raters."""

    kind: ClassVar[str] = "lexical"
    prompted: ClassVar[bool] = False

    model: str = "WordNet 3.0"
    measure: Annotated[Literal["path", "wup"], setting("path: 1 / (1 + steps); wup: measure of Wu and Palmer")]
    thresholds: Annotated[
        local.Thresholds, setting("lowest values of the measure, 0 to 1, at which a pair is rated 1, 2, 3 and 4")
    ] = ROUNDED  # type: ignore[assignment]  # a tuple of four

    def backend(self, prompts: Prompts) -> Backend:
        """Return the rater, which does not use ``prompts``; raise OptionError if its settings are invalid."""
        local.check(self, self.thresholds)
        return Measured(WordNetSimilarity(self.measure), self.thresholds)

    def identity(self) -> Mapping[str, Any]:
        """Return {"lexicon": digest of its concepts}, or {} for WordNet."""
        graph = lexicon().concepts
        return {} if graph.is_wordnet else {"lexicon": graph.digest}


@dataclass(frozen=True, slots=True)
class Measured:
    """Rater by a similarity measure; ``thresholds`` are the lowest similarities for ratings 1 to 4."""

    measure: Similarity
    thresholds: tuple[float, ...]

    def rate(self, groups: Iterator[Group], recorder: Recorder) -> None:
        """Answer groups of questions, and pass the answers to the recorder, until no group is left or the run ends."""
        for group in groups:
            if recorder.stopping or not recorder.may_ask(group):
                return
            firsts, rows = np.unique([question.first.name for question in group.questions], return_inverse=True)
            seconds, columns = np.unique([question.second.name for question in group.questions], return_inverse=True)
            part = cast("Part", group.part)  # raters without prompts get no questions about whole interactions
            values = self.measure.between(part, firsts.tolist(), seconds.tolist())[rows, columns]
            ratings = np.searchsorted(self.thresholds, values, side="right").tolist()
            recorder.answer(group, {"ratings": dict(zip(group.ids, ratings, strict=True))})

    parse = staticmethod(read_by_id)


class Learned(RaterConfig, frozen=True, kw_only=True):
    """the ratings that a map's prediction model predicts (`shoe map learn`)."""

    kind: ClassVar[str] = "learned"
    prompted: ClassVar[bool] = False

    model: str = "predicted ratings"
    map: Annotated[str, setting("name of a shipped map, or a map's folder, with predictions", key=False)] = "hico-det"

    def backend(self, prompts: Prompts) -> Backend:
        """Return the rater, which does not use ``prompts``; raise OptionError if its settings are invalid."""
        local.check(self)
        return Measured(Predicted(self._map()), ROUNDED)

    def identity(self) -> Mapping[str, Any]:
        """Return {"predictions": digest of the similarity map}, so that answers do not depend on its path."""
        return {"predictions": self._map().digest}

    def _map(self) -> SimilarityMap:
        similarity = SimilarityMap.load(self.map)
        if similarity.learned is None:
            raise OptionError(f"map {similarity.name} has no predictions: run `shoe map learn {self.map}` first")
        return similarity


@dataclass(frozen=True, slots=True)
class Predicted(Similarity):
    """Similarity measure with the ratings that a map's model predicts, also for pairs with a rating in the map."""

    source: SimilarityMap
    name: str = "predicted"

    @property
    def digest(self) -> str:
        """Digest of the similarity map ``source``, 8 hex digits."""
        return self.source.digest

    def values(self, part: Part, class_senses: Ints, senses: Ints) -> Floats:
        """Return the (C, S) predicted similarity, 0 to 1: of the pair, else of the reversed pair, else 0."""
        found = self.source.predicted(part, class_senses, senses)
        back = self.source.predicted(part, senses, class_senses)
        assert found is not None and back is not None  # noqa: S101, PT018 - checked by _map
        return np.nan_to_num(np.where(np.isnan(found), back.T, found))


# Kind ``embedding``: a sentence encoder (Reimers and Gurevych 2019) maps the lemmas and gloss of a sense to a vector.
# With the default thresholds (scripts/fit-thresholds) and all-MiniLM-L6-v2, each rating is as frequent in the shipped
# map as among its rounded mean ratings. Other encoders have other distributions of cosines and need other thresholds.

_TEXT = "lemmas: gloss, version 1"
"""Name of the format of ``text_of``, part of the answer keys; to be changed together with the format."""
_DIGITS = 4


class Embedding(local.LocalRater, frozen=True, kw_only=True):
    """cosine similarity of the texts of two senses, as a baseline for LLM raters."""

    kind: ClassVar[str] = "embedding"
    prompted: ClassVar[bool] = False

    model: str = "sentence-transformers/all-MiniLM-L6-v2"
    thresholds: Annotated[
        local.Thresholds, setting("lowest cosines at which a pair is rated 1, 2, 3 and 4", key=False, reads=True)
    ] = (0.41, 0.50, 0.58, 0.74)

    def backend(self, prompts: Prompts) -> Backend:
        """Return the rater, which does not use ``prompts``; raise OptionError if its settings are invalid."""
        local.check(self, self.thresholds)
        return _Cosines(self)

    def identity(self) -> dict[str, str]:
        """Return {"files": fingerprint of a local model's files, "text": format of the senses' texts}."""
        return {**super().identity(), "text": _TEXT}


class _Cosines:
    def __init__(self, config: Embedding) -> None:
        self._config = config

    def rate(self, groups: Iterator[Group], recorder: Recorder) -> None:
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
        cosines = [raw["cosines"][name] for name in ids]
        ratings: list[int] = np.searchsorted(self._config.thresholds, cosines, side="right").tolist()
        return ratings


def text_of(sense: SenseText) -> str:
    """Return the text of a sense from which its vector is computed: its lemmas and its gloss."""
    return f"{', '.join(sense.lemmas)}: {sense.gloss}"


class Encoder(local.Model):
    """Sentence encoder: the vector of a text is the mean of its tokens' last hidden states, scaled to length 1."""

    def __init__(self, config: Embedding) -> None:
        super().__init__(config, "AutoModel")
        self._size = config.batch_size

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return (n, D) vectors of n texts, all of length 1; texts that are too long for the model are truncated."""
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
