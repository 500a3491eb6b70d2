"""Compiler from a source to a lexicon file: with the source's own concepts, or with its words for WordNet's synsets."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Sized
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import accumulate, chain
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec
import numpy as np
from numpy.typing import NDArray

from shoe.core.errors import InputError, quote
from shoe.lexicon.building.compare import wordnet_numbers
from shoe.lexicon.building.read import Source
from shoe.lexicon.compiled import LONGEST_NAME, PARTS, Pos, keys_of
from shoe.lexicon.resolve import ENGLISH
from shoe.lexicon.store import MAGIC, sealed, wordnet
from shoe.lexicon.text import LONGEST_LABEL, plain, spelled, tokens

# Layout of the compiled file, which :class:`shoe.lexicon.compiled.Lexicon` reads.

BUCKETS = 1 << 16
Arrays = dict[str, NDArray[Any]]


def bucket(lemma: str) -> int:
    """Return the hash bucket of a lemma in a compiled lexicon file: its CRC-32 modulo 65536."""
    return crc32(lemma.encode()) % BUCKETS


def in_buckets(lemmas: Iterable[str]) -> list[str]:
    """Return lemmas in the order of a compiled lexicon file: by hash bucket, then alphabetically."""
    return sorted(lemmas, key=lambda lemma: (bucket(lemma), lemma))


def word_arrays(senses: Mapping[tuple[str, Pos], Sequence[int]], members: Sequence[Sequence[str]]) -> Arrays:
    """Return {name: array} for the lemmas and senses of a compiled file; all usage counts and adjective flags are 0.

    ``senses`` are the concept IDs of each (lemma, part of speech), most frequent sense first; ``members`` the lemmas of
    each concept.
    """
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
    """Return the size of each group as an array with the smallest unsigned integer type."""
    sizes = np.array([len(group) for group in groups], np.int64)
    return sizes.astype(np.min_scalar_type(int(sizes.max(initial=0))))


def text_bytes(text: str) -> NDArray[np.uint8]:
    """Return text as an array of its UTF-8 bytes."""
    return np.frombuffer(text.encode(), np.uint8)


def texts(kind: str, values: Sequence[str]) -> Arrays:
    """Return {"KIND_length": array, "KIND_text": array}, which store one text per concept; KIND is ``kind``."""
    return {f"{kind}_length": lengths([text.encode() for text in values]), f"{kind}_text": text_bytes("".join(values))}


def pack(arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any] | None = None) -> bytes:
    """Return the bytes of a compiled file: magic number, header length, header, and arrays at multiples of 8 bytes.

    The header contains name, type, offset and length of each array, the metadata ``facts``, and a digest of both. The
    digest leaves out the array "key", which is computed from names, and the metadata name, title and about.
    """
    table, parts, size, counted = [], [], 0, 0
    for name, array in arrays.items():
        table.append([name, array.dtype.str, size, len(array)])
        parts.append(array.tobytes() + bytes(-array.nbytes % 8))
        size += len(parts[-1])
        counted = counted if name.startswith("key") else size
    body, facts = b"".join(parts), dict(facts or {})
    content = hashlib.sha256(body[:counted])
    if said := {name: value for name, value in facts.items() if name not in ("about", "title", "name")}:
        content.update(json.dumps(said, sort_keys=True).encode())
    header = json.dumps({"digest": content.hexdigest()[:8], "arrays": table, **facts}).encode()
    header += b" " * (-len(header) % 8)
    return MAGIC + len(header).to_bytes(8, "little") + header + body


# Checks of a source of words: errors that prevent compilation, and findings that only reduce its quality.

DEEPEST = 250
"""Maximum depth of a concept below a root."""


def check_ids(source: Source) -> None:
    """Raise InputError if a source has no concepts, or if a concept ID is invalid or repeated."""
    if not source.concepts:
        raise InputError(source.path, found="no concepts", expected="at least one noun or verb")
    seen: dict[str, str] = {}
    for id_, where in ((concept.id, concept.where) for concept in source.concepts):
        if not 0 < len(id_.encode()) <= LONGEST_NAME or not id_.isprintable() or any(map(str.isspace, id_)):
            expected = f"an ID of 1 to {LONGEST_NAME} bytes without blanks"
            raise InputError(source.path, record=where, field="id", found=quote(id_), expected=expected)
        if id_ in seen:
            expected = f"unique IDs (first use: {seen[id_]})"
            raise InputError(source.path, record=where, found=f"the ID {quote(id_)} twice", expected=expected)
        seen[id_] = where


def depths_and_cycle(parents: Mapping[str, tuple[str, ...]]) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return {concept ID: depth}, and the IDs on one cycle of parents; () if there is no cycle.

    ``parents`` maps each concept ID to the IDs of its parents; parents that are not keys are ignored. The depth is 0
    without parents, else 1 + the largest depth of a parent; concepts on or below a cycle have no depth. The cycle ends
    with its first ID.
    """
    known = {id_: [parent for parent in above if parent in parents] for id_, above in parents.items()}
    sorter, depth, cycle = TopologicalSorter(known), dict[str, int](), ()
    try:
        sorter.prepare()
    except CycleError as error:  # concepts that are not on or below a cycle still become ready
        cycle = tuple(reversed(error.args[1]))
    while ready := sorter.get_ready():
        depth |= {id_: max((1 + depth[parent] for parent in known[id_]), default=0) for id_ in ready}
        sorter.done(*ready)
    return depth, cycle


