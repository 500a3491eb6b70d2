"""The senses that scoring given predictions looks up: all that their words may mean, and nothing else.

Scoring compares every class's sense with every candidate sense of every predicted word (``similarity_table``). A word
that is a label of the dataset is like its own class whatever a map says, and is looked up for all other classes; a word
without a sense in WordNet, or "no interaction", is never looked up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from shoe.core.interactions import Interactions
from shoe.lexicon.expressions import Part
from shoe.lexicon.resolve import ObjectWords, resolve
from shoe.rating.pairs import Synsets


def needed_senses(
    predictions: Sequence[Interactions], object_words: ObjectWords = "phrase-first"
) -> dict[Part, Synsets]:
    """List the senses of all words that occur in a triplet, per part of speech, ascending.

    Args:
        predictions: of one or more models.
        object_words: as scoring will have it, see :func:`shoe.lexicon.resolve.resolve`; what one choice needs another
            may not.
    """
    verbs = {word for table in predictions for word in _used(table.verbs, table.verb)}
    objects = {word for table in predictions for word in _used(table.objects, table.object)}
    return {"verb": _senses(verbs, "verb", object_words), "object": _senses(objects, "object", object_words)}


def _used(vocabulary: Sequence[str], word: np.typing.NDArray[np.int32]) -> Iterable[str]:
    return (vocabulary[number] for number in np.flatnonzero(np.bincount(word, minlength=len(vocabulary))).tolist())


def _senses(words: Iterable[str], part: Part, object_words: ObjectWords) -> Synsets:
    found = {candidate.synset for word in words for candidate in resolve(word, part, object_words).candidates}
    return np.array(sorted(found), np.int32)
