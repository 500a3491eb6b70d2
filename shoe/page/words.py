"""Why a class and a predicted word are as similar as they are, for each pair that a page shows."""

from __future__ import annotations

from typing import Any, NamedTuple

from shoe.core.interactions import Interactions
from shoe.lexicon.expressions import Part
from shoe.lexicon.resolve import resolve
from shoe.lexicon.store import lexicon
from shoe.protocols.options import SemanticOptions
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.score import Report
from shoe.similarity import Basis, SimilarityMap
from shoe.similarity.explain import reason_of


class Words:
    """Explanations of one model's words, each listed once: words, senses, value, and who rated the senses how.

    Attributes:
        listed: of all models, in the keys that ``static/examples.js`` reads.
    """

    def __init__(self, listed: list[dict[str, Any]], report: Report, options: SemanticOptions) -> None:
        """List what is new after what other models have listed."""
        self.listed, self._classes, self._options = listed, report.truth.classes, options
        self._known: dict[tuple[Part, int, int], int] = {}

    def of(self, similarities: HoiSimilarity, hoi: int, table: Interactions, row: int) -> list[int]:
        """Numbers of the explanations of a class's verb and object against those of a predicted triplet."""
        classes = self._classes
        verb, object_ = int(table.verb[row]), int(table.object[row])
        of_verb = _Compared("verb", classes.verbs[classes.verb[hoi]], int(similarities.verb_row[hoi]))
        of_object = _Compared("object", classes.objects[classes.object[hoi]], int(similarities.object_row[hoi]))
        return [
            self._number(similarities, of_verb, verb, table.verbs[verb]),
            self._number(similarities, of_object, object_, table.objects[object_]),
        ]

    def _number(self, similarities: HoiSimilarity, of: _Compared, column: int, word: str) -> int:
        key = of.part, of.row, column
        if key not in self._known:
            self._known[key] = len(self.listed)
            self.listed.append(self._explained(similarities, of, column, word))
        return self._known[key]

    def _explained(self, similarities: HoiSimilarity, of: _Compared, column: int, word: str) -> dict[str, Any]:
        verb, source = of.part == "verb", similarities.source
        table = similarities.verbs if verb else similarities.objects
        senses = similarities.verb_senses if verb else similarities.object_senses
        wanted, found = _name(int(senses[of.row])), _name(int(table.sense[of.row, column]))
        given = (
            source.ratings(of.part, wanted, found) if isinstance(source, SimilarityMap) and wanted and found else None
        )
        candidates = resolve(word, of.part, self._options.object_words).candidates
        reasons = (
            reason_of(candidate, of.part, (of.label, wanted), word, self._options)
            for candidate in candidates
            if candidate.name == found
        )
        return {
            "label": of.label,
            "sense": wanted,
            "word": word,
            "found": found,
            "reason": next(reasons, ""),
            "value": round(float(table.values[of.row, column]), 4),
            "basis": Basis(table.basis[of.row, column]).name.lower().replace("_", " "),
            "ratings": {rater: rating for rater, rating in (given or {}).items() if rating is not None},
        }


class _Compared(NamedTuple):
    """A class's word, and its row in the table of similarities."""

    part: Part
    label: str
    row: int


def _name(sense: int) -> str:
    return lexicon().name(sense) if sense >= 0 else ""