def check_parents(source: Source, *, break_cycles: bool) -> dict[str, tuple[str, ...]]:
    """Return {concept ID: IDs of parents}, with only parents that exist and have the same part of speech.

    If ``break_cycles`` is true, one relation of each cycle of parents is removed, too. Removed relations are counted in
    ``source.left_out``. Raise InputError for other cycles, and for a concept more than 250 levels below its root.
    """
    pos = {concept.id: concept.pos for concept in source.concepts}
    parents = {}
    for concept in source.concepts:
        known = tuple(dict.fromkeys(p for p in concept.parents if pos.get(p) == concept.pos))
        source.leave_out("relations to concepts that do not exist", len(set(concept.parents)) - len(known))
        parents[concept.id] = known
    depth, cycle = depths_and_cycle(parents)
    while cycle:
        if not break_cycles:
            found = f"the cycle of parents {' < '.join(cycle[:8])}{' < ...' if len(cycle) > 8 else ''}"
            hint = "use `--break-cycles` to leave out one relation of each cycle"
            where = next(concept.where for concept in source.concepts if concept.id == cycle[0])
            expected = "no concept that is its own ancestor"
            raise InputError(source.path, record=where, found=found, expected=expected, hint=hint)
        parents[cycle[0]] = tuple(parent for parent in parents[cycle[0]] if parent != cycle[1])
        source.leave_out("relations that closed a cycle")
        depth, cycle = depths_and_cycle(parents)
    deepest = max(depth, key=depth.__getitem__)
    if depth[deepest] > DEEPEST:
        found, expected = f"{deepest} at depth {depth[deepest]}", f"a depth of at most {DEEPEST} below a root"
        raise InputError(source.path, found=found, expected=expected)
    return parents


def find_defects(source: Source) -> dict[str, list[str]]:
    """Return {type of defect, such as "concepts without a gloss": IDs or names}, the most severe type first."""
    all_ = source.concepts
    ids, pos = Counter(c.id for c in all_), {c.id: c.pos for c in all_}
    has_child = {parent for c in all_ for parent in c.parents}
    known = {c.id: tuple(p for p in c.parents if pos.get(p) == c.pos) for c in all_}
    depth, cycle = depths_and_cycle(known)
    named = Counter((name.lower(), c.pos) for c in all_ for name in set(c.names))
    found = {
        "repeated IDs": [id_ for id_, count in ids.items() if count > 1],
        "concepts on or below a cycle of parents": [id_ for id_ in known if cycle and id_ not in depth],
        "concepts without a name": [c.id for c in all_ if not any(map(str.strip, c.names))],
        "concepts without a gloss": [c.id for c in all_ if not c.gloss.strip()],
        "relations to concepts that do not exist": [p for c in all_ for p in c.parents if p not in pos],
        "relations between a noun and a verb": [c.id for c in all_ for p in c.parents if pos.get(p, c.pos) != c.pos],
        "concepts with neither parents nor children": [c.id for c in all_ if not known[c.id] and c.id not in has_child],
        "names of several concepts": [name for (name, _), count in named.items() if count > 1],
    }
    return {what: ids for what, ids in found.items() if ids}


