"""A source of words as the bytes of a compiled lexicon: with concepts of its own, or words for WordNet's."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec
import numpy as np
from numpy.typing import NDArray

from shoe.core.errors import InputError, quote
from shoe.lexicon.building.compare import wordnet_numbers
from shoe.lexicon.building.source import Source
from shoe.lexicon.compiled import LONGEST_NAME, Pos, keys_of
from shoe.lexicon.resolve import ENGLISH
from shoe.lexicon.store import sealed, wordnet
from shoe.lexicon.text import LONGEST_LABEL, plain, spelled, tokens

# The compiled file: what arrays it holds, and in which bytes; :class:`shoe.lexicon.compiled.Lexicon` reads it.

MAGIC = b"SHOELEX1"
BUCKETS = 1 << 16
Arrays = dict[str, NDArray[Any]]


def bucket(lemma: str) -> int:
    """Return the hash bucket of a lemma, as the store computes it."""
    return crc32(lemma.encode()) % BUCKETS


def in_buckets(lemmas: Iterable[str]) -> list[str]:
    """Sort lemmas as the file has them: by bucket, in a bucket by the alphabet."""
    return sorted(lemmas, key=lambda lemma: (bucket(lemma), lemma))


def word_arrays(senses: Mapping[tuple[str, Pos], Sequence[int]], members: Sequence[Sequence[str]]) -> Arrays:
    """Lay words out: all lemmas with their senses, most frequent first, and all concepts with their lemmas."""
    lemmas = in_buckets({lemma for lemma, _ in senses})
    number = {lemma: index for index, lemma in enumerate(lemmas)}
    groups = [senses.get((lemma, pos), ()) for lemma in lemmas for pos in ("n", "v")]
    sizes = Counter(map(bucket, lemmas))
    flat = np.array(list(chain.from_iterable(groups)), np.int32)
    return {
        "bucket": np.array([0, *accumulate(sizes[index] for index in range(BUCKETS))], np.int32),
        "lemma_length": lengths([lemma.encode() for lemma in lemmas]),
        "lemma_text": text_bytes("".join(lemmas)),
        "adjective_first": np.zeros(-(-len(lemmas) // 8), np.uint8),
        "sense_length": lengths(groups),
        "sense": flat,
        "tag_count": np.zeros(len(flat), np.uint8),
        "member_length": lengths(members),
        "member": np.array([number[lemma] for words in members for lemma in words], np.int32),
    }


def lengths(groups: Iterable[Sized]) -> NDArray[Any]:
    """Return the size of each group, in as few bytes as the largest needs."""
    sizes = np.array([len(group) for group in groups], np.int64)
    return sizes.astype(np.min_scalar_type(int(sizes.max(initial=0))))


def text_bytes(text: str) -> NDArray[np.uint8]:
    """Return text as an array of its UTF-8 bytes."""
    return np.frombuffer(text.encode(), np.uint8)


def texts(kind: str, of: Sequence[str]) -> Arrays:
    """Lay out a text of each concept."""
    return {f"{kind}_length": lengths([text.encode() for text in of]), f"{kind}_text": text_bytes("".join(of))}


def pack(arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any] | None = None) -> bytes:
    """Magic, length of the header, header (name, type, offset, length of each array), then the arrays, 8-aligned.

    The digest is of the arrays, but for keys, which follow from them and stand last, and of all facts but what is
    "about" them.
    """
    table, parts, size, counted = [], [], 0, 0
    for name, array in arrays.items():
        table.append([name, array.dtype.str, size, len(array)])
        parts.append(array.tobytes() + bytes(-array.nbytes % 8))
        size += len(parts[-1])
        counted = counted if name.startswith("key") else size
    body, facts = b"".join(parts), dict(facts or {})
    content = hashlib.sha256(body[:counted])
    said = {name: value for name, value in facts.items() if name not in ("about", "title", "name")}
    if said:
        content.update(json.dumps(said, sort_keys=True).encode())
    header = json.dumps({"digest": content.hexdigest()[:8], "arrays": table, **facts}).encode()
    header += b" " * (-len(header) % 8)
    return MAGIC + len(header).to_bytes(8, "little") + header + body


# What is wrong with a source of words: what stops a lexicon from being made of it, and what only makes it poorer.

DEEPEST = 250
"""Levels of concepts above each other that are followed."""
_MOST_EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """Concepts that have something in common that one may want to know.

    Attributes:
        examples: some of their ids, or names.
    """

    what: str
    count: int
    examples: tuple[str, ...]


def check_ids(source: Source) -> None:
    """Refuse a source without concepts, with an id that is none, or one twice.

    Raises:
        InputError: naming the record.
    """
    if not source.concepts:
        raise InputError(source.path, found="no concepts", expected="at least one noun or verb")
    seen: dict[str, str] = {}
    for concept in source.concepts:
        id_ = concept.id
        if not id_ or len(id_.encode()) > LONGEST_NAME or not id_.isprintable() or any(map(str.isspace, id_)):
            expected = f"an id of at most {LONGEST_NAME} bytes without blanks"
            raise InputError(source.path, record=concept.where, field="id", found=quote(id_), expected=expected)
        if id_ in seen:
            expected = f"ids once each (first at {seen[id_]})"
            raise InputError(source.path, record=concept.where, found=f"the id {quote(id_)} again", expected=expected)
        seen[id_] = concept.where


def ordered(parents: Mapping[str, tuple[str, ...]]) -> tuple[dict[str, int], tuple[str, ...]]:
    """How deep each concept is below one without parents, and a cycle, its first concept again at the end.

    Where there is a cycle, what is on one or below it has no depth.
    """
    waiting = {id_: sum(parent in parents for parent in set(above)) for id_, above in parents.items()}
    below: dict[str, list[str]] = {}
    for id_, above in parents.items():
        for parent in dict.fromkeys(above):
            below.setdefault(parent, []).append(id_)
    depth = {id_: 0 for id_, count in waiting.items() if not count}
    for id_ in (queue := list(depth)):
        for child in below.get(id_, ()):
            waiting[child] -= 1
            if not waiting[child]:
                depth[child] = 1 + max(depth[parent] for parent in parents[child] if parent in depth)
                queue.append(child)
    if len(depth) == len(parents):
        return depth, ()
    path = [next(id_ for id_ in parents if id_ not in depth)]
    while path.count(path[-1]) < 2:
        path.append(next(p for p in parents[path[-1]] if p in parents and p not in depth))
    return depth, tuple(path[path.index(path[-1]) :])


def check_parents(source: Source, *, break_cycles: bool) -> dict[str, tuple[str, ...]]:
    """Parents of each concept that are concepts, of the same part of speech, and in no cycle.

    ``break_cycles`` leaves out a relation of each cycle, and counts it, rather than refuse the source.

    Raises:
        InputError: naming a cycle.
    """
    pos = {concept.id: concept.pos for concept in source.concepts}
    parents = {}
    for concept in source.concepts:
        known = tuple(dict.fromkeys(p for p in concept.parents if pos.get(p) == concept.pos))
        source.leave_out("relations to concepts that are not there", len(set(concept.parents)) - len(known))
        parents[concept.id] = known
    depth, cycle = ordered(parents)
    while cycle:
        if not break_cycles:
            found = f"the cycle {' < '.join(cycle[:8])}{' < ...' if len(cycle) > 8 else ''}"
            hint = "--break-cycles leaves a relation of each out"
            where = next(concept.where for concept in source.concepts if concept.id == cycle[0])
            expected = "nothing above itself"
            raise InputError(source.path, record=where, found=found, expected=expected, hint=hint)
        parents[cycle[0]] = tuple(parent for parent in parents[cycle[0]] if parent != cycle[1])
        source.leave_out("relations that closed a cycle")
        depth, cycle = ordered(parents)
    deepest = max(depth, key=lambda id_: depth[id_])
    if depth[deepest] > DEEPEST:
        found, expected = f"{deepest} {depth[deepest]} levels deep", f"at most {DEEPEST}"
        raise InputError(source.path, found=found, expected=expected)
    return parents


def findings(source: Source) -> list[Finding]:
    """All that makes a source poorer, or cannot be taken, in the order of its weight."""
    ids = Counter(concept.id for concept in source.concepts)
    pos = {concept.id: concept.pos for concept in source.concepts}
    has_child = {parent for concept in source.concepts for parent in concept.parents}
    known = {c.id: tuple(p for p in c.parents if pos.get(p) == c.pos) for c in source.concepts}
    depth, cycle = ordered(known)
    named = Counter((name.lower(), concept.pos) for concept in source.concepts for name in set(concept.names))
    said: list[tuple[str, Iterator[str]]] = [
        ("ids that stand twice", (id_ for id_, count in ids.items() if count > 1)),
        ("concepts on a cycle or below one", (id_ for id_ in known if cycle and id_ not in depth)),
        ("concepts without a name", (c.id for c in source.concepts if not any(map(str.strip, c.names)))),
        ("concepts without a gloss", (c.id for c in source.concepts if not c.gloss.strip())),
        ("relations to concepts that are not there", (p for c in source.concepts for p in c.parents if p not in pos)),
        (
            "relations between a noun and a verb",
            (c.id for c in source.concepts for p in c.parents if pos.get(p, c.pos) != c.pos),
        ),
        (
            "concepts with neither parents nor children",
            (c.id for c in source.concepts if not known[c.id] and c.id not in has_child),
        ),
        ("names of several concepts", (name for (name, _), count in named.items() if count > 1)),
    ]
    made = []
    for what, examples in said:
        listed = list(islice(examples, _MOST_EXAMPLES))
        count = len(listed) + sum(1 for _ in examples)
        if count:
            made.append(Finding(what, count, tuple(listed)))
    return made


_LANGUAGES = Path(__file__).parents[1] / "data" / "languages.json"
_CODES = {"eng": ENGLISH, "fra": "fr", "fre": "fr", "cmn": "zh", "zho": "zh"}
_PARTS: tuple[Pos, Pos] = ("n", "v")


@dataclass(frozen=True, slots=True)
class Built:
    """A compiled lexicon.

    Attributes:
        left_out: how many records of each sort are not in it.
    """

    content: bytes
    concepts: int
    left_out: dict[str, int]


def build(source: Source, name: str, *, break_cycles: bool = False) -> Built:
    """Compile a source with concepts of its own; ``name`` is what signatures call the lexicon.

    ``break_cycles`` leaves out a relation of each cycle of parents, rather than refuse the source.

    Raises:
        InputError: naming what makes the source unusable.
    """
    check_ids(source)
    parents = check_parents(source, break_cycles=break_cycles)
    concepts = sorted(source.concepts, key=lambda concept: concept.pos)
    number = {concept.id: index for index, concept in enumerate(concepts)}
    members = [_lemmas(concept.names, source) for concept in concepts]
    senses = _senses(source, number, [concept.pos for concept in concepts], members)
    kinds = {kind: index for index, kind in enumerate(dict.fromkeys(_kind(concept.kind) for concept in concepts))}
    above = [[number[parent] for parent in parents[concept.id]] for concept in concepts]
    arrays: Arrays = {
        "nouns": np.array([sum(concept.pos == "n" for concept in concepts)], np.int32),
        **word_arrays(senses, [[lemma for lemma, _ in listed] for listed in members]),
        "lexname": _wide([kinds[_kind(concept.kind)] for concept in concepts]),
        "lexnames": text_bytes(" ".join(kinds)),
        "hypernym_length": _wide([len(each) for each in above]),
        "hypernym": np.array([parent for each in above for parent in each], np.int32),
        **dict.fromkeys(("doing", "doing_verb", "definition_sense"), np.zeros(0, np.int32)),
        "definition": np.zeros(0, np.uint64),
        **_exceptions(source),
        **texts("name", [concept.id for concept in concepts]),
        **texts("gloss", [" ".join(concept.gloss.split()) for concept in concepts]),
        **texts("link", [" ".join(concept.links) for concept in concepts]),
        "key": keys_of([concept.id for concept in concepts]),
    }
    if len(set(arrays["key"].tolist())) != len(concepts):
        raise InputError(source.path, found="ids that cannot be told apart", expected="other ids")
    return Built(sealed(pack(arrays, _facts(source, name))), len(concepts), source.left_out)


def build_words(source: Source, name: str) -> Built:
    """Compile a source as words for WordNet 3.0's concepts, by what links them; WordNet has glosses and parents.

    Raises:
        InputError: if no concept is linked.
    """
    numbers = wordnet_numbers([concept.links for concept in source.concepts])
    base = wordnet()
    members: list[list[tuple[str, str]]] = [[] for _ in range(len(base))]
    linked: dict[str, int] = {}
    for concept, found in zip(source.concepts, numbers, strict=True):
        if found < 0 or base.pos(found) != concept.pos:
            source.leave_out("concepts that WordNet 3.0 lacks")
            continue
        linked[concept.id] = found
        members[found] += _lemmas(concept.names, source)
    if not linked:
        expected = "interlingual ids, sense keys or offsets of it"
        raise InputError(source.path, found="no concept that is linked to WordNet 3.0", expected=expected)
    senses = _senses(source, linked, [base.pos(synset) for synset in range(len(base))], members)
    # What the source does not put in order goes by how often tagged English texts use the concept.
    for key, synsets in senses.items():
        if key not in source.order:
            synsets.sort(key=lambda synset: (-_uses(synset), synset))
    listed = [list(dict.fromkeys(lemma for lemma, _ in each)) for each in members]
    arrays = {
        **word_arrays(senses, listed),
        **dict.fromkeys(("doing", "doing_verb", "definition_sense"), np.zeros(0, np.int32)),
        "definition": np.zeros(0, np.uint64),
        **_exceptions(source),
    }
    facts = _facts(source, name) | {"concepts": base.digest}
    return Built(sealed(pack(arrays, facts)), len(linked), source.left_out)


def _facts(source: Source, name: str) -> dict[str, Any]:
    language = _language(source)
    about = {"source": Path(source.path).name, "licence": source.licence, "left_out": source.left_out}
    return {"name": name, "title": source.title, "language": language, "about": about} | (
        {"endings": {pos: [] for pos in _PARTS}} | {k: rule for k, rule in _rules(language).items() if k != "forms"}
        if language != ENGLISH
        else {}
    )


def _language(source: Source) -> str:
    first = source.language.lower().split("-")[0]
    return _CODES.get(first, first)


def _rules(language: str) -> dict[str, Any]:
    """How a language inflects, as far as it is known here."""
    rules: dict[str, Any] = msgspec.json.decode(_LANGUAGES.read_bytes()).get(language, {})
    return rules


def _exceptions(source: Source) -> Arrays:
    """Irregular forms: those of the source, before those that its language has anyway."""
    language, found = _language(source), {}
    for pos in _PARTS:
        known = _rules(language).get("forms", {}).get(pos, {})
        forms = {form: bases.split() for form, bases in known.items()}
        forms = dict(wordnet().exceptions[pos]) if language == ENGLISH else forms
        for form, bases in source.forms[pos].items():
            written = spelled(plain(form))
            forms[written] = [*forms.get(written, ()), *(spelled(plain(base)) for base in bases)]
        lines = "".join(f"{form} {' '.join(dict.fromkeys(bases))}\n" for form, bases in forms.items())
        found[f"exceptions_{pos}"] = text_bytes(lines)
    return found


def _lemmas(names: tuple[str, ...], source: Source) -> list[tuple[str, str]]:
    """The lemmas of names, each with its name: as written, and without punctuation where that differs."""
    found: dict[str, str] = {}
    for name in names:
        written = plain(name.strip())
        if not written or len(written) > LONGEST_LABEL:
            source.leave_out("names that are empty or too long")
            continue
        found.setdefault(spelled(written), name)
        if words := tokens(written):
            found.setdefault("_".join(words), name)
    return list(found.items())


def _senses(
    source: Source, number: dict[str, int], pos: list[Pos], members: list[list[tuple[str, str]]]
) -> dict[tuple[str, Pos], list[int]]:
    """The concepts of each lemma, in the source's order where it has one."""
    # Kept in a dictionary, as a name may be one of very many concepts.
    senses: dict[tuple[str, Pos], dict[int, None]] = {}
    for (name, of), ids in source.order.items():
        for lemma, _ in _lemmas((name,), Source("", "", [])):
            senses.setdefault((lemma, of), {}).update((number[id_], None) for id_ in ids if id_ in number)
    for index, lemmas in enumerate(members):
        for lemma, _ in lemmas:
            senses.setdefault((lemma, pos[index]), {})[index] = None
    return {key: list(found) for key, found in senses.items() if found}


def _wide(numbers: list[int]) -> NDArray[Any]:
    """Numbers in two bytes each, or in as many as the largest needs."""
    return np.array(numbers, np.min_scalar_type(max(256, *numbers)))


def _kind(kind: str) -> str:
    return "_".join(kind.split()) or "-"


@cache
def _uses(synset: int) -> int:
    base = wordnet()
    pos = base.pos(synset)
    return sum(
        int(base.tag_count(lemma, pos)[base.senses(lemma, pos) == synset].sum()) for lemma in base.lemmas(synset)
    )
