"""What a similarity map says of the items of a study."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from shoe.core.arrays import Floats
from shoe.core.errors import InputError, quote
from shoe.lexicon.expressions import POS, Part
from shoe.lexicon.store import lexicon
from shoe.protocols.options import SemanticOptions
from shoe.similarity import Similarity, combine, load_similarity
from shoe.study.ratings import SENSES, StudyRatings

_PARTS: tuple[Part, Part] = ("verb", "object")


def with_map(study: StudyRatings, name_or_folder: str, source: Path) -> StudyRatings:
    """Take a map's similarity of the two interactions of each item as the reference.

    Raises:
        InputError: for items that are not named by four senses of WordNet 3.0.
        OptionError: for a map that does not exist.
    """
    return replace(study, reference=similarity_of_items(study, load_similarity(name_or_folder), source))


def similarity_of_items(study: StudyRatings, similarity: Similarity, source: Path) -> Floats:
    """(N,) similarity 0..1 of the two interactions of each item; NaN where nothing is known.

    Raises:
        InputError: for items that are not named by four senses of WordNet 3.0.
    """
    senses = [item.split(" ") for item in study.items]
    for item, named in zip(study.items, senses, strict=True):
        if len(named) != len(SENSES) or not all(map(_is_sense, named, (*_PARTS, *_PARTS))):
            expected = "two verbs and two nouns of WordNet 3.0, as ride.v.01 horse.n.01 sit.v.01 chair.n.01"
            raise InputError(source, record=f"item {quote(item)}", found="other names", expected=expected)
    verbs, objects = (_values(similarity, part, senses, at) for at, part in enumerate(_PARTS))
    options = SemanticOptions()
    return combine(verbs, objects, options.combine, options.weight)


def _values(similarity: Similarity, part: Part, senses: list[list[str]], at: int) -> Floats:
    """(N,) similarity of the class's sense and the other one of each item."""
    ours, theirs = [sorted({named[column] for named in senses}) for column in (at, at + 2)]
    table = similarity.between(part, ours, theirs)
    return table[[ours.index(named[at]) for named in senses], [theirs.index(named[at + 2]) for named in senses]]


def _is_sense(name: str, part: Part) -> bool:
    synset = lexicon().synset(name)
    return synset >= 0 and lexicon().pos(synset) == POS[part]