_LANGUAGES = Path(__file__).parents[1] / "data" / "languages.json"
_CODES = {"eng": ENGLISH, "fra": "fr", "fre": "fr", "cmn": "zh", "zho": "zh"}
_NO_DEFINITIONS: Arrays = dict.fromkeys(("doing", "doing_verb", "definition_sense"), np.zeros(0, np.int32))
_NO_DEFINITIONS |= {"definition": np.zeros(0, np.uint64)}


def build(source: Source, name: str, *, break_cycles: bool = False) -> tuple[bytes, int]:
    """Compile a source to a lexicon with its own concepts; return the content of the file and the number of concepts.

    ``name`` is the name of the lexicon in signatures. Records left out are counted in ``source.left_out``; with
    ``break_cycles``, these include one relation of each cycle of parents.

    Raises InputError for invalid or repeated IDs, cycles of parents (unless ``break_cycles``), concepts too deep below
    a root, or no concepts.
    """
    check_ids(source)
    parents = check_parents(source, break_cycles=break_cycles)
    concepts = sorted(source.concepts, key=lambda concept: concept.pos)
    number = {concept.id: index for index, concept in enumerate(concepts)}
    members = [_lemmas(concept.names, source) for concept in concepts]
    senses = _senses(source, number, [concept.pos for concept in concepts], members)
    kind_of = ["_".join(concept.kind.split()) or "-" for concept in concepts]
    kinds = {kind: index for index, kind in enumerate(dict.fromkeys(kind_of))}
    above = [[number[parent] for parent in parents[concept.id]] for concept in concepts]
    arrays: Arrays = {
        "nouns": np.array([sum(concept.pos == "n" for concept in concepts)], np.int32),
        **word_arrays(senses, [[lemma for lemma, _ in listed] for listed in members]),
        "lexname": _wide([kinds[kind] for kind in kind_of]),
        "lexnames": text_bytes(" ".join(kinds)),
        "hypernym_length": _wide([len(each) for each in above]),
        "hypernym": np.array([parent for each in above for parent in each], np.int32),
        **_NO_DEFINITIONS,
        **_exceptions(source),
        **texts("name", [concept.id for concept in concepts]),
        **texts("gloss", [" ".join(concept.gloss.split()) for concept in concepts]),
        **texts("link", [" ".join(concept.links) for concept in concepts]),
        "key": keys_of([concept.id for concept in concepts]),
    }
    if len(set(arrays["key"].tolist())) != len(concepts):
        raise InputError(source.path, found="different IDs with the same hash", expected="IDs with different hashes")
    return sealed(pack(arrays, _facts(source, name))), len(concepts)


