"""Kind ``learned``: what a map's ratings teach about pairs that it does not rate (``shoe map learn``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from shoe.core.arrays import Floats, Ints
from shoe.core.errors import OptionError
from shoe.lexicon.expressions import Part
from shoe.rating.config import Backend, RaterConfig, setting
from shoe.rating.kinds import local
from shoe.rating.kinds.lexical import ROUNDED, Measured
from shoe.rating.prompts import Prompts
from shoe.similarity import Similarity, SimilarityMap


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
