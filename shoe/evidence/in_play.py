"""The pairs of senses that a file looks up: how much more, or less, similar they are than others of their prediction.

What is said where a class is to be seen is meant for it, mostly in the first senses of its words; what is said of other
classes is not. How far that moves ratings is learned from the pairs of the file that are rated: the share of rating r
at a level is multiplied by exp(r (a + b c + d / n)), where c is 1 for the sense of a word that is predicted closest to
the class, else 0, n is the place of the sense among the word's, and pairs behind matches have other a, b, d than the
rest. The likeliest of these numbers are sought, each believed to be about 0 (deviation 1) before any rating is seen.
Each draw weighs the file's words at random, as a sample of those that might have been said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices, Ints, Mask
from shoe.core.ragged import distinct, runs
from shoe.lexicon.expressions import Part
from shoe.lexicon.store import lexicon
from shoe.scoring.scorer import Scorer
from shoe.similarity import Similarity
from shoe.similarity.ensemble import HIGHEST
from shoe.similarity.learned import Learned, LearnedPart
from shoe.similarity.unrated import Lookups

_PLACES = 4
"""The fourth sense of a word, and all that follow, count as one place."""
_OF_PAIR = np.array([[1, closest, 1 / place] for closest in (0, 1) for place in range(_PLACES, 0, -1)])
_KINDS = np.kron(np.eye(2), _OF_PAIR)
"""(kinds, 6) what a, b, d are multiplied by: of pairs behind no match, then of those behind one, the likelier meant the
later."""
_STEPS = 12

Shares = NDArray[np.floating]


@dataclass(frozen=True, slots=True, eq=False)
class InPlay:
    """Pairs of a class sense and a sense of a predicted word, of one part of speech.

    Attributes:
        class_senses: (C,) ids.
        synsets: (S,) ids of the words' senses, ascending.
        kind: (C, S) int8 row of ``_KINDS`` of each pair.
        unrated: (C, S) pairs behind matches that nobody rated, and that could count.
        rated: (n, 3) kind, level and word of each pair that was rated.
        found: (n,) its rating, 0..4.
        word: (S,) first word that has the sense.
    """

    class_senses: Ints
    synsets: Ints
    kind: NDArray[np.int8]
    unrated: Mask
    rated: Indices
    found: Floats
    word: Indices

    @classmethod
    def of(cls, source: Similarity, learned: LearnedPart, lookups: Lookups, row: Indices, word: Indices) -> InPlay:
        """Look at all pairs; where a word has the class's own sense, its other senses tell nothing.

        ``learned`` predicts rated pairs by what had not seen them; ``row`` and ``word`` are the (n,) class sense and
        the (n,) word of each cell behind a match.
        """
        level = learned.levels_of(lookups.class_senses, lookups.synsets)
        same = lookups.class_senses[:, None] == lookups.synsets
        senses, known = lookups.senses, np.flatnonzero(lookups.count)
        size, first = lookups.count[known], lookups.first[known]
        owner = np.repeat(np.arange(len(known)), size)
        behind = np.zeros((len(level), len(lookups.count)), np.int8)
        behind[row, word] = 1
        closest = level[:, senses] == np.maximum.reduceat(level[:, senses], first, axis=1)[:, owner]
        tells = ~np.logical_or.reduceat(same[:, senses], first, axis=1)[:, owner]
        place = np.minimum(np.arange(len(senses)) - first[owner], _PLACES - 1).astype(np.int8)
        kind = (2 * behind[:, known[owner]] + closest) * np.int8(_PLACES) + np.int8(_PLACES - 1) - place
        # A sense of several words is of the kind that is likeliest meant.
        order = np.argsort(senses, kind="stable")
        of_sense, _ = runs(senses[order])
        kind = np.maximum.reduceat(kind[:, order], of_sense, axis=1)
        tells = np.logical_or.reduceat(tells[:, order], of_sense, axis=1) & (level >= 0) & ~same
        values = source.values(lookups.part, lookups.class_senses, lookups.synsets)
        words = known[owner[order[of_sense]]]
        rated = np.nonzero(tells & ~np.isnan(values))
        return cls(
            class_senses=lookups.class_senses,
            synsets=lookups.synsets,
            kind=kind,
            unrated=tells & np.isnan(values) & (kind >= len(_OF_PAIR)),
            rated=np.stack([kind[rated], level[rated], words[rated[1]]], axis=1),
            found=HIGHEST * values[rated],
            word=words,
        )

    def looked_up(self, class_senses: Ints, senses: Ints) -> tuple[Indices, Indices]:
        """(n,) kind and (n,) word of some pairs by their ids; a number of its own for what is no sense of a word."""
        row, column = np.full((2, len(lexicon())), -1)
        row[self.class_senses], column[self.synsets] = np.arange(len(self.class_senses)), np.arange(len(self.synsets))
        at = row[class_senses], column[senses]
        here = (at[0] >= 0) & (at[1] >= 0)
        kind, word = np.zeros(len(senses), np.int64), len(lexicon()) + senses.astype(np.int64)
        kind[here], word[here] = self.kind[at[0][here], at[1][here]], self.word[at[1][here]]
        return kind, word

    def tilted(self, ratings: Shares, rng: np.random.Generator) -> Floats:
        """(kinds, L, 5) of (L, 5) shares of each rating at a level: as they are for each kind, by a draw of words."""
        kind, level, word = self.rated.T
        weight = rng.standard_exponential(int(word.max(initial=0)) + 1)[word]
        number = np.zeros((len(_KINDS), len(ratings)))
        np.add.at(number, (kind, level), weight)
        total = np.bincount(kind, weight * self.found, minlength=len(_KINDS))
        most, tilt = np.arange(HIGHEST + 1.0), np.zeros(_KINDS.shape[1])
        for _ in range(_STEPS):  # of Newton's method; what is maximised is concave
            shares = _times(ratings, _KINDS @ tilt)
            mean = shares @ most
            variance = shares @ most**2 - mean**2
            slope = _KINDS.T @ (total - (number * mean).sum(axis=1)) - tilt
            bend = (_KINDS.T * (number * variance).sum(axis=1)) @ _KINDS + np.eye(len(tilt))
            tilt += np.clip(np.linalg.solve(bend, slope), -1, 1)
        return _times(ratings, _KINDS @ tilt)


def _times(ratings: Shares, tilt: Floats) -> Floats:
    """(k, L, 5) shares that differ from (L, 5) by a factor of exp((k,) tilt) for each rating more."""
    found = ratings.astype(np.float64) * np.exp(np.arange(HIGHEST + 1) * tilt[:, None])[:, None]
    shares: Floats = found / found.sum(axis=2, keepdims=True)
    return shares


def in_play(scorer: Scorer, source: Similarity, learned: Learned) -> dict[Part, InPlay]:
    """The pairs of senses that a scorer looks up."""
    similarities, words = scorer.similarities, scorer.task.predictions
    matches = scorer.match(scorer.map_rows)
    matched = np.flatnonzero(matches.prediction >= 0)
    hoi, rows = scorer.hoi[matched], matches.prediction[matched]
    verb_row, object_row = similarities.verb_row[hoi], similarities.object_row[hoi]
    sides: list[tuple[Part, Ints, Sequence[str], Indices, Ints]] = [
        ("verb", similarities.verb_senses, words.verbs, verb_row, words.verb[rows]),
        ("object", similarities.object_senses, words.objects, object_row, words.object[rows]),
    ]
    found = {}
    for part, senses, vocabulary, row, word in sides:
        cells = np.divmod(distinct(row * np.int64(len(vocabulary)) + word), max(len(vocabulary), 1))
        lookups = Lookups.of(source, part, senses, vocabulary, scorer.options)
        found[part] = InPlay.of(source, learned[part], lookups, *cells)
    return found
