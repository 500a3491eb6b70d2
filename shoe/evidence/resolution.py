"""How predicted words fared: what was found in the lexicon, and what the similarities of matches rest on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoe.core.arrays import Ints
from shoe.matching.task import Task
from shoe.scoring.meaning import Meaning
from shoe.scoring.semantic import SemanticResult
from shoe.similarity.table import Basis, SimilarityTable


@dataclass(frozen=True, slots=True)
class Words:
    """How the predicted words of one part of speech fared."""

    words: int
    labels: int
    """Words that are a name of the dataset (up to case, separators and inflection)."""
    unresolved: tuple[str, ...]
    """Words without a sense in the lexicon: they match an equal word only."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """What the similarities of the matched pairs rest on; shares of all verb and object comparisons of matches."""

    verbs: Words
    objects: Words
    basis: dict[str, float]
    """Share of each ``Basis``, by its name in lower case; empty without a match."""
    lexical: bool
    """Whether unrated pairs took a value from WordNet's graph (``unrated=wup``)."""

    @property
    def rated_share(self) -> float | None:
        """Share that rests on ratings, zeros among them, or on identical senses."""
        return self._share("rated", "zero", "identical")

    @property
    def fallback_share(self) -> float | None:
        """Share that rests on equal spelling, or on WordNet's graph where that was asked for."""
        return self._share("same_word", *(["unrated"] if self.lexical else []))

    @property
    def unrated_share(self) -> float | None:
        """Share that counted 0 because nobody rated the pair, or the word has no sense."""
        return self._share("unresolved", *([] if self.lexical else ["unrated"]))

    def _share(self, *names: str) -> float | None:
        return sum(self.basis[name] for name in names) if self.basis else None


def resolution_of(task: Task, meaning: Meaning, result: SemanticResult) -> Resolution:
    """Look at the words of all predictions, and at the comparisons behind the matches."""
    matched = np.flatnonzero(result.matches.prediction >= 0)
    hoi, rows = task.truth.hoi[matched], result.matches.prediction[matched]
    verb_basis = meaning.verbs.basis[meaning.verb_row[hoi], task.predictions.verb[rows]]
    object_basis = meaning.objects.basis[meaning.object_row[hoi], task.predictions.object[rows]]
    counts = np.bincount(np.concatenate([verb_basis, object_basis]), minlength=len(Basis))
    return Resolution(
        verbs=_words(task.verb_label, meaning.verbs),
        objects=_words(task.object_label, meaning.objects),
        basis={b.name.lower(): float(counts[b] / counts.sum()) for b in Basis} if len(matched) else {},
        lexical=result.options.unrated == "wup",
    )


def _words(label: Ints, table: SimilarityTable) -> Words:
    return Words(words=len(label), labels=int((label >= 0).sum()), unresolved=table.unresolved)
