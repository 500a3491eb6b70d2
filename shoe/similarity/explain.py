"""Why a class and a word have the value that they have: every sense of the word, rated or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from shoe.benchmarks.classes import HoiClasses
from shoe.core.errors import OptionError, quote, unknown_name
from shoe.lexicon.expressions import Part
from shoe.lexicon.labels import match_labels
from shoe.lexicon.names import ids_of
from shoe.lexicon.phrases import Reading, best_reading
from shoe.lexicon.resolve import resolve
from shoe.lexicon.store import lexicon
from shoe.protocols.options import SemanticOptions
from shoe.similarity.maps import SimilarityMap
from shoe.similarity.table import Basis, Similarity, similarity_table

PARTS: tuple[Part, ...] = get_args(Part)


@dataclass(frozen=True, slots=True)
class ClassSense:
    """What a word is compared with: a class's sense, "" for no_interaction, and its word."""

    part: Part
    synset: str
    word: str


@dataclass(frozen=True, slots=True)
class CandidateSense:
    """One sense of the word.

    Attributes:
        synset, lemma, reason: the sense, the lemma that it was found by, and how.
        value: 0..1; None if the pair was never rated.
        ratings: what each rater gave, None where it gave nothing; empty if the pair is not in the map.
    """

    synset: str
    lemma: str
    reason: str
    value: float | None
    ratings: dict[str, int | None]


@dataclass(frozen=True, slots=True)
class Explanation:
    """A value and all that led to it; ``sense`` is the sense that gave it, "" if none did."""

    of: ClassSense
    word: str
    value: float
    basis: Basis
    sense: str
    candidates: tuple[CandidateSense, ...]


def explanations(
    similarity: Similarity, classes: HoiClasses, a: str, b: str, part: str | None = None
) -> tuple[list[Explanation], bool]:
    """Explain the values of what a user means by a class and by a prediction.

    Args:
        similarity: a map, or a WordNet measure.
        classes: of the dataset.
        a: a class: a sense (ride.v.01), a class's word (ride), or an interaction (ride horse).
        b: what was predicted: a word (straddling), or an interaction (straddle pony).
        part: "verb" or "object", for a word that is both; then neither is an interaction.

    Returns:
        One for each class sense that ``a`` may be; or one of the verbs and one of the objects, and True, where both are
        interactions.

    Raises:
        OptionError: if the dataset has no such class, or ``a`` needs ``part``.
    """
    of, predicted = (_interaction(text) if part is None else None for text in (a, b))
    if of is None or predicted is None:
        return [explain(similarity, sense, b) for sense in class_senses(classes, a, part)], False
    senses = interaction_senses(classes, of.verb, of.object)
    words = (predicted.verb, predicted.object)
    return [explain(similarity, sense, word) for sense, word in zip(senses, words, strict=True)], True


def _interaction(text: str) -> Reading | None:
    """Verb and object of a text; None where it is no interaction."""
    return best_reading(text) if " " in text.strip() else None


def explain(similarity: Similarity, of: ClassSense, word: str) -> Explanation:
    """Explain the value that scoring uses for a class's sense and a word, under the default options."""
    class_sense = ids_of([of.synset])
    table = similarity_table(similarity, of.part, class_sense, [of.word], [word], SemanticOptions())
    found = resolve(word, of.part).candidates
    values = similarity.values(of.part, class_sense, np.array([c.synset for c in found], np.int32))[0]
    sense = int(table.sense[0, 0])
    return Explanation(
        of=of,
        word=word,
        value=float(table.values[0, 0]),
        basis=Basis(table.basis[0, 0]),
        sense="" if sense < 0 else lexicon().name(sense),
        candidates=tuple(
            CandidateSense(
                synset=candidate.name,
                lemma=candidate.lemma,
                reason=candidate.reason,
                value=None if np.isnan(value) else float(value),
                ratings=_ratings(similarity, of, candidate.name),
            )
            for candidate, value in zip(found, values, strict=True)
        ),
    )


def class_senses(classes: HoiClasses, text: str, part: str | None = None) -> list[ClassSense]:
    """Find what the user means by a class: a synset's name, or a class's word, which may have several senses.

    Args:
        classes: of the dataset.
        text: "ride.v.01", "ride", "riding", "hot dog".
        part: "verb" or "object"; may be absent where only one fits.

    Raises:
        OptionError: if it is neither, or a word that needs ``part``.
    """
    if part is not None and part not in PARTS:
        raise unknown_name("part of speech", part, PARTS)
    synset = lexicon().synset(text)
    if synset >= 0:
        of_synset: Part = "verb" if lexicon().pos(synset) == "v" else "object"
        if part not in (None, of_synset):
            raise OptionError(f"{quote(text)} is the sense of {_A[of_synset]}, expected {_A[part]}")
        name = lexicon().name(synset)
        words = dict(reversed(_senses(classes, of_synset)))
        return [ClassSense(of_synset, name, words.get(name, name))]
    fitting = {p: int(match_labels([text], _labels(classes, p), p)[0]) for p in PARTS if part is None or part == p}
    fitting = {p: label for p, label in fitting.items() if label >= 0}
    if not fitting:
        known = {word for p in PARTS if part is None or part == p for word in _labels(classes, p)}
        raise unknown_name(f"{part or 'verb or object'} of {classes.name}", text, known)
    if len(fitting) > 1:
        raise OptionError(f"{quote(text)} is a verb and an object of {classes.name}: say --pos verb or --pos object")
    ((only, label),) = fitting.items()
    word = _labels(classes, only)[label]
    return [ClassSense(only, name, word) for name, of_word in _senses(classes, only) if of_word == word]


def interaction_senses(classes: HoiClasses, verb: str, object_: str) -> tuple[ClassSense, ClassSense]:
    """Find the class of an interaction, as ("riding", "horse").

    Raises:
        OptionError: if the dataset has no such class.
    """
    v = int(match_labels([verb], classes.verbs, "verb")[0])
    o = int(match_labels([object_], classes.objects, "object")[0])
    hoi = int(classes.of[v, o]) if v >= 0 and o >= 0 else -1
    if hoi < 0:
        near = [label for label, of in zip(classes.labels, classes.object, strict=True) if of == o]
        hint = f"; it has {', '.join(near)}" if o >= 0 else ""
        raise OptionError(f"{classes.name} has no class {quote(f'{verb} {object_}')}{hint}")
    return (
        ClassSense("verb", classes.verb_synsets[hoi], classes.verbs[v]),
        ClassSense("object", classes.object_synsets[hoi], classes.objects[o]),
    )


_A = {"verb": "a verb", "object": "an object"}


def _labels(classes: HoiClasses, part: Part) -> Sequence[str]:
    return classes.verbs if part == "verb" else classes.objects


def _senses(classes: HoiClasses, part: Part) -> list[tuple[str, str]]:
    """Distinct (synset, word) of a dataset's classes, in its order."""
    synsets, index = (
        (classes.verb_synsets, classes.verb) if part == "verb" else (classes.object_synsets, classes.object)
    )
    labels = _labels(classes, part)
    return list(dict.fromkeys((synset, labels[i]) for synset, i in zip(synsets, index.tolist(), strict=True)))


def _ratings(similarity: Similarity, of: ClassSense, synset: str) -> dict[str, int | None]:
    return (similarity.ratings(of.part, of.synset, synset) or {}) if isinstance(similarity, SimilarityMap) else {}
