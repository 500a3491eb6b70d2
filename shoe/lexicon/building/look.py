"""What is in a lexicon, and what differs between two."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from shoe.lexicon.building.source import Concept, Source
from shoe.lexicon.compiled import Lexicon


@dataclass(frozen=True, slots=True)
class Contents:
    """What a lexicon holds.

    Attributes:
        nouns, verbs: concepts of each.
        words: names, each part of speech by itself.
        named: concepts that have a word.
        glosses: concepts with a definition in the file.
        linked: concepts that other lexicons know by an id.
        relations: to parents.
        kinds: the most frequent sorts of concepts, with how many there are.
    """

    nouns: int
    verbs: int
    words: int
    named: int
    glosses: int
    linked: int
    relations: int
    kinds: tuple[tuple[str, int], ...]


def contents(lexicon: Lexicon) -> Contents:
    """Count what a lexicon holds."""
    arrays, size = lexicon.arrays, len(lexicon)
    kinds = Counter(map(lexicon.lexname, range(size)))
    return Contents(
        nouns=lexicon.nouns,
        verbs=size - lexicon.nouns,
        words=int(np.count_nonzero(arrays["sense_length"])),
        named=int(np.count_nonzero(arrays["member_length"])),
        glosses=int(np.count_nonzero(arrays["gloss_length"])) if "gloss_length" in arrays else 0,
        linked=int(np.count_nonzero(arrays["link_length"])) if "link_length" in arrays else 0,
        relations=len(arrays["hypernym"]),
        kinds=tuple(kinds.most_common(8)),
    )


def source_of(lexicon: Lexicon) -> Source:
    """Say again what a lexicon was made of, as far as it is in it."""
    name = lexicon.name
    concepts = [
        Concept(
            name(number),
            tuple(lemma.replace("_", " ") for lemma in lexicon.lemmas(number)),
            lexicon.pos(number),
            lexicon.gloss(number) or "",
            tuple(name(parent) for parent in lexicon.hypernyms(number).tolist()),
            lexicon.lexname(number),
            tuple(lexicon.links(number)),
            name(number),
        )
        for number in range(len(lexicon))
    ]
    return Source(lexicon.label, lexicon.title, concepts, lexicon.language)


@dataclass(frozen=True, slots=True)
class Difference:
    """What two lexicons do not share, by id.

    Attributes:
        what: in a few words.
        ids: that it is so of.
    """

    what: str
    ids: tuple[str, ...]


def differences(one: Source, other: Source) -> list[Difference]:
    """Compare concepts with equal ids, and list ids that only one has."""
    a, b = ({concept.id: concept for concept in source.concepts} for source in (one, other))
    both = [id_ for id_ in a if id_ in b]
    found = [
        ("concepts only in the first", [id_ for id_ in a if id_ not in b]),
        ("concepts only in the second", [id_ for id_ in b if id_ not in a]),
        ("other names", [id_ for id_ in both if set(a[id_].names) != set(b[id_].names)]),
        ("other glosses", [id_ for id_ in both if a[id_].gloss != b[id_].gloss]),
        ("other parents", [id_ for id_ in both if set(a[id_].parents) != set(b[id_].parents)]),
        ("another part of speech", [id_ for id_ in both if a[id_].pos != b[id_].pos]),
    ]
    return [Difference(what, tuple(ids)) for what, ids in found if ids]
