"""Kind ``lexical``: a measure on WordNet's graph, as a baseline beside what LLMs say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, cast

import numpy as np

from shoe.lexicon.expressions import Part
from shoe.lexicon.store import lexicon
from shoe.llm.request import Recorder
from shoe.rating.answers import read_by_id
from shoe.rating.config import Backend, RaterConfig, setting
from shoe.rating.kinds import local
from shoe.rating.prompts import Group, Prompts
from shoe.similarity import Similarity, WordNetSimilarity
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
