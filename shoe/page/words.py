"""Why a class and a predicted word are as similar as they are, for each pair that a page shows."""

from __future__ import annotations

from typing import Any

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
        """Indices of the explanations of a class's verb and object against those of a predicted triplet."""
        classes, verb, object_ = self._classes, int(table.verb[row]), int(table.object[row])
        labels = classes.verbs[classes.verb[hoi]], classes.objects[classes.object[hoi]]
        rows = int(similarities.verb_row[hoi]), int(similarities.object_row[hoi])
        return [
            self._index(similarities, "verb", labels[0], rows[0], verb, table.verbs[verb]),
            self._index(similarities, "object", labels[1], rows[1], object_, table.objects[object_]),
        ]

    def _index(self, similarities: HoiSimilarity, part: Part, label: str, row: int, column: int, word: str) -> int:
        """Index of the explanation of a class's word, at a row of the similarities, and a predicted word's column."""
        key = part, row, column
        if key in self._known:
            return self._known[key]
        verb, source = part == "verb", similarities.source
        table = similarities.verbs if verb else similarities.objects
        senses = similarities.verb_senses if verb else similarities.object_senses
        wanted, found = _name(int(senses[row])), _name(int(table.sense[row, column]))
        ratings = source.ratings(part, wanted, found) if isinstance(source, SimilarityMap) and wanted and found else {}
        reasons = (
            reason_of(candidate, part, (label, wanted), word, self._options)
            for candidate in resolve(word, part, self._options.object_words).candidates
            if candidate.name == found
        )
        self._known[key] = len(self.listed)
        self.listed.append(
            {
                "label": label,
                "sense": wanted,
                "word": word,
                "found": found,
                "reason": next(reasons, ""),
                "value": round(float(table.values[row, column]), 4),
                "basis": Basis(table.basis[row, column]).name.lower().replace("_", " "),
                "ratings": {rater: rating for rater, rating in (ratings or {}).items() if rating is not None},
            }
        )
        return self._known[key]


def _name(sense: int) -> str:
    return lexicon().name(sense) if sense >= 0 else ""
