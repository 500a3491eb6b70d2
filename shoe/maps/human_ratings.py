"""Human ratings of similarity, and the agreement of a map's raters with them (protocols, A29)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from shoe.benchmarks.scoring_options import SemanticOptions
from shoe.core.arrays import Floats, Ints
from shoe.core.documents import Correlation, Count, Document
from shoe.core.errors import InputError, quote
from shoe.core.io.spreadsheets import delimited_rows
from shoe.core.statistics import pearson, spearman
from shoe.lexicon.senses import POS, Part
from shoe.lexicon.store import lexicon
from shoe.maps.sources import check_same_part
from shoe.similarity import SimilarityMap, combine
from shoe.similarity.ensemble import HIGHEST, ensemble_values

HumanKind = Literal["verbs", "objects", "interactions"]
_PAIR = ["class_synset", "synset", "rating"]
_INTERACTION = ["verb_a", "object_a", "verb_b", "object_b", "rating"]
_PART_OF_COLUMN: dict[str, Part] = {"verb_a": "verb", "verb_b": "verb", "object_a": "object", "object_b": "object"}


class HumanRatings(NamedTuple):
    """Human ratings of N pairs of senses, or of N pairs of interactions (verb and object together).

    Attributes:
        pairs: (N, 2) IDs of the class sense and the other sense of each pair, by part of speech; an interaction has
            both a pair of verb senses and a pair of object senses.
        values: (N,) mean rating of each pair, divided by 4: 0 to 1.
        lines: number of ratings, one per line of the table.
    """

    kind: HumanKind
    pairs: dict[Part, Ints]
    values: Floats
    lines: int


class HumanAgreement(Document, frozen=True):
    """Agreement of a similarity map with human ratings.

    Attributes:
        pairs: number of human-rated pairs for which the map has a value.
        agreement: 1 - mean absolute difference between the map's values and the human values, all 0 to 1.
        pearson, spearman: correlation of the map's values and the human values.
        among_best: False if the agreement is significantly lower than that of the best map in the comparison, else
            True; absent if there is no other map, or the map has a value for less than half of the pairs.
    """

    pairs: Count
    agreement: float | None = None
    pearson: Correlation | None = None
    spearman: Correlation | None = None
    among_best: bool | None = None


def read_human_ratings(path: Path) -> list[HumanRatings]:
    """Read a table of human ratings of pairs of senses, or of pairs of whole interactions.

    The header is ``class_synset synset rating`` or ``verb_a object_a verb_b object_b rating``; ``a`` is the class.
    Senses are WordNet names (ride.v.01), and ratings are numbers from 0 to 4. A pair may have several lines, for
    example one per person; their mean is used. Raise InputError with the file, line and field if the table is invalid.
    Return one element for interactions; or one for verb pairs and one for object pairs, if the table has any.
    """
    header, *rows = delimited_rows(path)
    if header not in (_PAIR, _INTERACTION):
        expected = f"{' '.join(_PAIR)} or {' '.join(_INTERACTION)}, separated by tabs or commas"
        raise InputError(path, record="line 1", found=quote(" ".join(header)), expected=expected)
    ratings: dict[tuple[int, ...], list[float]] = {}
    for number, row in enumerate(rows, start=2):
        senses = tuple(_sense(path, number, column, name) for column, name in zip(header[:-1], row[:-1], strict=True))
        if header == _PAIR:
            check_same_part(path, np.array(senses[:1]), np.array(senses[1:]), number)
        try:
            rating = float(row[-1])
        except ValueError:
            rating = np.nan
        if not 0 <= rating <= HIGHEST:
            expected = f"a number from 0 to {HIGHEST}"
            raise InputError(path, record=f"line {number}", field="rating", found=quote(row[-1]), expected=expected)
        ratings.setdefault(senses, []).append(rating)
    if header == _INTERACTION:
        return [_gathered("interactions", ratings, {"verb": (0, 2), "object": (1, 3)})]
    kinds: dict[HumanKind, Part] = {"verbs": "verb", "objects": "object"}
    found = []
    for kind, part in kinds.items():
        if of_part := {senses: given for senses, given in ratings.items() if lexicon().pos(senses[0]) == POS[part]}:
            found.append(_gathered(kind, of_part, {part: (0, 1)}))
    return found


def map_values(human: HumanRatings, similarity: SimilarityMap, columns: Sequence[int]) -> Floats:
    """Return the (N,) values, 0 to 1, that the raters in ``columns`` of a similarity map give to the human-rated pairs.

    A sense with itself has the value 1; pairs without a rating by these raters are NaN. Values of verb pair and object
    pair are combined as in protocol ``shoe``.
    """
    of_parts, voices = [], similarity.rater_weights.select(columns)
    for part, pairs in human.pairs.items():
        table = similarity.tables[part]
        rows = table.rows_of(*pairs.T)
        values = np.full(len(rows), np.nan)
        ratings = table.ratings[rows[rows >= 0]][:, list(columns)]
        values[rows >= 0] = ensemble_values(ratings, similarity.ensemble, voices)
        values[np.equal(*pairs.T)] = 1
        of_parts.append(values)
    values = of_parts[0]
    if human.kind == "interactions":
        values = combine(values, of_parts[1], SemanticOptions().combine, SemanticOptions().weight)
    return values


def compare_people(human: HumanRatings, values: Floats) -> HumanAgreement:
    """Return the agreement of human ratings with (N,) similarities of the same pairs, NaN if unknown."""
    known = ~np.isnan(values)
    ours, theirs = values[known], human.values[known]
    agreement = 1 - float(np.abs(ours - theirs).mean()) if len(ours) else None
    return HumanAgreement(len(ours), agreement, pearson(ours, theirs), spearman(ours, theirs))


def _gathered(
    kind: HumanKind, ratings: dict[tuple[int, ...], list[float]], columns: dict[Part, tuple[int, int]]
) -> HumanRatings:
    senses = np.array(list(ratings), np.int32)
    pairs = {part: senses[:, list(of_part)] for part, of_part in columns.items()}
    values = np.array([np.mean(given) for given in ratings.values()], np.float64) / HIGHEST
    return HumanRatings(kind, pairs, values, sum(map(len, ratings.values())))


def _sense(path: Path, number: int, column: str, name: str) -> int:
    """Return the ID of a sense, given any of its names; ``number`` is the line number for the error message."""
    sense = lexicon().synset(name)
    wanted = _PART_OF_COLUMN.get(column)
    if sense < 0 or (wanted and lexicon().pos(sense) != POS[wanted]):
        example = "horse.n.01" if wanted == "object" else "ride.v.01"
        kind = "noun" if wanted == "object" else wanted or "synset"
        expected = f"the name of a WordNet 3.0 {kind}, such as {example}"
        raise InputError(path, record=f"line {number}", field=column, found=quote(name), expected=expected)
    return sense
