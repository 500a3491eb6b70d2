"""How far similarities agree with how people rate words: the computation behind ``scripts/map-quality``.

People rated pairs of words, raters pairs of senses. As in scoring, two words are as similar as their best senses: the
first word's senses that a map knows as classes, against the second word's senses; and the other way round.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import atanh, sqrt, tanh
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.scoring_options import SemanticOptions
from shoe.core.arrays import Floats, Mask
from shoe.core.errors import InputError, quote
from shoe.core.io.files import read_bytes
from shoe.core.statistics import spearman
from shoe.lexicon.resolve import resolve
from shoe.lexicon.senses import Part
from shoe.similarity import Basis, Similarity, SimilarityMap, similarity_table

_COLUMNS = ("word1", "word2", "POS", "SimLex999")
_PARTS: dict[str, Part] = {"V": "verb", "N": "object"}
_OTHER = frozenset("A")
_HIGHEST = 10
_FEWEST = 5
_95_PERCENT = 1.959964


@dataclass(frozen=True, slots=True, eq=False)
class WordPairs:
    """n pairs of words of one part of speech, and how similar people find them (any scale)."""

    part: Part
    first: tuple[str, ...]
    second: tuple[str, ...]
    human: Floats

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True, slots=True, eq=False)
class Looked:
    """What one similarity says about n pairs of words.

    Attributes:
        values: (n,) 0..1; NaN for a pair that it says nothing about.
        shared: (n,) whether the value is 1 because the words share a sense, whatever raters rated.
    """

    values: Floats
    shared: Mask

    @property
    def covered(self) -> Mask:
        """(n,) whether there is a value."""
        return ~np.isnan(self.values)


@dataclass(frozen=True, slots=True)
class Correlation:
    """Spearman's rank correlation over some pairs.

    Attributes:
        pairs: their number.
        rho: None where it is not defined: fewer than two pairs, or all values the same.
        low, high: 95 % interval (Bonett and Wright 2000), None for fewer than 5 pairs.
    """

    pairs: int
    rho: float | None
    low: float | None = None
    high: float | None = None


def read_simlex(path: Path) -> dict[Part, WordPairs]:
    """Read SimLex-999 (Hill, Reichart and Korhonen 2015): its verbs and its nouns; adjectives are left out.

    Raises:
        InputError: naming the line and field of what is not of its format.
    """
    try:
        lines = read_bytes(path).decode().splitlines()
    except UnicodeDecodeError:
        raise InputError(path, found="bytes that are not UTF-8", expected="SimLex-999.txt") from None
    header = lines[0].split("\t") if lines else []
    if not set(_COLUMNS) <= set(header):
        expected = f"SimLex-999.txt, with tabs between {', '.join(_COLUMNS)}"
        raise InputError(path, record="line 1", found=quote(lines[0] if lines else ""), expected=expected)
    found: dict[Part, list[tuple[str, str, float]]] = {part: [] for part in _PARTS.values()}
    for number, line in enumerate(lines[1:], start=2):
        fields = dict(zip(header, line.split("\t"), strict=False))
        if len(fields) < len(header):
            raise InputError(path, record=f"line {number}", found=f"{len(fields)} fields", expected=str(len(header)))
        first, second, pos, rating = (fields[column] for column in _COLUMNS)
        if pos in _OTHER:
            continue
        if pos not in _PARTS:
            raise InputError(path, record=f"line {number}", field="POS", found=quote(pos), expected="N, V or A")
        found[_PARTS[pos]].append((first, second, _rating(path, number, rating)))
    return {
        part: WordPairs(
            part=part,
            first=tuple(first for first, _, _ in rows),
            second=tuple(second for _, second, _ in rows),
            human=np.array([rating for _, _, rating in rows], np.float64),
        )
        for part, rows in found.items()
    }


def look_up(similarity: Similarity, pairs: WordPairs) -> Looked:
    """Compare the words of each pair as scoring does.

    Args:
        similarity: a map, of which only senses that it has as classes count on the class's side; or a measure, which
            has all senses as classes.
        pairs: words.
    """
    words = sorted({*pairs.first, *pairs.second})
    number = {word: n for n, word in enumerate(words)}
    known = similarity.tables[pairs.part].classes if isinstance(similarity, SimilarityMap) else None
    senses = [
        [c.synset for c in resolve(word, pairs.part).candidates if known is None or c.synset in known] for word in words
    ]
    table = similarity_table(
        similarity,
        pairs.part,
        np.array([sense for of_word in senses for sense in of_word], np.int32),
        [word for word, of_word in zip(words, senses, strict=True) for _ in of_word],
        words,
        SemanticOptions(sense="max", unrated="zero"),
    )
    answered = table.basis >= Basis.ZERO
    best = _best_of(np.where(answered, table.values, np.nan), [len(of_word) for of_word in senses])
    same = _best_of(np.where(table.basis >= Basis.IDENTICAL, 1.0, np.nan), [len(of_word) for of_word in senses])
    first, second = ([number[word] for word in side] for side in (pairs.first, pairs.second))
    return Looked(
        values=np.fmax(best[first, second], best[second, first]),
        shared=~np.isnan(np.fmax(same[first, second], same[second, first])),
    )


def correlation(values: Floats, human: Floats) -> Correlation:
    """Correlate (n,) values with how people rated."""
    rho = spearman(values, human)
    if rho is None or len(values) < _FEWEST or abs(rho) == 1:
        return Correlation(len(values), rho)
    error = _95_PERCENT * sqrt((1 + rho**2 / 2) / (len(values) - 3))
    return Correlation(len(values), rho, tanh(atanh(rho) - error), tanh(atanh(rho) + error))


def covered_by_all(looked: Sequence[Looked]) -> Mask:
    """(n,) whether every similarity has a value for the pair."""
    covered: Mask = np.logical_and.reduce([one.covered for one in looked])
    return covered


def _best_of(values: Floats, counts: Sequence[int]) -> Floats:
    """(G, W) highest of (C, W) values in each of G runs of rows; NaN where a run has none."""
    best: NDArray[np.float64] = np.full((len(counts), values.shape[1]), np.nan)
    start = 0
    for group, count in enumerate(counts):
        if count:
            np.fmax.reduce(values[start : start + count], axis=0, out=best[group])
        start += count
    return best


def _rating(path: Path, number: int, field: str) -> float:
    try:
        rating = float(field)
    except ValueError:
        rating = -1
    if not 0 <= rating <= _HIGHEST:
        expected = f"a number 0 to {_HIGHEST}"
        raise InputError(path, record=f"line {number}", field="SimLex999", found=quote(field), expected=expected)
    return rating
