"""Which concepts of different lexicons are the same: by interlingual ids, sense keys, and WordNet 3.0's offsets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from shoe.lexicon.building.source import Concept, Source
from shoe.lexicon.compiled import Lexicon
from shoe.lexicon.store import wordnet
from shoe.lexicon.wordnet import MissingWordNetError, folders, synset_lines

_FILE = Path(__file__).parents[1] / "data" / "wordnet_ids.npz"
_POS = {"1": "n", "2": "v"}
_WHAT = "linking a lexicon to WordNet by sense keys"


def wordnet_numbers(links: Iterable[Sequence[str]]) -> list[int]:
    """Find the WordNet synset of each of some concepts, by its links; -1 where none leads to one.

    Interlingual ids ("ili:i35545") and offsets ("wn30:01955984-v") need no file, sense keys ("key:ride%2:38:00::")
    those of WordNet; keys count only for a concept without other links. Of several synsets that keys lead to, the one
    that most of them do; of ties the first.

    Raises:
        MissingWordNetError: if WordNet's files are needed and not there.
    """
    listed = list(links)
    found = [_most(_ids()[link] for link in of if link in _ids()) for of in listed]
    for place, of in enumerate(listed):
        if found[place] < 0 and any(link.startswith("key:") for link in of):  # keys need WordNet's files
            found[place] = _most(_keys()[link] for link in of if link in _keys())
    return found


def bridge(one: Lexicon, other: Lexicon) -> list[int]:
    """Find the concept of another lexicon for each one of a lexicon; -1 where none is the same.

    Between WordNet 3.0 and another one by links to it, so that two synsets may be one concept; between two others by
    links that both have, or by equal ids.
    """
    if one.concepts is other.concepts:
        return list(range(len(one)))
    if other.is_wordnet:
        return wordnet_numbers(map(one.links, range(len(one))))
    if one.is_wordnet:
        found = _from_wordnet(other)
        return [found.get(synset, -1) for synset in range(len(one))]
    known = {link: number for number in range(len(other)) for link in other.links(number)}
    by_name = (other.synset(one.name(number)) for number in range(len(one)))
    by_link = (_most(known[link] for link in one.links(number) if link in known) for number in range(len(one)))
    return [linked if linked >= 0 else named for linked, named in zip(by_link, by_name, strict=True)]


def _from_wordnet(other: Lexicon) -> dict[int, int]:
    """The concept of another lexicon for synsets: by id, else that which has most of the synset's sense keys."""
    linked = [(number, link) for number in range(len(other)) for link in other.links(number)]
    ids, found = _ids(), dict[int, int]()
    for number, link in linked:
        if link in ids:
            found.setdefault(ids[link], number)
    votes: dict[int, list[int]] = {}
    keys = _keys() if any(link.startswith("key:") for _, link in linked) else {}
    for number, link in linked:
        if keys.get(link, -1) >= 0:
            votes.setdefault(keys[link], []).append(number)
    return {synset: _most(numbers) for synset, numbers in votes.items()} | found


def _most(numbers: Iterable[int]) -> int:
    counted = Counter(numbers).most_common(1)
    return counted[0][0] if counted else -1


@cache
def _ids() -> dict[str, int]:
    """WordNet's synsets by interlingual id, and by offset and part of speech: see scripts/build-wordnet-ids."""
    with np.load(_FILE) as file:
        offsets, ilis = file["offset"].cumsum().tolist(), file["ili"].cumsum().tolist()
    pos = wordnet().pos
    found = {f"ili:i{ili}": number for number, ili in enumerate(ilis)}
    return found | {f"wn30:{offset:08}-{pos(number)}": number for number, offset in enumerate(offsets)}


@cache
def _keys() -> dict[str, int]:
    """WordNet's synsets by the sense keys of their lemmas, in the offsets of the files that are there."""
    base, folder = wordnet(), next(folders(), None)
    if folder is None:
        raise MissingWordNetError(_WHAT)
    lines = synset_lines(_WHAT)
    offsets = {f"{line[:8].decode()}-{base.pos(number)}": number for number, line in enumerate(lines)}
    found = {}
    for line in (folder / "index.sense").read_text("utf-8").splitlines():
        key, offset, *_ = line.split(" ")
        pos = _POS.get(key.partition("%")[2][:1])
        if pos:
            found[f"key:{key}"] = offsets[f"{offset}-{pos}"]
    return found


# What is in a lexicon, and what differs between two.


@dataclass(frozen=True, slots=True)
class Contents:
    """What a lexicon holds.

    Attributes:
        words: names, each part of speech by itself.
        named: concepts that have a word.
        glosses: concepts with a definition in the file.
        linked: concepts that other lexicons know by an id.
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
