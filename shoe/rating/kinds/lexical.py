"""Kind ``lexical``: a measure on WordNet's graph, as a baseline beside what LLMs say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoe.core.errors import OptionError, quote
from shoe.lexicon.expressions import Part
from shoe.rating.answers import read_by_id
from shoe.rating.config import RaterConfig
from shoe.rating.kinds import REQUIRED, Setting
from shoe.rating.prompts import Prompts, ids_of
from shoe.rating.questions import Backend, Group, Recorder
from shoe.similarity import WordNetSimilarity
from shoe.similarity.ensemble import HIGHEST

# A rating is 4 times the value, rounded half up.
_ROUNDED = [(rating - 0.5) / HIGHEST for rating in range(1, HIGHEST + 1)]

SETTINGS: Mapping[str, Setting] = {
    "measure": Setting(str, REQUIRED, "path or wup: 1 / (1 + steps), or Wu and Palmer", choices=("path", "wup")),
    "thresholds": Setting(list, _ROUNDED, "the values, 0 to 1, from which a pair is rated 1, 2, 3 and 4"),
}
MODEL = "WordNet 3.0"
PROMPTED = False


def backend(config: RaterConfig, prompts: Prompts) -> Backend:
    """Make the rater; it asks with no prompt.

    Raises:
        OptionError: for thresholds that are not four rising numbers, or repeats of what is the same each time.
    """
    where, thresholds = f"rater {quote(config.name)}", config.settings["thresholds"]
    numbers = [t for t in thresholds if isinstance(t, int | float) and not isinstance(t, bool)]
    if len(thresholds) != HIGHEST or len(numbers) != HIGHEST or numbers != sorted(numbers):
        raise OptionError(f"{where}: thresholds: found {quote(thresholds)}, expected {HIGHEST} rising numbers")
    if config.repeats != 1:
        raise OptionError(f"{where}: repeats: found {config.repeats}, expected 1: it answers the same each time")
    return _Measure(WordNetSimilarity(config.settings["measure"]), tuple(map(float, numbers)))


@dataclass(frozen=True, slots=True)
class _Measure:
    measure: WordNetSimilarity
    thresholds: tuple[float, ...]

    def rate(self, groups: Iterator[Group], recorder: Recorder) -> None:
        for group in groups:
            if recorder.stopping or not recorder.may_ask(group):
                return
            ids = ids_of([question.key for question in group])
            recorder.answer(group, {"ratings": dict(zip(ids, self._ratings(group), strict=True))})

    def _ratings(self, group: Group) -> list[int]:
        firsts = {name: row for row, name in enumerate(sorted({question.first.name for question in group}))}
        seconds = {name: column for column, name in enumerate(sorted({question.second.name for question in group}))}
        values = self.measure.between(group[0].part, list(firsts), list(seconds))
        rows = [firsts[question.first.name] for question in group]
        columns = [seconds[question.second.name] for question in group]
        ratings: list[int] = np.searchsorted(self.thresholds, values[rows, columns], side="right").tolist()
        return ratings

    def parse(self, part: Part, ids: Sequence[str], raw: Mapping[str, Any]) -> list[int]:
        return read_by_id(raw, ids)
