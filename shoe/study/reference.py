"""What a similarity map says of the items of a study, and what people say of them to hold maps against."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from shoe.core.arrays import Floats
from shoe.core.errors import InputError, quote
from shoe.io.delimited import delimited_rows
from shoe.lexicon.expressions import POS, Part
from shoe.lexicon.store import lexicon
from shoe.maps.human import HumanRatings, read_human_ratings
from shoe.protocols.options import SemanticOptions
from shoe.similarity import Similarity, combine, load_similarity
from shoe.similarity.ensemble import HIGHEST, MISSING
from shoe.study.agreement import mean_ratings
from shoe.study.ratings import SENSES, StudyRatings, read_study

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
    senses = _senses(study, source)
    values = []
    for at, part in enumerate(_PARTS):
        ours, theirs = [sorted({named[column] for named in senses}) for column in (at, at + 2)]
        table = similarity.between(part, ours, theirs)
        values.append(table[[ours.index(of[at]) for of in senses], [theirs.index(of[at + 2]) for of in senses]])
    options = SemanticOptions()
    return combine(values[0], values[1], options.combine, options.weight)


def read_people(path: Path) -> list[HumanRatings]:
    """Read how people rated, to hold maps against: a study's table, or one of :func:`read_human_ratings`.

    Of a study, the mean of the first ratings of each item counts; gold items, repeats and pictures do not.

    Raises:
        InputError: for a table that is broken, or items of a study that are not named by four senses.
    """
    if "rater" not in delimited_rows(path)[0]:
        return read_human_ratings(path)
    study = read_study(path)
    study = study.of_items(study.measured & ~np.isnan(mean_ratings(study.first)))
    if not study.items:
        raise InputError(
            path, found="ratings of gold items alone", expected="ratings of others, which maps are held against"
        )
    senses = np.array([[lexicon().synset(name) for name in named] for named in _senses(study, path)], np.int32)
    values, lines = mean_ratings(study.first) / HIGHEST, int((study.first != MISSING).sum())
    return [HumanRatings("interactions", {"verb": senses[:, ::2], "object": senses[:, 1::2]}, values, lines)]


def _senses(study: StudyRatings, source: Path) -> list[list[str]]:
    """Names of verb, object, verb and object of each item."""

    def is_sense(name: str, part: Part) -> bool:
        synset = lexicon().synset(name)
        return synset >= 0 and lexicon().pos(synset) == POS[part]

    senses = [item.split(" ") for item in study.items]
    for item, named in zip(study.items, senses, strict=True):
        if len(named) != len(SENSES) or not all(map(is_sense, named, (*_PARTS, *_PARTS))):
            expected = "two verbs and two nouns of WordNet 3.0, as ride.v.01 horse.n.01 sit.v.01 chair.n.01"
            raise InputError(source, record=f"item {quote(item)}", found="other names", expected=expected)
    return senses
