"""Why a class and a predicted word are as similar as they are, for each pair that a page shows."""

from __future__ import annotations

from typing import Any

from shoe.benchmarks.classes import HoiClasses
from shoe.core.arrays import Ints
from shoe.lexicon.expressions import Part
from shoe.lexicon.store import lexicon
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.similarity import Basis, Similarity, SimilarityMap, SimilarityTable


class Words:
    """Explanations, each listed once: the two words, their senses, the value, and who rated the senses how.

    Attributes:
        listed: in the keys that ``static/examples.js`` reads.
    """

    def __init__(self) -> None:
        """List none yet."""
        self.listed: list[dict[str, Any]] = []
        self._known: dict[tuple[Part, int, str], int] = {}

    def of(
        self,
        similarities: HoiSimilarity,
        classes: HoiClasses,
        hoi: int,
        verb: tuple[int, str],
        object_: tuple[int, str],
    ) -> list[int]:
        """Numbers of the explanations of a class's verb and object against predicted words, as number and text."""
        of_verb = classes.verbs[classes.verb[hoi]], int(similarities.verb_row[hoi])
        of_object = classes.objects[classes.object[hoi]], int(similarities.object_row[hoi])
        source = similarities.source
        return [
            self._number("verb", of_verb, verb, similarities.verbs, similarities.verb_senses, source),
            self._number("object", of_object, object_, similarities.objects, similarities.object_senses, source),
        ]

    def _number(
        self,
        part: Part,
        of: tuple[str, int],
        said: tuple[int, str],
        table: SimilarityTable,
        senses: Ints,
        source: Similarity | None,
    ) -> int:
        (label, row), (column, word) = of, said
        key = part, row, word
        if key not in self._known:
            self._known[key] = len(self.listed)
            wanted, found = _name(int(senses[row])), _name(int(table.sense[row, column]))
            given = None
            if isinstance(source, SimilarityMap) and wanted and found:
                given = source.ratings(part, wanted, found)
            self.listed.append(
                {
                    "label": label,
                    "sense": wanted,
                    "word": word,
                    "found": found,
                    "value": round(float(table.values[row, column]), 4),
                    "basis": Basis(table.basis[row, column]).name.lower().replace("_", " "),
                    "ratings": {rater: rating for rater, rating in (given or {}).items() if rating is not None},
                }
            )
        return self._known[key]


def _name(sense: int) -> str:
    return lexicon().name(sense) if sense >= 0 else ""
