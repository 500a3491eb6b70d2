"""Comparison of two lexicons: matching of their concepts by IDs in other lexicons, sizes, and differences."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from shoe.lexicon.building.read import Concept, Source
from shoe.lexicon.compiled import Lexicon
from shoe.lexicon.store import sense_keys, wordnet

_FILE = Path(__file__).parents[1] / "data" / "wordnet_ids.npz"


def wordnet_numbers(links: Iterable[Sequence[str]]) -> list[int]:
    """Return the WordNet 3.0 synset ID to which each concept is linked; -1 for a concept without a link to WordNet.

    ``links`` are the links of each concept: interlingual IDs ("ili:i35545"), offsets ("wn30:01955984-v") and sense keys
    ("key:ride%2:38:00::"). Sense keys are used only if the other links lead to no synset. If links lead to several
    synsets, the synset to which most links lead is returned; on a tie, the first.
    """
    listed = list(links)
    found = [_most(_ids()[link] for link in of if link in _ids()) for of in listed]
    for place, of in enumerate(listed):
        if found[place] < 0 and any(link.startswith("key:") for link in of):
            found[place] = _most(_keys()[link] for link in of if link in _keys())
    return found


def match_concepts(one: Lexicon, other: Lexicon) -> list[int]:
    """Return, for each concept of ``one``, the ID of the matching concept of ``other``; -1 if none matches.

    If either lexicon is WordNet 3.0, the links of the other lexicon to WordNet decide (:func:`wordnet_numbers`).
    Otherwise, the concept with most of the same links matches, and a concept without a shared link matches the concept
    of the same name. Several concepts of ``one`` may match the same concept.
    """
    if one.concepts is other.concepts:
        return list(range(len(one)))
    if other.is_wordnet:
        return wordnet_numbers(map(one.links, range(len(one))))
    if one.is_wordnet:
        linked = [(number, link) for number in range(len(other)) for link in other.links(number)]
        found = {_ids()[link]: number for number, link in reversed(linked) if link in _ids()}
        votes: dict[int, list[int]] = {}  # concepts with a sense key of each synset
        for number, link in linked:
            if link.startswith("key:") and link in _keys():
                votes.setdefault(_keys()[link], []).append(number)
        found = {synset: _most(numbers) for synset, numbers in votes.items()} | found
        return [found.get(synset, -1) for synset in range(len(one))]
    known = {link: number for number in range(len(other)) for link in other.links(number)}
    by_link = (_most(known[link] for link in one.links(number) if link in known) for number in range(len(one)))
    return [linked if linked >= 0 else other.synset(one.name(number)) for number, linked in enumerate(by_link)]


def _most(numbers: Iterable[int]) -> int:
    counted = Counter(numbers).most_common(1)
    return counted[0][0] if counted else -1


@cache
def _ids() -> dict[str, int]:
    """Return {link: synset ID} for WordNet's interlingual IDs and offsets; see scripts/build-wordnet-ids."""
    with np.load(_FILE) as file:
        offsets, ilis = file["offset"].cumsum().tolist(), file["ili"].cumsum().tolist()
    pos = wordnet().pos
    found = {f"ili:i{ili}": number for number, ili in enumerate(ilis)}
    return found | {f"wn30:{offset:08}-{pos(number)}": number for number, offset in enumerate(offsets)}


@cache
def _keys() -> dict[str, int]:
    return {f"key:{key}": synset for key, synset in sense_keys().items()}


def contents(lexicon: Lexicon) -> dict[str, str]:
    """Return {contents: number of them, as text} of a lexicon, "" for contents that it lacks.

    Words are counted once per part of speech, glosses and links once per concept. "kinds" has the number of concepts
    of the eight most frequent lexicographer files or semantic types.
    """
    arrays, nouns = lexicon.arrays, lexicon.nouns
    counts = {
        name: int(np.count_nonzero(arrays.get(f"{array}_length", ())))
        for name, array in (("named", "member"), ("words", "sense"), ("glosses", "gloss"), ("links", "link"))
    }
    kinds = Counter(map(lexicon.lexname, range(len(lexicon)))).most_common(8)
    return {
        "concepts": f"{nouns:,} nouns, {len(lexicon) - nouns:,} verbs; {counts.pop('named'):,} with words",
        **{name: f"{count:,}" if count or name == "words" else "" for name, count in counts.items()},
        "parents": f"{len(arrays['hypernym']):,}",
        "kinds": ", ".join(f"{kind} {count:,}" for kind, count in kinds if kind != "-"),
    }


def to_source(lexicon: Lexicon) -> Source:
    """Return the concepts of a lexicon as a :class:`Source`, which lacks inflected forms, sense order and licence."""
    source, name = Source(lexicon.label, lexicon.title, [], lexicon.language), lexicon.name
    for number in range(len(lexicon)):
        names = tuple(lemma.replace("_", " ") for lemma in lexicon.lemmas(number))
        parents, pos, gloss = map(name, lexicon.hypernyms(number).tolist()), lexicon.pos(number), lexicon.gloss(number)
        about = names, pos, gloss or "", tuple(parents), lexicon.lexname(number), tuple(lexicon.links(number))
        source.concepts.append(Concept(name(number), *about, where=name(number)))
    return source


def differences(one: Source, other: Source) -> dict[str, list[str]]:
    """Return {type of difference, such as "different names": IDs} of the concepts of two sources; {} if equal."""
    a, b = ({concept.id: concept for concept in source.concepts} for source in (one, other))
    both = [id_ for id_ in a if id_ in b]
    found = {
        "concepts only in the first": [id_ for id_ in a if id_ not in b],
        "concepts only in the second": [id_ for id_ in b if id_ not in a],
        "different names": [id_ for id_ in both if set(a[id_].names) != set(b[id_].names)],
        "different glosses": [id_ for id_ in both if a[id_].gloss != b[id_].gloss],
        "different parents": [id_ for id_ in both if set(a[id_].parents) != set(b[id_].parents)],
        "different parts of speech": [id_ for id_ in both if a[id_].pos != b[id_].pos],
    }
    return {what: ids for what, ids in found.items() if ids}