def build_words(source: Source, name: str) -> tuple[bytes, int]:
    """Compile a source to a lexicon of words for WordNet 3.0's synsets, with WordNet's glosses and parents.

    Returns and arguments are those of :func:`build`. Names of a concept become words for the synset to which its links
    lead. Concepts without a linked synset of their part of speech are left out and counted.

    Raises InputError if no concept is linked to WordNet 3.0.
    """
    numbers = wordnet_numbers([concept.links for concept in source.concepts])
    base = wordnet()
    members: list[list[tuple[str, str]]] = [[] for _ in range(len(base))]
    linked: dict[str, int] = {}
    for concept, found in zip(source.concepts, numbers, strict=True):
        if found < 0 or base.pos(found) != concept.pos:
            source.leave_out("concepts without a WordNet 3.0 synset")
            continue
        linked[concept.id] = found
        members[found] += _lemmas(concept.names, source)
    if not linked:
        expected = "concepts with interlingual IDs, or sense keys or offsets of WordNet 3.0"
        raise InputError(source.path, found="no concept that is linked to WordNet 3.0", expected=expected)
    senses = _senses(source, linked, [base.pos(synset) for synset in range(len(base))], members)
    # Senses without an order in the source are sorted by the frequency of the concept in tagged English texts.
    for key, synsets in senses.items():
        if key not in source.order:
            synsets.sort(key=lambda synset: (-_uses(synset), synset))
    listed = [list(dict.fromkeys(lemma for lemma, _ in each)) for each in members]
    arrays = word_arrays(senses, listed) | _NO_DEFINITIONS | _exceptions(source)
    facts = _facts(source, name) | {"concepts": base.digest}
    return sealed(pack(arrays, facts)), len(linked)


def _facts(source: Source, name: str) -> dict[str, Any]:
    language = _language(source)
    about = {"source": Path(source.path).name, "licence": source.licence, "left_out": source.left_out}
    facts = {"name": name, "title": source.title, "language": language, "about": about}
    if language == ENGLISH:
        return facts
    rules = {kind: rule for kind, rule in _rules(language).items() if kind != "forms"}
    return facts | {"endings": {pos: [] for pos in PARTS}} | rules


def _language(source: Source) -> str:
    first = source.language.lower().split("-")[0]
    return _CODES.get(first, first)


def _rules(language: str) -> dict[str, Any]:
    return msgspec.json.decode(_LANGUAGES.read_bytes(), type=dict[str, dict[str, Any]]).get(language, {})


def _exceptions(source: Source) -> Arrays:
    """Return the arrays of irregular forms: first the forms of the source's language, then the forms in the source."""
    language, found = _language(source), {}
    for pos in PARTS:
        forms = {form: bases.split() for form, bases in _rules(language).get("forms", {}).get(pos, {}).items()}
        forms = dict(wordnet().exceptions[pos]) if language == ENGLISH else forms
        for form, bases in source.forms[pos].items():
            written = spelled(plain(form))
            forms[written] = [*forms.get(written, ()), *(spelled(plain(base)) for base in bases)]
        lines = "".join(f"{form} {' '.join(dict.fromkeys(bases))}\n" for form, bases in forms.items())
        found[f"exceptions_{pos}"] = text_bytes(lines)
    return found


def _lemmas(names: tuple[str, ...], source: Source) -> list[tuple[str, str]]:
    """Return (lemma, name) pairs for each name: a lemma as written, and a lemma without punctuation if different."""
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
    """Return the concept IDs of each (lemma, part of speech), in the order of senses in the source if it has an order.

    ``number`` is the numeric ID of each concept ID of the source, ``pos`` the part of speech of each concept, and
    ``members`` the (lemma, name) pairs of each concept.
    """
    # A dict, because a name may belong to very many concepts.
    senses: dict[tuple[str, Pos], dict[int, None]] = {}
    for (name, of), ids in source.order.items():
        for lemma, _ in _lemmas((name,), Source("", "", [])):
            senses.setdefault((lemma, of), {}).update((number[id_], None) for id_ in ids if id_ in number)
    for index, lemmas in enumerate(members):
        for lemma, _ in lemmas:
            senses.setdefault((lemma, pos[index]), {})[index] = None
    return {key: list(found) for key, found in senses.items() if found}


def _wide(numbers: list[int]) -> NDArray[Any]:
    return np.array(numbers, np.min_scalar_type(max(256, *numbers)))


@cache
def _uses(synset: int) -> int:
    base, pos = wordnet(), wordnet().pos(synset)
    counts = (base.tag_count(lemma, pos)[base.senses(lemma, pos) == synset] for lemma in base.lemmas(synset))
    return sum(int(count.sum()) for count in counts)
